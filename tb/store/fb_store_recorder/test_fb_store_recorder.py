# SPDX-License-Identifier: Apache-2.0
"""fb_store_recorder by its registers, between cocotbext-axi's streams, against the layout."""

from __future__ import annotations

import io
import json
import random
import struct
import tarfile
import uuid
from collections.abc import Iterator

import cocotb
import google_crc32c
import pytest
from cocotb.triggers import FallingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import frames
import harness
from extents import (
    BEAT,
    FORM,
    PAGE,
    PATIENCE_US,
    Extent,
    Reader,
    Region,
    Row,
    Streamer,
    Write,
    blocks_of,
    extent,
    failed,
    word_stream,
)
from forebay import recorder_regs as regs
from forebay import spec
from runner import simulate

pytestmark = pytest.mark.long

ENABLE, DATA_RING, INDEX_RING, FLUSH, PAGES, RESULTS, BATCHES = (1 << bit for bit in range(7))
CLOSED, ERROR, FULL = (1 << bit for bit in range(3))
BATCH = 17 * PAGE
INDEX = 1 << 40  # above all data
ORDERS = 16
TIME = 1_700_000_000_999_999_000  # a thousand nanoseconds later the second is over
STREAM = 5
TICK = 3.3333  # nanoseconds of a cycle


