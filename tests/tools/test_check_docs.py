# SPDX-License-Identifier: Apache-2.0
"""The checker of the documentation finds what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

import check_docs


def test_links(tmp_path: Path) -> None:
    """Files and headings that do not exist are told; URLs and code are left alone."""
    (tmp_path / "there.md").write_text("# The `first` heading\n")
    text = (
        "[a](there.md) [b](there.md#the-first-heading) [c](https://example.org/x)\n"
        "[d](absent.md) [e](there.md#absent) [f](#own)\n"
        "```\n[g](absent.md)\n```\n"
        "# Own\n"
    )
    page = tmp_path / "page.md"
    page.write_text(text)
    wrong = check_docs.broken_links(page, text)
    assert wrong == [
        "link to absent.md: no such file",
        "link to there.md#absent: no such heading",
    ]


def test_commands_are_found() -> None:
    """Lines of shell blocks and whole inline code are commands; prose and other code are not."""
    text = (
        "Run `make demo`, then `forebay bench core --json -`. We make progress.\n"
        "```sh\n$ make test JOBS=8\nls\nbuild/forebay demo\n```\n"
        "```rust\nmake nothing\n```\n"
    )
    assert check_docs.commands(text) == [
        "make test JOBS=8",
        "build/forebay demo",
        "make demo",
        "forebay bench core --json -",
    ]


def test_make_targets() -> None:
    """Targets are looked up in the Makefile."""
    assert check_docs.wrong_command("make demo") is None
    assert check_docs.wrong_command("make test JOBS=8") is None
    assert "no make target fly" in (check_docs.wrong_command("make fly") or "")


HELP = {
    (): "Commands:\n  bench  Measure\n  demo  Show\n",
    ("bench",): "Commands:\n  core  Sequential\nOptions:\n  --help\n",
    ("bench", "core"): "Options:\n  --json <FILE>\n",
    ("demo",): "Options:\n  --limit <SIZE>\n",
}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("forebay bench core --json x", None),
        ("build/forebay demo --limit 1MiB | less", None),
        ("forebay demo -- --anything", None),
        ("forebay fly", "no subcommand fly"),
        ("forebay demo --fly", "no option --fly"),
        ("forebay bench core 'x", "quotes do not match"),
    ],
)
def test_program_commands(line: str, said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subcommands and options are looked up in what the program says of itself."""
    monkeypatch.setattr(check_docs, "help_of", lambda *chain: HELP.get(chain))
    monkeypatch.setattr(check_docs, "PROGRAM", Path(__file__))
    found = check_docs.wrong_command(line)
    assert (found is None) if said is None else (said in (found or ""))


def test_paths() -> None:
    """Paths in inline code must exist."""
    assert check_docs.missing_paths("`rtl/top/onchip.f` and `scripts/check_docs.py`") == []
    assert check_docs.missing_paths("`rtl/absent.sv`") == ["`rtl/absent.sv`: no such path"]


def test_the_index_lists_every_document(tmp_path: Path) -> None:
    """A page that the index does not link to is named; the index itself is not."""
    (tmp_path / "room").mkdir()
    for name in ("room/listed.md", "room/forgotten.md"):
        (tmp_path / name).write_text("# A page\n")
    index = tmp_path / "index.md"
    index.write_text("- [a](room/listed.md#a-page)\n")
    assert check_docs.unlisted(index) == ["no link to room/forgotten.md"]


def test_a_list_behind_a_paragraph() -> None:
    """GitHub would show a list, the site a paragraph with dashes."""
    text = "# A\n- good\n- good\n\nText:\n- bad\n\n```\na\n- code\n```\n1. good\n   more\n2. good\n"
    assert check_docs.lists_in_paragraphs(text) == ["a list needs an empty line before '- bad'"]
