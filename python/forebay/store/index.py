# SPDX-License-Identifier: Apache-2.0
"""The index: which of its blocks count, and their columns where they lie."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from forebay import spec
from forebay.store import layout
from forebay.store.disk import Disk, crc32c
from forebay.store.errors import StoreError
from forebay.store.layout import COUNT_AT, PAGE, ROWS_MOST
from forebay.store.schema import Schema
from forebay.store.superblock import Superblock

# Blocks that are looked at together.
CHUNK = 1024
# Blocks behind the last good one that are looked at for more. Of a group of blocks that have one
# flush a loss of power leaves any: all of a group are fewer than this.
LOOK = 1024

MARK = b"\xff\xff\xff\xff"  # of Arrow's, in front of each message

Columns = dict[str, np.ndarray]
Number = TypeVar("Number", int, np.ndarray)


def why_not(page: np.ndarray, of: Superblock, number: int) -> str | None:
    """Why a page is not block `number` of a recording; None if it is.

    What stands in front of the columns is covered by the checksum.
    """
    schema = of.schema
    begins = MARK + (schema.columns_at - 8).to_bytes(4, "little")
    if page[:8].tobytes() != begins or _count(page) > schema.rows:
        return "it does not begin as a block of an index does"
    if page[schema.session_at : schema.number_at].tobytes() != of.session.bytes[:8]:
        return "it belongs to another recording"
    says = int(page[schema.crc_at : schema.columns_at].view("<u4")[0])
    has = crc32c(page[: schema.crc_at], bytes(4), page[schema.columns_at :])
    if says != has:
        return f"its CRC32C is {has:08x}, and it says {says:08x}"
    own = int(page[schema.number_at : schema.crc_at].view("<u4")[0])
    return None if own == number else f"its number is {own}, but it lies where {number} does"


def _count(pages: np.ndarray) -> np.ndarray:
    """How many rows a block says that it has, or each of several."""
    return np.ascontiguousarray(pages[..., COUNT_AT : COUNT_AT + 8]).view("<u8")[..., 0]


class Index:
    """The blocks of a recording's index.

    Parameters
    ----------
    disk : Disk
        Where.
    of : Superblock
        Which recording.

    Attributes
    ----------
    first, head : int
        Number of the first block that is there, and the one behind the last.
    numbers : ndarray of int64
        Numbers of the good blocks, in order.
    """

    def __init__(self, disk: Disk, of: Superblock) -> None:
        self._disk, self._of = disk, of
        slots = self._scan()
        self.head = int(slots.max(initial=-1)) + 1 if of.blocks is None else of.blocks
        self.first = max(0, self.head - of.slots) if of.index_ring else 0
        inside = slots[(slots >= self.first) & (slots < self.head)]
        self.numbers = np.sort(inside)
        # Of a block all is in its first page.
        self.pages = (
            disk.map(of.index.at + PAGE, len(slots) * PAGE)
            if of.alignment == PAGE
            else self._read(0, len(slots)).reshape(-1)
        )
        self._voids = self._find_voids() if of.ring else None

    def _scan(self) -> np.ndarray:
        """Number of the block in each slot; -1 where there is none that counts."""
        of, found, head = self._of, [], 0
        most = of.slots if of.blocks is None or of.index_ring else min(of.blocks, of.slots)
        for slot in range(0, most, CHUNK):
            count = min(CHUNK, most - slot)
            numbers = self._numbers(self._read(slot, count), slot)
            found.append(numbers)
            head = max(head, int(numbers.max(initial=-1)) + 1)
            # In a ring the newest may be anywhere; else nothing counts so far behind the last.
            if not of.index_ring and of.blocks is None and slot + count > head + LOOK:
                break
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _numbers(self, pages: np.ndarray, slot: int) -> np.ndarray:
        schema = self._of.schema
        own = pages[:, schema.number_at : schema.crc_at].copy().view("<u4")[:, 0].astype(np.int64)
        places = np.arange(slot, slot + len(pages))
        fits = own % self._of.slots == places if self._of.index_ring else own == places
        good = [
            bool(fit) and why_not(page, self._of, int(number)) is None
            for page, fit, number in zip(pages, fits, own, strict=True)
        ]
        return np.where(good, own, -1)

    def _read(self, slot: int, count: int) -> np.ndarray:
        """Pages of slots; one that the disk does not give is nothing but zeros."""
        unit = self._of.alignment
        at = self._of.index.at + (slot + 1) * unit
        if unit > PAGE and count != 1:
            pages = [self._read(slot + one, 1) for one in range(count)]
            return np.concatenate(pages) if pages else np.zeros((0, PAGE), np.uint8)
        try:
            data = self._disk.read(at, count * PAGE)
        except StoreError:
            if count > 1:
                return np.concatenate([self._read(slot + one, 1) for one in range(count)])
            data = b""
        return np.frombuffer(data.ljust(count * PAGE, b"\0"), np.uint8).reshape(-1, PAGE)

    def _slot(self, number: Number) -> Number:
        return number % self._of.slots if self._of.index_ring else number

    def _page(self, number: int) -> np.ndarray:
        return self._read(self._slot(number), 1)[0]

    def damaged(self) -> list[int]:
        """Numbers of the blocks that ought to be there and are not good."""
        there = np.arange(self.first, self.head)
        return np.setdiff1d(there, self.numbers, assume_unique=True).tolist()

    def why(self, number: int) -> str:
        """Why a block is not good."""
        return why_not(self._page(number), self._of, number) or "it is good"

    def blocks(self) -> Iterator[tuple[Columns, np.ndarray | None]]:
        """Columns of each good block and the bits that say which rows have a result.

        They are where they lie: nothing is copied.
        """
        schema = self._of.schema
        for number in self.numbers.tolist():
            page = self.pages[self._slot(number) * PAGE :][:PAGE]
            at = schema.valid_at
            valid = None if at is None else page[at : at + ROWS_MOST // 8]
            yield columns_of(page, schema), valid

    def rows(self) -> Iterator[tuple[np.ndarray, Columns]]:
        """Columns of many blocks together, and of each row whether it is void."""
        for begin in range(0, len(self.numbers), CHUNK):
            numbers = self.numbers[begin : begin + CHUNK]
            # Read, not mapped: of a block that can no longer be read only its rows are missing.
            runs = np.split(numbers, np.flatnonzero(np.diff(self._slot(numbers)) != 1) + 1)
            pages = np.concatenate([self._read(self._slot(int(r[0])), len(r)) for r in runs])
            schema, flat = self._of.schema, {}
            for of in schema.columns:
                at = schema.places[of.name]
                values = pages[:, at : at + schema.rows * of.bytes].copy().view(of.dtype)
                flat[of.name] = values.reshape(-1, of.size) if of.size else values.reshape(-1)
            there = np.arange(schema.rows) < _count(pages)[:, None]
            flat["flags"][~there.reshape(-1)] = 0
            yield self._void(numbers), flat

    def _void(self, numbers: np.ndarray) -> np.ndarray:
        if self._voids is None:
            return np.zeros(len(numbers) * self._of.schema.rows, bool)
        return self._voids[numbers - self.first].reshape(-1)

    def _find_voids(self) -> np.ndarray:
        """Find the void rows: a newer row's extent has overwritten theirs.

        In a recording that is open, so may data that have no row yet.
        """
        voids = np.zeros((self.head - self.first, self._of.schema.rows), bool)
        cover, data = Cover(), self._of.data
        window, oldest, gap, newer = Cover(), None, False, self.head
        for number in self.numbers[::-1].tolist():
            gap, newer = gap or newer > number + 1, number
            columns = columns_of(self._page(number), self._of.schema)
            flags = columns["flags"]
            usable = counts(flags) & (columns["address"] != 0)
            usable &= ~wrong(columns, self._of, self._disk.bytes)
            for row in np.flatnonzero(usable)[::-1].tolist():
                address, length = int(columns["address"][row]), int(columns["length"][row])
                start, end = span(address, length, self._of)
                behind = self._of.aligned(end)
                if oldest is None and self._of.blocks is None and self._of.ahead:
                    for part in self._of.window(behind):
                        window.add(*part)
                # Those of a block that is missing lie between its neighbours': none, where these
                # share a unit.
                if oldest is not None and gap and self._of.aligned(oldest) != behind:
                    for part in self._of.between(behind, oldest):
                        cover.add(*part)
                oldest, gap = start, False
                if stored(flags[row]):
                    assert data.at <= start <= end <= data.end
                    voids[number - self.first, row] = cover.touches(start, end) or window.touches(
                        start, end
                    )
                # What fills up the page behind it is newer, too; one that failed may lie there.
                cover.add(start, behind)
        return voids


def columns_of(page: np.ndarray, schema: Schema) -> Columns:
    """Columns of a block, where they lie in it."""
    count, found = int(_count(page)), {}
    for of in schema.columns:
        at = schema.places[of.name]
        values = page[at : at + count * of.bytes].view(of.dtype)
        found[of.name] = values.reshape(-1, of.size) if of.size else values
    return found


def counts(flags: np.ndarray) -> np.ndarray:
    """Whether rows describe an extent, and are not there to fill a block."""
    return flags & spec.ROW_COUNTS != 0


def stored(flags: np.ndarray) -> np.ndarray:
    """Whether payloads are on the disk."""
    return counts(flags) & (flags & (spec.ROW_SKIPPED | spec.ROW_FAILED) == 0)


def span(address: int, length: int, of: Superblock) -> tuple[int, int]:
    """First byte of an extent, its page or header included, and the one behind its padding."""
    return address - of.front, address + -(-length // of.grain) * of.grain


def wrong(columns: Columns, of: Superblock, disk_bytes: int) -> np.ndarray:
    """Whether rows that are stored cannot be: out of the data, or at places that do not fit."""
    address, length = columns["address"], columns["length"].astype(np.uint64)
    grain = np.uint64(of.grain)
    padded = (length + grain - np.uint64(1)) // grain * grain
    end = np.uint64(max(0, min(of.data.end, disk_bytes)))
    bad = (address % grain != 0) | (address < np.uint64(of.first_extent + of.front))
    # In this order nothing overflows.
    bad |= (address > end) | (padded > end - np.minimum(address, end))
    if of.mode == "samples":
        stride = np.uint64(of.stride)
        place = address - np.minimum(address, np.uint64(of.data.at))
        bad |= (length > stride) | (place % stride != 0)
    if of.mode == "packets":
        bad |= length > layout.CHUNK_MOST
    whole = columns["flags"] & spec.ROW_WHOLE != 0
    return stored(columns["flags"]) & (bad | (whole & (columns["offset"] != 0)))


class Cover:
    """Which bytes are spoken for; ranges that touch are one."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def touches(self, start: int, end: int) -> bool:
        """Whether any byte of a range is covered."""
        before = bisect_left(self._starts, end) - 1
        return start < end and before >= 0 and self._ends[before] > start

    def add(self, start: int, end: int) -> None:
        """Cover a range."""
        if start >= end:
            return
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
