# SPDX-License-Identifier: Apache-2.0
"""Damaged and cut recordings through `store sql`, `export`, `report` and the Python package."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow.dataset
import pytest
import recordings
from driving import PROGRAM, ROOT, Run
from google_crc32c import value

from forebay import spec
from forebay.store import Recording, StoreError, layout, rows_of
from forebay.store.disk import Disk
from forebay.store.index import Cover

COUNT, ROWS = 200, recordings.ROWS
SECOND = 10**9


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, forebay: Run) -> tuple[Path, list[bytes]]:
    """Return an image with four blocks of index, and what is in it."""
    del forebay
    here = tmp_path_factory.mktemp("damage")
    files = recordings.folder(here / "files", COUNT)
    return recordings.pack(here / "files", here / "x.img"), files


@pytest.fixture
def image(packed: tuple[Path, list[bytes]], tmp_path: Path) -> Path:
    """Return a copy to break."""
    copy = tmp_path / "x.img"
    copy.write_bytes(packed[0].read_bytes())
    return copy


def test_a_damaged_block_is_passed_over_and_told(
    image: Path, packed: tuple[Path, list[bytes]], tmp_path: Path, forebay: Run
) -> None:
    """The rows before and behind it are there; a reader learns that some are missing."""
    recordings.flip(image, recordings.block_at(image, 1) + 700)
    with Recording(image) as recording:
        rows = list(rows_of(recording.table()))
        assert [row["object"] for row in rows] == [*range(ROWS), *range(2 * ROWS, COUNT)]
        assert all(recording.read(row) == packed[1][row["object"]] for row in rows)
        assert recording.index().num_rows == COUNT - ROWS
        [complaint] = recording.complaints
        assert re.match(r"block 1 of the index is damaged: its CRC32C is", complaint)
    found = forebay(
        "store", "sql", image, "select count(*) as n from objects", "-o", "json", code=5
    )
    assert found.report == [{"n": COUNT - ROWS}]
    assert "block 1 of the index is damaged" in found.err
    report = forebay(
        *("store", "export", image, tmp_path / "out", "--to", "parquet", "-o", "json"), code=5
    ).report
    assert report["damaged_blocks"] == 1 and report["extents"] == COUNT - ROWS
    assert (
        forebay("store", "report", image, "-o", "json", code=5).report["totals"]["damaged_blocks"]
        == 1
    )


def test_a_bad_sector_costs_its_block_alone(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of the index that the medium does not give is a damaged block, and no more."""
    bad, read = recordings.block_at(image, 2), Disk.read

    def failing(disk: Disk, at: int, length: int) -> bytes:
        if at < bad + 4096 and bad < at + length:
            raise StoreError(f"reading at byte {at}: Input/output error", "copy what can be read")
        return read(disk, at, length)

    monkeypatch.setattr(Disk, "read", failing)
    with Recording(image) as recording:
        assert recording.blocks.damaged() == [2]
        assert recording.objects().num_rows == COUNT - ROWS


@pytest.mark.parametrize("to", ["parquet", "payload", "webdataset"])
def test_damaged_payloads_are_left_out(
    to: str, image: Path, packed: tuple[Path, list[bytes]], tmp_path: Path, forebay: Run
) -> None:
    """The one with another checksum is counted and named, all others are exported."""
    with Recording(image) as recording:
        row = next(row for row in rows_of(recording.objects()) if row["length"] > 5000)
    recordings.flip(image, row["address"] + 4321)
    words = ["--to", "parquet", "--payload"] if to == "payload" else ["--to", to]
    out = tmp_path / "out"
    found = forebay("store", "export", image, out, *words, "-o", "json", code=5)
    assert found.report["left_out"] == 1 and found.report["extents"] == COUNT - 1
    [problem] = found.report["problems"]
    assert problem.startswith(f"object {row['object']} of stream 0: its CRC32C is ")
    there = [number for number in range(COUNT) if number != row["object"]]
    if to == "webdataset":
        shard = out / "recording-000000.tar"
        names = subprocess.check_output(["tar", "tf", shard], text=True).split()
        assert names == [f"00000/{n:020}.{kind}" for n in there for kind in ("bin", "json")]
    else:
        table = pyarrow.dataset.dataset(out, partitioning="hive").to_table().sort_by("object")
        assert table["object"].to_pylist() == there
        if to == "payload":
            assert table["payload"].to_pylist() == [packed[1][number] for number in there]


def test_rows_that_cannot_be_are_never_followed(image: Path, tmp_path: Path, forebay: Run) -> None:
    """Checksums are right, numbers are not: they are shown as wrong, and not read."""
    bad = {3: ("address", 4096), 5: ("address", 2**63), 7: ("length", 2**32 - 1), 9: ("address", 1)}

    def work(columns: dict[str, np.ndarray]) -> None:
        for number, (name, number_of) in bad.items():
            columns[name][columns["object"] == number] = number_of

    recordings.change(image, work)
    with Recording(image) as recording:
        rows = list(rows_of(recording.table()))
        assert [row["object"] for row in rows if row["wrong"]] == sorted(bad)
        assert recording.objects().num_rows == COUNT - len(bad)
        for number in bad:
            with pytest.raises(StoreError, match="its index record is invalid"):
                recording.read(rows[number])
    listed = forebay("store", "ls", image, "--rows", "-o", "json", code=None).report["extents"]
    assert [row["object"] for row in listed if row["wrong"]] == sorted(bad)
    report = forebay(
        *("store", "export", image, tmp_path / "o", "--to", "parquet", "-o", "json"), code=5
    ).report
    assert report["left_out"] == len(bad) and report["extents"] == COUNT - len(bad)