class Bench:
    """All streams of the recorder, its registers, and what has to come of a recording."""

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.dut = dut
        self.streamer, self.reader = Streamer(dut, fail), Reader(dut, fail)
        self.control = harness.axil_master(dut, "s_axil_rec")
        self.objects = harness.axi_stream(AxiStreamSource, dut, "s_axis_object")
        self.heads = harness.axi_stream(AxiStreamSource, dut, "s_axis_extent")
        self.results = word_stream(AxiStreamSource, dut, "s_axis_result")
        self.fetched = harness.axi_stream(AxiStreamSink, dut, "m_axis_object")
        self.fetched_heads = word_stream(AxiStreamSink, dut, "m_axis_head")
        self.region = Region(0, 0, False)
        self.enabled = 0  # events that raise the interrupt
        self.due: list[Row] = []
        self.session = uuid.UUID(int=0)
        self.known = self.ended = 0  # extents with metadata, packets
        self.time = 1  # of the last extent
        harness.stall(self.objects, self.pauses(0.0))
        harness.clear(dut, "ends_object", "received", "m_axis_tag_tready", "sending")
        cocotb.start_soon(self.follow())

    async def follow(self) -> None:
        """Take the tag of each packet with its end: an intact object ends with a whole one."""
        dut, high = self.dut, harness.high
        extent = dut.s_axis_extent_tvalid, dut.s_axis_extent_tready
        packet = dut.s_axis_object_tvalid, dut.s_axis_object_tready, dut.s_axis_object_tlast
        falling, ended = FallingEdge(dut.clk), False
        while True:
            await falling
            self.known += all(high(signal) for signal in extent)
            ends = all(high(signal) for signal in packet)
            if ends or ended:
                whole = dut.s_axis_object_tuser.value == 0
                dut.m_axis_tag_tready.value, dut.ends_object.value = ends, ends and whole
            self.ended += ends
            ended = ends

    def pauses(self, idle: float) -> Iterator[bool]:
        """Pause packets at random, and while their tags are not there: fb_pe_entry does."""
        for pause in harness.stalls(idle):
            yield pause or self.ended >= self.known

    def stall(self, idle: float, stall: float) -> None:
        """Pause sources and sinks at random."""
        harness.stall(self.objects, self.pauses(idle))
        for source in (self.heads, self.reader.data):
            harness.stall(source, idle)
        sinks = (self.streamer.sink, self.reader.sink, self.fetched, self.fetched_heads)
        for each in (*sinks, self.streamer.answers):
            harness.stall(each, stall)

    async def put(self, name: str, value: int) -> None:
        """Write a register."""
        write = self.control.write_qword(getattr(regs, name.upper()), value)
        await with_timeout(write, PATIENCE_US, "us")

    async def get(self, name: str, field: str | None = None) -> int:
        """Read a register, or a field of it."""
        read = self.control.read_qword(getattr(regs, name.upper()))
        value = await with_timeout(read, PATIENCE_US, "us")
        if field is None:
            return value
        high, low = regs.FIELDS[name][field]
        return value >> low & (1 << high - low + 1) - 1

    async def begin(
        self, pages: int, index_pages: int = 100, control: int = 0, stride: int = 0, **batches: int
    ) -> None:
        """Begin a recording into regions of `pages` pages."""
        self.session = uuid.UUID(bytes=random.randbytes(16), version=4)
        base = random.getrandbits(20) * PAGE
        ring, page = bool(control & DATA_RING), bool(control & PAGES)
        self.region = Region(base, pages * PAGE, ring, page, stride)
        self.due = []
        low, high = struct.unpack("<QQ", self.session.bytes)
        self.enabled = random.getrandbits(3)
        settings = {
            "events": CLOSED | ERROR | FULL | self.enabled << 32,
            "session_low": low,
            "session_high": high,
            "extension": int.from_bytes(b"raw", "little") | int(TICK * 2**24) << 32,
            "stride": stride | 500 << 32,
            "batch": batches.get("batch", BATCH) | batches.get("wait", 3000) << 32,
            "data_address": self.region.base,
            "data_bytes": self.region.size,
            "index_address": INDEX,
            "index_bytes": index_pages * PAGE,
            "time_seconds": TIME // 10**9 | TIME % 10**9 << 34,
            "time_ns": TIME,
            "control": control | ENABLE,
        }
        for name, value in settings.items():
            await self.put(name, value)

    def send(self, what: Extent) -> None:
        """Queue an extent, and remember where it has to lie."""
        self.offer(what)
        self.due += self.region.place(what)

    def offer(self, what: Extent) -> None:
        """Queue an extent, which came after the one before it."""
        self.time += random.getrandbits(40)
        what.time = self.time
        self.hand(what)

    def hand(self, what: Extent) -> None:
        """Queue an extent as it is."""
        self.objects.send_nowait(what.frame())
        self.heads.send_nowait(AxiStreamFrame(what.metadata()))

    async def until(self, name: str, field: str, value: int = 0) -> None:
        """Read a field until it has this value."""
        # At the end of a recording 64 KiB are inside, 16 pages and what belongs to them.
        for _ in range(6000):
            if await self.get(name, field) == value:
                return
        raise TimeoutError(f"{name}.{field} is not {value}")

    async def end(self) -> None:
        """End the recording, as software does it."""
        while not (self.objects.empty() and self.objects.idle()):
            await harness.step(self.dut.clk)
        await self.put("control", await self.get("control") & ~ENABLE)
        await self.until("status", "open")
        await self.until("status", "waiting")
        await self.put("sync", 1)
        await self.until("sync", "busy")
        assert await self.get("status", "rows") == 0
        await self.until("events", "closed", 1)

    async def clear_events(self, due: int) -> None:
        """Compare events with what is due, and clear one by one: the interrupt stands till then."""
        for clear in (0, *random.sample((CLOSED, ERROR, FULL), 3)):
            await self.put("events", clear | self.enabled << 32)
            due &= ~clear
            assert await self.get("events") == due | self.enabled << 32
            assert self.dut.irq.value == bool(due & self.enabled)

    def answered(self) -> tuple[list, list, list]:
        """Return writes with their answers: of payload, of pages, of blocks."""
        data, pages, blocks = [], [], []
        for write, code in self.streamer.answered():
            if not write.data:
                continue
            page = self.region.page and write.data[257:262] == b"ustar"
            kind = blocks if write.address >= INDEX else pages if page else data
            kind.append((write, code))
        return data, pages, blocks

    def rows(self) -> list[Row]:
        """Return what has to stand in the index, answers included."""
        data, pages, _ = self.answered()
        assert [write for write, _ in data] == self.region.writes
        codes, page_codes = iter(data), iter(pages)
        rows = []
        for row in self.due:
            if not row.flags & spec.ROW_SKIPPED:
                row = failed(row, next(codes)[1])
            if self.region.page and not row.flags & (spec.ROW_SKIPPED | spec.ROW_FAILED):
                page, code = next(page_codes)
                assert page.address == row.address - PAGE
                row = failed(row, code)
            rows.append(row)
        return rows

    async def check(self, rows_lost: int = 0) -> list[Row]:
        """Compare data, rows and counters with what has to be; returns the rows."""
        due = self.rows()
        written = self.answered()[2]
        low = struct.unpack("<QQ", self.session.bytes)[0]
        blocks = list(blocks_of((write for write, _ in written), low))
        assert [block.number for block in blocks] == list(range(len(blocks)))
        found = [row for block in blocks for row in block.rows]
        # Flags of results are looked at elsewhere.
        assert found == [row.columns() for row in due[: len(found)]]
        assert len(due) - len(found) == rows_lost
        skips = [row for row in due if row.flags & spec.ROW_SKIPPED]
        fails = [row for row in due if row.flags & spec.ROW_FAILED]
        stored = [row for row in due if not row.flags & (spec.ROW_SKIPPED | spec.ROW_FAILED)]
        for name, those in {"stored": stored, "skipped": skips, "failed": fails}.items():
            assert await self.get(f"{name}_extents") == len(those)
            assert await self.get(f"{name}_bytes") == sum(row.length for row in those)
        assert await self.get("blocks", "written") == len(blocks)
        assert await self.get("rows_lost") == rows_lost
        assert await self.get("data_position") == self.region.at
        await self.clear_events(
            CLOSED | (ERROR if fails else 0) | (FULL if skips or rows_lost else 0)
        )
        self.streamer.writes.clear()
        self.streamer.codes.clear()
        return due


