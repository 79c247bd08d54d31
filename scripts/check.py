# SPDX-License-Identifier: Apache-2.0
"""`make test`: runs every stage, says how long each took, and goes on after a failure.

The output of a stage is in build/check/<stage>.log; of a failed one, the end is printed. What has
passed as it is, here or in another checkout, is not run again unless `--full` is given.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import inputs
from inputs import Inputs
from passed import UNCHANGED, Case, Stamps

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "check"
# On chip what the same method counts of SNAcc's published streamer. Of its variant with on-board
# DRAM it counts 11532 LUT, 15545 FF and 23 RAM blocks: ours may have 1.5 blocks more, and far less
# of the others.
BUDGET = "lut=7257,ff=8152"
BUDGET_DRAM = "lut=9000,ff=8000,bram=25"
# Half of the shapes of RTL: building them takes longer than all that runs on them.
SHAPES = "onchip-1,onchip-small,onchip-parity,dram-parity,host-1,host-parity"
PRINTED_LINES = 80
# The command line that is tested: compiled as `cargo test` compiles all crates, which saves most of
# a build and checks arithmetic for overflow. `make nightly` names the one that users run.
COMPILED = f"{os.environ.get('CARGO_TARGET_DIR', 'target')}/debug/forebay"
PROGRAM = os.environ.get("FOREBAY", COMPILED)


@dataclass(frozen=True)
class Stage:
    """One stage: its name, what it is about, and the command line that does it.

    Attributes
    ----------
    cores : int
        Processor cores that it keeps busy; 0 for all.
    after : str
        A stage that makes what it needs.
    cases : tuple of Case
        What it shows, with all that this depends on; of a stage without, each test remembers for
        itself or nothing is remembered.
    each : str
        The option that chooses a case, if there are several.
    """

    name: str
    about: str
    command: list[str]
    cores: int = 0
    after: str = ""
    cases: tuple[Case, ...] = ()
    each: str = ""


def stages(jobs: int) -> list[Stage]:
    """List all stages, in the order in which they begin."""
    python = sys.executable
    tree = Inputs(ROOT)
    cargo = ["cargo", "test", "--quiet", "--no-fail-fast", "--locked", f"--jobs={jobs}"]
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    spread = [*pytest, f"--numprocesses={jobs}", "--dist=loadfile", "--no-loadscope-reorder"]
    spread += ["--durations=20"]
    # It fills what the last stage of many processes leaves idle.
    swarm = [PROGRAM, "swarm", "--seeds", "0..200", "--jobs", "1", "--shapes", SHAPES]
    return [
        Stage(
            "build",
            "the command line",
            ["cargo", "build", "--quiet", "--locked", "--package=forebay"],
        ),
        Stage(
            "lint",
            "format, warnings, licence lines",
            [python, "scripts/lint.py", f"--jobs={jobs}"],
        ),
        Stage(
            "generated",
            "generated files are current",
            [python, "scripts/generate", "--check"],
            cores=1,
            after="build",
        ),
        Stage(
            "docs",
            "links and commands in the documentation",
            [python, "scripts/check_docs.py"],
            cores=1,
            after="build",
        ),
        Stage(
            "vm",
            "in a Linux guest, on QEMU's drives",
            [*pytest, "--durations=20", "tests/vm"],
            cores=1,
            after="build",
        ),
        *(budget(tree, name) for name in ("onchip", "dram", "hostdram")),
        Stage(
            "cargo",
            "tests of all crates",
            cargo,
            # The crates behind one that fails are tested all the same.
            cases=tuple(Case(name, tree.crate(name)) for name in sorted(tree.crates)),
            each="--package",
        ),
        Stage("tb", "cocotb tests of RTL modules", [*spread, "tb"]),
        Stage(
            "tests",
            "end to end, as a user does it",
            [*spread, "tests/cli", "tests/tools"],
            after="build",
        ),
        Stage(
            "swarm",
            "200 seeds of `forebay swarm`",
            swarm,
            cores=1,
            after="build",
            cases=(Case(" ".join(swarm), tree.below(inputs.PROGRAM)),),
        ),
    ]


def budget(tree: Inputs, memory: str) -> Stage:
    """Return the stage that compares the cost of a top with that of SNAcc's."""
    limits = BUDGET if memory == "onchip" else BUDGET_DRAM
    # What is counted without being named has its payload in UltraRAM, a black box there.
    top = ["--rtl", f"rtl/top/{memory}.f", "--top", f"fb_top_{memory}"]
    top = [] if memory == "onchip" else top
    command = [sys.executable, "-m", "forebay.resources", *top, f"--budget={limits}"]
    files = tree.closure([ROOT / f"rtl/top/{memory}.f"]) | tree.below(["python/forebay"])
    return Stage(
        f"budget-{memory}",
        f"resources of the streamer with its payload in {memory}, {limits}",
        command,
        cores=1,
        cases=(Case(" ".join(command[1:]), files),),
    )


