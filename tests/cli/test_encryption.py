# SPDX-License-Identifier: Apache-2.0
"""Encrypted recordings: what lies on the drive, `--key-file`, and OpenSSL's own reading of it."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import BAD_INPUT, DAMAGED, FILE_FAILED, PROGRAM, Run
from recordings import mounted
from scapy.layers.inet import IP, UDP
from scapy.utils import rdpcap, wrpcap
from test_pipeline import capture, write

from forebay import spec
from forebay.store import Recording, StoreError, rows_of

PART = 8940  # bytes of a frame's payload
LOST = 2  # the frame behind it begins in the middle of a block of 16 bytes
OPENSSL = {16: ("AES-128-CTR", "aes-128-ctr"), 32: ("AES-256-CTR", "aes-256-ctr")}


def openssl(*words: object, data: bytes = b"") -> bytes:
    """Run OpenSSL."""
    command = ["openssl", *map(str, words)]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def recording_key(key: bytes, session: str) -> str:
    """Derive a recording's key as docs/reference/store-format.md says it, in hexadecimal."""
    options = {
        "digest": "SHA256",
        "hexkey": key.hex(),
        "hexsalt": session.replace("-", ""),
        "info": f"forebay {OPENSSL[len(key)][0]}",
    }
    words = [word for name, value in options.items() for word in ("-kdfopt", f"{name}:{value}")]
    return openssl("kdf", "-keylen", len(key), *words, "HKDF").decode().strip().replace(":", "")


def decrypted(data: bytes, key: bytes, own: str, beside: dict[str, int]) -> bytes:
    """Decrypt an extent with OpenSSL by what stands beside it."""
    skipped = beside["offset"] % 16
    block = f"{beside['nonce']:016x}{beside['offset'] // 16:016x}"
    command = ["enc", "-d", f"-{OPENSSL[len(key)][1]}", "-K", own, "-iv", block]
    return openssl(*command, data=bytes(skipped) + data)[skipped:]


class Recorded:
    """A recording of several objects with a key of this number of bytes, and what it said."""

    def __init__(self, forebay: Run, folder: Path, key_bytes: int, sink: str = "") -> None:
        self.folder, self.disk = folder, folder / "disk.img"
        self.key = random.Random(key_bytes).randbytes(key_bytes)
        (folder / "key").write_bytes(self.key)
        # One that comes whole, one that loses a frame, and two that come in turn, in many extents.
        sizes = (50_001, 40_000, 1_300_000, 1_300_011)
        self.sent = [random.Random(seed).randbytes(size) for seed, size in enumerate(sizes)]
        self.whole, self.cut, *self.long = self.sent
        frames = capture(self.whole)
        cut = capture(self.cut, number=1, sequence=len(frames))
        frames += [*cut[:LOST], *cut[LOST + 1 :]]
        turns = [
            capture(self.long[0], number=2, sequence=len(frames) + 1),
            capture(self.long[1], number=2, stream=1),
        ]
        while any(turns):
            frames += [turn.pop(0) for turn in turns if turn]
        for number, frame in enumerate(frames):
            frame.time = number * 1e-6
        wrpcap(str(folder / "x.pcap"), frames)
        pipeline = write(folder, PIPELINE + sink)
        done = forebay(
            "record",
            pipeline,
            "--pcap",
            folder / "x.pcap",
            "--extract",
            folder / "plain",
            "-o",
            "json",
        )
        checked = forebay("pipeline", "check", pipeline, "-o", "json")
        self.said = [checked.out, done.out, done.err, forebay("pipeline", "check", pipeline).out]
        self.info = forebay("store", "info", self.disk, "-o", "json").report
        self.own = recording_key(self.key, self.info["session"])

    def extents(self, forebay: Run) -> dict[tuple[int, int, int], tuple[bytes, int]]:
        """Decrypt each extent with OpenSSL and with `--key-file`; give bytes and nonce of each."""
        stored = forebay("store", "extract", self.disk, self.folder / "stored")
        assert "payload is encrypted with" in stored.err
        words = ("--key-file", self.folder / "key")
        read = forebay("store", "extract", self.disk, self.folder / "read", *words)
        assert "encrypted" not in read.err
        found = {}
        for path in sorted((self.folder / "stored").rglob("*.bin")):
            beside = json.loads(path.with_suffix(".json").read_text())
            plain = decrypted(path.read_bytes(), self.key, self.own, beside)
            again = self.folder / "read" / path.relative_to(self.folder / "stored")
            assert again.read_bytes() == plain != path.read_bytes()
            place = beside["stream"], beside["object"], beside["offset"]
            found[place] = plain, beside["nonce"]
        return found


