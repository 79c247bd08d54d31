# SPDX-License-Identifier: Apache-2.0
"""Checks that documentation names only what exists: links, anchors, make targets, commands.

Commands are lines of fenced blocks and whole inline code that begin with `make`, `forebay` or
`build/forebay`. Their options are looked up in the program's own `--help`, if it was built.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / os.environ.get("FOREBAY", "build/forebay")
INDEX = ROOT / "docs" / "index.md"
# Folders of third parties or of build outputs.
SKIPPED = {"target", "build", ".venv", ".git", "node_modules"}

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"`([^`\n]+)`")
PATH_LIKE = re.compile(
    r"^(rtl|docs|regs|tb|crates|python|scripts|pipelines|profiles|tests)/[\w./-]+$"
)


def documents(root: Path = ROOT) -> list[Path]:
    """List all Markdown files of the repository."""
    found = [path for path in root.rglob("*.md") if not SKIPPED & set(path.parts)]
    return sorted(found)


def anchors(text: str) -> set[str]:
    """List the anchors that a Markdown text offers, as GitHub forms them."""
    found = set()
    for title in re.findall(r"^#+\s+(.*?)\s*$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


def broken_links(path: Path, text: str) -> list[str]:
    """List what relative links of a document lead nowhere."""
    wrong = []
    for match in LINK.finditer(FENCE.sub("", text)):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        where = (path.parent / name) if name else path
        if not where.exists():
            wrong.append(f"link to {target}: no such file")
        elif anchor and where.suffix == ".md":
            there = text if where == path else where.read_text()
            if anchor not in anchors(there):
                wrong.append(f"link to {target}: no such heading")
    return wrong


def commands(text: str) -> list[str]:
    """List the commands that a document tells its reader to give."""
    lines = []
    for language, block in FENCE.findall(text):
        if language in ("", "sh", "bash", "console"):
            lines += [line.strip().removeprefix("$ ") for line in block.splitlines()]
    lines += INLINE.findall(FENCE.sub("", text))
    return [line for line in lines if re.match(r"(make|forebay|build/forebay)\s+[a-z-]", line)]


@functools.cache
def make_targets() -> frozenset[str]:
    """List the targets of the Makefile."""
    return frozenset(re.findall(r"^([a-z][\w/-]*):", (ROOT / "Makefile").read_text(), re.M))


@functools.cache
def help_of(*subcommands: str) -> str | None:
    """Return what the program says to `--help`, or None where it has no such subcommand."""
    done = subprocess.run(
        [PROGRAM, *subcommands, "--help"], capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def wrong_command(line: str) -> str | None:
    """Say what is wrong with a documented command, or None."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return f"`{line}`: quotes do not match"
    for stop in ("|", ">", "&&", ";"):
        words = words[: words.index(stop)] if stop in words else words
    if words[0] == "make":
        targets = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        unknown = [target for target in targets if target not in make_targets()]
        return f"`{line}`: no make target {unknown[0]}" if unknown else None
    if not PROGRAM.exists():
        return None
    words = words[1 : words.index("--") if "--" in words else None]
    chain: list[str] = []
    for word in words:
        if not re.fullmatch(r"[a-z]+", word) or f"  {word}" not in (help_of(*chain) or ""):
            break
        chain.append(word)
    if not chain and not words[0].startswith("-"):
        return f"`{line}`: no subcommand {words[0]}"
    text = help_of(*chain) or ""
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    unknown = [option for option in options if not re.search(rf"{option}\b", text)]
    return f"`{line}`: no option {unknown[0]}" if unknown else None


def missing_paths(text: str) -> list[str]:
    """List paths of the repository, or of one of its crates, that are named and do not exist."""
    names = {name for name in INLINE.findall(FENCE.sub("", text)) if PATH_LIKE.match(name)}
    homes = [ROOT, *(ROOT / "crates").iterdir()]
    return [
        f"`{name}`: no such path"
        for name in sorted(names)
        if not any((home / name).exists() for home in homes)
    ]


def lists_in_paragraphs(text: str) -> list[str]:
    """List the items that begin right behind a paragraph: no list for the site's renderer."""
    blank = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    found = re.findall(r"^(?![-*#|>\s]|\d+\. ).+\n((?:[-*]|\d+\.) .*)", blank, re.M)
    return [f"a list needs an empty line before '{item[:40]}'" for item in found]


def unlisted(index: Path) -> list[str]:
    """List documents beside an index, or in folders below, to which it has no link."""
    linked = {
        (index.parent / (match[1] or "").partition("#")[0]).resolve()
        for match in LINK.finditer(index.read_text())
    }
    others = [path for path in documents(index.parent) if path.resolve() not in linked | {index}]
    return [f"no link to {path.relative_to(index.parent)}" for path in others]


def main() -> int:
    """Run the command line; returns the exit status."""
    wrong = []
    files = documents()
    for path in files:
        text = path.read_text()
        found = broken_links(path, text) + missing_paths(text) + lists_in_paragraphs(text)
        found += [said for line in commands(text) if (said := wrong_command(line))]
        wrong += [f"{path.relative_to(ROOT)}: {said}" for said in found]
    wrong += [f"{INDEX.relative_to(ROOT)}: {said}" for said in unlisted(INDEX)]
    print("\n".join(wrong) or f"{len(files)} documents: links, paths and commands exist")
    if not PROGRAM.exists():
        print(f"{PROGRAM.relative_to(ROOT)} is not built: its subcommands were not looked up")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
