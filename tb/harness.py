# SPDX-License-Identifier: Apache-2.0
"""What the tests under tb/ share: clock and reset, random stalls, counting cycles, provocations."""

from __future__ import annotations

import contextlib
import ctypes
import fnmatch
import logging
import os
import random
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain, compress

import cocotb
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject, LogicObject
from cocotb.task import Task
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotb.types import LogicArray
from cocotb.utils import get_sim_time
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiMaster,
    AxiRam,
    AxiReadBus,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
    AxiWriteBus,
)
from cocotbext.axi.axis import AxiStreamPause

import quick  # noqa: F401

PERIOD_NS = 4

# The simulator's lines and cocotb's stand in the log in the order in which they were printed.
_libc = ctypes.CDLL(None)
_libc.setlinebuf(ctypes.c_void_p.in_dll(_libc, "stdout"))


def provocation(coroutine: Callable[..., Awaitable[None]]) -> cocotb.test:
    """Make a test of a coroutine that makes an assertion in the RTL fire.

    Ordinary runs leave it out; `simulate(..., fires=...)` starts it by name and looks at what the
    assertion says.
    """
    made = cocotb.test(skip=True, timeout_time=2, timeout_unit="ms")(coroutine)
    provoke = made.func

    async def provoked(dut, **options: object) -> None:
        # A bus model may find the provoked error, too, and raise.
        with contextlib.suppress(Exception):
            await provoke(dut, **options)
        # The assertions of the clock edge at which it ends are evaluated after the edge.
        await Timer(1, "step")

    made.func = provoked
    return made


def repeat(count: int, least: int, share: int = 10) -> int:
    """Return how often a random case is drawn: `count` by night, a part of it by day.

    Parameters
    ----------
    count : int
        Draws where `$FOREBAY_COUNTS` is `full`, as `make nightly` sets it.
    least : int
        Draws that show all that the bench asks for; there are never fewer.
    share : int
        By day `count` is divided by this.
    """
    return count if os.environ.get("FOREBAY_COUNTS") == "full" else max(count // share, least)


def clear(dut, *patterns: str) -> None:
    """Set the inputs whose names match any of the patterns to zero.

    Bus models drive the ready and answer signals of their channels themselves, and an output that
    is constant must not be touched: simulators let a test overwrite it for good.
    """
    for handle in dut:
        if any(fnmatch.fnmatchcase(handle._name, pattern) for pattern in patterns):
            handle.value = 0


async def start(dut) -> None:
    """Start the clock and hold `rst` for four cycles; set the other inputs before."""
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, unit="ns").start())
    await reset(dut)


async def reset(dut, cycles: int = 4) -> None:
    """Hold `rst` high for some cycles."""
    dut.rst.value = 1
    await step(dut.clk, cycles)
    dut.rst.value = 0


async def withdraw(clk: LogicObject, checker: HierarchyObject) -> None:
    """Make a port's stream checker hold that `valid` fell: it is there, awake, and knows its port.

    The port is idle; the checker is made to remember a beat that waited in the cycle before.
    """
    await step(clk, 2)
    await FallingEdge(clk)
    checker.stalled_q.value = 1
    await step(clk, 2)


async def step(clk: LogicObject, cycles: int = 1) -> None:
    """Wait for rising edges; what is assigned next is an input of the cycle that begins there."""
    for _ in range(cycles):
        await RisingEdge(clk)


def cycle() -> int:
    """Number of the present clock cycle since the simulation began."""
    return int(get_sim_time("ns")) // PERIOD_NS


def stalls(probability: float) -> Iterator[bool]:
    """Yield True, which pauses a bus model for a cycle, with this probability, in bursts.

    Short and long pauses alternate, since queues that are neither full nor empty hide mistakes.
    """
    while True:
        share = random.choice([0.0, probability, probability, 1.0 if probability else 0.0])
        for _ in range(random.randrange(1, 24)):
            yield random.random() < share


# The bus models that are paused at random, with when; by the coroutine that does it.
_stalled: dict[str, tuple[Task, dict[AxiStreamPause, Iterator[bool]]]] = {}


def stall(model: AxiStreamPause, when: float | Iterator[bool]) -> None:
    """Pause a source, a sink or a channel of cocotbext-axi at random, or as `when` says.

    Those that share a clock are paused by one coroutine: each of cocotbext-axi's own generators
    wakes one of its own in every cycle, which takes half of a bench's time.

    Parameters
    ----------
    model : AxiStreamPause or StreamPause
        What to pause.
    when : float or iterator of bool
        How often, as in :func:`stalls`, 0 for never again; or for each cycle whether.
    """
    clock = model.clock._path
    task, models = _stalled.get(clock, (None, {}))
    # That of an earlier test has ended with it.
    if task is None or task.done():
        models = {}
        _stalled[clock] = cocotb.start_soon(_stall(model.clock, models)), models
    if when == 0:
        models.pop(model, None)
        model.pause = False
    else:
        models[model] = when if isinstance(when, Iterator) else stalls(when)


