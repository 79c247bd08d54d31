# SPDX-License-Identifier: Apache-2.0
"""`forebay seq`: programs of the sequencer are listed and interpreted."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, FILE_FAILED, IMPOSSIBLE, STUCK, Run

SUM = """\
.space ram 1
.space gone 2
.const LAST 5
        li r1, LAST
1:      add r2, r2, r1          ; r2: the sum
        sub r1, r1, 1
        bne r1, r0, 1b
        st64 r2, ram[r0 + 8]
        ld32 r3, ram[r0 + 8]
        ld32 r4, gone[r0]
        berr done
        fail 7
done:   say "sum \\""
        dec r3
        say "\\"\\n"
        stop
"""

BOOT = "rtl/boot/boot.seq"
QEMU = "qemu-system-x86_64"
with_qemu = pytest.mark.skipif(
    not shutil.which(QEMU) and os.environ.get("FOREBAY_REQUIRE_QEMU") != "1",
    reason=f"{QEMU} is not there: install Debian's package qemu-system-x86",
)


def write(folder: Path, text: str | bytes) -> Path:
    """Write a program."""
    path = folder / "x.seq"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_program_computes_and_prints(forebay: Run, tmp_path: Path) -> None:
    """It has the memory that it is given; other spaces answer with an error."""
    words = ("seq", "run", write(tmp_path, SUM), "--ram", "ram=1KiB", "--trace")
    answer = forebay(*words)
    assert 'sum "15"' in answer.out and "stopped with code 0" in answer.out
    assert "write ram[0x8] 8 0xf" in answer.out and "read  gone[0x0] 4 error" in answer.out
    report = forebay(*words, "-o", "json").report
    assert report["schema"] == "forebay.seq-run/1" and report["console"] == 'sum "15"\n'
    end = report["end"]
    assert (end["code"], end["line"]) == (0, 16)
    assert end["registers"][:5] == [0, 0, 15, 15, 0xFFFF_FFFF]
    assert [access["value"] for access in report["accesses"]] == [15, 15, None]


def test_a_listing(forebay: Run, tmp_path: Path) -> None:
    """It shows numbers, words, labels and lines, and the same as data."""
    program = write(tmp_path, SUM)
    text = forebay("seq", "list", program).out
    assert "done:" in text and "   0  00400005    li r1, 5" in text
    assert text.endswith("14 of 1024 words used\n")
    report = forebay("seq", "list", program, "-o", "json").report
    assert (report["schema"], report["words_used"]) == ("forebay.seq-list/1", 14)
    assert report["words"][3] == {
        "place": 3,
        "word": 0x11 << 26 | 1 << 22 | 1,
        "labels": [],
        "instruction": "bne r1, r0, _1",
        "line": 7,
        "source": "bne r1, r0, 1b",
    }


def test_a_package(forebay: Run, tmp_path: Path) -> None:
    """It has each word of the listing, and `stop` behind them."""
    program = write(tmp_path, SUM)
    words = [row["word"] for row in forebay("seq", "list", program, "-o", "json").report["words"]]
    text = forebay("seq", "rom", program, "--package", "sum_pkg").out
    rom = [int(word, 16) for word in re.findall(r"32'h([0-9a-f]{8})", text)]
    assert "package sum_pkg;" in text and len(rom) == 1024
    assert rom[: len(words)] == words and set(rom[len(words) :]) == {0xFC00_0000}
    refused = forebay("seq", "rom", program, "--package", "a-b", code=BAD_INPUT)
    assert "no name in SystemVerilog" in refused.err


def test_a_program_fails(forebay: Run, tmp_path: Path) -> None:
    """Its code is shown; the exit code is that of a bad result."""
    answer = forebay("seq", "run", write(tmp_path, "fail 7"), code=BAD_RESULT)
    assert "failed with code 7 at word 0, line 1" in answer.out


def test_a_program_without_end_is_stopped(forebay: Run, tmp_path: Path) -> None:
    """The bound is that of --most."""
    program = write(tmp_path, 'timer r1\n1: say "."\n sub r1, r1, 1\n bne r1, r0, 1b\n stop')
    answer = forebay("seq", "run", program, "--most", 13, code=STUCK)
    assert "stopped at word 1, line 2: --most 13 instructions" in answer.out
    assert "\n....\n" in answer.out
    report = forebay("seq", "run", program, "--most", 13, "-o", "json", code=STUCK).report
    assert report["end"] is None and report["instructions"] == 13


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stop\n add r1, r1, 40000", "x.seq:2:14: number of add is 40000"),
        ("stop\n add r1, r1, 40000", "help: load the number with `li` into a register"),
        ("1: jmp 1b", "it may never end"),
        (b"stop ; \xff", "not UTF-8 at byte 7"),
        (b";" * (1 << 20) + b"\n", "at most 1 MiB"),
    ],
)
def test_refused(forebay: Run, tmp_path: Path, text: str | bytes, words: str) -> None:
    """The complaint names file, line, limit and remedy."""
    for command in ("list", "run"):
        answer = forebay("seq", command, write(tmp_path, text), code=BAD_INPUT)
        assert words.replace(" ", "") in answer.complaint.replace(" ", "") and not answer.out


def test_what_is_not_there(forebay: Run, tmp_path: Path) -> None:
    """A missing file, a space that the program does not name."""
    assert "no/such" in forebay("seq", "list", "no/such", code=FILE_FAILED).complaint
    words = ("seq", "run", write(tmp_path, SUM), "--ram", "rom=8")
    answer = forebay(*words, code=BAD_INPUT)
    assert "the program's spaces are ram, gone" in answer.complaint
    answer = forebay(*words[:-1], "ram=8", "--ram", "ram=16", code=BAD_INPUT)
    assert "`ram` twice" in answer.complaint


@with_qemu
def test_drives_of_qemu_are_brought_up(forebay: Run, tmp_path: Path) -> None:
    """Two of them behind a switch; images are made where missing, and are left alone where not."""
    a, b = tmp_path / "a,1.img", tmp_path / "b.img"
    b.write_bytes(bytes(range(256)) * 4096)
    a_drive = f"{a}:block=4096,size=4MiB,mdts=32KiB+switch"
    drives = ("--ssd", a_drive, "--ssd", f"{b}:block=4096,size=2MiB")
    words = ("seq", "run", BOOT, "--on", "qemu", *drives)
    answer = forebay(*words, "--trace")
    assert "read  port[0x0] 8 0x1" in answer.out
    assert "--------------03:00.0 - BAR0 64 bit - size: 0x00004000" in answer.out
    assert "1024 × 4096 B" in answer.out and "ready" in answer.out
    assert "stopped with code 0" in answer.out and "Complaints" not in answer.out
    report = forebay(*words, "-o", "json").report
    assert report["end"]["code"] == 0 and report["complaints"] == []
    assert "(S/N FB0001)" in report["console"]
    first, second = report["drives"]
    named = ("function", "model", "serial", "namespace", "blocks", "block_bytes", "transfer_bytes")
    model = "QEMU NVMe Ctrl"
    assert [first[name] for name in named] == [
        *("03:00.0", model, "FB0000", 1, 1024, 4096, 32 << 10),
    ]
    assert [second[name] for name in named] == [
        *("04:00.0", model, "FB0001", 1, 256, 4096, 512 << 10),
    ]
    assert all(drive["ready"] and drive["code"] == 0 and drive["bar"] for drive in (first, second))
    assert a.stat().st_size == 4 << 20
    assert b.read_bytes() == bytes(range(256)) * 4096


@with_qemu
def test_drives_of_qemu_with_blocks_of_two_sizes(forebay: Run, tmp_path: Path) -> None:
    """They are no array: the program ends with its code."""
    drives = (
        "--ssd",
        f"{tmp_path / 'a'}:size=2MiB+switch",
        "--ssd",
        f"{tmp_path / 'b'}:size=2MiB,block=4096",
    )
    report = forebay(
        *("seq", "run", BOOT, "--on", "qemu", *drives, "-o", "json"), code=BAD_RESULT
    ).report
    assert report["end"]["code"] == 21
    assert "drives differ: ERROR 21 at 04:00.0\n" in report["console"]
    assert [drive["code"] for drive in report["drives"]] == [0, 21]


@with_qemu
def test_an_empty_root_port_of_qemu(forebay: Run) -> None:
    """The program ends with its code, and so does the command."""
    answer = forebay("seq", "run", BOOT, "--on", "qemu", code=BAD_RESULT)
    assert "no link: ERROR 1 at 00:00.0" in answer.out
    assert "failed with code 1" in answer.out


def test_what_cannot_be_run_on(forebay: Run, tmp_path: Path) -> None:
    """An unknown target, drives without a switch, an image that is missing, no QEMU."""
    words = ("seq", "run", BOOT, "--on")
    assert "possible values: qemu" in forebay(*words, "fpga", code=BAD_INPUT).complaint
    image = tmp_path / "a.img"
    two = ("--ssd", f"{image}:size=1MiB", "--ssd", f"{image}:size=1MiB")
    answer = forebay(*words, "qemu", *two, code=BAD_INPUT)
    assert "the number of drives is 2" in answer.complaint
    assert "+switch behind a drive" in answer.complaint and not image.exists()
    answer = forebay(*words, "qemu", "--ssd", image, code=FILE_FAILED)
    assert "a.img" in answer.complaint
    answer = forebay(*words, "qemu", "--ram", "ram=8", code=BAD_INPUT)
    assert "cannot be used with" in answer.complaint
    nowhere = {"PATH": str(tmp_path)}
    answer = forebay(*words, "qemu", code=IMPOSSIBLE, env=nowhere)
    assert f"{QEMU} cannot be started" in answer.complaint
    assert "install QEMU (Debian: qemu-system-x86)" in answer.complaint
