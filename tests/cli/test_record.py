# SPDX-License-Identifier: Apache-2.0
"""`forebay record`: frames that scapy, Linux and we make, through the RTL, onto drives.

What is on the wire is made and judged by others: scapy writes captures, tshark and scapy read ours,
Linux pings, sends and receives through a TAP interface in a network namespace of its own.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, FILE_FAILED, PROGRAM, ROOT, Run, call
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapReader, PcapWriter, wrpcap

HEAD = struct.Struct("<4sBxHIIQQ")
MAC, ADDRESS, PORT = "02:46:42:00:00:01", "10.77.0.2", 0xFB01
ADDRESS6 = "fd77::2"
PAYLOAD = 1400


def header(number: int, object_: int, at: int, data: bytes, epoch: int = 7) -> bytes:
    """Return the header in front of a payload: ten lines, as docs/reference/net.md has them."""
    flags = 0x20 | (at == 0) | (at + PAYLOAD >= len(data)) << 1
    return HEAD.pack(b"FBY1", flags, 0, epoch, number, object_, at or len(data))


def udp(payload: bytes, **fields: int | str) -> Packet:
    """Return a datagram for us."""
    ether = Ether(src="02:00:00:00:00:01", dst=MAC)
    return ether / IP(src="10.77.0.1", dst=ADDRESS) / UDP(dport=PORT, **fields) / Raw(payload)


def frames(objects: dict[int, bytes]) -> Iterator[Packet]:
    """Return the frames of some objects."""
    number = 0
    for object_, data in objects.items():
        for at in range(0, len(data), PAYLOAD):
            yield udp(header(number, object_, at, data) + data[at : at + PAYLOAD], sport=40_000)
            number += 1


def make_objects(count: int, least: int, most: int) -> dict[int, bytes]:
    """Return objects of random bytes and length."""
    source = random.Random(4)
    return {n: source.randbytes(source.randint(least, most)) for n in range(count)}


def files(folder: Path) -> dict[int, bytes]:
    """Read what --extract left."""
    return {int(path.stem.split("-")[1]): path.read_bytes() for path in folder.glob("object-*.bin")}


def sent_back(capture: Path) -> dict[int, bytes]:
    """Put together the objects that we sent, in the order in which they came."""
    back: dict[int, bytes] = {}
    with PcapReader(str(capture)) as packets:
        for packet in packets:
            if UDP in packet and packet[IP].src == ADDRESS:
                payload = bytes(packet[UDP].payload)
                object_ = HEAD.unpack_from(payload)[5]
                back[object_] = back.get(object_, b"") + payload[HEAD.size :]
    return back


def named(report: dict, group: str) -> dict[str, int]:
    """Return the number of frames of each outcome that there was."""
    return {row["name"]: row["frames"] for row in report[group] if row["frames"]}


def test_a_capture_is_recorded_and_sent_back(forebay: Run, tmp_path: Path) -> None:
    """Scapy's frames become files; what is sent back is the same, and tshark finds no fault."""
    objects = make_objects(12, 1, 40_000)
    wrpcap(str(tmp_path / "in.pcap"), list(frames(objects)))
    out = tmp_path / "out.pcapng"
    report = forebay(
        *("run", "--pcap", tmp_path / "in.pcap", "--flat-out", "--extract", tmp_path / "objects"),
        *("--pcap-out", out, "--back", "5GB/s", "-o", "json"),
    ).report
    assert files(tmp_path / "objects") == objects
    count = sum(-(-len(data) // PAYLOAD) for data in objects.values())
    # The request is the receiver's answer to who it is.
    assert named(report, "arrivals") == {"datagram": count, "request": 1}
    assert named(report, "places") == {"delivered": count}
    assert report["whole_objects"] == 12 and report["gap_count"] == 0 and not report["wrong"]
    assert report["stored"] == {"count": 12, "bytes": sum(map(len, objects.values()))}
    assert report["fetched"] == [12, 0]
    assert sent_back(out) == objects
    assert_sound(out, count + 1 + sum(row["frames"] for row in report["sent"]))


def test_a_group_is_received(forebay: Run, tmp_path: Path) -> None:
    """What scapy sends to the group is recorded, as what is for us; other groups are not."""
    objects = make_objects(3, 3000, 9000)
    groups = ["239.77.0.1", "239.77.0.2", ADDRESS]
    sent = []
    for frame in frames(objects):
        frame[IP].dst = group = groups[HEAD.unpack_from(bytes(frame[UDP].payload))[5]]
        if group != ADDRESS:
            frame[Ether].dst = "01:00:5e:4d:00:0" + group[-1]
        sent.append(frame)
    wrpcap(str(tmp_path / "in.pcap"), sent)
    drive = '[[ssd]]\nsize = "64MiB"\nimage = "drive.img"\n'
    (tmp_path / "x.toml").write_text(f'{drive}[source]\ngroup = "239.77.0.1"\n')
    words = ("--pcap", tmp_path / "in.pcap", "--flat-out", "--extract", tmp_path / "objects")
    report = forebay("record", tmp_path / "x.toml", *words, "-o", "json").report
    assert files(tmp_path / "objects") == {n: objects[n] for n in (0, 2)}
    assert named(report, "arrivals")["alien"] == -(-len(objects[1]) // PAYLOAD)


def udp6(payload: bytes, mac: str = MAC, ip: str = ADDRESS6, tagged: bool = False) -> Packet:
    """Return a datagram over IPv6, for us or for a group."""
    ether = Ether(src="02:00:00:00:00:01", dst=mac)
    upper = IPv6(src="fd77::1", dst=ip) / UDP(sport=40_000, dport=PORT) / Raw(payload)
    return ether / Dot1Q(vlan=5) / upper if tagged else ether / upper


def test_ipv6_is_received(forebay: Run, tmp_path: Path) -> None:
    """What comes to our address and group is recorded, and a host that asks for us finds us."""
    objects = make_objects(4, 3000, 9000)
    ends = [(MAC, ADDRESS6), ("33:33:00:00:00:77", "ff15::77"), ("33:33:00:00:00:77", "ff15::1:77")]
    sent = []
    for frame in frames(objects):
        payload = bytes(frame[UDP].payload)
        object_ = HEAD.unpack_from(payload)[5]
        sent.append(udp6(payload, *ends[object_ % 3], tagged=object_ == 3))
    asked = IPv6(src="fd77::1", dst="ff02::1:ff00:2") / ICMPv6ND_NS(tgt=ADDRESS6)
    asked /= ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:00:01")
    sent.insert(1, Ether(src="02:00:00:00:00:01", dst="33:33:ff:00:00:02") / asked)
    ping = IPv6(src="fd77::1", dst=ADDRESS6) / ICMPv6EchoRequest(data=b"who is there?")
    sent.insert(2, Ether(src="02:00:00:00:00:01", dst=MAC) / ping)
    wrong = udp6(header(99, 9, 0, b"wrong") + b"wrong")
    wrong[UDP].chksum = 0
    sent.append(wrong)
    wrpcap(str(tmp_path / "in.pcap"), sent)
    drive = '[[ssd]]\nsize = "64MiB"\nimage = "drive.img"\n'
    (tmp_path / "x.toml").write_text(
        f'{drive}[source]\naddress6 = "{ADDRESS6}"\ngroup6 = "ff15::77"\n'
    )
    out = tmp_path / "out.pcapng"
    words = ("--pcap", tmp_path / "in.pcap", "--flat-out", "--extract", tmp_path / "objects")
    report = forebay("record", tmp_path / "x.toml", *words, "--pcap-out", out, "-o", "json").report
    assert files(tmp_path / "objects") == {n: objects[n] for n in (0, 1, 3)}
    lost, kept = (sum(-(-len(objects[n]) // PAYLOAD) for n in some) for some in ([2], [0, 1, 3]))
    expected = {"datagram": kept, "alien": lost, "request": 2, "UDP checksum": 1}
    assert named(report, "arrivals") == expected
    with PcapReader(str(out)) as packets:
        ours = [packet for packet in packets if packet.src == MAC and IPv6 in packet]
    tells, pong = ours
    assert tells[ICMPv6ND_NA].tgt == ADDRESS6 and tells[IPv6].dst == "fd77::1"
    assert tells[ICMPv6NDOptDstLLAddr].lladdr == MAC
    assert pong[ICMPv6EchoReply].data == b"who is there?"
    # All but the one without a checksum.
    with PcapReader(str(out)) as packets, PcapWriter(str(tmp_path / "sound.pcap")) as writer:
        sound = [packet for packet in packets if UDP not in packet or packet[UDP].chksum]
        for packet in sound:
            writer.write(packet)
    assert_sound(tmp_path / "sound.pcap", len(sound))


def assert_sound(capture: Path, frames: int) -> None:
    """Let tshark decode a capture: all frames, every checksum, not one expert warning.

    With our dissector: else tshark takes random payload for whatever it looks like.
    """
    assert shutil.which("tshark"), "tshark is missing: `scripts/setup test` installs it"
    dissector = capture.with_suffix(".lua")
    dissector.write_text(call("spec", "wireshark").out)
    fields = ["-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message"]
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    command = ["tshark", "-X", f"lua_script:{dissector}", "-r", str(capture), *checks, *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = done.stdout.splitlines()
    assert len(rows) == frames
    assert not [row for row in rows if row.split("\t")[1:] not in ([], [""])]


def test_a_burst_is_cut_off(tmp_path: Path) -> None:
    """Ctrl-C while frames come without an end: what was taken is stored, the rest is counted."""
    seen = tmp_path / "all.pcapng"
    command = [PROGRAM, "record", "--generate", "64GiB", "--pcap-out", seen, "-o", "json"]
    with subprocess.Popen(
        [str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        while not (seen.exists() and seen.stat().st_size > 6 << 20):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        report = json.loads(process.communicate(timeout=600)[0])
    assert process.returncode == 130
    assert report["interrupted"] and report["still_arriving"] and not report["wrong"]
    arrivals, places = named(report, "arrivals"), named(report, "places")
    assert set(places) == {"delivered", "stream"}
    assert report["offered"]["count"] == sum(places.values()) + arrivals.get("overflow", 0)
    payload = sum(row["bytes"] for row in report["places"] if row["name"] == "delivered")
    assert report["stored"]["bytes"] == payload - places["delivered"] * (42 + HEAD.size)


def test_every_fault_is_counted_by_its_cause(forebay: Run, tmp_path: Path) -> None:
    """A capture full of faults: what is good is stored, and each of the others has its counter."""
    objects = {0: random.Random(5).randbytes(20 * PAYLOAD)}
    good = list(frames(objects))
    tagged = good[3].copy()
    tagged = Ether(src=tagged.src, dst=tagged.dst) / Dot1Q(vlan=5) / tagged.payload
    wire = [*good[:3], tagged, *good[4:8]]
    wire.append(good[5])  # again
    wire += [good[10], good[9]]  # two are missing, and one of them comes late
    bad_ip = good[11].copy()
    bad_ip[IP].chksum = 1
    bad_udp = good[11].copy()
    bad_udp[UDP].chksum = 1
    fragment = good[11].copy()
    fragment[IP].flags = "MF"
    long = good[11].copy()
    long[UDP].len = 9000
    alien = good[11].copy()
    alien[UDP].dport = 9
    wire += [bad_ip, bad_udp, fragment, long, alien]
    wire += [udp(b"FBY0" + bytes(60), sport=1), udp(HEAD.pack(b"FBY1", 0x20, 9, 7, 0, 0, 1) + b"x")]
    wire += [udp(struct.pack("<4sBBHQQQ", b"FBY1", 0x11, 7, 0, 18, 9, 1) + b"x", sport=1)]
    wire += [Ether(dst="ff:ff:ff:ff:ff:ff", type=0x0806) / Raw(bytes(9100))]
    wire += good[11:]
    wrpcap(str(tmp_path / "in.pcap"), wire)
    words = ("--pcap", tmp_path / "in.pcap", "--flat-out")
    report = forebay("record", *words, "-o", "json", code=None).report
    expected = {"giant": 1, "alien": 1, "IPv4 checksum": 1, "fragment": 1, "length": 1}
    assert named(report, "arrivals") == {"datagram": 23, "UDP checksum": 1, **expected}
    places = {"delivered": 18, "header": 2, "stream": 1, "duplicate": 1, "late": 1}
    assert named(report, "places") == places
    assert report["offered"]["count"] == len(wire) and not report["wrong"]
    assert report["stored"]["bytes"] == 18 * PAYLOAD
    gap = report["gaps"][0]
    assert (report["gap_count"], gap["frames"]) == (1, 2)
    assert (gap["object"], gap["offset"]) == (0, 10 * PAYLOAD)


def test_a_sender_that_begins_anew(forebay: Run, tmp_path: Path) -> None:
    """Another epoch: whatever number it has is the one that is due, and nothing is missing."""
    first, second = (random.Random(n).randbytes(5 * PAYLOAD) for n in (1, 2))
    wire = list(frames({0: first}))[:3]
    for number, at in enumerate(range(0, len(second), PAYLOAD)):
        head = header(number, 1, at, second, epoch=8)
        wire.append(udp(head + second[at : at + PAYLOAD]))
    wrpcap(str(tmp_path / "in.pcap"), wire)
    words = ["record", "--pcap", tmp_path / "in.pcap", "--flat-out"]
    report = forebay(*words, "--extract", tmp_path / "objects", "-o", "json").report
    assert files(tmp_path / "objects") == {1: second}
    assert report["gap_count"] == 0 and report["stored"]["count"] == 2
    assert report["stored"]["bytes"] == 8 * PAYLOAD


def test_a_drive_that_hangs(forebay: Run, tmp_path: Path) -> None:
    """Pause ends at its limit: what is lost is counted, what is stored is whole."""
    drive = '[[ssd]]\nimage = "drive.img"\nsize = "64MiB"\n'
    (tmp_path / "x.toml").write_text('[source]\npause_limit = "100us"\n' + drive)
    words = ["--generate", "12MiB", "--object", "200KB", "--timeout-cycles", "300000"]
    hang = ["--fault", "drop@lba=8000..131072"]
    line = ["record", tmp_path / "x.toml", *words, *hang, "-o", "json"]
    report = forebay(*line, code=BAD_RESULT).report
    pause = report["pause"]
    assert (pause["ended"], pause["xon"]) == (1, 1) and pause["xoff"] >= 1
    arrivals = named(report, "arrivals")
    assert arrivals["overflow"] > 100
    assert arrivals["datagram"] + arrivals["overflow"] == report["offered"]["count"]
    assert report["stored"]["count"] > 0 and report["failed"]["count"] > 0
    assert report["events"] == {"closed": True, "error": True, "full": False}
    listed = forebay("store", "ls", tmp_path / "drive.img", "-o", "json").report["objects"]
    assert [row["state"] for row in listed] == ["whole"] * report["stored"]["count"]
    assert forebay("store", "verify", tmp_path / "drive.img", "-o", "json").report["damaged"] == 0


def test_a_drive_that_is_full(forebay: Run, tmp_path: Path) -> None:
    """What finds no room is counted, and raises the interrupt; the end raises it again."""
    (tmp_path / "x.toml").write_text('[[ssd]]\nimage = "drive.img"\nsize = "8MiB"\n')
    words = ["--generate", "12MiB", "--object", "200KB", "-o", "json"]
    report = forebay("record", tmp_path / "x.toml", *words, code=BAD_RESULT).report
    assert report["stored"]["count"] > 0 and report["skipped"]["count"] > 0 and not report["wrong"]
    assert report["events"] == {"closed": True, "error": False, "full": True}
    # What was skipped is cleared when no more is sent.
    assert report["interrupts"] >= 2


def test_a_link_that_flaps(forebay: Run, tmp_path: Path) -> None:
    """The MAC is reset in mid-frame: each frame is counted, what is whole is stored; it goes on."""
    drive = '[[ssd]]\nimage = "drive.img"\nsize = "64MiB"\n'
    (tmp_path / "x.toml").write_text(drive)
    line = ["record", tmp_path / "x.toml", "--generate", "6MiB", "--object", "30KB"]
    report = forebay(*line, "--flaps", "10us", "--down", "500ns", "-o", "json").report
    arrivals = named(report, "arrivals")
    assert report["link_cut"] == arrivals["damaged"] > 20 and report["link_lost"] == 0
    assert arrivals["datagram"] + arrivals["damaged"] == report["offered"]["count"]
    assert report["whole_objects"] > 100 and report["missing_frames"] >= report["link_cut"]
    assert not report["wrong"] and report["closed"]
    assert forebay("store", "verify", tmp_path / "drive.img", "-o", "json").report["damaged"] == 0
    refused = forebay(*line, "--flaps", "1us", "--down", "1us", code=BAD_INPUT).complaint
    assert "flaps.down = 1000000" in refused


def test_a_peer_that_ignores_pause(forebay: Run) -> None:
    """Stored and counted is what was offered, to the frame and the byte, and the user is told."""
    answer = forebay(
        "record", "--generate", "24MiB", "--partner-ignores-pause", "-o", "json", code=BAD_RESULT
    )
    report = answer.report
    arrivals, places = named(report, "arrivals"), named(report, "places")
    assert arrivals["overflow"] > 0
    assert arrivals["datagram"] + arrivals["overflow"] == report["offered"]["count"]
    rows = {row["name"]: row["bytes"] for row in report["arrivals"] + report["places"]}
    assert rows["delivered"] + rows["overflow"] == report["offered"]["bytes"]
    head = 14 + 20 + 8 + HEAD.size
    assert report["stored"]["bytes"] == rows["delivered"] - head * places["delivered"]
    # Losses behind the last frame stored cannot be numbered.
    assert 0 < report["missing_frames"] <= arrivals["overflow"]
    assert report["gap_count"] == len(report["gaps"]) > 0


@pytest.mark.parametrize("source", ["", 'address6 = "fd77::2"'])
def test_mishaps_and_garbage_add_up(forebay: Run, source: str, tmp_path: Path) -> None:
    """Whatever comes between good frames is counted, and the good ones are stored."""
    (tmp_path / "x.toml").write_text(f'[[ssd]]\nsize = "64MiB"\n[source]\n{source}\n')
    words = ["--generate", "4MiB", "--impairments", "6000", "--malformed", "100", "-o", "json"]
    report = forebay("record", tmp_path / "x.toml", *words).report
    arrivals, places = named(report, "arrivals"), named(report, "places")
    for kind in ("damaged", "runt", "giant", "alien", "pause"):
        assert arrivals[kind] > 0, kind
    assert sum(places.values()) == arrivals["datagram"]
    assert sum(arrivals.values()) == report["offered"]["count"] and not report["wrong"]
    assert report["stored"]["bytes"] > 3 << 20


@pytest.mark.parametrize("ignores", [False, True])
def test_a_switch_passes_the_pressure_on(forebay: Run, ignores: bool) -> None:
    """It pauses its sender itself; where that does not listen, the switch loses, and we note it."""
    words = ["--generate", "12MiB", "--switch", *(["--partner-ignores-pause"] if ignores else [])]
    report = forebay("record", *words, "-o", "json").report
    assert report["switch"]["xoff"] > 0 and report["pause"]["xoff"] > 0
    assert (report["switch"]["overflow"] > 0) == ignores
    assert named(report, "arrivals").keys() == {"datagram"} and not report["wrong"]
    assert 0 <= report["switch"]["overflow"] - report["missing_frames"] < 500
    assert ignores or report["stored"]["bytes"] == 12 << 20


@pytest.mark.nightly
@pytest.mark.parametrize("memory", ["dram", "host"])
def test_payload_may_wait_elsewhere(forebay: Run, tmp_path: Path, memory: str) -> None:
    """The same with the buffer in on-board DRAM and in host memory."""
    text = f'[buffer]\nmemory = "{memory}"\n'
    (tmp_path / "x.toml").write_text(text)
    objects = make_objects(5, 20_000, 90_000)
    wrpcap(str(tmp_path / "in.pcap"), list(frames(objects)))
    words = ["--pcap", tmp_path / "in.pcap", "--flat-out", "--extract", tmp_path / "objects"]
    forebay("record", tmp_path / "x.toml", *words)
    assert files(tmp_path / "objects") == objects


@pytest.mark.nightly
def test_elements_work_on_what_comes(forebay: Run, tmp_path: Path) -> None:
    """pipelines/add.toml: 7 is added to every whole word, on its way to the drive."""
    objects = make_objects(3, 4000, 20_000)
    wrpcap(str(tmp_path / "in.pcap"), list(frames(objects)))
    words = ["--pcap", tmp_path / "in.pcap", "--flat-out", "--extract", tmp_path / "objects"]
    forebay("record", "pipelines/add.toml", *words)
    for object_, data in files(tmp_path / "objects").items():
        whole = len(objects[object_]) // 4 * 4
        words = struct.unpack(f"<{whole // 4}I", objects[object_][:whole])
        added = struct.pack(f"<{whole // 4}I", *((word + 7) % 2**32 for word in words))
        assert data[:whole] == added
    assert len(files(tmp_path / "objects")) == 3


def test_what_cannot_be_is_refused(forebay: Run, tmp_path: Path) -> None:
    """Before anything is built or run, with a remedy."""
    answer = forebay("record", "pipelines/record.toml", "--drives", "2", code=BAD_INPUT)
    assert "--drives" in answer.complaint
    for words in (["--bus", "vfio"], ["--backing", "x.img"], ["--pcap", "x", "--object", "5"]):
        answer = forebay("record", "pipelines/record.toml", *words, code=BAD_INPUT)
        assert words[-2] in answer.complaint
    forebay("record", "pipelines/none.toml", code=FILE_FAILED)
    forebay("record", "--pcap", "Cargo.toml", code=BAD_INPUT)
    forebay("record", "--pcap", tmp_path / "none.pcap", code=FILE_FAILED)
    forebay("record", "--tap", "a-name-that-is-too-long", code=BAD_INPUT)
    forebay("record", "pipelines/record.toml", "--write", "Cargo.toml", code=BAD_INPUT)


def in_namespace(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a network namespace of its own."""
    text = f"set -e\nip link set lo up\ncd {ROOT}\n{script}"
    command = ["unshare", "-rn", "bash", "-c", text, "bash", str(PROGRAM), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def namespaces() -> None:
    """Skip where the system has no TAP interfaces for us."""
    script = "ip tuntap add fbt mode tap; ip address add fd77::9/64 dev fbt"
    probe = in_namespace(script, Path())
    if probe.returncode:
        pytest.skip(f"no TAP interface with IPv6 can be made here: {probe.stderr.strip()}")


def test_linux_reaches_the_rtl(namespaces: None, tmp_path: Path) -> None:
    """Linux pings the simulated port, what it sends arrives complete, and Ctrl-C ends it well.

    Over IPv4, and over IPv6 in a frame that has room for 20 bytes less.
    """
    data = {n: random.Random(n).randbytes(200_000 + n) for n in range(8)}
    for number, content in data.items():
        path = tmp_path / ("files" if number < 4 else "files6") / f"{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "x.toml").write_text(
        f'[[ssd]]\nsize = "64MiB"\n[source]\naddress6 = "{ADDRESS6}"\n'
    )
    done = in_namespace(
        """
        "$1" record "$2/x.toml" --extract "$2/objects" --pcap-out "$2/tap.pcapng" \
            --tap fb0 --tap-address 10.77.0.1/24 --tap-address fd77::1/64 \
            -o json --output-file "$2/report.json" >"$2/out" 2>&1 &
        for n in $(seq 200); do grep -q listening "$2/out" && break; sleep 1; done
        ping -c 5 -i 0.2 -W 20 10.77.0.2
        "$1" send "$2/files" --to 10.77.0.2:64257 --rate 200Mb/s
        ping -6 -c 5 -i 0.2 -W 20 fd77::2
        "$1" send "$2/files6" --to [fd77::2]:64257 --rate 200Mb/s --object 4
        printf '%0100d' 0 | nc -u -w 1 10.77.0.2 64257
        sleep 5
        kill -INT %1
        wait %1 || echo "code $?"
        """,
        tmp_path,
    )
    said = done.stdout + done.stderr + (tmp_path / "out").read_text()
    assert done.stdout.count("5 received") == 2 and "code 130" in done.stdout, said
    assert files(tmp_path / "objects") == data, said
    report = json.loads((tmp_path / "report.json").read_text())
    # Five echoes of each, ARP and a solicitation.
    assert named(report, "arrivals")["request"] >= 12
    assert named(report, "places")["header"] == 1  # netcat's
    assert report["gap_count"] == 0 and not report["wrong"] and report["dropped_by_linux"] == 0
    assert report["interrupted"]
    with PcapReader(str(tmp_path / "tap.pcapng")) as packets:
        assert_sound(tmp_path / "tap.pcapng", sum(1 for _ in packets))
