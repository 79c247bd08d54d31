# SPDX-License-Identifier: Apache-2.0
"""Recordings for tests: packed from folders, and changed afterwards as a test wants them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from driving import PROGRAM, call
from google_crc32c import value

from forebay.store import Recording
from forebay.store.layout import PAGE
from forebay.store.schema import Schema

ROWS = Schema().rows  # of a full block where nothing is said of results


def folder(path: Path, count: int, most: int = 20000, seed: int = 1) -> list[bytes]:
    """Make a folder of files with random bytes; returns these."""
    path.mkdir()
    rng = random.Random(seed)
    all_bytes = [
        rng.randbytes(rng.choice([0, 1, 511, 512, 4096, rng.randrange(most)])) for _ in range(count)
    ]
    for number, data in enumerate(all_bytes):
        (path / f"{number:05}").write_bytes(data)
    return all_bytes


def pack(source: Path, image: Path, *options: object) -> Path:
    """Pack a folder."""
    call("store", "pack", source, image, *options, "-o", "json")
    return image


@contextmanager
def mounted(
    image: Path, folder: Path, *options: object, before: Iterable[Path] = ()
) -> Iterator[str]:
    """Mount an image on a new folder; gives the line that says so. Ctrl-C ends it.

    `before` are more members of an array.
    """
    if not os.access("/dev/fuse", os.W_OK) or (os.geteuid() and not shutil.which("fusermount3")):
        pytest.skip("/dev/fuse cannot be used here, or fusermount3 is missing")
    folder.mkdir()
    command = [PROGRAM, "store", "mount", *before, image, folder, *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as mount:
        line = mount.stdout.readline()
        if not line:
            said = mount.stderr.read()
            if "Operation not permitted" in said:
                pytest.skip("mounting is not permitted here")
            pytest.fail(said)
        try:
            yield line
        finally:
            mount.send_signal(signal.SIGINT)
            assert mount.wait(timeout=20) == 0


def block_at(image: Path, number: int) -> int:
    """Where block `number` of an image's index lies."""
    with Recording(image) as recording:
        return recording.superblock.block_at(number)


def flip(image: Path, at: int) -> None:
    """Turn a byte of an image around."""
    with image.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0xFF]))


def change(image: Path, work: Callable[[dict[str, np.ndarray]], None]) -> None:
    """Let `work` change the columns of each block of the index; checksums follow."""
    with Recording(image) as recording:
        schema = recording.superblock.schema
        places = [recording.superblock.block_at(int(n)) for n in recording.blocks.numbers]
    with image.open("r+b") as file:
        for place in places:
            file.seek(place)
            page = np.frombuffer(file.read(PAGE), np.uint8).copy()
            at = schema.places
            columns = {
                of.name: page[at[of.name] :][: schema.rows * of.bytes].view(of.dtype)
                for of in schema.columns
            }
            work(columns)
            crc = page[schema.crc_at : schema.columns_at]
            crc[:] = 0
            crc.view("<u4")[0] = value(page.tobytes())
            file.seek(place)
            file.write(page.tobytes())
