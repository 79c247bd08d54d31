# SPDX-License-Identifier: Apache-2.0
"""Whole frames as a capture on the drive: made by scapy, read by tshark, capinfos and scapy."""

from __future__ import annotations

import io
import random
import shutil
import subprocess
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, DAMAGED, PROGRAM, Run, call
from recordings import flip, mounted
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapNgReader, RawPcapNgReader, RawPcapReader, wrpcap
from test_record import named
from test_recording import partitions

from forebay.store import Recording, StoreError, rows_of

SINK = '[sink]\nlayout = "packets"\nwait = "20us"\n'
DRIVE = '[[ssd]]\nsize = "64MiB"\nimage = "drive.img"\n'
PAGE = 4096
LEAST = 60


def packet(rng: random.Random) -> Packet:
    """Return a frame of any sender and receiver, of a kind unknown to us."""
    data = Raw(rng.randbytes(rng.choice([0, 1, 18, rng.randrange(1400)])))
    ether = Ether(src="02:00:00:00:00:09", dst=rng.choice(["02:aa:00:00:00:01", "ff:" * 5 + "ff"]))
    source = {"src": "10.1.0.1"}
    return rng.choice(
        [
            ether / IP(dst="10.1.1.1", **source) / TCP(sport=1, dport=8080) / data,
            ether / IP(dst="10.1.1.1", **source) / UDP(sport=4000, dport=4000) / data,
            ether / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=4000, dport=4000) / data,
            ether / Dot1Q(vlan=5) / IP(dst="10.77.0.2", **source) / ICMP() / data,
            ether / ARP(psrc="10.1.0.1", pdst="10.1.0.2"),
        ]
    )


def make_frames(path: Path, count: int, seed: int = 1) -> list[bytes]:
    """Write a capture, some microseconds long; return its frames as a MAC sends them."""
    rng, packets, time = random.Random(seed), [], 1.0
    for _ in range(count):
        time += rng.random() * 1e-6
        packets.append(packet(rng))
        packets[-1].time = time
    wrpcap(str(path), packets, nano=True)
    return [bytes(each).ljust(LEAST, b"\0") for each in packets]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes], dict]:
    """Record a capture full of all kinds of frames."""
    folder = tmp_path_factory.mktemp("packets")
    frames = make_frames(folder / "in.pcap", 400)
    (folder / "x.toml").write_text(DRIVE + SINK)
    words = ["record", folder / "x.toml", "--pcap", folder / "in.pcap", "-o", "json"]
    return folder / "drive.img", frames, call(*words).report


