# SPDX-License-Identifier: Apache-2.0
"""fb_store_batch between cocotbext-axi's streams: batches as tarfile and forebay-spec see them."""

from __future__ import annotations

import io
import random
import subprocess
import tarfile
import uuid
from collections.abc import Iterator
from typing import NamedTuple

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from extents import BEAT, BLOCK, PAGE, PATIENCE_US, Extent, Region, Row, extent, word_stream
from forebay import spec
from forebay.filelist import ROOT
from runner import simulate

pytestmark = pytest.mark.long

BEATS, INSIDE, DEPTH = 128, 8, 16  # of the memory, in it, without an answer
MOST = BEATS * BEAT - BLOCK  # bytes of an extent
BATCH = 4 * PAGE
CYCLES = 167  # of an extent
FATES = (0, spec.ROW_SKIPPED, *(spec.ROW_FAILED | code << spec.ROW_CODE_LSB for code in (1, 255)))


class Part(NamedTuple):
    """What has to lie in a batch, and its row but for address, time and fate."""

    data: bytes
    row: Row


def parts(what: Extent, most: int) -> Iterator[Part]:
    """Cut an extent as the memory has to."""
    region = Region(0, 1 << 40, ring=False, longest=most)
    for row in region.place(what):
        begin = row.offset - region.row(what, 0, 0, 0, 0).offset & 2**64 - 1
        yield Part(what.data[begin : begin + row.length], row._replace(address=0))


