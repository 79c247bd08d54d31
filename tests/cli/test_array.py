# SPDX-License-Identifier: Apache-2.0
"""Recordings over several drives: written by the RTL or packed, opened from members in any order.

That Linux's md opens them as well is tested in a guest (tests/vm/test_array.py).
"""

from __future__ import annotations

import io
import itertools
import json
import shutil
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest
import recordings
from driving import BAD_INPUT, BAD_RESULT, DAMAGED, FILE_FAILED, Run
from scapy.utils import RawPcapNgReader

from forebay.store import Recording, StoreError, rows_of
from forebay.store.capture import whole_bytes
from forebay.store.references import payload

COUNT = 60
NAMES = ("a.img", "b.img", "c.img")
FIVE = (*NAMES, "d.img", "e.img")


def members(folder: Path, names: tuple[str, ...] = NAMES) -> list[Path]:
    """Return paths of the members."""
    return [folder / name for name in names]


def commas(paths: list[Path]) -> str:
    """Return paths as one word."""
    return ",".join(map(str, paths))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, forebay: Run) -> tuple[Path, list[bytes]]:
    """Return a folder with the members of an array with parity, and what is packed on it."""
    here = tmp_path_factory.mktemp("array")
    files = recordings.folder(here / "files", COUNT)
    words = ("--size", "8MiB", "--stripe-unit", "16KiB", "--parity", "-o", "json")
    made = forebay("store", "format", *members(here), *words).report["array"]
    assert made["drives"] == 3 and made["parity"] and made["stripe_unit"] == 16384
    forebay("store", "pack", here / "files", *reversed(members(here)))
    return here, files


def copied(packed: tuple[Path, list[bytes]], to: Path) -> list[Path]:
    """Copy the members, to be changed."""
    for path in members(packed[0]):
        shutil.copy(path, to)
    return members(to)


def holds(paths: list[Path] | str, files: list[bytes]) -> list[str]:
    """Python reads these files of the members; returns what it complains of."""
    with Recording(paths) as recording:
        read = {row["object"]: recording.read(row) for row in rows_of(recording.objects())}
        assert read == dict(enumerate(files))
        views = [recording.view(row).tobytes() for row in rows_of(recording.objects())]
        assert views == files
        return recording.complaints


def test_a_recording_over_three_drives(forebay: Run, tmp_path: Path) -> None:
    """Objects lie striped over the drives' images, and are read from these in any order."""
    drive = '[[ssd]]\nimage = "{}"\nsize = "32MiB"\n'
    text = "".join(drive.format(name) for name in NAMES)
    (tmp_path / "x.toml").write_text(text + '[sink]\nchunk = "16KiB"\n')
    words = ("record", tmp_path / "x.toml", "--generate", "6MiB", "--object", "300KiB")
    report = forebay(*words, "--extract", tmp_path / "files", "-o", "json").report
    assert not report["wrong"] and report["stored"]["count"] == 21 and report["closed"]
    files = [(tmp_path / f"files/object-{number}.bin").read_bytes() for number in range(21)]
    for order in itertools.permutations(members(tmp_path)):
        listed = forebay("store", "ls", *order, "-o", "json").report
        assert [one["state"] for one in listed["objects"]] == ["whole"] * 21
        assert listed["complaints"] == []
    assert holds(members(tmp_path)[::-1], files) == []
    assert forebay("store", "verify", *order, "-o", "json").report["extents"] == 21
    # It is found again by the same machine; not where the drives have changed places.
    before = forebay(*words, code=BAD_INPUT).complaint
    assert "on the drives there is the recording" in before
    swapped = text.replace("a.img", "x.img").replace("b.img", "a.img").replace("x.img", "b.img")
    (tmp_path / "y.toml").write_text(swapped + '[sink]\nchunk = "16KiB"\n')
    other = forebay("replay", tmp_path / "y.toml", "--objects", "1", code=BAD_INPUT).complaint
    assert "the order of the drives" in other
    sent = forebay("replay", tmp_path / "x.toml", "--objects", "3..5", "-o", "json").report
    assert sent["found"] == 3 and not sent["wrong"]


