# SPDX-License-Identifier: Apache-2.0
"""What the tests of rtl/store share: extents, where they have to lie, and a streamer for them."""

from __future__ import annotations

import random
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import cocotb
import google_crc32c
import numpy as np
import pyarrow as pa
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import forms
import frames
import harness
from forebay import spec
from forebay.store import layout
from forebay.store.recording import arrow
from forebay.store.schema import Column

BEAT, PAGE = spec.USER_BEAT_BYTES, spec.PAGE_BYTES
BLOCK = 512  # of a tar file
PATIENCE_US = 400

# What the index has.
FORM = forms.chosen()
NONCE_BITS = 64 if FORM.cipher else 1
RESULT_BITS = 8 * max(sum(of.bytes for of in FORM.results), 1)

# A row between modules (fb_store_pkg::row_t): names and bits, the highest first.
ROW_BITS = (
    ("flags", 16),
    ("address", 64),
    ("stream", 16),
    ("object", 64),
    ("offset", 64),
    ("length", 32),
    ("whole", 1),
    ("missing", 32),
    ("sequence", 32),
    ("epoch", 32),
    ("time", 64),
    ("seconds", 34),
    ("crc32c", 32),
    ("nonce", NONCE_BITS),
    ("received", 32),
    ("has_result", 1),
    ("result", RESULT_BITS),
)
ROW_WIDTH = sum(bits for _, bits in ROW_BITS)


