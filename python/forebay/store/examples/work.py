# SPDX-License-Identifier: Apache-2.0
"""What the examples do with each payload: put your own in its place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from forebay.store import references

RESULT = pa.schema([("object", pa.uint64()), ("mean", pa.float64()), ("sha256", pa.string())])


def look_at(payload: bytes) -> dict[str, Any]:
    """Mean of the bytes, and their SHA-256."""
    mean = float(np.frombuffer(payload, np.uint8).mean()) if payload else 0.0
    return {"mean": mean, "sha256": hashlib.sha256(payload).hexdigest()}


def show(results: Iterable[dict[str, Any]]) -> None:
    """Print a line of JSON for each payload."""
    for result in results:
        print(json.dumps(result))


def on_table(rows: pa.Table) -> pa.Table:
    """Do it for references in a table, as Ray hands them over."""
    return pa.Table.from_pylist(references.each(rows, look_at).to_pylist(), RESULT)


def on_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do it for references in batches, as Spark hands them over: it has no unsigned numbers."""
    signed = pa.schema([("object", pa.int64()), *list(RESULT)[1:]])
    for batch in batches:
        yield from on_table(pa.Table.from_batches([batch])).cast(signed).to_batches()