LAYOUTS = {"samples": (0, 0), "stride": (0, 2 * PAGE), "objects": (PAGES, 0)}


@cocotb.test()
@cocotb.parametrize(stall=[0.4], ring=[0, DATA_RING], layout=list(LAYOUTS))
async def any_recordings(dut, stall: float, ring: int, layout: str) -> None:
    """Data, index and counters agree, and each recording begins anew."""
    bench = Bench(dut, fail=0.2)
    bench.stall(stall, stall)
    await harness.start(dut)
    control, stride = LAYOUTS[layout]
    for count, short in ((harness.repeat(25, 12), False), (1, False), (70, True)):
        await bench.begin(8 if ring else 30, 100, control | ring | 2000 << 32, stride)
        for _ in range(count):
            length = random.randrange(1, 100) if short else None
            bench.send(extent(length))
        await bench.end()
        # A block that was refused is written again, in its place; the last answer counts.
        _, _, writes = bench.answered()
        low = struct.unpack("<QQ", bench.session.bytes)[0]
        found = blocks_of((write for write, _ in writes), low)
        tried = zip(found, (code for _, code in writes), strict=True)
        last = {block.number: (len(block.rows), code) for block, code in tried}
        lost = [count for count, code in last.values() if code]
        assert await bench.get("rows_lost") == sum(lost)
        rows = bench.rows()
        assert sum(count for count, _ in last.values()) == len(rows)
        assert await bench.get("blocks", "failed") == len(lost)
        fails = [row for row in rows if row.flags & spec.ROW_FAILED]
        assert await bench.get("failed_extents") == len(fails)
        skips = any(row.flags & spec.ROW_SKIPPED for row in rows)
        await bench.clear_events(CLOSED | (ERROR if fails or lost else 0) | (FULL if skips else 0))
        bench.streamer.forget()


def tar_of(writes: list[Write], region: Region) -> bytes:
    """Return the data region with the end of a tar file behind it."""
    image = bytearray(region.at)
    for write in writes:
        if write.data and write.address < INDEX:
            at = write.address - region.base
            image[at : at + len(write.data)] = write.data
    end = io.BytesIO()
    with tarfile.open(fileobj=end, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("recording.json"))
    return bytes(image) + end.getvalue()


