# SPDX-License-Identifier: Apache-2.0
"""fb_store_results between streams of cocotbext-axi, against a join by number."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from extents import PATIENCE_US, Row, word_stream
from forebay import spec
from runner import simulate

WAIT = 60


def packed(object_: int, stream: int, class_: int, score: int) -> int:
    """Return the bits of a result."""
    return score << 96 | class_ << 80 | stream << 64 | object_


class Bench:
    """Rows and results in, rows out, and pulses counted."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.rows = word_stream(AxiStreamSource, dut, "s_axis_row")
        self.results = word_stream(AxiStreamSource, dut, "s_axis_result")
        self.out = word_stream(AxiStreamSink, dut, "m_axis_row")
        self.late = self.stray = 0

    async def start(self, enable: int = 1, wait: int = WAIT) -> None:
        """Reset."""
        self.dut.cfg_enable.value = enable
        self.dut.cfg_wait.value = wait
        cocotb.start_soon(self.count())
        await harness.start(self.dut)

    async def count(self) -> None:
        """Count the pulses."""
        while True:
            await harness.step(self.dut.clk)
            self.late += int(self.dut.late.value)
            self.stray += int(self.dut.stray.value)

    def row(self, object_: int, whole: int = 1, stream: int = 0) -> Row:
        """Queue a row."""
        found = Row.any(object=object_, whole=whole, stream=stream, flags=spec.ROW_COUNTS)
        found = found._replace(has_result=0, class_=0, score=0)
        self.rows.send_nowait(AxiStreamFrame([found.pack()]))
        return found

    def result(self, object_: int, stream: int = 0) -> dict[str, int]:
        """Queue a result; returns what a row has of it."""
        values = (random.getrandbits(16), random.getrandbits(32))
        self.results.send_nowait(AxiStreamFrame([packed(object_, stream, *values)]))
        return dict(zip(("class_", "score"), values, strict=True))

    async def next(self) -> Row:
        """Take a row."""
        return Row.unpack((await with_timeout(self.out.recv(), PATIENCE_US, "us")).tdata[0])


def joined(row: Row, result: dict[str, int] | None) -> Row:
    """Return the row as it has to come out."""
    if not row.whole:
        return row
    if result is None:
        return row._replace(flags=row.flags | spec.ROW_LATE)
    return row._replace(flags=row.flags | spec.ROW_RESULT, has_result=1, **result)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.5], stall=[0.0, 0.5])
async def any_results(dut, idle: float, stall: float) -> None:
    """Each row has its own result; missing ones and those without a row have a counter each."""
    bench = Bench(dut)
    await bench.start(wait=4000)
    for each in (bench.rows, bench.results):
        each.set_pause_generator(harness.stalls(idle))
    bench.out.set_pause_generator(harness.stalls(stall))
    number, due, late, stray = random.getrandbits(63), [], 0, 0
    for _ in range(300):
        number = number + random.choice([1, 1, 2]) & 2**64 - 1
        kind = random.choice(["both", "both", "part", "no result", "no row"])
        if kind == "no row":
            bench.result(number)
            stray += 1
            continue
        row = bench.row(number, whole=int(kind != "part"))
        due.append(joined(row, bench.result(number) if kind == "both" else None))
        late += kind == "no result"
    # The last one has both, so that nothing waits for a time-out.
    due.append(joined(bench.row(number + 1), bench.result(number + 1)))
    for row in due:
        assert await bench.next() == row
    await harness.step(dut.clk, 3)
    assert (bench.late, bench.stray) == (late, stray)


@cocotb.test()
async def time_out(dut) -> None:
    """A row waits so long; those behind it do not, until a result meets its row again."""
    bench = Bench(dut)
    await bench.start()
    began = harness.cycle()
    rows = [bench.row(number) for number in range(10)]
    for row in rows:
        assert await bench.next() == joined(row, None)
    assert WAIT <= harness.cycle() - began <= WAIT + 30
    for number in range(10, 12):
        result = bench.result(number)
        await harness.step(dut.clk, 5)
        assert await asked(bench, number) == result
    began = harness.cycle()
    bench.row(12)
    await bench.next()
    assert harness.cycle() - began >= WAIT
    assert (bench.late, bench.stray) == (11, 0)


async def asked(bench: Bench, number: int) -> dict[str, int]:
    """Return the result that the row of an object has."""
    bench.row(number)
    row = await bench.next()
    assert row.has_result
    return {"class_": row.class_, "score": row.score}


