# SPDX-License-Identifier: Apache-2.0
"""Runs soaks, one process each: many seeds of those that once found wrong data, or long ones."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SMALL = "--largest 4KiB --area 64KiB --stall memory=0.2:50 --transactions 120"
CHANNELS = "--dram hbm2-1800 --drives 2 --largest 64KiB --area 256KiB --stall 0.5:50"
KINDS = {
    "host": f"--memory host {SMALL}",
    "dram": f"--memory dram {SMALL}",
    "host, two drives": f"--memory host --drives 2 {SMALL}",
    "DRAM of two channels, two drives": f"--memory dram {CHANNELS} --transactions 100",
}
LONG = {
    f"{memory}, drives: {drives}": f"--memory {memory} --drives {drives} --transactions 100000"
    for memory in ("onchip", "dram", "host")
    for drives in range(1, 5)
}


def soak(line: str, seed: int) -> dict[str, Any]:
    """Run one soak; returns its exit code, and the bytes and answers that were wrong."""
    command = [ROOT / "build/forebay", "bench", "soak", *line.split()]
    done = subprocess.run(
        [*command, "--seed", str(seed), "--output", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout) if done.stdout else {}
    wrong = ("differ_bytes", "differ_medium_bytes", "wrong_answers", "held_units")
    return {"seed": seed, "exit": done.returncode, **{name: report.get(name) for name in wrong}}


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="of each kind [default: 1000]")
    parser.add_argument(
        "--long", action="store_true", help="one soak of each memory and number of drives instead"
    )
    parser.add_argument("--jobs", type=int, default=2, help="at a time [default: 2]")
    parser.add_argument("--json", type=Path, help="write what was found into this file")
    options = parser.parse_args()
    rows = []
    seeds = 1 if options.long else options.seeds
    kinds = LONG if options.long else KINDS
    with ThreadPoolExecutor(options.jobs) as pool:
        if seeds > 1:
            list(pool.map(partial(soak, seed=0), kinds.values()))  # builds the RTL once
        soaks = {
            kind: [pool.submit(soak, line, seed) for seed in range(1, seeds + 1)]
            for kind, line in kinds.items()
        }
        for kind, runs in soaks.items():
            bad = []
            for number, run in enumerate(runs, 1):
                if run.result()["exit"]:
                    bad.append(run.result())
                if number % 250 == 0:
                    print(f"{kind}: {number} of {seeds} seeds ran", flush=True)
            print(f"{kind}: {len(bad)} of {seeds} seeds wrong {bad[:3] or ''}", flush=True)
            line = f"forebay bench soak {kinds[kind]}"
            rows.append({"kind": kind, "command": line, "bad": bad})
    if options.json:
        report = {"seeds": seeds, "kinds": rows}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if any(row["bad"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
