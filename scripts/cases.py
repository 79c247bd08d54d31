# SPDX-License-Identifier: Apache-2.0
"""Counts the cases that `make nightly` runs, and names those of an earlier revision that it lacks.

`make --dry-run` says what it would run, and each command has its cases: tests of pytest, coroutines
of cocotb, tests of Rust, checks of lint, steps in the guest, seeds, defects. A function that is run
with N values of its parameters is N cases. `scripts/cases.toml` names the revision, and what took
the place of its cases.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts" / "cases.toml"
RUST_TEST = re.compile(r"#\[test\]\s*(?:#\[[^\n]*\]\s*)*fn (\w+)")
GUEST_STEP = re.compile(r'\bStep(?:\(| \{\s*name:)\s*"(\w+)"')
# Steps in the guest are in the one file or, before, in the other.
GUEST_STEPS = ("tests/vm/steps.py", "crates/forebay/src/vm/steps.rs")
SEEDS = re.compile(r"--seeds (\d+)\.\.(\d+)")

Cases = Counter[str]


class Missing(Exception):
    """Cases cannot be compared; the text says why, and what to do."""


def output(tree: Path, *command: str, good: tuple[int, ...] = (0,)) -> str:
    """Return what a command prints in a checkout; standard error passes.

    Raises
    ------
    Missing
        If its exit status is none of the good ones.
    """
    paths = os.pathsep.join(str(tree / name) for name in ("scripts", "python"))
    env = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=tree, env=env, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode not in good:
        raise Missing(f"{shlex.join(command)} failed in {tree}: {done.stdout[-2000:]}")
    return done.stdout


def evaluated(tree: Path, module: str, expression: str) -> list[list[str]]:
    """Return the value of an expression beside the scripts of a checkout."""
    code = f"import json, {module}; print(json.dumps([{expression}]))"
    return json.loads(output(tree, sys.executable, "-c", code))[0]


def commands(tree: Path, *targets: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what targets of make run: a name, which only a stage of check.py has, and the words."""
    text = output(tree, "make", "--dry-run", "--no-print-directory", *targets)
    for line in dict.fromkeys(text.replace("\\\n", " ").splitlines()):
        words = shlex.split(line)
        if "scripts/check.py" in words:
            names = "[(stage.name, stage.command) for stage in check.stages(1)]"
            yield from evaluated(tree, "check", names)
        else:
            yield "", words


@cache
def collected(tree: Path, *options: str) -> list[str]:
    """Return the tests that pytest runs with these options, one for each of their parameters."""
    words = [word for word in options if not word.startswith(("-q", "--numprocesses", "--dist"))]
    collect = ("--collect-only", "-q", "-p", "no:cacheprovider")
    command = (sys.executable, "-m", "pytest", *words, *collect)
    # Of what pytest calls 5 there are none.
    lines = output(tree, *command, good=(0, 5)).splitlines()
    return [line for line in lines if "::" in line]


def after_pytest(words: list[str]) -> list[str]:
    """Return the options of a command line of pytest."""
    return words[words.index("pytest") + 1 :]


def known_as(node: str) -> str:
    """Return how a test is known, wherever it is moved: by its function, a bench by its module."""
    path, _, name = node.partition("::")
    folder = Path(path).parent
    kind = f"tb {folder.name}" if folder.parts[0] == "tb" else "tests"
    return f"{kind} {name.partition('[')[0]}"


