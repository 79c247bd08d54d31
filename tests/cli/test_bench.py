# SPDX-License-Identifier: Apache-2.0
"""`forebay bench`: small runs; the figures themselves are docs/VALIDATION.md's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import Run


def rows(report: dict) -> dict[str, dict]:
    """Rows of a bench by their name."""
    assert report["schema"] == "forebay.bench/1" and report["simulated"] is True
    return {row["id"]: row for row in report["rows"]}


def test_core(forebay: Run) -> None:
    """Near the 64 bytes per cycle of the bus, and never above."""
    report = forebay("bench", "core", "--bytes", "4MiB", "-o", "json").report
    found = rows(report)
    assert list(found) == ["sequential_write", "one_write", "sequential_read"]
    for row in found.values():
        assert 55 < row["streamer"]["bytes_per_cycle"] < 64
        assert row["streamer"]["bytes"] == 4 << 20
    assert report["command_line"][:3] == ["forebay", "bench", "core"]


def test_latency(forebay: Run) -> None:
    """One transaction alone: not below its own beats, not far above SNAcc's."""
    found = rows(forebay("bench", "latency", "-o", "json").report)
    for name, floor, most in [
        ("write_4k", 128, 160),
        ("read_4k", 64, 165),
        ("write_1m", 16384, 20000),
        ("read_1m", 16384, 20000),
    ]:
        latency = found[name]["streamer"]["latency_cycles"]
        assert floor < latency["least"] <= latency["most"] <= most, name


def test_random(forebay: Run) -> None:
    """Every row moves what it says, without an error."""
    found = rows(forebay("bench", "random", "--bytes", "1MiB", "-o", "json").report)
    assert list(found) == ["random_read_4k", "random_write_4k", "random_write_512"]
    assert found["random_write_512"]["streamer"]["transactions"] == 256
    for row in found.values():
        assert row["streamer"]["failed"] == row["streamer"]["mismatched"] == 0


def test_beside_the_host_on_a_real_drive(forebay: Run) -> None:
    """On a drive that takes time the host is measured, too, and is not far away."""
    line = ("bench", "random", "--profile", "990pro-2tb", "--bytes", "2MiB", "-o", "json")
    row = rows(forebay(*line).report)["random_read_4k"]
    assert 1 < row["reference"]["gigabytes_per_second"] < 7
    assert 0.7 < row["ratio"] < 1.1


def test_the_same_seed_gives_the_same_figures(forebay: Run, tmp_path: Path) -> None:
    """Reports are the same up to the last byte, and differ with the seed."""
    texts = []
    for number, seed in enumerate([5, 5, 6]):
        path = tmp_path / f"{number}.json"
        line = ("bench", "random", "--profile", "990pro-2tb", "--bytes", "512KiB")
        forebay(*line, "--seed", seed, "-o", "json", "--output-file", path)
        report = json.loads(path.read_text())
        assert report.pop("seed") == seed
        del report["command_line"]
        texts.append(report)
    assert texts[0] == texts[1] != texts[2]


def test_speed(forebay: Run) -> None:
    """Busy is slower than nothing but a clock."""
    report = forebay("bench", "speed", "--bytes", "2MiB", "-o", "json").report
    assert 0 < report["ratio_busy_to_clock_only"] < 1.5
    assert report["busy"]["bytes"] == 2 << 20


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("options", [(), ("--queue-depth", 2), ("--stall", "0.3:40")])
def test_soak(forebay: Run, seed: int, options: tuple[object, ...]) -> None:
    """Mixed transactions, pausing ports: no byte differs, and what is wrong is refused."""
    report = forebay(
        *("bench", "soak", "--transactions", 400, "--largest", "64KiB", "--seed", seed),
        *(*options, "-o", "json"),
    ).report
    assert report["transactions"] == 400
    assert report["differ_bytes"] == report["differ_medium_bytes"] == report["wrong_answers"] == 0
    assert min(report["writes"], report["reads"], report["unordered_reads"]) > 20
    assert report["refused"] > 0


