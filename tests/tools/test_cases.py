# SPDX-License-Identifier: Apache-2.0
"""A case that `make nightly` no longer runs is noticed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import cases

FILES = {
    "Makefile": "test:\n\t@python -m pytest -q tests tb\n\t@cargo test\n"
    "nightly: test\n\t@python -m pytest -m nightly tests tb\n\t@forebay swarm --seeds 10..50\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = \"-m 'not nightly'\"\n"
    'markers = ["nightly: takes long"]\n',
    "tests/cli/test_a.py": "import pytest\n@pytest.mark.parametrize('n', range(3))\n"
    "def test_some(n): pass\n@pytest.mark.nightly\ndef test_long(): pass\n",
    "tests/tools/test_b.py": "def test_other(): pass\n",
    "tb/net/fb_x/test_fb_x.py": "import cocotb\n@cocotb.test()\n"
    "@cocotb.parametrize(share=[0.0, 0.5], depth=[1, 2, 3])\nasync def rate(dut): pass\n"
    "def test_x(): pass\n",
    "crates/one/src/lib.rs": "#[test]\n#[ignore]\nfn it_works() {}\nfn no_test() {}\n",
    "cases.toml": 'since = "HEAD"\n[renamed]\n',
}
COUNTS = {
    "tests test_some": 3,
    "tests test_long": 1,
    "tests test_other": 1,
    "tb fb_x test_x": 1,
    "cocotb fb_x rate": 6,
    "cargo it_works": 1,
    "swarm seeds": 40,
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small checkout with a commit, to which cases are compared."""
    root = tmp_path / "checkout"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "tb/net/fb_x/cocotb.py").write_text(
        "def test(): return lambda f: f\ndef parametrize(**_): return lambda f: f\n"
    )
    author = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for line in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "-m", "all"]):
        subprocess.run(["git", *line], cwd=root, check=True)
    monkeypatch.setattr(cases, "ROOT", root)
    monkeypatch.setattr(cases, "TABLE", root / "cases.toml")
    monkeypatch.setattr("sys.argv", ["cases.py"])
    return root


def test_every_kind_is_counted(tree: Path) -> None:
    """Once, whether `make test` runs it or `make nightly` alone; parameters count each."""
    assert cases.cases(tree, "nightly") == COUNTS
    assert cases.cases(tree, "test", "nightly") == COUNTS
    assert cases.unreached(tree) == []


def test_what_is_missing_is_named(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A test, a value of a parameter, a seed: the exit status tells it."""
    edits = (
        ("tests/tools/test_b.py", "test_other", "test_another", "tests test_other, 1 of 1"),
        ("tests/cli/test_a.py", "range(3)", "range(1)", "tests test_some, 2 of 3"),
        ("tb/net/fb_x/test_fb_x.py", "[1, 2, 3]", "[1, 2]", "cocotb fb_x rate, 2 of 6"),
        ("crates/one/src/lib.rs", "#[test]", "", "cargo it_works, 1 of 1"),
        ("Makefile", "10..50", "10..49", "swarm seeds, 1 of 40"),
    )
    for name, old, new, _ in edits:
        path = tree / name
        path.write_text(path.read_text().replace(old, new))
    assert cases.main() == 1
    said = capsys.readouterr().out
    for _, _, _, what in edits:
        assert f"missing: {what}\n" in said


def test_what_is_not_reached_is_named(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A test with a mark or in a folder that no command of `make nightly` chooses."""
    path = tree / "Makefile"
    path.write_text(path.read_text().replace("-m nightly tests", "-m nightly tests/tools"))
    assert cases.main() == 1
    said = capsys.readouterr().out
    assert "missing: tests test_long, 1 of 1\n" in said
    assert "`make nightly` does not run tests/cli/test_a.py::test_long\n" in said


def test_a_renamed_or_moved_case_is_not_missing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table says what it is called now; a name in it that does not exist is told."""
    old, new = tree / "tests/tools/test_b.py", tree / "tests/cli/test_c.py"
    new.write_text(old.read_text().replace("test_other", "test_another"))
    old.unlink()
    with (tree / "cases.toml").open("a") as table:
        table.write('"tests test_other" = "tests test_another"\n')
    assert cases.main() == 0
    assert "missing" not in capsys.readouterr().out
    new.unlink()
    cases.collected.cache_clear()
    assert cases.main() == 1
    assert "there is no 'tests test_another'" in capsys.readouterr().out


def test_cases_of_a_module_go_with_its_name(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a module with another name runs is what the first ran; what was replaced is told."""
    old, new = tree / "tb/net/fb_x", tree / "tb/net/fb_y"
    old.rename(new)
    (new / "test_fb_x.py").rename(new / "test_fb_y.py")
    with (tree / "cases.toml").open("a") as table:
        table.write('[modules]\nfb_x = "fb_y"\n')
    assert cases.main() == 0
    path = new / "test_fb_y.py"
    path.write_text(path.read_text().replace("def rate", "def pace"))
    cases.collected.cache_clear()
    assert cases.main() == 1
    assert "missing: cocotb fb_y rate, 6 of 6\n" in capsys.readouterr().out
    with (tree / "cases.toml").open("a") as table:
        table.write('[replaced]\n"cocotb fb_x rate" = "cocotb fb_y pace"\n')
    cases.collected.cache_clear()
    assert cases.main() == 0


def test_a_revision_that_is_not_here(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in a shallow clone: it is said what helps."""
    (tree / "cases.toml").write_text('since = "4a85a08"\n[renamed]\n')
    assert cases.main() == 1
    assert "git fetch --unshallow" in capsys.readouterr().out


def test_our_own_commands_are_understood() -> None:
    """What `make nightly` runs here is read as words, commands over several lines, too."""
    found = [words for _, words in cases.commands(cases.ROOT, "nightly")]
    assert any("CUTS=3000" in words and "power_is_lost" in words for words in found)