def with_parity(folder: Path, drives: int, sink: str = "", size: str = "32MiB") -> list[Path]:
    """Write a pipeline of drives with parity; returns paths of their images."""
    drive = '[[ssd]]\nimage = "{}"\nsize = "{}"\n'
    text = "".join(drive.format(name, size) for name in FIVE[:drives])
    (folder / "x.toml").write_text(f"{text}[sink]\nparity = true\n{sink}")
    return members(folder, FIVE[:drives])


NIGHTLY = pytest.mark.nightly


@pytest.mark.parametrize(
    "drives", [pytest.param(2, marks=NIGHTLY), 3, pytest.param(5, marks=NIGHTLY)]
)
def test_parity(forebay: Run, tmp_path: Path, drives: int) -> None:
    """Any drive may be lost: what opens from the others alone are the same bytes."""
    paths = with_parity(tmp_path, drives)
    words = ("record", tmp_path / "x.toml", "--generate", "6MiB", "--object", "300KiB")
    report = forebay(
        *words, "--back", "5GB/s", "--extract", tmp_path / "files", "-o", "json"
    ).report
    assert not report["wrong"] and report["stored"]["count"] == 21 and report["closed"]
    assert report["fetched"] == [21, 0]
    files = [(tmp_path / f"files/object-{number}.bin").read_bytes() for number in range(21)]
    for order in itertools.islice(itertools.permutations(paths), 6):
        assert holds(list(order), files) == []
    assert forebay("store", "verify", *order, "-o", "json").report["extents"] == 21
    assert forebay("store", "info", *order, "-o", "json").report["alignment"] == 16384 * (
        drives - 1
    )
    for lost in paths:
        there = [path for path in paths if path != lost]
        (told,) = holds(there, files)
        assert "missing" in told
        listed = forebay("store", "ls", *there, "-o", "json").report
        assert [row["state"] for row in listed["objects"]] == ["whole"] * 21
    with Recording(paths) as recording:
        of = recording.superblock
        data, index = (recording.disk.read(at.at, at.bytes) for at in (of.data, of.index))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = [archive.extractfile(one).read() for one in archive if one.name.endswith(".bin")]
    assert found == files and pa.ipc.open_stream(index).read_all().num_rows == 21
    sent = forebay("replay", tmp_path / "x.toml", "--objects", "3..5", "-o", "json").report
    assert sent["found"] == 3 and not sent["wrong"]


@pytest.mark.parametrize(
    ("layout", "object_bytes"),
    [("small", "3KiB"), ("samples", "20KiB")],
)
def test_layouts_with_parity(forebay: Run, tmp_path: Path, layout: str, object_bytes: str) -> None:
    """Batches and samples are whole stripes, too, in a ring that is gone round as well."""
    sink = f'chunk = "8KiB"\nlayout = "{layout}"\npolicy = "ring"\n'
    more = 'stride = "64KiB"\n' if layout == "samples" else ""
    paths = with_parity(tmp_path, 3, sink + more, "8MiB")
    words = ("record", tmp_path / "x.toml", "--generate", "12MiB", "--object", object_bytes)
    report = forebay(*words, "-o", "json").report
    assert not report["wrong"] and report["closed"]
    for lost in paths:
        there = [path for path in paths if path != lost]
        verified = forebay("store", "verify", *there, "-o", "json", code=DAMAGED).report
        assert 100 < verified["extents"] < report["stored"]["count"]
        assert not verified["problems"], "only the member is missing"


