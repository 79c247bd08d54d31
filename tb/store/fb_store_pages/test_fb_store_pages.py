# SPDX-License-Identifier: Apache-2.0
"""fb_store_pages between streams of cocotbext-axi: rows wait for their pages, and only those."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from extents import FILLER, PAGE, PATIENCE_US, Row, Streamer, failed, word_stream
from forebay import spec
from runner import simulate

DEPTH = 8


class Bench:
    """Rows in and out, who makes pages of facts, and a streamer that takes them."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.streamer = Streamer(dut, fail)
        self.rows = word_stream(AxiStreamSource, dut, "s_axis_row")
        self.out = word_stream(AxiStreamSink, dut, "m_axis_row")
        self.facts = word_stream(AxiStreamSink, dut, "m_facts")
        self.source = harness.axi_stream(AxiStreamSource, dut, "s_axis_page")
        self.pages: list[tuple[int, bytes]] = []  # facts, and what was made of them
        self.due: list[Row] = []

    async def start(self, page: int = 1, align: int = 0) -> None:
        """Reset; `align` is of pages, a power of two."""
        self.dut.cfg_page.value, self.dut.cfg_align.value = page, align
        self.front = PAGE << align
        cocotb.start_soon(self.make())
        await harness.start(self.dut)

    async def make(self) -> None:
        """Make any page of the facts of a row."""
        while True:
            facts = (await self.facts.recv()).tdata[0]
            self.pages.append((facts, random.randbytes(PAGE)))
            self.source.send_nowait(AxiStreamFrame(self.pages[-1][1]))

    def forget(self) -> None:
        """Do as after a reset."""
        for each in (self.streamer, self.rows, self.out, self.facts, self.source):
            (each.forget if each is self.streamer else each.clear)()
        self.pages.clear()

    def send(self, count: int, stored: float = 0.8) -> None:
        """Queue rows, some of them of extents that were not stored."""
        for _ in range(count):
            wrong = random.choice([spec.ROW_SKIPPED, spec.ROW_FAILED])
            flags = spec.ROW_COUNTS | (0 if random.random() < stored else wrong)
            address = random.randrange(8, 2**40) * PAGE
            self.due.append(Row.any(flags=flags, address=address))
            self.rows.send_nowait(AxiStreamFrame([self.due[-1].pack()]))

    async def check(self) -> None:
        """Take all rows: in order, with what was answered to their pages, which lie in front."""
        found = []
        for _ in self.due:
            frame = await with_timeout(self.out.recv(), PATIENCE_US, "us")
            found.append(Row.unpack(frame.tdata[0]))
        pages = iter(zip(self.streamer.answered(), self.pages, strict=True))
        for row, due in zip(found, self.due, strict=True):
            if not self.dut.cfg_page.value or due.flags != spec.ROW_COUNTS:
                assert row == due
                continue
            (write, code), (facts, page) = next(pages)
            fill = FILLER * ((self.front - PAGE) // len(FILLER))
            assert write == (due.address - self.front, False, fill + page)
            assert facts == due.pack() & (1 << len(self.dut.m_facts_tdata)) - 1
            assert row == failed(due, code)
        assert next(pages, None) is None
        await harness.step(self.dut.clk, 3)
        assert self.dut.waiting.value == 0 and self.out.empty()
        self.due = []
        self.streamer.forget()
        self.pages.clear()


@cocotb.test()
@cocotb.parametrize(
    (("page", "align"), [(0, 0), (1, 0), (1, 1), (1, 3)]), idle=[0.0, 0.5], stall=[0.0, 0.5]
)
async def any_rows(dut, page: int, align: int, idle: float, stall: float) -> None:
    """Rows with and without pages keep their order; answers that are errors stand in them."""
    bench = Bench(dut, fail=0.3)
    await bench.start(page, align)
    for each in (bench.rows, bench.source):
        harness.stall(each, idle)
    for each in (bench.streamer.sink, bench.streamer.answers, bench.out, bench.facts):
        harness.stall(each, stall)
    bench.send(40)
    await bench.check()


@cocotb.test()
async def longest_unit(dut) -> None:
    """512 KiB are filled up in front of a page, too."""
    bench = Bench(dut)
    await bench.start(1, 7)
    for _ in range(2):
        bench.due.append(
            Row.any(flags=spec.ROW_COUNTS, address=random.randrange(128, 2**40) * PAGE)
        )
        bench.rows.send_nowait(AxiStreamFrame([bench.due[-1].pack()]))
    await bench.check()


@cocotb.test()
async def nobody_takes_rows(dut) -> None:
    """Answers are taken all the same: what is behind them may be what lets rows go on."""
    bench = Bench(dut)
    await bench.start()
    bench.out.pause = True
    bench.send(DEPTH + 1, stored=1.0)
    await harness.step(dut.clk, 500 * DEPTH)
    assert len(bench.streamer.codes) == DEPTH + 1
    assert bench.streamer.answers.empty() and bench.streamer.answers.idle()
    bench.out.pause = False
    await bench.check()


@cocotb.test()
async def nobody_answers(dut) -> None:
    """As many rows as there is room for go ahead of the answers, then all waits."""
    bench = Bench(dut)
    await bench.start()
    bench.streamer.silent = True
    bench.send(3 * DEPTH, stored=1.0)
    await harness.step(dut.clk, 500 * 2 * DEPTH)
    assert dut.waiting.value == len(bench.streamer.writes) == DEPTH + 1
    bench.streamer.silent = False
    bench.streamer.answer()
    await bench.check()


@cocotb.test()
async def reset_in_mid_page(dut) -> None:
    """A reset forgets rows and pages."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(6):
        bench.send(5)
        await harness.step(dut.clk, random.randrange(1, 900))
        await harness.reset(dut, 2)
        bench.forget()
        bench.due = []
        await harness.step(dut.clk, 2)
        bench.send(2)
        await bench.check()


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


@harness.provocation
async def withdraw_row(dut) -> None:
    """The stream checker is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_row)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_store_pages", {"Depth": DEPTH}, **options)


def test_pages() -> None:
    """Run the coroutines above."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "stray_answer": "answers_are_awaited",
            "withdraw": "m_axis_wr: valid fell",
            "withdraw_row": "m_axis_row: valid fell",
        }
    )
