# SPDX-License-Identifier: Apache-2.0
"""`forebay store`: recordings on images, as a user makes, reads, damages and repairs them."""

from __future__ import annotations

import json
import lzma
import os
import random
import struct
import subprocess
import tarfile
import time
from pathlib import Path

import pyarrow as pa
import pytest
from driving import BAD_INPUT, BAD_RESULT, DAMAGED, FILE_FAILED, PROGRAM, Run
from recordings import mounted

from forebay.store import Recording, rows_of

PAGE = 4096
SUPER, INDEX, DATA = 1 << 20, 2 << 20, 3 << 20
# Where the columns of a row lie in a block of the index, and its checksum.
# A block of a recording without a schema of its own.
ROWS, CRC_AT = 63, 636
ADDRESS_AT, TIME_AT, LENGTH_AT = (640 + 8 * ROWS * at for at in (2, 3, 4))


def fill(folder: Path, count: int, most: int, seed: int = 1) -> dict[int, bytes]:
    """Make files of random lengths; returns object number → bytes."""
    source = random.Random(seed)
    folder.mkdir()
    made = {n: source.randbytes(source.randrange(most)) for n in range(count)}
    for number, data in made.items():
        path = folder / f"{number:06}"
        path.write_bytes(data)
        os.utime(path, ns=(10**18 + number, 10**18 + number))
    return made


@pytest.fixture
def packed(forebay: Run, tmp_path: Path) -> tuple[Path, dict[int, bytes]]:
    """Return an image with 200 objects, and these."""
    objects = fill(tmp_path / "in", 200, 20_000)
    forebay("store", "pack", tmp_path / "in", tmp_path / "a.img")
    return tmp_path / "a.img", objects


