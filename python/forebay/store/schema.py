# SPDX-License-Identifier: Apache-2.0
"""What the index of a recording has of each extent, and where it stands in a block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from forebay.store import layout
from forebay.store.layout import PAGE, ROWS_MOST

NUMPY = {
    "u8": "u1",
    "u16": "<u2",
    "u32": "<u4",
    "u64": "<u8",
    "f32": "<f4",
    "bytes": "u1",
    "time": "<i8",
}
COLUMN_BYTES = layout.NAME_MOST + 2
# Flags of a schema.
RECEIVED, ENCRYPTED, LONG_KEY = 1, 2, 4
# How payload is encrypted, without and with LONG_KEY.
CIPHERS = ("AES-128-CTR", "AES-256-CTR")


@dataclass(frozen=True)
class Column:
    """A column of the index.

    Attributes
    ----------
    name : str
        Name.
    kind : str
        Type of a value: "u8" to "u64", "f32", "time", or "bytes".
    size : int
        Values of a list, bytes of "bytes"; 0 of one value that is no list.
    """

    name: str
    kind: str
    size: int = 0

    @property
    def dtype(self) -> np.dtype:
        """Of a value."""
        return np.dtype(NUMPY[self.kind])

    @property
    def bytes(self) -> int:
        """Of all its values."""
        return self.dtype.itemsize * max(self.size, 1)

    @property
    def is_list(self) -> bool:
        """Whether it has several values."""
        return self.size > 0 and self.kind != "bytes"


@dataclass(frozen=True)
class Schema:
    """Columns that a recording has, and where they stand in its blocks.

    Attributes
    ----------
    results : tuple of Column
        What elements made of objects; null without a result.
    received : bool
        There are the lengths of extents as they were received.
    cipher : str, optional
        How payload is encrypted; then each extent has a nonce.
    version : int
        Of the format.
    """

    results: tuple[Column, ...] = (Column("class", "u16"), Column("score", "f32"))
    received: bool = False
    cipher: str | None = None
    version: int = layout.SUPER_VERSION

    @cached_property
    def bases(self) -> tuple[Column, ...]:
        """Columns that all recordings have."""
        bases = (Column(name, kind) for name, kind in layout.BASES)
        left_out = {"nonce"} if self.cipher is None else set()
        left_out |= set() if self.received else {"received"}
        return tuple(of for of in bases if of.name not in left_out)

    @property
    def optional(self) -> tuple[str, ...]:
        """Names of those of `bases` that other recordings do not have."""
        return tuple(of.name for of in self.bases if of.name in ("nonce", "received"))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All of them."""
        return self.bases + self.results

    @cached_property
    def columns_at(self) -> int:
        """Offset of the first one in a block; in front of it is what is a block's own."""
        if self.version == 1:
            return layout.VERSION_1_COLUMNS_AT
        lists = sum(of.is_list for of in self.results)
        entries = 3 * len(self.columns) + 2 * lists
        front = layout.MESSAGE_BYTES + 16 * entries + layout.OWN_BYTES
        return -(-front // layout.BEAT_BYTES) * layout.BEAT_BYTES

    @property
    def session_at(self) -> int:
        """Offset of the recording UUID's first bytes."""
        return self.columns_at - layout.OWN_BYTES

    @property
    def number_at(self) -> int:
        """Offset of the block's number."""
        return self.session_at + 8

    @property
    def crc_at(self) -> int:
        """Offset of the block's CRC32C."""
        return self.number_at + 4

    def _placed(self, rows: int) -> tuple[dict[str, int], int, int]:
        """Where each column stands, the bits that say which have a result, and the end."""
        places, at = {}, self.columns_at
        for of in self.bases:
            places[of.name] = at
            at += -(-rows * of.bytes // 8) * 8
        valid = at
        at += ROWS_MOST // 8 if self.results else 0
        for of in self.results:
            places[of.name] = at
            at += -(-rows * of.bytes // 8) * 8
        return places, valid, at

    @cached_property
    def rows(self) -> int:
        """Most rows of a block."""
        if self.version == 1:
            return ROWS_MOST
        return next(rows for rows in range(ROWS_MOST, 0, -1) if self._placed(rows)[2] <= PAGE)

    @cached_property
    def places(self) -> dict[str, int]:
        """Offset of each column in a block."""
        return layout.VERSION_1 if self.version == 1 else self._placed(self.rows)[0]

    @property
    def valid_at(self) -> int | None:
        """Offset of the bits that say which rows have a result."""
        if self.version == 1 or not self.results:
            return None
        return self._placed(self.rows)[1]


VERSION_1 = Schema(version=1)


def parse(data: bytes) -> Schema | None:
    """Read a schema as a superblock has it; None where it cannot be one."""
    count, flags = data[0], data[1]
    end = 4 + count * COLUMN_BYTES
    known = flags < 2 * LONG_KEY and (flags & ENCRYPTED or flags < ENCRYPTED)
    if count > layout.COLUMNS_MOST or not known or any(data[2:4] + data[end:]):
        return None
    columns = []
    for at in range(4, end, COLUMN_BYTES):
        name = data[at : at + layout.NAME_MOST].rstrip(b"\0")
        kind, size = data[at + layout.NAME_MOST : at + COLUMN_BYTES]
        if not re.fullmatch(rb"[a-z][a-z0-9_]*", name) or kind >= len(layout.KINDS):
            return None
        of = Column(name.decode(), layout.KINDS[kind], size)
        if of.name in layout.TAKEN or (of.kind == "bytes" and size < 2):
            return None
        columns.append(of)
    if len({of.name for of in columns}) < count:
        return None
    if sum(of.bytes for of in columns) > layout.RESULT_MOST:
        return None
    cipher = CIPHERS[flags // LONG_KEY] if flags & ENCRYPTED else None
    return Schema(tuple(columns), bool(flags & RECEIVED), cipher)
