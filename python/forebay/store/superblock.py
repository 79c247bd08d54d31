# SPDX-License-Identifier: Apache-2.0
"""The superblock: what a recording is. Every number is checked: what comes out can be used."""

from __future__ import annotations

import re
import struct
import uuid
from dataclasses import dataclass

from forebay.store import layout
from forebay.store.disk import crc32c
from forebay.store.layout import PAGE
from forebay.store.schema import VERSION_1, Schema
from forebay.store.schema import parse as parse_schema
from forebay.store.table import Region
from forebay.store.tar import BLOCK

MODES = ("objects", "samples", "packets")
# Of the alignment: schema, a block, end mark; header block, payload, trailer.
UNITS_LEAST = 3
BLOCKS_MOST = 2**32 - 1
OFFSETS_MOST = 2**64 - 1


@dataclass(frozen=True)
class Superblock:
    """What a recording is and where its parts lie; all places in bytes of the disk.

    Attributes
    ----------
    mode : str
        "objects", "samples" or "packets".
    generation : int
        One more with each change.
    session : UUID
        Which recording.
    formatted : int
        Nanoseconds since 1970.
    block_bytes : int
        Bytes of the drive's logical block.
    ring, index_ring : bool
        Data, and index, begin anew at the end of their region.
    ahead : int
        Bytes that data of a ring may be ahead of the newest index record; 0: any number.
    small : bool
        Objects share pages.
    alignment : int
        Bytes of which all that hardware writes begins at a multiple.
    index, data : Region
        Where they lie.
    stride : int
        Bytes from one sample to the next; 0 where there are none.
    extension : str
        File name extension of objects.
    blocks : int or None
        Blocks of the index that count, if it was closed.
    end : int or None
        First byte behind the data, if it was closed.
    model, serial, firmware : str
        The drive's.
    drive_bytes : int
        Bytes of the drive's namespace.
    key_check : bytes
        By which another key is known; zeros: it is not known, or nothing is encrypted.
    schema : Schema
        What its index has.
    """

    mode: str
    generation: int
    session: uuid.UUID
    formatted: int
    block_bytes: int
    ring: bool
    index_ring: bool
    ahead: int
    small: bool
    alignment: int
    index: Region
    data: Region
    stride: int
    extension: str
    blocks: int | None
    end: int | None
    model: str
    serial: str
    firmware: str
    drive_bytes: int
    key_check: bytes
    schema: Schema

    @property
    def front(self) -> int:
        """Bytes in front of a payload: a unit whose end is its header, a tar header, or none."""
        if self.mode != "objects":
            return 0
        return BLOCK if self.small else self.alignment

    @property
    def grain(self) -> int:
        """Bytes; payloads begin at multiples of it, and are padded to them."""
        return BLOCK if self.small else self.alignment

    def aligned(self, place: int) -> int:
        """Return the next multiple of the alignment."""
        return -(-place // self.alignment) * self.alignment

    @property
    def slots(self) -> int:
        """Blocks that find room in the index: not in place of the schema, nor of the end mark."""
        return self.index.bytes // self.alignment - 2

    @property
    def first_extent(self) -> int:
        """Where the first extent may begin: in a capture behind its first unit."""
        return self.data.at + (self.alignment if self.mode == "packets" else 0)

    def between(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the bytes from `start` to `end` of a ring's data: two ranges where it wraps."""
        first, last = self.first_extent, self.data.end - self.alignment
        start, end = (min(max(place, first), last) for place in (start, end))
        return [(start, end)] if start <= end else [(start, last), (first, end)]

    def window(self, behind: int) -> list[tuple[int, int]]:
        """Return what data without an index record may lie on, behind the unit of the newest."""
        first, last = self.first_extent, self.data.end - self.alignment
        end = min(max(behind, first), last) + self.ahead
        return self.between(behind, end if end < last else first + end - last)

    def block_at(self, number: int) -> int:
        """Where block `number` of the index lies."""
        slot = number % self.slots if self.index_ring else number
        return self.index.at + (slot + 1) * self.alignment


class BadSuperblockError(ValueError):
    """Why a page is no superblock."""


def _field(page: bytes, name: str) -> bytes:
    at, length = layout.FIELDS[name]
    return page[at : at + length]


def _number(page: bytes, name: str) -> int:
    return int.from_bytes(_field(page, name), "little")


def _text(page: bytes, name: str) -> str:
    return _field(page, name).decode("latin-1").rstrip(" \0")


def _require(good: bool, name: str, value: object, limit: str) -> None:
    if not good:
        raise BadSuperblockError(f"its {name} is {value}, but {limit}")


def parse(page: bytes) -> Superblock:
    """Read a superblock.

    Raises
    ------
    BadSuperblockError
        The first thing that is wrong with it.
    """
    if len(page) != PAGE or not page.startswith(layout.MAGIC):
        raise BadSuperblockError("it does not begin as a superblock does")
    says = struct.unpack_from("<I", page, layout.SUPER_CRC_AT)[0]
    has = crc32c(page[: layout.SUPER_CRC_AT])
    if says != has:
        raise BadSuperblockError(f"its CRC32C is {has:08x}, and it says {says:08x}")
    version, mode, flags = (_number(page, name) for name in ("version", "mode", "flags"))
    limit = "this program knows versions 1 and 2"
    _require(1 <= version <= layout.SUPER_VERSION, "version", version, limit)
    _require(mode < len(MODES), "mode", mode, "there are the modes 0, 1 and 2")
    known = layout.RING | layout.INDEX_RING | layout.CLOSED | layout.SMALL
    _require(flags & ~known == 0, "flags", flags, "only bits 0 to 3 are defined")
    extension = _field(page, "extension")
    _require(
        re.fullmatch(rb"[A-Za-z0-9]{1,4}\0*", extension) is not None,
        "extension",
        extension,
        "it is 1 to 4 letters or digits, padded with NUL",
    )
    schema = VERSION_1 if version == 1 else parse_schema(_field(page, "schema"))
    limit = "of up to 8 columns each has a name and a type, of 64 bytes in all, and nothing follows"
    if schema is None:
        count = _field(page, "schema")[0]
        raise BadSuperblockError(f"its number of columns of results is {count}, but {limit}")
    closed = bool(flags & layout.CLOSED)
    found = Superblock(
        mode=MODES[mode],
        generation=_number(page, "generation"),
        session=uuid.UUID(bytes=_field(page, "session")),
        formatted=_number(page, "formatted"),
        block_bytes=_number(page, "block_bytes"),
        ring=bool(flags & layout.RING),
        index_ring=bool(flags & layout.INDEX_RING),
        ahead=_number(page, "ahead") if version > 1 else 0,
        small=bool(flags & layout.SMALL),
        alignment=(_number(page, "alignment") if version > 1 else 0) or PAGE,
        index=Region(_number(page, "index_at"), _number(page, "index_bytes")),
        data=Region(_number(page, "data_at"), _number(page, "data_bytes")),
        stride=_number(page, "stride"),
        extension=extension.rstrip(b"\0").decode("ascii"),
        blocks=_number(page, "blocks") if closed else None,
        end=_number(page, "end") if closed else None,
        model=_text(page, "model"),
        serial=_text(page, "serial"),
        firmware=_text(page, "firmware"),
        drive_bytes=_number(page, "drive_bytes"),
        key_check=_field(page, "key_check") if version > 1 else bytes(8),
        schema=schema,
    )
    check(found)
    return found


def check(of: Superblock) -> None:
    """Whether its numbers fit each other.

    Raises
    ------
    BadSuperblockError
        The first that does not.
    """
    _require(of.block_bytes in (512, 4096), "logical block", of.block_bytes, "it is 512 or 4096")
    unit = of.alignment
    good = PAGE <= unit <= layout.ALIGNMENT_MOST and unit & (unit - 1) == 0
    _require(good, "alignment", unit, "it is a power of two from 4096 to 524288")
    for name, region in (("index", of.index), ("data", of.data)):
        limit = "it is a multiple of the alignment"
        _require(region.at % unit == 0, f"{name}'s first byte", region.at, limit)
        whole = region.bytes % unit == 0 and region.bytes >= UNITS_LEAST * unit
        limit = "they are a multiple of the alignment, three times it or more"
        _require(whole, f"{name}'s bytes", region.bytes, limit)
        within = region.end <= min(of.drive_bytes, OFFSETS_MOST)
        _require(within, f"{name}'s bytes", region.bytes, "they end within the namespace")
    disjoint = of.index.end <= of.data.at or of.data.end <= of.index.at
    _require(disjoint, "data's first byte", of.data.at, "data and index must not overlap")
    if of.mode == "samples":
        strided = unit <= of.stride <= of.data.bytes and of.stride % unit == 0
    else:
        strided = of.stride == 0
    limit = "it is a multiple of the alignment within the data, and 0 where there are no samples"
    _require(strided, "stride", of.stride, limit)
    least = max(8 * unit, 4 * of.stride)
    bounded = of.ring and least <= of.ahead <= of.data.bytes // 4 and of.ahead % PAGE == 0
    limit = (
        "it is 0, or in a ring a multiple of 4096, from eight alignments and four samples"
        " to a quarter of the data"
    )
    _require(of.ahead == 0 or bounded, "bytes ahead", of.ahead, limit)
    _require(not (of.ring and of.mode == "packets"), "ring", 1, "a capture has a beginning")
    limit = "only objects share pages: bit 3 is 0 in other modes"
    _require(of.mode == "objects" or not of.small, "flags", layout.SMALL, limit)
    if of.blocks is not None and of.end is not None:
        room = BLOCKS_MOST if of.index_ring else min(of.slots, BLOCKS_MOST)
        _require(of.blocks <= room, "blocks", of.blocks, "the index has no room for them")
        within = of.data.at <= of.end <= of.data.end and of.end % unit == 0
        limit = "it is a multiple of the alignment in the data"
        _require(within, "data's end", of.end, limit)