def opened(bench: Bench) -> tarfile.TarFile:
    """Return it as Python's own library sees it."""
    return tarfile.TarFile(fileobj=io.BytesIO(tar_of(bench.streamer.writes, bench.region)))


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def a_tar_file(dut, stall: float) -> None:
    """Python's tar library finds each extent, whole, and beside it what the index says of it."""
    bench = Bench(dut)
    bench.stall(stall, stall)
    await harness.start(dut)
    await bench.begin(100, control=PAGES | FLUSH | RESULTS)
    sent = [extent(missing=random.choice([0, 7, 2**40])) for _ in range(20)]
    for what in sent:
        bench.send(what)
    await bench.end()
    archive = opened(bench)
    *members, end = archive.getmembers()
    assert end.name == "recording.json" and len(members) == 2 * len(sent)
    for what, row, beside, member in zip(sent, bench.due, members[::2], members[1::2], strict=True):
        name = f"{bench.session}/{row.stream:05}/{row.object:020}"
        name += "" if row.whole else f"@{row.offset:020}"
        assert (beside.name, member.name) == (f"{name}.json", f"{name}.raw")
        assert archive.extractfile(member).read() == what.data
        said = json.load(archive.extractfile(beside))
        assert (said["time_ns"], member.mtime) == (what.time, what.seconds % 2**33)
        numbers = ("object", "stream", "offset", "length", "missing", "sequence", "epoch")
        assert {name: said[name] for name in numbers} == {
            name: getattr(row, name) for name in numbers
        }
        assert said["whole"] is bool(row.whole) and said["crc32c"] == f"{row.crc32c:08x}"
        assert said["class"] is None and said["score"] is None
    # A flush lies between all data of a block's rows and the block.
    kinds = [
        "flush" if not write.data else "block" if write.address >= INDEX else "data"
        for write in bench.streamer.writes
    ]
    assert kinds == ["data"] * (2 * len(sent)) + ["flush", "block"]


def named(bench: Bench, row: dict[str, int]) -> str:
    """Return the name of the file that an extent is."""
    name = f"{bench.session}/{row['stream']:05}/{row['object']:020}"
    return name + (".raw" if row["flags"] & spec.ROW_WHOLE else f"@{row['offset']:020}.raw")


async def batched_rows(bench: Bench, sent: list[Extent]) -> list[dict[str, int]]:
    """Return the rows of a recording in batches; all that was sent is in them, in order."""
    low = struct.unpack("<QQ", bench.session.bytes)[0]
    blocks = [write for write in bench.streamer.writes if write.data and write.address >= INDEX]
    rows = [row for block in blocks_of(blocks, low) for row in block.rows]
    left = iter(rows)
    for what in sent:
        done = 0
        while done < len(what.data):
            row = next(left)
            assert row["missing"] == (0 if done else min(what.missing, 2**32 - 1))
            assert row["time"] == what.time
            assert bool(row["flags"] & spec.ROW_CUT) == (done + row["length"] < len(what.data))
            if not row["flags"] & spec.ROW_SKIPPED:
                data = what.data[done : done + row["length"]]
                assert row["crc32c"] == google_crc32c.value(data)
            done += row["length"]
        assert done == len(what.data)
    assert next(left, None) is None
    stored = [row for row in rows if not row["flags"] & spec.ROW_SKIPPED]
    assert await bench.get("stored_extents") == len(stored)
    assert await bench.get("skipped_extents") == len(rows) - len(stored)
    return rows


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def batches(dut, stall: float) -> None:
    """Small objects share pages; Python's tar library finds each where its row says."""
    bench = Bench(dut)
    bench.stall(stall, stall)
    await harness.start(dut)
    for _ in range(2):
        sent = [extent(missing=random.choice([0, 7, 2**40])) for _ in range(30)]
        sent += [extent(80_000), extent(1, broken=False)]
        # The first one has come when the recording begins; none comes while the clocks are set.
        known = bench.known
        bench.offer(sent[0])
        while bench.known == known:
            await harness.step(dut.clk)
        await bench.begin(200, control=BATCHES | FLUSH)
        for what in sent[1:]:
            bench.offer(what)
        await bench.end()
        rows = await batched_rows(bench, sent)
        assert not any(row["flags"] & spec.ROW_SKIPPED for row in rows)
        bench.region.at = await bench.get("data_position")
        *members, end = opened(bench).getmembers()
        assert end.name == "recording.json" and len(members) == len(rows)
        seconds = {what.time: what.seconds for what in sent}
        for member, row in zip(members, rows, strict=True):
            assert member.name == named(bench, row) and member.size == row["length"]
            assert member.offset_data == row["address"] - bench.region.base
            assert (int(member.uname), int(member.gname, 16)) == (row["time"], row["crc32c"])
            assert member.mtime == seconds[row["time"]] % 2**33
        assert b"".join(what.data for what in sent) == b"".join(
            opened(bench).extractfile(member.name).read() for member in members
        )
        data = [each for each in bench.streamer.writes if each.data and each.address < INDEX]
        assert 3 < len(data) < len(sent)
        assert all(len(each.data) % PAGE == 0 and len(each.data) <= BATCH for each in data)
        bench.streamer.forget()


