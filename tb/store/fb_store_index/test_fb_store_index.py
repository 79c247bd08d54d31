# SPDX-License-Identifier: Apache-2.0
"""fb_store_index between streams of cocotbext-axi: its blocks are read by Arrow's own library."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice, pairwise

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame, AxiStreamSource

import forms
import harness
import structs
from extents import BEAT, FORM, PAGE, Block, Row, Streamer, Sums, blocks_of, word_stream
from forebay import spec
from runner import simulate

ROWS = FORM.rows
# Rows with more columns take longer, which is what some tests count on.
SLOW = forms.read(forms.USUAL) != FORM
BLOCKS, TRIES = 8, 3  # in the memory; of a block alone
BASE = 5
SESSION = 0x0123_4567_89AB_CDEF


class Bench:
    """Rows in, and a streamer that takes flushes and blocks."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.streamer = Streamer(dut, fail)
        self.sums = Sums(dut)
        self.source = word_stream(AxiStreamSource, dut, "s_axis_row")
        self.sent: list[Row] = []
        # Cycles of rows, of beats of writes, and of answers.
        self.taken_at: list[int] = []
        self.beats: list[int] = []
        self.answers: list[int] = []
        for name, found in (
            ("s_axis_row", self.taken_at),
            ("m_axis_wr", self.beats),
            ("s_axis_wrsp", self.answers),
        ):
            valid, ready = getattr(dut, f"{name}_tvalid"), getattr(dut, f"{name}_tready")
            cocotb.start_soon(harness.record(dut.clk, valid, ready, found))

    async def start(self, places: int = 100, wait: int = 0, align: int = 0, **flags: int) -> None:
        """Reset with a region for `places` blocks of a page, or of 2^`align`.

        `flags` are settings of one bit.
        """
        dut, self.unit = self.dut, PAGE << align
        harness.clear(dut, "cfg_*", "restart", "sync", "pressing")
        dut.cfg_base.value, dut.cfg_bytes.value = BASE << align, places << align
        dut.cfg_align.value = align
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

    def forget(self) -> None:
        """Do as after a reset, or a restart."""
        self.source.clear()
        self.streamer.forget()
        for each in (self.sent, self.taken_at, self.beats, self.answers):
            each.clear()

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

    def blocks(self) -> list[tuple[Block, int]]:
        """Return the blocks as they were written last, in their places, and the answers to that.

        Numbers are missing only where flushes failed.
        """
        flush, places = (
            int(self.dut.cfg_flush.value),
            int(self.dut.cfg_bytes.value) * PAGE // self.unit,
        )
        writes = [(write, code) for write, code in self.streamer.answered() if write.data]
        assert flush or len(writes) == len(self.streamer.writes), "a flush"
        last: dict[int, tuple[Block, int]] = {}
        tries: Counter[bytes] = Counter()
        for (write, code), block in zip(
            writes, blocks_of((write for write, _ in writes), SESSION, self.unit), strict=True
        ):
            assert write.address == (BASE + block.number % places) * self.unit
            assert flush or not write.flush
            last[block.number] = block, code
            tries[write.data] += 1
        # One more with its group.
        assert not tries or max(tries.values()) <= TRIES + 1
        count = int(self.dut.blocks.value)
        assert all(number < count for number in last)
        unflushed = sum(code != 0 and not write.data for write, code in self.streamer.answered())
        assert len(last) == count or unflushed >= TRIES
        refused = sum(code != 0 for _, code in last.values())
        assert self.dut.failed.value == refused + count - len(last)
        return [last[number] for number in sorted(last)]

    def check(self, counts: list[int]) -> int:
        """Compare all blocks: how many rows each has; returns the rows lost."""
        blocks = self.blocks()
        assert [len(block.rows) for block, _ in blocks] == counts
        sent = [row.columns() for row in self.sent]
        follow = iter(sent)
        for block, _ in blocks:
            assert all(row in follow for row in block.rows), "a row is not there, or not in order"
        lost = len(sent) - sum(len(block.rows) for block, code in blocks if not code)
        assert self.dut.lost.value == lost
        if self.dut.cfg_flush.value:
            self.check_flushes()
        return lost

    def check_flushes(self) -> None:
        """A flush asked for behind the last row of a block has its answer before it is written."""
        beats = iter(self.beats)
        flushed: list[tuple[int, int]] = []
        rows = {row.object: at for row, at in zip(self.sent, self.taken_at, strict=True)}
        for (write, code), answer in zip(self.streamer.answered(), self.answers, strict=True):
            begins, *_ = islice(beats, 1 + len(write.data) // BEAT)
            if write.data:
                (block,) = blocks_of([write], SESSION, self.unit)
                taken = rows[block.rows[-1]["object"]]
                assert any(taken < asked and done < begins for asked, done in flushed)
            if write.flush and not code:
                flushed.append((begins, answer))


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.6], stall=[0.0, 0.6], flush=[0, 1])
async def full_blocks(dut, idle: float, stall: float, flush: int) -> None:
    """Without a time-out only full blocks leave, over the end of a ring too."""
    bench = Bench(dut)
    await bench.start(places=3, align=3 if idle else 0, ring=1, flush=flush)
    harness.stall(bench.source, idle)
    bench.sums.stall = stall
    for each in (bench.streamer.sink, bench.streamer.answers):
        harness.stall(each, stall)
    bench.send(7 * ROWS)
    await bench.settle()
    assert bench.check([ROWS] * 7) == 0