class Running:
    """A stage under way, with those of its cases that have not passed as they are."""

    def __init__(self, stage: Stage, cases: list[Case], env: dict[str, str]) -> None:
        self.stage = stage
        self.cases = cases
        self.log = LOGS / f"{stage.name}.log"
        self.started = time.monotonic()
        chosen = (word for case in cases for word in (stage.each, case.name) if stage.each)
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [*stage.command, *chosen],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
            )

        self.exit: int | None = None
        self.processors = 0.0

    def has_ended(self) -> bool:
        """Return whether it has; `exit` and `processors`, in seconds, are known from then on."""
        ended, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if ended:
            # What `subprocess` would wait for is gone.
            self.exit = self.process.returncode = os.waitstatus_to_exitcode(status)
            self.processors = used.ru_utime + used.ru_stime
        return bool(ended)

    def end(self, stamps: Stamps) -> bool:
        """Say how it ended, and remember what has passed; returns whether it has."""
        passed = self.exit == 0
        lines = self.log.read_text(errors="replace").splitlines()
        if passed:
            for case in self.cases:
                case.passed(stamps)
        else:
            print("\n".join(f"    {line}" for line in lines[-PRINTED_LINES:]))
            print(f"    ... all of it: {self.log.relative_to(ROOT)}")
        left_out = re.findall(rf"^(\d+) {UNCHANGED}$", "\n".join(lines), flags=re.MULTILINE)
        unchanged = sum(map(int, left_out))
        print(
            f"[{self.stage.name}] {'ok' if passed else 'FAILED'}, "
            f"{time.monotonic() - self.started:.0f} s, {self.processors:.0f} s of processors"
            f"{f', {unchanged} {UNCHANGED}' if unchanged else ''}",
            flush=True,
        )
        return passed


def run(chosen: list[Stage], jobs: int, stamps: Stamps, env: dict[str, str]) -> dict[str, bool]:
    """Run stages, one of a single core beside each that keeps all cores busy.

    One process more than cores, so that none idles while a test waits for a disk or a lock.

    Returns
    -------
    dict
        Whether each passed.
    """

    def cores(stage: Stage) -> int:
        return min(stage.cores, jobs) or jobs

    places = jobs + 1 if jobs > 1 else 1
    waiting, running, passed = list(chosen), list[Running](), dict[str, bool]()
    while waiting or running:
        unfinished = {stage.name for stage in waiting} | {one.stage.name for one in running}
        free = places - sum(cores(one.stage) for one in running)
        for stage in waiting:
            if cores(stage) > free or stage.after in unfinished:
                continue
            waiting.remove(stage)
            cases = [case for case in stage.cases if not case.has_passed(stamps)]
            if stage.cases and not cases:
                print(f"[{stage.name}] {len(stage.cases)} {UNCHANGED}", flush=True)
                passed[stage.name] = True
            else:
                print(f"[{stage.name}] {stage.about}", flush=True)
                running.append(Running(stage, cases, env))
            break
        else:
            ended = [one for one in running if one.has_ended()]
            running = [one for one in running if one not in ended]
            passed |= {one.stage.name: one.end(stamps) for one in ended}
            if not ended:
                time.sleep(0.1)
    return passed


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--only", nargs="+", help="run these stages")
    parser.add_argument("--full", action="store_true", help="run what has passed before, too")
    options = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    env = os.environ | {
        "PYTHONUNBUFFERED": "1",
        # Each simulation would translate its bench again.
        "PYTHONDONTWRITEBYTECODE": "",
        "FOREBAY": PROGRAM,
        "FOREBAY_REQUIRE_QEMU": "1",
        # Of the RTL's models: a test seldom runs as long as the compiler takes to do better.
        "FOREBAY_CXXFLAGS": os.environ.get("FOREBAY_CXXFLAGS", "-Og"),
        "FOREBAY_REMEMBER": "forget" if options.full else "1",
    }
    chosen = stages(options.jobs)
    if options.only:
        unknown = set(options.only) - {stage.name for stage in chosen}
        if unknown:
            known = " ".join(stage.name for stage in chosen)
            parser.error(f"no stage {' '.join(sorted(unknown))}; there are: {known}")
        chosen = [stage for stage in chosen if stage.name in options.only]
    started = time.monotonic()
    stamps = Stamps.of_user(forget=options.full)
    passed = run(chosen, options.jobs, stamps, env)
    stamps.prune()
    failed = [name for name, good in passed.items() if not good]
    minutes = (time.monotonic() - started) / 60
    verdict = f"FAILED: {', '.join(failed)}" if failed else "all passed"
    print(f"{len(passed)} stages, {minutes:.1f} minutes, {verdict}")
    print(f"{len(passed) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
