# SPDX-License-Identifier: Apache-2.0
"""What `forebay record` leaves on a drive, read by others' tools as it is."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import tarfile
from pathlib import Path

import google_crc32c
import numpy as np
import pyarrow as pa
import pytest
from driving import BAD_INPUT, BAD_RESULT, DAMAGED, GOOD, Run
from scapy.utils import wrpcap
from test_record import frames, make_objects

from forebay.store import Recording, rows_of

pytestmark = pytest.mark.long

SMALL = '[[ssd]]\nsize = "64MiB"\nimage = "drive.img"\n'


def partitions(image: Path) -> dict[str, slice]:
    """Return the bytes of each partition, as util-linux sees them."""
    command = ["sfdisk", "--json", str(image)]
    table = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    table = table["partitiontable"]
    sector = table.get("sectorsize", 512)
    return {
        each["name"]: slice(each["start"] * sector, (each["start"] + each["size"]) * sector)
        for each in table["partitions"]
    }


def record_image(forebay: Run, folder: Path, objects: dict[int, bytes], sink: str = "") -> Path:
    """Record objects onto the image of a small drive."""
    wrpcap(str(folder / "in.pcap"), list(frames(objects)))
    (folder / "x.toml").write_text(SMALL + sink)
    forebay("record", folder / "x.toml", "--pcap", folder / "in.pcap", "--flat-out", "--overwrite")
    return folder / "drive.img"


def test_the_image_is_a_recording(forebay: Run, tmp_path: Path) -> None:
    """Partitions, index and tar file are what any tool reads; nothing here is ours."""
    objects = make_objects(70, 100, 9000)
    image = record_image(forebay, tmp_path, objects, '[sink]\nextension = "raw"\n')
    places = partitions(image)
    data = image.read_bytes()
    with tarfile.open(fileobj=io.BytesIO(data[places["forebay-data"]])) as archive:
        *members, end = archive.getmembers()
        assert end.name.endswith("/recording.json")
        found = {Path(member.name).name: archive.extractfile(member).read() for member in members}
    assert {f"{n:020}.raw": content for n, content in objects.items()} == {
        name: content for name, content in found.items() if name.endswith(".raw")
    }
    assert len(found) == 2 * len(objects)
    table = pa.ipc.open_stream(data[places["forebay-index"]]).read_all()
    rows = [row for row in table.drop_columns("time").to_pylist() if row["flags"] & 1]
    assert [row["object"] for row in rows] == list(objects)
    for row in rows:
        content = data[row["address"] :][: row["length"]]
        assert content == objects[row["object"]]
        assert google_crc32c.value(content) == row["crc32c"]
        said = json.loads(found[f"{row['object']:020}.json"])
        assert said["crc32c"] == f"{row['crc32c']:08x}" and said["length"] == len(content)


def test_samples_lie_at_a_stride(forebay: Run, tmp_path: Path) -> None:
    """Numpy maps samples as they lie on the drive."""
    objects = {n: random.Random(n).randbytes(8192) for n in range(20)}
    sink = '[sink]\nlayout = "samples"\nstride = "12KiB"\n'
    image = record_image(forebay, tmp_path, objects, sink)
    place = partitions(image)["forebay-data"]
    mapped = np.memmap(image, np.uint8, "r", place.start, (len(objects), 12288))
    assert all(mapped[n, :8192].tobytes() == objects[n] for n in objects)


def test_samples_longer_than_the_stride_are_told(forebay: Run, tmp_path: Path) -> None:
    """What is cut off is counted, said in words, and ends with an exit code that agrees."""
    (tmp_path / "x.toml").write_text('[sink]\nlayout = "samples"\nstride = "12KiB"\n')
    line = ("record", tmp_path / "x.toml", "--generate", "64KiB", "--object", "16KiB")
    answer = forebay(*line, code=BAD_RESULT)
    assert "nothing was lost" not in answer.out and "not all is stored" in answer.out
    assert "beyond the stride of 12.0 KiB" in answer.out
    whole = ("record", tmp_path / "x.toml", "--generate", "64KiB", "--object", "8KiB")
    assert "✓ nothing was lost" in forebay(*whole).out


def test_results_stand_in_page_and_row(forebay: Run, tmp_path: Path) -> None:
    """An element judges objects; SQL finds them by what it said, tar has it beside each."""
    rng = random.Random(3)
    shades = [rng.randrange(256) for _ in range(90)]
    objects = {n: bytes([shade]) * rng.randrange(1, 9000) for n, shade in enumerate(shades)}
    sink = '[[pe]]\nname = "mean"\nthreshold = 100\n'
    image = record_image(forebay, tmp_path, objects, sink)
    query = "select object, class, score from objects order by object"
    found = forebay("store", "sql", image, query, "-o", "json").report
    assert [(row["object"], row["class"], row["score"]) for row in found] == [
        (n, int(shade >= 100), float(shade)) for n, shade in enumerate(shades)
    ]
    with tarfile.open(
        fileobj=io.BytesIO(image.read_bytes()[partitions(image)["forebay-data"]])
    ) as tar:
        for member in tar.getmembers():
            path = Path(member.name)
            if path.suffix == ".json" and path.stem != "recording":
                said = json.loads(tar.extractfile(member).read())
                assert float(said["score"]) == shades[int(path.stem)]
                assert said["class"] == int(shades[int(path.stem)] >= 100)


def test_results_are_counted(forebay: Run, tmp_path: Path) -> None:
    """The report says how many of each class; a result that is too late is told."""
    objects = {n: bytes([n]) * 3000 for n in range(64)}
    wrpcap(str(tmp_path / "in.pcap"), list(frames(objects)))
    (tmp_path / "x.toml").write_text('[[pe]]\nname = "mean"\nthreshold = 48\n')
    words = ["record", tmp_path / "x.toml", "--pcap", tmp_path / "in.pcap", "--flat-out"]
    summary = forebay(*words, "-o", "json").report
    counted = {"late": 0, "unjudged": 0, "unseen": 0, "stray": 0}
    assert summary["results"] == {"judged": 64, "classes": {"0": 48, "1": 16}} | counted
    assert "class 1: 16" in forebay(*words).out


def test_a_recording_is_not_overwritten_unasked(forebay: Run, tmp_path: Path) -> None:
    """What lies on an image stays, unless its owner says otherwise; then nothing of it is seen."""
    first, second = make_objects(60, 4000, 9000), make_objects(3, 5000, 6000)
    image = record_image(forebay, tmp_path, first)
    before = image.read_bytes()
    words = ["record", tmp_path / "x.toml", "--pcap", tmp_path / "in.pcap", "--flat-out"]
    answer = forebay(*words, code=BAD_INPUT)
    assert "--overwrite" in answer.complaint and image.read_bytes() == before
    image = record_image(forebay, tmp_path, second)
    data = image.read_bytes()[partitions(image)["forebay-data"]]
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert len(archive.getnames()) == 2 * len(second) + 1


def test_losses_of_power(forebay: Run, tmp_path: Path) -> None:
    """Nothing that was promised is lost, nothing invented, and others read what was repaired.

    By night more of them, also over two drives and three, without and with parity.
    """
    number, drives = (200, 3) if os.environ.get("FOREBAY_COUNTS") == "full" else (60, 1)
    words = ["bench", "store", "--bytes", "1MiB", "--cuts", number, "--drives", drives]
    report = forebay(*words, "--keep", tmp_path, "-o", "json").report
    assert len(report["cuts"]) == drives and len(report["parity_cuts"]) == drives - 1
    each = report["cuts"] + report["parity_cuts"]
    for cuts, count in (*((one, number) for one in each), (report["ring_cuts"], -(-number // 10))):
        assert cuts["cuts"] == count and cuts["promised_rows"] > 0
        assert cuts["broken"] == cuts["invented"] == cuts["unreadable"] == 0
        assert cuts["not_settled"] == 0
    images = sorted(tmp_path.glob("cut-*.img"))
    assert len(images) == 8
    rings = 0
    for image in images:
        places = partitions(image)
        data = image.read_bytes()
        table = pa.ipc.open_stream(data[places["forebay-index"]]).read_all()
        with Recording(image) as recording:
            of = recording.superblock
            rings += of.ring
            # No tar file: samples, packets, and rings, where newer extents lie on older ones.
            if of.ring or of.mode != "objects":
                for row in rows_of(recording.table()):
                    assert google_crc32c.value(recording.read(row)) == row["crc32c"]
                continue
        listed = subprocess.run(
            ["tar", "t"], input=data[places["forebay-data"]], capture_output=True, check=True
        )
        rows = sum(flags & 1 for flags in table["flags"].to_pylist())
        files = [name for name in listed.stdout.decode().split() if "/lost/" not in name]
        # Objects that share pages have no JSON.
        each = 1 + any(name.endswith(".json") for name in files[:-1])
        assert len(files) == each * rows + 1 and not listed.stderr
    assert rings > 0


@pytest.mark.parametrize("layout", ["objects", "samples"])
def test_a_block_of_the_index_is_refused(forebay: Run, tmp_path: Path, layout: str) -> None:
    """Its index records are lost: that is told. Headers have them again, samples have none."""
    stride = 'stride = "128KiB"\n' if layout == "samples" else ""
    (tmp_path / "x.toml").write_text(f'{SMALL}[sink]\nlayout = "{layout}"\n{stride}')
    words = ["--generate", "8MB", "--object", "100KB", "--fault", "fail=0x280@lba=4104..4105:99"]
    answer = forebay("record", tmp_path / "x.toml", *words, "-o", "json", code=BAD_RESULT)
    report = answer.report
    assert report["closed"] and not report["wrong"] and report["stored"]["count"] == 80
    lost = report["rows_lost"]
    assert 0 < lost < 80
    answer = forebay("record", tmp_path / "x.toml", *words, "--overwrite", code=BAD_RESULT)
    assert f"{lost} index records were lost" in answer.out
    code = DAMAGED if layout == "samples" else GOOD
    listed = forebay("store", "ls", "--rows", tmp_path / "drive.img", "-o", "json", code=code)
    assert len(listed.report["extents"]) == (80 - lost if layout == "samples" else 80)


@pytest.mark.parametrize("megabytes", [1, 9])
def test_a_ring_that_has_gone_round(forebay: Run, tmp_path: Path, megabytes: int) -> None:
    """What is ahead of the index is bounded: a long object has extents as short as that needs."""
    sink = '[sink]\npolicy = "ring"\n[[pe]]\nname = "mean"\nthreshold = 127\n'
    (tmp_path / "x.toml").write_text(SMALL.replace("64", "36") + sink)
    words = ["--generate", "42MB", "--object", f"{megabytes}MB", "--extract", tmp_path / "out"]
    report = forebay("record", tmp_path / "x.toml", *words, "-o", "json").report
    assert report["stored"]["bytes"] > 36 << 20
    with Recording(tmp_path / "drive.img") as recording:
        ahead, rows = recording.superblock.ahead, [*rows_of(recording.table())]
        assert 9_000_000 > ahead >= 4 << 20 and max(row["length"] for row in rows) <= ahead // 2
        # One that the end of the ring cuts comes to that.
        assert (sum(row["cut"] for row in rows) > 1) == (megabytes == 9)
        assert report["results"]["judged"] == sum(not row["cut"] for row in rows)
        for row in rows:
            assert google_crc32c.value(recording.read(row)) == row["crc32c"]
    assert sum(row["length"] for row in rows) > (36 << 20) - 2 * ahead
    whole = {row["object"] for row in rows if not row["cut"] and not row["offset"]}
    # It was extracted before it was closed: no data were ahead of the index any more.
    names = {path.stem for path in (tmp_path / "out").rglob("*.bin")}
    assert names == {f"object-{number}" for number in whole}