@cocotb.test()
@cocotb.parametrize(ring=[0, DATA_RING], pages=[16, 50])
async def batches_at_the_end(dut, ring: int, pages: int) -> None:
    """No batch is cut by the region's end: it is contiguous, or is skipped."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(pages, control=BATCHES | ring)
    sent = [extent(random.randrange(1, 9000)) for _ in range(60)]
    for what in sent:
        bench.offer(what)
    await bench.end()
    rows = await batched_rows(bench, sent)
    for write in bench.streamer.writes:
        if write.data and write.address < INDEX:
            at = write.address - bench.region.base
            assert at >= 0 and at + len(write.data) <= bench.region.size
            # Each begins with a header, and so with its session.
            assert write.data[345:381] == str(bench.session).encode()
    skipped = [bool(row["flags"] & spec.ROW_SKIPPED) for row in rows]
    assert any(skipped) == (not ring or pages * PAGE < BATCH)
    assert skipped == sorted(skipped)


@cocotb.test()
async def layouts_in_turn(dut) -> None:
    """Recordings of all layouts one after the other: nothing of one is left in the next."""
    bench = Bench(dut)
    bench.stall(0.2, 0.2)
    await harness.start(dut)
    order = [*LAYOUTS, "batches", *LAYOUTS, "batches", "batches"]
    for layout in random.sample(order, len(order)):
        control, stride = LAYOUTS.get(layout, (BATCHES, 0))
        batch = random.choice([PAGE, 3 * PAGE, BATCH])
        await bench.begin(150, 100, control | 2000 << 32, stride, batch=batch)
        sent = [extent() for _ in range(harness.repeat(12, 5))]
        for what in sent:
            (bench.offer if layout == "batches" else bench.send)(what)
        await bench.end()
        if layout == "batches":
            rows = await batched_rows(bench, sent)
            assert not any(row["flags"] & spec.ROW_SKIPPED for row in rows)
            bench.streamer.forget()
        else:
            await bench.check()


@cocotb.test()
async def batches_with_room(dut) -> None:
    """A batch that holds more extents than there are entries ends before these are in use."""
    bench = Bench(dut)
    # They come no faster than the batch takes them.
    harness.stall(bench.heads, 0.98)
    await harness.start(dut)
    entries = int(dut.u_table.Extents.value)
    await bench.begin(4000, control=BATCHES, batch=1024 * PAGE, wait=0)
    sent = [extent(100, missing=0) for _ in range(entries + 100)]
    for what in sent:
        bench.offer(what)
    for _ in range(entries * 10):
        await harness.step(dut.clk, 100)
        if await bench.get("stored_extents"):
            break
    assert await bench.get("stored_extents"), "while enable says that more may come"
    await bench.end()
    rows = await batched_rows(bench, sent)
    assert len(rows) == len(sent)


@cocotb.test()
async def batches_wait(dut) -> None:
    """A batch that waits for more ends after its time, while recording goes on."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(50, control=BATCHES)
    for _ in range(3):
        what = extent(100)
        bench.offer(what)
        await bench.until("status", "waiting", 1)
        await bench.until("status", "waiting")
    assert await bench.get("data_position") == 3 * PAGE
    await bench.end()


