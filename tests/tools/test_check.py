# SPDX-License-Identifier: Apache-2.0
"""`make test` itself: stages wait for what they need and run beside each other."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import check
import passed
from check import Stage
from passed import Case, Stamps


@pytest.fixture
def stamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stamps:
    """Return stamps in a folder of this test alone; logs go beside them."""
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "LOGS", tmp_path)
    monkeypatch.setattr(passed, "ROOT", tmp_path)
    return Stamps(tmp_path / "passed")


def stage(name: str, code: str, **options: object) -> Stage:
    """Return a stage that runs a line of Python."""
    return Stage(name, "a test", [sys.executable, "-c", code], **options)  # type: ignore[arg-type]


def run(stages: list[Stage], jobs: int, stamps: Stamps) -> dict[str, bool]:
    """Run them."""
    return check.run(stages, jobs, stamps, dict(os.environ))


WAIT = "import pathlib, time\nwhile not pathlib.Path({!r}).exists(): time.sleep(0.01)"


@pytest.mark.parametrize("cores", [0, 1])
def test_a_stage_of_one_core_runs_beside_another(
    cores: int, stamps: Stamps, tmp_path: Path
) -> None:
    """Also beside one that keeps all cores busy: each of these waits for what the other leaves."""
    leave = "import pathlib; pathlib.Path({!r}).touch()"
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    stages = [
        stage("first", leave.format(one) + "\n" + WAIT.format(two), cores=cores),
        stage("second", WAIT.format(one) + "\n" + leave.format(two), cores=1),
    ]
    assert run(stages, 2, stamps) == {"first": True, "second": True}


def test_a_stage_waits_for_the_one_before_it(stamps: Stamps, tmp_path: Path) -> None:
    """Although a core is free, and although that one fails."""
    mark = str(tmp_path / "mark")
    late = f"import pathlib, time; time.sleep(0.3); pathlib.Path({mark!r}).touch(); exit(1)"
    stages = [
        stage("build", late, cores=1),
        stage("use", f"import pathlib; assert pathlib.Path({mark!r}).exists()", after="build"),
    ]
    assert run(stages, 2, stamps) == {"build": False, "use": True}


def test_only_what_has_not_passed_is_run(
    stamps: Stamps, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cases are chosen by their option; a stage that fails remembers nothing."""
    source = tmp_path / "source"
    source.write_text("1")

    def cases() -> dict[str, bool]:
        code = "import sys; print(*sys.argv[1:]); sys.exit('bad' in sys.argv)"
        some = Case("good", []), Case("changes", [source])
        both = stage("some", code, cases=some, each="--case")
        bad = stage("bad", code, cases=(Case("bad", []),), each="--case")
        return run([both, bad], 1, stamps)

    for words in ("--case good --case changes", "--case changes"):
        assert cases() == {"some": True, "bad": False}
        assert (tmp_path / "some.log").read_text().strip() == words
        source.write_text(source.read_text() + "1")
    source.write_text("11")
    capsys.readouterr()
    assert cases() == {"some": True, "bad": False}
    said = capsys.readouterr().out
    assert "[some] 2 unchanged since they passed" in said
    assert "[bad] FAILED" in said and "bad.log" in said


def test_counts_of_cases_left_out_are_told(
    stamps: Stamps, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever else the log says."""
    code = "print('7 unchanged since they passed'); print('x: unchanged since they passed')"
    assert run([stage("tests", code)], 1, stamps) == {"tests": True}
    assert "7 unchanged since they passed" in capsys.readouterr().out
