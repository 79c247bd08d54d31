# SPDX-License-Identifier: Apache-2.0
"""fb_store_raw: regions and rings are written and read back, at any pace and over stops."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge, with_timeout

import harness
from forebay import raw_regs as regs
from rawside import BEAT, CHUNKS, MEDIA, NONE, UNIT, Bench, run

pytestmark = pytest.mark.long

FULL = harness.repeat(1, 0)  # by day only with a source that pauses


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.3][1 - FULL :], stall=[0.0, 0.3])
async def writes_and_reads(dut, idle: float, stall: float) -> None:
    """A region is written to its end, and reads back; the source waits behind it."""
    bench = Bench(dut)
    bench.stall(idle, stall)
    await bench.start()
    for chunk in (UNIT, 4 * UNIT):
        bench.drive.pause = random.choice([0, 800])
        most = MEDIA // chunk
        start = random.randrange(most - 2)
        count = random.randrange(1, min(8, most - start))
        await bench.keep()
        await bench.set(start, count, chunk)
        await bench.begin()
        assert await bench.read("offered") == 0 and await bench.read("write_last") == NONE
        bench.send(count * chunk // BEAT + 3)
        await bench.status("writing", 0)
        assert (await bench.fields("status"))["write_end"] == 1
        found = await bench.check()
        assert found["stored"] == count * chunk and found["lost"] == 0 and found["laps"] == 1
        # It does not start again by itself, and what is behind the end was not taken.
        await harness.step(dut.clk, 50)
        assert not bench.source.idle() and (await bench.fields("status"))["writing"] == 0
        await bench.control()
        packets = await bench.fetch(start, count)
        assert bench.reader.commands == [((start + n) * chunk, chunk) for n in range(count)]
        data = [bytes(packet.tdata) for packet in packets]
        assert [len(each) for each in data] == [chunk] * count
        assert b"".join(data) == bench.sent[: count * chunk]
        assert not any(bool(packet.tuser) and any(packet.tuser) for packet in packets)
        assert await bench.read("read_last") == (start + count - 1) * chunk
        assert await bench.read("read_started") < await bench.read("read_stopped")
        assert (await bench.fields("status"))["read_end"] == 1
        await bench.drain()


@cocotb.test()
async def rings(dut) -> None:
    """A ring goes on at its start: small ones, in which a lap meets the one before it."""
    bench = Bench(dut)
    bench.stall(0.1, 0.1)
    await bench.start()
    for count in (1, 2, 3, 7):
        bench.drive.pause = 300
        dut.fifo_keeps.value = count % 2
        await bench.keep()
        await bench.set(random.randrange(4), count)
        await bench.begin(write_ring=1)
        chunks = 4 * count + 2
        bench.send(chunks * UNIT // BEAT - random.randrange(UNIT // BEAT))
        await bench.source.wait()
        await bench.control(write=0, write_ring=1, flush_tail=1)
        await bench.status("writing", 0)
        found = await bench.check(ring=True)
        assert found["stored"] == len(bench.sent) and found["laps"] >= 4
        assert (await bench.fields("status"))["write_end"] == 0


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.3][1 - FULL :])
async def stops(dut, idle: float) -> None:
    """A stop at any moment: the chunk under way ends, by zeros or by what comes; then a restart."""
    bench = Bench(dut)
    bench.stall(idle, idle)
    await bench.start()
    for attempt in range(harness.repeat(100, 7)):
        bench.drive.pause = random.choice([0, 400])
        # What the FIFO keeps back comes when nothing more does.
        dut.fifo_keeps.value = random.randrange(2)
        flush = attempt % 2
        await bench.keep()
        await bench.set(3, 8)
        await bench.begin(flush_tail=flush)
        bench.send(random.choice([0, 1, 255, 256, 257, random.randrange(1500)]))
        if random.random() < 0.5:
            await bench.source.wait()
        await harness.step(dut.clk, random.randrange(700))
        await bench.control(write=0, flush_tail=flush)
        if not flush:
            # It ends with what fills the chunk, and takes nothing behind it.
            await harness.step(dut.clk, 20)
            bench.send(UNIT // BEAT + 1)
        await bench.status("writing", 0)
        found = await bench.check()
        assert found["lost"] == 0
        assert flush or found["stored"] % UNIT == 0
        await bench.drain()


@cocotb.test()
async def stop_waits_for_the_chunk(dut) -> None:
    """Without `flush_tail` a stop waits for the source, until `flush_tail` is set."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 8)
    await bench.begin()
    bench.send(300)
    await bench.source.wait()
    await bench.control(write=0)
    await harness.step(dut.clk, 3000)
    assert (await bench.fields("status"))["writing"] == 1
    await bench.control(write=0, flush_tail=1)
    await bench.status("writing", 0)
    found = await bench.check()
    assert found["stored"] == 300 * BEAT and len(bench.drive.writes) == 2