@cocotb.test()
@cocotb.parametrize((("wait", "align"), [(0, 0), (1, 7), (900, 1), (900, 0)]), ring=[0, 1])
async def any_rows(dut, wait: int, align: int, ring: int) -> None:
    """However rows, time-outs, syncs and failures meet: a row is in a block, in order, or lost."""
    bench = Bench(dut, fail=0.1)
    bench.sums.stall = 0.4
    places = random.randrange(3, 6)
    await bench.start(places, wait, align, ring=ring, flush=1)
    for each in (bench.source, bench.streamer.sink, bench.streamer.answers):
        harness.stall(each, 0.4)
    for _ in range(harness.repeat(40, 5)):
        bench.send(random.choice([0, 1, 2, random.randrange(60)]))
        if random.random() < 0.4:
            await bench.pulse()
        await harness.step(dut.clk, random.choice([0, 1, 800, random.randrange(1800)]))
    await bench.taken()
    await harness.step(dut.clk, 20)
    await bench.pulse()
    await bench.settle()
    counts = [len(block.rows) for block, _ in bench.blocks()]
    assert ring or int(dut.blocks.value) <= places
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
        # The checksum takes two cycles a beat.
        assert left - began == wait + 142
        await bench.settle()
    bench.check([1, 30, ROWS - 1])


@cocotb.test()
@cocotb.parametrize(places=[0, 1, 2], align=[0, 2], ring=[0, 1])
async def small_regions(dut, places: int, align: int, ring: int) -> None:
    """At the region's end comes its beginning, or rows are lost, and counted."""
    bench = Bench(dut)
    await bench.start(places, align=align, ring=ring)
    bench.send(4 * ROWS + 3)
    await bench.taken()
    await harness.step(dut.clk, 20)
    await bench.pulse()
    await bench.settle()
    counts = [ROWS] * 4 + [3]
    kept = counts if ring and places else counts[:places]
    assert bench.check(kept) == sum(counts) - sum(kept)


@cocotb.test(skip=SLOW)
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


@cocotb.test(skip=SLOW)
async def one_flush_for_all(dut) -> None:
    """All full blocks go out behind one flush, and that of their last is the next group's."""
    bench = Bench(dut)
    await bench.start(flush=1)
    bench.streamer.silent = True
    bench.send((BLOCKS - 1) * ROWS)
    begins = 0
    for blocks in (0, 1, BLOCKS - 2):
        await harness.step(dut.clk, 14 * BLOCKS * ROWS)
        new = bench.streamer.writes[begins:]
        begins += len(new)
        assert [bool(write.data) for write in new] == [True] * blocks or not blocks
        assert [write.flush for write in new] == [False] * (len(new) - 1) + [True]
        assert len(new) == max(blocks, 1)
        bench.streamer.answer()
    await bench.settle()
    bench.check([ROWS] * (BLOCKS - 1))


