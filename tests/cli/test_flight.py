# SPDX-License-Identifier: Apache-2.0
"""The flight recorder: both sides of a queue, stored, drawn, and where it hangs."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import BAD_INPUT, BAD_RESULT, FILE_FAILED, INTERRUPTED, PROGRAM, ROOT, STUCK, Run

Data = Callable[[int], Path]

# Commands of 8 KiB: a file of 64 KiB is eight of them.
SMALL = ("--profile", "ideal", "--transaction", "8KiB", "--timeout-cycles", 20_000)


def test_a_healthy_run_stores_both_sides(forebay: Run, data: Data, tmp_path: Path) -> None:
    """What the streamer submitted is what the drive fetched and completed."""
    path = tmp_path / "state.json"
    run = forebay("io", *SMALL, "--write", data(65536), "--inspect", path, "-o", "json")
    assert run.report["diagnosis"] is None
    report = forebay("inspect", "--from", path, "-o", "json").report
    assert report["schema"] == "forebay.inspect/1"
    flight = report["flight"]
    assert flight["diagnosis"]["verdict"] == "healthy"
    host, drive = flight["host"], flight["drive"]
    assert (host["holder"], host["queue"], host["outstanding"]) == ("streamer", 1, 0)
    assert host["sq_tail"] == host["sq_doorbell"] == host["cq_head"] == 8
    assert drive["registers"]["ready"] and not drive["registers"]["fatal"]
    assert drive["error_log"] == []
    (queue,) = [queue for queue in drive["record"]["queues"] if queue["queue"] == 1]
    assert queue["sq_tail"] == queue["sq_head"] == queue["cq_tail"] == 8
    assert queue["under_way"] == []
    events = [event for event in drive["record"]["events"] if event.get("queue") == 1]
    fetched = [event for event in events if event["kind"] == "fetched"]
    posted = [event for event in events if event["kind"] == "posted"]
    assert [event["slba"] for event in fetched] == list(range(0, 128, 16))
    assert [event["slot"] for event in fetched] == list(range(8))
    assert len(posted) == 8 and all(event["status"] == 0 for event in posted)
    times = [event["time_ns"] for event in events]
    assert times == sorted(times)


# Fault, where the queue hangs, and words of the line that says so.
FAULTS = [
    ("drop@nth=3", "not-completed", ["1 command outstanding", "command 2 (write of 16 blocks"]),
    ("duplicate@nth=4", "completion-duplicate", ["nothing hangs", "command 3 twice"]),
    ("unknown-cid@nth=4", "completion-unknown", ["command 65534", "never been sent"]),
    ("wrong-phase@nth=4", "completion-odd", ["command 3", "wrong phase"]),
]


@pytest.mark.parametrize(("fault", "verdict", "words"), FAULTS)
def test_a_fault_is_found(
    forebay: Run, data: Data, tmp_path: Path, fault: str, verdict: str, words: list[str]
) -> None:
    """The run says in one line what the drive did, and the stored file says the same."""
    path = tmp_path / "state.json"
    line = ("io", *SMALL, "--write", data(65536), "--fault", fault, "--inspect", path)
    answer = forebay(*line, code=None)
    (text,) = [line for line in answer.out.splitlines() if line.startswith("  queues")]
    for word in words:
        assert word in text
    diagnosis = json.loads(path.read_text())["flight"]["diagnosis"]
    assert diagnosis["verdict"] == verdict and diagnosis["text"] in text
    assert diagnosis["text"] in forebay("inspect", "--from", path).out


@pytest.mark.parametrize(
    ("fault", "verdict", "words"),
    [
        ("fatal@60us", "drive-fatal", "CSTS.CFS"),
        ("not-ready@60us", "drive-not-ready", "ceased to be at 60000 ns"),
    ],
)
def test_a_drive_that_stops(
    forebay: Run, data: Data, tmp_path: Path, fault: str, verdict: str, words: str
) -> None:
    """Its registers say so, and it is not asked for what it cannot answer."""
    path = tmp_path / "state.json"
    report = forebay(
        *("io", "--profile", "ideal", "--write", data(1 << 20), "--transaction", "64KiB"),
        *("--fault", fault, "--timeout-cycles", 20_000, "--inspect", path, "-o", "json"),
        code=BAD_RESULT,
    ).report
    assert report["diagnosis"]["verdict"] == verdict
    assert words in report["diagnosis"]["text"]
    flight = json.loads(path.read_text())["flight"]
    assert flight["drive"]["error_log"] is None
    assert any("error log" in note for note in flight["notes"])


def test_a_run_that_does_not_end_is_stored(forebay: Run, data: Data, tmp_path: Path) -> None:
    """The watchdog ends it; the report is there all the same, and says what is open."""
    path = tmp_path / "state.json"
    answer = forebay(
        *("io", "--profile", "ideal", "--write", data(8192), "--fault", "drop@nth=1"),
        *("--inspect", path),
        code=STUCK,
    )
    assert "no progress" in answer.complaint
    assert "the drive does not complete command 0" in answer.out and "✓ done" not in answer.out
    answer = forebay("inspect", "--from", path)
    assert "Submission queue of the streamer" in answer.out
    (entry,) = json.loads(path.read_text())["flight"]["submission_queue"]
    assert entry["open"] and (entry["slot"], entry["slba"], entry["blocks"]) == (0, 0, 16)


def test_the_error_log_is_shown(forebay: Run, data: Data, tmp_path: Path) -> None:
    """What the drive says of a command that it failed."""
    path = tmp_path / "state.json"
    forebay(
        *("io", *SMALL, "--write", data(65536), "--fault", "fail=0x4281@nth=5"),
        *("--inspect", path),
        code=BAD_RESULT,
    )
    (entry,) = json.loads(path.read_text())["flight"]["drive"]["error_log"]
    assert (entry["queue"], entry["cid"], entry["lba"]) == (1, 4, 64)
    assert "Unrecovered Read Error" in entry["text"]
    assert "error 1: queue 1, command 4, block 64" in forebay("inspect", "--from", path).out


def test_inspect_alone_shows_both_sides(forebay: Run) -> None:
    """Without a file, of a small workload."""
    out = forebay("inspect", "--profile", "ideal").out
    for words in ["the side of the streamer", "The drive's side", "✓ queues: nothing hangs"]:
        assert words in out


def test_files_that_are_no_report(forebay: Run, data: Data, tmp_path: Path) -> None:
    """A damaged file, or one of another kind, is refused with what to give instead."""
    path = tmp_path / "state.json"
    forebay("io", *SMALL, "--write", data(8192), "--inspect", path)
    good = path.read_text()
    damaged = tmp_path / "damaged.json"
    damaged.write_text(good[: len(good) // 2])
    answer = forebay("inspect", "--from", damaged, code=BAD_INPUT)
    assert "no report of forebay" in answer.complaint
    damaged.write_text(good.replace('"outstanding": 0', '"outstanding": "some"'))
    assert "at line" in forebay("inspect", "--from", damaged, code=BAD_INPUT).complaint
    damaged.write_bytes(b"\xff\x00")
    forebay("inspect", "--from", damaged, code=BAD_INPUT)
    damaged.write_text(good.replace("forebay.inspect/1", "forebay.demo/1"))
    answer = forebay("inspect", "--from", damaged, code=BAD_INPUT)
    assert "forebay.inspect/1" in answer.complaint
    answer = forebay("inspect", "--from", path, "--drive", path, code=BAD_INPUT)
    assert "forebay.record/1" in answer.complaint
    forebay("inspect", "--drive", path, code=BAD_INPUT)
    # A file of before there was a flight recorder.
    report = json.loads(good)
    del report["flight"]
    damaged.write_text(json.dumps(report))
    assert "namespace_sectors" in forebay("inspect", "--from", damaged).out


def test_a_served_drive_keeps_its_record(forebay: Run, data: Data, tmp_path: Path) -> None:
    """The file is there from the beginning, and `inspect --drive` compares with it."""
    record, state = tmp_path / "record.json", tmp_path / "state.json"
    line = ["vm", "serve", "ssd", "--socket", str(tmp_path / "s"), "--record", str(record)]
    with subprocess.Popen(
        [str(PROGRAM), *line], cwd=ROOT, text=True, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        assert "listening" in server.stdout.readline()
        assert record.exists()
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)
        assert server.returncode == INTERRUPTED
    report = json.loads(record.read_text())
    assert report["schema"] == "forebay.record/1" and report["simulated"] is True
    assert report["queues"] == report["events"] == []
    run = ("io", *SMALL, "--write", data(8192), "--fault", "drop@nth=1", "--inspect", state)
    forebay(*run, code=BAD_RESULT)
    answer = forebay("inspect", "--from", state, "--drive", record)
    assert "the drive has no queue 1 any more" in answer.out
    missing = tmp_path / "none" / "record.json"
    line = ["vm", "serve", "ssd", "--socket", tmp_path / "s", "--record", missing]
    assert "record.json" in forebay(*line, code=FILE_FAILED).complaint
