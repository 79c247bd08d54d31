# SPDX-License-Identifier: Apache-2.0
"""fb_store_journal between streams of cocotbext-axi: blocks read by the layout of their bytes."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import harness
from extents import PAGE, Streamer, blocks_of
from forebay import spec
from runner import simulate

DEPTH = 128
ROWS = spec.JOURNAL_ROWS
BASE = 5
RECORDING = 0x0123_4567_89AB_CDEF


class Bench:
    """Rows in, and a streamer that takes the blocks."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.streamer = Streamer(dut, fail)
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_row")
        self.sent: list[bytes] = []

    async def start(self, pages: int = 100, wait: int = 0, **flags: int) -> None:
        """Reset with a region of so many pages; `flags` are settings of one bit."""
        dut = self.dut
        harness.clear(dut, "cfg_*", "restart", "sync")
        dut.cfg_base.value = BASE
        dut.cfg_bytes.value = pages
        dut.cfg_wait.value = wait
        dut.cfg_recording.value = RECORDING
        for name, value in flags.items():
            getattr(dut, f"cfg_{name}").value = value
        await harness.start(dut)

    def send(self, count: int) -> None:
        """Queue rows."""
        for _ in range(count):
            self.sent.append(random.randbytes(spec.JOURNAL_ROW_BYTES))
            self.source.send_nowait(AxiStreamFrame(self.sent[-1]))

    async def pulse(self, name: str = "sync") -> None:
        """Hold an input for one cycle."""
        await harness.step(self.dut.clk)
        getattr(self.dut, name).value = 1
        await harness.step(self.dut.clk)
        getattr(self.dut, name).value = 0

    async def settle(self, rows: int = 0) -> None:
        """Wait until all that was sent is inside, and so many rows and nothing else are left."""
        while not self.source.empty() or not self.source.idle():
            await harness.step(self.dut.clk)
        await harness.step(self.dut.clk, 4)
        await harness.until(self.dut.clk, self.dut.rows, rows)
        await harness.until(self.dut.clk, self.dut.busy, 0)
        assert self.dut.rows.value == rows

    def check(self, counts: list[int], numbers: list[int] | None = None) -> None:
        """Compare all blocks: how many rows each has, their bytes, and where they lie."""
        found = list(blocks_of(self.streamer.writes))
        assert [len(block.rows) for block in found] == counts
        assert [row for block in found for row in block.rows] == self.sent[: sum(counts)]
        assert [block.number for block in found] == (numbers or list(range(len(counts))))
        assert all(block.recording == RECORDING for block in found)
        pages = int(self.dut.cfg_bytes.value)
        places = [(BASE + block.number % pages) * PAGE for block in found]
        assert [write.address for write in self.streamer.writes] == places
        assert self.dut.blocks.value == len(found)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.6], stall=[0.0, 0.6])
async def full_blocks(dut, idle: float, stall: float) -> None:
    """Without a time-out only full blocks leave, over the end of a ring too."""
    bench = Bench(dut, fail=0.5)
    await bench.start(pages=3, ring=1)
    bench.source.set_pause_generator(harness.stalls(idle))
    for each in (bench.streamer.sink, bench.streamer.answers):
        each.set_pause_generator(harness.stalls(stall))
    bench.send(7 * ROWS + 40)
    await bench.settle(rows=40)
    bench.check([ROWS] * 7)
    assert dut.lost.value == 0
    assert dut.failed.value == sum(code != 0 for code in bench.streamer.codes)


@cocotb.test()
@cocotb.parametrize(wait=[0, 1, 90], ring=[0, 1])
async def any_rows(dut, wait: int, ring: int) -> None:
    """However rows, time-outs and syncs meet, each row is in one block, in order, or is lost."""
    bench = Bench(dut, fail=0.1)
    pages = random.randrange(3, 6)
    await bench.start(pages, wait, ring=ring)
    for each in (bench.source, bench.streamer.sink, bench.streamer.answers):
        each.set_pause_generator(harness.stalls(0.4))
    for _ in range(30):
        bench.send(random.choice([0, 1, 2, random.randrange(60)]))
        if random.random() < 0.3:
            await bench.pulse()
        await harness.step(dut.clk, random.choice([0, 1, 70, random.randrange(300)]))
    while not (bench.source.empty() and bench.source.idle()):
        await harness.step(dut.clk)
    await harness.step(dut.clk, 4)
    await bench.pulse()
    await bench.settle()
    counts = [len(block.rows) for block in blocks_of(bench.streamer.writes)]
    assert len(counts) > pages if ring else len(counts) == pages
    bench.check(counts)
    assert dut.lost.value == len(bench.sent) - sum(counts)
    assert dut.failed.value == sum(code != 0 for code in bench.streamer.codes)


