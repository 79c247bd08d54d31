# SPDX-License-Identifier: Apache-2.0
"""Payloads by reference: rows that `forebay store export --to parquet` wrote, on any machine.

Works on what Dask, Ray and Spark hand over: an Arrow table or batch with the columns `path`,
`address`, `length` and `crc32c`. The caller needs the recording at `path` (a shared file
system, or `--path` at the export).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from forebay.store.array import Array, open_disk
from forebay.store.disk import Disk, crc32c
from forebay.store.errors import StoreError

# Recordings that a process keeps open.
OPEN_MOST = 16
# Longest payload that is read; beyond it a reference is no reference of ours.
LENGTH_MOST = 2**32 - 1


@lru_cache(OPEN_MOST)
def _disk(path: str) -> Disk | Array:
    return open_disk(path)


def payload(path: str, address: int, length: int, crc: int) -> bytes:
    """Payload of one reference, checked.

    Raises
    ------
    StoreError
        Where it cannot be read, or has another checksum.
    """
    disk = _disk(path)
    fits = address >= 0 and 0 <= length <= LENGTH_MOST and address + length <= disk.bytes
    if not fits:
        raise StoreError(
            f"{path} has {disk.bytes} bytes, but a reference goes from {address} over {length}",
            "export the references again",
        )
    data = disk.read(address, length)
    has = crc32c(data)
    if has != crc:
        raise StoreError(
            f"{path} at byte {address}: its CRC32C is {has:08x}, and its reference says {crc:08x}",
            "`forebay store verify` says whether it is damaged, or another recording by now",
        )
    return data


def payloads(rows: pa.Table | pa.RecordBatch) -> Iterator[bytes]:
    """Payload of each row, one after the other."""
    columns = [rows[name].to_pylist() for name in ("path", "address", "length", "crc32c")]
    for path, address, length, crc in zip(*columns, strict=True):
        yield payload(path, address, length, crc)


def each(rows: pa.Table, work: Callable[[bytes], dict[str, Any]]) -> pa.Table:
    """What `work` makes of each payload, with its object's number in front."""
    made = [work(data) for data in payloads(rows)]
    numbers = rows["object"].to_pylist()
    together = [{"object": number} | one for number, one in zip(numbers, made, strict=True)]
    return pa.Table.from_pylist(together)
