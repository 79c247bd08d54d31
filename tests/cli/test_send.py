# SPDX-License-Identifier: Apache-2.0
"""`forebay send`: a Python socket receives on loopback and rebuilds the files."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from driving import (
    BAD_INPUT,
    BAD_RESULT,
    FILE_FAILED,
    GOOD,
    INTERRUPTED,
    PROGRAM,
    ROOT,
    Run,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcapng

HEAD = struct.Struct("<4sBxHIIQQ")
FIRST, LAST = 1, 2


@dataclass
class Receiver:
    """A socket, and what came; it reads faster than any test here sends."""

    socket: socket.socket
    datagrams: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port, *_ = self.socket.getsockname()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def listen(self) -> None:
        """Take what comes until the socket is closed."""
        while True:
            try:
                self.datagrams.append(self.socket.recv(65536))
            except TimeoutError:
                continue
            except OSError:
                return
            self.times.append(time.monotonic())

    def objects(self) -> dict[int, bytes]:
        """Rebuild the objects; each frame must be in its place."""
        objects: dict[int, bytes] = {}
        totals: dict[int, int] = {}
        for number, datagram in enumerate(self.datagrams):
            magic, flags, _, _, sequence, object_, place = HEAD.unpack_from(datagram)
            assert (magic, flags >> 4, sequence) == (b"FBY1", 2, number)
            if flags & FIRST:
                assert object_ not in objects
                objects[object_], totals[object_] = b"", place
            else:
                assert place == len(objects[object_])
            objects[object_] += datagram[HEAD.size :]
            assert bool(flags & LAST) == (len(objects[object_]) == totals[object_])
        return objects


@pytest.fixture
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    """Listen on loopback, with room for everything a test sends at once; over IPv6 if asked."""
    host = getattr(request, "param", "127.0.0.1")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.ExitStack() as stack:
        try:
            listening = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
            listening.bind((host, 0))
        except OSError as error:
            pytest.skip(f"this machine has no {host}: {error}")
        # Beyond the machine's limit where that is allowed; the tests pace what they send anyway.
        for option in (socket.SO_RCVBUF, getattr(socket, "SO_RCVBUFFORCE", 33)):
            try:
                listening.setsockopt(socket.SOL_SOCKET, option, 64 << 20)
            except PermissionError:
                continue
        listening.settimeout(0.1)
        receiver = Receiver(listening)
        thread = threading.Thread(target=receiver.listen)
        thread.start()
        yield receiver
        listening.close()
        thread.join()


def settle(receiver: Receiver, frames: int) -> None:
    """Wait until N frames are there."""
    deadline = time.monotonic() + 10
    while len(receiver.datagrams) < frames and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(receiver.datagrams) == frames


def make(folder: Path, sizes: dict[str, int]) -> dict[str, bytes]:
    """Make files of these lengths, each with bytes of its own."""
    contents = {}
    for name, size in sizes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        contents[name] = bytes((at * 31 + size) & 255 for at in range(size))
        path.write_bytes(contents[name])
    return contents


def send(forebay: Run, receiver: Receiver, *words: object, code: int = GOOD) -> dict:
    """Send, wait until all is there, and return the report."""
    line = ("send", *words, "--to", receiver.address, "-o", "json")
    report = forebay(*line, code=code).report
    settle(receiver, report["sent"]["frames"])
    return report


@pytest.mark.parametrize("receiver", ["127.0.0.1", "::1"], indirect=True)
def test_files_arrive(forebay: Run, receiver: Receiver, tmp_path: Path) -> None:
    """A folder in the order of its names, then a file; byte by byte, all numbers there."""
    ip = 40 if "[" in receiver.address else 20
    payload = 9000 - ip - 8 - HEAD.size
    sizes = {"b/one": 1, "b/two": payload, "a": payload + 1, "c": 100_000, "empty": 0}
    contents = make(tmp_path / "in", sizes)
    contents |= make(tmp_path, {"last": 20_000})
    line = (tmp_path / "in", tmp_path / "last", "--rate", "20MB/s")
    report = send(forebay, receiver, *line, "--object", 7, "--epoch", 9, "--stream", 258)
    order = ["a", "b/one", "b/two", "c", "last"]
    expected = {7 + at: contents[name] for at, name in enumerate(order)}
    assert receiver.objects() == expected
    assert {datagram[5:12] for datagram in receiver.datagrams} == {b"\0\x02\x01\x09\0\0\0"}
    assert report["sent"]["objects"] == 5
    assert report["sent"]["bytes"] == sum(map(len, contents.values()))
    assert report["left"]["empty"] == 1
    assert (report["mtu"], report["payload_bytes"]) == (9000, payload)
    assert max(map(len, receiver.datagrams)) == 9000 - 8 - ip
    whole = [max(60, 14 + ip + 8 + len(datagram)) + 24 for datagram in receiver.datagrams]
    assert report["sent"]["wire_bytes"] == sum(whole)


@pytest.mark.parametrize(("mtu", "frames"), [(61, 1500), (1500, 2), (9000, 1), (16368, 1)])
def test_mtu(forebay: Run, receiver: Receiver, tmp_path: Path, mtu: int, frames: int) -> None:
    """Frames are as long as they may be, down to a byte of payload in each."""
    contents = make(tmp_path, {"file": 1500})
    report = send(forebay, receiver, tmp_path / "file", "--mtu", mtu, "--rate", "1MB/s")
    assert report["sent"]["frames"] == frames
    assert receiver.objects() == {0: contents["file"]}
    whole = [max(60, 14 + 28 + len(datagram)) + 24 for datagram in receiver.datagrams]
    assert report["sent"]["wire_bytes"] == sum(whole)


def test_rate_and_repetition(forebay: Run, receiver: Receiver, tmp_path: Path) -> None:
    """4 MB at 32 Mb/s take a second; neither sooner nor, on a busy machine, much later."""
    contents = make(tmp_path, {"file": 1_000_000})
    report = send(forebay, receiver, tmp_path / "file", "--repeat", 4, "--rate", "32Mb/s")
    assert receiver.objects() == dict.fromkeys(range(4), contents["file"])
    assert report["rate"] == 4_000_000
    assert 0.95 < report["seconds"] < 2
    spread = receiver.times[-1] - receiver.times[0]
    assert 0.9 < spread < 2
    # Paced over time and not in bursts: a half of the frames in a half of the time.
    half = receiver.times[len(receiver.times) // 2] - receiver.times[0]
    assert 0.3 < half / spread < 0.7


def test_epochs_differ(forebay: Run, receiver: Receiver, tmp_path: Path) -> None:
    """Who sends again begins anew."""
    make(tmp_path, {"file": 10})
    send(forebay, receiver, tmp_path / "file")
    line = ("send", tmp_path / "file", "--to", receiver.address)
    assert "1 objects, 10 bytes in 1 frames" in forebay(*line).out
    settle(receiver, 2)
    first, second = (datagram[8:12] for datagram in receiver.datagrams)
    assert first != second


def dissected(forebay: Run, folder: Path, packets: list[Packet]) -> list[list[str]]:
    """Let tshark show frames with our dissector: a row of fields for each."""
    script, capture = folder / "forebay.lua", folder / "frames.pcapng"
    script.write_text(forebay("spec", "wireshark").out)
    wrpcapng(str(capture), packets)
    names = "protocol sequence object first last total offset missing anew behind gap unknown"
    fields = ["_ws.col.Protocol", *(f"fby.{name}" for name in names.split()[1:])]
    line = ["tshark", "-X", f"lua_script:{script}", "-r", str(capture), "-T", "fields"]
    line += [word for name in fields for word in ("-e", name)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr, done.stderr
    return [row.split("\t") for row in done.stdout.splitlines()]


def test_wireshark_reads_what_is_sent(forebay: Run, receiver: Receiver, tmp_path: Path) -> None:
    """Each field, behind UDP and raw; what is missing, late, or of a new epoch."""
    make(tmp_path, {"file": 2500})
    send(forebay, receiver, tmp_path / "file", "--mtu", 1060, "--object", 7, "--rate", "1MB/s")
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    ip = ether / IP(src="10.0.0.1", dst="10.0.0.2")
    sent = receiver.datagrams
    anew = sent[0][:8] + bytes([sent[0][8] ^ 1]) + sent[0][9:]
    third = anew[:8] + bytes([anew[8] ^ 2]) + anew[9:]
    rows = dissected(
        forebay,
        tmp_path,
        [
            ip / UDP(sport=5, dport=64257) / Raw(sent[0]),
            ip / UDP(sport=5, dport=9999) / Raw(sent[2]),
            ip / UDP(sport=5, dport=64257) / Raw(sent[1]),
            ip / UDP(sport=5, dport=64257) / Raw(anew),
            ip / UDP(sport=5, dport=64257) / Raw(b"something else, as long as a header is"),
            Ether(src="02:00:00:00:00:03", type=0x88B5) / Raw(sent[0]),
            # What is refused for its header changes nothing of its stream.
            ip / UDP(sport=5, dport=64257) / Raw(third[:4] + b"\x2c" + third[5:]),
            ip / UDP(sport=5, dport=64257) / Raw(third),
            # Of the epoch before: the first is old, with the second the sender is back.
            ip / UDP(sport=5, dport=64257) / Raw(anew),
            ip / UDP(sport=5, dport=64257) / Raw(anew[:12] + b"\1" + anew[13:]),
            ip / UDP(sport=5, dport=64257) / Raw(anew[:12] + b"\2" + anew[13:]),
        ],
    )
    head = ["FBY1", "0", "7", "1", "0", "2500", ""]
    assert rows[0] == [*head, "", "1", "", "", ""]
    assert rows[1][:8] == ["FBY1", "2", "7", "0", "1", "", "2000", "1"] and rows[1][10]
    assert rows[2][:7] == ["FBY1", "1", "7", "0", "0", "", "1000"] and rows[2][9]
    assert rows[3] == rows[0]
    assert rows[4][0] == "UDP"
    assert rows[5] == rows[0]
    assert rows[6][11]
    assert rows[7] == rows[0] and rows[8][9] and not rows[8][8]
    assert rows[9][8] and not rows[9][9] and rows[10][7] == "0"


def test_ctrl_c_says_what_was_sent(receiver: Receiver, tmp_path: Path) -> None:
    """Ctrl-C ends between two frames; the report counts what went out."""
    make(tmp_path, {"file": 1_000_000})
    line = ["send", tmp_path / "file", "--to", receiver.address, "--rate", "100kB/s"]
    with subprocess.Popen(
        [str(PROGRAM), *map(str, line), "-o", "json"], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 30
        while len(receiver.datagrams) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=10)
    report = json.loads(out)
    assert process.returncode == INTERRUPTED
    assert report["interrupted"] is True
    assert (report["sent"]["objects"], report["partly"]) == (0, 1)
    settle(receiver, report["sent"]["frames"])
    assert 3 <= report["sent"]["frames"] < 100


def test_nobody_listens(forebay: Run, tmp_path: Path) -> None:
    """It ends, says so, and has an exit code for it."""
    make(tmp_path, {"file": 1_000_000})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        to = "{}:{}".format(*closed.getsockname())
    line = ("send", tmp_path / "file", "--to", to, "--rate", "1MB/s")
    answer = forebay(*line, code=BAD_RESULT)
    assert "no receiver listens" in answer.out
    report = forebay(*line, "-o", "json", code=BAD_RESULT).report
    assert report["refused"] is True and report["sent"]["frames"] < 10


def test_what_cannot_be_read_is_told(forebay: Run, receiver: Receiver, tmp_path: Path) -> None:
    """The rest of a folder is sent; a link to nowhere is a failure, not a silence."""
    contents = make(tmp_path / "in", {"a": 100, "z": 200})
    (tmp_path / "in" / "gone").symlink_to("nowhere")
    report = send(forebay, receiver, tmp_path / "in", code=BAD_RESULT)
    assert list(receiver.objects().values()) == [contents["a"], contents["z"]]
    assert report["left"]["failed"] == 1 and "gone" in report["left"]["problems"][0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no/such/file --to 127.0.0.1", "no/such/file"),
        ("/dev/null --to 127.0.0.1", "neither a file nor a folder"),
        ("README.md --to [::1]:0", "must not be 0"),
        ("README.md --to [::1:5", "neither HOST nor HOST:PORT"),
        ("README.md --to fd77::2:5000", "[fd77::2]:64257"),
        ("README.md --to [fe80::2]", "[ADDRESS%INTERFACE]"),
        ("README.md --to [::1] --mtu 80", "take 80 bytes of it"),
        ("README.md --to 127.0.0.1:0", "must not be 0"),
        ("README.md --to 127.0.0.1 --rate fast", "is no rate"),
        ("README.md --to 127.0.0.1 --mtu 60", "61..=16368"),
        ("README.md --to no.such.host.invalid", "cannot be found"),
        ("README.md", "--to"),
    ],
)
def test_what_cannot_be_sent_is_refused(forebay: Run, line: str, words: str) -> None:
    """Early, and in words."""
    code = FILE_FAILED if words.startswith("no/such") else BAD_INPUT
    assert words in forebay("send", *line.split(), code=code).complaint


def test_only_empty_files(forebay: Run, tmp_path: Path) -> None:
    """An object has a byte or more."""
    make(tmp_path / "in", {"a": 0, "b": 0})
    answer = forebay("send", tmp_path / "in", "--to", "127.0.0.1", code=BAD_INPUT)
    assert "2 files are empty" in answer.complaint
