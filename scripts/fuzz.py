# SPDX-License-Identifier: Apache-2.0
"""`make fuzz`: feeds every fuzz target under fuzz/ with noise for some seconds.

Inputs that reach something new stay in build/fuzz/corpus, from where the next run goes on; an input
that breaks something is kept in build/fuzz/found.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
CARGO_FUZZ = "0.13.2"
HOST = "x86_64-unknown-linux-gnu"
# Where a target's first inputs are, beside what earlier runs left.
SEEDS = {"fio": ["tests/cli/fio"], "profile": ["profiles"], "values": ["fuzz/seeds/values"]}
# Bytes of an input, where not 4096: a profile is longer, and few lies are enough for the driver.
LONGEST = {"fio": 20000, "profile": 24576, "bring_up": 1024, "boot": 1024}
PROGRESS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+).*exec/s: (\d+)")


def install() -> Path:
    """Install cargo-fuzz in build/, unless it is there; returns where to find it."""
    place = BUILD / f"cargo-fuzz-{CARGO_FUZZ}"
    if not (place / "bin" / "cargo-fuzz").exists():
        print(f"installing cargo-fuzz {CARGO_FUZZ} in {place.relative_to(ROOT)}", flush=True)
        command = ["cargo", "install", "--quiet", "--locked", "--root", str(place)]
        subprocess.run([*command, "cargo-fuzz", "--version", CARGO_FUZZ], cwd=ROOT, check=True)
    return place / "bin"


def build(tools: Path) -> Path:
    """Build all targets; returns the folder they are in."""
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    # No sanitizer: the code under test has no `unsafe`, and without one a stable Rust will do.
    command = ["cargo", "fuzz", "build", "--sanitizer=none", f"--target={HOST}"]
    command += ["--fuzz-dir=fuzz", f"--target-dir={BUILD / 'target'}"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return BUILD / "target" / HOST / "release"


def fuzz(program: Path, seconds: int) -> bool:
    """Run a target for some seconds, showing how far it is; returns whether nothing broke."""
    name = program.name
    corpus, found = BUILD / "corpus" / name, BUILD / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(program),
        f"-max_total_time={seconds}",
        f"-artifact_prefix={found}/",
        f"-max_len={LONGEST.get(name, 4096)}",
        "-timeout=10",
        str(corpus),
        *SEEDS.get(name, []),
    ]
    log = BUILD / f"{name}.log"
    live = sys.stdout.isatty()
    runs = edges = "0"
    with (
        log.open("w") as output,
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        for line in process.stdout:
            output.write(line)
            if progress := PROGRESS.match(line):
                runs, edges, rate = progress.groups()
                if live:
                    print(f"\r{name}: {runs} runs, {edges} edges, {rate}/s ", end="", flush=True)
    good = process.returncode == 0
    end = "ok" if good else "FAILED"
    print(f"{chr(13) if live else ''}{name}: {runs} runs, {edges} edges, {end}", flush=True)
    if not good:
        lines = log.read_text(errors="replace").splitlines()
        print("\n".join(f"    {line}" for line in lines[-40:]))
        print(f"    once more: {program.relative_to(ROOT)} {found.relative_to(ROOT)}/FILE")
    return good


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10, help="for each target")
    parser.add_argument("only", nargs="*", help="targets; all, if none is named")
    options = parser.parse_args()
    targets = sorted(path.stem for path in (ROOT / "fuzz" / "targets").glob("*.rs"))
    if unknown := set(options.only) - set(targets):
        parser.error(f"no target {' '.join(sorted(unknown))}; there are: {' '.join(targets)}")
    programs = build(install())
    chosen = options.only or targets
    failed = [name for name in chosen if not fuzz(programs / name, options.seconds)]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