@cocotb.test(skip=SLOW)
@cocotb.parametrize(
    (
        ("codes", "lost"),
        [
            # A flush, and a block alone: the third time behind the first is the last.
            ((0, 7, 8, 9, 0), 0),
            ((0, 7, 8, 9, 10), 1),
            # The flush fails, and is tried again.
            ((7, 8, 0, 0), 0),
            # A group of three behind it: each of them goes alone then, and the second is refused.
            ((0, 0, 0, 5, 0), 0),
            ((0, 0, 0, 5, 0, 0, 5, 5, 5), 1),
            # It is the group's flush that fails.
            ((0, 0, 0, 0, 6), 0),
        ],
    )
)
async def is_written_again(dut, codes: tuple[int, ...], lost: int) -> None:
    """What is refused is written again in its place, alone; what others wrote stays."""
    bench = Bench(dut)
    await bench.start(flush=1)
    bench.streamer.silent = True
    bench.streamer.due.extend(codes)
    bench.send(4 * ROWS)
    await harness.step(dut.clk, 14 * 4 * ROWS)
    while bench.streamer.unanswered:
        bench.streamer.answer()
        await harness.step(dut.clk, 700)
    await bench.settle()
    assert not bench.streamer.due
    assert bench.check([ROWS] * 4) == lost * ROWS
    assert dut.failed.value == lost


@cocotb.test(skip=SLOW)
@cocotb.parametrize((("ring", "failed"), [(0, 4), (1, 3 + 1 + 2 + 3)]))
async def flush_fails(dut, ring: int, failed: int) -> None:
    """What is not known to be on the SSD gets no row, and a reader sees that a block is missing."""
    bench = Bench(dut)
    await bench.start(places=5, ring=ring, flush=1)
    for _ in range(4):
        # The third try is for all three blocks, or as many as there are pages up to the end.
        bench.streamer.silent = True
        bench.streamer.due.extend([7] * TRIES)
        bench.send(3 * ROWS)
        await harness.step(dut.clk, 14 * 3 * ROWS)
        while bench.streamer.unanswered:
            bench.streamer.answer()
            await harness.step(dut.clk, 700)
        bench.streamer.silent = False
        bench.send(ROWS)
        await bench.settle()
        bench.check([ROWS] * len(bench.blocks()))
    assert dut.failed.value == failed and dut.blocks.value == (16 if ring else 5)


@cocotb.test()
async def begins_anew_behind_a_full_region(dut) -> None:
    """What was flushed, but found no room, is not taken for the next recording's."""
    bench = Bench(dut)
    await bench.start(places=2, flush=1)
    for blocks in (4, 6):
        bench.streamer.silent = True
        bench.send(blocks * ROWS)
        await harness.step(dut.clk, 14 * 6 * ROWS)
        while bench.streamer.unanswered:
            bench.streamer.answer()
            await harness.step(dut.clk, 700)
        await bench.settle()
        assert bench.check([ROWS] * 2) == (blocks - 2) * ROWS
        await bench.pulse("restart")
        bench.forget()
        bench.streamer.silent = False
        bench.send(ROWS)
        await bench.settle()
        bench.check([ROWS])
        await bench.pulse("restart")
        bench.forget()


@cocotb.test()
async def begins_anew(dut) -> None:
    """Behind `restart` numbers, counters and places are those of the beginning."""
    bench = Bench(dut, fail=1.0)
    await bench.start(places=2)
    bench.send(4 * ROWS)
    await bench.settle()
    assert (dut.failed.value, dut.lost.value) == (2, 4 * ROWS)
    await bench.pulse("restart")
    bench.forget()
    bench.streamer.fail = 0.0
    await FallingEdge(dut.clk)
    assert (dut.blocks.value, dut.failed.value, dut.lost.value) == (0, 0, 0)
    bench.send(ROWS)
    await bench.settle()
    bench.check([ROWS])


@cocotb.test(skip=SLOW)
async def nobody_takes(dut) -> None:
    """Where the streamer does not take blocks the rows wait, and none is lost."""
    bench = Bench(dut)
    await bench.start()
    bench.streamer.sink.pause = True
    bench.send((BLOCKS + 2) * ROWS)
    await harness.step(dut.clk, 14 * BLOCKS * ROWS)
    assert dut.rows.value == ROWS and dut.s_axis_row_tready.value == 0
    assert len(bench.taken_at) == BLOCKS * ROWS
    bench.streamer.sink.pause = False
    await bench.settle()
    bench.check([ROWS] * (BLOCKS + 2))


@cocotb.test()
async def reset_in_mid_block(dut) -> None:
    """A reset forgets rows and block; the next block is the first."""
    bench = Bench(dut)
    await bench.start(flush=1)
    for _ in range(6):
        bench.send(2 * ROWS)
        await harness.step(dut.clk, random.randrange(700, 1700))
        await harness.reset(dut, 2)
        bench.forget()
        await harness.step(dut.clk, 2)
        bench.send(ROWS + 5)
        await bench.taken()
        await harness.step(dut.clk, 20)
        await bench.pulse()
        await bench.settle()
        bench.check([ROWS, 5])