@cocotb.test()
async def results(dut) -> None:
    """Class and score of an intact object stand in its page and its row, whenever they come."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(100, control=PAGES | RESULTS)
    expected, words = [], []
    for number in range(6):
        head = frames.header(number, number, 200, spec.FRAMING_FIRST, stream=STREAM)
        bench.send(Extent(random.randbytes(200), head))
        score = random.choice([0.5, -1.25, 1e6 + 0.5])
        bits = int.from_bytes(struct.pack("<Hf", number, score), "little")
        judged, comes = number != 4, number % 3 != 0
        if comes:
            words.append(AxiStreamFrame([bits], tid=number, tuser=int(not judged)))
        expected.append((number, score) if comes and judged else (None, None))
    while bench.ended < 6:
        await harness.step(dut.clk)
    await harness.step(dut.clk, 2)
    for word in random.sample(words, len(words)):
        bench.results.send_nowait(word)
    bench.results.send_nowait(AxiStreamFrame([0], tid=6))  # not out
    await bench.end()
    archive = opened(bench)
    texts = [json.load(archive.extractfile(each)) for each in archive.getmembers()[:-1:2]]
    assert [(text["class"], text["score"]) for text in texts] == expected
    low = struct.unpack("<QQ", bench.session.bytes)[0]
    written = bench.answered()[2]
    rows = [row for block in blocks_of((write for write, _ in written), low) for row in block.rows]
    flags = [row["flags"] & (spec.ROW_RESULT | spec.ROW_LATE) for row in rows]
    has, late = spec.ROW_RESULT, spec.ROW_LATE
    assert flags == [late, has, has, late, 0, has]
    assert await bench.get("results", "late") == 2
    assert await bench.get("results", "stray") == 1
    assert await bench.get("unjudged", "objects") == 1


@cocotb.test()
async def clock(dut) -> None:
    """Time goes on with the cycles, over the end of a second too."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(4)
    began = harness.cycle()
    assert abs(await bench.get("time_ns") - TIME) < 100 * TICK
    await harness.step(dut.clk, 600)
    passed = await bench.get("time_ns") - TIME
    assert abs(passed - (harness.cycle() - began) * TICK) < 100
    seconds = await bench.get("time_seconds", "seconds")
    within = await bench.get("time_seconds", "nanoseconds")
    assert 0 <= int(dut.now_ns.value) - await bench.get("time_ns") + 100 * TICK < 200 * TICK
    assert int(dut.now_seconds.value) == seconds
    assert seconds == TIME // 10**9 + 1 and 0 <= within < 3000
    assert abs(seconds * 10**9 + within - await bench.get("time_ns")) < 200


@cocotb.test()
async def times_are_in_order(dut) -> None:
    """An extent that came before the last one has its time; another recording begins anew."""
    bench = Bench(dut)
    await harness.start(dut)
    for turn in range(3):
        await bench.begin(100, control=PAGES | FLUSH)
        held = extent(500, time=0)
        seconds = []
        for _ in range(20):
            what = extent(500, time=random.randrange(1, 1000) << 20 * (2 - turn))
            bench.hand(what)
            held = held if what.time < held.time else what
            what.time = held.time
            seconds.append(held.seconds % 2**33)
            bench.due += bench.region.place(what)
        await bench.end()
        assert [member.mtime for member in opened(bench).getmembers()[1:-1:2]] == seconds
        await bench.check()


@cocotb.test()
async def waits_while_disabled(dut) -> None:
    """Extents wait for `enable`; a recording that has rows left goes on with the next one."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(50)
    for _ in range(3):
        bench.send(extent())
    await bench.until("stored_extents", "extents", len(bench.due))
    await bench.put("control", 0)
    bench.send(extent())
    await harness.step(dut.clk, 300)
    assert await bench.get("stored_extents") == len(bench.due) - 1
    assert await bench.get("status", "rows") == len(bench.due) - 1
    await bench.put("control", ENABLE)
    await bench.end()
    await bench.check()


@cocotb.test()
async def index_without_room(dut) -> None:
    """Rows that find no room are counted; the data are stored, and the counters say so."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(200, index_pages=1)
    for _ in range(FORM.rows + 20):
        bench.send(extent(random.randrange(1, 70)))
    await bench.end()
    await bench.check(rows_lost=20)
    await bench.begin(4)
    bench.send(extent(1))
    await bench.end()
    await bench.check()