def check_what_is_left(image: Path, files: list[bytes]) -> None:
    """Whatever opens holds nothing that was not there, and reads it or says why not."""
    try:
        recording = Recording(image)
    except StoreError as error:
        assert error.remedy
        return
    with recording:
        for row in rows_of(recording.table()):
            if not row["stored"]:
                continue
            try:
                assert recording.read(row) == files[row["object"]]
            except StoreError as error:
                assert "CRC32C" in str(error)


def test_cut_images_open_or_say_why_not(image: Path, packed: tuple[Path, list[bytes]]) -> None:
    """An image may end anywhere; what lies behind is wrong, never read."""
    rng = random.Random(7)
    whole = image.stat().st_size
    for length in [0, 1, 511, 512, 2**20, 2**21, *(rng.randrange(whole) for _ in range(60))]:
        image.write_bytes(packed[0].read_bytes())
        os.truncate(image, length)
        check_what_is_left(image, packed[1])
    os.truncate(image, 0)
    image.write_bytes(packed[0].read_bytes()[: whole // 2])
    with Recording(image) as recording:
        assert any("what lay behind is missing" in text for text in recording.complaints)
        assert 0 < recording.objects().num_rows < COUNT


def test_any_damage_is_no_surprise(image: Path, packed: tuple[Path, list[bytes]]) -> None:
    """Bytes of tables, superblocks and index at random, with right checksums, too."""
    rng = random.Random(11)
    original = packed[0].read_bytes()
    with Recording(image) as recording:
        of = recording.superblock
        rows = list(rows_of(recording.table()))
    ends = [512, 1024, 2**20, 2**21 - 4096, of.index.at, of.index.at + 4096]
    for _ in range(120):
        data = bytearray(original)
        at = rng.choice(ends) + rng.randrange(4096)
        for place in range(at, at + rng.choice([1, 4, 8, 64])):
            data[place] = rng.randrange(256)
        for page in (2**20, 2**21 - 4096):
            if rng.random() < 0.8:
                end = page + layout.SUPER_CRC_AT
                data[end : end + 4] = value(bytes(data[page:end])).to_bytes(4, "little")
        image.write_bytes(data)
        check_what_is_left(image, packed[1])
    assert len(rows) == COUNT


def test_any_rows_stay_within_the_data(image: Path, packed: tuple[Path, list[bytes]]) -> None:
    """Columns at random, with right checksums: what is to be read lies in the data."""
    rng = np.random.default_rng(17)
    with Recording(image) as recording:
        data = recording.superblock.data
    edges = [0, 1, 4096, data.at + 4096, data.end, 2**31, 2**63, 2**64 - 1]

    def work(columns: dict[str, np.ndarray]) -> None:
        for values in columns.values():
            bits = values.view(f"<u{values.itemsize}")
            some = rng.random(len(bits)) < 0.3
            edge = rng.choice(np.array(edges, np.uint64), ROWS)
            noise = rng.integers(0, 2**64, ROWS, np.uint64, endpoint=False)
            chosen = np.where(rng.random(ROWS) < 0.5, edge, noise)
            bits[some] = chosen.astype(bits.dtype)[some]

    for _ in range(40):
        image.write_bytes(packed[0].read_bytes())
        recordings.change(image, work)
        with Recording(image) as recording:
            rows = [row for row in rows_of(recording.table()) if row["stored"]]
            for row in rows:
                assert data.at < row["address"] <= row["address"] + row["length"] <= data.end
                try:
                    recording.read(row)
                except StoreError as error:
                    assert "CRC32C" in str(error)
            assert recording.objects().num_rows == sum(row["whole"] for row in rows)
            recording.tar().read(1)


def test_superblocks_that_cannot_be_are_refused(image: Path) -> None:
    """Each number, in both copies, with a right checksum."""
    original = image.read_bytes()
    wrong = {
        "version": 9,
        "mode": 3,
        "flags": 16,
        "block_bytes": 1000,
        "index_at": 17,
        "index_bytes": 4096,
        "data_at": 2**63,
        "data_bytes": 2**64 - 4096,
        "stride": 4096,
        "extension": 0,
        "blocks": 2**40,
        "end": 4096,
    }
    for name, number in wrong.items():
        data = bytearray(original)
        for page in (2**20, 2**21 - 4096):
            at, length = layout.FIELDS[name]
            data[page + at : page + at + length] = number.to_bytes(length, "little")
            end = page + layout.SUPER_CRC_AT
            data[end : end + 4] = value(bytes(data[page:end])).to_bytes(4, "little")
        image.write_bytes(data)
        with pytest.raises(StoreError, match=r"cannot be used \(its .* is .*, but "):
            Recording(image)


def test_a_block_device_opens_as_an_image_does(packed: tuple[Path, list[bytes]]) -> None:
    """Through the loop driver, where we may use it."""
    command = ["losetup", "--find", "--show", "--read-only", packed[0]]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no block device can be made: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        with Recording(device) as recording:
            assert not recording.complaints
            rows = rows_of(recording.objects())
            assert [recording.read(row) for row in rows] == packed[1]
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def test_one_superblock_is_enough(image: Path) -> None:
    """The copy that is good counts, and the other is told."""
    recordings.flip(image, 2**20 + 100)
    with Recording(image) as recording:
        assert "the first copy of the superblock is damaged" in recording.complaints[0]
        assert recording.objects().num_rows == COUNT


def test_cover_is_as_if_each_byte_had_a_mark() -> None:
    """Ranges at random, beside a list of marks."""
    rng = random.Random(13)
    for _ in range(300):
        cover, marks = Cover(), [False] * 64
        for _ in range(rng.randrange(12)):
            start = rng.randrange(60)
            end = min(64, start + rng.randrange(9))
            assert cover.touches(start, end) == any(marks[start:end])
            cover.add(start, end)
            marks[start:end] = [True] * (end - start)


def test_sql_that_cannot_be_is_answered_in_words(image: Path, forebay: Run) -> None:
    """DuckDB's words and exit code 2, whatever is asked."""
    for query, words in [
        ("selct", "syntax error"),
        ("select nothing from objects", "nothing"),
        ("from no_such_table", "no_such_table"),
        ("select 'a'::int", "'a'"),
        ("select error('x\ny')", "x"),
    ]:
        for form in ("text", "json"):
            found = forebay("store", "sql", image, query, "-o", form, code=2)
            assert words in found.err and "Traceback" not in found.err
    odd = forebay(
        "store", "sql", image, 'select 1 as "a""b", null, \'é,"\' where true', "-o", "csv"
    )
    assert odd.out.splitlines()[1] == '1,,"é,"""'
    assert forebay("store", "sql", image, "select 1 where false", "-o", "json").report == []


@pytest.mark.parametrize("wheel", ["duckdb", "pyarrow", "numpy", "google_crc32c"])
def test_a_missing_wheel_is_named(wheel: str, image: Path, tmp_path: Path) -> None:
    """Which one, and what installs it."""
    (tmp_path / f"{wheel}.py").write_text(f"raise ImportError('not here', name='{wheel}')\n")
    done = subprocess.run(
        [PROGRAM, "store", "sql", image, "select 1"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 1
    assert f"cannot import {wheel}" in done.stderr and "`make setup`" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_report_counts_what_is_there(image: Path, tmp_path: Path, forebay: Run) -> None:
    """Results, gaps, losses, streams: in the numbers and on the page, which needs no network."""

    def work(columns: dict[str, np.ndarray]) -> None:
        number = columns["object"].astype(np.int64)
        columns["time"][:] = 1_795_351_920 * SECOND + number * SECOND // 10
        columns["stream"][:] = number % 3
        columns["flags"][number % 4 == 0] |= spec.ROW_RESULT
        columns["class"][:] = number % 8
        columns["score"][:] = 0.5
        columns["missing"][(number > 0) & (number % 50 == 0)] = 7
        columns["flags"][number == 33] |= spec.ROW_SKIPPED
        columns["flags"][number == 35] |= spec.ROW_FAILED
        columns["flags"][columns["address"] == 0] = 0

    recordings.change(image, work)
    page = tmp_path / "run.html"
    forebay("store", "report", image, "--html", page)
    report = forebay("store", "report", image, "-o", "json").report
    found = report["statistics"]
    assert [stream["stream"] for stream in found["streams"]] == [0, 1, 2]
    assert sum(stream["extents"] for stream in found["streams"]) == COUNT
    assert {one["class"]: one["extents"] for one in found["classes"]} == {0: 25, 4: 25}
    assert all(one["mean_score"] == pytest.approx(0.5) for one in found["classes"])
    assert [gap["object"] for gap in found["gaps"]] == [50, 100, 150]
    assert (report["totals"]["skipped"], report["totals"]["failed"]) == (1, 1)
    with Recording(image) as recording:
        lengths = recording.table().filter(recording.table()["stored"])["length"].to_pylist()
    assert sum(one["stored_bytes"] for one in found["bins"]) == sum(lengths)
    assert sum(bar["count"] for bar in found["sizes"]) == len(lengths)
    # Each stream's next object begins 0.3 s later: between 2^28 and 2^29 ns.
    assert found["intervals"] == [{"from": 2**28, "count": COUNT - 3}]
    text = page.read_text()
    assert not re.search(r"(?:src|href)=|@import|url\(|<script", text)
    root = ElementTree.fromstring(text.split("\n", 1)[1])
    charts = root.findall(".//{http://www.w3.org/2000/svg}svg")
    assert len(charts) == 5 and "2026-11-22T12:52:00Z" in text
