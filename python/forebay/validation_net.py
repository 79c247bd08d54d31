# SPDX-License-Identifier: Apache-2.0
"""The network's table of docs/VALIDATION.md, out of the report of `forebay bench net`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BEGIN = "<!-- network: begin (python -m forebay.validation writes what follows) -->"
END = "<!-- network: end -->"
REPORT = "net"
HEAD = ["what", "target", "measured"]

Line = tuple[str, str, str, bool]


def rate_lines(report: dict[str, Any]) -> list[Line]:
    """Return the lines of recordings beside the bare streamer and the wire."""
    lines = []
    for row in report["rates"]:
        pauses = f", pauses of {row['pauses_ms']:g} ms" if row["pauses_ms"] else ""
        drives = f"{row['drives']} drive{'s' if row['drives'] > 1 else ''}{pauses}"
        measured = (
            f"{row['ratio']:.4f}: {row['stored_gigabytes_per_second']:.2f} GB/s of "
            f"{row['drives_gigabytes_per_second']:.2f} (bare streamer) and "
            f"{row['wire_gigabytes_per_second']:.2f} (wire)"
        )
        least = "≥ 0.99 of the lesser of drives and wire"
        lines.append((f"stored, {drives}", least, measured, row["ratio"] >= 0.99))
        wrong = row["lost_frames"] + row["differ_bytes"] + len(row["wrong"])
        text = f"{row['lost_frames']} frames lost, {row['differ_bytes']} bytes differ"
        lines.append((f"lost, {drives}", "0", text, wrong == 0))
    idle = next(row for row in report["rates"] if row["id"] == "drives_1")
    share = 100 * idle["unexplained"]
    what = "pause efficiency: idle time that the drive does not explain"
    lines.append((what, "≤ 1 %", f"{share:.3f} %, a drive at 46 % of the line", share <= 1))
    return lines


def encrypted_lines(report: dict[str, Any]) -> list[Line]:
    """Return the lines of a recording that is encrypted on its way."""
    row = report["encrypted"]
    measured = (
        f"{row['ratio']:.4f}: {row['stored_gigabytes_per_second']:.2f} GB/s, {row['cipher']}, "
        f"{row['differ_bytes']} bytes differ once decrypted"
    )
    good = row["ratio"] >= 0.99 and not (row["differ_bytes"] or row["lost_frames"] or row["wrong"])
    return [("stored encrypted, 2 drives, of the chain without AES", "≥ 0.99", measured, good)]


def headroom_lines(report: dict[str, Any]) -> list[Line]:
    """Return the lines of what came after silence was decided on."""
    lines = []
    for row in report["headroom"]:
        what = f"taken above XOFF, {row['metres']} m, MTU {row['mtu']}"
        measured = (
            f"{row['share']:.3f}: {row['above_xoff_bytes']:,} of {row['formula_bytes']:,} bytes"
        )
        good = 0.5 <= row["share"] <= 1 and row["lost_frames"] == 0
        lines.append((what, "0.5 to 1 of the formula, nothing lost", measured, good))
    return lines


def loss_lines(report: dict[str, Any]) -> list[Line]:
    """Return the lines of a peer that ignores pause, and of the shortest frames."""
    row, short = report["ignored"], report["short"]
    frames = [row[f"{name}_frames"] for name in ("offered", "stored", "overflow")]
    octets = [row[name] for name in ("offered_bytes", "stored_frame_bytes", "overflow_bytes")]
    measured = ", ".join(
        f"{offered:,} = {stored:,} + {lost:,} {unit}"
        for (offered, stored, lost), unit in ((frames, "frames"), (octets, "bytes"))
    )
    exact = row["unaccounted_frames"] == row["unaccounted_bytes"] == row["differ_bytes"] == 0
    gaps = (
        f"{row['gaps']} gaps of {row['missing_frames']:,} frames, "
        f"{row['missing_at_end']:,} after the last one stored"
    )
    together = row["missing_frames"] + row["missing_at_end"] == row["overflow_frames"]
    rate = f"{short['million_frames_per_second']:.1f} million/s"
    few = f"{short['lost']} of {short['frames']:,} at {rate}, {short['filtered']:,} filtered"
    return [
        (
            "a link partner that ignores pause: offered = stored + counted",
            "exactly",
            measured,
            exact,
        ),
        ("its gaps, each with its place", "all", gaps, together and not row["wrong"]),
        ("frames of 64 bytes at line rate, filter on: lost", "0", few, short["lost"] == 0),
    ]


def table(reports: Path) -> tuple[str, int] | None:
    """Render what `forebay bench net` measured, and count what misses its target.

    None where there is no such report, or it was not run to its end.
    """
    path = reports / f"{REPORT}.json"
    report = json.loads(path.read_text()) if path.exists() else {"interrupted": True}
    if report["interrupted"]:
        return None
    lines = rate_lines(report) + encrypted_lines(report)
    lines += headroom_lines(report) + loss_lines(report)
    rows = [HEAD, ["---"] * 3]
    for what, target, measured, good in lines:
        rows.append([what, target, measured if good else f"**{measured}**"])
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return text, sum(not good for *_, good in lines)
