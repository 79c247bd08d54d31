# SPDX-License-Identifier: Apache-2.0
"""The RTL of a recorder without a CPU is the root port of QEMU's machine without a guest."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from driving import BAD_RESULT, GOOD, Run

KIB = 1 << 10
STRIPE = 128 * KIB
SEED = 3


def pattern(bytes_: int) -> bytes:
    """Return the first bytes of the stream of `SEED`: `fill_pattern` of forebay-cosim."""
    words = np.arange(bytes_ // 8, dtype=np.uint64)
    words = (words ^ np.uint64(SEED << 32)) + np.uint64(SEED)
    words = words * np.uint64(0x9E37_79B9_7F4A_7C15)
    return (words ^ words >> np.uint64(29)).tobytes()


def images(folder: Path, size: int, *names: str) -> dict[Path, bytes]:
    """Make images with random bytes."""
    made = {folder / name: random.Random(name).randbytes(size) for name in names}
    for path, data in made.items():
        path.write_bytes(data)
    return made


def boot(forebay: Run, drives: list[str], *words: object, code: int = GOOD) -> dict:
    """Bring these drives up; QEMU's controllers do not complain."""
    ssds = [word for drive in drives for word in ("--ssd", drive)]
    options = ("--seed", SEED, "-o", "json", *words)
    report = forebay("boot", "--on", "qemu", *ssds, *options, code=code).report
    assert (report["schema"], report["top"]) == ("forebay.boot/1", "fb_top_recorder")
    assert (report["complaints"], report["stray"]) == ([], 0)
    return report


@pytest.mark.parametrize(
    ("options", "bytes_", "block", "transfer"),
    [
        ("block=512", 1024 * KIB, 512, 512 * KIB),
        ("block=4096,mdts=8KiB", 256 * KIB, 4096, 8 * KIB),
    ],
)
def test_two_drives_behind_a_switch(
    forebay: Run, tmp_path: Path, options: str, bytes_: int, block: int, transfer: int
) -> None:
    """What is recorded lies on both in stripes, and is read back; nothing else is touched."""
    made = images(tmp_path, 2048 * KIB, "a", "b")
    a, b = made
    drives = [f"{a}:{options}+switch", f"{b}:{options}"]
    report = boot(forebay, drives, "--record", bytes_)
    assert (report["code"], report["counts"]) == (0, {})
    rows = report["drives"]
    assert [row["function"] for row in rows] == ["03:00.0", "04:00.0"]
    assert all(row["ready"] and row["block_bytes"] == block for row in rows)
    assert all(row["transfer_bytes"] == transfer for row in rows)
    recorded = report["recorded"]
    assert recorded["wrong"] == []
    assert recorded["bytes"] == recorded["stored"] == recorded["read"] == bytes_
    assert recorded["images"] == [[str(path), bytes_ // 2] for path in made]
    sent = pattern(bytes_)
    stripes = [sent[at : at + STRIPE] for at in range(0, bytes_, STRIPE)]
    for number, (path, before) in enumerate(made.items()):
        assert path.read_bytes() == b"".join(stripes[number::2]) + before[bytes_ // 2 :]


def test_a_drive_on_the_port(forebay: Run, tmp_path: Path) -> None:
    """It is up, and is told of in the words of the console; a chunk lies on it."""
    ((path, before),) = images(tmp_path, 1024 * KIB, "c").items()
    report = boot(forebay, [f"{path}:serial=S3ESNX0J"], "--record", STRIPE)
    assert "--00:00.0 - Device/Vendor:0x000c1b36 - Class 0x060400\n" in report["console"]
    assert "NVMe SSD Controller is QEMU NVMe Ctrl (Rev 11." in report["console"]
    assert "(S/N S3ESNX0J)\n" in report["console"]
    assert report["drives"][0]["function"] == "01:00.0"
    assert report["recorded"]["wrong"] == []
    assert path.read_bytes() == pattern(STRIPE) + before[STRIPE:]


def test_drives_with_blocks_of_two_sizes(forebay: Run, tmp_path: Path) -> None:
    """They are no array: the program ends with its code, and nothing is recorded."""
    made = images(tmp_path, 1024 * KIB, "d", "e")
    d, e = made
    drives = [f"{d}+switch", f"{e}:block=4096"]
    report = boot(forebay, drives, "--record", STRIPE, code=BAD_RESULT)
    assert (report["code"], report["name"], report["counts"]) == (21, "drives differ", {"21": 1})
    assert "drives differ: ERROR 21 at 04:00.0\n" in report["console"]
    assert "recorded" not in report
    assert all(path.read_bytes() == before for path, before in made.items())
