# SPDX-License-Identifier: Apache-2.0
"""fb_store_index between streams of cocotbext-axi: its blocks are read by Arrow's own library."""

from __future__ import annotations

import random
from itertools import pairwise

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import harness
from extents import PAGE, Row, Streamer, Write, blocks_of, word_stream
from forebay import spec
from runner import simulate

ROWS = spec.INDEX_ROWS
BASE = 5
SESSION = 0x0123_4567_89AB_CDEF


class Bench:
    """Rows in, and a streamer that takes flushes and blocks."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.streamer = Streamer(dut, fail)
        self.source = word_stream(AxiStreamSource, dut, "s_axis_row")
        self.sent: list[Row] = []

    async def start(self, pages: int = 100, wait: int = 0, **flags: int) -> None:
        """Reset with a region of `pages` pages; `flags` are settings of one bit."""
        dut = self.dut
        harness.clear(dut, "cfg_*", "restart", "sync")
        dut.cfg_base.value = BASE
        dut.cfg_bytes.value = pages
        dut.cfg_wait.value = wait
        dut.cfg_session.value = SESSION
        for name, value in flags.items():
            getattr(dut, f"cfg_{name}").value = value
        await harness.start(dut)

    def send(self, count: int) -> None:
        """Queue rows."""
        for _ in range(count):
            row = Row.any(flags=random.getrandbits(16) | spec.ROW_COUNTS)
            self.sent.append(row)
            self.source.send_nowait(AxiStreamFrame([row.pack()]))

    async def pulse(self, name: str = "sync") -> None:
        """Hold an input for one cycle."""
        await harness.step(self.dut.clk)
        getattr(self.dut, name).value = 1
        await harness.step(self.dut.clk)
        getattr(self.dut, name).value = 0

    async def taken(self) -> None:
        """Wait until all that was sent is inside."""
        while not (self.source.empty() and self.source.idle()):
            await harness.step(self.dut.clk)
        await harness.step(self.dut.clk, 4)

    async def settle(self, rows: int = 0) -> None:
        """Wait until all that was sent is inside, and only `rows` rows are left."""
        await self.taken()
        await harness.until(self.dut.clk, self.dut.rows, rows)
        await harness.until(self.dut.clk, self.dut.busy, 0)
        assert self.dut.rows.value == rows

    def blocks(self) -> list[tuple[Write, int]]:
        """Return writes of blocks, with their answers; a flush goes before each, if that is set."""
        answered = self.streamer.answered()
        if not self.dut.cfg_flush.value:
            assert all(write.data and not write.flush for write, _ in answered)
            return answered
        assert all(write.flush for write, _ in answered)
        before, found = False, []
        for write, code in answered:
            # A flush that fails takes its block with it.
            assert bool(write.data) == before
            before = not write.data and not code
            if write.data:
                found.append((write, code))
        return found

    def check(self, counts: list[int]) -> int:
        """Compare all blocks: how many rows each has, and where they lie; returns the rows lost."""
        writes = self.blocks()
        found = list(blocks_of((write for write, _ in writes), SESSION))
        assert [len(block.rows) for block in found] == counts
        assert [block.number for block in found] == list(range(len(counts)))
        pages = int(self.dut.cfg_bytes.value)
        places = [(BASE + block.number % pages) * PAGE for block in found]
        assert [write.address for write, _ in writes] == places
        assert self.dut.blocks.value == len(found)
        assert self.dut.failed.value == sum(code != 0 for code in self.streamer.codes)
        rows = [row for block in found for row in block.rows]
        sent = iter(row.columns() for row in self.sent)
        assert all(row in sent for row in rows), "a row is not there, or not in order"
        broken = sum(
            len(block.rows) for block, (_, code) in zip(found, writes, strict=True) if code
        )
        lost = len(self.sent) - len(rows) + broken
        assert self.dut.lost.value == lost
        return lost


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.6], stall=[0.0, 0.6], flush=[0, 1])
async def full_blocks(dut, idle: float, stall: float, flush: int) -> None:
    """Without a time-out only full blocks leave, over the end of a ring too."""
    bench = Bench(dut)
    await bench.start(pages=3, ring=1, flush=flush)
    bench.source.set_pause_generator(harness.stalls(idle))
    for each in (bench.streamer.sink, bench.streamer.answers):
        each.set_pause_generator(harness.stalls(stall))
    bench.send(7 * ROWS)
    await bench.settle()
    assert bench.check([ROWS] * 7) == 0


@cocotb.test()
@cocotb.parametrize(wait=[0, 1, 900], ring=[0, 1])
async def any_rows(dut, wait: int, ring: int) -> None:
    """However rows, time-outs, syncs and failures meet: a row is in a block, in order, or lost."""
    bench = Bench(dut, fail=0.1)
    pages = random.randrange(3, 6)
    await bench.start(pages, wait, ring=ring, flush=1)
    for each in (bench.source, bench.streamer.sink, bench.streamer.answers):
        each.set_pause_generator(harness.stalls(0.4))
    for _ in range(20):
        bench.send(random.choice([0, 1, 2, random.randrange(60)]))
        if random.random() < 0.4:
            await bench.pulse()
        await harness.step(dut.clk, random.choice([0, 1, 800, random.randrange(1800)]))
    await bench.taken()
    await harness.step(dut.clk, 20)
    await bench.pulse()
    await bench.settle()
    blocks = blocks_of((write for write, _ in bench.blocks()), SESSION)
    counts = [len(block.rows) for block in blocks]
    assert ring or len(counts) <= pages
    bench.check(counts)


@cocotb.test()
@cocotb.parametrize(count=[0, 1, 63, 64, 65])
async def sync(dut, count: int) -> None:
    """`sync` has all rows written that wait, and it lasts until the last block has its answer."""
    bench = Bench(dut)
    await bench.start(flush=1)
    bench.streamer.silent = True
    bench.send(count)
    await bench.taken()
    assert dut.rows.value == count % ROWS
    await bench.pulse()
    await FallingEdge(dut.clk)
    assert dut.busy.value == (count != 0)
    for _ in range(5):
        await harness.step(dut.clk, 13 * ROWS)
        bench.streamer.answer()
    await bench.settle()
    bench.check([ROWS] * (count // ROWS) + [count % ROWS] * (count % ROWS != 0))


@cocotb.test()
async def sync_ends_though_rows_come(dut) -> None:
    """What comes behind a `sync` waits for a full block again: else each had a block of its own."""
    bench = Bench(dut)
    await bench.start()
    bench.send(10)
    await bench.taken()
    await harness.step(dut.clk, 20)
    await bench.pulse()
    bench.send(3 * ROWS)
    await bench.settle()
    bench.check([10, ROWS, ROWS, ROWS])


@cocotb.test()
async def time_out(dut) -> None:
    """A block leaves N cycles after its oldest row came, with all rows that there are."""
    bench = Bench(dut)
    wait = 1000
    await bench.start(wait=wait)
    for count in (1, 30, ROWS - 1):
        bench.send(count)
        began = await harness.until(dut.clk, dut.rows)
        left = await harness.until(dut.clk, dut.m_axis_wr_tvalid)
        # What fills it up takes 11 cycles each, the checksum some 70.
        due = wait + 11 * (ROWS - count)
        assert due <= left - began <= due + 100
        await bench.settle()
    bench.check([1, 30, ROWS - 1])


@cocotb.test()
@cocotb.parametrize(pages=[0, 1, 2], ring=[0, 1])
async def small_regions(dut, pages: int, ring: int) -> None:
    """At the region's end comes its beginning, or rows are lost, and counted."""
    bench = Bench(dut)
    await bench.start(pages, ring=ring)
    bench.send(4 * ROWS + 3)
    await bench.taken()
    await harness.step(dut.clk, 20)
    await bench.pulse()
    await bench.settle()
    counts = [ROWS] * 4 + [3]
    kept = counts if ring and pages else counts[:pages]
    assert bench.check(kept) == sum(counts) - sum(kept)