def ends(rows: list[dict[str, object]]) -> list[int]:
    """Return the pages behind those rows that have a place."""
    return [-(-(r["address"] + r["length"]) // PAGE) % 2**52 for r in rows if r["address"]]


@cocotb.test()
@cocotb.parametrize(fail=[0.0, 0.3])
async def tells_what_is_durable(dut, fail: float) -> None:
    """Which page is behind the newest extent whose row is on the SSD, or was lost."""
    bench = Bench(dut, fail)
    harness.stall(bench.streamer.answers, 0.95)
    await bench.start(flush=1, wait=300)
    assert dut.any_durable.value == 0

    def due() -> list[int]:
        """Return the ends of the extents whose rows are on the SSD, or were lost."""
        answered = zip(bench.streamer.writes, bench.streamer.codes, bench.answers)  # noqa: B905
        good = [write for write, code, _ in answered if write.data and not code]
        there = {block.number: len(block.rows) for block in blocks_of(good, SESSION)}
        gone = sum(there.values()) + int(dut.lost.value)
        return ends([row.columns() for row in bench.sent[:gone]])

    for _ in range(harness.repeat(8, 4)):
        for _ in range(random.randrange(1, ROWS)):
            place = random.choice([0, random.getrandbits(50)])
            row = Row.any(flags=spec.ROW_COUNTS, address=place)
            bench.sent.append(row)
            bench.source.send_nowait(AxiStreamFrame([row.pack()]))
        while not bench.source.empty() or dut.rows.value or dut.busy.value:
            await harness.step(dut.clk, random.randrange(1, 20))
            assert not dut.any_durable.value or int(dut.durable.value) in due()
        await bench.settle()
        assert dut.any_durable.value == bool(due())
        assert not due() or dut.durable.value == due()[-1]
    await bench.pulse("restart")
    await harness.step(dut.clk)
    assert dut.any_durable.value == 0


@cocotb.test()
async def a_writer_that_waits(dut) -> None:
    """Its rows are written as soon as no block is on its way, one block after the other."""
    bench = Bench(dut)
    await bench.start(flush=1)
    bench.send(3)
    await bench.taken()
    await harness.step(dut.clk, 500)
    assert dut.blocks.value == 0 and dut.rows.value == 3
    dut.pressing.value = 1
    await harness.until(dut.clk, dut.blocks, 1)
    assert dut.rows.value == 0
    bench.send(ROWS + 2)
    await bench.settle()
    dut.pressing.value = 0
    blocks = [len(block.rows) for block, _ in bench.blocks()]
    assert blocks[0] == 3 and sum(blocks) == ROWS + 5 and len(blocks) < ROWS / 2


@cocotb.test()
async def full_rate(dut) -> None:
    """A row takes a cycle more than its slices; a block leaves in 65 while the next one fills."""
    bench = Bench(dut)
    await bench.start()
    rows: list[int] = []
    out: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.s_axis_row_tvalid, dut.s_axis_row_tready, rows))
    cocotb.start_soon(harness.record(dut.clk, dut.m_axis_wr_tvalid, dut.m_axis_wr_tready, out))
    bench.send(3 * ROWS)
    await bench.settle()
    steps = [later - earlier for earlier, later in pairwise(rows)]
    each = structs.constant("INDEX_SLICES") + 1
    assert set(steps) == {each, each + 3} and steps.count(each + 3) == 2, "three for each block"
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
async def too_many_flushed(dut) -> None:
    """More flushed blocks than full ones must be noticed."""
    bench = Bench(dut)
    await bench.start(flush=1)
    dut.flushed_q.value = 2
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
    simulate(__file__, "fb_store_index", {"Blocks": BLOCKS, "Tries": TRIES}, **options)


def test_index() -> None:
    """Run the coroutines above."""
    run()


@pytest.mark.parametrize("form", [forms.MANY, forms.LONG, forms.NONE])
def test_other_results(form: str) -> None:
    """Blocks of recordings whose results have other columns, or none."""
    forms.simulate(__file__, "fb_store_index", form)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "restart_with_rows": "restarts_at_rest",
            "too_many_flushed": "flushed_are_full",
            "stray_answer": "answers_are_awaited",
            "withdraw": "m_axis_wr: valid fell",
        }
    )
