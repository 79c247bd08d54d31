# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of documents as they are printed, and compares what they print.

Each page is run in an empty folder of its own, block by block:

| block                     | is                                                            |
|---------------------------|---------------------------------------------------------------|
| `console`                 | commands behind `$ `, each followed by its standard output    |
| `sh`                      | commands whose output is not shown                            |
| `python`                  | a program; a block `text` right behind it is what it prints   |
| any, behind `<!-- file: NAME -->`      | the content of a file, which is written          |
| any, behind `<!-- not run: REASON -->` | left out                                         |

In an output `…` stands for any text within a line, and alone on a line for any lines. Each line of
commands is run by a shell of its own in the page's folder, and must end with exit code 0.

`scripts/examples.py --update` writes the outputs anew where they differ.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / os.environ.get("FOREBAY", "build/forebay")
PAGES = (
    ROOT / "README.md",
    *sorted(ROOT.glob("docs/tutorials/*.md")),
    ROOT / "docs" / "how-to" / "recover.md",
)
TIMEOUT_SECONDS = 600

BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>file|not run): (?P<said>.*?) -->\n)?"
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```\n",
    re.M | re.S,
)
RUN = {"console", "sh", "python"}
ANY = "…"
UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")


@dataclass(frozen=True)
class Step:
    """Something to run, or a file to write, and where its output stands in the page.

    Attributes
    ----------
    words : list of str
        The command line; empty for a file.
    name : str
        The command as printed, or the file's name.
    text : str
        Content of the file.
    shown : tuple of int, optional
        Begin and end of the printed output in the page; none where none is printed.
    """

    words: list[str]
    name: str
    text: str = ""
    shown: tuple[int, int] | None = None


def steps(page: str) -> Iterator[Step]:
    """List the steps of a page in their order."""
    blocks = list(BLOCK.finditer(page))
    for block, behind in zip(blocks, [*blocks[1:], None], strict=True):
        start = block.start("text")
        if block["mark"] == "file":
            yield Step([], block["said"], block["text"])
        elif block["mark"] or block["kind"] not in RUN:
            continue
        elif block["kind"] == "sh":
            lines = re.sub(r"\\\n", "", block["text"]).splitlines()
            yield from (Step(["bash", "-c", line], line) for line in lines if line.strip())
        elif block["kind"] == "console":
            for found in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block["text"], re.M):
                shown = (start + found.start(2), start + found.end(2))
                yield Step(["bash", "-c", found[1]], found[1], shown=shown)
        else:
            answer = behind and behind["kind"] == "text" and page[block.end() : behind.start()]
            shown = behind.span("text") if behind and answer == "\n" else None
            yield Step([sys.executable, "-c", block["text"]], "the program", shown=shown)


def agrees(shown: str, printed: str) -> bool:
    """Say whether an output is what the page shows."""
    lines = []
    for line in shown.splitlines():
        parts = map(re.escape, line.rstrip().split(ANY))
        lines.append(r"(?:.*\n)*?" if line.strip() == ANY else f"{'.*?'.join(parts)}\n")
    return re.fullmatch("".join(lines), tidy(printed)) is not None


def tidy(printed: str) -> str:
    """Return an output as a page shows it: no spaces at the end of lines, no blank line last."""
    text = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return re.sub(r"\n+\Z", "\n", text)


def run(page: Path, folder: Path, program: Path = PROGRAM) -> Iterator[tuple[Step, str]]:
    """Run a page's steps in an empty folder; yields each with its output.

    Raises
    ------
    RuntimeError
        If a command ends with another exit code than 0.
    """
    tools = folder / ".tools"
    tools.mkdir()
    (tools / "forebay").symlink_to(program.resolve())
    environment = Path(sys.executable).parent
    env = os.environ | {
        "PATH": f"{tools}:{environment}:{os.environ['PATH']}",
        "VIRTUAL_ENV": str(environment.parent),
        "FOREBAY_HOME": str(ROOT),
        "LC_ALL": "C.UTF-8",
    }
    for step in steps(page.read_text()):
        if not step.words:
            (folder / step.name).write_text(step.text)
            continue
        done = subprocess.run(
            step.words,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            said = f"{done.stdout}{done.stderr}"
            raise RuntimeError(f"{page.name}: `{step.name}` ended with {done.returncode}\n{said}")
        yield step, done.stdout


def differences(page: Path, folder: Path) -> list[tuple[Step, str]]:
    """List the steps whose output is not what the page shows."""
    text = page.read_text()
    return [
        (step, printed)
        for step, printed in run(page, folder)
        if step.shown and not agrees(text[slice(*step.shown)], printed)
    ]


def updated(text: str, different: list[tuple[Step, str]]) -> str:
    """Return a page with the outputs that its commands printed."""
    for step, printed in reversed(different):
        begin, end = step.shown or (0, 0)
        text = text[:begin] + UUID.sub(ANY, tidy(printed)) + text[end:]
    return text


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write outputs that differ")
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES)
    options = parser.parse_args()
    wrong = 0
    for page in options.pages:
        with tempfile.TemporaryDirectory() as folder:
            different = differences(page, Path(folder))
        wrong += len(different)
        for step, printed in different:
            print(f"{page}: `{step.name}` printed\n{printed}")
        if options.update:
            page.write_text(updated(page.read_text(), different))
    return 1 if wrong and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
