# SPDX-License-Identifier: Apache-2.0
"""fb_store_table between streams of cocotbext-axi, against a table in Python."""

from __future__ import annotations

import random

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import forms
import harness
import structs
from extents import (
    FORM,
    PATIENCE_US,
    RESULT_BITS,
    Extent,
    Region,
    Row,
    extent,
    failed,
    part_of,
    word_stream,
)
from forebay import spec
from runner import simulate

WAIT = 60


class Bench:
    """Extents from their metadata to their last record, and what an element says of them."""

    sent: Row  # as the last part becomes one without a result

    def __init__(self, dut) -> None:
        self.dut = dut
        self.extents = word_stream(AxiStreamSource, dut, "s_axis_extent")
        self.heads = word_stream(AxiStreamSink, dut, "m_axis_head")
        self.results = word_stream(AxiStreamSource, dut, "s_axis_result")
        self.parts = word_stream(AxiStreamSource, dut, "s_axis_part")
        self.out = word_stream(AxiStreamSink, dut, "m_axis_row")
        self.late = self.unjudged = self.stray = 0
        self.next = 0
        self.known: dict[int, Extent] = {}  # by the tag
        self.received: dict[int, int] = {}  # bytes of its packet

    async def start(self, wait: int = WAIT, results: int = 1) -> None:
        """Reset."""
        dut = self.dut
        dut.cfg_results.value, dut.cfg_wait.value = results, wait
        harness.clear(dut, "ends_object", "received", "m_axis_tag_tready", "restart", "pressing")
        cocotb.start_soon(self.count())
        await harness.start(dut)

    async def count(self) -> None:
        """Count the pulses."""
        while True:
            await harness.step(self.dut.clk)
            self.late += int(self.dut.late.value)
            self.unjudged += int(self.dut.unjudged.value)
            self.stray += int(self.dut.stray.value)

    async def begin(self) -> int:
        """Let an extent begin; returns its tag."""
        what = extent(1)
        self.extents.send_nowait(what.word())
        await harness.until(self.dut.clk, self.dut.m_axis_tag_tvalid)
        tag = int(self.dut.m_axis_tag_tdata.value)
        assert tag == self.next
        self.next += 1
        self.known[tag] = what
        head = (await with_timeout(self.heads.recv(), PATIENCE_US, "us")).tdata
        assert head == what.word().tdata
        return tag

    async def end(self, tag: int, ends_object: bool) -> None:
        """Let its packet end."""
        self.received[tag] = random.getrandbits(32)
        for ends in (1, 0):
            await harness.step(self.dut.clk)
            self.dut.m_axis_tag_tready.value = ends
            self.dut.ends_object.value = ends_object if ends else random.getrandbits(1)
            self.dut.received.value = self.received[tag] if ends else random.getrandbits(32)
        await harness.step(self.dut.clk)

    async def extent(self, ends_object: bool) -> int:
        """Let an extent begin and its packet end; returns its tag."""
        tag = await self.begin()
        await self.end(tag, ends_object)
        return tag

    def result(self, tag: int, unjudged: bool = False) -> dict[str, int]:
        """Queue a result; returns what a record has of it."""
        values = {"result": random.getrandbits(RESULT_BITS)}
        word = structs.pack("result_t", unjudged=int(unjudged), columns=values["result"])
        self.results.send_nowait(AxiStreamFrame([word], tid=tag))
        return values

    def row(self, tag: int, cut: bool = False) -> Row:
        """Queue a part of an extent, its last one if it is not `cut`; returns its record."""
        fate = random.choice([0, 0, spec.ROW_SKIPPED, spec.ROW_WHOLE]) | (
            spec.ROW_CUT if cut else 0
        )
        done, address = random.choice([0, random.getrandbits(40)]), random.getrandbits(64)
        found = Region(0, 0, False).row(
            self.known[tag], done, random.getrandbits(32), address, fate
        )
        code = 0 if fate & spec.ROW_SKIPPED else random.choice([0, 0, 1, 255])
        received = self.received.get(tag, 0) if FORM.received and not cut else 0
        found = failed(found._replace(crc32c=random.getrandbits(32), received=received), code)
        word = structs.pack("part_t", **part_of(found, done))
        self.parts.send_nowait(AxiStreamFrame([word]))
        return found

    async def record(self) -> Row:
        """Take a record."""
        return Row.unpack((await with_timeout(self.out.recv(), PATIENCE_US, "us")).tdata[0])


def joined(row: Row, result: dict[str, int] | None) -> Row:
    """Return the last record of an intact object as it has to come out."""
    if result is None:
        return row._replace(flags=row.flags | spec.ROW_LATE)
    return row._replace(flags=row.flags | spec.ROW_RESULT, has_result=1, **result)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.5], stall=[0.0, 0.5], most=[1, 40])
