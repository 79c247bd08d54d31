# SPDX-License-Identifier: Apache-2.0
"""fb_store_raw: resets in the middle of it all, of itself and of the drives."""

from __future__ import annotations

import itertools
import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame

import harness
from forebay import spec
from rawside import BEAT, CHUNKS, NONE, UNIT, Bench, Reads, run

pytestmark = pytest.mark.long

PACKET = UNIT // BEAT + 1
READ = 24  # where it reads, which is never written


@cocotb.test()
async def resets(dut) -> None:
    """After a reset in the middle nothing of before is left, and a run is as any other."""
    bench = Bench(dut)
    bench.stall(0.1, 0.1)
    await bench.start()
    for _ in range(harness.repeat(40, 3)):
        bench.drive.pause = 300
        await bench.set(0, 30)
        await bench.write("read_max", 30 * UNIT)
        await bench.begin(read=1, lossy=random.randrange(2))
        bench.send(3000)
        await harness.step(dut.clk, random.randrange(2500))
        dut.rst.value = 1
        bench.source.clear()
        await harness.step(dut.clk, 4)
        bench.drive.forget()
        bench.reader.forget()
        bench.sink.clear()
        dut.rst.value = 0
        await harness.step(dut.clk, 4)
        assert await bench.read("status") == 0 and await bench.read("write_last") == NONE
        assert await bench.read("offered") == await bench.read("stored") == 0
        bench.drive.forget()
        await bench.set(5, 3)
        await bench.begin()
        bench.send(3 * UNIT // BEAT)
        await bench.status("writing", 0)
        assert (await bench.check())["stored"] == 3 * UNIT
        await bench.control()


class Cut:
    """A run that a reset of the drives cuts off, or not, and the next one."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.bench = Bench(dut, Reads)
        self.answers = 0  # chunks that are stored, as far as the module can know
        cocotb.start_soon(self.bench.drive.follow())
        cocotb.start_soon(self._count())

    async def _count(self) -> None:
        """Count responses up to the cycle in which the drives are reset."""
        dut, was = self.dut, False
        while True:
            await FallingEdge(dut.clk)
            if harness.high(dut.s_axis_wrsp_tvalid) and not was:
                self.answers += int(dut.s_axis_wrsp_tdata.value) == spec.ERR_OK
            was = harness.high(dut.drives_reset)

    async def begin(
        self, write: bool = True, read: bool = True, count: int = 8, **bits: int
    ) -> None:
        """Start writing and reading some chunks, in places of their own."""
        bench = self.bench
        bench.drive.writes.clear()
        bench.reader.commands.clear()
        bench.reader.sent.clear()
        await bench.set(2, count)
        await bench.write("read_start", READ * UNIT)
        await bench.write("read_max", (READ + count) * UNIT)
        bench.sent, self.answers, at = b"", 0, harness.cycle()
        runs = [f"{run}_started" for run, on in (("write", write), ("read", read)) if on]
        before = [await bench.read(name) for name in runs]
        await bench.control(write=int(write), read=int(read), **bits)
        for name, time in zip(runs, before, strict=True):
            while await bench.read(name) == time:
                assert harness.cycle() - at < 20_000

    async def written(self) -> dict[str, int]:
        """Look at what was written, and how it ended."""
        bench = self.bench
        await bench.status("writing", 0)
        names = ("offered", "stored", "lost", "unstored", "write_last", "write_failed")
        found = {name: await bench.read(name) for name in names}
        status = await bench.fields("status")
        assert found["offered"] == found["stored"] + found["lost"]
        taken, gaps = bench.sent[: found["offered"]], await bench.gaps()
        assert found["lost"] == found["unstored"] + sum(lost for _, lost, _ in gaps)
        for at, lost, _ in gaps:
            taken = taken[:at] + taken[at + lost :]
        assert status["write_code"] in (spec.ERR_OK, spec.ERR_RESET, *bench.drive.codes.values())
        if bench.drive.codes:
            assert found["stored"] <= self.answers * UNIT
            return found | status
        # Chunks without a response may be on the drive, but nothing else.
        for number, write in enumerate(bench.drive.writes):
            at = number * UNIT
            assert write.address == 2 * UNIT + at
            assert write.data == taken[at : at + UNIT].ljust(UNIT, b"\0")
        assert found["stored"] == min(self.answers * UNIT, len(taken))
        assert found["write_last"] == ((1 + self.answers) * UNIT if self.answers else NONE)
        if status["write_code"]:
            assert found["write_failed"] == (2 + self.answers) * UNIT
        else:
            assert found["unstored"] == 0
        return found | status

    async def has_read(self) -> dict[str, int]:
        """Look at what was read, and how it ended."""
        return await self.bench.has_read(self.bench.sink, READ, self.bench.drive.medium)

    async def goes_on(self) -> None:
        """Write and read as if nothing had been."""
        bench = self.bench
        await bench.drain()
        bench.drive.codes.clear()
        await self.begin(count=2)
        bench.send(2 * UNIT // BEAT)
        found = await self.written()
        assert found["stored"] == 2 * UNIT and len(bench.drive.writes) == 2
        assert found["write_code"] == 0
        assert (await self.has_read())["read_end"]
        await bench.control()

    async def reset_again(self, lead: int, times: int) -> None:
        """Let the drives be ready, and reset them again before all of the old is over."""
        for _ in range(times):
            self.dut.hold.value = 0
            await harness.step(self.dut.clk, random.randrange(12))
            await self.bench.reset_drives(lead, random.randrange(1, 30))
        self.dut.hold.value = 0


@cocotb.test()
async def cut_at_any_beat(dut) -> None:
    """A streamer that is disabled with any beat of a chunk on offer takes it for no other one."""
    cut = Cut(dut)
    bench = cut.bench
    await bench.start()
    all_ = itertools.product((0, 1, 2, 200, *range(PACKET - 4, PACKET + 2)), (40, -40))
    few = (
        (0, 40),
        (0, -40),
        (1, 40),
        (200, -40),
        *((PACKET - n, 40 - 80 * (n % 2)) for n in range(4)),
    )
    for attempt, (beats, lead) in enumerate(few if harness.repeat(1, 0) == 0 else all_):
        bench.drive.beats = 0
        stops = itertools.repeat(True)
        if beats == 0:
            harness.stall(bench.drive.sink, stops)
        if attempt % 2:
            harness.stall(bench.reader.sink, stops)
        await cut.begin()
        bench.send(PACKET)
        while bench.drive.beats < beats:
            await FallingEdge(dut.clk)
        harness.stall(bench.drive.sink, stops)
        await harness.step(dut.clk, 20)
        await bench.reset_drives(lead, 60)
        assert (await cut.written())["write_code"] == spec.ERR_RESET
        assert (await cut.has_read())["read_code"] == spec.ERR_RESET
        await cut.reset_again(lead, attempt % 3)
        await cut.goes_on()
    codes = [write.code for write in bench.drive.refused]
    assert {spec.ERR_HALTED, spec.ERR_MISALIGNED, spec.ERR_ZERO_LENGTH} == set(codes)
    assert {spec.ERR_MISALIGNED, spec.ERR_ZERO_LENGTH} == set(bench.reader.refused)


@cocotb.test()
async def cut_among_responses(dut) -> None:
    """Of responses in a row those count that come before the drives are reset."""
    cut = Cut(dut)
    bench, counts = cut.bench, set()
    await bench.start()
    for delay in range(CHUNKS + 3):
        bench.drive.silent = True
        await cut.begin(read=False)
        bench.send(CHUNKS * PACKET)
        while len(bench.drive.pending) < CHUNKS:
            await harness.step(dut.clk)
        for write in bench.drive.pending:
            write.done = True
            bench.drive.responses.send_nowait(AxiStreamFrame([write.code]))
        await harness.step(dut.clk, delay)
        await bench.reset_drives(-20, 20)
        assert (await cut.written())["write_code"] == spec.ERR_RESET
        counts.add(cut.answers)
        dut.hold.value = 0
        await bench.drain()
    assert counts == set(range(CHUNKS + 1))


@cocotb.test()
async def cut_at_any_time(dut) -> None:
    """The drives are reset at any time of a run, and for any time."""
    cut = Cut(dut)
    bench, cuts = cut.bench, 0
    await bench.start()
    rounds = harness.repeat(300, 7, 50)
    for _ in range(rounds):
        bench.stall(random.choice([0.0, 0.1, 0.4]), random.choice([0.0, 0.1, 0.4]))
        bench.drive.pause = random.choice([0, 100, 800])
        bench.drive.silent, bench.reader.silent = random.random() < 0.2, random.random() < 0.2
        if random.random() < 0.2:
            bench.drive.codes = {random.randrange(8): random.randrange(0x80, 256)}
        dut.fifo_keeps.value = random.randrange(2)
        write = random.random() < 0.8
        read = not write or random.random() < 0.7
        bits = {"lossy": random.randrange(2), "flush_tail": random.randrange(2)}
        await cut.begin(write, read, **bits)
        bench.send(random.choice([0, 1, random.randrange(2500)]))
        await harness.step(dut.clk, random.randrange(2000))
        if random.random() < 0.3:
            await bench.control(write=0, read=0, **bits)
            await harness.step(dut.clk, random.randrange(100))
        lead = random.choice([-1, 1]) * random.randrange(200)
        await bench.reset_drives(lead, random.randrange(1, 300))
        if write:
            cuts += (await cut.written())["write_code"] == spec.ERR_RESET
        if read:
            cuts += (await cut.has_read())["read_code"] == spec.ERR_RESET
        await cut.reset_again(lead, random.choice([0, 0, 0, 1, 2, 3]))
        await cut.goes_on()
    assert cuts > rounds / 2


@cocotb.test()
async def start_meets_reset(dut) -> None:
    """A start in any cycle around a reset is cut off, or is one once the drives are ready."""
    cut = Cut(dut)
    bench, outcomes = cut.bench, []
    await bench.start()
    await bench.set(0, 8)
    await bench.write("read_max", 8 * UNIT)
    for delay in range(16):
        starting = cocotb.start_soon(bench.control(write=1, read=1))
        await harness.step(dut.clk, delay)
        await bench.reset_drives(-1, 40)
        await starting
        status = await bench.fields("status")
        assert not status["writing"] and not status["reading"] and status["held"]
        codes = {status["write_code"], status["read_code"]}
        outcomes.append(codes == {spec.ERR_RESET})
        assert outcomes[-1] or codes == {spec.ERR_OK}
        dut.hold.value = 0
        await harness.step(dut.clk, 60)
        status = await bench.fields("status")
        assert status["writing"] == status["reading"] == (not outcomes[-1])
        await bench.control(flush_tail=1)
        for name in ("writing", "reading"):
            await bench.status(name, 0)
        assert await bench.read("refused") == 0
    assert outcomes == sorted(outcomes) and set(outcomes) == {False, True}


def test_raw() -> None:
    """Run the coroutines above."""
    run(__file__)
