# SPDX-License-Identifier: Apache-2.0
"""Encrypted recordings: what lies on the drive, `--key-file`, and OpenSSL's own reading of it."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
from driving import BAD_INPUT, FILE_FAILED, PROGRAM, Run
from scapy.utils import wrpcap
from test_pipeline import capture, write

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


def objects() -> list[bytes]:
    """Make an object of stream 0 that comes whole, one that loses a frame, and one of stream 1."""
    return [
        random.Random(seed).randbytes(size) for seed, size in enumerate((50_001, 40_000, 30_011))
    ]


def frames_of(folder: Path) -> tuple[Path, list[bytes]]:
    """Write a capture of these objects; returns it, and them."""
    whole, first, second = objects()
    frames = capture(whole)
    cut = capture(first, number=1, sequence=len(frames))
    frames += [*cut[:LOST], *cut[LOST + 1 :], *capture(second, number=1, stream=1)]
    for number, frame in enumerate(frames):
        frame.time = number * 1e-6
    wrpcap(str(folder / "x.pcap"), frames)
    return folder / "x.pcap", [whole, first, second]


@pytest.fixture(scope="module", params=[32, 16])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the objects with a key of this number of bytes; returns the folder."""
    folder = tmp_path_factory.mktemp("encrypted")
    (folder / "key").write_bytes(random.Random(request.param).randbytes(request.param))
    return folder


PIPELINE = (
    "[source]\nstreams = 2\n[[pe]]\nname = 'aes_ctr'\nkey = { file = 'key' }\n"
    "[[ssd]]\nimage = 'disk.img'\nsize = '64MiB'\n"
)


def test_what_lies_there_and_how_it_is_read(forebay: Run, recorded: Path) -> None:
    """No plain text on the drive; `--key-file` and OpenSSL give it back, extent by extent."""
    folder, key = recorded, (recorded / "key").read_bytes()
    source, sent = frames_of(folder)
    pipeline = write(folder, PIPELINE)
    name, _ = OPENSSL[len(key)]
    checked = forebay("pipeline", "check", pipeline)
    assert "key = secret" in " ".join(checked.out.split()) and name in checked.out
    done = forebay(
        "record", pipeline, "--pcap", source, "--extract", folder / "plain", "-o", "json"
    )
    for shown in (checked.out, done.out, done.err):
        assert key.hex() not in shown and repr(list(key))[1:-1] not in shown
    assert (folder / "plain" / "stream-0-object-0.bin").read_bytes() == sent[0]
    disk = folder / "disk.img"
    image = disk.read_bytes()
    for plain in sent:
        for at in range(0, len(plain) - 64, 64):
            assert plain[at : at + 64] not in image
    assert key not in image

    info = forebay("store", "info", disk, "-o", "json").report
    assert info["cipher"] == name
    assert "each checksum is right" in forebay("store", "verify", disk).out
    own = recording_key(key, info["session"])
    stored = forebay("store", "extract", disk, folder / "stored")
    assert f"encrypted with {name}" in stored.err
    forebay("store", "extract", disk, folder / "read", "--key-file", folder / "key")
    found: dict[tuple[int, int, int], bytes] = {}
    nonces: list[int] = []
    for path in sorted((folder / "stored").rglob("*.bin")):
        beside = json.loads(path.with_suffix(".json").read_text())
        plain = decrypted(path.read_bytes(), key, own, beside)
        again = folder / "read" / path.relative_to(folder / "stored")
        assert again.read_bytes() == plain != path.read_bytes()
        found[beside["stream"], beside["object"], beside["offset"]] = plain
        nonces.append(beside["nonce"])
    whole, cut, other = sent
    behind = (LOST + 1) * PART
    assert behind % 16 and found == {
        (0, 0, 0): whole,
        (0, 1, 0): cut[: LOST * PART],
        (0, 1, behind): cut[behind:],
        (1, 1, 0): other,
    }
    assert len(set(nonces)) == len(found) and 0 not in nonces
    words = ["store", "cat", disk, "0", "--stream", "0", "--key-file", folder / "key"]
    assert subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, check=True).stdout == sent[0]


def test_keys_that_are_not_its_own(forebay: Run, recorded: Path, tmp_path: Path) -> None:
    """Each is refused by what is wrong with it, and nothing is written."""
    disk, key = recorded / "disk.img", (recorded / "key").read_bytes()
    other = tmp_path / "other"
    cases = [
        (key[:-1], BAD_INPUT, "16 bytes (AES-128) or 32"),
        (key + key + b"x", BAD_INPUT, "more than 32 bytes"),
        (bytes(48 - len(key)), BAD_INPUT, "the recording is encrypted with"),
        (bytes([key[0] ^ 1]) + key[1:], BAD_INPUT, "made with its own"),
    ]
    for data, code, words in cases:
        other.write_bytes(data)
        answer = forebay("store", "extract", disk, tmp_path / "x", "--key-file", other, code=code)
        assert words.replace(" ", "") in answer.complaint.replace(" ", "")
        assert not (tmp_path / "x").exists()
    forebay("store", "cat", disk, 0, "--key-file", tmp_path / "none", code=FILE_FAILED)


def test_a_key_for_what_is_not_encrypted(forebay: Run, tmp_path: Path) -> None:
    """It is refused, not ignored."""
    (tmp_path / "key").write_bytes(bytes(16))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"a")
    forebay("store", "pack", tmp_path / "in", tmp_path / "disk.img")
    words = ("store", "extract", tmp_path / "disk.img", tmp_path / "out")
    answer = forebay(*words, "--key-file", tmp_path / "key", code=BAD_INPUT)
    assert "is not encrypted" in " ".join(answer.complaint.split())


def test_what_repair_cannot_know(forebay: Run, recorded: Path, tmp_path: Path) -> None:
    """Without its index a recording of objects keeps its nonces; they stand in the headers."""
    disk = tmp_path / "disk.img"
    data = bytearray((recorded / "disk.img").read_bytes())
    info = forebay("store", "info", recorded / "disk.img", "-o", "json").report
    first = info["index"]["first_byte"] + 4096
    data[first : first + 4096] = bytes(4096)
    disk.write_bytes(data)
    forebay("store", "repair", disk)
    forebay("store", "extract", disk, tmp_path / "read", "--key-file", recorded / "key")
    (whole,) = (tmp_path / "read").rglob(f"{0:020}.bin")
    assert whole.read_bytes() == objects()[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[pe]]\nname = 'aes_ctr'\n", "it needs key"),
        ("[[pe]]\nname = 'aes_ctr'\nkey = { file = 'short' }\n", "16 or 32 bytes, and here are 15"),
        ("[[pe]]\nname = 'aes_ctr'\nkey = { hex = '00' }\n", "comes out of a file"),
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
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "fb_pe_cut.sv").write_text("")
    (tmp_path / "cut" / "fb_pe_cut.toml").write_text("description = ''\nresizes = true\n")
    answer = forebay("pipeline", "check", write(tmp_path, text), code=BAD_INPUT)
    assert words.replace(" ", "") in answer.complaint.replace(" ", "") and not answer.out