def test_a_capture_with_parity(forebay: Run, tmp_path: Path) -> None:
    """The data of the array are one capture, which scapy reads, also with a drive missing."""
    paths = with_parity(tmp_path, 3, 'layout = "packets"\n')
    words = ("record", tmp_path / "x.toml", "--generate", "2MiB", "--object", "300KiB")
    report = forebay(*words, "-o", "json").report
    assert not report["wrong"] and report["closed"]
    found = []
    for there in (paths, paths[:2], paths[1:], paths[::2]):
        with Recording(there) as recording:
            of = recording.superblock
            data = recording.disk.read(of.data.at, of.end - of.data.at)
        assert whole_bytes(data) == len(data), "a gap between two segments"
        with RawPcapNgReader(io.BytesIO(data)) as reader:
            found.append([bytes(frame) for frame, _ in reader])
    assert found == [found[0]] * 4 and len(found[0]) == report["offered"]["count"]


FAILING = ("--generate", "4MiB", "--object", "70KiB", "--timeout-cycles", "60000")


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory, forebay: Run) -> list[bytes]:
    """Return what is sent to the drives that fail, from ones that do not."""
    here = tmp_path_factory.mktemp("sent")
    with_parity(here, 3)
    forebay("record", here / "x.toml", *FAILING, "--extract", here / "files")
    return [(here / f"files/object-{number}.bin").read_bytes() for number in range(59)]


@pytest.mark.parametrize(
    ("drive", "fault"),
    [
        (0, "drop@lba=2000..65536"),
        (1, "fail=0x280@lba=2000..65536"),
        (1, "drop@flush"),
        (2, "fail=0x280@write"),
    ],
)
def test_a_drive_fails(
    forebay: Run, tmp_path: Path, sent: list[bytes], drive: int, fault: str
) -> None:
    """The recording goes on without it, whole, and what is on it is not believed any more."""
    paths = with_parity(tmp_path, 3)
    words = ("record", tmp_path / "x.toml", *FAILING, "--fault", f"{drive}/{fault}:9999")
    report = forebay(*words, "-o", "json").report
    assert report["missing"] == drive and not report["wrong"] and report["closed"]
    assert report["failed"]["count"] == report["rows_lost"] == report["skipped"]["count"] == 0
    (complaint,) = holds([path for path in paths if path != paths[drive]], sent)
    assert "its bytes come from the parity" in complaint
    info = forebay("store", "info", *paths, "-o", "json").report
    assert info["array"]["members"][drive] is None
    assert any(f"{paths[drive]} is left out" in one for one in info["complaints"])


def test_two_drives_fail(forebay: Run, tmp_path: Path) -> None:
    """What the second one refuses counts as failed."""
    with_parity(tmp_path, 3)
    faults = ("--fault", "1/fail=0x280@write:9999", "--fault", "0/fail=0x280@lba=1000..65536:9999")
    words = ("--generate", "2MiB", "--object", "70KiB", *faults, "-o", "json")
    report = forebay("record", tmp_path / "x.toml", *words, code=BAD_RESULT).report
    assert report["missing"] in (0, 1) and not report["wrong"]
    assert report["failed"]["count"] > 0 and report["whole_objects"] < 30


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("sink", "profile", "size", "rate", "there"),
    [
        ('chunk = "256KiB"', "990pro-2tb", "512MiB", 12.3, NAMES[::-1]),
        # Each byte is one and a half for the streamer: 100 Gb/s are paused.
        ("parity = true", "gen5-2tb", "640MiB", 10.8, NAMES[:0:-1]),
    ],
    ids=["stripes", "parity"],
)
def test_a_gigabyte_at_line_rate(
    forebay: Run,
    tmp_path: Path,
    sink: str,
    profile: str,
    size: str,
    rate: float,
    there: tuple[str, ...],
) -> None:
    """Three drives take 100 Gb/s; what opens from them, shuffled, are the bytes that came."""
    drive = '[[ssd]]\nprofile = "{}"\nimage = "{}"\nsize = "{}"\n'
    text = "".join(drive.format(profile, name, size) for name in NAMES)
    (tmp_path / "x.toml").write_text(f"{text}[sink]\n{sink}\n")
    words = ("record", tmp_path / "x.toml", "--generate", "1GiB", "--object", "9000000")
    report = forebay(*words, "--extract", tmp_path / "files", "-o", "json").report
    assert not report["wrong"] and report["whole_objects"] == 120 and not report["missing_frames"]
    assert report["gigabytes_per_second"] > rate
    with Recording(members(tmp_path, there)) as recording:
        rows = list(rows_of(recording.objects()))
        assert len(rows) == 120
        for row in rows:
            file = tmp_path / f"files/object-{row['object']}.bin"
            assert recording.read(row) == file.read_bytes()


