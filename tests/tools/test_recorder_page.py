# SPDX-License-Identifier: Apache-2.0
"""The reader on the recorder's page reads a journal that is made by the offsets of its layout."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

from forebay import spec
from forebay.filelist import ROOT

RECORDING = 7


def put(into: bytearray, at: int, value: int, count: int = 8) -> None:
    """Write a number."""
    into[at : at + count] = value.to_bytes(count, "little")


def row(values: list[int], first: bool) -> bytearray:
    """Make a row that the reader has to print as these values."""
    number, offset, address, length, missing, code, flags = values
    made = bytearray(random.randbytes(spec.JOURNAL_ROW_BYTES))
    put(made, spec.FRAMING_FLAGS_AT, spec.FRAMING_FIRST if first else 0, 1)
    put(made, spec.FRAMING_OBJECT_AT, number)
    # What stands there in a first frame is the object's length.
    put(made, spec.FRAMING_PLACE_AT, random.getrandbits(64) if first else offset)
    put(made, spec.JOURNAL_ADDRESS_AT, address)
    put(made, spec.JOURNAL_LENGTH_AT, length)
    put(made, spec.JOURNAL_MISSING_AT, missing)
    put(made, spec.JOURNAL_CODE_AT, code, 1)
    put(made, spec.JOURNAL_FLAGS_AT, flags, 1)
    return made


def block(recording: int, number: int, rows: list[bytearray]) -> bytes:
    """Make a block."""
    head = bytearray(spec.JOURNAL_ROW_BYTES)
    put(head, 0, spec.JOURNAL_MAGIC, 4)
    put(head, spec.JOURNAL_ROWS_AT, len(rows), 2)
    put(head, spec.JOURNAL_RECORDING_AT, recording)
    put(head, spec.JOURNAL_NUMBER_AT, number)
    return b"".join([head, *rows]).ljust(spec.JOURNAL_BLOCK_BYTES, b"\0")


def any_values(first: bool) -> list[int]:
    """Return what the reader prints of a row."""
    numbers = [random.getrandbits(64) for _ in range(5)]
    numbers[1] = 0 if first else numbers[1]
    return [*numbers, random.getrandbits(8), random.getrandbits(8)]


def test_reader(tmp_path: Path) -> None:
    """A ring whose oldest block is covered, among blocks of another recording and noise."""
    page = (ROOT / "docs/modules/recorder.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    due, blocks = {}, {}
    for number, count in enumerate([spec.JOURNAL_ROWS, 1, 20], 5):
        firsts = [random.random() < 0.5 for _ in range(count)]
        due[number] = [any_values(first) for first in firsts]
        rows = [row(values, first) for values, first in zip(due[number], firsts, strict=True)]
        blocks[number] = block(RECORDING, number, rows)
    other = block(RECORDING + 1, 6, [row(any_values(first=True), first=True)])
    noise = random.randbytes(spec.JOURNAL_BLOCK_BYTES)
    image = tmp_path / "journal"
    image.write_bytes(blocks[7] + other + blocks[5] + noise + blocks[6] + b"FBJ1")
    command = [sys.executable, "-c", program, str(image), str(RECORDING)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    assert found == due[5] + due[6] + due[7]