ENCRYPTS = (
    "[source]\nstreams = 2\n[[pe]]\nname = 'aes_ctr'\nkey = { file = 'key' }\n"
    "[[ssd]]\nimage = 'disk.img'\nsize = '64MiB'\n"
)
DECRYPTS = "[[pe]]\nname = 'aes_ctr'\ndirection = 'back'\nlanes = 1\nkey = { file = 'key' }\n"
PIPELINE = ENCRYPTS + DECRYPTS


@pytest.fixture(scope="module")
def recorded(forebay: Run, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """With a key of 32 bytes, as objects."""
    return Recorded(forebay, tmp_path_factory.mktemp("objects"), 32)


def numbers_in(what: object) -> Iterator[list[int]]:
    """Yield each list of numbers in a report."""
    if isinstance(what, dict):
        what = list(what.values())
    if isinstance(what, list):
        if what and all(isinstance(each, int) for each in what):
            yield what
        for each in what:
            yield from numbers_in(each)


def test_no_secret_and_no_plaintext_shows(forebay: Run, recorded: Recorded) -> None:
    """Neither key is in a report or on the drive, nor is anything of what was sent."""
    assert "key = secret" in " ".join(recorded.said[3].split())
    assert "encrypted with AES-256-CTR" in recorded.said[3]
    assert recorded.info["cipher"] == "AES-256-CTR"
    own = bytes.fromhex(recorded.own)
    for secret in (recorded.key, own):
        for said in recorded.said:
            assert secret.hex() not in said
        for said in recorded.said[:2]:
            assert list(secret) not in numbers_in(json.loads(said))
    end = recorded.info["data_end"]
    image = recorded.disk.read_bytes()[:end]
    assert recorded.key not in image and own not in image
    for plain in recorded.sent:
        for at in range(0, len(plain) - 64, 4096):
            assert plain[at : at + 64] not in image
    assert "each checksum is right" in forebay("store", "verify", recorded.disk).out


def test_openssl_and_ours_decrypt_each_extent(forebay: Run, recorded: Recorded) -> None:
    """Whole ones, those in mid-block behind a gap, and those of objects that come in turn."""
    found = recorded.extents(forebay)
    behind = (LOST + 1) * PART
    nonces = {place: nonce for place, (_, nonce) in found.items()}
    assert found[0, 0, 0][0] == recorded.whole
    assert found[0, 1, 0][0] == recorded.cut[: LOST * PART]
    assert behind % 16 and found[0, 1, behind][0] == recorded.cut[behind:]
    for stream, sent in enumerate(recorded.long):
        parts = sorted(place for place in found if place[:2] == (stream, 2))
        assert len(parts) > 1 and any(offset % 16 for _, _, offset in parts)
        assert b"".join(found[place][0] for place in parts) == sent
        # No gap, and so one nonce, and one call of OpenSSL for all of it.
        assert len({nonces[place] for place in parts}) == 1
    assert len(set(nonces.values())) == 5 and 0 not in nonces.values()
    plain = recorded.folder / "plain" / "stream-0-object-0.bin"
    assert plain.read_bytes() == recorded.whole
    words = ["store", "cat", recorded.disk, "2", "--stream", "1"]
    words += ["--key-file", recorded.folder / "key"]
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, check=True)
    assert done.stdout == recorded.long[1]


@pytest.mark.parametrize(
    ("key_bytes", "sink"),
    [
        (16, "[sink]\nlayout = 'small'\n"),
        (32, "[sink]\nlayout = 'samples'\nstride = '1536KiB'\n"),
    ],
)
def test_other_layouts(forebay: Run, tmp_path: Path, key_bytes: int, sink: str) -> None:
    """Small objects, and samples; a short key."""
    recorded = Recorded(forebay, tmp_path, key_bytes, sink)
    assert recorded.info["cipher"] == OPENSSL[key_bytes][0]
    found = recorded.extents(forebay)
    assert found[0, 0, 0][0] == recorded.whole
    for (stream, number, offset), (plain, nonce) in found.items():
        sent = recorded.long[stream] if number == 2 else recorded.sent[number]
        assert plain == sent[offset : offset + len(plain)] and nonce > 0
    stored = sum(len(plain) for plain, _ in found.values())
    assert stored == sum(map(len, recorded.sent)) - PART
    assert any(offset % 16 for _, _, offset in found)
    assert len({nonce for _, nonce in found.values()}) == 5
    with Recording(recorded.disk, recorded.key) as opened:
        assert not opened.complaints
        rows = [*rows_of(opened.table())]
        places = [(row["stream"], row["object"], row["offset"]) for row in rows]
        plain = dict(zip(places, map(opened.read, rows), strict=True))
    assert plain == {place: data for place, (data, _) in found.items()}