@cocotb.test()
async def index_refused(dut) -> None:
    """A block of the index that is given up is an error, though all extents are stored."""
    bench = Bench(dut)
    await harness.start(dut)
    await bench.begin(200)
    count = 5
    bench.streamer.due.extend([spec.ERR_OK] * count + [1] * 20)
    for _ in range(count):
        bench.send(extent(random.randrange(1, 70)))
    await bench.end()
    assert await bench.get("stored_extents") == await bench.get("rows_lost") == count
    assert await bench.get("blocks", "failed") == 1
    await bench.clear_events(CLOSED | ERROR)


@cocotb.test()
async def fetches(dut) -> None:
    """Objects come by order of registers; an order without bytes or room is refused."""
    bench = Bench(dut, fail=0.3)
    await harness.start(dut)
    bench.reader.sink.pause = True
    await bench.put("fetch_bytes", 0)
    await bench.put("fetch", 1)
    assert await bench.get("fetch", "refused") == 1
    await bench.put("fetch", 2)
    assert await bench.get("fetch") == 0
    orders = []
    for _ in range(ORDERS + 1):
        address, number, offset, nonce = (random.getrandbits(64) for _ in range(4))
        part, stream = random.getrandbits(1), random.getrandbits(16)
        orders.append((address, random.randrange(1, 500), number, offset, nonce, part, stream))
        for name, value in zip(
            ("address", "bytes", "object", "offset", "nonce"), orders[-1], strict=False
        ):
            await bench.put(f"fetch_{name}", value)
        assert await bench.get("fetch", "refused") == 0
        await bench.put("fetch", 1 | part << 2 | stream << 16)
    assert await bench.get("fetch", "refused") == 1
    assert await bench.get("status", "fetches") == ORDERS
    bench.reader.sink.pause = False
    await bench.until("status", "fetches")
    await bench.until("status", "fetching")
    assert bench.reader.commands == [order[:2] for order in orders[:ORDERS]]
    for order, (data, code) in zip(orders, bench.reader.sent, strict=False):
        _, length, number, offset, nonce, part, stream = order
        word = await bench.fetched_heads.recv()
        assert word.tdata[0] == number | length << 64
        assert word.tuser == nonce | offset << 64 | stream << 128 | part << 144
        assert bytes((await bench.fetched.recv()).tdata) == data + (bytes([code]) if code else b"")
    # What is still in elements of the way back has not been sent.
    dut.sending.value = 1
    assert await bench.get("status", "fetching") == 1
    dut.sending.value = 0
    assert await bench.get("status", "fetching") == 0
    failed = sum(code != 0 for _, code in bench.reader.sent)
    assert await bench.get("fetched") == ORDERS | failed << 32 and failed
    await bench.clear_events(ERROR)
    # A recording does not begin these anew.
    await bench.begin(4)
    assert await bench.get("fetched", "objects") == ORDERS


