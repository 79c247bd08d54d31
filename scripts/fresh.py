# SPDX-License-Identifier: Apache-2.0
"""Times a newcomer's two commands in a fresh clone with empty caches.

Then it runs the tests again: as they are, after a change in a Rust file, and after one in an RTL
module of the core. Packages of Rust and Debian stay installed. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUST, RTL = "crates/forebay-store/src/lib.rs", "rtl/nvme/fb_nvme_submit.sv"
# Each step: its command, and the file to which a line is added before.
STEPS: dict[str, tuple[str, str]] = {
    "demo": ("demo", ""),
    "demo again": ("demo", ""),
    "test": ("test", ""),
    "test again": ("test", ""),
    "test after a change in Rust": ("test", RUST),
    "test after a change in RTL": ("test", RTL),
}


def run(target: str, changed: str, clone: Path, log: Path) -> dict[str, Any]:
    """Run `make` in the clone; returns its exit code, its time and that of processors, in s."""
    if changed:
        with (clone / changed).open("a") as file:
            file.write("// A change.\n")
    caches = {"FOREBAY_CACHE": f"{clone}-cache", "PIP_CACHE_DIR": f"{clone}-pip"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with log.open("w") as output:
        done = subprocess.run(
            ["make", "--no-print-directory", target],
            cwd=clone,
            env=os.environ | caches,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    seconds = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = sum(getattr(after, way) - getattr(before, way) for way in ("ru_utime", "ru_stime"))
    stages = [line for line in log.read_text().splitlines() if line.startswith("[")]
    return {
        "exit": done.returncode,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(busy, 1),
        "stages": [line for line in stages if " ok, " in line or "FAILED" in line],
    }


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS), help="only these")
    parser.add_argument("--json", type=Path, help="put the times into this file")
    options = parser.parse_args()
    rows, report = {}, {"cores": os.cpu_count(), "steps": {}}
    if options.json and options.json.exists():
        report = json.loads(options.json.read_text())
    with tempfile.TemporaryDirectory(prefix="forebay-fresh-") as folder:
        clone = Path(folder) / "forebay"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        for name in options.steps:
            target, changed = STEPS[name]
            log = Path(folder) / "log"
            rows[name] = row = run(target, changed, clone, log)
            print(
                f"{name}: exit {row['exit']}, {row['seconds']:.0f} s, "
                f"{row['cpu_seconds']:.0f} s of processors",
                flush=True,
            )
            print("\n".join(f"  {line}" for line in row["stages"]), flush=True)
            if options.json:
                report["steps"][name] = row
                options.json.write_text(json.dumps(report, indent=1) + "\n")
            if row["exit"]:
                print("\n".join(log.read_text().splitlines()[-80:]))
                break
    return 1 if any(row["exit"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