class Row(NamedTuple):
    """A row as modules hand it on; `result` has its columns, the first one lowest."""

    flags: int
    address: int
    stream: int
    object: int
    offset: int
    length: int
    whole: int
    missing: int
    sequence: int
    epoch: int
    time: int
    seconds: int
    crc32c: int
    nonce: int
    received: int
    has_result: int
    result: int

    @classmethod
    def unpack(cls, word: int) -> Row:
        """Read a row from the bits of a port."""
        found, low = {}, ROW_WIDTH
        for name, bits in ROW_BITS:
            low -= bits
            found[name] = word >> low & (1 << bits) - 1
        return cls(**found)

    def pack(self) -> int:
        """Return the bits for a port."""
        word = 0
        for value, (_, bits) in zip(self, ROW_BITS, strict=True):
            word = word << bits | value
        return word

    @classmethod
    def any(cls, **others: int) -> Row:
        """Make any row; `others` are fields that it has to have."""
        return cls(**({name: random.getrandbits(bits) for name, bits in ROW_BITS} | others))

    def columns(self) -> dict[str, object]:
        """Return what of it stands in the index; of a result numbers of as many bits, or None."""
        found = {of.name: getattr(self, of.name) for of in FORM.bases}
        data, at = self.result.to_bytes(RESULT_BITS // 8, "little"), 0
        for of in FORM.results:
            own, at = data[at : at + of.bytes], at + of.bytes
            values = np.frombuffer(own, f"<u{of.dtype.itemsize}").tolist()
            value = own if of.kind == "bytes" else values if of.is_list else values[0]
            found[of.name] = value if self.flags & spec.ROW_RESULT else None
        return found


def word_stream(kind: type, dut, prefix: str) -> AxiStreamSource | AxiStreamSink:
    """Return a source or sink whose words are numbers: a row has no whole number of bytes."""
    return harness.axi_stream(kind, dut, prefix, byte_lanes=1)


class Write(NamedTuple):
    """A write of the streamer; without data it is a flush."""

    address: int
    flush: bool
    data: bytes


@dataclass
class Extent:
    """Bytes of an object, and what goes beside them."""

    data: bytes
    header: bytes
    missing: int = 0
    broken: bool = False
    # Two clocks that cannot be confused.
    time: int = field(default_factory=lambda: random.getrandbits(64))
    seconds: int = field(default_factory=lambda: random.getrandbits(34))
    nonce: int = field(default_factory=lambda: random.getrandbits(64) if FORM.cipher else 0)

    def frame(self) -> AxiStreamFrame:
        """Make a packet of it: bytes past its end are noise, TUSER lies on the last beat."""
        count, pad = len(self.data), -len(self.data) % BEAT
        users = [0] * (count + pad)
        users[(count - 1) // BEAT * BEAT :] = [int(self.broken)] * BEAT
        keep = [1] * count + [0] * pad
        return AxiStreamFrame(self.data + random.randbytes(pad), tkeep=keep, tuser=users)

    def metadata(self) -> bytes:
        """Return what is known of it when it begins."""
        words = ((self.missing, 8), (self.time, 8), (self.seconds, 5))
        return self.header + b"".join(word.to_bytes(size, "little") for word, size in words)

    def word(self) -> AxiStreamFrame:
        """Make the word that is known of it (fb_store_pkg::metadata_t): metadata and nonce."""
        known = self.metadata() + self.nonce.to_bytes(8, "little")
        return AxiStreamFrame([int.from_bytes(known, "little")])


class Block(NamedTuple):
    """A block of the index: its number, and the columns of the rows that count."""

    number: int
    rows: list[dict[str, int]]


SCHEMA = pa.schema([pa.field(of.name, arrow(of), of in FORM.results) for of in FORM.columns])


def bits_of(column: pa.Array, of: Column) -> list[object]:
    """Return a column as lists of numbers of as many bits: singles and times as well."""
    if of.kind == "bytes":
        return column.to_pylist()
    items = column.values if of.is_list else column
    values = items.view(pa.from_numpy_dtype(np.dtype(f"<u{of.dtype.itemsize}")))
    if not of.is_list:
        return values.to_pylist()
    there = column.is_valid().to_pylist()
    lists = np.asarray(values).reshape(-1, of.size).tolist()
    return [own if valid else None for own, valid in zip(lists, there, strict=True)]


def columns_of(page: bytes, unit: int = PAGE) -> list[dict[str, object]]:
    """Let Arrow's own library read a block of `unit` bytes, with zeros behind its page."""
    stream = SCHEMA.serialize().to_pybytes() + page + bytes(unit - PAGE)
    source = pa.BufferReader(stream)
    (batch,) = pa.ipc.open_stream(source)
    assert source.tell() == len(stream), "the block has another length"
    batch.validate(full=True)
    lists = [bits_of(batch.column(of.name), of) for of in FORM.columns]
    nulls = [batch.column(of.name).null_count for of in FORM.results]
    # Each column says how many, in front of the block.
    assert nulls == [column.count(None) for column in lists[len(FORM.bases) :]]
    names = [of.name for of in FORM.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def blocks_of(writes: Iterable[Write], session: int, unit: int = PAGE) -> Iterator[Block]:
    """Read blocks: sums hold, and each has the rows that exist and no others."""
    for write in writes:
        page = bytearray(write.data)
        assert len(page) == PAGE
        place = slice(FORM.session_at, FORM.columns_at)
        found, number, sum_ = struct.unpack("<QII", page[place])
        assert found == session
        page[FORM.crc_at : FORM.columns_at] = bytes(4)
        assert sum_ == google_crc32c.value(bytes(page))
        rows = columns_of(write.data, unit)
        assert 0 < len(rows) <= FORM.rows
        assert all(row["flags"] & spec.ROW_COUNTS for row in rows)
        yield Block(number, rows)


def block_of(rows: list[Row], session: int, number: int) -> bytes:
    """Make a block of the index with these rows; what no reader of ours looks at is noise."""
    page = bytearray(random.randbytes(PAGE))
    struct.pack_into("<Q", page, layout.COUNT_AT, len(rows))
    struct.pack_into("<QII", page, FORM.session_at, session, number, 0)
    for of in FORM.bases:
        at = FORM.places[of.name]
        column = b"".join(getattr(row, of.name).to_bytes(of.bytes, "little") for row in rows)
        page[at : at + len(column)] = column
    struct.pack_into("<I", page, FORM.crc_at, google_crc32c.value(bytes(page)))
    return bytes(page)


def size(most: int = 3 * PAGE) -> int:
    """Return a length: least, odd, around a beat or a page, or any."""
    near = random.choice([1, 63, 64, 65, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])
    return min(most, random.choice([near, random.randrange(1, 400), random.randrange(1, most + 1)]))


def extent(length: int | None = None, **others: object) -> Extent:
    """Make any extent, of this length if one is given."""
    first = random.random() < 0.7
    place = random.getrandbits(40)
    flags = (spec.FRAMING_FIRST if first else 0) | random.choice([0, spec.FRAMING_LAST])
    number, object_ = random.getrandbits(32), random.getrandbits(64)
    epoch, stream = random.getrandbits(32), random.getrandbits(16)
    header = frames.header(number, object_, place, flags, epoch=epoch, stream=stream)
    missing = random.choice([0, 0, random.getrandbits(32), random.getrandbits(64)])
    data = random.randbytes(size() if length is None else length)
    usual = {"missing": missing, "broken": random.random() < 0.2}
    return Extent(data, header, **(usual | others))


def filled(data: bytes, unit: int = PAGE) -> bytes:
    """Return the last pages of a tar member: zeros, then fillers up to a multiple of the unit."""
    data += bytes(-len(data) % BLOCK)
    while len(data) % unit:
        data += FILLER
    return data


def _filler() -> bytes:
    """Return an empty global pax header, as the page on the format says it."""
    header = bytearray(BLOCK)
    fields = {0: b"filler", 100: b"0000644\0", 108: b"0000000\0", 116: b"0000000\0"}
    fields |= {124: b"0" * 11, 136: b"0" * 11, 156: b"g", 257: b"ustar\x0000"}
    fields |= {265: b"forebay", 297: b"forebay"}
    for at, text in fields.items():
        header[at : at + len(text)] = text
    header[148:156] = b"%06o\0 " % (sum(header) + 8 * ord(" "))
    return bytes(header)


FILLER = _filler()


@dataclass
class Region:
    """Where extents have to lie, by docs/reference/store-format.md; sizes in bytes."""

    base: int
    size: int
    ring: bool
    page: bool = False
    stride: int = 0
    align: int = 0  # pages of the unit, a power of two
    longest: int = 2**32 - PAGE
    write: int = 1 << 20  # most of one write
    at: int = 0
    writes: list[Write] = field(default_factory=list)

    @property
    def unit(self) -> int:
        """Bytes of which each extent's place is a multiple."""
        return PAGE << self.align

    def place(self, what: Extent) -> Iterator[Row]:
        """Give an extent its places, and yield a row of code 0 for each."""
        done, length, over = 0, len(what.data), False
        front = self.unit if self.page else 0
        need = self.stride or front + self.unit
        while done < length:
            if self.size - self.at < need and self.ring and self.size >= need:
                self.at = 0
            if over or self.size - self.at < need:
                flags = 0 if done or what.broken else spec.ROW_WHOLE
                yield self.row(what, done, length - done, 0, flags | spec.ROW_SKIPPED)
                return
            begin = self.at + front
            count = min(length - done, self.stride or self.size - begin, self.longest)
            data = what.data[done : done + count]
            written = filled(data, self.unit) if self.page else data + bytes(-count % BEAT)
            self.writes += self.cut(self.base + begin, written)
            end = begin + -(-count // self.unit) * self.unit
            self.at = self.at + self.stride if self.stride else end
            row = self.row(what, done, count, self.base + begin, spec.ROW_CUT)
            if done + count == length:
                row = row._replace(flags=0 if done or what.broken else spec.ROW_WHOLE)
            done += count
            over = bool(self.stride)
            whole = int(bool(row.flags & spec.ROW_WHOLE))
            sum_ = google_crc32c.value(data)
            yield row._replace(flags=row.flags | spec.ROW_COUNTS, whole=whole, crc32c=sum_)

    def cut(self, address: int, data: bytes) -> list[Write]:
        """Return the writes of a row's data."""
        starts = range(0, len(data), self.write)
        return [Write(address + at, False, data[at : at + self.write]) for at in starts]

    def answer(self, row: Row, codes: Iterator[int]) -> int:
        """Take the answers to a row's writes; the first error counts."""
        if row.flags & spec.ROW_SKIPPED:
            return spec.ERR_OK
        taken = [next(codes) for _ in range(-(-row.length // self.write))]
        return next(filter(None, taken), spec.ERR_OK)

    def row(self, what: Extent, done: int, length: int, address: int, flags: int) -> Row:
        """Return the row of a part that begins N bytes behind the extent's beginning."""
        stream, epoch, sequence, number, place = struct.unpack("<6xHIIQQ", what.header)
        first = what.header[spec.FRAMING_FLAGS_AT] & spec.FRAMING_FIRST
        whole = int(bool(flags & spec.ROW_WHOLE))
        offset = (0 if first else place) + done & 2**64 - 1
        missing = 0 if done else min(what.missing, 2**32 - 1)
        rest = (missing, sequence, epoch, what.time, what.seconds, 0, what.nonce, 0, 0, 0)
        flags |= spec.ROW_COUNTS
        return Row(flags, address, stream, number, offset, length, whole, *rest)


def failed(row: Row, code: int) -> Row:
    """Return a row with the streamer's answer."""
    wrong = spec.ROW_FAILED | code << spec.ROW_CODE_LSB
    return row._replace(flags=row.flags | wrong) if code else row


def part_of(row: Row, done: int) -> dict[str, int]:
    """Return the part that becomes a row (fb_store_pkg::part_t): `done` bytes of it lie before."""
    code = row.flags >> spec.ROW_CODE_LSB if row.flags & spec.ROW_FAILED else 0
    flags = {"cut": spec.ROW_CUT, "skipped": spec.ROW_SKIPPED}
    found = {name: int(bool(row.flags & flag)) for name, flag in flags.items()}
    names = ("whole", "address", "length", "crc32c")
    return found | {name: getattr(row, name) for name in names} | {"code": code, "done": done}


class Sums:
    """The unit for checksums, by Google's library: as quick as fb_store_crc32c, or late at random.

    It takes a beat in every second cycle, and answers eleven cycles behind the last one. With the
    probability `stall` payload keeps it from taking a beat; then it answers late, too.
    """

    LATENCY = 11

    def __init__(self, dut, stall: float = 0.0) -> None:
        self.dut, self.stall = dut, stall
        self.data = b""
        harness.clear(dut, "sum_valid", "sum", "crc_ready")
        cocotb.start_soon(self.take())

    async def take(self) -> None:
        """Take one beat after the other."""
        dut, ready = self.dut, True
        clk, rst, valid, last = dut.clk, dut.rst, dut.crc_valid, dut.crc_last
        falling, rising = FallingEdge(clk), RisingEdge(clk)
        due: deque[tuple[int, int]] = deque()
        answered = False
        dut.crc_ready.value = ready
        while True:
            await falling
            taken = ready and harness.high(valid) and not harness.high(rst)
            if taken:
                self.data += int(dut.crc_data.value).to_bytes(BEAT, "little")
            if taken and harness.high(last):
                late = random.randrange(20) if self.stall else 0
                when = harness.cycle() + self.LATENCY + late
                due.append(
                    (max(when, due[-1][0] + 1 if due else 0), google_crc32c.value(self.data))
                )
                self.data = b""
            if harness.high(rst):
                self.data = b""
                due.clear()
            await rising
            was_ready, ready = ready, not taken and random.random() >= self.stall
            if ready != was_ready:
                dut.crc_ready.value = ready
            if due and due[0][0] <= harness.cycle():
                dut.sum_valid.value, dut.sum.value = 1, due.popleft()[1]
                answered = True
            elif answered:
                dut.sum_valid.value, dut.sum.value = 0, random.getrandbits(32)
                answered = False


class Streamer:
    """Takes writes and answers them in order: some with an error, and only while `answers` is set.

    What it answers is what is `due`, behind that 0, or any code with the probability `fail`.
    """

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.fail = fail
        self.writes: list[Write] = []
        self.due: deque[int] = deque()
        self.codes: list[int] = []
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_wr")
        self.answers = harness.axi_stream(AxiStreamSource, dut, "s_axis_wrsp")
        self.unanswered = 0
        self.silent = False
        cocotb.start_soon(self.take())

    async def take(self) -> None:
        """Take one write after the other."""
        while True:
            packet = await self.sink.recv(compact=False)
            kept = list(packet.tkeep or [1] * len(packet.tdata))
            count = sum(kept)
            assert kept == [1] * count + [0] * (len(kept) - count), "TKEEP has a gap"
            command = int.from_bytes(packet.tdata[:BEAT], "little")
            address = command >> spec.USER_ADDRESS_LSB & 2**64 - 1
            flush = command >> spec.USER_WRITE_FLUSH_BIT & 1
            others = ~(2**64 - 1 << spec.USER_ADDRESS_LSB | 1 << spec.USER_WRITE_FLUSH_BIT)
            assert command & others == 0, "a reserved bit is set"
            assert count > BEAT or flush, "a write without data"
            self.writes.append(Write(address, bool(flush), bytes(packet.tdata[BEAT:count])))
            self.unanswered += 1
            if not self.silent:
                self.answer()

    def answer(self) -> None:
        """Answer all that have none."""
        for _ in range(self.unanswered):
            code = random.randrange(1, 256) if random.random() < self.fail else spec.ERR_OK
            code = self.due.popleft() if self.due else code
            self.codes.append(code)
            self.answers.send_nowait(AxiStreamFrame([code]))
        self.unanswered = 0

    def answered(self) -> list[tuple[Write, int]]:
        """Return all writes with their answers."""
        return list(zip(self.writes, self.codes, strict=True))

    def forget(self) -> None:
        """Do as after a reset."""
        self.sink.clear()
        self.answers.clear()
        self.writes.clear()
        self.codes.clear()
        self.unanswered = 0


class Reader:
    """Takes read commands of the streamer and sends noise for them, or `content`, in order.

    A read fails with the probability `fail`: anywhere in it comes a beat without TKEEP whose first
    byte is the code, with TLAST and TUSER.
    """

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.fail = fail
        self.silent = False
        self.content: Callable[[int, int], bytes] = lambda _, length: random.randbytes(length)
        self.commands: list[tuple[int, int]] = []
        self.sent: list[tuple[bytes, int]] = []
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_rdcmd")
        self.data = self.source(dut)
        cocotb.start_soon(self.take())

    def source(self, dut) -> AxiStreamSource:
        """Return what sends the data."""
        return harness.axi_stream(AxiStreamSource, dut, "s_axis_rd")

    async def take(self) -> None:
        """Take one command after the other."""
        while True:
            packet = await self.sink.recv(compact=False)
            assert len(packet.tdata) == BEAT and all(packet.tkeep or [1])
            command = int.from_bytes(packet.tdata, "little")
            address = command >> spec.USER_ADDRESS_LSB & 2**64 - 1
            length = command >> spec.USER_READ_LENGTH_LSB & 2**64 - 1
            assert command == address | length << 64, "a reserved bit is set"
            self.commands.append((address, length))
            if not self.silent:
                self.answer()

    def answer(self) -> None:
        """Send what was asked for and is not sent yet."""
        for address, length in self.commands[len(self.sent) :]:
            code = random.randrange(1, 256) if random.random() < self.fail else spec.ERR_OK
            whole = random.randrange(-(-length // BEAT)) * BEAT
            self.send(self.content(address, length)[: whole if code else length], code)

    def send(self, data: bytes, code: int) -> None:
        """Send the data of one read."""
        self.sent.append((data, code))
        keep = [1] * len(data)
        tail = bytes([code]).ljust(BEAT, b"\x55") if code else b""
        users = [0] * len(data) + [1] * len(tail)
        keep += [0] * len(tail)
        self.data.send_nowait(AxiStreamFrame(data + tail, tkeep=keep, tuser=users))

    def forget(self) -> None:
        """Do as after a reset."""
        self.sink.clear()
        self.data.clear()
        self.commands.clear()
        self.sent.clear()
