# SPDX-License-Identifier: Apache-2.0
"""Finds private words for which the field has terms; docs/reference/glossary.md lists them.

In Markdown, code and the targets of links are not looked at, nor are generated pages: their words
are those of their sources.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
SECTION = "## Replaced words"
# Files and folders that are looked at; next come crates, python, tests and scripts.
LOOKED_AT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
SUFFIXES = {".md"}

NOT_PROSE = re.compile(r"^```.*?^```|`[^`\n]+`|\]\([^)\s]*\)|<!--.*?-->", re.M | re.S)


@dataclass(frozen=True)
class Rule:
    """Words, the term to be written instead, and phrases in which they may stand."""

    words: list[str]
    term: str
    allowed: list[str]

    def find(self, text: str) -> list[tuple[int, str]]:
        """List the words of a text, each with its line from 1; a phrase may be wrapped."""
        for phrase in self.allowed:
            text = phrase_of(phrase).sub(lambda found: "\n" * found[0].count("\n"), text)
        return [
            (1 + text.count("\n", 0, found.start()), word)
            for word in self.words
            for found in phrase_of(word).finditer(text)
        ]


def phrase_of(words: str) -> re.Pattern[str]:
    """Return a pattern for words, in any case, with a space or the end of a line between them."""
    return re.compile(r"\b" + r"\s+".join(map(re.escape, words.split())) + r"\b", re.I)


def rules(glossary: str) -> list[Rule]:
    """Read the table of the glossary.

    Raises
    ------
    ValueError
        If there is none.
    """
    _, _, section = glossary.partition(f"{SECTION}\n")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    found = [
        Rule(words.split(", "), term, [one for one in allowed.split(", ") if one])
        for words, term, allowed in rows[2:]
    ]
    if not found:
        raise ValueError(f"the glossary has no table behind '{SECTION}'")
    return found


def prose(text: str) -> str:
    """Blank what is not prose in a Markdown document; lines stay where they are."""
    if text.startswith("<!-- Generated"):
        return ""
    text = text.partition(f"{SECTION}\n")[0]
    return NOT_PROSE.sub(lambda found: "\n" * found[0].count("\n"), text)


def files(root: Path = ROOT) -> Iterator[Path]:
    """List the files that are looked at."""
    for name in LOOKED_AT:
        path = root / name
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (one for one in found if one.suffix in SUFFIXES)


def complaints() -> list[str]:
    """List each private word with its place, and the term to be written instead."""
    known = rules(GLOSSARY.read_text())
    return [
        f"{path.relative_to(ROOT)}:{line}: '{word}': write {rule.term}"
        for path in files()
        for text in [prose(path.read_text())]
        for rule in known
        for line, word in rule.find(text)
    ]


def main() -> int:
    """Run the command line; returns the exit status."""
    found = complaints()
    print("\n".join(found) or "no private words")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