@cocotb.test()
async def read_stops(dut) -> None:
    """A stop ends reading once what was asked for has come."""
    bench = Bench(dut)
    bench.stall(0.2, 0.2)
    await bench.start()
    for _ in range(harness.repeat(50, 4)):
        bench.reader.commands.clear()
        bench.reader.sent.clear()
        await bench.write("read_start", 0)
        await bench.write("read_max", 8 * bench.chunk)
        await bench.write("chunk_bytes", UNIT)
        await bench.control(read=1)
        await harness.step(dut.clk, random.randrange(2500))
        await bench.control(read=0)
        asked = len(bench.reader.commands)
        await bench.status("reading", 0)
        assert len(bench.reader.commands) <= asked + 1
        packets = [bench.sink.recv_nowait(compact=False) for _ in range(bench.sink.count())]
        count = len(bench.reader.commands)
        assert [len(packet.tdata) for packet in packets] == [UNIT] * count
        data = b"".join(bytes(packet.tdata) for packet in packets)
        assert data == bench.drive.medium[: count * UNIT]
        last = await bench.read("read_last")
        assert last == ((count - 1) * UNIT if count else NONE)


@cocotb.test()
async def holds(dut) -> None:
    """While `hold` is high nothing starts, and no chunk begins; one under way goes on."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 8)
    await bench.write("read_max", 8 * UNIT)
    dut.hold.value = 1
    await bench.control(write=1, read=1)
    await harness.step(dut.clk, 100)
    assert await bench.read("status") == 1 << regs.FIELDS["status"]["held"][1]
    dut.hold.value = 0
    await bench.status("writing", 1)
    bench.drive.writes.clear()
    bench.send(600)
    await harness.until(dut.clk, dut.s_axis_in_tvalid)
    await harness.step(dut.clk, 100)
    dut.hold.value = 1
    await harness.step(dut.clk, 2000)
    assert await bench.read("stored") == UNIT and len(bench.drive.writes) == 1
    asked = len(bench.reader.commands)
    await harness.step(dut.clk, 2000)
    assert asked == len(bench.reader.commands) < 8
    dut.hold.value = 0
    await bench.source.wait()
    await bench.control(flush_tail=1, read=1)
    await bench.status("writing", 0)
    await bench.status("reading", 0)
    found = await bench.check()
    assert found["stored"] == 600 * BEAT and len(bench.reader.commands) == 8


@cocotb.test()
async def longest_wait(dut) -> None:
    """The longest time without a response is measured, and starts anew with each run."""
    bench = Bench(dut)
    await bench.start()
    for silence in (3000, 500):
        await bench.keep()
        await bench.set(0, 8)
        await bench.begin()
        bench.drive.silent = True
        bench.send(2 * UNIT // BEAT)
        await bench.source.wait()
        await harness.step(dut.clk, silence)
        bench.drive.silent = False
        await bench.control(flush_tail=1)
        await bench.status("writing", 0)
        # The second chunk follows the first one, and with it the source has ended.
        found = await bench.read("longest_wait")
        assert silence + UNIT // BEAT - 20 < found < silence + UNIT // BEAT + 60
        await bench.check()
    # Each response ends a wait, though another chunk is with the drive.
    bench.drive.pause = 1500
    await bench.keep()
    await bench.set(0, 20)
    await bench.begin()
    bench.send(20 * UNIT // BEAT)
    await bench.status("writing", 0)
    assert await bench.read("longest_wait") < CHUNKS * (bench.drive.pause + 2)
    took = await bench.read("write_stopped") - await bench.read("write_started")
    assert took > 10_000 * harness.PERIOD_NS


@cocotb.test()
async def fifo_in_memory(dut) -> None:
    """Its level, its greatest one and its errors are shown; a run begins them anew."""
    bench = Bench(dut)
    await bench.start()
    level, high = random.getrandbits(35), random.getrandbits(35)
    dut.fifo_level.value, dut.fifo_high_water.value = level, high
    for _ in range(2):
        begins = cocotb.start_soon(with_timeout(RisingEdge(dut.fifo_begins), 100, "us"))
        await bench.set(0, 2)
        await bench.begin()
        await begins
        counts = {"writes": random.randint(1, 40), "reads": random.randint(1, 40)}
        for name, pin in (("writes", dut.fifo_write_error), ("reads", dut.fifo_read_error)):
            pin.value = 1
            await harness.step(dut.clk, counts[name])
            pin.value = 0
        bench.send(2 * UNIT // BEAT)
        await bench.status("writing", 0)
        assert await bench.fields("fifo_errors") == counts
        assert await bench.read("fifo_level") == level
        assert await bench.read("fifo_high_water") == high
        await bench.check()
        await bench.keep()
        await bench.control()


@cocotb.test()
async def full_rate(dut) -> None:
    """A cycle a beat, and one for each chunk; so it is for reading, but for its commands."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 16)
    beats, found = [], []
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_wr_tvalid, dut.m_axis_wr_tready, beats))
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_out_tvalid, dut.m_axis_out_tready, found))
    await bench.begin()
    bench.send(16 * UNIT // BEAT)
    await bench.status("writing", 0)
    assert len(beats) == 16 * (UNIT // BEAT + 1) and harness.rate(beats) == 1
    await bench.check()
    await bench.fetch(0, 16)
    assert len(found) == 16 * UNIT // BEAT and harness.rate(found) == 1


def test_raw() -> None:
    """Run the coroutines above."""
    run(__file__)
