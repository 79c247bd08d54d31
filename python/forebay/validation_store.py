# SPDX-License-Identifier: Apache-2.0
"""The recordings' table of docs/VALIDATION.md, out of the report of `forebay bench store`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forebay.validation_net import HEAD, Line

BEGIN = "<!-- store: begin (python -m forebay.validation writes what follows) -->"
END = "<!-- store: end -->"
REPORT = "store"
# Objects of 4 KiB with a page each are there to compare: small ones share pages.
LEAST = {
    "objects_9mb": 0.995,
    "objects_9mb_2_streams": 0.99,
    "objects_9mb_4_streams": 0.99,
    "small_4kib": 0.8,
    "samples_4kib": 0.5,
}
NAMES = {
    "objects_9mb": "objects of 9 MB",
    "objects_9mb_2_streams": "objects of 9 MB of two streams at once",
    "objects_9mb_4_streams": "objects of 9 MB of four streams at once",
    "objects_4kib": "objects of 4 KiB, a header block each",
    "small_4kib": "objects of 4 KiB that share pages",
    "samples_4kib": "samples of 4 KiB",
}


def rate_lines(report: dict[str, Any]) -> list[Line]:
    """Return the lines of recordings beside the bare streamer."""
    lines = []
    for row in report["rates"]:
        name, least = NAMES[row["id"]], LEAST.get(row["id"])
        measured = (
            f"{row['ratio']:.4f}: {row['stored_gigabytes_per_second']:.2f} GB/s of "
            f"{row['bare_gigabytes_per_second']:.2f}; "
            f"{100 * row['payload_share']:.2f} % of what is written is payload"
        )
        if row["last_wait"]:
            measured += f"; the last batch's wait of {row['last_wait'] * 1e-6:g} ms taken off"
        target = f"≥ {least:g} of the bare streamer" if least else "–"
        good = row["ratio"] >= (least or 0)
        lines.append((f"recorded, {name}, index included", target, measured, good))
        wrong = row["lost_frames"] + row["differ_bytes"] + len(row["wrong"])
        text = f"{row['lost_frames']} frames lost, {row['differ_bytes']} bytes differ"
        lines.append((f"lost, {name}", "0", text, wrong == 0))
    return lines


def cut_lines(where: str, cuts: dict[str, Any], every: bool = True) -> list[Line]:
    """Return the lines of losses of power on what is named, by default at every instant."""
    tried = f"{cuts['cuts']:,} at {cuts['instants']:,} instants"
    if cuts["every_instant"]:
        tried += ", each of them at least once"
    whole = f"{cuts['broken']} of {cuts['promised_rows']:,}"
    bad = cuts["unreadable"] + cuts["not_settled"]
    recovered = cuts["repaired_rows"] - cuts["rows"]
    mended = f"{bad} images not readable; {recovered:,} index records recovered"
    return [
        (
            f"losses of power, unflushed blocks of 512 bytes kept or not{where}",
            "≥ 3,000",
            tried,
            cuts["cuts"] >= 3000 and (cuts["every_instant"] or not every),
        ),
        (
            f"flushed index records that are missing or incomplete{where}",
            "0",
            whole,
            cuts["broken"] == 0 < cuts["promised_rows"],
        ),
        (
            f"index records that this recording did not write{where}",
            "0",
            f"{cuts['invented']} of {cuts['rows']:,}",
            not cuts["invented"],
        ),
        (f"`repair` ends in a readable recording{where}", "always", mended, bad == 0),
    ]


def ring_lines(cuts: dict[str, Any]) -> list[Line]:
    """Return the lines of losses of power in a ring, where newer data lie on older."""
    tried = f"{cuts['cuts']:,} at any of {cuts['instants']:,} instants"
    bad = cuts["unreadable"] + cuts["not_settled"]
    return [
        ("losses of power in a ring that is gone round", "≥ 300", tried, cuts["cuts"] >= 300),
        (
            "its flushed index records that are missing, where no newer data may lie on their "
            "extents",
            "0",
            f"{cuts['broken']} of {cuts['promised_rows']:,}",
            cuts["broken"] == 0 < cuts["promised_rows"],
        ),
        (
            "its images with an index record that counts and whose extent is not whole",
            "0",
            f"{cuts['broken']}; {cuts['rows']:,} index records were read",
            not cuts["broken"] and not cuts["invented"],
        ),
        ("`repair` of the ring", "always readable", f"{bad} images not readable", bad == 0),
    ]


def table(reports: Path) -> tuple[str, int] | None:
    """Render what `forebay bench store` measured, and count what misses its target.

    None where there is no such report, or it was not run to its end.
    """
    path = reports / f"{REPORT}.json"
    report = json.loads(path.read_text()) if path.exists() else {"interrupted": True}
    if report["interrupted"] or not report["cuts"] or not report.get("ring_cuts"):
        return None
    rows = [HEAD, ["---"] * 3]
    lines = rate_lines(report)
    for drives, cuts in enumerate(report["cuts"], 1):
        lines += cut_lines("" if drives == 1 else f", {drives} drives", cuts)
    for drives, cuts in enumerate(report.get("parity_cuts", []), 2):
        where = f", {drives} drives with parity, of which one is lost as well"
        lines += cut_lines(where, cuts, every=False)
    lines += ring_lines(report["ring_cuts"])
    for what, target, measured, good in lines:
        rows.append([what, target, measured if good else f"**{measured}**"])
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return text, sum(not good for *_, good in lines)
