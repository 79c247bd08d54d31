# SPDX-License-Identifier: Apache-2.0
"""Whole frames of a recording as a capture (pcapng)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay.store.errors import StoreError
from forebay.store.layout import PAGE

if TYPE_CHECKING:
    from forebay.store.disk import Disk
    from forebay.store.recording import Recording

# Bytes of a block without content: type, length, and the length once more.
BLOCK = 12
# What a section header begins with, in the file's byte order and in any.
SECTION = b"\x0a\x0d\x0d\x0a"


def whole_bytes(chunk: bytes) -> int:
    """Bytes at the beginning of a chunk in which blocks are whole."""
    at = 0
    while at + BLOCK <= len(chunk):
        (length,) = struct.unpack_from("<4xI", chunk, at)
        end = at + length
        if length < BLOCK or length % 4 or end > len(chunk):
            break
        if struct.unpack_from("<I", chunk, end - 4) != (length,):
            break
        at = end
    return at


def first_page(disk: Disk, at: int) -> bytes:
    """Return the page that says what the chunks are.

    Raises
    ------
    StoreError
        If its blocks are not whole: no tool would open what begins with it.
    """
    page = disk.read(at, PAGE)
    if page[:4] != SECTION or whole_bytes(page) != PAGE:
        raise StoreError(
            f"the capture's first page, at byte {at}, is damaged",
            "`forebay store repair` writes it anew; `forebay store cat` needs it not",
        )
    return page


class Capture:
    """Takes chunks and writes them as one file.

    Parameters
    ----------
    folder : Path
        Where the file goes.
    recording : Recording
        Where the chunks are from.
    """

    def __init__(self, folder: Path, recording: Recording) -> None:
        of = recording.superblock
        if of.mode != "packets":
            raise StoreError(
                f"the recording's mode is {of.mode}, not packets",
                "take --to webdataset or --to parquet",
            )
        head = first_page(recording.disk, of.data.at)
        self._file = (folder / "packets.pcapng").open("xb")
        self._file.write(head)

    def put(self, row: dict[str, Any], recording: Recording) -> None:
        """Take a chunk; of one that the end of the data cut, the blocks that are whole."""
        chunk = recording.read(row)
        self._file.write(chunk[: whole_bytes(chunk)])

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
