# SPDX-License-Identifier: Apache-2.0
"""The README's figures: rows of docs/VALIDATION.md in other words."""

from __future__ import annotations

BEGIN = "<!-- headlines: begin (python -m forebay.validation writes what follows) -->"
END = "<!-- headlines: end -->"
HEAD = ["figure", "target", "simulated", "SNAcc's RTL"]
# What the document calls a figure, and what the README does.
HEADLINES = {
    "sequential write, ideal SSD, 64 MiB": (
        "sequential write to a drive that never waits; the stream carries 64 B/cycle"
    ),
    "random 4 KiB read, 990 PRO, in order, queue depth 64, on-chip, of the host reference": (
        "random 4 KiB reads answered in order, model of a 990 PRO: share of an ideal host's rate"
    ),
    "one 4 KiB read, 990 PRO, on-chip: longer than the ideal host's by": (
        "latency of one 4 KiB read beyond an ideal host's, same drive"
    ),
    "LUT of the on-chip variant": "LUT of the streamer, payload on chip (Yosys, UltraScale+)",
    "stored, 3 drives": "stored from 100G Ethernet onto three drives, no frame lost",
}


def table(document: str) -> str:
    """Render the README's table.

    Parameters
    ----------
    document : str
        The text of docs/VALIDATION.md.

    Raises
    ------
    ValueError
        If the document lacks a figure.
    """
    rows = {}
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) >= 3:
            rows[cells[0]] = cells
    lines = [HEAD, ["---"] * len(HEAD)]
    for figure, words in HEADLINES.items():
        if figure not in rows:
            raise ValueError(f"docs/VALIDATION.md has no row {figure!r}: mend HEADLINES")
        _, target, measured, *more = rows[figure]
        # Tables with a command have SNAcc's figure before it.
        lines.append([words, target, measured, more[0] if len(more) > 1 else "–"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