async def _stall(clk: LogicObject, models: dict[AxiStreamPause, Iterator[bool]]) -> None:
    edge = RisingEdge(clk)
    while True:
        for model, pauses in models.items():
            model.pause = next(pauses)
        await edge


def high(signal: LogicObject) -> bool:
    """Return whether a signal of one bit is 1."""
    return bool(signal.value)


async def record(
    clk: LogicObject, valid: LogicObject, ready: LogicObject, found: list[int]
) -> None:
    """Append the number of every cycle in which `valid` and `ready` are both high.

    Started with `cocotb.start_soon`; looks in the middle of a cycle, when all has settled.
    """
    while True:
        await FallingEdge(clk)
        if high(valid) and high(ready):
            found.append(cycle())


async def until(clk: LogicObject, signal: LogicObject, value: int = 1, limit: int = 10_000) -> int:
    """Wait until `signal` has `value` in the middle of a cycle, and return that cycle's number.

    Raises
    ------
    TimeoutError
        If it has not after `limit` cycles.
    """
    for _ in range(limit):
        await FallingEdge(clk)
        if signal.value == value:
            return cycle()
    raise TimeoutError(f"{signal._path} is not {value} after {limit} cycles")


def rate(cycles: list[int]) -> float:
    """Handshakes per cycle from the first to the last of the given cycles."""
    return len(cycles) / (cycles[-1] - cycles[0] + 1)


class NoId:
    """Stands in for a port's missing identifier, on which cocotbext-axi insists: always 0."""

    value = property(lambda self: LogicArray("0"), lambda self, value: None)

    def __len__(self) -> int:
        """Return its width."""
        return 0

    def setimmediatevalue(self, value: object) -> None:
        """Let it be."""


class OfWidth:
    """A signal of AXI3, with the width that AXI4 has and cocotbext-axi insists on."""

    def __init__(self, signal: LogicObject, bits: int) -> None:
        self._signal = signal
        self._bits = bits

    def __len__(self) -> int:
        """Return that width."""
        return self._bits

    def __getattr__(self, name: str) -> object:
        """Return what the signal has."""
        return getattr(self._signal, name)

    value = property(
        lambda self: self._signal.value, lambda self, value: setattr(self._signal, "value", value)
    )


def bus(kind: type, dut, name: str) -> object:
    """Return a bus of cocotbext-axi: the pins NAME_*, or the interface NAME of a bench."""
    pins = {handle._name.lower() for handle in dut}
    if pins & {f"{name}_{valid}".lower() for valid in ("awvalid", "tvalid")}:
        return kind.from_prefix(dut, name)
    return kind.from_entity(getattr(dut, name))


def axi_halves(dut, name: str) -> AxiBus:
    """Return a bus of cocotbext-axi whose halves are the interfaces NAME_write and NAME_read."""
    write = AxiWriteBus.from_entity(getattr(dut, f"{name}_write"))
    return AxiBus(write, AxiReadBus.from_entity(getattr(dut, f"{name}_read")))


def axi_master(dut, prefix: str, ids: bool = True, **clock: object) -> AxiMaster:
    """Return a cocotbext-axi master on an AXI4 port, without its message for every burst.

    `prefix` is as in :func:`bus`, `clock` what cocotbext-axi is told of clock and reset, where they
    are not `clk` and `rst`. Without `ids` the port is one that has no identifiers.
    """
    clock = clock or {"clock": dut.clk, "reset": dut.rst}
    port = bus(AxiBus, dut, prefix)
    bits = len(port.write.aw.awlen)
    for channel, letter in ((port.write.aw, "aw"), (port.read.ar, "ar")):
        for name, width in ((f"{letter}len", 8), (f"{letter}lock", 1)):
            signal = channel._signals.get(name)
            if signal is not None and len(signal) != width:
                channel._signals[name] = OfWidth(signal, width)
                setattr(channel, name, channel._signals[name])
    for channel in (port.write.aw, port.write.b, port.read.ar, port.read.r):
        for name in {"awid", "bid", "arid", "rid"} & channel._signals.keys():
            if not ids or channel._signals[name] is None:
                channel._signals[name] = NoId()
                setattr(channel, name, channel._signals[name])
    master = AxiMaster(port, **clock, max_burst_len=1 << bits)
    for half in (master.write_if, master.read_if):
        half.log.setLevel(logging.WARNING)
    return master


class Beat:
    """Data and TKEEP of a stream as one number, data first: what a bus model takes as a byte."""

    def __init__(self, data: LogicObject, keep: LogicObject) -> None:
        self._data, self._keep = data, keep
        self._bits = len(data)
        self._mask = (1 << self._bits) - 1

    def __len__(self) -> int:
        """Return its width."""
        return self._bits + len(self._keep)

    @property
    def value(self) -> int:
        """Both, as they are now."""
        return int(self._data.value) | int(self._keep.value) << self._bits

    @value.setter
    def value(self, value: int) -> None:
        self._data.value = value & self._mask
        self._keep.value = value >> self._bits


