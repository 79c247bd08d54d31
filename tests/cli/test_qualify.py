# SPDX-License-Identifier: Apache-2.0
"""`forebay ssd qualify`: from what fio measured to a profile; what it refuses.

fio/file.json is what fio 3.33 wrote of a file on a virtual disk, by `forebay ssd qualify FILE
--write --job-time 1s --keep`, without the parts that are not read. fio is not needed here: the
tests that boot a guest run it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import BAD_INPUT, FILE_FAILED, IMPOSSIBLE, PROGRAM, Run

STORED = Path(__file__).parent / "fio" / "file.json"


def test_a_report_becomes_a_profile(forebay: Run, tmp_path: Path) -> None:
    """It is loaded as any other, says how each number came about, and is compared."""
    out, report = tmp_path / "mine.toml", tmp_path / "report.json"
    line = ("ssd", "qualify", "--from", STORED, "--save", out, "--name", "mine")
    answer = forebay(*line, "--capacity", "64GiB", "-o", "json", "--output-file", report)
    assert "random 4 KiB read, depth 128" in answer.out
    assert f"{out} written" in answer.out
    text = out.read_text()
    assert "page_ns" in text and "fio-3.33: sequential writes" in text
    told = json.loads(report.read_text())
    assert told["schema"] == "forebay.qualify/1" and told["wrote"] is True
    rows = {(row["load"], row["quantity"]): row for row in told["rows"]}
    for load in ["sequential 128 KiB read, depth 16", "sequential 128 KiB write, depth 16"]:
        assert abs(rows[load, "bytes_per_second"]["difference_percent"]) < 5
    assert abs(rows["random 4 KiB read, depth 1", "p50_ns"]["difference_percent"]) < 8
    (profile,) = forebay("profiles", out, "-o", "json").report["profiles"]
    numbers = {row["field"]: row for row in profile["parameters"]}
    assert numbers["ssd.namespaces.0.bytes"]["value"] == 64 << 30
    assert numbers["ssd.timing.read.sense_ns"]["kind"] == "fitted"
    assert all("fio" in row["source"] or row["kind"] != "fitted" for row in numbers.values())
    assert "profile mine" in forebay("profiles", out).out.lower()
    again = forebay(*line, code=BAD_INPUT)
    assert "nothing is overwritten" in again.complaint


def change_rate(report: dict) -> None:
    """A drive faster than any."""
    report["jobs"][0]["read"]["bw_bytes"] = 10**15


def drop_latency(report: dict) -> None:
    """A field is missing."""
    del report["jobs"][1]["read"]["lat_ns"]


def rename(report: dict) -> None:
    """A job of another user."""
    report["jobs"][2]["jobname"] = "mix"


def fail(report: dict) -> None:
    """A job that failed."""
    report["jobs"][3]["error"] = 5


def lose_curve(report: dict) -> None:
    """No random reads."""
    report["jobs"] = report["jobs"][:1]


def crawl(report: dict) -> None:
    """Slower than what a profile can say."""
    report["jobs"][0]["read"]["bw_bytes"] = 1000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_rate, "read.bw_bytes of read-sequential-131072-16-0 is 1000000000000000"),
        (drop_latency, "read.lat_ns.mean of read-random-4096-1-0 is missing"),
        (rename, '"mix"'),
        (fail, "error of read-random-4096-8-0 is 5"),
        (lose_curve, "lacks sequential and random reads"),
        (crawl, "ssd.timing.read.bytes_per_second"),
    ],
)
def test_a_report_that_lies_is_refused(
    forebay: Run, tmp_path: Path, change: Callable[[dict], None], words: str
) -> None:
    """The field is named, and no profile is written."""
    report = json.loads(STORED.read_text())
    change(report)
    path, out = tmp_path / "fio.json", tmp_path / "mine.toml"
    path.write_text(json.dumps(report))
    answer = forebay("ssd", "qualify", "--from", path, "--save", out, code=BAD_INPUT)
    assert words in answer.complaint
    assert not out.exists()


def test_what_is_no_report_is_refused(forebay: Run, tmp_path: Path) -> None:
    """Neither text nor a broken object nor nothing at all."""
    path = tmp_path / "fio.json"
    for text in ["", "fio: error", "{", "[]", '{"jobs": 7, "fio version": "x"}']:
        path.write_text(text)
        out = tmp_path / "mine.toml"
        answer = forebay("ssd", "qualify", "--from", path, "--save", out, code=BAD_INPUT)
        assert "fio's report" in answer.complaint, text
    forebay("ssd", "qualify", "--from", tmp_path / "nowhere", "--save", out, code=FILE_FAILED)


def test_what_cannot_be_measured_is_refused(forebay: Run, tmp_path: Path) -> None:
    """Folders, character devices, small files, nothing at all; none is touched."""
    small = tmp_path / "small"
    small.write_bytes(b"data")
    out = ("--save", tmp_path / "mine.toml")
    for target, word, code in [
        (tmp_path, "block device or a regular file", BAD_INPUT),
        ("/dev/null", "block device or a regular file", BAD_INPUT),
        (small, "16 MiB", BAD_INPUT),
        (tmp_path / "nowhere", "No such file", FILE_FAILED),
    ]:
        answer = forebay("ssd", "qualify", target, "--write", *out, code=code)
        assert word in answer.complaint
    assert small.read_bytes() == b"data"


def test_without_fio_it_is_said_what_to_install(
    forebay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one program that is not ours."""
    assert PROGRAM.is_absolute()
    monkeypatch.setenv("PATH", str(tmp_path))
    file = tmp_path / "file"
    with file.open("wb") as stream:
        os.truncate(stream.fileno(), 32 << 20)
    answer = forebay("ssd", "qualify", file, "--save", tmp_path / "x.toml", code=IMPOSSIBLE)
    assert "apt-get install fio" in answer.complaint