async def any_results(dut, idle: float, stall: float, most: int) -> None:
    """Each record has its own object's result or none, in whatever order results come."""
    bench = Bench(dut)
    await bench.start(wait=3000)
    for each in (bench.extents, bench.results, bench.parts):
        harness.stall(each, idle)
    for each in (bench.out, bench.heads):
        harness.stall(each, stall)
    given: dict[int, dict[str, int] | None] = {}  # by the tag; none: not judged
    sent: list[tuple[int, Row, bool]] = []  # tags, records, and whether a result belongs there
    pending: list[int] = []
    results = 0
    for _ in range(400):
        judged = random.random() < 0.7
        tag = await bench.extent(judged)
        cuts = random.choice([0, 0, 0, 1, 2])
        sent += [(tag, bench.row(tag, cut=True), False) for _ in range(cuts)]
        sent.append((tag, bench.row(tag), judged))
        if judged:
            pending.append(tag)
        elif random.random() < 0.3:
            bench.result(tag)
            results += 1
        while len(pending) >= most:
            tag = pending.pop(random.randrange(len(pending)))
            fate = random.choice(["result", "result", "result", "twice", "null", "ahead"])
            if fate == "ahead":  # of no extent yet
                bench.result(tag + random.choice([600, 2**31]))
            given[tag] = bench.result(tag, unjudged=fate == "null")
            if fate == "null":
                given[tag] = None
            if fate == "twice":
                bench.result(tag)
            results += 1 + (fate in ("ahead", "twice"))
    given |= {tag: bench.result(tag) for tag in pending}
    results += len(pending)
    late = met = unjudged = 0
    for tag, row, judged in sent:
        found = await bench.record()
        if not judged:
            assert found == row
        elif found == joined(row, None):
            late += 1
        elif given[tag] is None:
            unjudged += 1
            assert found == row
        else:
            met += 1
            assert found == joined(row, given[tag]), "not its own result"
    while not (bench.results.empty() and bench.results.idle()):
        await harness.step(dut.clk)
    await harness.step(dut.clk, 20)
    assert (bench.late, bench.unjudged) == (late, unjudged)
    assert bench.stray == results - met - unjudged
    # Some go without theirs only where more extents wait for results than there are entries; of
    # few entries results on their way are enough for that.
    entries = int(dut.Extents.value)
    assert late > 0 if most > entries else late == 0 or (entries < 100 and idle)


@cocotb.test()
async def time_out(dut) -> None:
    """A record waits so long; those behind it do not, until a result meets its record again."""
    bench = Bench(dut)
    await bench.start()
    rows = [bench.row(await bench.extent(True)) for _ in range(10)]
    began = harness.cycle()
    for row in rows:
        assert await bench.record() == joined(row, None)
    assert WAIT - 40 <= harness.cycle() - began <= WAIT + 80
    tag = await bench.extent(True)
    result = bench.result(tag)
    await harness.step(dut.clk, 10)
    assert await record_of(bench, tag) == joined(bench.sent, result)
    tag = await bench.extent(True)
    began = harness.cycle()
    assert await record_of(bench, tag) == joined(bench.sent, None)
    assert harness.cycle() - began >= WAIT
    assert (bench.late, bench.unjudged, bench.stray) == (11, 0, 0)


async def record_of(bench: Bench, tag: int) -> Row:
    """Send the record of an extent and take it."""
    bench.sent = bench.row(tag)
    return await bench.record()


@cocotb.test()
async def slower_than_its_record(dut) -> None:
    """An element that takes longer than the SSD, and drops a result, has all the others joined."""
    bench = Bench(dut)
    await bench.start(wait=100)
    dropped = 5
    for number in range(30):
        tag = await bench.extent(True)
        row = bench.row(tag)
        await harness.step(dut.clk, 40)
        if number == dropped:
            await harness.step(dut.clk, 100)
            assert await bench.record() == joined(row, None)
            # It is no more than late where records have stopped to wait: they do again.
            bench.result(tag)
            continue
        result = bench.result(tag)
        assert await bench.record() == joined(row, result), number
    await harness.step(dut.clk, 10)
    assert (bench.late, bench.stray) == (1, 1)


@cocotb.test()
async def a_result_at_the_last_moment(dut) -> None:
    """One that comes about when its record goes without it is joined or stray, never lost."""
    bench = Bench(dut)
    await bench.start(wait=20)
    met = 0
    for wait in range(60):
        row = bench.row(tag := await bench.extent(True))
        bench.out.pause = random.random() < 0.5
        await harness.step(dut.clk, wait % 30)
        result = bench.result(tag)
        await harness.step(dut.clk, 30)
        bench.out.pause = False
        record = await bench.record()
        assert record in (joined(row, result), joined(row, None))
        met += record == joined(row, result)
        assert bench.late + met == wait + 1 and bench.stray == bench.late
    assert 0 < met < 60


@cocotb.test()
async def late_stays_late(dut) -> None:
    """A result that comes while its record is offered without one changes nothing."""
    bench = Bench(dut)
    await bench.start()
    bench.out.pause = True
    row = bench.row(tag := await bench.extent(True))
    await harness.step(dut.clk, WAIT + 30)
    bench.result(tag)
    await harness.step(dut.clk, 20)
    bench.out.pause = False
    assert await bench.record() == joined(row, None)
    bench.result(tag)
    await harness.step(dut.clk, 20)
    assert (bench.late, bench.stray) == (1, 2)