class Beats:
    """Makes a source or a sink of cocotbext-axi handle beats: by itself it goes byte by byte."""

    _init_x = False  # Verilator has no X

    def __init__(self, bus: AxiStreamBus, *args: object, **options: object) -> None:
        self.lanes = len(bus.tdata) // 8  # bytes of a beat
        self.keeps = hasattr(bus, "tkeep")
        if self.keeps:
            bus.tdata = Beat(bus.tdata, bus.tkeep)
            del bus.tkeep
        super().__init__(bus, *args, byte_lanes=1, **options)


class BeatSource(Beats, AxiStreamSource):
    """Sends bytes as beats."""

    async def send(self, frame: object) -> None:
        """Send a packet, when there is room for it."""
        await super().send(self._beats(frame))

    def send_nowait(self, frame: object) -> None:
        """Send a packet."""
        super().send_nowait(self._beats(frame))

    def _beats(self, frame: object) -> AxiStreamFrame:
        frame, lanes = AxiStreamFrame(frame), self.lanes
        frame.normalize()
        starts = range(0, len(frame), lanes)
        data, kept = bytes(frame.tdata), frame.tkeep
        frame.tdata = [int.from_bytes(data[at : at + lanes], "little") for at in starts]
        if self.keeps:
            for n, at in enumerate(starts):
                keep = "".join("1" if bit else "0" for bit in reversed(kept[at : at + lanes]))
                frame.tdata[n] |= int(keep, 2) << 8 * lanes
        frame.tkeep = None
        # What a beat has but once is that of its last byte.
        for name in ("tid", "tdest", "tuser"):
            values = getattr(frame, name)
            setattr(frame, name, [values[min(at + lanes, len(data)) - 1] for at in starts])
        return frame


class BeatSink(Beats, AxiStreamSink):
    """Gives the bytes of beats."""

    def _recv(self, frame: AxiStreamFrame, compact: bool = True) -> AxiStreamFrame:
        frame, lanes = super()._recv(frame, compact=False), self.lanes
        mask = (1 << 8 * lanes) - 1
        beats = frame.tdata
        frame.tdata = bytearray(b"".join((each & mask).to_bytes(lanes, "little") for each in beats))
        for name in ("tid", "tdest", "tuser"):
            values = getattr(frame, name)
            setattr(frame, name, list(chain.from_iterable([value] * lanes for value in values)))
        if self.keeps:
            bits = (f"{each >> 8 * lanes:0{lanes}b}"[::-1] for each in beats)
            frame.tkeep = [int(bit) for bit in "".join(bits)]
            if compact:
                for name in ("tdata", "tid", "tdest", "tuser"):
                    values = getattr(frame, name)
                    setattr(frame, name, type(values)(compress(values, frame.tkeep)))
                frame.tkeep = []
        if compact:
            frame.compact()
        return frame


def axi_stream(kind: type, dut, prefix: str, **options: object) -> AxiStreamSource | AxiStreamSink:
    """Return a cocotbext-axi source or sink on an AXI4-Stream port, without its messages.

    `options` are what cocotbext-axi takes; without `clock`, clock and reset are `clk` and `rst`.
    """
    clock = {} if "clock" in options else {"clock": dut.clk, "reset": dut.rst}
    if "byte_lanes" not in options:
        kind = {AxiStreamSource: BeatSource, AxiStreamSink: BeatSink}[kind]
    found = kind(bus(AxiStreamBus, dut, prefix), **clock, **options)
    found.log.setLevel(logging.WARNING)
    return found


def axil_master(dut, prefix: str, **clock: object) -> AxiLiteMaster:
    """Return a cocotbext-axi master on an AXI4-Lite port, without its messages.

    `prefix` and `clock` are as in :func:`axi_master`.
    """
    clock = clock or {"clock": dut.clk, "reset": dut.rst}
    master = AxiLiteMaster(bus(AxiLiteBus, dut, prefix), **clock)
    for half in (master.write_if, master.read_if):
        half.log.setLevel(logging.WARNING)
    return master


def refuse(ram: AxiRam, words: set[int]) -> None:
    """Let a memory model answer accesses to 64-byte words that are in the set with SLVERR."""
    for half, name in ((ram.write_if, "_write"), (ram.read_if, "_read")):
        half.log.setLevel(logging.ERROR)
        served = getattr(half, name)

        async def serve(address: int, *what: object, served: Callable = served) -> object:
            if address // 64 * 64 in words:
                raise ValueError("refused")
            return await served(address, *what)

        setattr(half, name, serve)


def stall_master(master: AxiMaster, request: float, answer: float) -> None:
    """Pause the address and data channels, and the taking of answers, at random."""
    for channel in (master.write_if.aw_channel, master.write_if.w_channel):
        stall(channel, request)
    stall(master.read_if.ar_channel, request)
    for channel in (master.write_if.b_channel, master.read_if.r_channel):
        stall(channel, answer)
