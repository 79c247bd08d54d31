# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/VALIDATION.md: the bring-up and the recorder without a CPU."""

from __future__ import annotations

from forebay.validation_figure import Figure, Report, at_least, at_most


def wrong(report: Report) -> float:
    """Count what is not as it should be in sessions, and what went astray."""
    sessions = report["sessions"]
    return report["stray"] + sum(len(one["wrong"]) + (one["lost"] > 0) for one in sessions)


FIGURES = [
    *(
        Figure(
            f"{what} of the bring-up without a CPU",
            f"≤ {most}",
            "–",
            "scripts/bench.py levels-boot",
            "levels-boot",
            lambda report, kind=kind: report["resources"][kind],
            "{:g}",
            at_most(most),
        )
        for what, kind, most in (("LUT", "lut", 2800), ("RAMB36", "bram", 2))
    ),
    Figure(
        "DSP of the bring-up without a CPU",
        "0",
        "–",
        "scripts/bench.py levels-boot",
        "levels-boot",
        # A DSP is a cell that Yosys leaves as it is.
        lambda report: report["resources"]["blackboxes"].get("DSP48E2", 0),
        "{:g}",
        at_most(0),
    ),
    Figure(
        "longest path, LUT levels, bring-up without a CPU",
        "–",
        "–",
        "scripts/bench.py levels-boot",
        "levels-boot",
        lambda report: report["levels"],
        "{:g}",
    ),
    Figure(
        "from a drive's CSTS.RDY until it has its queues, drive on the port",
        "≤ 250 us",
        "–",
        "forebay boot --profile 960evo-250",
        "boot",
        lambda report: report["ready_after_us"],
        "{:.1f} us",
        at_most(250),
    ),
    Figure(
        "LUT of the recorder without a CPU, with streamer and stream FIFO in DRAM",
        "≤ 11500",
        "11577 (LiteNVMe)",
        "scripts/bench.py levels-recorder",
        "levels-recorder",
        lambda report: report["resources"]["lut"],
        "{:g}",
        at_most(11500),
    ),
    Figure(
        "longest path, LUT levels, recorder without a CPU",
        "–",
        "–",
        "scripts/bench.py levels-recorder",
        "levels-recorder",
        lambda report: report["levels"],
        "{:g}",
    ),
    Figure(
        "from a drive's CSTS.RDY to the first byte that the recorder accepts, drive on the port",
        "≤ 250 us",
        "–",
        "scripts/bench.py recorder",
        "recorder",
        lambda report: report["bring_up"]["first_byte_after_us"],
        "{:.1f} us",
        at_most(250),
    ),
    Figure(
        "1 to 256 chunks by the recorder's RTL: sessions with bytes that differ or are lost",
        "0",
        "–",
        "scripts/bench.py recorder",
        "recorder",
        wrong,
        "{:g}",
        at_most(0),
    ),
    Figure(
        "gapless at 2 GB/s, pauses of 5 ms each 200 MB, FIFO of 10 MiB: bytes lost",
        "0",
        "–",
        "scripts/bench.py recorder-gapless",
        "recorder-gapless",
        lambda report: report["gapless"]["lost"] + len(report["gapless"]["wrong"]),
        "{:g}",
        at_most(0),
    ),
    Figure(
        "the same with half of that FIFO: bytes lost, all of them in gaps with a record",
        "> 0",
        "–",
        "scripts/bench.py recorder-gaps",
        "recorder-gaps",
        lambda report: (
            report["gapless"]["lost"]
            if report["gapless"]["lost"] == report["gapless"]["gap_bytes"]
            and not report["gapless"]["wrong"]
            else -1
        ),
        "{:,.0f}",
        at_least(1),
    ),
]