def test_keys_that_are_not_its_own(forebay: Run, recorded: Recorded, tmp_path: Path) -> None:
    """Each is refused by what is wrong with it, and nothing is written."""
    key, other = recorded.key, tmp_path / "other"
    cases = [
        (key[:-1], "16 bytes (AES-128) or 32"),
        (key + b"x", "more than 32 bytes"),
        (key[:16].hex().encode(), "hexadecimal text"),
        (key[:16], "the recording is encrypted with AES-256-CTR"),
        (bytes([key[0] ^ 1]) + key[1:], "made with its own"),
    ]
    for data, words in cases:
        other.write_bytes(data)
        command = ("store", "extract", recorded.disk, tmp_path / "x", "--key-file", other)
        answer = forebay(*command, code=BAD_INPUT)
        assert words.replace(" ", "") in answer.complaint.replace(" ", "")
        assert not (tmp_path / "x").exists()
    for data, words in (
        (key[:16], "16 bytes, but"),
        (bytes([key[0] ^ 1]) + key[1:], "another one"),
    ):
        with pytest.raises(StoreError, match=words):
            Recording(recorded.disk, data)
    with Recording(recorded.disk, key) as opened:
        row = next(rows_of(opened.table()))
        with pytest.raises(StoreError, match="nonce was lost"):
            opened.read(row | {"nonce": 0})
        for way in (opened.tar, opened.samples, lambda: opened.view(row)):
            with pytest.raises(StoreError, match="lies there encrypted"):
                way()
    none = ("store", "cat", recorded.disk, 0, "--key-file", tmp_path / "none")
    forebay(*none, code=FILE_FAILED)


def test_a_key_for_what_is_not_encrypted(forebay: Run, tmp_path: Path) -> None:
    """It is refused, not ignored."""
    (tmp_path / "key").write_bytes(b"sixteen bytes...")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"a")
    forebay("store", "pack", tmp_path / "in", tmp_path / "disk.img")
    words = ("store", "extract", tmp_path / "disk.img", tmp_path / "out")
    answer = forebay(*words, "--key-file", tmp_path / "key", code=BAD_INPUT)
    assert "is not encrypted" in " ".join(answer.complaint.split())


def test_nonces_stand_in_headers_too(forebay: Run, recorded: Recorded, tmp_path: Path) -> None:
    """Without a block of its index, and without superblocks, it is still read."""
    disk, info = tmp_path / "disk.img", recorded.info
    data = bytearray(recorded.disk.read_bytes())
    first = info["index"]["first_byte"] + 4096
    data[first : first + 4096] = bytes(4096)
    for at in (1 << 20, (2 << 20) - 4096):
        data[at : at + 4096] = bytes(4096)
    disk.write_bytes(data)
    forebay("store", "repair", disk)
    words = ("store", "extract", disk, tmp_path / "read", "--key-file", recorded.folder / "key")
    assert "is not known" in " ".join(forebay(*words).err.split())
    (whole,) = (tmp_path / "read").rglob(f"{0:020}.bin")
    assert whole.read_bytes() == recorded.whole


def test_a_nonce_that_is_lost(forebay: Run, tmp_path: Path) -> None:
    """Small objects have no headers: what a lost block of the index held stays encrypted."""
    recorded = Recorded(forebay, tmp_path, 16, "[sink]\nlayout = 'small'\n")
    data = bytearray(recorded.disk.read_bytes())
    first = recorded.info["index"]["first_byte"] + 4096
    data[first : first + 4096] = bytes(4096)
    recorded.disk.write_bytes(data)
    forebay("store", "repair", recorded.disk)
    words = ("store", "extract", recorded.disk, tmp_path / "out", "--key-file", tmp_path / "key")
    answer = forebay(*words, code=DAMAGED)
    assert "object 0 of stream 0: its nonce is lost" in answer.out
    assert not list((tmp_path / "out").rglob(f"{0:020}.bin"))


def test_a_mount_decrypts(recorded: Recorded, tmp_path: Path) -> None:
    """Mounted with the key, files have the plaintext; without it, the ciphertext."""
    path = Path("00000", f"{0:020}.bin")
    with mounted(recorded.disk, tmp_path / "a", "--key-file", recorded.folder / "key"):
        assert (tmp_path / "a" / path).read_bytes() == recorded.whole
    with mounted(recorded.disk, tmp_path / "b"):
        stored = (tmp_path / "b" / path).read_bytes()
    assert len(stored) == len(recorded.whole) and stored != recorded.whole


def sent_by(path: Path) -> list[tuple[int, bytes]]:
    """Read number and bytes of each object, or part of one, that left the port."""
    found, parts = [], []
    for frame in rdpcap(str(path)):
        if UDP in frame and frame[IP].src == "10.77.0.2":
            data = bytes(frame[UDP].payload)
            header, payload = data[: spec.FRAMING_BYTES], data[spec.FRAMING_BYTES :]
            parts.append(payload)
            if header[spec.FRAMING_FLAGS_AT] & spec.FRAMING_LAST:
                at = spec.FRAMING_OBJECT_AT
                number = int.from_bytes(header[at : at + 8], "little")
                found.append((number, b"".join(parts)))
                parts = []
    return found


