# SPDX-License-Identifier: Apache-2.0
"""`forebay swarm`: small cases drawn from seeds, and a command that repeats what fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, ROOT, Run

# Put on purpose into a copy of the RTL: a read is delivered from the page before its own.
DEFECT = ("rtl/nvme/fb_nvme_deliver.sv", "", "")


def test_seeds_run_and_are_counted(forebay: Run) -> None:
    """A few seeds on one shape: all good, everything in the report."""
    line = ("swarm", "--seeds", "0..8", "--shapes", "onchip-1", "--json", "-")
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
    shapes = forebay("swarm", "--list", "--json", "-").report["shapes"]
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
