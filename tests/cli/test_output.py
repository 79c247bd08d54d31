# SPDX-License-Identifier: Apache-2.0
"""Where reports go, in which form; colours; what a command says on standard error."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from driving import BAD_INPUT, FILE_FAILED, Run

PROFILES = ("profiles", "ideal")


def test_a_file_gets_the_report_and_people_read_text(forebay: Run, tmp_path: Path) -> None:
    """JSON or text in the file, replacing what was there; the same text on the terminal."""
    text = forebay(*PROFILES).out
    path = tmp_path / "report"
    path.write_text("x" * 100_000)
    assert forebay(*PROFILES, "-o", "json", "--output-file", path).out == text
    stored = json.loads(path.read_text())
    assert stored == forebay(*PROFILES, "--output", "json").report
    assert forebay(*PROFILES, "--output-file", path).out == text
    assert path.read_text() == text


@pytest.mark.parametrize("form", ["text", "json"])
def test_quiet_leaves_the_file_alone(forebay: Run, tmp_path: Path, form: str) -> None:
    """Nothing is printed where a file has it; the report is printed where none has."""
    path = tmp_path / "report"
    answer = forebay(*PROFILES, "-q", "-o", form, "--output-file", path)
    assert not answer.out and not answer.err and path.stat().st_size > 100
    assert forebay(*PROFILES, "-q", "-o", form).out


def test_lists_go_to_a_file_too(forebay: Run, tmp_path: Path) -> None:
    """`store ls` writes each line as it comes; the rows of `store sql` go to the file alone."""
    (tmp_path / "in").mkdir()
    for name in "abc":
        (tmp_path / "in" / name).write_text(name)
    image, path = tmp_path / "run.img", tmp_path / "list"
    forebay("store", "pack", tmp_path / "in", image)
    text = forebay("store", "ls", image).out
    assert forebay("store", "ls", image, "-o", "json", "--output-file", path).out == text
    assert len(json.loads(path.read_text())["objects"]) == 3
    assert forebay("store", "ls", image, "--output-file", path).out == text == path.read_text()
    query = ("store", "sql", image, "select object from objects order by object")
    assert not forebay(*query, "-o", "csv", "--output-file", path).out
    assert list(csv.reader(path.open())) == [["object"], ["0"], ["1"], ["2"]]
    export = ("store", "export", image, tmp_path / "out", "--to", "parquet")
    assert "✓" in forebay(*export, "-o", "json", "--output-file", path).out
    assert json.loads(path.read_text())["extents"] == 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("profiles -o csv", "text, json"),
        ("profiles -o yaml", "possible values: text, json"),
        ("spec c -o json", "text"),
        ("store cat README.md -o json", "no report"),
        ("store tar README.md --output-file x", "no report"),
        ("vm run -o json -- true", "no report"),
        ("profiles -v -q", "cannot be used with"),
        ("profiles --json -", "--json"),
        ("profiles --color blue", "auto, always, never"),
    ],
)
def test_what_a_command_has_not_is_refused(forebay: Run, line: str, words: str) -> None:
    """Before anything runs, and nothing is made."""
    assert words in forebay(*line.split(), code=BAD_INPUT).complaint
    assert not Path("x").exists()


def test_a_file_that_cannot_be_made(forebay: Run) -> None:
    """It is an error of I/O, told before the work begins."""
    answer = forebay("demo", "--output-file", "/nowhere/x", code=FILE_FAILED)
    assert "/nowhere/x" in answer.complaint and not answer.out


def test_colours(forebay: Run, tmp_path: Path) -> None:
    """Never where it is no terminal, always where they are asked for, and in no file."""
    escape, path = "\x1b[", tmp_path / "report"
    assert escape not in forebay(*PROFILES).out
    answer = forebay(*PROFILES, "--color", "always", "--output-file", path)
    assert escape in answer.out and escape not in path.read_text()
    assert escape in forebay("--color=always", "--help").out
    assert escape in forebay("profiles", "none", "--color", "always", code=BAD_INPUT).err
    assert escape not in forebay("profiles", "none", "--color", "never", code=BAD_INPUT).err


def test_verbose_tells_the_stages(forebay: Run) -> None:
    """When each begins, and how long it took, also where standard error is no terminal."""
    line = ("demo", "--limit", "64KiB")
    assert not forebay(*line).err
    said = forebay(*line, "-v").err
    assert "bringing drive and streamer up …" in said
    assert " ms\n" in said or " s\n" in said