@cocotb.test()
async def order(dut) -> None:
    """Nothing of a block leaves before the flush in front of it has its answer."""
    bench = Bench(dut)
    await bench.start(flush=1)
    bench.streamer.silent = True
    bench.send(ROWS)
    await harness.step(dut.clk, 20 * ROWS)
    assert [bool(write.data) for write in bench.streamer.writes] == [False]
    bench.streamer.answer()
    await harness.step(dut.clk, 2 * ROWS)
    assert [bool(write.data) for write in bench.streamer.writes] == [False, True]
    assert dut.busy.value == 1 and dut.blocks.value == 0
    bench.streamer.answer()
    await bench.settle()
    bench.check([ROWS])


@cocotb.test()
async def flush_fails(dut) -> None:
    """What is not known to be on the SSD gets no row."""
    bench = Bench(dut, fail=1.0)
    await bench.start(flush=1)
    bench.send(ROWS)
    await bench.settle()
    assert bench.check([]) == ROWS
    bench.streamer.fail = 0.0
    bench.send(ROWS)
    await bench.settle()
    assert bench.check([ROWS]) == ROWS


@cocotb.test()
async def begins_anew(dut) -> None:
    """Behind `restart` numbers, counters and places are those of the beginning."""
    bench = Bench(dut, fail=1.0)
    await bench.start(pages=2)
    bench.send(4 * ROWS)
    await bench.settle()
    assert (dut.failed.value, dut.lost.value) == (2, 4 * ROWS)
    await bench.pulse("restart")
    bench.streamer.forget()
    bench.streamer.fail = 0.0
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
    await harness.step(dut.clk, 40 * ROWS)
    assert dut.rows.value == ROWS and dut.s_axis_row_tready.value == 0
    bench.streamer.sink.pause = False
    await bench.settle()
    bench.check([ROWS] * 4)


