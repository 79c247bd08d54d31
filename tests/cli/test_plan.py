# SPDX-License-Identifier: Apache-2.0
"""`forebay plan`: what a recording needs, and its simulation."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import BAD_INPUT, INFEASIBLE, ROOT, Run

BURSTS = ("--rate", "12GB/s", "--burst", "8MiB", "--every", "4ms", "--total", "1GB")


def plan(forebay: Run, *line: object, code: int = 0) -> dict:
    """Run a plan and return its report."""
    report = forebay("plan", *line, "-o", "json", code=code).report
    assert report["schema"] == "forebay.plan/1" and report["simulated"] is True
    return report


def test_a_steady_rate_needs_no_buffer(forebay: Run) -> None:
    """One drive, the smallest memory; what limits is named; the simulation loses nothing."""
    report = plan(forebay, "--rate", "5GB/s", "--total", "1GB")
    answer = report["plan"]
    assert (answer["drives"], answer["memory"]) == (1, "onchip")
    assert answer["bottleneck"] == "drives" and answer["waiting"]["bytes"] == 0
    found = report["verification"]
    assert found["lost_bytes"] == 0 < found["most_bytes"] <= found["fifo_bytes"]
    assert found["stored_bytes_per_second"] == pytest.approx(5e9, rel=0.02)


def test_bursts_need_a_buffer_and_less_loses(forebay: Run) -> None:
    """The planned FIFO holds; half of it does not, so that the verification can fail."""
    report = plan(forebay, *BURSTS, "--memory", "onchip")
    answer, found = report["plan"], report["verification"]
    assert answer["waiting"]["bytes"] > 4 << 20
    assert found["lost_bytes"] == 0 and found["half_loses"] is True
    half = answer["fifo_bytes"] // 2
    report = plan(forebay, *BURSTS, "--memory", "onchip", "--fifo", half, code=INFEASIBLE)
    assert report["possible"] is True and report["verification"]["lost_bytes"] > 0


def test_a_larger_memory_takes_the_burst(forebay: Run) -> None:
    """Where the on-chip memory does not suffice, on-board DRAM is taken."""
    report = plan(forebay, *BURSTS)
    assert report["plan"]["memory"] == "dram"
    assert report["plan"]["fifo_bytes"] == 16 << 10
    assert report["verification"]["lost_bytes"] == 0


def test_more_comes_than_one_drive_takes(forebay: Run) -> None:
    """The number of drives follows from the rate and from how long the recording is."""
    report = plan(forebay, "--rate", "7GB/s", "--total", "1GB")
    found = report["verification"]
    assert report["plan"]["drives"] == 2 and found["lost_bytes"] == 0
    assert found["stored_bytes_per_second"] > 6.5e9, "more than one drive takes"
    # A long one fills the cache: then each takes 1.4 GB/s.
    report = plan(forebay, "--rate", "7GB/s", "--no-verify")
    assert report["plan"]["drives"] == 6 and report["plan"]["state"] == "with its cache full"
    assert report["verification"] is None


def test_what_is_not_possible_is_said(forebay: Run) -> None:
    """No buffer helps where too little is stored on average."""
    answer = forebay("plan", "--rate", "7GB/s", "--total", "1GB", "--drives", 1, code=INFEASIBLE)
    assert "not possible" in answer.out and "no buffer helps" in answer.out
    report = plan(forebay, "--rate", "20GB/s", "--wire", "none", "--total", "1GB", code=INFEASIBLE)
    assert report["possible"] is False
    assert report["plan"]["bottleneck"] in ("card's link", "DRAM", "datapath")
    assert report["plan"]["stages"][0]["name"] == "datapath"


def test_bursts_too_long_to_simulate(forebay: Run) -> None:
    """Then the plan is of arithmetic alone, and says so."""
    line = ("--rate", "6GB/s", "--burst", "1GB", "--every", "1s", "--total", "1GB")
    report = plan(forebay, *line)
    assert report["verification"] is None
    assert any("--verify-bytes" in note for note in report["notes"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("--rate", "13GB/s"), "wire carries"),
        (("--rate", "fast"), "no rate"),
        (("--rate", "5GB/s", "--burst", "1MiB"), "--every"),
        (("--rate", "5GB/s", "--burst", "1MiB", "--every", "0ms"), "--every is 0"),
        (("--rate", "5GB/s", "--burst", "1MiB", "--every", "soon"), "no time"),
        (("--rate", "5GB/s", "--drives", "9"), "9"),
        (("--rate", "5GB/s", "--profile", "nothing"), "no built-in profile"),
    ],
)
def test_bad_input(forebay: Run, line: tuple[str, ...], words: str) -> None:
    """What cannot be meant is refused with field and limit."""
    assert words in forebay("plan", *line, code=BAD_INPUT).complaint


def test_an_absurd_profile(forebay: Run, tmp_path: Path) -> None:
    """A number that cannot be is named."""
    text = (ROOT / "profiles" / "990pro-2tb.toml").read_text()
    path = tmp_path / "absurd.toml"
    path.write_text(text.replace("cache_bytes = { value = 226", "cache_bytes = { value = -226"))
    complaint = forebay("plan", "--rate", "1GB/s", "--profile", path, code=BAD_INPUT).complaint
    assert "cache_bytes" in complaint
