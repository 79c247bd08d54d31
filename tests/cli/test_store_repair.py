# SPDX-License-Identifier: Apache-2.0
"""What a repair writes over and puts back, and what a mount shows of damaged payloads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import recordings
from driving import BAD_INPUT, DAMAGED, Run

from forebay.store import Recording, rows_of

COUNT = 150


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """Return an image with three blocks of index, and what is in it."""
    here = tmp_path_factory.mktemp("repair")
    files = recordings.folder(here / "files", COUNT, most=9000)
    return recordings.pack(here / "files", here / "x.img"), files


@pytest.fixture
def image(packed: tuple[Path, list[bytes]], tmp_path: Path) -> Path:
    """Return a copy to break."""
    return Path(shutil.copy(packed[0], tmp_path / "x.img"))


def row_of(image: Path, number: int) -> dict:
    """Return the index record of an object."""
    with Recording(image) as recording:
        return list(rows_of(recording.objects()))[number]


def test_a_repair_is_undone(image: Path, tmp_path: Path, forebay: Run) -> None:
    """All bytes are as they were; another image's file and one that is damaged are refused."""
    recordings.flip(image, recordings.block_at(image, 1) + 700)
    before, file = image.read_bytes(), tmp_path / "x.undo"
    report = forebay("store", "repair", image, "--undo", file, "-o", "json").report
    assert report["blocks_mended"] == 1 and report["rows_mended"] == recordings.ROWS
    after = image.read_bytes()
    assert after != before
    refused = forebay("store", "repair", image, "--undo", file, code=BAD_INPUT)
    assert "new file" in refused.complaint
    other = tmp_path / "other.img"
    forebay("store", "format", other, "--size", str(len(before)))
    said = forebay("store", "undo", other, file, code=BAD_INPUT).complaint
    assert "recording UUID" in said
    torn = tmp_path / "torn.undo"
    torn.write_bytes(file.read_bytes()[:-9])
    assert "CRC32C" in forebay("store", "undo", image, torn, code=BAD_INPUT).complaint
    assert image.read_bytes() == after
    assert forebay("store", "undo", image, file, "-o", "json").report["places"] > 0
    assert image.read_bytes() == before


def test_a_damaged_header_is_rebuilt(image: Path, forebay: Run) -> None:
    """The page in front of an object is as it was."""
    before = image.read_bytes()
    place = row_of(image, 77)["address"]
    recordings.flip(image, place - 4096 + 9)
    forebay("store", "verify", image, code=DAMAGED)
    report = forebay("store", "repair", image, "-o", "json").report
    assert report["headers_mended"] == 1
    assert image.read_bytes()[place - 4096 : place] == before[place - 4096 : place]
    forebay("store", "verify", image)
    assert not forebay("store", "repair", image, "-o", "json").report["changed"]


@pytest.mark.parametrize("unchecked", [False, True])
def test_a_mount_checks_what_is_read(
    image: Path, packed: tuple[Path, list[bytes]], tmp_path: Path, unchecked: bool
) -> None:
    """A payload with another checksum cannot be read, unless it is asked for unchecked."""
    number = next(n for n, data in enumerate(packed[1]) if len(data) > 600)
    recordings.flip(image, row_of(image, number)["address"] + 555)
    folder = tmp_path / "mnt"
    with recordings.mounted(image, folder, *["--unchecked"] * unchecked):
        path = folder / "00000" / f"{number:020}.bin"
        if unchecked:
            assert len(path.read_bytes()) == len(packed[1][number])
        else:
            with pytest.raises(OSError, match="Input/output"):
                path.read_bytes()
        good = folder / "00000" / f"{COUNT - 1:020}.bin"
        assert good.read_bytes() == packed[1][COUNT - 1]
