# SPDX-License-Identifier: Apache-2.0
"""The guest suite in its short form, and that its findings notice what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import findings
import pytest
import suite
from driving import Run
from findings import Wrong
from places import (
    DEPTH,
    DEPTHS,
    FULL,
    LARGE_BLOCKS,
    LOAD,
    MIB,
    PART,
    SHORT,
    SMALL_BLOCKS,
    STREAM,
    TRANSACTION,
    Amounts,
    again_at,
)

STEPS = ["linux", "peers", "stream", "dram", "host", "trapped", "formats", "wraps", "errors"]
STEPS += ["recorder", "reset", "removal"]
DEVICES = ["model", "card", "card, trapped", "DRAM card", "DRAM card, trapped", "host DRAM card"]


def test_all_steps_go_through(forebay: Run, tmp_path: Path) -> None:
    """RTL, driver and models beside Linux's and QEMU's own; the raw images hold what was sent."""
    report = suite.run(tmp_path, timeout=1200)
    wrong = [f"{step['name']}: {step['seen']}" for step in report["steps"] if not step["good"]]
    assert not wrong, "\n".join(wrong)
    assert not report["complaint"]
    assert report["schema"] == "forebay.vm-test/1"
    assert [step["name"] for step in report["steps"]] == STEPS + DEVICES
    sent = (tmp_path / "share" / STREAM).read_bytes()
    with (tmp_path / SMALL_BLOCKS).open("rb") as image:
        assert image.read(len(sent)) == sent


def test_a_guest_that_takes_too_long(forebay: Run, tmp_path: Path) -> None:
    """The suite ends with its time, says what it waited for, and how far it came."""
    report = suite.run(tmp_path, only=["stream"], timeout=2)
    assert "did not happen within 2s" in " ".join(report["complaint"].split())
    assert report["steps"][0]["seen"] == "it was not reached"
    assert not report["steps"][0]["good"]


def test_a_step_that_there_is_not(tmp_path: Path) -> None:
    """It is refused before anything starts."""
    with pytest.raises(ValueError, match=r"no step nothing; there are: linux, peers"):
        suite.run(tmp_path, only=["nothing"])


class Left:
    """What a guest has left: a file of 16 transactions, and images that hold it at 0."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "share").mkdir()
        sent = bytes(at // 7 % 256 | 1 for at in range(16 * TRANSACTION))
        part = b"\x5a" * PART
        for name, content in ((STREAM, sent), ("load.bin", sent), ("part.bin", part)):
            (folder / "share" / name).write_bytes(content)
        image = bytearray(again_at(0) + PART)
        image[: len(sent)] = sent
        image[again_at(0) :] = part
        for name in (SMALL_BLOCKS, LARGE_BLOCKS):
            (folder / name).write_bytes(image)

    def report(self, name: str, report: dict) -> None:
        """Leave a report."""
        (self.folder / "share" / name).write_text(json.dumps(report))

    def spoil(self, image: str, at: int) -> None:
        """Flip a bit of a byte of an image; a second time restores it."""
        with (self.folder / image).open("r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 0x40]))


@pytest.fixture
def left(tmp_path: Path) -> Left:
    """Return what a guest has left."""
    return Left(tmp_path)


def test_a_byte_that_differs_is_noticed(left: Left) -> None:
    """In the report, or in the raw image; a report must be there, and must have compared."""
    with pytest.raises(Wrong, match="No such file"):
        findings.stream(left.folder, SHORT)
    for differ in (3, None):
        left.report("stream.json", {"differ_bytes": differ})
        with pytest.raises(Wrong, match=f"{differ} bytes differ"):
            findings.stream(left.folder, SHORT)
    left.report("stream.json", {"differ_bytes": 0})
    assert findings.stream(left.folder, SHORT).startswith("64.0 KiB")
    left.spoil(SMALL_BLOCKS, 100)
    with pytest.raises(Wrong, match="1 bytes of the raw image"):
        findings.stream(left.folder, SHORT)


def test_what_was_acknowledged_and_lost_is_noticed(left: Left) -> None:
    """Acknowledged bytes must be in the image and no others behind; the drive broke in between."""

    def acknowledge(count: int) -> None:
        errors = [None if number < count else "gone" for number in range(16)]
        of_all = [{"address": n * TRANSACTION, "error": error} for n, error in enumerate(errors)]
        diagnosis = {"verdict": "drive-not-ready", "text": "disabled"}
        left.report("reset.json", {"transactions": of_all, "diagnosis": diagnosis})

    def look() -> str:
        return findings.recovered("reset", 0, left.folder)

    left.report("reset-again.json", {"differ_bytes": 0})
    for count in (16, 0):
        acknowledge(count)
        with pytest.raises(Wrong, match=f"{count} of 16 transactions were acknowledged"):
            look()
    acknowledge(5)
    assert "5 of 16" in look()
    # What was not acknowledged may be lost.
    left.spoil(LARGE_BLOCKS, 6 * TRANSACTION)
    assert "5 of 16" in look()
    left.spoil(LARGE_BLOCKS, 4 * TRANSACTION)
    with pytest.raises(Wrong, match="0x4000"):
        look()
    left.spoil(LARGE_BLOCKS, 4 * TRANSACTION)
    left.spoil(LARGE_BLOCKS, 16 * TRANSACTION + 9)
    with pytest.raises(Wrong, match="1 stray"):
        look()
    left.report("reset-again.json", {"differ_bytes": 1})
    with pytest.raises(Wrong, match="1 bytes differ"):
        look()
    left.report("reset.json", {"transactions": [], "diagnosis": {"verdict": "healthy"}})
    with pytest.raises(Wrong, match="another reason"):
        look()


def test_queues_that_do_not_go_round_are_noticed(left: Left) -> None:
    """The streamer's counters decide."""

    def count(rounds: int) -> None:
        for depth in DEPTHS:
            names = ("write_commands", "read_commands")
            counters = [{"name": name, "value": rounds * depth // 2} for name in names]
            left.report(f"wraps-{depth}.json", {"differ_bytes": 0})
            left.report(f"wraps-{depth}.inspect", {"counters": counters})

    count(20)
    assert "64: 20" in findings.wraps(left.folder, SHORT)
    count(18)
    with pytest.raises(Wrong, match="gone round 18"):
        findings.wraps(left.folder, SHORT)


@pytest.mark.parametrize("amounts", [SHORT, FULL])
def test_no_step_writes_where_another_has_written(amounts: Amounts) -> None:
    """Each has its own place on either namespace, and all fit on the drive."""
    formats, again = len(amounts.transfers) * PART, LOAD + 2 * MIB + PART
    for places in (
        [
            (0, amounts.stream),
            (amounts.trapped_at, 2 * amounts.trapped),
            (amounts.formats_at, formats),
            (amounts.recorder_at, PART),
            (amounts.wraps_at, amounts.wraps_bytes(DEPTH)),
            (amounts.memory_at(0), amounts.memory),
            (amounts.memory_at(1), amounts.memory),
        ],
        [
            (amounts.formats_at, formats),
            (amounts.reset_at, again),
            (amounts.removal_at, again),
        ],
    ):
        ends = [at + count for at, count in places]
        begins = [*(at for at, _ in places[1:]), amounts.drive]
        assert all(end <= begin for end, begin in zip(ends, begins, strict=True)), places
