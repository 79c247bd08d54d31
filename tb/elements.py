# SPDX-License-Identifier: Apache-2.0
"""What test benches of processing elements share, a user's own included.

An element is described by a Python function: the packet that comes out, from the one that went in.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from extents import word_stream
from forebay import spec

BEAT = spec.USER_BEAT_BYTES
Model = Callable[[bytes], bytes]


def size() -> int:
    """Return a packet's length: least, odd, around a beat, or any."""
    near = random.choice([1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129])
    return random.choice([near, random.randrange(1, 1500)])


def results(dut) -> AxiStreamSink:
    """Make what takes an element's results, a word each."""
    return word_stream(AxiStreamSink, dut, "m_axis_result")


class Bench:
    """A source before the element and a sink behind it, both of cocotbext-axi."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_object")
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_object")
        self.results = results(dut) if hasattr(dut, "m_axis_result_tdata") else None

    async def start(self, cfg: int = 0, idle: float = 0.0, stall: float = 0.0) -> None:
        """Reset with these settings; `idle` and `stall` are shares of pauses of source and sink."""
        self.dut.cfg.value = cfg
        self.source.set_pause_generator(harness.stalls(idle))
        self.sink.set_pause_generator(harness.stalls(stall))
        if self.results:
            self.results.set_pause_generator(harness.stalls(stall))
        await harness.start(self.dut)

    async def send(self, data: bytes, broken: bool = False) -> None:
        """Queue a packet; `broken` sets TUSER, on its last beat.

        Bytes past its end are noise, as they may be.
        """
        pad = -len(data) % BEAT
        users = [0] * len(data)
        users[(len(data) - 1) // BEAT * BEAT :] = [int(broken)] * (len(data) + pad)
        keep = [1] * len(data) + [0] * pad
        users = (users + [0] * pad)[: len(keep)]
        noise = random.randbytes(pad)
        await self.source.send(AxiStreamFrame(data + noise, tkeep=keep, tuser=users))

    async def expect(self, data: bytes, broken: bool = False) -> None:
        """Take the next packet: these bytes without a gap, and its flag."""
        found = await with_timeout(self.sink.recv(compact=False), 1, "ms")
        kept = list(found.tkeep or [1] * len(found.tdata))
        assert kept == [1] * len(data) + [0] * (len(kept) - len(data)), "TKEEP has another length"
        assert bytes(found.tdata[: len(data)]) == data, "bytes differ"
        users = found.tuser if isinstance(found.tuser, list) else [found.tuser] * len(kept)
        assert bool(users[-1]) == broken and not any(users[:-BEAT]), "TUSER differs"

    async def result(self) -> tuple[int, float]:
        """Take the next result: class and score."""
        assert self.results is not None, "the element has no m_axis_result"
        word = (await with_timeout(self.results.recv(), 1, "ms")).tdata[0]
        score = struct.unpack("<f", (word & 0xFFFF_FFFF).to_bytes(4, "little"))[0]
        return word >> 32, score

    async def silent(self, cycles: int = 20) -> None:
        """Nothing more comes."""
        await harness.step(self.dut.clk, cycles)
        assert self.sink.empty() and self.dut.m_axis_object_tvalid.value == 0


async def any_packets(
    dut, model: Model, cfg: int = 0, idle: float = 0.0, stall: float = 0.0, count: int = 150
) -> None:
    """Packets of any length, whole and broken ones, come out as `model` says, in order.

    Parameters
    ----------
    dut : HierarchyObject
        The element.
    model : callable
        Gives the packet that comes out for one that goes in, both of one byte or more.
    cfg : int
        Its settings, as its port takes them.
    idle, stall : float
        Shares of cycles in which source and sink pause, 0 to 1.
    count : int
        How many packets.
    """
    bench = Bench(dut)
    await bench.start(cfg, idle, stall)
    packets = [(random.randbytes(size()), random.random() < 0.2) for _ in range(count)]
    for data, broken in packets:
        await bench.send(data, broken)
    for data, broken in packets:
        await bench.expect(model(data), broken)
    await bench.silent()


async def reset_in_mid_packet(dut, model: Model, cfg: int = 0) -> None:
    """A reset forgets what is inside, and the next packet is right."""
    bench = Bench(dut)
    await bench.start(cfg)
    for _ in range(20):
        await bench.send(random.randbytes(20 * BEAT))
        await harness.step(dut.clk, random.randrange(2, 15))
        # Source and sink are told, too: they forget what they were about to do.
        await harness.reset(dut, 2)
        bench.source.clear()
        bench.sink.clear()
        await harness.step(dut.clk, 2)
        data = random.randbytes(size())
        await bench.send(data)
        await bench.expect(model(data))
        await bench.silent()


async def cycles_of(dut, beats: int, cfg: int = 0) -> tuple[int, int]:
    """Send one long packet without pauses.

    Returns
    -------
    tuple of int
        Cycles from its first beat in to its first beat out, and from that to its last.
    """
    bench = Bench(dut)
    await bench.start(cfg)
    came: list[int] = []
    gone: list[int] = []
    for prefix, found in (("s", came), ("m", gone)):
        valid = getattr(dut, f"{prefix}_axis_object_tvalid")
        ready = getattr(dut, f"{prefix}_axis_object_tready")
        cocotb.start_soon(harness.record(dut.clk, valid, ready, found))
    await bench.send(random.randbytes(beats * BEAT))
    await with_timeout(bench.sink.recv(), 1, "ms")
    return gone[0] - came[0], gone[-1] - gone[0]
