# SPDX-License-Identifier: Apache-2.0
"""Several senders at once: what scapy reads or writes on the wire is what each stream stored."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import tarfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from driving import BAD_INPUT, PROGRAM, ROOT, Run
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapReader, wrpcap

from forebay.store import Recording, rows_of

HEAD = struct.Struct("<4sBxHIIQQ")
PAYLOAD = 1400
Objects = dict[tuple[int, int], bytes]  # by stream and number


def pipeline(folder: Path, streams: int, stream: int = 7) -> Path:
    """Write a pipeline that takes N streams onto an image beside it."""
    path = folder / "streams.toml"
    path.write_text(f"""
[source]
stream = {stream}
streams = {streams}
[[ssd]]
profile = "ideal"
size = "64MiB"
image = "drive.img"
""")
    return path


def on_the_wire(capture: Path) -> Objects:
    """Put the objects of a capture together, by what their headers say."""
    found: Objects = defaultdict(bytes)
    with PcapReader(str(capture)) as packets:
        for packet in packets:
            payload = bytes(packet[UDP].payload)
            _, flags, stream, _, _, number, place = HEAD.unpack_from(payload)
            data = payload[HEAD.size :]
            assert len(found[stream, number]) == (0 if flags & 1 else place)
            found[stream, number] += data
    return dict(found)


def read_back(image: Path, stream: int, number: int) -> bytes:
    """Read an object by `forebay store cat`."""
    command = [PROGRAM, "store", "cat", image, str(number), "--stream", str(stream)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def extents_of(image: Path) -> dict[tuple[int, int], list[tuple[int, bytes]]]:
    """Read each extent with Python: offset and bytes, by stream and object."""
    found = defaultdict(list)
    with Recording(image) as recording:
        for row in rows_of(recording.table()):
            place = row["stream"], row["object"]
            found[place].append((row["offset"], recording.read(row)))
    return found


def test_each_stream_is_stored_as_it_was_sent(forebay: Run, tmp_path: Path) -> None:
    """Three senders at line rate: each object of each is what passed on the wire, in long parts."""
    capture, image = tmp_path / "out.pcapng", tmp_path / "drive.img"
    words = ["--generate", "6MiB", "--object", "1500000", "--pcap-out", capture]
    report = forebay("record", pipeline(tmp_path, 3), *words, "-o", "json").report
    sent = on_the_wire(capture)
    assert {len(data) for data in sent.values()} == {1_500_000, 1_000_000, 500_000}
    assert {place: read_back(image, *place) for place in sent} == sent
    extents = extents_of(image)
    for place, parts in extents.items():
        parts.sort()
        assert [at for at, _ in parts] == [
            sum(len(d) for _, d in parts[:n]) for n in range(len(parts))
        ]
        assert b"".join(data for _, data in parts) == sent[place]
    assert extents.keys() == sent.keys()
    streams = {row["stream"]: row for row in report["streams"]}
    assert streams.keys() == {7, 8, 9} and report["missing_frames"] == 0 and not report["wrong"]
    for stream, row in streams.items():
        assert row["stored_bytes"] == sum(len(sent[p]) for p in sent if p[0] == stream)
    # Rings have 1 MiB: less than half of that is seldom a part.
    assert report["stored"]["count"] < report["stored"]["bytes"] / 524_288 + len(sent)
    listed = forebay("store", "ls", image, "--stream", 8, "-o", "json").report["objects"]
    assert {row["object"] for row in listed} == {n for s, n in sent if s == 8}
    assert forebay("store", "verify", image, "-o", "json").report["damaged"] == 0


def frames(stream: int, objects: list[bytes]) -> list[Packet]:
    """Return the frames of a sender."""
    found = []
    for object_, data in enumerate(objects):
        for at in range(0, len(data), PAYLOAD):
            flags = 0x20 | (at == 0) | (at + PAYLOAD >= len(data)) << 1
            numbers = (flags, stream, stream, len(found), object_, at or len(data))
            payload = HEAD.pack(b"FBY1", *numbers) + data[at : at + PAYLOAD]
            head = Ether(dst="02:46:42:00:00:01") / IP(src="10.77.0.1", dst="10.77.0.2")
            found.append(head / UDP(sport=9, dport=0xFB01) / Raw(payload))
    return found


def test_gaps_are_those_of_their_stream(forebay: Run, tmp_path: Path) -> None:
    """Scapy's frames of four senders, one with losses, one too many: the others are whole."""
    source = random.Random(3)
    sent = {s: [source.randbytes(source.randrange(1, 60_000)) for _ in range(6)] for s in range(4)}
    sent[1][0] = source.randbytes(50_000)
    queues = {stream: frames(stream, objects) for stream, objects in sent.items()}
    del queues[1][5:8]
    counts = {stream: len(queue) for stream, queue in queues.items()}
    wire = []
    while any(queues.values()):
        queue = queues[source.choice([s for s, queue in queues.items() if queue])]
        wire += [queue.pop(0) for _ in range(min(source.choice([1, 1, 3]), len(queue)))]
    wrpcap(str(tmp_path / "in.pcap"), wire)
    words = ["--pcap", tmp_path / "in.pcap", "--flat-out", "-o", "json"]
    report = forebay("record", pipeline(tmp_path, 3, stream=0), *words).report
    places = {row["name"]: row["frames"] for row in report["places"] if row["frames"]}
    assert places == {"delivered": sum(counts.values()) - counts[3], "stream": counts[3]}
    gaps = [(gap["stream"], gap["object"], gap["offset"], gap["frames"]) for gap in report["gaps"]]
    assert gaps == [(1, 0, 8 * PAYLOAD, 3)]
    assert {row["stream"]: row["missing_frames"] for row in report["streams"]} == {0: 0, 1: 3, 2: 0}
    image = tmp_path / "drive.img"
    for stream, number in [(s, n) for s in range(3) for n in range(6) if (s, n) != (1, 0)]:
        assert read_back(image, stream, number) == sent[stream][number], (stream, number)
    lossy = b"".join(data for _, data in sorted(extents_of(image)[1, 0]))
    assert lossy == sent[1][0][: 5 * PAYLOAD] + sent[1][0][8 * PAYLOAD :]


