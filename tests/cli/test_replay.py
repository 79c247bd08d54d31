# SPDX-License-Identifier: Apache-2.0
"""`forebay replay`: the recorder finds objects by number, scapy sees what leaves the port."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, ROOT, Answer, Run, call
from recordings import ROWS, block_at, flip
from scapy.layers.l2 import ARP
from scapy.utils import rdpcap, wrpcap
from test_record import assert_sound, frames, make_objects, sent_back
from test_recording import record_image

COUNT = 200


@pytest.fixture(scope="module")
def objects() -> dict[int, bytes]:
    """Objects for more than three blocks of the index."""
    return make_objects(COUNT, 1, 12_000)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, objects: dict[int, bytes]) -> Path:
    """Record them, once."""
    folder = tmp_path_factory.mktemp("recorded")
    record_image(call, folder, objects)
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    """Copy the recording."""
    return Path(shutil.copytree(recorded, tmp_path / "copy"))


def replay(forebay: Run, folder: Path, numbers: str, *words: object, code: int = 0) -> Answer:
    """Send objects of the image; all that leaves the port is captured."""
    out = ("--pcap-out", folder / "out.pcapng", "-o", "json")
    return forebay("replay", folder / "x.toml", "--objects", numbers, *words, *out, code=code)


def test_objects_leave_by_number(forebay: Run, folder: Path, objects: dict[int, bytes]) -> None:
    """A range from the middle, paced; one alone; all from one on. The recording stays as it is."""
    before = (folder / "drive.img").read_bytes()
    report = replay(forebay, folder, "50..149", "--rate", "1GB/s").report
    back = sent_back(folder / "out.pcapng")
    assert back == {n: objects[n] for n in range(50, 150)} and list(back) == sorted(back)
    assert (report["found"], report["passed"], report["blocks"]) == (100, 0, 3)
    on_wire = report["frame_bytes"] + 24 * report["frames"]
    # Two reads go before the first frame.
    assert 0.6 < on_wire / report["nanoseconds"] <= 1.0
    # And the receiver's answer to who it is.
    assert_sound(folder / "out.pcapng", report["frames"] + 1)
    asked, answered = rdpcap(str(folder / "out.pcapng"), 2)
    assert answered[ARP].answers(asked[ARP]) and asked[ARP].pdst == "10.77.0.1"
    report = replay(forebay, folder, "7").report
    assert sent_back(folder / "out.pcapng") == {7: objects[7]} and report["found"] == 1
    replay(forebay, folder, "190..")
    assert sent_back(folder / "out.pcapng") == {n: objects[n] for n in range(190, COUNT)}
    assert (folder / "drive.img").read_bytes() == before


def test_what_is_not_whole_is_passed_over(forebay: Run, tmp_path: Path) -> None:
    """A frame was lost: its object is no object; the others are sent."""
    objects = {n: bytes([n]) * 20_000 for n in range(10)}
    sent = list(frames(objects))
    wrpcap(str(tmp_path / "in.pcap"), sent[:7] + sent[8:])
    (tmp_path / "x.toml").write_text('[[ssd]]\nsize = "64MiB"\nimage = "drive.img"\n')
    forebay("record", tmp_path / "x.toml", "--pcap", tmp_path / "in.pcap", "--flat-out")
    report = replay(forebay, tmp_path, "0..").report
    back = sent_back(tmp_path / "out.pcapng")
    assert back == {n: data for n, data in objects.items() if n != 0}
    assert report["found"] == 9 and report["passed"] >= 1


def test_a_damaged_block_is_told(forebay: Run, folder: Path, objects: dict[int, bytes]) -> None:
    """What the rest of the index has is sent."""
    flip(folder / "drive.img", block_at(folder / "drive.img", 1) + 2000)
    report = replay(forebay, folder, "0..", code=BAD_RESULT).report
    assert report["damaged"] == 1 and report["found"] == COUNT - ROWS
    back = sent_back(folder / "out.pcapng")
    assert back == {n: data for n, data in objects.items() if not ROWS <= n < 2 * ROWS}


def test_another_index_is_refused(forebay: Run, folder: Path) -> None:
    """A recorder that was built for other columns of results would read others in their place."""
    path = folder / "x.toml"
    # A pipeline of tests/cli/test_streams.py: its RTL is built only once.
    element = f'[[pe]]\nname = "label"\npath = "{ROOT}/tests/elements"\nbeats = 4\n'
    path.write_text("[source]\nstreams = 2\n" + path.read_text() + element)
    answer = replay(forebay, folder, "0..", code=BAD_INPUT)
    assert "head bytes[6], sizes u32[2], mark f32; lengths as received" in answer.complaint
    assert "the pipeline that it was recorded with" in answer.complaint


def test_a_ring_is_begun_where_it_goes_on(forebay: Run, tmp_path: Path) -> None:
    """What newer data lie on is not sent."""
    objects = {n: n.to_bytes(4, "little") * 100_000 for n in range(25)}
    wrpcap(str(tmp_path / "in.pcap"), list(frames(objects)))
    sink = '[sink]\npolicy = "ring"\nsmallest = "400KiB"\n'
    (tmp_path / "x.toml").write_text(f'[[ssd]]\nsize = "10MiB"\nimage = "drive.img"\n{sink}')
    forebay("record", tmp_path / "x.toml", "--pcap", tmp_path / "in.pcap", "--flat-out")
    report = replay(forebay, tmp_path, "0..").report
    back = sent_back(tmp_path / "out.pcapng")
    assert back and back == {n: objects[n] for n in back} and len(back) == report["found"]
    # One lies on both sides of the end: two rows, and no whole object.
    assert min(back) > 0 and len(set(range(min(back), 25)) - set(back)) <= 1
    assert report["passed"] <= 2


@pytest.mark.parametrize(
    ("numbers", "words"),
    [("9..5", "ends before it begins"), ("x", "no number"), ("500..", "no object of stream 0")],
)
def test_numbers_that_cannot_be(forebay: Run, folder: Path, numbers: str, words: str) -> None:
    """What is wrong is told, and what to do."""
    assert words in replay(forebay, folder, numbers, code=BAD_INPUT).complaint


def test_nothing_to_send(forebay: Run, tmp_path: Path) -> None:
    """Drives without a recording."""
    (tmp_path / "x.toml").write_text("")
    answer = replay(forebay, tmp_path, "0..", code=BAD_INPUT)
    assert "recording" in answer.complaint
