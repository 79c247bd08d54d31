# SPDX-License-Identifier: Apache-2.0
"""Small objects that share pages: recorded and packed, read by others' tools, damaged, repaired."""

from __future__ import annotations

import io
import json
import random
import subprocess
import tarfile
from pathlib import Path

import google_crc32c
import pyarrow as pa
import pytest
import recordings
import webdataset
from driving import DAMAGED, PROGRAM, Run
from test_record import make_objects
from test_recording import partitions, record_image

from forebay.store import Recording, rows_of

BLOCK, PAGE = 512, 4096
COUNT = 200
SINK = '[sink]\nlayout = "small"\nextension = "raw"\nsmallest = "1KiB"\n'


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """Return an image of small objects, packed by software, and their bytes."""
    objects = recordings.folder(tmp_path / "in", COUNT, most=5000)
    return recordings.pack(tmp_path / "in", tmp_path / "a.img", "--small"), objects


def members(image: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Return what Python's tarfile finds in the partition, the trailer left out."""
    data = image.read_bytes()[partitions(image)["forebay-data"]]
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = [(each, archive.extractfile(each).read()) for each in archive.getmembers()]
    assert found.pop()[0].name.endswith("/recording.json")
    return found


def listed(image: Path) -> list[str]:
    """Return what GNU tar finds in the partition, which it reads without a word."""
    data = image.read_bytes()[partitions(image)["forebay-data"]]
    done = subprocess.run(["tar", "t"], input=data, capture_output=True, check=True)
    assert not done.stderr
    return done.stdout.decode().split()


def as_said(image: Path, extension: str) -> list[bytes]:
    """Return the payloads that the index names; tar headers say the same of each."""
    data = image.read_bytes()
    table = pa.ipc.open_stream(data[partitions(image)["forebay-index"]]).read_all()
    table = table.set_column(3, "time", table["time"].cast(pa.int64()))
    found = [row for row in table.to_pylist() if row["flags"] & 1]
    start = partitions(image)["forebay-data"].start
    for row, (member, content) in zip(found, members(image), strict=True):
        assert start + member.offset_data == row["address"] and row["address"] % BLOCK == 0
        assert data[row["address"] :][: row["length"]] == content
        assert google_crc32c.value(content) == row["crc32c"] == int(member.gname, 16)
        assert int(member.uname) == row["time"]
        assert Path(member.name).name == f"{row['object']:020}.{extension}"
    return [data[row["address"] :][: row["length"]] for row in found]


def test_a_recording_by_the_hardware(forebay: Run, tmp_path: Path) -> None:
    """The RTL's batches open anywhere, and take little more than the objects."""
    objects = make_objects(70, 100, 4097)
    image = record_image(forebay, tmp_path, objects, SINK)
    assert as_said(image, "raw") == list(objects.values())
    assert len(listed(image)) == len(objects) + 1
    report = forebay("store", "info", image, "-o", "json").report
    assert report["small"] and report["closed"]
    padded = sum(BLOCK + -(-len(data) // BLOCK) * BLOCK for data in objects.values())
    taken = report["data_end"] - report["data"]["first_byte"]
    assert padded <= taken < padded + 10 * PAGE
    assert not forebay("store", "repair", image, "-o", "json").report["changed"]
    checked = forebay("store", "verify", image, "-o", "json").report
    assert (checked["extents"], checked["damaged"]) == (len(objects), 0)


def test_longer_ones_are_cut(forebay: Run, tmp_path: Path) -> None:
    """What is longer than the recorder's memory lies in parts, which `cat` puts together."""
    objects = {1: random.Random(1).randbytes(150_000), 2: b"short"}
    image = record_image(forebay, tmp_path, objects, SINK)
    names = [Path(name).name for name in listed(image)]
    assert sum(name.startswith(f"{1:020}@") for name in names) == 3
    for number, content in objects.items():
        call = [PROGRAM, "store", "cat", image, str(number)]
        assert subprocess.run(call, check=True, capture_output=True).stdout == content


def test_others_open_it(forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    """GNU tar, tarfile, WebDataset, Arrow, and our own ways."""
    image, objects = packed
    assert as_said(image, "bin") == objects
    assert len(listed(image)) == COUNT + 1
    data = tmp_path / "data.tar"
    data.write_bytes(image.read_bytes()[partitions(image)["forebay-data"]])
    samples = [each for each in webdataset.WebDataset(str(data), shardshuffle=False)]
    assert "bin" not in samples.pop()
    assert [sample["bin"] for sample in samples] == objects
    with Recording(image) as recording:
        assert recording.superblock.small
        assert [recording.read(row) for row in rows_of(recording.objects())] == objects
        with tarfile.open(fileobj=recording.tar()) as archive:
            assert [archive.extractfile(each).read() for each in archive] == objects
    forebay("store", "extract", image, tmp_path / "out")
    assert [
        (tmp_path / "out" / "00000" / f"{n:020}.bin").read_bytes() for n in range(COUNT)
    ] == objects
    forebay("store", "tar", image, tmp_path / "b.tar")
    with tarfile.open(tmp_path / "b.tar") as archive:
        assert [archive.extractfile(each).read() for each in archive.getmembers()[:-1]] == objects
    out = tmp_path / "shards"
    forebay("store", "export", image, out, "--to", "webdataset")
    shards = [str(path) for path in sorted(out.glob("*.tar"))]
    samples = list(webdataset.WebDataset(shards, shardshuffle=False))
    assert [sample["bin"] for sample in samples] == objects
    assert [json.loads(sample["json"])["object"] for sample in samples] == list(range(COUNT))


@pytest.mark.parametrize("part", ["header", "payload"])
def test_damage_is_found(
    forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path, part: str
) -> None:
    """A byte of a header or a payload: verify names the object; no reader takes it for whole."""
    image, objects = packed
    number = next(n for n, data in enumerate(objects) if n > 50 and len(data) > 600)
    with Recording(image) as recording:
        row = list(rows_of(recording.objects()))[number]
    recordings.flip(image, row["address"] + (-300 if part == "header" else 99))
    report = forebay("store", "verify", image, "-o", "json", code=DAMAGED).report
    assert report["damaged"] == 1
    assert ("header in front of it" if part == "header" else "CRC32C") in report["problems"][0]
    forebay("store", "extract", image, tmp_path / "out", code=DAMAGED)
    found = {int(p.stem): p.read_bytes() for p in (tmp_path / "out").glob("*/*.bin")}
    assert all(objects[n] == data for n, data in found.items())
    assert set(range(COUNT)) - set(found) <= {number}


def test_what_has_no_row_is_brought_back(forebay: Run, tmp_path: Path) -> None:
    """As after a loss of power: headers say what lies behind the index; what is torn is lost."""
    objects = recordings.folder(tmp_path / "in", COUNT, most=5000)
    image = recordings.pack(tmp_path / "in", tmp_path / "a.img", "--small", "--leave-open")
    last = recordings.block_at(image, COUNT // recordings.ROWS)
    with image.open("r+b") as file:
        file.seek(last)
        file.write(bytes(PAGE))
    number = next(n for n, data in enumerate(objects) if n > 190 and len(data) > 600)
    recordings.flip(image, image.read_bytes().index(objects[number]) + 300)
    # The fillers of the last page are gone.
    report = forebay("store", "repair", image, "-o", "json").report
    assert (report["recovered"], report["lost"]) == (10, 1)
    kept = [data for n, data in enumerate(objects) if n != number]
    found = [each for each in members(image) if "/lost/" not in each[0].name]
    assert [content for _, content in found] == kept
    assert sum("/lost/" in name for name in listed(image)) == 1
    with Recording(image) as recording:
        assert [recording.read(row) for row in rows_of(recording.objects())] == kept
    assert not forebay("store", "repair", image, "-o", "json").report["changed"]


def test_a_torn_page_is_filled_up(forebay: Run, tmp_path: Path) -> None:
    """Fillers that a loss of power took away are written again."""
    recordings.folder(tmp_path / "in", 9, most=900)
    image = recordings.pack(tmp_path / "in", tmp_path / "a.img", "--small", "--leave-open")
    with Recording(image) as recording:
        row = list(rows_of(recording.objects()))[-1]
    end = row["address"] + -(-row["length"] // BLOCK) * BLOCK
    assert end % PAGE
    with image.open("r+b") as file:
        file.seek(end)
        file.write(b"\xa5" * (-end % PAGE))
    report = forebay("store", "repair", image, "-o", "json").report
    assert report["changed"] and report["lost"] == 0
    assert len(listed(image)) == 10
    assert not forebay("store", "repair", image, "-o", "json").report["changed"]


def test_a_ring_shows_what_is_whole(forebay: Run, tmp_path: Path) -> None:
    """What newer batches lie on, fillers included, is not shown."""
    objects = recordings.folder(tmp_path / "in", 2000, most=3000)
    image = tmp_path / "a.img"
    words = ("--size", "5MiB", "--mode", "small", "--ring", "--smallest-object", "512")
    forebay("store", "format", image, *words)
    recordings.pack(tmp_path / "in", image)
    report = forebay("store", "verify", image, "-o", "json").report
    assert 100 < report["extents"] < 2000 and report["damaged"] == 0
    with Recording(image) as recording:
        rows = list(rows_of(recording.objects()))
        assert len(rows) == report["extents"] and rows[-1]["object"] == 1999
        assert all(recording.read(row) == objects[row["object"]] for row in rows)
        with tarfile.open(fileobj=recording.tar()) as archive:
            assert len(archive.getmembers()) == len(rows)


def test_without_superblocks_the_table_is_enough(
    forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    """That objects share pages is seen from the first of them."""
    image, objects = packed
    place = partitions(image)["forebay-super"]
    with image.open("r+b") as file:
        for at in (place.start, place.stop - PAGE):
            file.seek(at)
            file.write(bytes(PAGE))
    assert forebay("store", "info", image, "-o", "json").report["small"]
    forebay("store", "repair", image)
    with Recording(image) as recording:
        assert [recording.read(row) for row in rows_of(recording.objects())] == objects


def test_a_row_between_headers_is_refused(
    forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    """An address that is no multiple of 512, told with field, value and limit."""
    image, _ = packed

    def off_by_some(columns: dict) -> None:
        columns["address"][3] += 100

    recordings.change(image, off_by_some)
    report = forebay("store", "verify", image, "-o", "json", code=DAMAGED).report
    assert "its address is" in report["problems"][0] and "multiple of 512" in report["problems"][0]