@pytest.mark.parametrize(
    ("size", "all_bytes", "delay"),
    [("3KiB", "3MiB", 1023), ("3KiB", "3MiB", 131071), ("1500KB", "8MiB", 1023)],
)
def test_a_result_stands_with_its_object(
    tmp_path: Path, size: str, all_bytes: str, delay: int
) -> None:
    """Four senders, results dropped, late and out of order: each record has its own or none.

    Objects that are longer than a ring come in several extents: the one that ends an object has the
    result.
    """
    report = tmp_path / "report.json"
    words = ["--bytes", all_bytes, "--object", size, "--delay", str(delay), "--wait", "20us"]
    command = [sys.executable, "scripts/results.py", *words, "--json", report]
    subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
    found = json.loads(report.read_text())
    assert found["wrong"] == 0 and found["counters_agree"]
    fates = found["result"] + found["late"] + found["unjudged"]
    assert fates == found["objects"] <= found["extents"] and min(fates, found["result"]) > 0
    assert (found["extents"] > found["objects"]) == (size == "1500KB")
    # What came too late is dropped, and counted.
    # Behind a result that is missing the next record does not wait, which few large objects show.
    assert (found["stray"] > 0) == (delay > 100_000) or size == "1500KB"


def test_long_objects_of_several_senders_are_judged(forebay: Run, tmp_path: Path) -> None:
    """Each has the mean of all of its bytes, in the record of the extent that ends it, alone."""
    path = pipeline(tmp_path, 3)
    path.write_text(path.read_text() + '[[pe]]\nname = "mean"\nthreshold = 127\n')
    words = ["--generate", "12MiB", "--object", "2500000", "-o", "json"]
    report = forebay("record", path, *words).report
    judged, counted = {}, 0
    with Recording(tmp_path / "drive.img") as recording:
        for row in rows_of(recording.table()):
            if row["result"]:
                judged[row["stream"], row["object"]] = row["offset"], row["class"], row["score"]
            counted += 1
    extents = extents_of(tmp_path / "drive.img")
    assert judged.keys() == extents.keys() and counted > 2 * len(extents)
    for place, parts in extents.items():
        mean = Fraction(sum(sum(data) for _, data in parts), sum(len(data) for _, data in parts))
        offset, class_, score = judged[place]
        assert offset == max(at for at, _ in parts)
        # Rounded towards zero, to 24 bits.
        assert class_ == (mean >= 127) and 0 <= mean - Fraction(score) < Fraction(128, 2**24) * 2
    results = report["results"]
    assert sum(results["classes"].values()) == len(extents)
    assert results["unjudged"] == results["late"] == results["stray"] == 0


