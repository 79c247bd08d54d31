# SPDX-License-Identifier: Apache-2.0
"""`make test`: runs every stage, says how long each took, and goes on after a failure.

The output of a stage is in build/check/<stage>.log; of a failed one, the end is printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "check"
# What the same method counts of SNAcc's published streamers, on-chip and with on-board DRAM.
BUDGET = "lut=7257,ff=8152"
BUDGET_DRAM = "lut=11532,ff=15545,bram=23"
PRINTED_LINES = 80


@dataclass(frozen=True)
class Stage:
    """One stage: its name, what it is about, and the command line that does it."""

    name: str
    about: str
    command: list[str]


def stages(jobs: int) -> list[Stage]:
    """List all stages, the quick ones first."""
    python = sys.executable
    # The crates behind one that fails are tested all the same.
    cargo = ["cargo", "test", "--quiet", "--no-fail-fast", "--workspace", "--locked"]
    spread = [f"--numprocesses={jobs}", "--dist=loadfile"]
    resources = [python, "-m", "forebay.resources"]
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return [
        Stage(
            "lint",
            "format, warnings, licence lines",
            [python, "scripts/lint.py", f"--jobs={jobs}"],
        ),
        Stage("generated", "generated files are current", [python, "scripts/generate", "--check"]),
        Stage("build", "the command line", ["make", "--no-print-directory", "build/forebay"]),
        Stage("docs", "links and commands in the documentation", [python, "scripts/check_docs.py"]),
        Stage("cargo", "tests of all crates", [*cargo, f"--jobs={jobs}"]),
        Stage(
            "tb",
            "cocotb tests of RTL modules",
            [*pytest, *spread, "tb"],
        ),
        Stage(
            "tests", "end to end, as a user does it", [*pytest, *spread, "tests/cli", "tests/tools"]
        ),
        Stage(
            "swarm", "200 seeds of `forebay swarm`", ["build/forebay", "swarm", "--seeds", "0..200"]
        ),
        Stage("vm", "in a Linux guest, on QEMU's drives", [*pytest, "tests/vm"]),
        Stage(
            "budget",
            f"resources of the streamer, {BUDGET}",
            [*resources, f"--budget={BUDGET}"],
        ),
        *(
            Stage(
                f"budget-{name}",
                f"the same with its payload in {place}, {BUDGET_DRAM}",
                [
                    *resources,
                    "--rtl",
                    f"rtl/top/{name}.f",
                    "--top",
                    f"fb_top_{name}",
                    f"--budget={BUDGET_DRAM}",
                ],
            )
            for name, place in (("dram", "on-board DRAM"), ("hostdram", "host memory"))
        ),
    ]


def run(stage: Stage) -> tuple[bool, float]:
    """Run a stage; returns whether it passed, and seconds."""
    print(f"[{stage.name}] {stage.about}", flush=True)
    started = time.monotonic()
    log = LOGS / f"{stage.name}.log"
    with log.open("w") as output:
        done = subprocess.run(
            stage.command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1", "FOREBAY_REQUIRE_QEMU": "1"},
            check=False,
        )
    seconds = time.monotonic() - started
    passed = done.returncode == 0
    if not passed:
        lines = log.read_text(errors="replace").splitlines()
        print("\n".join(f"    {line}" for line in lines[-PRINTED_LINES:]))
        print(f"    ... all of it: {log.relative_to(ROOT)}")
    print(f"[{stage.name}] {'ok' if passed else 'FAILED'}, {seconds:.0f} s", flush=True)
    return passed, seconds


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--only", nargs="+", help="run these stages")
    options = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = stages(options.jobs)
    if options.only:
        unknown = set(options.only) - {stage.name for stage in chosen}
        if unknown:
            known = " ".join(stage.name for stage in chosen)
            parser.error(f"no stage {' '.join(sorted(unknown))}; there are: {known}")
        chosen = [stage for stage in chosen if stage.name in options.only]
    results = [(stage.name, *run(stage)) for stage in chosen]
    failed = [name for name, passed, _ in results if not passed]
    total = sum(seconds for _, _, seconds in results)
    verdict = f"FAILED: {', '.join(failed)}" if failed else "all passed"
    print(f"{len(results)} stages, {total / 60:.1f} minutes, {verdict}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