@cocotb.test()
async def full_table(dut) -> None:
    """Where all entries are in use the oldest goes without its result: extents do not wait."""
    bench = Bench(dut)
    await bench.start(wait=1_000_000)
    entries = int(dut.Extents.value)
    rows = [bench.row(await bench.extent(True)) for _ in range(entries - 1)]
    await harness.step(dut.clk, 50)
    assert bench.out.empty()
    rows.append(bench.row(await bench.extent(True)))
    await harness.step(dut.clk, 50)
    assert bench.out.count() == bench.late == 1
    assert int(dut.s_axis_extent_tready.value) == 1
    for tag in range(1, len(rows)):
        bench.result(tag)
    await harness.step(dut.clk, 20 * entries)
    assert bench.out.count() == entries and (bench.late, bench.stray) == (1, 0)


@cocotb.test()
async def data_wait(dut) -> None:
    """Where data wait for records none waits for its result; the next one does again."""
    bench = Bench(dut)
    await bench.start(wait=1_000_000)
    rows = [bench.row(await bench.extent(True)) for _ in range(3)]
    await harness.step(dut.clk, 50)
    assert bench.out.empty()
    dut.pressing.value = 1
    assert [await bench.record() for _ in rows] == [joined(row, None) for row in rows]
    dut.pressing.value = 0
    row = bench.row(tag := await bench.extent(True))
    await harness.step(dut.clk, 200)
    assert bench.out.empty()
    result = bench.result(tag)
    assert await bench.record() == joined(row, result)
    assert (bench.late, bench.stray) == (3, 0)


@cocotb.test()
async def cut_parts_before_the_end(dut) -> None:
    """Records of parts that are cut do not wait for the packet's end; that of the last one does."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(20):
        tag = await bench.begin()
        for _ in range(random.randrange(1, 4)):
            row = bench.row(tag, cut=True)
            assert await bench.record() == row
        bench.received[tag] = 0
        row = bench.row(tag)
        await harness.step(dut.clk, 2 * WAIT)
        assert bench.out.empty()
        await bench.end(tag, ends_object=False)
        received = bench.received[tag] if FORM.received else 0
        assert await bench.record() == row._replace(received=received)


@cocotb.test()
async def no_results(dut) -> None:
    """Without an element that gives results nothing waits, and results are dropped."""
    bench = Bench(dut)
    await bench.start(results=0, wait=1_000_000)
    for _ in range(20):
        tag = await bench.extent(True)
        bench.result(tag)
        await harness.step(dut.clk, 5)
        assert await record_of(bench, tag) == bench.sent
    assert (bench.late, bench.unjudged, bench.stray) == (0, 0, 20)


@cocotb.test()
async def restart(dut) -> None:
    """A recording that begins has patience again, whatever the one before had to wait for."""
    bench = Bench(dut)
    await bench.start()
    assert await record_of(bench, await bench.extent(True)) == joined(bench.sent, None)
    dut.restart.value = 1
    await harness.step(dut.clk)
    dut.restart.value = 0
    began = harness.cycle()
    assert await record_of(bench, await bench.extent(True)) == joined(bench.sent, None)
    assert harness.cycle() - began >= WAIT


@cocotb.test()
async def reset(dut) -> None:
    """A reset forgets extents, results and records; tags begin anew."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(10):
        tags = [await bench.extent(True) for _ in range(random.randrange(1, 6))]
        for tag in tags:
            bench.result(tag)
        bench.row(tags[0])
        await harness.step(dut.clk, random.randrange(20))
        await harness.reset(dut, 2)
        for each in (bench.extents, bench.heads, bench.results, bench.parts, bench.out):
            each.clear()
        bench.next = 0
        await harness.step(dut.clk, 2)
        tag = await bench.extent(True)
        result = bench.result(tag)
        await harness.step(dut.clk, 10)
        assert await record_of(bench, tag) == joined(bench.sent, result)
        await harness.reset(dut, 2)
        bench.next = 0


@harness.provocation
async def part_of_nothing(dut) -> None:
    """A part comes, and no extent has."""
    bench = Bench(dut)
    await bench.start()
    bench.known[0] = extent(1)
    bench.row(0)
    await harness.step(dut.clk, 20)


@harness.provocation
async def withdraw(dut) -> None:
    """The stream checker is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_row)


def run(extents: int, **options: object) -> None:
    """Build the module and simulate it."""
    simulate(
        __file__, "fb_store_table", {"Extents": extents}, filelist="rtl/store/store.f", **options
    )


def test_other_results() -> None:
    """With the lengths of extents as they were received, and nonces."""
    forms.simulate(__file__, "fb_store_table", forms.LONG, filelist="rtl/store/store.f")


@pytest.mark.parametrize("extents", [8, 512])
def test_table(extents: int) -> None:
    """Run all coroutines for this number of entries."""
    run(extents)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        8,
        fires={
            "part_of_nothing": "part_has_an_extent): a part, and no extent has come since tag 0",
            "withdraw": "m_axis_row: valid fell",
        },
    )