def test_each_verb(forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    """All of them work on the members of an array, with one missing as well."""
    here, files = packed
    for paths in (members(here)[::-1], members(here)[1:], members(here)[::2], members(here)[:2]):
        lost = len(paths) < 3
        complaints = holds(paths, files)
        assert complaints == holds(commas(paths), files)
        assert ["its bytes come from the parity" in one for one in complaints] == [True] * lost
        info = forebay("store", "info", *paths, "-o", "json").report
        assert info["array"]["members"].count(None) == lost
        assert info["complaints"] == complaints
        verified = forebay("store", "verify", *paths, "-o", "json", code=DAMAGED if lost else 0)
        assert verified.report["extents"] == COUNT and verified.report["damaged"] == 0
        named = forebay("store", "ls", *paths, "--names", "-o", "json").report["objects"]
        assert [one["name"] for one in named] == [f"{number:05}" for number in range(COUNT)]
    folder = tmp_path / "out"
    extracted = forebay("store", "extract", *members(here), folder, "-o", "json").report
    assert extracted["files"] == COUNT
    got = sorted(folder.rglob("*.bin"))
    assert [path.read_bytes() for path in got] == files
    whole = commas(members(here)[1:])
    forebay("store", "tar", whole, tmp_path / "x.tar")
    assert (tmp_path / "x.tar").stat().st_size > sum(map(len, files))
    forebay("store", "report", *members(here), "--html", tmp_path / "x.html")
    counted = forebay(
        *("store", "sql", *members(here)[1:], "select count(*) as n from objects", "-o", "json")
    )
    assert json.loads(counted.out)[0]["n"] == COUNT
    exported = ("store", "export", *members(here), tmp_path / "pq", "--to", "parquet", "-o", "json")
    assert forebay(*exported).report["extents"] == COUNT
    with Recording(members(here)) as recording:
        row = next(row for row in rows_of(recording.objects()) if row["length"] > 20_000 - 4096)
    reference = (row["address"], row["length"], row["crc32c"])
    assert payload(whole, *reference) == files[row["object"]]


def test_a_mount(forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    """An array is mounted as an image is."""
    here, files = packed
    with recordings.mounted(here / "c.img", tmp_path / "at", before=members(here)[:1]):
        got = sorted((tmp_path / "at").rglob("*.bin"))
        assert [path.read_bytes() for path in got] == files


def test_what_does_not_belong_together(
    forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    """Field, value and remedy are named, by the program and in Python."""
    a, b, c = copied(packed, tmp_path)
    other = members(tmp_path, ("d.img", "e.img"))
    forebay("store", "format", *other, "--size", "8MiB")
    cut = tmp_path / "cut.img"
    cut.write_bytes(b.read_bytes()[:-4096])
    blank = tmp_path / "blank.img"
    blank.write_bytes(bytes(8 << 20))
    for paths, says, also in (
        ([a], "members 1, 2 of 3 of the array are missing", "are missing: 1, 2"),
        ([a, other[0]], "d.img belongs to array", "d.img belongs to array"),
        ([a, b, b], "are both member 1", "are both member 1"),
        ([a, cut], "cut.img has no member superblock", "cut.img has no member superblock"),
        ([a, blank, c], "blank.img has no member superblock", "blank.img has no member superblock"),
        ([other[0]], "it has no parity", "are missing: 1"),
        ([blank, cut], "has a member superblock", "has a member superblock"),
    ):
        told = forebay("store", "info", *paths, code=None)
        assert told.code in (DAMAGED, BAD_INPUT, FILE_FAILED), told
        assert says in told.complaint and "help:" in told.complaint
        with pytest.raises(StoreError, match=also.replace(".", r"\.")):
            Recording(paths)
    missing = forebay("store", "info", a, tmp_path / "none.img", code=FILE_FAILED).complaint
    assert "none.img" in missing
    for words, says in (
        (("--size", "8MiB"), "is there already"),
        ((), "not blank"),
        (("--force", "--stripe-unit", "12KiB"), "power of two"),
    ):
        refused = forebay("store", "format", a, b, *words, code=BAD_INPUT).complaint
        assert says in refused
    twice = forebay("store", "format", a, a, "--force", code=BAD_INPUT).complaint
    assert "a.img once more" in twice
    for names in ("a.img", "c.img"):
        # Members whose first bytes are zeros are not blank either.
        member = tmp_path / names
        member.write_bytes(bytes(1 << 20) + member.read_bytes()[1 << 20 :])
        refused = forebay("store", "format", member, code=BAD_INPUT).complaint
        assert "not blank" in refused
    fresh = members(tmp_path, ("x.img", "y.img"))
    small = forebay("store", "format", *fresh, "--size", "2MiB", "--parity", code=BAD_INPUT)
    assert "tables, index and one extent" in small.complaint
    assert not any(path.exists() for path in fresh)
    lonely = forebay("store", "format", blank, "--parity", code=BAD_INPUT).complaint
    assert "one drive holds the parity of others" in lonely


def test_a_member_is_lost_and_replaced(
    forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    """A repair without it leaves it out; a replacement has all that it had."""
    files = packed[1]
    a, b, c = copied(packed, tmp_path)
    before = a.read_bytes()
    # The second copy of the recording's superblock lies on member 1, and is written anew.
    recordings.flip(b, ((2 << 20) - 4096) // (2 * 16384) * 16384 + 16384 - 4096 + 100)
    dry = forebay("store", "repair", b, c, "--dry-run", "-o", "json", code=None).report
    assert dry["changed"] and any("second copy" in one for one in dry["complaints"])
    forebay("store", "repair", b, c)
    complaints = holds([c, a, b], files)
    assert any(f"{a} is left out: it is older" in one for one in complaints)
    assert a.read_bytes() == before
    small = tmp_path / "small.img"
    small.write_bytes(bytes(1 << 20))
    refused = forebay("store", "repair", b, c, "--replace", small, code=BAD_INPUT).complaint
    assert "the size of the replacement is 1048576" in refused
    # A drive that is a member already is not written over.
    whole_b = b.read_bytes()
    same = forebay("store", "repair", b, c, "--replace", b, code=BAD_INPUT).complaint
    assert "b.img once more" in same and b.read_bytes() == whole_b
    new = tmp_path / "new.img"
    new.write_bytes(bytes(9 << 20))
    forebay("store", "repair", b, c, "--replace", new)
    assert holds([new, b, c], files) == []
    assert holds([new, c], files) != []
    forebay("store", "verify", c, new, b)
    whole = forebay("store", "repair", b, c, new, "--replace", small, code=BAD_INPUT).complaint
    assert "no member is missing" in whole


def test_superblocks_of_members_are_mended(
    forebay: Run, packed: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    """Each of the three at the end of a member is told where it is damaged, and written anew."""
    a, b, c = copied(packed, tmp_path)
    size = b.stat().st_size
    for at, says in (
        (size - 12288, "the first member superblock"),
        (size - 8192, "md's superblock"),
        (size - 4096, "the second member superblock"),
    ):
        recordings.flip(b, at + 100)
        damaged = forebay("store", "info", a, b, c, "-o", "json").report["complaints"]
        assert len(damaged) == 1 and f"{says} of {b} is damaged" in damaged[0]
        mended = forebay("store", "repair", c, b, a, "-o", "json").report
        assert mended["member_superblocks_mended"] == 1
        assert forebay("store", "info", a, b, c, "-o", "json").report["complaints"] == []
