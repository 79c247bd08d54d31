# SPDX-License-Identifier: Apache-2.0
"""Extents of a recording as shards of WebDataset: tar files with a payload and a JSON a sample."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from forebay.store.tar import BLOCK, END

if TYPE_CHECKING:
    from forebay.store.recording import Recording
    from forebay.store.schema import Schema

# Most shards: it sets the digits of their names.
DIGITS = 6


class Shards:
    """Takes extents and writes shards.

    Parameters
    ----------
    folder : Path
        Where the files go.
    recording : Recording
        Where the extents are from.
    most : int
        Bytes of a shard; only one that holds a single sample may have more.
    """

    def __init__(self, folder: Path, recording: Recording, most: int) -> None:
        self._folder, self._most = folder, most
        self._extension = recording.superblock.extension
        self._session = str(recording.superblock.session)
        self._file: BinaryIO | None = None
        self._shards = 0

    def put(self, row: dict[str, Any], recording: Recording) -> None:
        """Take an extent: first its payload, then its JSON."""
        stem = f"{row['stream']:05}/{row['object']:020}"
        if not row["whole"]:
            stem += f"@{row['offset']:020}"
        said = described(row, recording.superblock.schema) | {"session": self._session}
        text = (json.dumps(said, indent=2) + "\n").encode()
        file = self._room(4 * BLOCK + len(text) + row["length"])
        begin = file.tell()
        try:
            seconds = max(0, row["time"] // 10**9)
            file.write(header(f"{stem}.{self._extension}", row["length"], seconds))
            for part in recording.parts(row):
                file.write(part)
            file.write(bytes(-row["length"] % BLOCK))
            file.write(header(f"{stem}.json", len(text), seconds))
            file.write(text + bytes(-len(text) % BLOCK))
        except BaseException:
            # Only behind its last byte is known that a payload is damaged.
            file.seek(begin)
            file.truncate()
            raise

    def close(self) -> None:
        """Finish the shard."""
        if self._file:
            self._file.write(END)
            self._file.close()
            self._file = None

    def _room(self, need: int) -> BinaryIO:
        if self._file and self._file.tell() and self._file.tell() + need + len(END) > self._most:
            self.close()
        if self._file is None:
            path = self._folder / f"recording-{self._shards:0{DIGITS}}.tar"
            self._file = path.open("xb")
            self._shards += 1
        return self._file


def described(row: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return what stands beside a payload; what is no number in hexadecimal."""
    results = {of.name: row[of.name] for of in schema.results}
    return {
        "stream": row["stream"],
        "object": row["object"],
        "offset": row["offset"],
        "length": row["length"],
        "time_ns": row["time"],
        "crc32c": f"{row['crc32c']:08x}",
        "missing": row["missing"],
        "whole": row["whole"],
        **{name: row[name] for name in schema.optional},
        **{name: v.hex() if isinstance(v, bytes) else v for name, v in results.items()},
    }


def header(name: str, length: int, seconds: int) -> bytes:
    """Return a tar header of a file."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime = length, seconds
    return info.tobuf(tarfile.USTAR_FORMAT)
