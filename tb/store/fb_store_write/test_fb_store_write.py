# SPDX-License-Identifier: Apache-2.0
"""fb_store_collect and fb_store_write between streams of cocotbext-axi: the places of extents.

Long extents against a model of the region; batches as tarfile and forebay-spec see them.
"""

from __future__ import annotations

import io
import random
import subprocess
import tarfile
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamSink, AxiStreamSource

import harness
import structs
from extents import (
    BEAT,
    BLOCK,
    FILLER,
    PAGE,
    PATIENCE_US,
    Extent,
    Region,
    Row,
    Streamer,
    Write,
    extent,
    failed,
    filled,
    part_of,
    word_stream,
)
from forebay import spec
from forebay.filelist import ROOT
from runner import simulate

pytestmark = pytest.mark.long

BEATS, INSIDE = 128, 8  # of the collector's memory; small extents in it
DEPTH = 16  # parts without an answer
LONGEST = 64 * PAGE  # of a part
WRITE = 4 * PAGE  # of a write
WRITES = 32  # without an answer
MOST = BEATS * BEAT - BLOCK  # bytes of a small extent
BATCH = 4 * PAGE
CYCLES = 165  # of a small extent

Part = dict[str, int]


class Bench:
    """Extents in, writes and parts out, and the region that both have to agree with."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.streamer = Streamer(dut, fail)
        self.objects = harness.axi_stream(AxiStreamSource, dut, "s_axis_object")
        self.heads = word_stream(AxiStreamSource, dut, "s_axis_head")
        self.parts = word_stream(AxiStreamSink, dut, "m_axis_part")
        self.region = Region(0, 0, False)
        self.session = uuid.UUID(int=0)
        self.due: list[tuple[Part, Row, bytes]] = []  # each with its payload
        self.batch = 0

    async def start(
        self,
        pages: int,
        ring: bool = False,
        base: int = 7,
        batch: int = 0,
        wait: int = 0,
        ahead: int = 0,
        **layout: int,
    ) -> None:
        """Reset with a region of `pages` pages; taking extents is enabled.

        `layout` is `page`, or `stride` in bytes, and `align`: the region begins at unit `base`.
        With `batch` small extents share pages.
        """
        dut = self.dut
        self.session = uuid.UUID(bytes=random.randbytes(16), version=4)
        self.batch = batch
        align = layout.get("align", 0)
        self.region = Region(
            base * (PAGE << align),
            pages * PAGE,
            ring,
            longest=min(LONGEST, ahead // 2 or LONGEST),
            write=WRITE,
            **layout,
        )
        dut.cfg_small.value, dut.cfg_wait.value = bool(batch), wait
        dut.cfg_batch.value = batch // PAGE
        dut.cfg_page.value, dut.cfg_align.value = layout.get("page", 0), align
        dut.cfg_stride.value = layout.get("stride", 0) // PAGE
        dut.cfg_session.value = int.from_bytes(self.session.bytes, "little")
        dut.cfg_extension.value = int.from_bytes(b"raw", "little")
        dut.restart.value = 0
        dut.cfg_ahead.value, dut.any_durable.value = ahead // PAGE, 0
        dut.cfg_enable.value = 1
        dut.cfg_ring.value = ring
        dut.cfg_base.value = base << align
        dut.cfg_bytes.value = pages
        await harness.start(dut)

    def stall(self, idle: float, stall: float) -> None:
        """Pause sources and sinks at random."""
        for source in (self.objects, self.heads):
            harness.stall(source, idle)
        for each in (self.streamer.sink, self.streamer.answers, self.parts):
            harness.stall(each, stall)

    def send(self, what: Extent) -> None:
        """Queue an extent, and remember what has to come of it."""
        self.objects.send_nowait(what.frame())
        self.heads.send_nowait(what.word())
        # Small ones are cut as their memory has to, wherever they lie.
        most = min(MOST, self.batch - BLOCK)
        region = Region(0, 1 << 40, False, longest=most) if self.batch else self.region
        start = region.row(what, 0, 0, 0, 0).offset
        for row in region.place(what):
            done = row.offset - start & 2**64 - 1
            data = what.data[done : done + row.length]
            self.due.append((part_of(row, done), row, data))

    async def part(self) -> Part:
        """Take the next part."""
        found = await with_timeout(self.parts.recv(), PATIENCE_US, "us")
        return structs.unpack("part_t", found.tdata[0])

    async def rests(self) -> None:
        """Nothing is left."""
        dut = self.dut
        await harness.step(dut.clk, 10)
        assert self.parts.empty() and dut.open.value == 0
        assert dut.waiting.value == dut.collected.value == 0
        assert dut.position.value == self.region.at
        self.due = []

    async def check(self) -> list[Row]:
        """Take all parts; they and the writes are those that are due. Returns their rows."""
        codes = iter(self.streamer.codes)
        rows = []
        for due, row, _ in self.due:
            found = await self.part()
            code = self.region.answer(row, codes)
            assert found == due | {"code": code}
            rows.append(failed(row, code))
        assert self.streamer.writes == self.region.writes
        await self.rests()
        return rows

    # ------------------------------------------------------------------------------------ batches
    def members(self, write: Write) -> Iterator[tuple[int, int, bytes, bytes]]:
        """Let tarfile look into a batch: yields place, length, header and payload of each.

        Between two of them are zeros; the rest of the last unit is empty tar headers.
        """
        inside = write.data
        while inside.endswith(FILLER):
            inside = inside.removesuffix(FILLER)
        archive = tarfile.TarFile(fileobj=io.BytesIO(inside + bytes(2 * BLOCK)))
        end = 0
        for member in archive.getmembers():
            begin, stop = member.offset_data, member.offset_data + member.size
            end = stop + -member.size % BLOCK
            assert not any(write.data[stop:end])
            yield begin, member.size, write.data[member.offset : begin], write.data[begin:stop]
        assert write.data == filled(write.data[:end], self.region.unit)
        assert len(write.data) <= self.batch

    async def check_batches(self) -> list[list[Part]]:
        """Take all parts, in order, in batches that lie where they have to; returns these."""
        found = [await self.part() for _ in self.due]
        while not (self.streamer.answers.empty() and self.streamer.answers.idle()):
            await harness.step(self.dut.clk)
        answered = iter(self.streamer.answered())
        region, members, headers, lines = self.region, [], [], []
        batches: list[list[Part]] = []
        for part, (due, row, data) in zip(found, self.due, strict=True):
            if not members:
                if region.size - region.at < self.batch and region.ring:
                    region.at = 0
                if region.size < region.at + self.batch:
                    skipped = {"skipped": 1, "address": 0, "crc32c": 0}
                    assert part == due | skipped
                    continue
                write, code = next(answered)
                assert write.address == region.base + region.at and not write.flush
                region.at += len(write.data)
                members = list(self.members(write))
                batches.append([])
            place, length, header, payload = members.pop(0)
            assert payload == data and length == len(data)
            assert part == due | {"address": write.address + place, "code": code}
            headers.append(header)
            lines.append((self.line(row), row.seconds))
            batches[-1].append(part)
        assert not members and next(answered, None) is None
        assert headers == reference(lines)
        self.streamer.forget()
        await self.rests()
        return batches

    def line(self, row: Row) -> str:
        """Return what the example `page` of forebay-spec reads; seconds are another clock's."""
        numbers = (row.stream, row.object, row.offset, row.length, row.whole, 0, 0, 0)
        numbers += (row.time, row.crc32c, 0)
        words = [self.session.hex, "raw", *map(str, numbers), "-", "-"]
        return " ".join(words) + "\n"

    async def drain(self) -> list[list[Part]]:
        """Wait until all is inside, end the last batch, and check."""
        cocotb.start_soon(self.disable())
        batches = await self.check_batches()
        self.dut.cfg_enable.value = 1
        return batches

    async def disable(self) -> None:
        """Take no more when all has been taken."""
        while not (self.objects.empty() and self.objects.idle()):
            await harness.step(self.dut.clk)
        self.dut.cfg_enable.value = 0


