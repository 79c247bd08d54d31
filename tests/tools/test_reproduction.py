# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/explanation/repro.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import reproduction

ROW = {
    "load": "sequential read",
    "design": "URAM",
    "published": {"value": 6.9, "at_most": False, "says": "so"},
    "model": 6.8,
    "model_kind": "predicted",
    "difference_percent": -1.449,
    "ours": None,
    "ours_ratio": None,
    "agrees": True,
    "note": None,
}
FIGURE = {
    "id": "fig4",
    "title": "Bandwidth",
    "paper": "A paper",
    "place": "figure 4",
    "unit": "GB/s",
    "rows": [ROW, {**ROW, "agrees": False, "note": "off"}],
    "notes": ["so it was run"],
    "sensitivities": [
        {"field": "page_ns", "row": "write", "smaller_percent": 5.0, "greater_percent": -5.0}
    ],
}
REPORT = {
    "schema": "forebay.repro/1",
    "command_line": ["forebay", "repro", "all"],
    "seed": 1,
    "figures": [FIGURE],
}


def test_tables_hold_what_the_report_holds() -> None:
    """Numbers, notes, and what does not agree in bold."""
    text = reproduction.tables(REPORT)
    row = "| sequential read | URAM | 6.90 | 6.80 | -1.4 | predicted | – | – | yes |"
    for words in [
        row,
        "**no**",
        "- so it was run",
        "- off",
        "`forebay repro all`",
        "| `page_ns` |",
    ]:
        assert words in text


def test_a_later_report_replaces(tmp_path: Path) -> None:
    """Reports are put together; of a figure that is in two the later one counts."""
    paths = [tmp_path / name for name in ("all.json", "one.json")]
    again = {**FIGURE, "title": "Again"}
    paths[0].write_text(json.dumps({**REPORT, "figures": [FIGURE, {**FIGURE, "id": "fig7"}]}))
    paths[1].write_text(json.dumps({**REPORT, "figures": [again]}))
    report = reproduction.load(paths)
    assert [one["id"] for one in report["figures"]] == ["fig4", "fig7"]
    assert report["figures"][0]["title"] == "Again"
    text = reproduction.tables(report)
    assert "`forebay repro all`, `forebay repro all`" in text


def test_numbers_have_the_digits_of_their_unit() -> None:
    """Bandwidths have two, counts none."""
    assert reproduction.number(1.004, "GB/s") == "1.00"
    assert reproduction.number(11532.0, "") == "11,532"
    assert reproduction.number(17.5, "") == "17.5"
    assert reproduction.number(None, "") == "–"


def test_the_document_is_written_between_its_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there is replaced; `--check` says that it differs; other reports are refused."""
    document, report = tmp_path / "repro.md", tmp_path / "repro.json"
    document.write_text(f"before\n{reproduction.MARKS[0]}\nold\n{reproduction.MARKS[1]}\nafter\n")
    report.write_text(json.dumps(REPORT))
    line = ["reproduction", "--report", str(report), "--document", str(document)]
    monkeypatch.setattr("sys.argv", [*line, "--check"])
    assert reproduction.main() == 1
    monkeypatch.setattr("sys.argv", line)
    assert reproduction.main() == 0
    text = document.read_text()
    assert "old" not in text and text.startswith("before\n") and text.endswith("\nafter\n")
    monkeypatch.setattr("sys.argv", [*line, "--check"])
    assert reproduction.main() == 0
    report.write_text(json.dumps({**REPORT, "schema": "forebay.bench/1"}))
    with pytest.raises(SystemExit):
        reproduction.main()
