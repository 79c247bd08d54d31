# SPDX-License-Identifier: Apache-2.0
"""fb_raid_parity_join: the packets of a read's parts become one packet for the user."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
import structs
from forebay import spec
from runner import simulate
from stripes import parity

BEATS = 64
FAULT = 0xD1


class Joiner:
    """The device under test between a source of parts and the user."""

    def __init__(self, dut) -> None:
        self.dut = dut
        # What is below forgets its beats in a restart.
        restart = {"clock": dut.clk, "reset": dut.restart}
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_rd", **restart)
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_rd")
        self.parts: list[int] = []
        cocotb.start_soon(self._tell())

    async def _tell(self) -> None:
        """Offer the oldest part until it is taken."""
        dut = self.dut
        while True:
            dut.piece_valid.value = bool(self.parts)
            # Without a part there may be anything.
            anything = random.getrandbits(len(dut.piece))
            dut.piece.value = self.parts[0] if self.parts else anything
            await FallingEdge(dut.clk)
            popped = dut.piece_ready.value == 1 and dut.piece_valid.value == 1
            await harness.step(dut.clk)
            if popped and self.parts:
                self.parts.pop(0)

    async def send(self, data: bytes, code: int = 0, **fields: int) -> None:
        """Queue one part: its data or, with a code, its error."""
        self.parts.append(structs.pack("piece_t", **fields))
        if not code:
            await self.source.send(AxiStreamFrame(data))
            return
        # Up to some beat it is well.
        good = data[: random.randrange(len(data)) // 64 * 64]
        frame = AxiStreamFrame(good + bytes([code]) + random.randbytes(63))
        frame.tkeep = [1] * len(good) + [0] * 64
        beats = len(good) // 64
        frame.tuser = [0] * 64 * beats + [1] * 64
        await self.source.send(frame)

    async def read(self, chunks: list[int], width: int, fail: int | None) -> tuple[bytes, int]:
        """Queue a read of chunks, each itself or the sum of `width` parts; part `fail` is bad.

        Returns the bytes that the user must see at least, and the error that must follow.
        """
        tag, wanted, code, number = random.getrandbits(8), b"", 0, 0
        for n, length in enumerate(chunks):
            last = n == len(chunks) - 1
            count = width if random.random() < 0.5 else 1
            parts = [random.randbytes(length) for _ in range(count)]
            for m, part in enumerate(parts):
                bad = number == fail
                shown = m == count - 1
                fields = {"sum": count > 1, "first": m == 0, "shown": shown}
                fields |= {"last": last and shown, "tag": tag}
                await self.send(part, FAULT if bad else 0, **fields)
                code = code or (FAULT if bad else 0)
                number += 1
            if not code:
                wanted += parity(b"".join(parts), length) if count > 1 else parts[0]
        self.tag = tag
        return wanted, code

    async def check(self, wanted: bytes, code: int) -> None:
        """Compare the next packet."""
        frame = await self.sink.recv(compact=False)
        tail = frame.tuser[-1] if isinstance(frame.tuser, list) else frame.tuser
        assert tags(frame) == {self.tag}
        data = bytes(byte for byte, keep in zip(frame.tdata, frame.tkeep, strict=True) if keep)
        if code:
            assert tail == 1 and frame.tdata[-64] == code and not any(frame.tkeep[-64:])
            assert data.startswith(wanted)
        else:
            assert not tail and data == wanted


def tags(frame: AxiStreamFrame) -> set[int]:
    """Return the tags of a packet's beats."""
    return set(frame.tid) if isinstance(frame.tid, list) else {frame.tid}


async def start(dut, parity: int = 1) -> Joiner:
    """Reset with everything idle."""
    harness.clear(dut, "piece_valid", "piece")
    harness.clear(dut.m_axis_rd, "tready")
    harness.clear(dut.s_axis_rd, "t*[!y]")
    dut.parity.value, dut.restart.value = parity, 1
    joiner = Joiner(dut)
    await harness.start(dut)
    dut.restart.value = 0
    return joiner


@cocotb.test()
@cocotb.parametrize(width=[2, 4], idle=[0.0, 0.4])
async def reads_are_whole(dut, width: int, idle: float) -> None:
    """Whatever the parts, the user has his bytes; the first error ends them."""
    joiner = await start(dut)
    harness.stall(joiner.source, idle)
    harness.stall(joiner.sink, idle)
    failures = 0
    for _ in range(60):
        chunks = [random.choice([512, 1024, 64 * BEATS]) for _ in range(random.randrange(4))]
        chunks.append(random.choice([1, 64, 100, 512]))
        fail = random.randrange(4) if random.random() < 0.4 else None
        wanted, code = await joiner.read(chunks, width, fail)
        failures += code != 0
        await joiner.check(wanted, code)
    # What follows an error is dropped, which takes its time.
    await harness.step(dut.clk, 1000 if joiner.parts else 0)
    assert failures > 5 and not joiner.parts