def coroutines(tree: Path) -> Iterator[tuple[str, int]]:
    """Yield the tests of cocotb, each with the number of combinations of its parameters."""
    for path in sorted(tree.glob("tb/*/*/test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list:
                parts = (part for one in node.decorator_list for part in ast.walk(one))
                lists = (len(part.elts) for part in parts if isinstance(part, ast.List))
                yield f"cocotb {path.parent.name} {node.name}", math.prod(lists)


def of_command(tree: Path, words: list[str]) -> Iterator[tuple[str, int]]:
    """Yield the cases of a command line, each with how often it is run."""
    line = " ".join(words)
    if "pytest" in words:
        yield from ((known_as(node), 1) for node in collected(tree, *after_pytest(words)))
        if "tb" in words and "nightly" not in words:
            yield from coroutines(tree)
        if "tests/vm" in words:
            texts = [(tree / name).read_text() for name in GUEST_STEPS if (tree / name).exists()]
            yield from ((f"guest {name}", 1) for name in GUEST_STEP.findall("".join(texts)))
    elif words[:2] == ["cargo", "test"]:
        sources = (path.read_text() for path in sorted(tree.glob("crates/**/*.rs")))
        yield from ((f"cargo {name}", 1) for text in sources for name in RUST_TEST.findall(text))
    elif "scripts/lint.py" in line:
        yield from (
            (f"lint {name}", 1) for name in evaluated(tree, "lint", "[*lint.checks(False, 1)]")
        )
        yield from ((f"lint {' '.join(top)}", 1) for top in evaluated(tree, "lint", "lint.TOPS"))
    elif "scripts/mutants.py" in line:
        defects = tomllib.loads((tree / "scripts/mutants.toml").read_text())["mutant"]
        yield from ((f"defect {one['name']}", 1) for one in defects)
    elif "scripts/soaks.py" in line:
        kinds = "LONG" if "--long" in line else "KINDS"
        yield from ((f"soak {kind}", 1) for kind in evaluated(tree, "soaks", f"[*soaks.{kinds}]"))
    elif seeds := SEEDS.search(line):
        yield "swarm seeds", int(seeds[2]) - int(seeds[1])


def cases(tree: Path, *targets: str) -> Cases:
    """Count the cases that targets of make run in a checkout."""
    found = Cases()
    for stage, words in commands(tree, *targets):
        if stage:
            found[f"stage {stage}"] += 1
        for name, count in of_command(tree, words):
            found[name] += count
    return found


def unreached(tree: Path) -> list[str]:
    """List the tests of pytest that `make nightly` does not run."""
    lines = [words for _, words in commands(tree, "nightly") if "pytest" in words]
    reached = {node for words in lines for node in collected(tree, *after_pytest(words))}
    # Folder by folder: files of the same name cannot be collected together.
    folders = [*sorted(tree.glob("tests/*/")), tree / "tb"]
    names = [str(folder.relative_to(tree)) for folder in folders if list(folder.rglob("test_*.py"))]
    return [
        node for name in names for node in collected(tree, "-m", "", name) if node not in reached
    ]


def at_revision(revision: str, folder: Path) -> Path:
    """Put the files of a revision into a folder.

    Raises
    ------
    Missing
        If this clone does not have it.
    """
    done = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise Missing(
            f"revision {revision} is not here: git fetch --unshallow, or name another one"
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def compared(before: Cases, now: Cases, table: dict[str, Any]) -> list[dict[str, object]]:
    """Compare two counts, kind by kind.

    A module's cases are those of its new name. What took the place of a case must be there, however
    often.

    Raises
    ------
    Missing
        If the table names a case that is not there.
    """
    parts = ("modules", "renamed", "replaced")
    modules, renamed, replaced = (table.get(part, {}) for part in parts)
    for old, new in (renamed | replaced).items():
        if old not in before or new not in now:
            raise Missing(f"{TABLE.name}: there is no '{old if old not in before else new}'")
    due = Cases()
    for name, count in before.items():
        moved = re.sub(r"\w+", lambda word: modules.get(word[0], word[0]), name)
        if name not in replaced:
            due[renamed.get(name, moved)] += count
    lacking = due - now

    def of_kind(kind: str, counts: Cases) -> Cases:
        return Cases({name: n for name, n in counts.items() if name.split()[0] == kind})

    return [
        {
            "kind": kind,
            "before": of_kind(kind, due).total(),
            "now": of_kind(kind, now).total(),
            "missing": dict(of_kind(kind, lacking)),
        }
        for kind in sorted({name.split()[0] for name in due | now})
    ]


def main() -> int:
    """Run the command line; returns the exit status."""
    table = tomllib.loads(TABLE.read_text())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--since", default=table["since"], help="revision [default: %(default)s]")
    parser.add_argument("--list", action="store_true", help="name every case")
    parser.add_argument("--json", type=Path, help="write the counts into this file")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            before = cases(at_revision(options.since, Path(folder)), "test", "nightly")
        now = cases(ROOT, "nightly")
        kinds = compared(before, now, table)
        left_out = unreached(ROOT)
    except Missing as error:
        print(error)
        return 1
    if options.list:
        print("\n".join(f"{count:6} {name}" for name, count in sorted(now.items())))
    print(f"cases of {options.since}, and of `make nightly` as it is")
    for kind in kinds:
        print(f"{kind['kind']:>8} {kind['before']:6} {kind['now']:6}")
    missing = {name: count for kind in kinds for name, count in kind["missing"].items()}
    for name, count in missing.items():
        print(f"missing: {name}, {count} of {count + now[name]}")
    for node in left_out:
        print(f"`make nightly` does not run {node}")
    if options.json:
        report = {"since": options.since, "kinds": kinds, "unreached": left_out}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if missing or left_out else 0


if __name__ == "__main__":
    sys.exit(main())