def reference(lines: list[tuple[str, int]]) -> list[bytes]:
    """Return the headers that forebay-spec makes, with the seconds of the second clock."""
    command = ["cargo", "run", "-q", "-p", "forebay-spec", "--example", "page", "--", "small"]
    text = "".join(line for line, _ in lines).encode()
    done = subprocess.run(command, cwd=ROOT, input=text, stdout=subprocess.PIPE, check=True)
    headers = []
    for at, (_, when) in zip(range(0, len(done.stdout), BLOCK), lines, strict=True):
        header = bytearray(done.stdout[at : at + BLOCK])
        header[136:147] = b"%011o" % (when % 2**33)
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        headers.append(bytes(header))
    return headers


def padded(length: int) -> int:
    """Return what a small extent takes in its batch."""
    return BLOCK + -(-length // BLOCK) * BLOCK


LAYOUTS = ({}, {"page": 1}, {"stride": 2 * PAGE})
ALIGNED = ({"align": 1}, {"page": 1, "align": 2}, {"stride": 4 * PAGE, "align": 2})


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4], ring=[False, True], layout=[*LAYOUTS, *ALIGNED])
async def any_extents(dut, stall: float, ring: bool, layout: dict[str, int]) -> None:
    """Each lies where it has to, the region's end included, and its part says so."""
    bench = Bench(dut, fail=0.3)
    await bench.start(8 if ring else 40, ring, random.getrandbits(40), **layout)
    bench.stall(stall, stall)
    for _ in range(harness.repeat(14, 8)):
        if ring or bench.region.at + 16 * PAGE < bench.region.size:
            bench.send(extent(random.choice([None, random.randrange(1, 7 * PAGE)])))
    # One that goes over the end, and what comes behind it.
    bench.send(extent(bench.region.size - (0 if ring else bench.region.at) + 70))
    for _ in range(harness.repeat(20, 10)):
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
    if pages < (2 if layout else 1):
        assert all(row.flags & spec.ROW_SKIPPED for row in rows)
    elif ring and "stride" not in layout:
        assert not any(row.flags & spec.ROW_SKIPPED for row in rows)