def cat(image: Path, *words: object, code: int = 0) -> bytes:
    """Return what `forebay store cat` writes."""
    command = [PROGRAM, "store", "cat", image, *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def by_scapy(data: bytes) -> list[tuple[int, bytes]]:
    """Return time and frame of each packet."""
    with RawPcapNgReader(io.BytesIO(data)) as reader:
        return [((m.tshigh << 32) + m.tslow, bytes(frame)) for frame, m in reader]


def by_tshark(path: Path) -> list[bytes]:
    """Return all frames, and see that tshark has nothing to say of the file."""
    assert shutil.which("tshark"), "tshark is missing: `scripts/setup test` installs it"
    command = ["tshark", "-r", str(path), "-F", "pcap", "-w", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert b"damaged" not in done.stderr
    with io.BytesIO(done.stdout) as file, RawPcapReader(file) as reader:
        return [bytes(frame) for frame, _ in reader]


def capinfos(path: Path) -> dict[str, str]:
    """Return what capinfos says of a file."""
    command = ["capinfos", "-M", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = (line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in lines}


def test_all_frames_are_in_the_capture(recorded: tuple, tmp_path: Path) -> None:
    """Byte by byte, in order, with times that grow, for tshark, capinfos and scapy."""
    image, frames, report = recorded
    arrivals = named(report, "arrivals")
    assert arrivals["datagram"] == report["offered"]["count"] == len(frames)
    assert report["missing_frames"] == 0 and not report["wrong"]
    data = cat(image)
    out = tmp_path / "out.pcapng"
    out.write_bytes(data)
    packets = by_scapy(data)
    times = [time for time, _ in packets]
    assert [frame for _, frame in packets] == frames and times == sorted(times)
    assert len(set(times)) > len(times) / 2
    assert by_tshark(out) == frames
    said = capinfos(out)
    assert said["Number of packets"] == str(len(frames)) and said["Strict time order"] == "True"
    assert said["File timestamp precision"] == "nanoseconds (9)"
    assert said["Capture application"] == "forebay store"
    with Recording(image) as recording:
        assert str(recording.superblock.session) in said["Capture comment"]
        first = next(rows_of(recording.objects()))
    # A chunk comes with its first frame.
    assert first["time"] == times[0]


@pytest.mark.parametrize("clock", ["recorder", "ieee1588"])
def test_times_are_those_of_the_wire(clock: str, tmp_path: Path) -> None:
    """A capture that is sent and recorded has its times again, but for cycles of the clocks."""
    rng, packets, sent = random.Random(2), [], [10**9]
    for _ in range(150):
        packets.append(packet(rng))
        packets[-1].time = Decimal(sent[-1]) / 10**9
        sent.append(sent[-1] + rng.randrange(200, 1500))
    wrpcap(str(tmp_path / "in.pcap"), packets, nano=True)
    (tmp_path / "x.toml").write_text(f'{DRIVE}{SINK}[source]\nclock = "{clock}"\n')
    call("record", tmp_path / "x.toml", "--pcap", tmp_path / "in.pcap")
    found = [at for at, _ in by_scapy(cat(tmp_path / "drive.img"))]
    differ = [at - found[0] - due + sent[0] for at, due in zip(found, sent[:-1], strict=True)]
    # The recorder's clock crosses to the MAC's in steps of some cycles.
    assert max(map(abs, differ)) <= (10 if clock == "ieee1588" else 80)
    year = datetime.fromtimestamp(found[0] // 10**9, UTC)
    assert clock == "recorder" or (year.year, year.month, year.day) == (2026, 1, 1)
    with Recording(tmp_path / "drive.img") as recording:
        assert next(rows_of(recording.objects()))["time"] == found[0]


def test_the_drive_itself_is_a_capture(recorded: tuple, tmp_path: Path) -> None:
    """The partition alone, as it lies there, is what others read, up to the end of the data."""
    image, frames, _ = recorded
    place = partitions(image)["forebay-data"]
    with Recording(image) as recording:
        end = recording.superblock.end
    data = image.read_bytes()
    assert data[place.start : end] == cat(image)
    out = tmp_path / "partition.pcapng"
    command = ["dd", f"if={image}", f"of={out}", "bs=4096", f"skip={place.start // PAGE}"]
    subprocess.run([*command, f"count={(end - place.start) // PAGE}"], check=True)
    assert by_tshark(out) == frames
    # Without the end scapy stops by itself; tshark complains, and has all frames.
    assert [frame for _, frame in by_scapy(data[place.start :])] == frames
    out.write_bytes(data[place])
    done = subprocess.run(["tshark", "-r", out], capture_output=True, text=True, check=False)
    assert done.returncode and len(done.stdout.splitlines()) == len(frames)


def test_each_way_out_is_the_same_file(forebay: Run, recorded: tuple, tmp_path: Path) -> None:
    """`extract`, `export` and Python give what `cat` does; a chunk alone is a capture, too."""
    image, frames, report = recorded
    data = cat(image)
    assert forebay("store", "extract", image, tmp_path / "out", "-o", "json").report["files"] == 1
    assert (tmp_path / "out/packets.pcapng").read_bytes() == data
    forebay("store", "export", image, tmp_path / "to", "--to", "pcapng")
    assert (tmp_path / "to/packets.pcapng").read_bytes() == data
    with Recording(image) as recording:
        assert recording.capture().read() == data
        with PcapNgReader(io.BufferedReader(recording.capture())) as reader:
            assert [bytes(packet) for packet in reader] == frames
        chunks = list(rows_of(recording.objects()))
    assert [row["object"] for row in chunks] == list(range(report["stored"]["count"]))
    alone = [by_scapy(cat(image, row["object"])) for row in chunks]
    assert [frame for chunk in alone for _, frame in chunk] == frames
    listed = forebay("store", "ls", image, "-o", "json").report["objects"]
    assert [row["length"] for row in listed] == [row["length"] for row in chunks]
    assert forebay("store", "info", image, "-o", "json").report["mode"] == "packets"
    forebay("store", "verify", image)
    assert not forebay("store", "repair", image, "-o", "json").report["changed"]


def test_damage_takes_its_chunk_alone(forebay: Run, recorded: tuple, tmp_path: Path) -> None:
    """What is damaged is left out and told; the rest is a capture without a flaw."""
    image = shutil.copy(recorded[0], tmp_path / "drive.img")
    with Recording(image) as recording:
        chunks = list(rows_of(recording.objects()))
    before, lost = by_scapy(cat(image)), by_scapy(cat(image, chunks[2]["object"]))
    # The length of a block: a reader that believes it finds no other.
    flip(image, chunks[2]["address"] + 6)
    report = forebay("store", "verify", image, "-o", "json", code=DAMAGED).report
    assert report["damaged"] == 1
    rest = by_scapy(cat(image, code=DAMAGED))
    assert lost and rest == [packet for packet in before if packet not in lost]
    words = ["store", "export", image, tmp_path / "to", "--to", "pcapng", "-o", "json"]
    assert forebay(*words, code=DAMAGED).report["left_out"] == 1
    assert by_scapy((tmp_path / "to/packets.pcapng").read_bytes()) == rest
    # The first page is the host's, and comes back.
    with Recording(image) as recording:
        flip(image, recording.superblock.data.at)
    assert "the capture's first page is damaged" in forebay("store", "ls", image).complaint
    refused = forebay("store", "export", image, tmp_path / "2", "--to", "pcapng", code=BAD_INPUT)
    assert "first page" in refused.complaint and "store repair" in refused.complaint
    with Recording(image) as recording, pytest.raises(StoreError, match="first page"):
        recording.capture()
    assert by_scapy(cat(image, code=DAMAGED)) == rest
    forebay("store", "repair", image)
    assert "first page" not in forebay("store", "ls", image).complaint


def test_what_is_lost_is_told_at_its_place(forebay: Run, tmp_path: Path) -> None:
    """A drive slower than the line and no pause: each frame is in the capture, or told by it."""
    count = 12_000
    frames = [Ether(type=0x9000) / Raw(n.to_bytes(4, "big") * 250) for n in range(count)]
    wrpcap(str(tmp_path / "in.pcap"), frames)
    slow = DRIVE.replace("[[ssd]]\n", '[[ssd]]\nprofile = "pm953-480"\n')
    (tmp_path / "x.toml").write_text(f'{slow}{SINK}[source]\npause = "off"\n')
    words = ["record", tmp_path / "x.toml", "--pcap", tmp_path / "in.pcap", "--flat-out"]
    report = forebay(*words, "-o", "json", code=BAD_RESULT).report
    lost = named(report, "arrivals")["overflow"]
    found = [frame for _, frame in by_scapy(cat(tmp_path / "drive.img"))]
    assert lost > 0 and len(found) + lost == count and not report["wrong"]
    out = tmp_path / "out.pcapng"
    out.write_bytes(cat(tmp_path / "drive.img"))
    command = ["tshark", "-r", out, "-T", "fields", "-e", "frame.drop_count"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    told = [int(drops or 0) for drops in told]
    due = owed = 0
    for frame, drops in zip(found, told, strict=True):
        number = int.from_bytes(frame[14:18], "big")
        owed += number - due
        assert drops == min(owed, 255)
        owed -= drops
        due = number + 1
    # Losses behind the last frame stored cannot be told.
    assert sum(told) + owed + len(found) == due and lost - sum(told) == count - due + owed
    with Recording(tmp_path / "drive.img") as recording:
        rows = list(rows_of(recording.objects()))
    first = missing = 0
    for row in rows:
        missing += row["missing"]
        assert missing == sum(told[: first + 1])
        first += len(by_scapy(cat(tmp_path / "drive.img", row["object"])))
    assert 0 < report["missing_frames"] == missing and first == len(found)


def test_mounted_it_is_one_file(recorded: tuple, tmp_path: Path) -> None:
    """Tshark reads it in place."""
    image, frames, _ = recorded
    folder = tmp_path / "mnt"
    with mounted(image, folder):
        assert [path.name for path in folder.iterdir()] == ["packets.pcapng"]
        assert by_tshark(folder / "packets.pcapng") == frames
        assert (folder / "packets.pcapng").read_bytes() == cat(image)


def test_what_cannot_be_is_refused(forebay: Run, recorded: tuple, tmp_path: Path) -> None:
    """With what it is, and what to do."""
    image = tmp_path / "new.img"
    words = ["store", "format", image, "--size", "16MiB", "--mode", "packets"]
    said = forebay(*words, "--ring", code=BAD_INPUT).complaint
    assert "ring is 1, but a capture has a beginning" in said and not image.exists()
    forebay(*words)
    assert by_scapy(cat(image)) == []
    (tmp_path / "files").mkdir()
    (tmp_path / "files/a").write_bytes(b"a")
    said = forebay("store", "pack", tmp_path / "files", image, code=BAD_INPUT).complaint
    assert "files of a folder are objects" in said
    said = forebay("store", "tar", recorded[0], code=BAD_INPUT).complaint
    assert "only objects lie there as a tar file" in said
    objects = tmp_path / "objects.img"
    forebay("store", "pack", tmp_path / "files", objects)
    said = forebay("store", "cat", objects, code=BAD_INPUT).complaint
    assert "only packets lie there as a capture" in said
    words = ["store", "export", objects, tmp_path / "to", "--to", "pcapng"]
    assert "not packets" in forebay(*words, code=BAD_INPUT).complaint
