# SPDX-License-Identifier: Apache-2.0
"""Rows of a recording as Parquet files, a folder a stream and date or hour.

With payloads they stand alone; without, each row says where its payload lies: bytes `address` to
`address + length` of the file `path`.
"""

from __future__ import annotations

import argparse
import datetime
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from forebay.store.errors import StoreError
from forebay.store.recording import arrow

if TYPE_CHECKING:
    from forebay.store.recording import Recording

# A row group is written when it has this many bytes of payload, or rows.
GROUP_BYTES = 64 << 20
GROUP_ROWS = 65536
# Longest payload: a value of Parquet's has at most 2 GiB, and one is in memory at a time.
PAYLOAD_MOST = 1 << 30
# Files that are open at a time; the one that had to wait longest is finished for another.
OPEN_MOST = 32
COLUMNS = {
    "object": pa.uint64(),
    "offset": pa.uint64(),
    "time": pa.timestamp("ns", "UTC"),
    "length": pa.uint32(),
    "crc32c": pa.uint32(),
    "missing": pa.uint32(),
    "whole": pa.bool_(),
    "cut": pa.bool_(),
    "late": pa.bool_(),
}
REFERENCE = {"path": pa.string(), "address": pa.uint64()}
PAYLOAD = {"payload": pa.binary()}

Key = tuple[int, str]


class Parquet:
    """Takes extents and writes them as Parquet.

    Parameters
    ----------
    folder : Path
        Where the files go.
    recording : Recording
        Where the extents are from.
    options : Namespace
        `payload`: with payloads; `by`: "date" or "hour"; `path`: what references say in place of
        the recording's own path; `unchecked`: payloads that are not exported are not read.
    """

    def __init__(self, folder: Path, recording: Recording, options: argparse.Namespace) -> None:
        self._folder, self._options = folder, options
        self._path = options.path or recording.disk.place()
        try:
            self._path.encode()
        except UnicodeEncodeError as error:
            raise StoreError(
                f"the path {self._path!a} is no UTF-8, but Parquet's text is",
                "name the recording by another path, or say one with --path",
            ) from error
        schema = recording.superblock.schema
        results = {of.name: arrow(of) for of in schema.results}
        own = {of.name: arrow(of) for of in schema.bases if of.name in schema.optional}
        columns = COLUMNS | own | results | (PAYLOAD if options.payload else REFERENCE)
        metadata = {"forebay.session": str(recording.superblock.session)}
        self._schema = pa.schema(list(columns.items()), metadata=metadata)
        self._rows: list[tuple[Key, dict[str, Any]]] = []
        self._bytes = 0
        self._open: OrderedDict[Key, pq.ParquetWriter] = OrderedDict()
        self._files = 0

    def put(self, row: dict[str, Any], recording: Recording) -> None:
        """Take an extent."""
        if self._options.payload:
            if row["length"] > PAYLOAD_MOST:
                raise StoreError(
                    f"object {row['object']} of stream {row['stream']}: its length is "
                    f"{row['length']}, but a payload in Parquet has at most {PAYLOAD_MOST} bytes",
                    "export references, or --to webdataset",
                )
            # Full before it, not behind it: memory holds a group, or one payload.
            if self._bytes + row["length"] > GROUP_BYTES:
                self._flush()
            row = row | {"payload": recording.read(row)}
            self._bytes += row["length"]
        else:
            if not self._options.unchecked:
                for _ in recording.parts(row):
                    pass
            row = row | {"path": self._path}
        self._rows.append((self._key(row), row))
        if len(self._rows) >= GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Finish all files."""
        self._flush()
        for writer in self._open.values():
            writer.close()
        self._open.clear()

    def _key(self, row: dict[str, Any]) -> Key:
        since = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=row["time"] // 10**9)
        by = f"date={since:%Y-%m-%d}" + (f"/hour={since:%H}" if self._options.by == "hour" else "")
        return row["stream"], by

    def _groups(self) -> Iterator[tuple[Key, list[dict[str, Any]]]]:
        groups: dict[Key, list[dict[str, Any]]] = {}
        for key, row in self._rows:
            groups.setdefault(key, []).append(row)
        yield from groups.items()

    def _flush(self) -> None:
        for key, rows in self._groups():
            table = pa.Table.from_pylist(rows, self._schema)
            self._writer(key).write_table(table)
        self._rows.clear()
        self._bytes = 0

    def _writer(self, key: Key) -> pq.ParquetWriter:
        if key in self._open:
            self._open.move_to_end(key)
            return self._open[key]
        if len(self._open) >= OPEN_MOST:
            self._open.popitem(last=False)[1].close()
        folder = self._folder / f"stream={key[0]}" / key[1]
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"part-{self._files:05}.parquet"
        self._files += 1
        self._open[key] = pq.ParquetWriter(path, self._schema, compression="zstd")
        return self._open[key]