@cocotb.test()
async def rate(dut) -> None:
    """Parts pass at a beat a cycle, those that are added up as well."""
    joiner = await start(dut)
    moved: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.s_axis_rd.tvalid, dut.s_axis_rd.tready, moved))
    data = [random.randbytes(64 * BEATS) for _ in range(4)]
    for n, one in enumerate(data):
        fields = {"sum": 1, "first": n == 0, "shown": n == 3, "last": n == 3, "tag": 9}
        await joiner.send(one, **fields)
    joiner.tag = 9
    await joiner.check(parity(b"".join(data), 64 * BEATS), 0)
    assert moved[-1] - moved[0] + 1 == len(moved) == 4 * BEATS


@cocotb.test()
async def without_parity(dut) -> None:
    """Where the array has none, packets go through as they are."""
    joiner = await start(dut, parity=0)
    for length in (1, 64, 1000):
        data = random.randbytes(length)
        await joiner.source.send(AxiStreamFrame(data, tid=0x77))
        frame = await joiner.sink.recv()
        assert bytes(frame.tdata) == data and frame.tid == 0x77


async def restart(dut, joiner: Joiner, late: bool) -> None:
    """Begin a new life; what is below sends the end of its part, if it was inside one."""
    dut.restart.value = 1
    joiner.source.clear()
    joiner.parts.clear()
    await harness.step(dut.clk, 4)
    dut.restart.value = 0
    if late:
        frame = AxiStreamFrame(bytes([spec.ERR_HALTED]) + bytes(63))
        frame.tkeep, frame.tuser = [0] * 64, 1
        await joiner.source.send(frame)


@cocotb.test()
async def restart_in_read(dut) -> None:
    """A read that was half sent ends with an error, once, wherever its parts stood."""
    # Parts that are through, beats of the next; what the user had of it.
    for through, inside, begun in ((0, 0, 0), (1, 0, 1), (1, 1, 1), (0, 1, 1)):
        joiner = await start(dut)
        for n in range(through + inside):
            data = bytes(64 * 8)
            fields = {"shown": 1, "last": 0, "tag": 1}
            if n < through:
                await joiner.send(data, **fields)
            else:
                joiner.parts.append(structs.pack("piece_t", **fields))
                await joiner.source.send(AxiStreamFrame(bytes(64 * 60)))
        await harness.step(dut.clk, 30)
        await restart(dut, joiner, bool(inside))
        if begun:
            frame = await joiner.sink.recv(compact=False)
            assert frame.tdata[-64] == spec.ERR_HALTED and not any(frame.tkeep[-64:])
            assert tags(frame) == {1}
        joiner.tag = 3
        await joiner.send(b"good", shown=1, last=1, tag=3)
        await joiner.check(b"good", 0)


@cocotb.test()
async def restart_in_sum(dut) -> None:
    """Parts of which the user has seen nothing leave nothing behind."""
    joiner = await start(dut)
    joiner.parts.append(structs.pack("piece_t", sum=1, first=1))
    await joiner.source.send(AxiStreamFrame(bytes(64 * 60)))
    await harness.step(dut.clk, 30)
    await restart(dut, joiner, True)
    joiner.tag = 3
    await joiner.send(b"good", shown=1, last=1, tag=3)
    await joiner.check(b"good", 0)


@cocotb.test()
async def restart_while_offered(dut) -> None:
    """A beat on offer stays on offer across a restart; its read then ends with an error.

    The port's checker watches all the time.
    """
    joiner = await start(dut)
    joiner.sink.pause = True
    joiner.parts.append(structs.pack("piece_t", shown=1, last=0, tag=1))
    await joiner.source.send(AxiStreamFrame(bytes(64 * 60)))
    await harness.step(dut.clk, 30)
    assert dut.m_axis_rd.tvalid.value == 1
    await restart(dut, joiner, True)
    await harness.step(dut.clk, 30)
    joiner.sink.pause = False
    frame = await joiner.sink.recv(compact=False)
    assert frame.tdata[-64] == spec.ERR_HALTED and not any(frame.tkeep[-64:])
    assert sum(frame.tkeep) >= 64 and tags(frame) == {1}
    joiner.tag = 3
    await joiner.send(b"good", shown=1, last=1, tag=3)
    await joiner.check(b"good", 0)


@harness.provocation
async def unknown_piece(dut) -> None:
    """A beat that belongs to no part must be noticed."""
    joiner = await start(dut)
    await joiner.source.send(AxiStreamFrame(bytes(64)))
    await harness.step(dut.clk, 10)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Beats": BEATS}
    simulate(
        __file__,
        "fb_raid_parity_join",
        parameters,
        filelist="rtl/top/onchip.f",
        interfaces={"s_axis_rd": ("fb_axis_if", "restart"), "m_axis_rd": "fb_axis_if"},
        **options,
    )


def test_parity_join() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(fires={"unknown_piece": "a_piece_known"})