@cocotb.test()
@cocotb.parametrize(count=[0, 1, 62, 63, 64, 127])
async def sync(dut, count: int) -> None:
    """`sync` has all rows written that wait, and it lasts until the last block has its answer."""
    bench = Bench(dut)
    await bench.start()
    bench.streamer.silent = True
    # Held up, so that none is in a block before.
    bench.streamer.sink.pause = True
    bench.send(count)
    await harness.step(dut.clk, count + 10)
    assert dut.rows.value == count
    await bench.pulse()
    await FallingEdge(dut.clk)
    assert dut.busy.value == (count != 0)
    bench.streamer.sink.pause = False
    await harness.step(dut.clk, 3 * 70)
    assert dut.rows.value == 0 and dut.busy.value == (count != 0)
    bench.streamer.answer()
    await bench.settle()
    bench.check([ROWS] * (count // ROWS) + [count % ROWS] * (count % ROWS != 0))


@cocotb.test()
async def sync_ends_though_rows_come(dut) -> None:
    """What comes behind a `sync` waits for a full block again: else each had a block of its own."""
    bench = Bench(dut)
    await bench.start()
    bench.send(10)
    await harness.step(dut.clk, 20)

    async def go_on() -> None:
        for _ in range(3 * ROWS):
            bench.send(1)
            await harness.step(dut.clk, 20)

    await bench.pulse()
    await go_on()
    await bench.settle(rows=0)
    found = [len(block.rows) for block in blocks_of(bench.streamer.writes)]
    assert found == [10, ROWS, ROWS, ROWS]
    bench.check(found)


@cocotb.test()
async def time_out(dut) -> None:
    """A block leaves so many cycles after its oldest row came, with all rows that there are."""
    bench = Bench(dut)
    wait = 200
    await bench.start(wait=wait)
    for count in (1, 30, ROWS - 1):
        bench.send(1)
        began = await harness.until(dut.clk, dut.rows, 1)
        await harness.step(dut.clk, 20)
        bench.send(count - 1)
        left = await harness.until(dut.clk, dut.m_axis_wr_tvalid)
        assert wait <= left - began <= wait + 2
        await bench.settle()
    bench.check([1, 30, ROWS - 1])
    # A full block does not wait.
    bench.send(ROWS)
    began = await harness.until(dut.clk, dut.rows, 1)
    assert await harness.until(dut.clk, dut.m_axis_wr_tvalid) - began < ROWS + 5


@cocotb.test()
@cocotb.parametrize(pages=[0, 1, 2], ring=[0, 1])
async def small_regions(dut, pages: int, ring: int) -> None:
    """At the region's end comes its beginning, or rows are lost, and counted."""
    bench = Bench(dut)
    await bench.start(pages, ring=ring)
    bench.send(4 * ROWS + 3)
    await bench.settle(rows=3)
    await bench.pulse()
    await bench.settle()
    counts = [ROWS] * 4 + [3]
    kept = counts if ring and pages else counts[:pages]
    bench.check(kept)
    assert dut.lost.value == sum(counts) - sum(kept)


@cocotb.test()
async def flush(dut) -> None:
    """Each write of a block asks for a flush, if that is set, and only then."""
    bench = Bench(dut)
    await bench.start(flush=1)
    bench.send(2 * ROWS)
    await bench.settle()
    dut.cfg_flush.value = 0
    bench.send(ROWS)
    await bench.settle()
    assert [write.flush for write in bench.streamer.writes] == [True, True, False]


@cocotb.test()
async def begins_anew(dut) -> None:
    """Behind `restart` numbers, counters and places are those of the beginning."""
    bench = Bench(dut, fail=1.0)
    await bench.start(pages=2)
    bench.send(4 * ROWS)
    await bench.settle()
    assert (dut.failed.value, dut.lost.value) == (2, 2 * ROWS)
    await bench.pulse("restart")
    bench.streamer.forget()
    bench.sent.clear()
    await FallingEdge(dut.clk)
    assert (dut.blocks.value, dut.failed.value, dut.lost.value) == (0, 0, 0)
    bench.send(ROWS)
    await bench.settle()
    bench.check([ROWS])


@cocotb.test()
async def nobody_takes(dut) -> None:
    """Where the streamer does not take blocks the rows wait, and none is lost."""
    bench = Bench(dut)
    await bench.start()
    bench.streamer.sink.pause = True
    bench.send(4 * ROWS)
    await harness.step(dut.clk, 400)
    # One more than the memory holds rests at its output.
    assert dut.rows.value == DEPTH + 1 and dut.s_axis_row_tready.value == 0
    bench.streamer.sink.pause = False
    await bench.settle()
    bench.check([ROWS] * 4)


@cocotb.test()
async def reset_in_mid_block(dut) -> None:
    """A reset forgets rows and block; the next block is the first."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(8):
        bench.send(2 * ROWS)
        await harness.step(dut.clk, random.randrange(50, 200))
        await harness.reset(dut, 2)
        bench.source.clear()
        bench.streamer.forget()
        bench.sent.clear()
        await harness.step(dut.clk, 2)
        bench.send(ROWS + 5)
        await bench.settle(rows=5)
        await bench.pulse()
        await bench.settle()
        bench.check([ROWS, 5])


@cocotb.test()
async def full_rate(dut) -> None:
    """A block takes 65 cycles, and the next one follows after one more."""
    bench = Bench(dut)
    await bench.start()
    out: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_wr_tvalid, dut.m_axis_wr_tready, out))
    bench.streamer.sink.pause = True
    bench.send(2 * ROWS)
    await harness.step(dut.clk, 3 * ROWS)
    bench.streamer.sink.pause = False
    await bench.settle()
    assert out == [*range(out[0], out[0] + 65), *range(out[0] + 66, out[0] + 131)]


@harness.provocation
async def restart_with_rows(dut) -> None:
    """A restart while rows wait must be noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.send(3)
    await harness.step(dut.clk, 10)
    await bench.pulse("restart")
    await harness.step(dut.clk, 3)


@harness.provocation
async def stray_answer(dut) -> None:
    """An answer that nobody waits for must be noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.streamer.unanswered = 1
    bench.streamer.answer()
    await harness.step(dut.clk, 5)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_wr)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_store_journal", {"Depth": DEPTH}, **options)


def test_journal() -> None:
    """Run the coroutines above."""
    run()


@pytest.mark.parametrize(
    ("testcase", "message"),
    [
        ("restart_with_rows", "restarts_at_rest"),
        ("stray_answer", "answers_are_awaited"),
        ("withdraw", "m_axis_wr: valid fell"),
    ],
)
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
