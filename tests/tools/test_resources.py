# SPDX-License-Identifier: Apache-2.0
"""`python -m forebay.resources --each … --into PAGE`: modules one by one, and their table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import resources

COUNTER = """
module {name} (input wire clk, input wire up, output reg [7:0] count);
  always @(posedge clk) if (up) count <= count + 8'd1;
endmodule
"""


def test_each_module_has_its_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table stands between its marks, and the JSON says the same."""
    source, page, report = (tmp_path / name for name in ("two.v", "page.md", "report.json"))
    source.write_text(COUNTER.format(name="one") + COUNTER.format(name="two"))
    begin, end = resources.MARKS
    page.write_text(f"before\n{begin}\n{end}\nafter\n")
    command = ["--rtl", str(source), "--each", "one", "two"]
    assert resources.main([*command, "--into", str(page), "--json", str(report)]) == 0
    rows = json.loads(report.read_text())["modules"]
    assert [(row["module"], row["ff"]) for row in rows] == [("one", 8), ("two", 8)]
    lines = page.read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after"
    assert f"| `two` | {rows[1]['lut']} | 0 | 8 |" in lines
    assert "one" in capsys.readouterr().err


def test_a_page_without_marks_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A document that has no place for the table is left alone, before anything is measured."""
    source, page = tmp_path / "one.v", tmp_path / "page.md"
    source.write_text(COUNTER.format(name="one"))
    page.write_text("nothing\n")
    assert resources.main(["--rtl", str(source), "--each", "one", "--into", str(page)]) == 1
    assert "lacks the marks" in capsys.readouterr().err
    assert page.read_text() == "nothing\n"