def test_a_result_has_the_columns_of_its_manifest(forebay: Run, tmp_path: Path) -> None:
    """A hash, a list, a single: in the Arrow index, the JSON of each object, lists and tables.

    The element shortens packets: the index has both lengths.
    """
    path, image = pipeline(tmp_path, 2), tmp_path / "drive.img"
    element = f'[[pe]]\nname = "label"\npath = "{ROOT}/tests/elements"\nbeats = 4\n'
    path.write_text(path.read_text() + element)
    report = forebay("record", path, "--generate", "200KB", "--object", "1000", "-o", "json").report
    assert report["results"]["judged"] == report["stored"]["count"] > 190
    with Recording(image) as recording:
        region, data = recording.superblock.index, recording.superblock.data
        table = recording.table()
        due, received, payloads = [], [], {}
        for row in rows_of(table):
            payload = payloads[row["stream"], row["object"]] = recording.read(row)
            # The second sender's objects have half the length.
            received.append(1000 if row["stream"] == 7 else 500)
            assert (row["length"], row["received"]) == (256, received[-1])
            score = bytearray(payload[2:6])
            score[3] &= 0xBF
            due.append((payload[:6], [received[-1], 256], struct.unpack("<f", score)[0]))
        columns = [table[name].to_pylist() for name in ("head", "sizes", "mark")]
        assert list(zip(*columns, strict=True)) == due
    # Arrow's own reader finds the same on the raw drive, and DuckDB in what it hands on.
    stream = image.read_bytes()[region.at : region.at + region.bytes]
    raw = pa.ipc.open_stream(pa.py_buffer(stream)).read_all()
    raw.validate(full=True)
    assert [raw[name].to_pylist() for name in ("head", "sizes", "mark")] == columns
    assert raw["received"].to_pylist() == received
    total = duckdb.sql("select sum(sizes[1]) as bytes, count(head) as n from raw").fetchall()[0]
    assert total == (sum(received), len(due))
    # So does tar, whose JSON stands in front of each object.
    with image.open("rb") as file:
        file.seek(data.at)
        with tarfile.open(fileobj=file, mode="r|") as archive:
            for member in archive:
                if member.name.endswith(".json") and "recording" not in member.name:
                    said = json.loads(archive.extractfile(member).read())
                    payload = payloads[said["stream"], said["object"]]
                    assert said["head"] == payload[:6].hex()
                    assert said["sizes"] == [1000 if said["stream"] == 7 else 500, 256]
    listed = forebay("store", "ls", image, "-o", "json").report["objects"]
    heads = {(row["stream"], row["object"]): row["head"] for row in listed}
    assert heads == {place: payload[:6].hex() for place, payload in payloads.items()}
    assert forebay("store", "verify", image, "-o", "json").report["damaged"] == 0


LOOKUP = [int(word, 16) for word in (ROOT / "tests/elements/lookup.hex").read_text().split()]


def judged_rows(image: Path) -> int:
    """Count objects with a result: each the mean of what the branch made of its bytes."""
    judged = 0
    with Recording(image) as recording:
        for row in rows_of(recording.table()):
            if row["result"]:
                data = bytes(LOOKUP[byte] for byte in recording.read(row))
                mean = Fraction(sum(data), len(data))
                assert row["class"] == (mean >= 128)
                assert 0 <= mean - Fraction(row["score"]) < Fraction(256, 2**24)
                judged += 1
    return judged


