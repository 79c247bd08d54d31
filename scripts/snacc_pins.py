#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What SNAcc's pins cost: each of its three variants against our own top with the same memory.

64 MiB are written and read through the wrapper and without it, in the same simulation of the same
drive. The report has bytes per cycle of both, their ratio, and what differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOREBAY = ROOT / "build" / "forebay"
WORK = ["--profile", "990pro-2tb", "--bytes", "64MiB"]
DRAM = ["--rtl", "rtl/top/snacc_dram.f", "--top", "fb_top_snacc_dram"]
# The wrapper, and our own top.
VARIANTS = {
    "onchip": (["--rtl", "rtl/top/onchip.f", "--top", "fb_top_snacc_onchip"], []),
    "onboard": (DRAM, ["--memory", "dram"]),
    "host": ([*DRAM, "--param", "host_ddr=1"], ["--memory", "host"]),
}
KINDS = ("sequential_write", "sequential_read")


def measure(options: list[str]) -> dict[str, dict[str, float]]:
    """Run the bench and return its rows by name."""
    command = [str(FOREBAY), "bench", "core", *WORK, *options, "-o", "json"]
    report = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    return {row["id"]: row["streamer"] for row in report["rows"]}


def main() -> int:
    """Measure all variants and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write what was found into this file")
    arguments = parser.parse_args()
    rows = []
    for name, (wrapper, own) in VARIANTS.items():
        found, wanted = measure(wrapper), measure(own)
        for kind in KINDS:
            rate, reference = (of[kind]["bytes_per_cycle"] for of in (found, wanted))
            wrong = sum(found[kind][what] for what in ("failed", "mismatched"))
            row = {"id": f"{name}_{kind}", "bytes_per_cycle": rate, "reference": reference}
            rows.append({**row, "ratio": rate / reference, "wrong": wrong})
            print(
                f"{name:8} {kind:17} {rate:.2f} B/cycle, of {reference:.2f}: {rate / reference:.4f}"
            )
    report = {"schema": "forebay.snacc-pins/1", "rows": rows}
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if all(row["wrong"] == 0 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