@cocotb.test()
@cocotb.parametrize(layout=["stride", "objects"], stall=[0.4])
async def replays(dut, layout: str, stall: float) -> None:
    """What was recorded is found by number and comes back, while other objects are fetched."""
    control, stride = LAYOUTS[layout]
    bench = Bench(dut)
    bench.stall(0.0, stall)
    await harness.start(dut)
    await bench.begin(4000, control=control, stride=stride)
    flags, sent = spec.FRAMING_FIRST | spec.FRAMING_LAST, []
    for turn in range(100):
        # By day most are short, so that two blocks of the index are soon there.
        long = turn % 8 < harness.repeat(8, 1)
        data = random.randbytes(random.randrange(1, 2 * PAGE if long else PAGE // 8))
        sent.append(Extent(data, frames.header(turn, 7 + turn, len(data), flags, stream=STREAM)))
    for each in sent:
        bench.send(each)
    await bench.end()
    memory = {}
    for write in bench.streamer.writes:
        for at in range(0, len(write.data), BEAT):
            memory[write.address + at] = write.data[at : at + BEAT]
    bench.reader.content = lambda address, length: b"".join(
        memory.get(at, bytes(BEAT)).ljust(BEAT, b"\0")
        for at in range(address, address + length, BEAT)
    )[:length]
    await bench.check()
    await bench.put("replay_first", 20)
    await bench.put("replay_last", 80)
    await bench.put("replay", 1 | STREAM << 16 | 10 << 32)
    await bench.put("replay", 1 | STREAM << 16 | 10 << 32)
    assert await bench.get("replay", "refused") == 1
    await bench.put("fetch_address", 1 << 50)
    await bench.put("fetch_bytes", 100)
    await bench.put("fetch_object", 999)
    await bench.put("fetch", 1)
    found = {}
    while await bench.get("status", "fetching") or not bench.fetched.empty():
        while not bench.fetched.empty():
            word = await bench.fetched_heads.recv()
            number, length = word.tdata[0] % 2**64, word.tdata[0] >> 64
            found[number] = bytes((await bench.fetched.recv()).tdata)
            assert len(found[number]) == length and word.tuser == (
                0 if number == 999 else STREAM << 128
            )
    assert found.pop(999) == bytes(100)
    assert found == {7 + turn: sent[turn].data for turn in range(13, 74)}
    assert list(found) == sorted(found)
    assert await bench.get("replayed") == len(found)
    assert await bench.get("replayed_blocks") == 2 and await bench.get("replay", "busy") == 0


@cocotb.test()
async def element_settings(dut) -> None:
    """Settings of elements go out word by word, keep the bytes that are not written, and reset."""
    bench = Bench(dut)
    await harness.start(dut)
    words = [bytearray(8) for _ in range(8)]
    for _ in range(60):
        which, length = random.randrange(8), random.choice([1, 2, 4, 8])
        at, data = random.randrange(0, 8, length), random.randbytes(length)
        words[which][at : at + length] = data
        await bench.control.write(regs.ELEMENTS + 8 * which + at, data)
        assert dut.element.value.to_bytes(byteorder="little") == b"".join(words)
        probe = random.randrange(8)
        found = await bench.control.read_qword(regs.ELEMENTS + 8 * probe)
        assert found == int.from_bytes(words[probe], "little")
    await harness.reset(dut)
    assert dut.element.value == 0


@cocotb.test()
async def element_status(dut) -> None:
    """What elements say is read as it is then; objects that a branch does not see are counted."""
    bench = Bench(dut)
    await harness.start(dut)
    unseen = 0
    for _ in range(20):
        words = [random.getrandbits(64) for _ in range(8)]
        dut.element_status.value = sum(word << 64 * at for at, word in enumerate(words))
        pulses = random.randrange(5)
        dut.unseen.value = 1
        await harness.step(dut.clk, pulses)
        dut.unseen.value = 0
        unseen += pulses
        which = random.randrange(8)
        found = await bench.control.read_qword(regs.ELEMENT_STATUS + 8 * which)
        assert found == words[which]
        assert await bench.get("unjudged", "unseen") == unseen
        assert await bench.get("unjudged", "objects") == 0


@cocotb.test()
async def identity(dut) -> None:
    """Software can tell what it has before it."""
    bench = Bench(dut)
    await harness.start(dut)
    assert (await bench.get("version") >> 32).to_bytes(4, "little") == b"FBR1"


@cocotb.test()
async def reset_in_mid_extent(dut) -> None:
    """A reset ends the recording with all that it had; the next one is whole."""
    bench = Bench(dut)
    await harness.start(dut)
    for _ in range(6):
        await bench.begin(30, control=1 << 32)
        for _ in range(6):
            bench.send(extent())
        await harness.step(dut.clk, random.randrange(1, 400))
        await harness.reset(dut, 2)
        for each in (bench.objects, bench.heads):
            each.clear()
        bench.streamer.forget()
        await harness.step(dut.clk, 4)
        assert await bench.get("control") == await bench.get("stored_extents") == 0
        await bench.begin(30)
        for _ in range(3):
            bench.send(extent())
        await bench.end()
        await bench.check()


def test_recorder() -> None:
    """Run the coroutines above."""
    simulate(__file__, "fb_store_recorder")
