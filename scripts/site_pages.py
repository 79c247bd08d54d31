# SPDX-License-Identifier: Apache-2.0
"""`make site`: the documentation as a site with search, in build/site.

The navigation is made from docs/index.md. The site holds documents alone: links to sources become
their paths. Links that lead nowhere make it fail.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SETTINGS = ROOT / "scripts" / "site.yml"
BUILD = ROOT / "build"
ZENSICAL = BUILD / "site-env" / "bin" / "zensical"

BACKSLASH_PIPE = "\\|"
FENCE = re.compile(r"(^```.*?^```)", re.M | re.S)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def navigation(index: str) -> list[dict[str, object]]:
    """Return the navigation: a part for each heading of the index, with the pages under it."""
    parts: list[dict[str, object]] = [{"Home": "index.md"}]
    for section in re.split(r"^## ", index, flags=re.M)[1:]:
        title, _, text = section.partition("\n")
        parts.append({title: [{link[1].replace("`", ""): link[2]} for link in LINK.finditer(text)]})
    return parts


def without_sources(text: str, page: str) -> str:
    """Replace links to files outside docs/ by their paths.

    Parameters
    ----------
    text : str
        Markdown.
    page : str
        Path of the document, relative to docs/.
    """

    def plain(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[2]))
        if not path.startswith("../"):
            return link[0]
        path = f"`{path.removeprefix('../')}`"
        return path if link[1].strip("`") in path else f"{link[1]} ({path})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(plain, part) for part in parts)


def for_site(text: str, page: str) -> str:
    """Return a document as the site's renderer needs it; it differs from GitHub's in little."""

    def code(found: re.Match[str]) -> str:
        return f"<code>{html.escape(found[1]).replace(BACKSLASH_PIPE, '&#124;')}</code>"

    def row(found: re.Match[str]) -> str:
        return re.sub(r"`([^`\n]*\\\|[^`\n]*)`", code, found[0])

    return re.sub(r"^\|.*\|$", row, without_sources(text, page), flags=re.M)


def stage(docs: Path, build: Path) -> Path:
    """Write the documents and the settings that the site is built from into a folder.

    Returns
    -------
    Path
        The settings.
    """
    staged = build / "site-source"
    shutil.rmtree(staged, ignore_errors=True)
    shutil.copytree(docs, staged)
    for path in docs.rglob("*.md"):
        page = path.relative_to(docs).as_posix()
        (staged / page).write_text(for_site(path.read_text(), page))
    settings = build / "site.yml"
    # JSON is YAML.
    nav = json.dumps(navigation((docs / "index.md").read_text()), ensure_ascii=False)
    settings.write_text(f"{SETTINGS.read_text()}nav: {nav}\n")
    return settings


def main() -> int:
    """Run the command line; returns the exit status."""
    settings = stage(DOCS, BUILD)
    done = subprocess.run(
        [ZENSICAL, "build", "--clean", "--strict", "--config-file", settings],
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        # After the issues comes the tool's own call stack.
        print((done.stdout + done.stderr).partition("Traceback")[0])
        return 1
    print("the site is build/site/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
