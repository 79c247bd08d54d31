# SPDX-License-Identifier: Apache-2.0
"""`forebay swarm`: small cases drawn from seeds, and a command that repeats what fails."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, ROOT, Run


def test_seeds_run_and_are_counted(forebay: Run) -> None:
    """A few seeds on one shape: all good, everything in the report."""
    line = ("swarm", "--seeds", "0..8", "--shapes", "onchip-1", "-o", "json")
    report = forebay(*line).report
    assert report["schema"] == "forebay.swarm/1"
    assert (report["ran"], report["seeds"], report["failures"]) == (8, [0, 8], [])
    assert min(report["transactions"], report["bytes"], report["cycles"]) > 0
    (shape,) = report["shapes"]
    assert (shape["name"], shape["seeds"]) == ("onchip-1", 8)
    again = forebay(*line, "--jobs", 1).report
    assert again["cycles"] == report["cycles"] and again["shapes"] == report["shapes"]


def test_shapes_are_listed(forebay: Run) -> None:
    """As a table, and as JSON."""
    text = forebay("swarm", "--list").out
    shapes = forebay("swarm", "--list", "-o", "json").report["shapes"]
    assert 8 <= len(shapes) <= 16
    assert all(shape["name"] in text for shape in shapes)
    assert {shape["memory"] for shape in shapes} == {"onchip", "dram", "host"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--seeds 7..7", "holds no seed"),
        ("--seeds 7", "write A..B"),
        ("--seeds 0..x", "write A..B"),
        ("--seeds 0..2 --seed 1", "cannot be used with"),
        ("--seeds 0..2 --shapes onchip-1,nothing", "no shape is named `nothing`"),
        ("--seeds 0..2 --jobs 0", "1..=256"),
        ("", "required"),
    ],
)
def test_bad_input(forebay: Run, line: str, said: str) -> None:
    """A wrong option is refused in words."""
    assert said in forebay("swarm", *line.split(), code=BAD_INPUT).complaint


def test_a_defect_is_found_and_made_simple(
    forebay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RTL with a wrong code in it fails; the command that is printed fails the same way."""
    shutil.copytree(ROOT / "rtl", tmp_path / "rtl")
    source = tmp_path / "rtl/nvme/fb_nvme_write_split.sv"
    good = "(past_end_q && !close_q) ? ERR_OUT_OF_RANGE : ERR_OK;"
    text = source.read_text()
    assert text.count(good) == 1
    source.write_text(text.replace(good, good.replace("OUT_OF_RANGE", "MISALIGNED")))
    monkeypatch.setenv("FOREBAY_HOME", str(tmp_path))
    line = ("swarm", "--seeds", "0..60", "--shapes", "onchip-1", "-o", "json")
    report = forebay(*line, code=BAD_RESULT).report
    assert report["ran"] < 60
    failure = report["failures"][0]
    assert failure["kind"] == "answer" and "Write" in failure["seen"][0]
    command = shlex.split(failure["shrunk"])
    assert command[:3] == ["forebay", "bench", "soak"]
    assert "--stall 0" in failure["shrunk"] and "--fault" not in command
    found = forebay(*command[1:], "-o", "json", code=BAD_RESULT).report
    assert found["wrong_answers"] > 0 and found["first_wrong"] == failure["seen"]
    monkeypatch.delenv("FOREBAY_HOME")
    forebay(*command[1:])
