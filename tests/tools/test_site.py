# SPDX-License-Identifier: Apache-2.0
"""The site's navigation comes from the index; links to sources become paths."""

from __future__ import annotations

from pathlib import Path

import pytest

import site_pages as site


def test_navigation() -> None:
    """Each heading of the index is a part, each link under it a page, in their order."""
    index = "# Title\n[not](this.md)\n\n## One\n- [A `b`](x/a.md#there): c\n\n## Two\n[D](d.md)\n"
    assert site.navigation(index) == [
        {"Home": "index.md"},
        {"One": [{"A b": "x/a.md"}]},
        {"Two": [{"D": "d.md"}]},
    ]


@pytest.mark.parametrize(
    ("text", "staged"),
    [
        ("[a](b.md#c) ![p](../p.svg) [u](https://example.org)", None),
        ("[the bus](../../crates/bus.rs)", "the bus (`crates/bus.rs`)"),
        ("[`scripts/a.py`](../../scripts/a.py)", "`scripts/a.py`"),
        ("```\n[x](../../y)\n```\n", None),
    ],
)
def test_links_to_sources(text: str, staged: str | None) -> None:
    """Only links that leave docs/ are rewritten, and none in code."""
    assert site.without_sources(text, "room/page.md") == (staged or text)


def test_pipes_in_tables() -> None:
    """The site's renderer shows an escaped pipe in code with its backslash, GitHub without."""
    text = "| `a \\| b` | c |\n`a \\| <b>`\n"
    assert site.for_site(text, "a.md") == "| <code>a &#124; b</code> | c |\n`a \\| <b>`\n"


def test_documents_are_staged(tmp_path: Path) -> None:
    """All files are copied, and the navigation stands in the settings."""
    (tmp_path / "docs" / "room").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text("## Room\n[A](room/a.md)\n")
    (tmp_path / "docs" / "room" / "a.md").write_text("[it](../../s.py)\n")
    settings = site.stage(tmp_path / "docs", tmp_path)
    assert '{"Room": [{"A": "room/a.md"}]}' in settings.read_text()
    assert (tmp_path / "site-source" / "room" / "a.md").read_text() == "it (`s.py`)\n"