@pytest.mark.parametrize("rest", [0, 30])
def test_a_branch_judges_a_copy(forebay: Run, tmp_path: Path, rest: int) -> None:
    """Objects are stored as they came; of a copy an element looks up each byte, another judges it.

    With `rest` the branch takes a beat in 31 cycles: what it does not see has no result.
    """
    path, capture = pipeline(tmp_path, 3), tmp_path / "out.pcapng"
    text, folder = path.read_text(), ROOT / "tests/elements"
    for name, keys in [
        ("slow", f'path = "{folder}"\ntap = "skip"\nrest = {rest}'),
        ("lookup", f'path = "{folder}"\ntap = "follow"'),
        ("mean", 'tap = "follow"\nthreshold = 128'),
    ]:
        text += f'[[pe]]\nname = "{name}"\n{keys}\n'
    path.write_text(text)
    words = ["--generate", "3MiB", "--object", "8000", "--pcap-out", capture, "-o", "json"]
    report = forebay("record", path, *words).report
    image = tmp_path / "drive.img"
    sent = on_the_wire(capture)
    stored = {place: b"".join(d for _, d in parts) for place, parts in extents_of(image).items()}
    assert stored == sent
    results = report["results"]
    judged = judged_rows(image)
    assert judged == sum(results["classes"].values()) == len(sent) - results["unseen"]
    assert results["unjudged"] == results["unseen"] and results["late"] == results["stray"] == 0
    assert judged > 0 and (results["unseen"] > 0) == (rest > 0)
    assert report["elements"] == [{"pe": 2, "name": "mean", "status": {"lost": 0}}]


@pytest.mark.parametrize(
    ("elements", "said"),
    [
        ([("mean", "follow")], 'pe[0].tap is "follow", but the element before it is in no branch'),
        ([("pass", None), ("mean", "follow")], "the element before it is in no branch"),
        ([("add", "wait"), ("mean", None)], "no element in it makes results"),
        ([("mean", "sometimes")], 'pe[0].tap is "sometimes"'),
        ([("mean", 1)], "pe[0].tap is 1"),
    ],
)
def test_branches_that_cannot_be(
    forebay: Run, tmp_path: Path, elements: list[tuple[str, object]], said: str
) -> None:
    """The file is refused, with line, value, limit and remedy."""
    path, text = tmp_path / "tap.toml", ""
    for name, tap in elements:
        text += f'[[pe]]\nname = "{name}"\n' + (f"tap = {json.dumps(tap)}\n" if tap else "")
    path.write_text(text)
    refused = forebay("pipeline", "check", path, code=BAD_INPUT)
    assert said in refused.complaint and f"{path.name}:" in refused.complaint


def test_more_senders_than_are_taken(forebay: Run, tmp_path: Path) -> None:
    """The frames of the others are counted, and nothing of them is stored."""
    words = ["--generate", "1MiB", "--streams", 3, "--object", "100KiB", "-o", "json"]
    report = forebay("record", pipeline(tmp_path, 2), *words).report
    assert [row["stream"] for row in report["streams"]] == [7, 8]
    places = {row["name"]: row["frames"] for row in report["places"] if row["frames"]}
    assert places.keys() == {"delivered", "stream"} and not report["wrong"]


@pytest.mark.parametrize(
    ("stream", "streams", "words", "said"),
    [
        (0, 5, [], "source.streams is 5, but it is a whole number from 1 to 4"),
        (0, 0, [], "source.streams is 0, but it is a whole number from 1 to 4"),
        (65_534, 3, [], "streams go up to 65535, and the first is 65534"),
        (65_534, 1, ["--streams", 3], "source.senders is 3, but streams go up to 65535"),
        (0, 1, ["--streams", 0], "1..=64"),
    ],
)
def test_streams_that_cannot_be(
    forebay: Run, tmp_path: Path, stream: int, streams: int, words: list, said: str
) -> None:
    """They are refused with field, value, limit and remedy before anything is recorded."""
    path = pipeline(tmp_path, streams, stream)
    answer = forebay("record", path, "--generate", "1MiB", *words, code=BAD_INPUT)
    assert said in answer.complaint
    assert "choose fewer" in answer.complaint or "whole number" in said or "1..=64" in said
