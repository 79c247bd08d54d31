# SPDX-License-Identifier: Apache-2.0
"""fb_store_append between streams of cocotbext-axi, against where extents have to lie."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamSink, AxiStreamSource

import harness
from extents import (
    BEAT,
    PAGE,
    PATIENCE_US,
    Extent,
    Region,
    Row,
    Streamer,
    extent,
    failed,
    word_stream,
)
from forebay import spec
from runner import simulate

pytestmark = pytest.mark.long

DEPTH = 64
LONGEST = 64 * PAGE  # of an extent
WRITE = 2 * PAGE  # of a write
WRITES = 128  # without an answer


class Bench:
    """Extents in, writes and rows out, and the region that both have to agree with."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.streamer = Streamer(dut, fail)
        self.objects = harness.axi_stream(AxiStreamSource, dut, "s_axis_object")
        self.heads = word_stream(AxiStreamSource, dut, "s_axis_head")
        self.rows = word_stream(AxiStreamSink, dut, "m_axis_row")
        self.region = Region(0, 0, False)
        self.due: list[Row] = []

    async def start(self, pages: int, ring: bool = False, base: int = 7, **layout: int) -> None:
        """Reset with a region of `pages` pages; taking extents is enabled.

        `layout` is `page`, or `stride` or `room` in bytes.
        """
        dut = self.dut
        self.region = Region(
            base * PAGE, pages * PAGE, ring, longest=LONGEST, write=WRITE, **layout
        )
        dut.cfg_page.value = layout.get("page", 0)
        dut.cfg_fill.value = bool(layout.get("page") or layout.get("room"))
        dut.cfg_room.value = layout.get("room", 0) // PAGE
        dut.cfg_stride.value = layout.get("stride", 0) // PAGE
        dut.restart.value = 0
        dut.cfg_enable.value = 1
        dut.cfg_ring.value = ring
        dut.cfg_base.value = base
        dut.cfg_bytes.value = pages
        await harness.start(dut)

    def stall(self, idle: float, stall: float) -> None:
        """Pause sources and sinks at random."""
        for source in (self.objects, self.heads):
            source.set_pause_generator(harness.stalls(idle))
        for each in (self.streamer.sink, self.streamer.answers, self.rows):
            each.set_pause_generator(harness.stalls(stall))

    def send(self, what: Extent) -> None:
        """Queue an extent, and remember where it has to lie."""
        self.objects.send_nowait(what.frame())
        self.heads.send_nowait(what.word())
        self.due += self.region.place(what)

    async def row(self) -> Row:
        """Take the next row."""
        found = await with_timeout(self.rows.recv(), PATIENCE_US, "us")
        return Row.unpack(found.tdata[0])

    async def check(self) -> list[Row]:
        """Take all rows; they and the writes are those that are due, and nothing is left."""
        codes = iter(self.streamer.codes)
        found = []
        for due in self.due:
            row = await self.row()
            assert row == failed(due, self.region.answer(due, codes))
            found.append(row)
        assert self.streamer.writes == self.region.writes
        await harness.step(self.dut.clk, 10)
        assert self.rows.empty() and self.dut.open.value == 0 and self.dut.waiting.value == 0
        assert self.dut.position.value == self.region.at
        self.due = []
        return found


LAYOUTS = ({}, {"page": 1}, {"stride": 2 * PAGE}, {"room": 3 * PAGE})


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4], ring=[False, True], layout=LAYOUTS)
async def any_extents(dut, stall: float, ring: bool, layout: dict[str, int]) -> None:
    """Each lies where it has to, the region's end included, and its row says so."""
    bench = Bench(dut, fail=0.3)
    await bench.start(8 if ring else 40, ring, random.getrandbits(40), **layout)
    bench.stall(stall, stall)
    for _ in range(14):
        if ring or bench.region.at + 8 * PAGE < bench.region.size:
            bench.send(extent())
    # One that goes over the end, and what comes behind it.
    bench.send(extent(bench.region.size - (0 if ring else bench.region.at) + 70))
    for _ in range(20):
        bench.send(extent())
    rows = await bench.check()
    flags = {row.flags & (spec.ROW_CUT | spec.ROW_SKIPPED) for row in rows}
    skips = not ring or "stride" in layout
    assert flags == {0, spec.ROW_CUT} | ({spec.ROW_SKIPPED} if skips else set())
    assert any(row.flags & spec.ROW_FAILED for row in rows)