@pytest.mark.parametrize("drives", [1, 3])
def test_soak_of_writes_that_overlap(forebay: Run, drives: int) -> None:
    """Fences keep overlapping writes in order, also where commands fail and are sent again."""
    report = forebay(
        *("bench", "soak", "--transactions", 300, "--writes", 90, "--fence", 100),
        *("--area", "64KiB", "--largest", "16KiB", "--stall", "0.3:40", "--drives", drives),
        *("--fault", "fail=0x281@every=5:40", "-o", "json"),
    ).report
    assert report["differ_bytes"] == report["differ_medium_bytes"] == report["wrong_answers"] == 0
    assert report["writes"] > 200


def test_soak_of_an_array_as_it_is_given(forebay: Run) -> None:
    """Two drives and nothing else: unordered reads cross stripe units, and are served."""
    report = forebay("bench", "soak", "--drives", 2, "--transactions", 300, "-o", "json").report
    assert report["differ_bytes"] == report["differ_medium_bytes"] == report["wrong_answers"] == 0
    assert report["unordered_reads"] > 20


def test_a_drive_that_breaks_while_it_is_brought_up_again(forebay: Run) -> None:
    """Its fault comes in the middle of the recovery from a reset: it is brought up once more."""
    machine = ("--memory", "host", "--drives", 7, "--linear", "--queue-depth", 2, "--block", 4096)
    built = ("--param", "QueueDepth=64", "--param", "Drives=8", "--param", "ParityPages=0")
    work = ("--transactions", 150, "--area", 16384, "--least", 4096, "--largest", 4096)
    shares = ("--writes", 20, "--fua", 0, "--flush", 40, "--refused", 0, "--under-way", 2)
    ports = ("response=0.3:3", "read=0.3:3", "window-write=0.05:20", "window-answer=0.3:3")
    stalls = [f"--stall={port}" for port in (*ports, "doorbell=0.3:3", "host=0.05:20")]
    trouble = ("--timeout-cycles", 80000, "--fault", "2/fatal@56us", "--reset", 127, *stalls)
    line = ("bench", "soak", "--seed", 15468, *machine, *built, *work, *shares, *trouble)
    report = forebay(*line, "-o", "json").report
    assert report["resets"] == 1


def test_soak_counts_what_becomes_of_each_transaction(forebay: Run) -> None:
    """Faults, resets, parity and a missing drive: what fails has a cause, and no byte differs."""
    line = ("bench", "soak", "--transactions", 120, "-o", "json", "--largest", "16KiB")
    report = forebay(*line, "--fault", "fail=0x4281@every=9:6", "--reset", 50).report
    assert report["transactions"] == 120 and report["resets"] == 1
    assert 0 < report["failed"] <= report["faults"] <= 6 and report["aborted"] > 0
    ended = ("writes", "reads", "refused", "failed", "aborted")
    assert sum(report[name] for name in ended) == 120
    report = forebay(*line, "--fault", "drop@nth=20", "--timeout-cycles", 60_000).report
    assert report["recoveries"] == 1 and report["failed"] > 0
    parity = ("--drives", 3, "--parity", "--chunk", "4KiB", "--missing", 1)
    assert forebay(*line, *parity).report["failed"] == 0
    # Reads that are offered while the streamer starts anew are served after it.
    report = forebay(*line, "--drives", 3, "--parity", "--writes", 0, "--reset", 5).report
    assert report["reads"] + report["refused"] + report["aborted"] == 120


def test_a_queue_of_256_and_a_small_window(forebay: Run) -> None:
    """Depth and window are parameters of the RTL, and work."""
    line = ("bench", "soak", "--transactions", 100, "--largest", "32KiB", "-o", "json")
    report = forebay(*line, "--queue-depth", 256, "--buffer", "1MiB").report
    assert report["differ_bytes"] == report["wrong_answers"] == 0
    assert ["QueueDepth", "256"] in report["rtl"]["parameters"]
    assert ["Pages", "256"] in report["rtl"]["parameters"]


def test_other_rtl_with_the_same_pins(forebay: Run) -> None:
    """A top module with SNAcc's pins runs in place of ours, from a filelist."""
    line = ("demo", "--limit", "64KiB", "--rtl", "rtl/top/onchip.f", "-o", "json")
    report = forebay(*line, "--top", "fb_top_snacc_onchip").report
    assert report["rtl"]["top"] == "fb_top_snacc_onchip"
    assert report["differ_bytes"] == 0
