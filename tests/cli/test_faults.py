# SPDX-License-Identifier: Apache-2.0
"""A drive that misbehaves: transactions end with a code, and nothing else comes to harm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from driving import STUCK, Run

IDEAL = ("--profile", "ideal")
# Commands of 8 KiB: a file of 64 KiB is eight of them.
SMALL = ("--transaction", "8KiB")


def incidents(report: dict) -> dict[str, int]:
    """List the counters that are not 0."""
    return dict(report["incidents"])


def test_a_retry_heals(forebay: Run, data: Callable[[int], Path]) -> None:
    """A command is retried where its status allows it; only a counter shows it."""
    report = forebay(
        *("io", *IDEAL, "--write", data(65536), "--read", *SMALL),
        *("--fault", "fail=0x281@nth=3", "--fault", "fail=0x280@nth=12", "-o", "json"),
    ).report
    assert report["differ_bytes"] == 0
    assert incidents(report)["retries"] == 2


def test_what_may_not_be_retried_reaches_the_user(
    forebay: Run, data: Callable[[int], Path]
) -> None:
    """Only the transaction that was hit fails; its status stands in the register."""
    report = forebay(
        *("io", *IDEAL, "--write", data(65536), *SMALL),
        *("--fault", "fail=0x4281@nth=3", "-o", "json"),
        code=3,
    ).report
    codes = [row["error_code"] for row in report["transactions"]]
    assert codes == [0, 0, 0x80 | 2 << 5 | 1 << 4 | 1, 0, 0, 0, 0, 0]
    assert "Unrecovered Read Error" in report["error_cause"]
    assert incidents(report)["failed_commands"] == 1
    assert "retries" not in incidents(report)


def test_retries_come_to_an_end(forebay: Run, data: Callable[[int], Path]) -> None:
    """A fault that stays is reported after as many attempts as allowed."""
    report = forebay(
        *("io", *IDEAL, "--write", data(8192), "--retry-limit", 2),
        *("--fault", "fail=0x280@write:9", "-o", "json"),
        code=3,
    ).report
    assert incidents(report)["retries"] == 2
    assert report["transactions"][0]["error_code"] & 0x80


@pytest.mark.parametrize(
    ("fault", "counter"),
    [
        ("duplicate@nth=4", "rogue_phase"),
        ("unknown-cid@nth=4", "rogue_cid"),
        ("wrong-phase@nth=4", "rogue_phase"),
    ],
)
def test_rogue_completions_are_ignored(
    forebay: Run, data: Callable[[int], Path], fault: str, counter: str
) -> None:
    """Completions that cannot be are counted, and the data are right all the same."""
    report = forebay(
        *("io", *IDEAL, "--write", data(65536), "--read", *SMALL, "--fault", fault),
        *("-o", "json"),
        code=None,
    ).report
    assert report["differ_bytes"] == 0, report
    counters = incidents(report)
    # A second completion has the right phase, but its identifier is free by then.
    assert sum(counters.get(name, 0) for name in (counter, "rogue_cid")) >= 1, counters


@pytest.mark.parametrize(("head", "counted"), [(999, {"rogue_head": 1}), (0, {}), (63, {})])
def test_a_wrong_queue_head(
    forebay: Run, data: Callable[[int], Path], head: int, counted: dict[str, int]
) -> None:
    """A completion counts whatever its queue head; one that is no place of the queue is counted."""
    report = forebay(
        *("io", *IDEAL, "--write", data(65536), *SMALL, "--fault", f"wrong-head={head}@nth=4"),
        *("--timeout-cycles", 20_000, "-o", "json"),
    ).report
    assert [row["error_code"] for row in report["transactions"]] == [0] * 8
    assert incidents(report) == counted


def test_a_lost_completion_is_a_time_out(forebay: Run, data: Callable[[int], Path]) -> None:
    """After a time-out the queue is halted; every transaction still ends, with a code."""
    report = forebay(
        *("io", *IDEAL, "--write", data(65536), *SMALL, "--fault", "drop@nth=3"),
        *("--timeout-cycles", 20_000, "-o", "json"),
        code=3,
    ).report
    codes = [row["error_code"] for row in report["transactions"]]
    assert len(codes) == 8 and codes[2] == 0x04
    assert set(codes[3:]) <= {0, 0x04, 0x05}
    assert incidents(report)["timeouts"] >= 1


def test_without_a_short_time_out_it_is_told_what_is_waited_for(
    forebay: Run, data: Callable[[int], Path]
) -> None:
    """A run that cannot end says so, and how to go on."""
    answer = forebay("io", *IDEAL, "--write", data(8192), "--fault", "drop@nth=1", code=STUCK)
    assert "no progress" in answer.complaint
    assert "drive 0 holds commands 0 and has nothing scheduled" in answer.complaint
    assert "--wave-from" in answer.complaint
    assert "--timeout-cycles" in answer.complaint


def test_a_drive_that_goes_not_ready(forebay: Run, data: Callable[[int], Path]) -> None:
    """A drive that ceases to work ends in time-outs, not in a hang."""
    answer = forebay(
        *("io", *IDEAL, "--write", data(1 << 20), "--read", "--transaction", "64KiB"),
        *("--fault", "not-ready@60us", "--timeout-cycles", 20_000, "-o", "json"),
        code=3,
    )
    codes = [row["error_code"] for row in answer.report["transactions"]]
    assert any(codes) and set(codes) <= {0, 0x04, 0x05}


@pytest.mark.parametrize(
    ("fault", "codes", "counter"),
    [
        ("write@0..64", [8, 0], "memory_write_errors"),
        ("write@124MiB..0x7c00040", [0, 8], "memory_write_errors"),
        ("read@124MiB..0x7c00040", [0, 8], "memory_read_errors"),
    ],
)
def test_dram_that_refuses(
    forebay: Run, data: Callable[[int], Path], fault: str, codes: list[int], counter: str
) -> None:
    """The transaction concerned fails, and what was refused is counted."""
    report = forebay(
        *("io", *IDEAL, "--memory", "dram", "--dram-fault", fault),
        *("--write", data(4096), "--read", "-o", "json"),
        code=3,
    ).report
    found = [row["error_code"] for row in report["transactions"]]
    # What was not written is not read either.
    assert found == codes[: len(found)]
    assert incidents(report)[counter] > 0