@cocotb.test()
@cocotb.parametrize(pages=[0, 1, 2, 3], ring=[False, True], layout=LAYOUTS)
async def small_regions(dut, pages: int, ring: bool, layout: dict[str, int]) -> None:
    """A region of a page, or of none: what fits exactly is not cut, what does not is."""
    bench = Bench(dut)
    await bench.start(pages, ring, **layout)
    for length in (PAGE, PAGE + 1, 1, 2 * PAGE, 3 * PAGE + 7, BEAT):
        bench.send(extent(length))
    rows = await bench.check()
    least = layout.get("room", 2 * PAGE if layout else PAGE) // PAGE
    if pages < least:
        assert all(row.flags & spec.ROW_SKIPPED for row in rows)
    elif ring and "stride" not in layout:
        assert not any(row.flags & spec.ROW_SKIPPED for row in rows)


@cocotb.test()
async def whole_and_cut(dut) -> None:
    """The rows of a cut say where each part begins in its object, and no part is whole."""
    bench = Bench(dut)
    await bench.start(1, ring=True)
    bench.send(extent(2 * PAGE + 5, broken=False, missing=3))
    rows = await bench.check()
    cut = spec.ROW_CUT | spec.ROW_COUNTS
    assert [row.flags for row in rows] == [cut, cut, spec.ROW_COUNTS]
    assert [row.missing for row in rows] == [3, 0, 0]
    assert [row.offset - rows[0].offset for row in rows] == [0, PAGE, 2 * PAGE]
    bench.send(extent(PAGE, broken=False))
    assert (await bench.check())[0].flags == spec.ROW_WHOLE | spec.ROW_COUNTS


