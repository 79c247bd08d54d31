# SPDX-License-Identifier: Apache-2.0
"""The table of docs/VALIDATION.md: figures are found, judged, and kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import validation, validation_readme


def core(rate: float, **more: object) -> str:
    """Make a report of `forebay bench core` in which every rate is the same."""
    names = ("sequential_write", "one_write", "sequential_read")
    rows = [{"id": name, "streamer": {"bytes_per_cycle": rate}, "ratio": None} for name in names]
    return json.dumps({"rows": rows, **more})


@pytest.fixture
def text(tmp_path: Path) -> str:
    """Return a document with empty marks, and the folder of reports beside it."""
    return f"before\n\n{validation.BEGIN}\n{validation.END}\n\nafter\n"


def written(text: str, reports: Path) -> str:
    """Write the table into a document."""
    before = validation.standing(text)
    found = [validation.look_up(figure, reports, before) for figure in validation.FIGURES]
    return validation.replaced(text, validation.table(found))


def test_figures_are_found_and_judged(text: str, tmp_path: Path) -> None:
    """What meets its target stands plain, what misses it stands out."""
    (tmp_path / "core.json").write_text(core(63.75))
    rows = validation.standing(written(text, tmp_path))
    assert rows["sequential write, ideal SSD, 64 MiB"][2] == "63.75"
    (tmp_path / "core.json").write_text(core(60.0))
    rows = validation.standing(written(text, tmp_path))
    assert rows["sequential write, ideal SSD, 64 MiB"][2] == "**60.00**"


def test_an_interrupted_bench_proves_nothing(text: str, tmp_path: Path) -> None:
    """A figure of a run that was stopped does not meet its target, however good."""
    (tmp_path / "core.json").write_text(core(64.0, interrupted=True))
    rows = validation.standing(written(text, tmp_path))
    assert rows["sequential read, ideal SSD, 64 MiB"][2].startswith("**")


def test_without_a_report_a_figure_stays(text: str, tmp_path: Path) -> None:
    """What cannot be looked up now is not lost; nor is what is around the table."""
    (tmp_path / "core.json").write_text(core(63.75))
    (tmp_path / "snacc-core.json").write_text(core(62.85))
    once = written(text, tmp_path)
    (tmp_path / "core.json").write_text("{}")
    (tmp_path / "snacc-core.json").unlink()
    again = written(once, tmp_path)
    assert again == once
    assert "| 63.75 | 62.85 |" in again
    assert again.startswith("before\n") and again.endswith("after\n")


def test_a_document_without_marks_is_refused() -> None:
    """Nothing is written where there are no marks."""
    with pytest.raises(ValueError, match="marks"):
        validation.replaced("no marks here", "table")


def test_soaks_that_did_not_run_count_as_failed() -> None:
    """There are twelve long ones: three memories, one to four drives."""
    value = next(figure for figure in validation.FIGURES if figure.report == "soak-long").value
    good = [{"kind": str(n), "bad": []} for n in range(12)]
    assert value({"kinds": good}) == 0
    assert value({"kinds": good[1:]}) == 1
    assert value({"kinds": [*good[1:], {"kind": "0", "bad": [{"exit": 1}]}]}) == 1


def test_the_document_is_current() -> None:
    """Rows and targets stand in the document as in the program."""
    rows = validation.standing(validation.DOCUMENT.read_text())
    for figure in validation.FIGURES:
        assert rows[figure.what][1] == figure.target
        assert rows[figure.what][4] == f"`{figure.command}`"


def test_the_guest_table_tells_what_failed(tmp_path: Path) -> None:
    """Only the full form counts; a step that failed stands out and cannot break the table."""
    assert validation.guest_table(tmp_path) is None
    good = {"name": "stream", "shows": "a file", "good": True, "seen": "64.0 MiB"}
    bad = {"name": "wraps", "shows": "queues", "good": False, "seen": "a|b\nc"}
    path = tmp_path / "vm-test.json"
    line = ["tests/vm/suite.py"]
    path.write_text(json.dumps({"full": False, "command_line": line, "steps": [good]}))
    assert validation.guest_table(tmp_path) is None
    some = [*line, "--full", "--step", "stream"]
    path.write_text(json.dumps({"full": True, "command_line": some, "steps": [good]}))
    assert validation.guest_table(tmp_path) is None
    path.write_text(json.dumps({"full": True, "command_line": line, "steps": [good, bad]}))
    table = validation.guest_table(tmp_path)
    assert table is not None
    assert table[1] == 1
    assert "| `stream` | a file | 64.0 MiB |" in table[0]
    assert table[0].endswith("| `wraps` | queues | **a\\|b c** |")


def test_the_readme_has_the_figures_of_the_document() -> None:
    """The headlines are rows of the document, as they stand there."""
    readme = validation.README.read_text()
    headlines = validation_readme.table(validation.DOCUMENT.read_text())
    marks = (validation_readme.BEGIN, validation_readme.END)
    assert validation.replaced(readme, headlines, marks) == readme
    assert len(headlines.splitlines()) == 2 + 5


def test_a_headline_that_is_no_figure_is_refused() -> None:
    """A row that was renamed or removed is told."""
    with pytest.raises(ValueError, match="no row"):
        validation_readme.table("| what | target | measured |\n")
