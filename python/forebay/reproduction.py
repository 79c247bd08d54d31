# SPDX-License-Identifier: Apache-2.0
"""`python -m forebay.reproduction`: the tables of docs/explanation/repro.md out of a report.

The report is the JSON of `forebay repro`, as `make bench` leaves it in build/bench.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from forebay.validation import REPORTS, ROOT, replaced

DOCUMENT = ROOT / "docs" / "explanation" / "repro.md"
MARKS = (
    "<!-- repro: begin (python -m forebay.reproduction writes what follows) -->",
    "<!-- repro: end -->",
)
HEAD = [
    "load",
    "design",
    "published",
    "model",
    "off, %",
    "is",
    "ours",
    "ours : published",
    "agrees",
]
# Columns that only some figures have, before the last one.
FURTHER = {"ours_by": "by", "limit": "limited by"}
AGREES = {True: "yes", False: "**no**", None: "–"}

Report = dict[str, Any]


def number(value: float | None, unit: str) -> str:
    """Show a number of a figure with as many digits as its unit deserves."""
    if value is None:
        return "–"
    if unit in ("GB/s", "bytes per byte"):
        return f"{value:.2f}"
    return f"{value:,.1f}".removesuffix(".0")


def cells(row: Report, unit: str, further: list[str]) -> list[str]:
    """Show a row of a figure; `further` are fields of FURTHER that the figure has."""
    published = row["published"]
    bound = "≤ " if published and published["at_most"] else ""
    off, ratio = row["difference_percent"], row["ours_ratio"]
    return [
        row["load"],
        row["design"],
        bound + number(published and published["value"], unit),
        number(row["model"], unit),
        "–" if off is None else f"{off:+.1f}",
        row["model_kind"] or "–",
        number(row["ours"], unit),
        "–" if ratio is None else f"{ratio:.2f}",
        *(row[field] or "–" for field in further),
        AGREES[row["agrees"]],
    ]


def table(figure: Report) -> str:
    """Render a figure: what it is, its rows, its notes."""
    unit = f", {figure['unit']}" if figure["unit"] else ""
    lines = [f"### {figure['title']}{unit}", "", f"{figure['paper']}, {figure['place']}.", ""]
    further = [field for field in FURTHER if any(row.get(field) for row in figure["rows"])]
    head = [*HEAD[:-1], *(FURTHER[field] for field in further), HEAD[-1]]
    rows = [cells(row, figure["unit"], further) for row in figure["rows"]]
    lines += [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]
    notes = [*figure["notes"], *(row["note"] for row in figure["rows"] if row["note"])]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)])


def sensitivities(report: Report) -> str:
    """Render what ten percent of each fitted number change."""
    found = [one for figure in report["figures"] for one in figure["sensitivities"]]
    head = ["number", "changes most", "10 % smaller, %", "10 % greater, %"]
    rows = [
        [
            f"`{one['field']}`",
            one["row"],
            f"{one['smaller_percent']:+.1f}",
            f"{one['greater_percent']:+.1f}",
        ]
        for one in found
    ]
    lines = [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(["### What depends on what was fitted", "", *lines])


def tables(report: Report) -> str:
    """Render all figures of a report."""
    command = f"`{' '.join(report['command_line'])}`, simulated, seed {report['seed']}."
    parts = [command, *(table(figure) for figure in report["figures"])]
    if any(figure["sensitivities"] for figure in report["figures"]):
        parts.append(sensitivities(report))
    return "\n\n".join(parts)


def load(paths: list[Path]) -> Report:
    """Read reports; several are put together, a later figure in the place of an earlier."""
    reports = [json.loads(path.read_text()) for path in paths]
    for path, report in zip(paths, reports, strict=True):
        if report["schema"] != "forebay.repro/1":
            raise ValueError(f"{path} is a {report['schema']}, no forebay.repro/1")
    figures = {figure["id"]: figure for report in reports for figure in report["figures"]}
    # Where a report went is of no matter to who repeats it.
    lines = [" ".join(report["command_line"]).split(" --output ")[0] for report in reports]
    commands = "`, `".join(lines)
    return {**reports[0], "figures": list(figures.values()), "command_line": [commands]}


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m forebay.reproduction", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--report",
        type=Path,
        nargs="+",
        default=[REPORTS / "repro.json"],
        help="the report, or parts",
    )
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="document to write into")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    options = parser.parse_args()
    try:
        report = load(options.report)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    text = options.document.read_text()
    new = replaced(text, tables(report), MARKS)
    if options.check:
        return 1 if new != text else 0
    options.document.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
