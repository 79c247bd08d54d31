# SPDX-License-Identifier: Apache-2.0
"""The partition table (GPT, UEFI 2.10 section 5.3): where the parts of a recording lie."""

from __future__ import annotations

import struct
import uuid
import zlib
from dataclasses import dataclass

from forebay.store import layout
from forebay.store.disk import Disk

ENTRY_BYTES = 128
# Most entries that are looked at; 128 is what all tools make.
ENTRIES_MOST = 1024
HEADER_LEAST = 92
HEADER_MOST = 512


@dataclass(frozen=True)
class Region:
    """Bytes that follow each other."""

    at: int
    bytes: int

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.at + self.bytes


@dataclass(frozen=True)
class Table:
    """The partitions of a recording, and the session that the table says."""

    block_bytes: int
    superblocks: Region
    index: Region
    data: Region
    session: bytes


def read_table(disk: Disk) -> Table | None:
    """Read it, from the first copy that is good; None where neither is one of a recording."""
    for block in (512, 4096):
        for lba in (1, disk.bytes // block - 1):
            found = _read_copy(disk, block, lba)
            if found:
                return found
    return None


def _read_copy(disk: Disk, block: int, lba: int) -> Table | None:
    if lba < 1:
        return None
    header = disk.read(lba * block, HEADER_MOST)
    if len(header) < HEADER_MOST or not header.startswith(b"EFI PART"):
        return None
    used, own = struct.unpack_from("<II", header, 12)
    here = struct.unpack_from("<Q", header, 24)[0]
    first, count, size, crc = struct.unpack_from("<QIII", header, 72)
    plausible = HEADER_LEAST <= used <= HEADER_MOST and size == ENTRY_BYTES
    if not plausible or count > ENTRIES_MOST or here != lba:
        return None
    if zlib.crc32(header[:16] + bytes(4) + header[20:used]) != own:
        return None
    if first > disk.bytes // block:
        return None
    entries = disk.read(first * block, count * ENTRY_BYTES)
    if len(entries) < count * ENTRY_BYTES or zlib.crc32(entries) != crc:
        return None
    return _of_entries(entries, block)


def _of_entries(entries: bytes, block: int) -> Table | None:
    found: dict[str, tuple[Region, bytes]] = {}
    for at in range(0, len(entries), ENTRY_BYTES):
        kind = str(uuid.UUID(bytes_le=entries[at : at + 16])).upper()
        first, last = struct.unpack_from("<QQ", entries, at + 32)
        if last >= first:
            region = Region(first * block, (last - first + 1) * block)
            own = uuid.UUID(bytes_le=entries[at + 16 : at + 32]).bytes
            found.setdefault(kind, (region, own))
    parts = [found.get(kind) for kind in (layout.SUPER_TYPE, layout.INDEX_TYPE, layout.DATA_TYPE)]
    if None in parts:
        return None
    superblocks, index, data = parts
    return Table(block, superblocks[0], index[0], data[0], data[1])