@cocotb.test()
async def reset_in_mid_block(dut) -> None:
    """A reset forgets rows and block; the next block is the first."""
    bench = Bench(dut)
    await bench.start(flush=1)
    for _ in range(6):
        bench.send(2 * ROWS)
        await harness.step(dut.clk, random.randrange(700, 1700))
        await harness.reset(dut, 2)
        bench.source.clear()
        bench.streamer.forget()
        bench.sent.clear()
        await harness.step(dut.clk, 2)
        bench.send(ROWS + 5)
        await bench.taken()
        await harness.step(dut.clk, 20)
        await bench.pulse()
        await bench.settle()
        bench.check([ROWS, 5])


@cocotb.test()
async def full_rate(dut) -> None:
    """A row takes 12 cycles, and a block 65 on its way out, while the next one fills."""
    bench = Bench(dut)
    await bench.start()
    rows: list[int] = []
    out: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.s_axis_row_tvalid, dut.s_axis_row_tready, rows))
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_wr_tvalid, dut.m_axis_wr_tready, out))
    bench.send(3 * ROWS)
    await bench.settle()
    steps = [later - earlier for earlier, later in pairwise(rows)]
    assert set(steps) == {12, 13} and steps.count(13) == 2, "one cycle more for each block"
    for at in range(0, 3 * 65, 65):
        assert out[at : at + 65] == [*range(out[at], out[at] + 65)]


@harness.provocation
async def restart_with_rows(dut) -> None:
    """A restart while rows wait must be noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.send(3)
    await bench.taken()
    await bench.pulse("restart")
    await harness.step(dut.clk, 3)


@harness.provocation
async def stray_answer(dut) -> None:
    """An answer that is not waited for must be noticed."""
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
    simulate(__file__, "fb_store_index", **options)


def test_index() -> None:
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
