# SPDX-License-Identifier: Apache-2.0
"""Puts known defects into a copy of the RTL and looks whether `forebay swarm` finds each.

All defects of `scripts/mutants.toml` are in one copy, and a file that the model reads at its start
says which one is there: so each shape of the swarm is built once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent
FOREBAY = ROOT / "build/forebay"
OUT = ROOT / "build/mutants"

# Behind the ports of a module: the number of the defect that is there, 0 for none.
CHOICE = """
  int fb_mutant;
  initial begin : choose_mutant
    automatic int file = $fopen("{path}", "r");
    void'($fscanf(file, "%d", fb_mutant));
    $fclose(file);
  end
"""


def load() -> list[dict[str, Any]]:
    """Return the defects, in the order of their numbers, from 1 on."""
    return tomllib.loads((ROOT / "scripts/mutants.toml").read_text())["mutant"]


def mutate(text: str, edits: list[tuple[int, dict[str, str]]], number: Path) -> str:
    """Return a source with all its defects, of which the file `number` chooses one.

    Raises
    ------
    ValueError
        If an expression is not there, or not once.
    """
    choices: dict[tuple[str, str], list[str]] = {}
    for n, edit in edits:
        place = edit.get("within", edit["find"]), edit["find"]
        choices.setdefault(place, []).append(f"fb_mutant == {n} ? ({edit['put']}) : ")
    for (within, find), all_of_it in choices.items():
        if text.count(within) != 1 or within.count(find) != 1:
            raise ValueError(f"`{find}` does not stand once in `{within}`, or that in the file")
        text = text.replace(within, within.replace(find, f"({''.join(all_of_it)}({find}))"))
    choice = CHOICE.format(path=number)
    return re.sub(r"^\);$", lambda end: end[0] + choice, text, count=1, flags=re.MULTILINE)


def write_copy(mutants: list[dict[str, Any]], tree: Path, *, assertions: bool) -> None:
    """Write a checkout's RTL with all defects, with its assertions or without."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "rtl", tree / "rtl")
    edits: dict[str, list[tuple[int, dict[str, str]]]] = {}
    for n, mutant in enumerate(mutants, 1):
        for edit in mutant["edits"]:
            edits.setdefault(edit["file"], []).append((n, edit))
    for file, some in edits.items():
        path = tree / file
        path.write_text(mutate(path.read_text(), some, OUT / "number"))
    if not assertions:
        for path in tree.glob("rtl/*/*.sv"):
            path.write_text(path.read_text().replace("`ifndef SYNTHESIS", "`ifdef FB_ASSERTIONS"))


def hunt(tree: Path, number: int, shapes: list[str], seeds: int) -> dict[str, Any] | None:
    """Run the swarm on one defect; returns the first failure, or nothing.

    Raises
    ------
    RuntimeError
        If the swarm could not run.
    """
    (OUT / "number").write_text(f"{number}\n")
    command = [FOREBAY, "swarm", "--seeds", f"0..{seeds}", "--limit-shrink", "0"]
    command += ["--output", "json"]
    done = subprocess.run(
        [*command, "--shapes", ",".join(shapes)],
        env={**os.environ, "FOREBAY_HOME": str(tree)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 3, 4):
        raise RuntimeError(f"forebay swarm ended with exit code {done.returncode}")
    failures = json.loads(done.stdout)["failures"]
    return failures[0] if failures else None


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="names of defects [default: all]")
    parser.add_argument("--seeds", type=int, default=2000, help="seeds for each [default: 2000]")
    parser.add_argument("--without-assertions", action="store_true", help="by the data alone")
    parser.add_argument("--json", type=Path, help="write what was found into this file")
    options = parser.parse_args()
    mutants = load()
    unknown = set(options.only) - {mutant["name"] for mutant in mutants}
    if unknown:
        parser.error(f"no defect {min(unknown)}; scripts/mutants.toml names them all")
    tree = OUT / ("data" if options.without_assertions else "tree")
    write_copy(mutants, tree, assertions=not options.without_assertions)
    chosen = [(0, {"name": "none", "shapes": sorted({s for m in mutants for s in m["shapes"]})})]
    chosen += [
        (n, mutant)
        for n, mutant in enumerate(mutants, 1)
        if not options.only or mutant["name"] in options.only
    ]
    rows, good = [], True
    for number, mutant in chosen:
        seeds = options.seeds if number else 200
        failure = hunt(tree, number, mutant["shapes"], seeds)
        right = (failure is not None) == bool(number)
        good = good and right
        found = (
            f"seed {failure['seed']}: {failure['kind']}: {' '.join(failure['seen'])}"
            if failure
            else f"not in {seeds} seeds"
        )
        print(f"{'ok    ' if right else 'WRONG '} {mutant['name']}: {found[:160]}", flush=True)
        rows.append({"name": mutant["name"], "about": mutant.get("about"), "failure": failure})
    if options.json:
        report = {"seeds": options.seeds, "assertions": not options.without_assertions}
        options.json.write_text(json.dumps({**report, "mutants": rows}, indent=1) + "\n")
    found = sum(row["failure"] is not None for row in rows)
    print(f"{found} of {len(rows) - 1} defects found, each within {options.seeds} seeds")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
