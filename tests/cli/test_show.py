# SPDX-License-Identifier: Apache-2.0
"""`forebay demo`, `inspect`, `profiles`, `spec`: what is shown; Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import BAD_INPUT, INTERRUPTED, OFF_TOLERANCE, PROGRAM, ROOT, Run


def test_demo_sends_a_real_file(forebay: Run, data: Callable[[int], Path]) -> None:
    """The report says what went where, how fast, beside what, and that it is simulated."""
    answer = forebay("demo", "--file", data(300_001))
    for words in [
        "simulated: no hardware was involved",
        "Bring-up",
        "create submission queue",
        "GB/s",
        "host",
        "Where the bytes went",
        "300,001 bytes there and back, none differs: OK",
    ]:
        assert words in answer.out
    assert not answer.err


def test_demo_as_json(forebay: Run, tmp_path: Path) -> None:
    """The same as a file, for others to read; by default the program itself is sent."""
    path = tmp_path / "demo.json"
    forebay("demo", "--limit", "256KiB", "-o", "json", "--output-file", path)
    report = json.loads(path.read_text())
    assert report["schema"] == "forebay.demo/1" and report["simulated"] is True
    assert report["file_bytes"] == 256 << 10
    assert report["differ_bytes"] == report["differ_medium_bytes"] == 0
    assert report["write"]["reference"]["gigabytes_per_second"] > 1
    assert 0.3 < report["write"]["ratio"] < 1.2


def test_the_demo_is_quick(forebay: Run) -> None:
    """Once the RTL is built, the demo takes half a minute at most."""
    report = forebay("demo", "-o", "json").report
    assert report["file_bytes"] >= 8 << 20
    assert report["wall_seconds"] < 30


def test_inspect_draws_everything(forebay: Run) -> None:
    """Registers by name and field, counters, histogram, events."""
    answer = forebay("inspect")
    for words in ["namespace_sectors", "ready 1", "write_commands", "█", "completed, submission"]:
        assert words in answer.out


def test_inspect_what_a_run_stored(
    forebay: Run, data: Callable[[int], Path], tmp_path: Path
) -> None:
    """A run can be looked into afterwards, also one that failed."""
    path = tmp_path / "state.json"
    line = ("io", "--profile", "ideal", "--write", data(65536), "--transaction", "4KiB")
    forebay(*line, "--fault", "fail=0x4281@nth=5", "--inspect", path, code=3)
    answer = forebay("inspect", "--from", path)
    assert "Unrecovered Read Error" in answer.out
    report = forebay("inspect", "--from", path, "-o", "json").report
    counters = {counter["name"]: counter["value"] for counter in report["counters"]}
    assert counters["write_commands"] == 16 and counters["failed_commands"] == 1
    assert sum(report["latency_histogram"]) == 16
    assert report["trace"] and len(report["trace"]) <= 64
    status = next(row for row in report["registers"] if row["name"] == "status")
    assert {field["name"] for field in status["fields"]} >= {"ready", "halted", "idle"}


def test_profiles(forebay: Run) -> None:
    """Each number of a profile has its source."""
    assert "990pro-2tb" in forebay("profiles").out
    answer = forebay("profiles", "990pro-2tb")
    assert "ssd.timing.read.sense_ns" in answer.out and "fitted" in answer.out
    (profile,) = forebay("profiles", "ideal", "-o", "json").report["profiles"]
    assert all(row["source"] for row in profile["parameters"])


@pytest.mark.parametrize(
    ("profile", "within"),
    [("950pro-512", 6), ("pm953-480", 3), ("gen5-2tb", 10), ("9550max-6400", 3)],
)
def test_profiles_hold_what_was_published(
    forebay: Run, tmp_path: Path, profile: str, within: int
) -> None:
    """The model gives the published numbers again where the drive was the limit."""
    path = tmp_path / "measured.json"
    answer = forebay(
        "profiles", profile, "--measure", "--within", within, "-o", "json", "--output-file", path
    )
    assert "fitted" in answer.out
    report = json.loads(path.read_text())
    assert report["schema"] == "forebay.measure/1"
    assert 0 < report["worst_percent"] <= within
    assert all(row["source"] and row["model"] > 0 for row in report["rows"])


def test_a_profile_that_does_not_hold_is_said_so(forebay: Run) -> None:
    """The exit code tells; a profile without measurements is bad input."""
    answer = forebay("profiles", "950pro-512", "--measure", "--within", "1", code=OFF_TOLERANCE)
    assert "off by" in answer.out
    answer = forebay("profiles", "ideal", "--measure", code=BAD_INPUT)
    assert "[[measurements]]" in answer.complaint


def test_spec_is_what_is_checked_in(forebay: Run) -> None:
    """The constants are those of the generated files."""
    for language, path in [
        ("sv", "rtl/common/fb_spec_pkg.sv"),
        ("c", "include/forebay/spec.h"),
        ("python", "python/forebay/spec.py"),
    ]:
        assert forebay("spec", language).out == (ROOT / path).read_text()


def test_help_names_every_command(forebay: Run) -> None:
    """The first thing a user types."""
    out = " ".join(forebay("--help").out.split())  # whatever its lines are
    for command in [
        "demo",
        "io",
        "record",
        "replay",
        "bench",
        "inspect",
        "resources",
        "profiles",
        "spec",
        "swarm",
    ]:
        assert command in out
    for words in ["4 a simulation made no progress", "8 I/O", "130 stopped by Ctrl-C", "100Gb/s"]:
        assert words in out


WELL_UNDER_WAY = 32 << 20
"""Bytes of waves by which bring-up is over and transactions have ended."""


def interrupt(line: list[str], wave: Path) -> tuple[int, str, str]:
    """Run a line and press Ctrl-C once it simulates, which the growing waves tell."""
    with subprocess.Popen(
        [str(PROGRAM), *line, "--wave", str(wave)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            if wave.exists() and wave.stat().st_size > WELL_UNDER_WAY:
                process.send_signal(signal.SIGINT)
                break
            time.sleep(0.1)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


def test_ctrl_c_leaves_a_report(forebay: Run, tmp_path: Path) -> None:
    """What was reached is reported, and the exit code says that it is not all."""
    wave = tmp_path / "waves.fst"
    line = ["bench", "soak", "--transactions", "100000000", "-o", "json"]
    code, out, err = interrupt(line, wave)
    assert code == INTERRUPTED, err
    report = json.loads(out)
    assert report["interrupted"] is True
    assert report["transactions"] > 0 and report["differ_bytes"] == 0
    wave.unlink()
    source = tmp_path / "large"
    source.write_bytes(bytes(range(256)) * (1 << 18))
    line = ["io", "--profile", "ideal", "--write", str(source), "--transaction", "1MiB"]
    code, out, err = interrupt(line, wave)
    assert code == INTERRUPTED, err
    assert "interrupted" in out