@cocotb.test()
async def late_stays_late(dut) -> None:
    """A result that comes while its row is offered without one does not change the row."""
    bench = Bench(dut)
    await bench.start()
    bench.out.pause = True
    row = bench.row(5)
    await harness.step(dut.clk, WAIT + 20)
    bench.result(5)
    await harness.step(dut.clk, 20)
    bench.out.pause = False
    assert await bench.next() == joined(row, None)
    assert await asked_later(bench, 6)
    assert bench.stray == 1


async def asked_later(bench: Bench, number: int) -> bool:
    """Return whether the next row has its result."""
    result = bench.result(number)
    await harness.step(bench.dut.clk, 5)
    return await asked(bench, number) == result


@cocotb.test()
async def two_streams(dut) -> None:
    """Numbers of one stream say nothing of those of another."""
    bench = Bench(dut)
    await bench.start(wait=4000)
    due = []
    for turn in range(20):
        stream = turn % 2
        number = turn + stream * 2**40
        due.append(joined(bench.row(number, stream=stream), bench.result(number, stream)))
    for row in due:
        assert await bench.next() == row


@cocotb.test()
async def another_stream_before(dut) -> None:
    """What belongs to a row of another stream that has gone holds up no other result."""
    bench = Bench(dut)
    await bench.start(wait=4000)
    bench.row(1, whole=0, stream=1)
    await bench.next()
    bench.result(1, stream=1)
    began = harness.cycle()
    assert await asked_later(bench, 7)
    assert harness.cycle() - began < 50 and (bench.late, bench.stray) == (0, 1)


@cocotb.test()
async def one_of_several_streams_lacks_a_result(dut) -> None:
    """It alone goes without, at once: results of other streams are not taken for late ones."""
    bench = Bench(dut)
    await bench.start(wait=4000)
    due = []
    for turn in range(90):
        number, stream = turn // 3, turn % 3
        result = None if turn in (10, 11, 50) else bench.result(number, stream)
        due.append(joined(bench.row(number, stream=stream), result))
    began = harness.cycle()
    for row in due:
        assert await bench.next() == row
    assert harness.cycle() - began < 300 and (bench.late, bench.stray) == (3, 0)


@cocotb.test()
async def no_row_waits(dut) -> None:
    """Results of objects that were cut do not pile up."""
    bench = Bench(dut)
    await bench.start()
    for number in range(1200):
        bench.result(number, stream=number % 2)
    for number in range(1200):
        row = bench.row(number, whole=0, stream=number % 2)
        assert await bench.next() == row
    await harness.step(dut.clk, 20)
    assert bench.results.empty()
    # The last one goes when the next row comes.
    assert await asked_later(bench, 1200)
    assert (bench.late, bench.stray) == (0, 1200)


@cocotb.test()
async def a_sender_begins_anew(dut) -> None:
    """Numbers begin again, with a result of before still there."""
    bench = Bench(dut)
    await bench.start()
    row = bench.row(1000)
    assert await bench.next() == joined(row, None)
    bench.result(1000)
    results = [bench.result(number) for number in range(30)]
    await harness.step(dut.clk, 40)
    due = [joined(bench.row(number), result) for number, result in enumerate(results)]
    for row in due:
        assert await bench.next() == row
    assert (bench.late, bench.stray) == (1, 1)


@cocotb.test()
async def far_ahead(dut) -> None:
    """Results come before the rows of a whole queue of the SSD, and do not wait outside."""
    bench = Bench(dut)
    await bench.start(wait=4000)
    results = [bench.result(number) for number in range(500)]
    await harness.step(dut.clk, 520)
    assert bench.results.empty() and dut.s_axis_result_tready.value == 1
    due = [joined(bench.row(number), result) for number, result in enumerate(results)]
    for row in due:
        assert await bench.next() == row


@cocotb.test()
async def without_results(dut) -> None:
    """Where there are none rows go through, and what comes all the same is thrown away."""
    bench = Bench(dut)
    await bench.start(enable=0)
    rows = [bench.row(number) for number in range(5)]
    for _ in range(5):
        bench.result(1)
    for row in rows:
        assert await bench.next() == row
    await harness.step(dut.clk, 5)
    assert bench.results.empty() and (bench.late, bench.stray) == (0, 0)


@cocotb.test()
async def reset_in_mid_wait(dut) -> None:
    """A reset forgets how long a row has waited."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(3):
        bench.row(1)
        await harness.step(dut.clk, WAIT // 2)
        await harness.reset(dut, 2)
        bench.rows.clear()
        bench.out.clear()
        began = harness.cycle()
        row = bench.row(2)
        assert await bench.next() == joined(row, None)
        assert harness.cycle() - began >= WAIT


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_row)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_store_results", **options)


def test_results() -> None:
    """Run the coroutines above."""
    run()


@pytest.mark.parametrize(("testcase", "message"), [("withdraw", "m_axis_row: valid fell")])
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