def padded(length: int) -> int:
    """Return what an extent takes in its batch."""
    return BLOCK + -(-length // BLOCK) * BLOCK


class Bench:
    """Extents in, batches out; rows of batches in, rows of extents out."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.objects = harness.axi_stream(AxiStreamSource, dut, "s_axis_object")
        self.heads = word_stream(AxiStreamSource, dut, "s_axis_head")
        self.batches = harness.axi_stream(AxiStreamSink, dut, "m_axis_object")
        self.words = word_stream(AxiStreamSink, dut, "m_axis_head")
        self.fates = word_stream(AxiStreamSource, dut, "s_axis_row")
        self.rows = word_stream(AxiStreamSink, dut, "m_axis_row")
        self.session = uuid.UUID(int=0)
        self.most = MOST
        self.due: list[Part] = []
        self.sizes: list[int] = []  # bytes of each batch
        self.counts: list[int] = []  # extents of each batch

    async def start(self, batch: int = BATCH, wait: int = 0, small: int = 1) -> None:
        """Reset with any session."""
        dut = self.dut
        self.session = uuid.UUID(bytes=random.randbytes(16), version=4)
        self.most = min(MOST, batch - BLOCK)
        dut.cfg_small.value, dut.cfg_enable.value = small, 1
        dut.cfg_batch.value, dut.cfg_wait.value = batch // PAGE, wait
        dut.cfg_session.value = int.from_bytes(self.session.bytes, "little")
        dut.cfg_extension.value = int.from_bytes(b"raw", "little")
        await harness.start(dut)

    def stall(self, idle: float, stall: float) -> None:
        """Pause sources and sinks at random."""
        for source in (self.objects, self.heads, self.fates):
            source.set_pause_generator(harness.stalls(idle))
        for sink in (self.batches, self.rows):
            sink.set_pause_generator(harness.stalls(stall))

    def send(self, what: Extent) -> None:
        """Queue an extent, and remember what has to come of it."""
        self.objects.send_nowait(what.frame())
        self.heads.send_nowait(what.word())
        self.due += parts(what, self.most)

    async def take(self) -> list[tuple[int, bytes]]:
        """Take a batch, let tarfile look for its members, and give their headers and places.

        The members are those that are due, and what lies between them is zero.
        """
        frame = await with_timeout(self.batches.recv(), 4 * PATIENCE_US, "us")
        data = bytes(frame.tdata)
        assert len(data) % BLOCK == 0
        self.sizes.append(len(data))
        found = []
        archive = tarfile.TarFile(fileobj=io.BytesIO(data + bytes(2 * BLOCK)))
        members = archive.getmembers()
        for member, part in zip(members, self.due, strict=False):
            begin, end = member.offset_data, member.offset + padded(member.size)
            assert data[begin : begin + member.size] == part.data
            assert not any(data[begin + member.size : end])
            found.append((begin, data[member.offset : begin]))
        assert sum(padded(member.size) for member in members) == len(data)
        self.counts.append(len(members))
        return found

    async def check(self) -> list[Row]:
        """Take all batches and answer them; headers and rows are those that are due."""
        headers, rows, lines = [], [], []
        while self.due:
            members = await self.take()
            address, fate = random.getrandbits(50) * PAGE, FATES[len(self.sizes) % 4]
            address = 0 if fate == spec.ROW_SKIPPED else address
            answer = Row.any(flags=spec.ROW_COUNTS | spec.ROW_WHOLE | fate, address=address)
            self.fates.send_nowait(AxiStreamFrame([answer.pack()]))
            for (place, header), (_, due) in zip(members, self.due, strict=False):
                found = await with_timeout(self.rows.recv(), PATIENCE_US, "us")
                row = Row.unpack(found.tdata[0])
                skipped = fate == spec.ROW_SKIPPED
                wanted = due._replace(
                    flags=due.flags | fate,
                    address=0 if skipped else address + place,
                    crc32c=0 if skipped else due.crc32c,
                )
                assert row == wanted
                headers.append(header)
                lines.append(self.line(due))
                rows.append(row)
            del self.due[: len(members)]
        assert headers == reference(lines, [row.seconds for row in rows])
        await harness.step(self.dut.clk, 4)
        assert self.dut.open.value == 0 and self.dut.waiting.value == 0
        assert self.batches.empty() and self.rows.empty()
        return rows

    def line(self, row: Row) -> str:
        """Return what the example `page` of forebay-spec reads; seconds are another clock's."""
        numbers = (row.stream, row.object, row.offset, row.length, row.whole, 0, 0, 0)
        numbers += (row.time, row.crc32c)
        words = [self.session.hex, "raw", *map(str, numbers), "-", "-"]
        return " ".join(words) + "\n"

    async def drain(self) -> list[Row]:
        """Wait until all is inside, end the last batch, and check."""
        cocotb.start_soon(self.disable())
        rows = await self.check()
        self.dut.cfg_enable.value = 1
        return rows

    async def disable(self) -> None:
        """Take no more when all has been taken."""
        while not (self.objects.empty() and self.objects.idle()):
            await harness.step(self.dut.clk)
        self.dut.cfg_enable.value = 0


def reference(lines: list[str], seconds: list[int]) -> list[bytes]:
    """Return the headers that forebay-spec makes, with the seconds of the second clock."""
    command = ["cargo", "run", "-q", "-p", "forebay-spec", "--example", "page", "--", "small"]
    text = "".join(lines).encode()
    done = subprocess.run(command, cwd=ROOT, input=text, stdout=subprocess.PIPE, check=True)
    headers = []
    for at, when in zip(range(0, len(done.stdout), BLOCK), seconds, strict=True):
        header = bytearray(done.stdout[at : at + BLOCK])
        header[136:147] = b"%011o" % (when % 2**33)
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        headers.append(bytes(header))
    return headers


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4], batch=[PAGE, BATCH, 16 * PAGE])
async def any_extents(dut, stall: float, batch: int) -> None:
    """Of one byte or of more than the memory: all lie in batches, none of which is too long."""
    bench = Bench(dut)
    await bench.start(batch)
    bench.stall(stall, stall)
    for length in (1, BLOCK, BLOCK + 1, MOST, MOST + 1, BEAT, 2 * MOST + 3, PAGE):
        bench.send(extent(length))
    for _ in range(40):
        bench.send(extent(random.choice([None, random.randrange(1, 300)])))
    rows = await bench.drain()
    assert max(bench.sizes) <= batch
    assert {row.flags & spec.ROW_CUT for row in rows} == {0, spec.ROW_CUT}
    fates = {row.flags & (spec.ROW_SKIPPED | spec.ROW_FAILED) for row in rows}
    assert len(fates) == min(len(bench.sizes), 3)