@cocotb.test()
async def whole_and_cut(dut) -> None:
    """The parts of a cut say where each begins in its object, and none is whole."""
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
    await bench.start(100)
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
    await bench.start(16 * LONGEST // PAGE)
    bench.streamer.silent = True
    for _ in range(10):
        bench.send(extent(4 * WRITE, broken=False))
    await harness.step(dut.clk, 40 * (WRITE // BEAT + 2))
    assert len(bench.streamer.writes) == WRITES
    assert int(dut.waiting.value) < DEPTH
    bench.streamer.silent = False
    bench.streamer.answer()
    await bench.check()


@cocotb.test()
@cocotb.parametrize(batch=[0, PAGE])
async def nobody_answers(dut, batch: int) -> None:
    """As many extents as there are parts for are stored ahead of the answers, then all waits."""
    bench = Bench(dut)
    await bench.start(4 * DEPTH, batch=batch)
    bench.streamer.silent = True
    for _ in range(2 * DEPTH):
        bench.send(extent(random.randrange(3 * BLOCK + 1, 7 * BLOCK)))  # one to a page
    await harness.step(dut.clk, 600 * DEPTH)
    # One more than the memory holds, or half of it, rests at its output.
    most = (DEPTH // 2 if batch else DEPTH) + 1
    assert dut.waiting.value == len(bench.streamer.writes) == most and bench.parts.empty()
    bench.streamer.silent = False
    bench.streamer.answer()
    await (bench.drain() if batch else bench.check())


async def part_ends(dut, found: list[int]) -> None:
    """Append the first byte of the page behind each part that comes."""
    while True:
        await FallingEdge(dut.clk)
        if dut.m_axis_part_tvalid.value == 1 and dut.m_axis_part_tready.value == 1:
            part = structs.unpack("part_t", int(dut.m_axis_part_tdata.value))
            found.append(-(-(part["address"] + part["length"]) // PAGE) * PAGE)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4], layout=[*LAYOUTS, ALIGNED[1], {"batch": BATCH}])
async def ring_waits_for_the_index(dut, stall: float, layout: dict[str, int]) -> None:
    """No write ends further behind the newest durable extent than it may; all of them come."""
    bench = Bench(dut)
    # Eight units are part of what has to fit in, front, fill and the region's end among them.
    ahead, pages = (48 * PAGE, 200) if "align" in layout else (24 * PAGE, 100)
    await bench.start(pages, True, random.getrandbits(40), ahead=ahead, **layout)
    bench.stall(stall, stall)
    base, size = bench.region.base, bench.region.size
    durable, waited = base, 0

    def reach(write: Write) -> int:
        return (write.address + len(write.data) - durable - 1) % size + 1

    for _ in range(6):
        bench.send(extent(5 * BLOCK if "batch" in layout else 15 * PAGE))
    for _ in range(60):
        bench.send(extent(5 * BLOCK))
    taking = cocotb.start_soon(bench.drain() if "batch" in layout else bench.check())
    ends: list[int] = []  # of parts that have come, and whose rows are not durable
    cocotb.start_soon(part_ends(dut, ends))
    seen = 0
    while not taking.done():
        await harness.step(dut.clk, random.choice([1, 400]))
        for write in bench.streamer.writes[seen:]:
            assert reach(write) <= ahead
        seen = len(bench.streamer.writes)
        if dut.pressing.value == 1 and ends and random.random() < 0.3:
            waited += 1
            count = random.randint(1, len(ends))
            durable = ends[count - 1]
            del ends[:count]
            dut.any_durable.value, dut.durable.value = 1, durable // PAGE
    await taking
    assert waited > 1


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
@cocotb.parametrize(batch=[0, BATCH])
async def reset_in_mid_packet(dut, batch: int) -> None:
    """A reset forgets extents and parts; what comes then lies at the region's beginning."""
    bench = Bench(dut)
    await bench.start(8, ring=True, batch=batch)
    for turn in range(8):
        bench.streamer.silent = turn % 2 == 0
        for _ in range(3):
            bench.send(extent(random.randrange(1, 5 * PAGE)))
        await harness.step(dut.clk, random.randrange(1, 900 if batch else 250))
        await harness.reset(dut, 2)
        for each in (bench.objects, bench.heads, bench.parts):
            each.clear()
        bench.streamer.forget()
        await harness.step(dut.clk, 2)
        bench.streamer.silent = False
        bench.region = Region(bench.region.base, bench.region.size, True, write=WRITE)
        bench.due = []
        bench.send(extent())
        await (bench.drain() if batch else bench.check())


@cocotb.test()
async def full_rate(dut) -> None:
    """The address comes three cycles after the extent, then a beat in every cycle."""
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
        began + turn * (beats + 2) + 3 + beat for turn in range(count) for beat in range(beats + 1)
    ]
    assert out == each


# ---------------------------------------------------------------------------------------- batches
@cocotb.test()
@cocotb.parametrize(
    (("batch", "align"), [(PAGE, 0), (2 * PAGE, 0), (BATCH, 0), (BATCH, 2)]),
    stall=[0.0, 0.4],
)
async def any_batches(dut, batch: int, align: int, stall: float) -> None:
    """Of one byte or of more than the memory: all lie in batches, none of which is too long."""
    bench = Bench(dut, fail=0.3)
    await bench.start(1000, batch=batch, align=align)
    bench.streamer.due.append(7)
    bench.stall(stall, stall)
    for length in (1, BLOCK, BLOCK + 1, MOST, MOST + 1, BEAT, 2 * MOST + 3, PAGE):
        bench.send(extent(length))
    for _ in range(harness.repeat(40, 16)):
        bench.send(extent(random.choice([None, random.randrange(1, 300)])))
    batches = await bench.drain()
    parts = [part for each in batches for part in each]
    assert {part["cut"] for part in parts} == {0, 1}
    assert any(part["code"] for part in parts)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4], ring=[False, True], pages=[3, 4, 9])
async def batches_at_the_end(dut, stall: float, ring: bool, pages: int) -> None:
    """A batch that may need more than is left of the region begins anew, or is skipped."""
    bench = Bench(dut, fail=0.3)
    await bench.start(pages, ring, batch=BATCH)
    bench.stall(stall, stall)
    for _ in range(harness.repeat(40, 20)):
        bench.send(extent(random.choice([None, random.randrange(1, 300)])))
    batches = await bench.drain()
    assert len(batches) == {3: 0, 4: 1, 9: 2}[pages] if not ring else len(batches) > 2 or pages == 3


@cocotb.test()
async def full_batches(dut) -> None:
    """A batch ends where the next extent has no room, and not before."""
    bench = Bench(dut)
    await bench.start(1000, batch=BATCH)
    for _ in range(harness.repeat(60, 20)):
        bench.send(extent(random.randrange(1500, 4000)))
    batches = await bench.drain()
    sizes = [sum(padded(part["length"]) for part in each) for each in batches]
    for used, following in zip(sizes, batches[1:], strict=False):
        assert used <= BATCH < used + padded(following[0]["length"])


@cocotb.test()
async def waits_for_more(dut) -> None:
    """A batch that has waited ends; without a time it waits for ever, or for `cfg_enable`."""
    bench = Bench(dut)
    await bench.start(1000, batch=BATCH, wait=900)
    for _ in range(3):
        bench.send(extent(100))
    began = await harness.until(dut.clk, dut.m_axis_wr_tvalid)
    (batch,) = await bench.check_batches()
    assert len(batch) == 3 and 900 <= harness.cycle() - began < 1000
    dut.cfg_wait.value = 0
    bench.send(extent(100))
    await harness.step(dut.clk, 3000)
    assert not bench.streamer.writes and dut.open.value == 1 and dut.waiting.value == 1
    dut.cfg_enable.value = 0
    await bench.check_batches()


@cocotb.test()
async def batches_wait_for_answers(dut) -> None:
    """Where half of the parts wait no batch begins: each would hold an extent, and waste a page."""
    bench = Bench(dut)
    await bench.start(1000, batch=BATCH)
    bench.streamer.silent = True
    for _ in range(5 * DEPTH):
        bench.send(extent(random.randrange(1, 200)))
    await harness.step(dut.clk, 200 * DEPTH)
    writes = len(bench.streamer.writes)
    await harness.step(dut.clk, 200 * DEPTH)
    assert len(bench.streamer.writes) == writes
    assert DEPTH // 2 < int(dut.waiting.value) <= DEPTH // 2 + 3
    bench.streamer.silent = False
    bench.streamer.answer()
    batches = await bench.drain()
    assert min(map(len, batches[:-1])) > 2


@cocotb.test()
async def batch_without_room(dut) -> None:
    """A batch ends where half of the parts wait: its own would never have an answer."""
    bench = Bench(dut)
    await bench.start(1000, batch=BATCH)
    for _ in range(3 * DEPTH):
        bench.send(extent(random.randrange(1, 200)))
    batches = await bench.drain()
    # One rests at the memory's output, one has its last beat held back until this is known.
    assert (
        len(batches[0]) in (DEPTH // 2 + 1, DEPTH // 2 + 2) and sum(map(len, batches)) == 3 * DEPTH
    )


@cocotb.test()
async def rate_of_small(dut) -> None:
    """Extents of 4 KiB follow each other in as many cycles as their headers take."""
    bench = Bench(dut)
    await bench.start(1000, batch=BATCH)
    taken: list[int] = []
    header = dut.u_header
    cocotb.start_soon(harness.record(dut.clk, header.s_facts_tvalid, header.s_facts_tready, taken))
    for _ in range(30):
        bench.send(extent(PAGE))
    batches = await bench.drain()
    intervals = [later - earlier for earlier, later in pairwise(taken[1:])]
    dut._log.info("extents in these cycles: %s", intervals)
    # Where a batch ends its last page is filled up; the memory here holds two extents, and waits.
    slower = [interval for interval in intervals if interval > CYCLES]
    assert len(slower) < len(batches) and max(intervals) <= CYCLES + PAGE // BEAT


# ----------------------------------------------------------------------------------- provocations
@harness.provocation
async def no_room(dut) -> None:
    """A part that finds no room must be noticed."""
    bench = Bench(dut)
    await bench.start(4)
    bench.send(extent(10 * BEAT))
    await harness.until(dut.clk, dut.m_axis_wr_tlast)
    dut.u_write.u_parts.level_q.value = DEPTH
    await harness.step(dut.clk, 3)


@harness.provocation
async def restart_in_mid_extent(dut) -> None:
    """A restart while an extent is open must be noticed."""
    bench = Bench(dut)
    await bench.start(4)
    bench.send(extent(PAGE))
    await harness.until(dut.clk, dut.m_axis_wr_tvalid)
    dut.restart.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def page_and_stride(dut) -> None:
    """Two layouts at once must be noticed."""
    bench = Bench(dut)
    await bench.start(4, page=1, stride=PAGE)
    bench.send(extent(PAGE))
    await harness.step(dut.clk, 10)


@harness.provocation
async def long_batch(dut) -> None:
    """A batch that is longer than a write must be noticed."""
    bench = Bench(dut)
    await bench.start(100, batch=WRITE + PAGE)
    bench.send(extent(PAGE))
    await harness.step(dut.clk, 10)


@harness.provocation
async def too_long(dut) -> None:
    """An extent that joins a batch without room must be noticed."""
    bench = Bench(dut)
    await bench.start(100, batch=BATCH)
    for _ in range(2):
        bench.send(extent(PAGE))
    await harness.until(dut.clk, dut.u_write.decides)
    await harness.step(dut.clk)
    dut.u_write.room_q.value = 1
    await harness.step(dut.clk, 3)


@harness.provocation
async def holes(dut) -> None:
    """A hole in TKEEP must be noticed."""
    bench = Bench(dut)
    await bench.start(4)
    frame = extent(BEAT).frame()
    frame.tkeep[5] = 0
    bench.objects.send_nowait(frame)
    bench.heads.send_nowait(extent(BEAT).word())
    await harness.step(dut.clk, 20)


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
    await harness.withdraw(dut.clk, dut.u_write.u_check_wr)


@harness.provocation
async def withdraw_part(dut) -> None:
    """So is that of the parts."""
    await Bench(dut).start(4)
    await harness.withdraw(dut.clk, dut.u_write.u_check_part)


@harness.provocation
async def withdraw_beat(dut) -> None:
    """So is that of the collector's beats."""
    await Bench(dut).start(4)
    await harness.withdraw(dut.clk, dut.u_collect.u_check_beat)


@harness.provocation
async def withdraw_facts(dut) -> None:
    """So is that of its facts."""
    await Bench(dut).start(4)
    await harness.withdraw(dut.clk, dut.u_collect.u_check_facts)


def run(**options: object) -> None:
    """Build the modules and simulate them."""
    values = {"Beats": BEATS, "Extents": INSIDE, "Depth": DEPTH, "Writes": WRITES}
    values |= {"MaxBeats": LONGEST // BEAT, "WriteBeats": WRITE // BEAT}
    wrapper = Path(__file__).with_name("fb_store_write_tb.sv")
    simulate(__file__, "fb_store_write_tb", values, extra_sources=[wrapper], **options)


def test_write() -> None:
    """Run the coroutines above."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        fires={
            "no_room": "part_has_room",
            "restart_in_mid_extent": "restarts_at_rest",
            "page_and_stride": "one_layout",
            "long_batch": "batch_is_a_write",
            "too_long": "batch_is_kept",
            "holes": "keep_has_no_holes",
            "stray_answer": "answers_are_awaited",
            "withdraw": "m_axis_wr: valid fell",
            "withdraw_part": "m_axis_part: valid fell",
            "withdraw_beat": "m_beat: valid fell",
            "withdraw_facts": "m_facts: valid fell",
        }
    )
