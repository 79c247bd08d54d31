# SPDX-License-Identifier: Apache-2.0
"""What the tests of rtl/store share: extents, where they have to lie, and a streamer for them."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import cocotb
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import frames
import harness
from forebay import spec

BEAT, PAGE = spec.USER_BEAT_BYTES, spec.PAGE_BYTES
PATIENCE_US = 400


class Row(NamedTuple):
    """A row of the journal, but for its time."""

    header: bytes
    missing: int
    address: int
    length: int
    code: int
    flags: int

    @classmethod
    def parse(cls, row: bytes) -> tuple[Row, int]:
        """Read a row; returns its time, too."""
        missing, address, length, last = struct.unpack_from("<QQQQ", row, spec.JOURNAL_MISSING_AT)
        time, code, flags = last & 2**48 - 1, last >> 48 & 0xFF, last >> 56
        return cls(row[: spec.FRAMING_BYTES], missing, address, length, code, flags), time


class Write(NamedTuple):
    """A write of the streamer."""

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

    def frame(self) -> AxiStreamFrame:
        """Make a packet of it: bytes past its end are noise, TUSER lies on the last beat."""
        count, pad = len(self.data), -len(self.data) % BEAT
        users = [0] * (count + pad)
        users[(count - 1) // BEAT * BEAT :] = [int(self.broken)] * BEAT
        keep = [1] * count + [0] * pad
        return AxiStreamFrame(self.data + random.randbytes(pad), tkeep=keep, tuser=users)

    def word(self) -> AxiStreamFrame:
        """Make the word beside it."""
        return AxiStreamFrame(self.header + self.missing.to_bytes(8, "little"))


class Block(NamedTuple):
    """A block of the journal."""

    recording: int
    number: int
    rows: list[bytes]


def blocks_of(writes: list[Write]) -> Iterator[Block]:
    """Read blocks: nothing stands where nothing is said to."""
    step = spec.JOURNAL_ROW_BYTES
    for write in writes:
        assert len(write.data) == spec.JOURNAL_BLOCK_BYTES
        magic, count, recording, number = struct.unpack_from("<IIQQ", write.data)
        assert magic == spec.JOURNAL_MAGIC and 0 < count <= spec.JOURNAL_ROWS
        assert not any(write.data[24:step]) and not any(write.data[(count + 1) * step :])
        rows = [write.data[at : at + step] for at in range(step, (count + 1) * step, step)]
        yield Block(recording, number, rows)


def size(most: int = 3 * PAGE) -> int:
    """Return a length: least, odd, around a beat or a page, or any."""
    near = random.choice([1, 63, 64, 65, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])
    return min(most, random.choice([near, random.randrange(1, 400), random.randrange(1, most + 1)]))


def extent(length: int | None = None, **others: object) -> Extent:
    """Make any extent, of this length if one is given."""
    first = random.random() < 0.7
    place = random.getrandbits(40)
    flags = (spec.FRAMING_FIRST if first else 0) | random.choice([0, spec.FRAMING_LAST])
    number, object_ = random.getrandbits(64), random.getrandbits(64)
    header = frames.header(number, object_, place, flags, session=random.getrandbits(8))
    missing = random.choice([0, 0, random.getrandbits(64)])
    data = random.randbytes(size() if length is None else length)
    usual = {"missing": missing, "broken": random.random() < 0.2}
    return Extent(data, header, **(usual | others))


def moved(header: bytes, done: int) -> bytes:
    """Return the header of what follows a cut: no first frame, and `done` bytes further on."""
    flags, place = header[spec.FRAMING_FLAGS_AT], struct.unpack_from("<Q", header, 24)[0]
    offset = 0 if flags & spec.FRAMING_FIRST else place
    flags &= ~spec.FRAMING_FIRST
    return header[:4] + bytes([flags]) + header[5:24] + struct.pack("<Q", offset + done & 2**64 - 1)


@dataclass
class Region:
    """Where extents have to lie, by the rules of docs/modules/recorder.md; sizes in bytes."""

    base: int
    size: int
    ring: bool
    at: int = 0
    writes: list[Write] = field(default_factory=list)

    def place(self, what: Extent) -> Iterator[Row]:
        """Give an extent its places, and yield a row of code 0 for each."""
        done, length = 0, len(what.data)
        while done < length:
            header = moved(what.header, done) if done else what.header
            missing = 0 if done else what.missing
            whole = 0 if done or what.broken else spec.JOURNAL_WHOLE
            if self.at == self.size and self.ring:
                self.at = 0
            if self.at == self.size:
                yield Row(header, missing, 0, length - done, 0, whole | spec.JOURNAL_SKIPPED)
                return
            count = min(length - done, self.size - self.at)
            address = self.base + self.at
            self.writes.append(Write(address, False, what.data[done : done + count]))
            self.at += -(-count // PAGE) * PAGE
            done += count
            flags = whole if done == length else spec.JOURNAL_CUT
            yield Row(header, missing, address, count, 0, flags)


class Streamer:
    """Takes writes and answers them in order: some with an error, and only while `answers` is set.

    What it answers is 0, or one of its codes at random with the probability `fail`.
    """

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.fail = fail
        self.writes: list[Write] = []
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
            assert count > BEAT, "a write without data"
            command = int.from_bytes(packet.tdata[:BEAT], "little")
            address = command >> spec.USER_ADDRESS_LSB & 2**64 - 1
            flush = command >> spec.USER_WRITE_FLUSH_BIT & 1
            others = ~(2**64 - 1 << spec.USER_ADDRESS_LSB | 1 << spec.USER_WRITE_FLUSH_BIT)
            assert command & others == 0, "a reserved bit is set"
            self.writes.append(Write(address, bool(flush), bytes(packet.tdata[BEAT:count])))
            self.unanswered += 1
            if not self.silent:
                self.answer()

    def answer(self) -> None:
        """Answer all that have none."""
        for _ in range(self.unanswered):
            code = random.randrange(1, 256) if random.random() < self.fail else spec.ERR_OK
            self.codes.append(code)
            self.answers.send_nowait(AxiStreamFrame([code]))
        self.unanswered = 0

    def forget(self) -> None:
        """Do as after a reset."""
        self.sink.clear()
        self.answers.clear()
        self.writes.clear()
        self.codes.clear()
        self.unanswered = 0


class Reader:
    """Takes read commands of the streamer and sends noise for them, in order.

    A read fails with the probability `fail`: anywhere in it comes a beat without TKEEP whose first
    byte is the code, with TLAST and TUSER.
    """

    def __init__(self, dut, fail: float = 0.0) -> None:
        self.fail = fail
        self.silent = False
        self.commands: list[tuple[int, int]] = []
        self.sent: list[tuple[bytes, int]] = []
        self.sink = harness.axi_stream(AxiStreamSink, dut, "m_axis_rdcmd")
        self.data = harness.axi_stream(AxiStreamSource, dut, "s_axis_rd")
        cocotb.start_soon(self.take())

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
        for _, length in self.commands[len(self.sent) :]:
            code = random.randrange(1, 256) if random.random() < self.fail else spec.ERR_OK
            whole = random.randrange(-(-length // BEAT)) * BEAT
            self.send(random.randbytes(whole if code else length), code)

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
