# SPDX-License-Identifier: Apache-2.0
"""`make bench`: measures every figure of docs/VALIDATION.md; JSON goes to build/bench."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"
FOREBAY = str(ROOT / "build" / "forebay")
DRIVE = ["--profile", "990pro-2tb"]
RESOURCES = [sys.executable, "-m", "forebay.resources", "--hierarchy", "--timing"]
NET_MODULES = [
    "fb_net_parse",
    "fb_net_sum",
    "fb_net_filter",
    "fb_net_strip",
    "fb_net_drop",
    "fb_net_sequence",
    "fb_net_pack",
    "fb_net_pause_in",
    "fb_net_pause_out",
    "fb_net_echo",
    "fb_net_send",
    "fb_net_transmit",
    "fb_net_tally",
]
NET = ["--rtl", "rtl/net/net.f", "--into", "docs/modules/net.md", "--each", *NET_MODULES]

BENCHES = {
    "core": [FOREBAY, "bench", "core"],
    "latency": [FOREBAY, "bench", "latency"],
    "random": [FOREBAY, "bench", "random"],
    "random-990pro-qd64": [FOREBAY, "bench", "random", *DRIVE, "--queue-depth", "64"],
    "random-990pro-qd256": [FOREBAY, "bench", "random", *DRIVE, "--queue-depth", "256"],
    "speed": [FOREBAY, "bench", "speed"],
    "soak": [FOREBAY, "bench", "soak", "--transactions", "100000"],
    "vm-test": [FOREBAY, "vm", "test", "--full"],
    "resources": RESOURCES,
    "resources-net": [sys.executable, "-m", "forebay.resources", *NET],
}


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help=f"some of: {' '.join(BENCHES)}")
    options = parser.parse_args()
    unknown = [name for name in options.only if name not in BENCHES]
    if unknown:
        parser.error(f"no bench {unknown[0]}; there are: {' '.join(BENCHES)}")
    OUT.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in options.only or BENCHES:
        report = OUT / f"{name}.json"
        print(f"\n[{name}] into {report.relative_to(ROOT)}", flush=True)
        started = time.monotonic()
        done = subprocess.run([*BENCHES[name], "--json", str(report)], cwd=ROOT, check=False)
        if done.returncode:
            failed.append(name)
        print(
            f"[{name}] {'ok' if not done.returncode else 'FAILED'}, "
            f"{time.monotonic() - started:.0f} s",
            flush=True,
        )
    print(
        f"\n{'FAILED: ' + ', '.join(failed) if failed else 'all measured'}; reports in build/bench"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