@cocotb.test()
async def full_batches(dut) -> None:
    """A batch ends where the next extent has no room, and not before."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(60):
        bench.send(extent(random.randrange(1500, 4000)))
    lengths = [padded(len(part.data)) for part in bench.due]
    await bench.drain()
    at = 0
    for size, count in zip(bench.sizes[:-1], bench.counts, strict=False):
        at += count
        assert size <= BATCH < size + lengths[at]


@cocotb.test()
async def waits_for_more(dut) -> None:
    """A batch that has waited ends; without a time it waits for ever, or for `cfg_enable`."""
    bench = Bench(dut)
    await bench.start(wait=900)
    for _ in range(3):
        bench.send(extent(100))
    began = await harness.until(dut.clk, dut.m_axis_object_tvalid)
    await bench.check()
    assert bench.counts == [3] and 900 <= harness.cycle() - began < 1000
    dut.cfg_wait.value = 0
    bench.send(extent(100))
    await harness.step(dut.clk, 3000)
    assert bench.batches.empty() and dut.waiting.value == 1 and dut.open.value == 0
    dut.cfg_enable.value = 0
    await bench.check()


@cocotb.test()
async def nobody_answers(dut) -> None:
    """A batch ends where its rows have no room: then all waits for answers, and nothing is lost."""
    bench = Bench(dut)
    await bench.start(batch=256 * PAGE)
    for _ in range(3 * DEPTH):
        bench.send(extent(random.randrange(1, 200)))
    await harness.step(dut.clk, 400 * DEPTH)
    # One more than the memory holds rests at its output.
    assert bench.batches.count() == 1 and bench.rows.empty()
    await bench.drain()
    assert bench.counts[0] == DEPTH + 1 and sum(bench.counts) == 3 * DEPTH


@cocotb.test()
async def goes_through(dut) -> None:
    """Without batches extents and rows leave in the cycle in which they come."""
    bench = Bench(dut)
    await bench.start(small=0)
    bench.stall(0.3, 0.3)
    sent = [extent() for _ in range(20)]
    rows = [Row.any() for _ in range(20)]
    for what, row in zip(sent, rows, strict=True):
        bench.objects.send_nowait(what.frame())
        bench.heads.send_nowait(what.word())
        bench.fates.send_nowait(AxiStreamFrame([row.pack()]))
    for what, row in zip(sent, rows, strict=True):
        frame = await with_timeout(bench.batches.recv(), PATIENCE_US, "us")
        broken = frame.tuser if isinstance(frame.tuser, int) else frame.tuser[-1]
        assert bytes(frame.tdata) == what.data and broken == what.broken
        word = await with_timeout(bench.words.recv(), PATIENCE_US, "us")
        assert word.tdata == what.word().tdata
        found = await with_timeout(bench.rows.recv(), PATIENCE_US, "us")
        assert Row.unpack(found.tdata[0]) == row
    assert dut.waiting.value == 0


@cocotb.test()
async def rate(dut) -> None:
    """Extents of 4 KiB follow each other in as many cycles as the header says."""
    bench = Bench(dut)
    await bench.start(batch=64 * PAGE)
    ends: list[int] = []
    cocotb.start_soon(harness.record(dut.clk, dut.extent_ends, dut.sends, ends))
    for _ in range(30):
        bench.send(extent(PAGE))
    await bench.drain()
    interval = (ends[-1] - ends[0]) / (len(ends) - 1)
    dut._log.info("an extent in %s cycles", interval)
    assert interval <= CYCLES


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """A reset forgets all; what comes then begins a batch."""
    bench = Bench(dut)
    await bench.start()
    for turn in range(8):
        for _ in range(4):
            bench.send(extent(random.randrange(1, 2 * MOST)))
        await harness.step(dut.clk, random.randrange(1, 900))
        await harness.reset(dut, 2)
        for each in (bench.objects, bench.heads, bench.fates, bench.batches, bench.rows):
            each.clear()
        bench.due = []
        await harness.step(dut.clk, 2)
        bench.send(extent(random.randrange(1, 1000 * (turn + 1))))
        await bench.drain()


@harness.provocation
async def stray_row(dut) -> None:
    """A row of a batch that was not sent must be noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.fates.send_nowait(AxiStreamFrame([Row.any().pack()]))
    await harness.step(dut.clk, 5)


@harness.provocation
async def too_long(dut) -> None:
    """A batch that is longer than it may be must be noticed."""
    bench = Bench(dut)
    await bench.start()
    bench.send(extent(PAGE))
    await harness.until(dut.clk, dut.m_axis_object_tvalid)
    dut.cfg_batch.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def withdraw_object(dut) -> None:
    """The stream checker is awake."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_object)


@harness.provocation
async def withdraw_row(dut) -> None:
    """So is that of the rows."""
    await Bench(dut).start()
    await harness.withdraw(dut.clk, dut.u_check_row)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    values = {"Beats": BEATS, "Inside": INSIDE, "Depth": DEPTH}
    simulate(__file__, "fb_store_batch", values, **options)


def test_batch() -> None:
    """Run the coroutines above."""
    run()


@pytest.mark.parametrize(
    ("testcase", "message"),
    [
        ("stray_row", "row_has_extents"),
        ("too_long", "batch_is_kept"),
        ("withdraw_object", "m_axis_object: valid fell"),
        ("withdraw_row", "m_axis_row: valid fell"),
    ],
)
def test_assertion_fires(testcase: str, message: str) -> None:
    """The assertion stops the simulation."""
    run(testcase=testcase, expect_failure=message)
