# SPDX-License-Identifier: Apache-2.0
"""`forebay seq`: programs of the sequencer are listed and interpreted."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, FILE_FAILED, STUCK, Run

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
