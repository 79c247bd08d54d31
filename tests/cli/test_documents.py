# SPDX-License-Identifier: Apache-2.0
"""README and tutorials: each command runs in an empty folder and prints what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import examples

# What the pages are and read, beside the program.
READ = ("README.md", "docs/tutorials", "docs/how-to/recover.md", "LICENSES")


@pytest.mark.parametrize("page", examples.PAGES, ids=lambda page: page.stem)
def test_commands_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    """All steps of a page, in their order."""
    different = examples.differences(page, tmp_path)
    assert not different, "\n".join(
        f"`{step.name}` printed\n{printed}" for step, printed in different
    )


def test_a_page_is_read(tmp_path: Path) -> None:
    """Commands, programs and files are run in order; marked blocks are not."""
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n<!-- file: in.txt -->\n```toml\nx = 1\n```\n"
        "<!-- not run: it would fail -->\n```sh\nfalse\n```\n"
        "```console\n$ cat in.txt; echo\nx = 1\n$ seq 9\n1\n…\n9\n```\n"
        '```python\nprint("a", 3)\n```\n\n```text\na 4\n```\n'
        "```sh\ncp in.txt out.txt\n```\n"
    )
    folder = tmp_path / "empty"
    folder.mkdir()
    different = examples.differences(page, folder)
    assert [(step.name, printed) for step, printed in different] == [("the program", "a 3\n")]
    assert (folder / "out.txt").read_text() == "x = 1\n"
    assert "```text\na 3\n```" in examples.updated(page.read_text(), different)


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    """A command that ends with another exit code than 0 ends the page."""
    page = tmp_path / "page.md"
    page.write_text("```sh\nls absent-file\n```\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuntimeError, match=r"ls absent-file.* ended with 2"):
        examples.differences(page, tmp_path / "empty")


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a … c\n", "a b c\n", True),
        ("a … c\n", "a b d\n", False),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\nz\n", "a\nz\n", True),
        ("a\n", "a\nb\n", False),
        ("a.c\n", "abc\n", False),
        ("a\n", "a  \n\n", True),
    ],
)
def test_outputs_are_compared(shown: str, printed: str, same: bool) -> None:
    """`…` stands for any text or any lines; all else is exact but for spaces at the end."""
    assert examples.agrees(shown, printed) is same
