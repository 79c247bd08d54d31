# SPDX-License-Identifier: Apache-2.0
"""fb_store_raw: what a source that cannot wait loses, and the records of it."""

from __future__ import annotations

import random

import cocotb
import pytest

import harness
from rawside import BEAT, UNIT, Bench, run

pytestmark = pytest.mark.long


@cocotb.test()
@cocotb.parametrize(says=[True, False])
async def loses_whole_chunks(dut, says: bool) -> None:
    """A source that cannot wait and a slow drive: what is missing is what the gaps say."""
    bench = Bench(dut)
    harness.stall(bench.drive.sink, 0.2)
    await bench.start(says)
    places = []
    for pause in (600, 2500):
        bench.drive.pause = pause
        await bench.keep()
        await bench.set(1, 30)
        await bench.begin(lossy=1, write_ring=1)
        bench.send(6000)
        await bench.source.wait()
        await bench.control(lossy=1, write_ring=1, flush_tail=1)
        await bench.status("writing", 0)
        found = await bench.check(ring=True)
        gaps = await bench.gaps()
        assert found["lost"] > 0 and found["offered"] == len(bench.sent)
        assert all(lost % UNIT == 0 for _, lost, _ in gaps[:-1])
        places += [at % UNIT for at, _, _ in gaps]
    # A FIFO that does not say what it has room for may be full in the middle of a chunk.
    assert any(places) != says


@cocotb.test()
async def stop_in_a_gap(dut) -> None:
    """A stop in any cycle around the beginning of a gap, which is recorded all the same."""
    bench = Bench(dut)
    await bench.start()
    counts = []
    for delay in range(24):
        await bench.keep()
        await bench.set(0, 8)
        await bench.begin(lossy=1)
        bench.send(UNIT // BEAT)
        await bench.source.wait()
        dut.hold.value = 1
        stop = cocotb.start_soon(bench.control(lossy=1))
        await harness.step(dut.clk, delay)
        bench.send(3)
        await stop
        await bench.source.wait()
        dut.hold.value = 0
        await bench.status("writing", 0)
        found = await bench.check()
        assert found["offered"] == found["lost"] + UNIT
        counts.append(found["gap_count"])
    assert counts == sorted(counts, reverse=True) and set(counts) == {0, 1}


@cocotb.test()
async def many_gaps(dut) -> None:
    """Of more gaps than there are records the first ones keep theirs; all are counted."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 2)
    await bench.begin(lossy=1, write_ring=1)
    for count in range(70):
        dut.hold.value = 1
        bench.send(UNIT // BEAT)
        await bench.source.wait()
        dut.hold.value = 0
        bench.send(UNIT // BEAT)
        await bench.source.wait()
        await harness.step(dut.clk, 4)
        assert await bench.read("gap_count") == count + 1
    await bench.control(lossy=1, write_ring=1)
    await bench.status("writing", 0)
    found = await bench.check(ring=True)
    assert found["lost"] == 70 * UNIT == found["stored"]
    assert [(at, lost) for at, lost, _ in await bench.gaps()] == [
        (n * UNIT, UNIT) for n in range(64)
    ]


@cocotb.test()
async def fifo_pauses(dut) -> None:
    """A FIFO that takes nothing for a while in the middle of chunks, whatever it said."""
    bench = Bench(dut)
    await bench.start()
    await bench.set(0, 30)
    await bench.begin(lossy=1)
    bench.send(5000)
    while not bench.source.empty() or harness.high(dut.s_axis_in_tvalid):
        dut.fifo_pauses.value = 1
        await harness.step(dut.clk, random.randrange(1, 4))
        dut.fifo_pauses.value = 0
        await harness.step(dut.clk, random.randrange(1, 700))
    await bench.control(lossy=1, flush_tail=1)
    await bench.status("writing", 0)
    found = await bench.check()
    gaps = await bench.gaps()
    assert found["offered"] == len(bench.sent) and any(at % UNIT for at, _, _ in gaps)


def test_raw() -> None:
    """Run the coroutines above."""
    run(__file__)