def crc32c(data: bytes) -> int:
    """CRC32C bit by bit, as RFC 3720 has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def patch(image: Path, at: int, data: bytes) -> None:
    """Write into the image."""
    with image.open("r+b") as file:
        file.seek(at)
        file.write(data)


def patch_row(image: Path, number: int, column: int, value: int, size: int = 8) -> None:
    """Change a number of a row, and make the checksum of its block right again."""
    at = INDEX + PAGE * (1 + number // ROWS)
    block = bytearray(image.read_bytes()[at : at + PAGE])
    place = column + size * (number % ROWS)
    block[place : place + size] = value.to_bytes(size, "little")
    block[CRC_AT : CRC_AT + 4] = bytes(4)
    block[CRC_AT : CRC_AT + 4] = crc32c(block).to_bytes(4, "little")
    patch(image, at, block)


def rows(forebay: Run, image: Path, code: int | None = 0) -> list[dict]:
    """List all extents."""
    return forebay("store", "ls", "--rows", image, "-o", "json", code=code).report["extents"]


def same(forebay: Run, image: Path, objects: dict[int, bytes], folder: Path) -> None:
    """Extract everything, and compare."""
    forebay("store", "extract", image, folder)
    found = {int(p.stem): p.read_bytes() for p in (folder / "00000").glob("*.bin")}
    assert found == objects
    for path in (folder / "00000").glob("*.json"):
        beside = json.loads(path.read_text())
        assert beside["length"] == len(objects[beside["object"]])


def test_names_of_files_are_kept(forebay: Run, tmp_path: Path) -> None:
    """In objects and small objects; a name without room is said; tools see nothing of it."""
    folder = tmp_path / "files"
    folder.mkdir()
    names = ["a photo.jpg", "b" * 100, "c" * 101, "d\n\x1b[1m", "é.txt"]
    for number, name in enumerate(names):
        (folder / name).write_bytes(bytes(number * 1000))
    for number, option in enumerate([(), ("--small",)]):
        image, out = tmp_path / f"{number}.img", tmp_path / f"out{number}"
        packed = forebay("store", "pack", folder, image, *option, "-o", "json").report
        assert packed["unnamed"] == 1
        listed = forebay("store", "ls", image, "--names", "-o", "json").report["objects"]
        kept = [None if len(name) > 100 else name for name in names]
        assert [row["name"] for row in listed] == kept
        text = forebay("store", "ls", image, "--names").out
        assert "a photo.jpg" in text and "\x1b" not in text
        listed = forebay("store", "ls", image, "-o", "json").report["objects"]
        assert all(row["name"] is None for row in listed)
        forebay("store", "extract", image, out)
        beside = [json.loads(path.read_text()) for path in sorted(out.rglob("*.json"))]
        assert [one.get("name") for one in beside] == kept
        forebay("store", "verify", image)
        forebay("store", "tar", image, tmp_path / f"{number}.tar")
        with tarfile.open(tmp_path / f"{number}.tar") as archive:
            files = [one for one in archive if one.name.endswith(".bin")]
            assert [one.size for one in files] == [number * 1000 for number in range(len(names))]
            assert all(one.isreg() for one in files)


@pytest.mark.parametrize("block", [512, 4096])
def test_linux_knows_the_partitions(forebay: Run, tmp_path: Path, block: int) -> None:
    """What sfdisk says of an image is what the superblock says."""
    image = tmp_path / "a.img"
    made = forebay("store", "format", image, "--size", "64MiB", "--block", block, "-o", "json")
    report = made.report
    command = ["fdisk", "-b", str(block), "-l", "-o", "Name,Start,Sectors,UUID", image]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = [line.split() for line in listed.stdout.splitlines() if line.startswith("forebay")]
    parts = {name: (int(start), int(count), uuid) for name, start, count, uuid in lines}
    assert list(parts) == ["forebay-super", "forebay-index", "forebay-data"]
    for name, place in [("forebay-index", report["index"]), ("forebay-data", report["data"])]:
        start, count, _ = parts[name]
        assert (start * block, count * block) == (place["first_byte"], place["bytes"])
        assert place["first_byte"] % (1 << 20) == 0
    assert parts["forebay-data"][2].lower() == report["session"]
    assert "corrupt" not in listed.stderr
    if block == 512:
        verify = ["sfdisk", "--verify", image]
        said = subprocess.run(verify, check=True, capture_output=True, text=True).stdout
        assert "No errors" in said


def test_objects_come_back(forebay: Run, packed: tuple, tmp_path: Path) -> None:
    """As files, one by one, and through GNU tar and Python's."""
    image, objects = packed
    same(forebay, image, objects, tmp_path / "out")
    one = subprocess.run([PROGRAM, "store", "cat", image, "7"], check=True, capture_output=True)
    assert one.stdout == objects[7]
    forebay("store", "tar", image, tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar") as tar:
        names = [name for name in tar.getnames() if name.endswith(".bin")]
        assert [tar.extractfile(name).read() for name in names] == list(objects.values())
        about = json.load(tar.extractfile(tar.getnames()[-1]))
    assert about["session"] == forebay("store", "info", image, "-o", "json").report["session"]
    listed = subprocess.run(
        ["tar", "--list", "--file", tmp_path / "a.tar"], check=True, capture_output=True
    )
    assert len(listed.stdout.splitlines()) == 2 * len(objects) + 1
    # The partition itself is the same tar file.
    with image.open("rb") as raw:
        raw.seek(DATA)
        with tarfile.open(fileobj=raw, mode="r|") as tar:
            assert sum(1 for _ in tar) == 2 * len(objects) + 1


def test_a_list_says_what_is_there(forebay: Run, packed: tuple) -> None:
    """Numbers, lengths, times and checksums; text and JSON alike."""
    image, objects = packed
    listed = rows(forebay, image)
    assert [row["length"] for row in listed] == [len(data) for data in objects.values()]
    assert [row["time_ns"] for row in listed] == [10**18 + n for n in objects]
    assert all(int(row["crc32c"], 16) == crc32c(objects[row["object"]]) for row in listed[:9])
    text = forebay("store", "ls", image).out.splitlines()
    assert len(text) == len(objects) + 1 and text[0].split()[0] == "stream"
    assert [int(line.split()[2]) for line in text[1:]] == [len(d) for d in objects.values()]


def test_long_files_are_cut(forebay: Run, tmp_path: Path) -> None:
    """An object of several extents comes back as one by cat, as parts by extract."""
    objects = fill(tmp_path / "in", 3, 50_000)
    image = tmp_path / "a.img"
    forebay("store", "pack", tmp_path / "in", image, "--extent", "8KiB", "--stream", 9)
    found = [row for row in rows(forebay, image) if row["object"] == 0]
    assert [row["cut"] for row in found] == [True] * (len(found) - 1) + [False]
    call = [PROGRAM, "store", "cat", image, "0", "--stream", "9"]
    assert subprocess.run(call, check=True, capture_output=True).stdout == objects[0]
    forebay("store", "extract", image, tmp_path / "out")
    parts = sorted((tmp_path / "out" / "00009").glob("00000000000000000000@*.bin"))
    assert b"".join(part.read_bytes() for part in parts) == objects[0]


def test_samples_lie_at_a_stride(forebay: Run, tmp_path: Path) -> None:
    """Raw bytes at multiples of the stride, as numpy.memmap wants them."""
    objects = fill(tmp_path / "in", 30, 8192)
    image = tmp_path / "a.img"
    forebay("store", "format", image, "--size", "8MiB", "--mode", "samples", "--stride", "8KiB")
    forebay("store", "pack", tmp_path / "in", image)
    data = forebay("store", "info", image, "-o", "json").report["data"]["first_byte"]
    raw = image.read_bytes()
    for number, payload in objects.items():
        at = data + 8192 * number
        assert raw[at : at + len(payload)] == payload
    # Both superblocks lost: mode and session are in the table, the stride in the rows.
    for at in (SUPER, INDEX - PAGE):
        patch(image, at, bytes(PAGE))
    same(forebay, image, objects, tmp_path / "out")


def test_version_1_opens(forebay: Run, tmp_path: Path) -> None:
    """A recording that the last program of version 1 has packed stays one when it is repaired."""
    image, objects = tmp_path / "old.img", [b"one", b"x" * 5000, b"three"]
    good = lzma.decompress(Path(__file__).with_name("version1.img.xz").read_bytes())
    for lost in ((), (SUPER,), (SUPER, INDEX - PAGE)):
        image.write_bytes(good)
        for at in lost:
            patch(image, at, random.Random(1).randbytes(PAGE))
        if lost:
            at = INDEX + PAGE + 1664  # an address
            patch(image, at, bytes([good[at] ^ 1]))
            forebay("store", "repair", image)
        assert struct.unpack_from("<I", image.read_bytes(), SUPER + 8) == (1,)
        assert image.read_bytes()[INDEX:DATA] == good[INDEX:DATA]
        forebay("store", "verify", image)
        found = json.loads(forebay("store", "ls", image, "-o", "json").out)
        assert [row["length"] for row in found["objects"]] == [len(data) for data in objects]
        with Recording(image) as recording:
            assert len(recording.index()) == 64
            assert [recording.read(row) for row in rows_of(recording.objects())] == objects


def test_the_schema_is_written_anew(forebay: Run, packed: tuple) -> None:
    """The first page of the index is damaged: told, and other programs read it after a repair."""
    image, objects = packed
    good = image.read_bytes()
    patch(image, INDEX + 30, b"damage")
    assert "its schema, is damaged" in forebay("store", "info", image).out
    forebay("store", "repair", image)
    assert image.read_bytes() == good
    table = pa.ipc.open_stream(pa.py_buffer(good[INDEX:DATA])).read_all()
    assert len(table) == len(objects) and table["class"].null_count == len(objects)


def test_the_index_has_the_rows_that_exist(forebay: Run, tmp_path: Path) -> None:
    """Arrow's own reader counts objects, whatever the last block holds."""
    for count in (1, 62, 63, 64, 130):
        fill(tmp_path / f"in{count}", count, 50)
        image = tmp_path / f"{count}.img"
        forebay("store", "pack", tmp_path / f"in{count}", image)
        with Recording(image) as recording:
            of = recording.superblock.index
        stream = pa.py_buffer(image.read_bytes()[of.at : of.at + of.bytes])
        table = pa.ipc.open_stream(stream).read_all()
        assert table["object"].to_pylist() == list(range(count))


def test_a_ring_keeps_the_newest(forebay: Run, tmp_path: Path) -> None:
    """What newer objects lie on is not shown any more; what is shown is whole."""
    objects = fill(tmp_path / "in", 300, 40_000)
    image = tmp_path / "a.img"
    forebay("store", "format", image, "--size", "6MiB", "--ring")
    forebay("store", "pack", tmp_path / "in", image)
    kept = [row["object"] for row in rows(forebay, image)]
    assert kept == sorted(kept) and kept[-1] == 299 and 30 < len(kept) < 200
    forebay("store", "verify", image)
    call = [PROGRAM, "store", "cat", image, "299"]
    assert subprocess.run(call, check=True, capture_output=True).stdout == objects[299]


def test_an_open_ring_says_what_is_there(forebay: Run, tmp_path: Path) -> None:
    """What data may lie on that came last counts only when a repair has looked; all else does."""
    objects = fill(tmp_path / "in", 80, 1_000_000)
    image = tmp_path / "a.img"
    forebay("store", "format", image, "--size", "36MiB", "--ring")
    forebay("store", "pack", tmp_path / "in", image, "--leave-open")
    open_ = [row["object"] for row in rows(forebay, image)]
    with Recording(image) as recording:
        of, table = recording.superblock, recording.table()
        assert table["object"].to_pylist() == open_
        assert of.ahead == of.data.bytes // 8 // PAGE * PAGE
        *_, last = rows_of(table)
        ahead = of.window(-(-(last["address"] + last["length"]) // PAGE) * PAGE)
        for row in rows_of(table):
            assert recording.read(row) == objects[row["object"]]
    report = forebay("store", "repair", image, "-o", "json").report
    assert report["rows_voided"] == 0 and not report["open"]
    closed = [row["object"] for row in rows(forebay, image)]
    with Recording(image) as recording:
        found = [*rows_of(recording.table())]
    assert [row["object"] for row in found] == closed == [*range(closed[0], 80)]
    assert sum(row["length"] for row in found) > of.data.bytes - 3_000_000
    outside = [
        row["object"]
        for row in found
        if not any(
            row["address"] - PAGE < end and begin < row["address"] + row["length"]
            for begin, end in ahead
        )
    ]
    assert outside == open_ and len(closed) > len(open_)
    forebay("store", "verify", image)


def test_a_missing_block_of_a_ring(forebay: Run, tmp_path: Path) -> None:
    """Neither reader shows what its extents may lie on; newer objects are there."""
    objects = fill(tmp_path / "in", 300, 40_000)
    image = tmp_path / "a.img"
    forebay("store", "format", image, "--size", "6MiB", "--ring")
    forebay("store", "pack", tmp_path / "in", image)
    with Recording(image) as recording:
        first, kept = recording.superblock.index.at, recording.table()["object"].to_pylist()
    each = 63  # rows of a block
    lost = range(3 * each, 4 * each)
    assert each < kept[0] < 2 * each and kept[-1] == 299
    patch(image, first + PAGE * (1 + 3), bytes(PAGE))
    # One more lies where it did not fit before the end, as far as the index still tells.
    shown = [number for number in kept if number >= lost.stop]
    assert kept[0] < lost[0] and len(kept) - len(shown) > 60
    assert [row["object"] for row in rows(forebay, image, DAMAGED)] == shown
    for number in shown[:: len(shown) // 9]:
        call = [PROGRAM, "store", "cat", image, str(number)]
        assert subprocess.run(call, check=True, capture_output=True).stdout == objects[number]
    with Recording(image) as recording:
        found = [*rows_of(recording.table())]
        assert [row["object"] for row in found] == shown
        assert all(recording.read(row) == objects[row["object"]] for row in found)
    # Made anew of the headers, it is no longer missing: nothing is doubtful.
    report = forebay("store", "repair", image, "-o", "json").report
    assert report["blocks_mended"] == 1 and report["rows_voided"] == 0
    assert report["rows"] + report["rows_mended"] == len(kept)
    assert [row["object"] for row in rows(forebay, image)] == kept
    forebay("store", "verify", image)


def test_an_older_recording_is_never_shown(forebay: Run, packed: tuple, tmp_path: Path) -> None:
    """Formatted again, the image is empty, though all the old bytes are there."""
    image, objects = packed
    refused = forebay("store", "format", image, code=BAD_INPUT)
    assert "--force" in refused.complaint
    forebay("store", "format", image, "--force")
    assert rows(forebay, image) == []
    repaired = forebay("store", "repair", image, "-o", "json").report
    assert repaired["recovered"] == 0
    assert objects[100] in image.read_bytes()


def test_one_copy_of_the_superblock_is_enough(forebay: Run, packed: tuple, tmp_path: Path) -> None:
    """The other is used, and said to be damaged; repair writes both."""
    image, objects = packed
    patch(image, SUPER + 30, b"\xff")
    told = forebay("store", "info", image, "-o", "json").report["complaints"]
    assert len(told) == 1 and "first copy" in told[0]
    same(forebay, image, objects, tmp_path / "out")
    assert forebay("store", "verify", image, code=DAMAGED)
    forebay("store", "repair", image)
    assert not forebay("store", "info", image, "-o", "json").report["complaints"]


def test_a_wrong_copy_of_the_superblock_is_told(
    forebay: Run, packed: tuple, tmp_path: Path
) -> None:
    """A copy of another recording with a lesser generation does not count."""
    image, objects = packed
    other = tmp_path / "other.img"
    forebay("store", "format", other, "--size", "16MiB")
    patch(image, INDEX - PAGE, other.read_bytes()[SUPER : SUPER + PAGE])
    told = forebay("store", "info", image, "-o", "json").report["complaints"]
    assert len(told) == 1 and "belongs to another recording" in told[0]
    same(forebay, image, objects, tmp_path / "out")
    forebay("store", "repair", image)
    forebay("store", "verify", image)


def test_without_superblocks_the_table_is_enough(
    forebay: Run, packed: tuple, tmp_path: Path
) -> None:
    """Both copies are lost: places and session are the table's, and repair writes new ones."""
    image, objects = packed
    session = forebay("store", "info", image, "-o", "json").report["session"]
    for at in (SUPER, INDEX - PAGE):
        patch(image, at, random.Random(1).randbytes(PAGE))
    same(forebay, image, objects, tmp_path / "out")
    forebay("store", "repair", image)
    report = forebay("store", "info", image, "-o", "json").report
    assert report["session"] == session and report["closed"] and not report["complaints"]
    again = forebay("store", "repair", image, "-o", "json").report
    assert not again["changed"]


def test_without_anything_there_is_no_recording(forebay: Run, tmp_path: Path) -> None:
    """An image of noise, an empty one, one that is not there."""
    noise = tmp_path / "noise.img"
    noise.write_bytes(random.Random(1).randbytes(4 << 20))
    empty = tmp_path / "empty.img"
    empty.write_bytes(b"")
    for image in (noise, empty, tmp_path / "none.img"):
        for command in ("info", "ls", "verify", "repair"):
            code = BAD_INPUT if image.exists() else FILE_FAILED
            answer = forebay("store", command, image, code=code)
            assert "help:" in answer.complaint
    assert "no recording" in forebay("store", "info", noise, code=BAD_INPUT).complaint


def test_a_damaged_index_is_rebuilt(forebay: Run, packed: tuple, tmp_path: Path) -> None:
    """A block in the middle is lost: the rest is shown, and repair finds its rows again."""
    image, objects = packed
    before = rows(forebay, image)
    patch(image, INDEX + 2 * PAGE + 700, b"damage")
    left = forebay("store", "ls", "--rows", image, "-o", "json", code=DAMAGED).report
    assert [block["block"] for block in left["damaged_blocks"]] == [1]
    assert left["extents"] == before[:ROWS] + before[2 * ROWS :]
    forebay("store", "verify", image, code=DAMAGED)
    dry = forebay("store", "repair", "--dry-run", image, "-o", "json").report
    assert dry["changed"] and rows(forebay, image, DAMAGED) == left["extents"]
    report = forebay("store", "repair", image, "-o", "json").report
    assert (report["blocks_mended"], report["rows_mended"]) == (1, ROWS)
    assert rows(forebay, image) == before
    same(forebay, image, objects, tmp_path / "out")
    assert not forebay("store", "repair", image, "-o", "json").report["changed"]


def test_what_lies_behind_the_index_is_recovered(
    forebay: Run, packed: tuple, tmp_path: Path
) -> None:
    """As after a loss of power: the last block of the index was never written."""
    _, objects = packed
    image = tmp_path / "open.img"
    forebay("store", "pack", tmp_path / "in", image, "--leave-open")
    # 200 objects are 3 full blocks and one of 11 rows.
    patch(image, INDEX + 4 * PAGE, bytes(PAGE))
    assert len(rows(forebay, image)) == 189
    # One of those without a row is damaged as well.
    place = image.read_bytes().index(objects[196]) + 5
    patch(image, place, b"\0\1\2\3")
    report = forebay("store", "repair", image, "-o", "json").report
    assert report["recovered"] == 10 and report["lost"] == 1
    kept = {n: data for n, data in objects.items() if n != 196}
    same(forebay, image, kept, tmp_path / "out")
    with image.open("rb") as raw:
        raw.seek(DATA)
        with tarfile.open(fileobj=raw, mode="r|") as tar:
            names = [member.name for member in tar]
    assert len(names) == 2 * len(kept) + 2 and names[-1].endswith("/recording.json")
    assert sum("/lost/" in name for name in names) == 1
    assert not forebay("store", "repair", image, "-o", "json").report["changed"]


@pytest.mark.parametrize(
    ("column", "value", "size", "words"),
    [
        (LENGTH_AT, 100, 4, "its length is"),
        (LENGTH_AT, 0xFFFFFFFF, 4, "its length is 4294967295"),
        (ADDRESS_AT, DATA + 5, 8, "multiple of 4096"),
        (ADDRESS_AT, PAGE, 8, "data lie from"),
        (ADDRESS_AT, 2**64 - PAGE, 8, "data lie from"),
    ],
)
def test_a_row_that_lies_is_found_out(
    forebay: Run, packed: tuple, column: int, value: int, size: int, words: str
) -> None:
    """An object longer than its header says, a row beyond its partition: told, and not read."""
    image, objects = packed
    patch_row(image, 70, column, value, size)
    report = forebay("store", "verify", image, "-o", "json", code=DAMAGED).report
    assert report["damaged"] == 1 and report["extents"] == 200
    assert words in " ".join(report["problems"])
    forebay("store", "repair", image)
    folder = image.parent / "out"
    forebay("store", "extract", image, folder, code=None)
    # Of one that cannot be, the object is found by its header, and gets another.
    kept = 199 if value == 100 else 200
    assert len(list((folder / "00000").glob("*.bin"))) == kept
    assert objects[71] == (folder / "00000" / f"{71:020}.bin").read_bytes()


def test_a_page_that_lies_is_found_out(forebay: Run, packed: tuple) -> None:
    """The page in front of an object is another object's."""
    image, objects = packed
    listed = rows(forebay, image)
    first, second = (listed[n]["address"] - PAGE for n in (3, 4))
    patch(image, first, image.read_bytes()[second : second + PAGE])
    report = forebay("store", "verify", image, "-o", "json", code=DAMAGED).report
    assert "object is 4 in the header block" in report["problems"][0]
    # The payload is what its row says, and so it is extracted.
    folder = image.parent / "out"
    forebay("store", "extract", image, folder, code=DAMAGED)
    assert (folder / "00000" / f"{3:020}.bin").read_bytes() == objects[3]


def test_damage_of_a_payload_is_found(forebay: Run, packed: tuple, tmp_path: Path) -> None:
    """One bit: verify names the object, extract leaves it out, cat says it."""
    image, objects = packed
    at = image.read_bytes().index(objects[50])
    patch(image, at, bytes([objects[50][0] ^ 1]))
    report = forebay("store", "verify", image, "-o", "json", code=DAMAGED).report
    assert report["damaged"] == 1 and "object 50 of stream 0" in report["problems"][0]
    assert "CRC32C" in forebay("store", "extract", image, tmp_path / "x", code=DAMAGED).out
    assert not (tmp_path / "x" / "00000" / f"{50:020}.bin").exists()
    call = subprocess.run([PROGRAM, "store", "cat", image, "50"], capture_output=True, check=False)
    assert call.returncode == DAMAGED and b"CRC32C" in call.stderr


def test_time_that_runs_backwards_is_told(forebay: Run, packed: tuple) -> None:
    """It harms nothing: the checksums are right."""
    image, _ = packed
    patch_row(image, 80, TIME_AT, 10**18 - 5 * 10**9)
    report = forebay("store", "verify", image, "-o", "json").report
    assert report["times_backwards"] == 1
    assert "object 80 of stream 0 began 5.0 s before" in report["problems"][0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--size", "2MiB"], "size"),
        (["--size", "3MiB"], "size"),
        (["--size", "8MiB", "--index", "99"], "size"),
        (["--size", "8MiB", "--extension", "tiffs"], "1 to 4 letters"),
        (["--size", "8MiB", "--extension", "a/b"], "1 to 4 letters"),
        (["--size", "8MiB", "--mode", "samples", "--stride", "64MiB"], "size"),
        (["--size", "8MiB", "--mode", "samples"], "--stride"),
        (["--size", "8MiB", "--mode", "samples", "--stride", "5000"], "4096"),
        (["--size", "5000"], "4096"),
    ],
)
def test_settings_that_cannot_be(
    forebay: Run, tmp_path: Path, options: list[str], words: str
) -> None:
    """Each is refused with field and limit, and leaves no image behind."""
    image = tmp_path / "a.img"
    answer = forebay("store", "format", image, *options, code=BAD_INPUT)
    assert words in answer.complaint
    assert not image.exists()


def test_an_image_without_room_says_so(forebay: Run, tmp_path: Path) -> None:
    """Objects without room get a row that says it; the index full is an error."""
    fill(tmp_path / "in", 100, 100_000)
    image = tmp_path / "a.img"
    forebay("store", "format", image, "--size", "5MiB")
    report = forebay("store", "pack", tmp_path / "in", image, "-o", "json", code=BAD_RESULT).report
    assert report["skipped_bytes"] > 0
    listed = rows(forebay, image)
    assert len(listed) == 100
    assert sum(row["length"] for row in listed if row["skipped"]) == report["skipped_bytes"]
    forebay("store", "verify", image)
    again = forebay("store", "pack", tmp_path / "in", image, code=BAD_INPUT)
    assert "closed" in again.complaint


def test_an_image_cut_short_is_told(forebay: Run, packed: tuple) -> None:
    """What is missing is said; what is there is read."""
    image, _ = packed
    os.truncate(image, DATA + (1 << 20))
    report = forebay("store", "verify", image, "-o", "json", code=DAMAGED).report
    assert any("what lay behind is missing" in text for text in report["complaints"])
    assert 0 < report["damaged"] < report["extents"] == 200


def test_no_such_object(forebay: Run, packed: tuple, tmp_path: Path) -> None:
    """Exit code and remedy."""
    image, _ = packed
    answer = forebay("store", "cat", image, 1000, code=BAD_INPUT)
    assert "OBJECT is 1000" in answer.complaint and "store ls" in answer.complaint
    answer = forebay("store", "pack", tmp_path, tmp_path / "x.img", code=None)
    (tmp_path / "none").mkdir()
    assert forebay("store", "pack", tmp_path / "none", image, code=BAD_INPUT)


def test_verify_compares_itself(forebay: Run, packed: tuple) -> None:
    """With reading and computing CRC32C alone."""
    image, objects = packed
    report = forebay("store", "verify", "--compare", image, "-o", "json").report
    assert report["bytes"] == sum(map(len, objects.values()))
    assert report["compare"]["bytes"] >= report["bytes"] and report["compare"]["ratio"] > 0


def test_mounted_objects_are_files(forebay: Run, packed: tuple, tmp_path: Path) -> None:
    """Other programs read them; Ctrl-C ends it."""
    image, objects = packed
    folder = tmp_path / "mnt"
    with mounted(image, folder) as line:
        assert "200 payloads" in line
        copy = tmp_path / "copy"
        subprocess.run(["cp", "-r", folder / "00000", copy], check=True)
        found = {int(path.stem): path.read_bytes() for path in copy.glob("*.bin")}
        assert found == objects
        extracted = tmp_path / "extracted"
        forebay("store", "extract", image, extracted)
        beside = {path.name: path.read_text() for path in extracted.rglob("*.json")}
        assert {path.name: path.read_text() for path in copy.glob("*.json")} == beside
        assert len({json.loads(text)["name"] for text in beside.values()}) == len(objects)
        with pytest.raises(OSError, match="Read-only"):
            (folder / "00000" / "new").write_bytes(b"")
        with pytest.raises(FileNotFoundError):
            (folder / "00000" / "7.bin").read_bytes()
    deadline = time.monotonic() + 5
    while any(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(folder.iterdir())