@pytest.mark.parametrize("back", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_what_is_sent(forebay: Run, tmp_path: Path, back: bool) -> None:
    """Sent at once or replayed, objects come as they are stored, or decrypted on the way back."""
    sizes = (50_001, 1_300_000, 1_300_003)
    plain = [random.Random(seed).randbytes(size) for seed, size in enumerate(sizes)]
    (tmp_path / "key").write_bytes(bytes(range(16)))
    frames = capture(plain[0])
    # Two that come in turn: in parts, which begin anywhere.
    turns = [
        capture(plain[1], number=1, sequence=len(frames)),
        capture(plain[2], number=2, stream=1),
    ]
    while any(turns):
        frames += [turn.pop(0) for turn in turns if turn]
    wrpcap(str(tmp_path / "x.pcap"), frames)
    pipeline = write(tmp_path, PIPELINE if back else ENCRYPTS)
    sent = {}
    for name, words in {
        "back": (
            "record",
            pipeline,
            "--pcap",
            tmp_path / "x.pcap",
            "--flat-out",
            "--back",
            "10Gb/s",
        ),
        "replay": ("replay", pipeline),
    }.items():
        out = tmp_path / f"{name}.pcap"
        answer = forebay(*words, "--pcap-out", out)
        assert ("what is sent of them is not decrypted" in answer.err) != back
        sent[name] = sent_by(out)
    forebay("store", "extract", tmp_path / "disk.img", tmp_path / "stored")
    due = dict(enumerate(plain))
    if not back:
        for number, stream in enumerate((0, 0, 1)):
            parts = sorted((tmp_path / "stored" / f"{stream:05}").glob(f"{number:020}*.bin"))
            due[number] = b"".join(path.read_bytes() for path in parts)
            assert len(due[number]) == sizes[number] and due[number] != plain[number]
    # Replay finds whole objects, of the pipeline's first stream.
    assert sent["replay"] == [(0, due[0])]
    for number, data in due.items():
        parts = [part for of, part in sent["back"] if of == number]
        assert b"".join(parts) == data and (number == 0 or len(parts) > 1)


def test_a_replay_needs_its_key(forebay: Run, tmp_path: Path) -> None:
    """With another key nothing is sent."""
    (tmp_path / "key").write_bytes(bytes(16))
    wrpcap(str(tmp_path / "x.pcap"), capture(bytes(1000)))
    pipeline = write(tmp_path, PIPELINE)
    forebay("record", pipeline, "--pcap", tmp_path / "x.pcap")
    (tmp_path / "key").write_bytes(b"\1" * 16)
    answer = forebay("replay", pipeline, code=BAD_INPUT)
    assert "the recording was made with its own" in answer.complaint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[pe]]\nname = 'aes_ctr'\n", "it needs key"),
        ("[[pe]]\nname = 'aes_ctr'\nkey = { file = 'short' }\n", "16 or 32 bytes, and here are 15"),
        ("[[pe]]\nname = 'aes_ctr'\nkey = { hex = '00' }\n", "comes out of a file"),
        ("[[pe]]\nname = 'aes_ctr'\nkey = { file = 'text' }\n", "hexadecimal text"),
        ("[[pe]]\nname = 'aes_ctr'\nkey = { file = 'key' }\nlanes = 3\n", "it is one of [1, 2, 4]"),
        ("[[pe]]\nname = 'aes_ctr'\nkey = { file = 'key' }\ntap = 'wait'\n", "and not a copy"),
        (
            "[[pe]]\nname = 'aes_ctr'\nkey = { file = 'key' }\n[[pe]]\nname = 'add'\n",
            "let it be the last one",
        ),
        (
            "[[pe]]\nname = 'cut'\npath = 'cut'\n"
            "[[pe]]\nname = 'aes_ctr'\nkey = { file = 'key' }\n",
            "changes lengths",
        ),
    ],
)
def test_pipelines_that_cannot_be(forebay: Run, tmp_path: Path, text: str, words: str) -> None:
    """The complaint says why."""
    (tmp_path / "short").write_bytes(bytes(15))
    (tmp_path / "key").write_bytes(bytes(16))
    (tmp_path / "text").write_bytes(b"0123456789abcdef")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "fb_pe_cut.sv").write_text("")
    (tmp_path / "cut" / "fb_pe_cut.toml").write_text("description = ''\nresizes = true\n")
    answer = forebay("pipeline", "check", write(tmp_path, text), code=BAD_INPUT)
    assert words.replace(" ", "") in answer.complaint.replace(" ", "") and not answer.out