@cocotb.test()
async def longest(dut) -> None:
    """What is longer than a row can say is cut, with a page in front of each part."""
    bench = Bench(dut)
    await bench.start(2 * LONGEST // PAGE + 8, page=1)
    bench.send(extent(LONGEST + 1, broken=False))
    bench.send(extent(LONGEST, broken=False))
    rows = await bench.check()
    assert [row.length for row in rows] == [LONGEST, 1, LONGEST]


@cocotb.test()
async def others_have_their_turn(dut) -> None:
    """A long extent is several writes, behind each other, of which one may fail."""
    bench = Bench(dut)
    await bench.start(40)
    bench.streamer.due.extend([0, 0, 7, 9, 0])
    bench.send(extent(4 * WRITE, broken=False))
    bench.send(extent(WRITE, broken=False))
    rows = await bench.check()
    assert len(bench.streamer.writes) == 5
    good = spec.ROW_WHOLE | spec.ROW_COUNTS
    wrong = spec.ROW_FAILED | 7 << spec.ROW_CODE_LSB
    assert [row.flags for row in rows] == [good | wrong, good]


@cocotb.test()
async def writes_wait_for_answers(dut) -> None:
    """As many writes as there is room for go out ahead of the answers, then all waits."""
    bench = Bench(dut)
    await bench.start(8 * LONGEST // PAGE)
    bench.streamer.silent = True
    for _ in range(5):
        bench.send(extent(30 * WRITE, broken=False))
    await harness.step(dut.clk, 5 * 31 * WRITE // BEAT)
    assert len(bench.streamer.writes) == WRITES
    assert int(dut.waiting.value) < 5
    bench.streamer.silent = False
    bench.streamer.answer()
    await bench.check()


@cocotb.test()
async def nobody_answers(dut) -> None:
    """As many extents as there are rows for are stored ahead of the answers, then all waits."""
    bench = Bench(dut)
    await bench.start(4 * DEPTH)
    bench.streamer.silent = True
    for _ in range(2 * DEPTH):
        bench.send(extent(random.randrange(1, 200)))
    await harness.step(dut.clk, 20 * DEPTH)
    # One more than the memory holds rests at its output.
    assert dut.waiting.value == len(bench.streamer.writes) == DEPTH + 1 and bench.rows.empty()
    bench.streamer.silent = False
    bench.streamer.answer()
    await bench.check()


@cocotb.test()
async def disabled_in_mid_extent(dut) -> None:
    """An extent that has begun is taken to its end, over the region's too; the next one waits."""
    bench = Bench(dut)
    await bench.start(2, ring=True)
    bench.send(extent(2 * PAGE + 100))
    await harness.until(dut.clk, dut.open)
    dut.cfg_enable.value = 0
    await bench.check()
    bench.send(extent(100))
    await harness.step(dut.clk, 100)
    assert dut.open.value == 0 and len(bench.streamer.writes) == 2
    dut.cfg_enable.value = 1
    await bench.check()


@cocotb.test()
async def begins_anew(dut) -> None:
    """Behind `restart` comes the beginning of whatever region there is then."""
    bench = Bench(dut)
    await bench.start(3)
    for length in (PAGE, 3 * PAGE, 5):
        bench.send(extent(length))
    await bench.check()
    for base in (1000, 2**52 - 5):
        dut.cfg_enable.value = 0
        dut.cfg_base.value = base
        dut.cfg_bytes.value = 4
        await harness.step(dut.clk)
        dut.restart.value = 1
        await harness.step(dut.clk)
        dut.restart.value = 0
        dut.cfg_enable.value = 1
        bench.region = Region(base * PAGE, 4 * PAGE, False)
        bench.streamer.forget()
        for length in (2 * PAGE, 1, PAGE + 1):
            bench.send(extent(length))
        await bench.check()


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """A reset forgets extents and rows; what comes then lies at the region's beginning."""
    bench = Bench(dut)
    await bench.start(8, ring=True)
    for turn in range(8):
        bench.streamer.silent = turn % 2 == 0
        for _ in range(3):
            bench.send(extent(random.randrange(1, 5 * PAGE)))
        await harness.step(dut.clk, random.randrange(1, 250))
        await harness.reset(dut, 2)
        for each in (bench.objects, bench.heads, bench.rows):
            each.clear()
        bench.streamer.forget()
        await harness.step(dut.clk, 2)
        bench.streamer.silent = False
        bench.region = Region(bench.region.base, bench.region.size, True, write=WRITE)
        bench.due = []
        bench.send(extent())
        await bench.check()


@cocotb.test()
async def full_rate(dut) -> None:
    """The address comes a cycle after the extent, then a beat in every cycle."""
    bench = Bench(dut)
    await bench.start(64)
    out: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_wr_tvalid, dut.m_axis_wr_tready, out))
    count, beats = 20, 9
    for _ in range(count):
        bench.send(extent(beats * BEAT))
    began = await harness.until(dut.clk, dut.s_axis_object_tvalid)
    await bench.check()
    each = [
        began + turn * (beats + 2) + 1 + beat for turn in range(count) for beat in range(beats + 1)
    ]
    assert out == each


@harness.provocation
async def no_room(dut) -> None:
    """A row that finds no room must be noticed."""
    bench = Bench(dut)
    await bench.start(4)
    bench.send(extent(10 * BEAT))
    await harness.until(dut.clk, dut.m_axis_wr_tlast)
    dut.u_extents.level_q.value = DEPTH
    await harness.step(dut.clk, 3)


@harness.provocation
async def restart_in_mid_extent(dut) -> None:
    """A restart while an extent is open must be noticed."""
    bench = Bench(dut)
    await bench.start(4)
    bench.send(extent(PAGE))
    await harness.until(dut.clk, dut.open)
    dut.restart.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def page_and_stride(dut) -> None:
    """Two layouts at once must be noticed."""
    await Bench(dut).start(4, page=1, stride=PAGE)
    await harness.step(dut.clk, 3)


@harness.provocation
async def stray_answer(dut) -> None:
    """An answer that is not waited for must be noticed."""
    bench = Bench(dut)
    await bench.start(4)
    bench.streamer.unanswered = 1
    bench.streamer.answer()
    await harness.step(dut.clk, 5)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    await Bench(dut).start(4)
    await harness.withdraw(dut.clk, dut.u_check_wr)


@harness.provocation
async def withdraw_row(dut) -> None:
    """So is that of the rows."""
    await Bench(dut).start(4)
    await harness.withdraw(dut.clk, dut.u_check_row)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    beats = {"MaxBeats": LONGEST // BEAT, "WriteBeats": WRITE // BEAT}
    simulate(__file__, "fb_store_append", {"Depth": DEPTH, "Writes": WRITES, **beats}, **options)


def test_append() -> None:
    """Run the coroutines above."""
    run()


@pytest.mark.parametrize(
    ("testcase", "message"),
    [
        ("no_room", "row_has_room"),
        ("restart_in_mid_extent", "restarts_at_rest"),
        ("page_and_stride", "page_or_stride"),
        ("stray_answer", "answers_are_awaited"),
        ("withdraw", "m_axis_wr: valid fell"),
        ("withdraw_row", "m_axis_row: valid fell"),
    ],
)
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
