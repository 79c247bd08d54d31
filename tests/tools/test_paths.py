# SPDX-License-Identifier: Apache-2.0
"""Levels of LUTs on the paths of a netlist of a few cells."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.paths import by_module, longest_paths


def cell(kind: str, inputs: dict[str, list[Any]], outputs: dict[str, list[Any]]) -> dict[str, Any]:
    """Make a cell as Yosys' JSON has it."""
    directions = dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")
    return {"type": kind, "port_directions": directions, "connections": inputs | outputs}


def chain(luts: int) -> dict[str, Any]:
    """Make a module of two registers with some LUTs between them."""
    cells = {"a": cell("FDRE", {"D": ["0"], "C": [1]}, {"Q": [10]})}
    for n in range(luts):
        cells[f"l{n}"] = cell("LUT2", {"I0": [10 + n], "I1": ["1"]}, {"O": [11 + n]})
    cells["b"] = cell("FDRE", {"D": [10 + luts], "C": [1]}, {"Q": [99]})
    names = {"u_x.a_q": {"bits": [10]}, "u_x.b_q": {"bits": [99]}}
    return {"cells": cells, "netnames": names, "ports": {}}


def longest(module: dict[str, Any]) -> int:
    """Return the levels of the longest path."""
    return longest_paths(module)[0].levels


def test_counts_levels_and_names() -> None:
    """Three LUTs are three levels, and the path is told from register to register."""
    path = longest_paths(chain(3))[0]
    assert (path.end, path.module, path.levels) == ("u_x.b_q:D", "u_x", 3)
    assert path.nets == ("u_x.a_q",)


def test_modules_have_the_longest_of_theirs() -> None:
    """Paths are told by the module in which they end."""
    module = chain(2)
    module["cells"]["c"] = cell("FDRE", {"D": [11], "C": [1]}, {"Q": [98]})
    module["netnames"]["u_x.u_y.c_q"] = {"bits": [98]}
    assert by_module(longest_paths(module)) == {"u_x": 2, "u_x.u_y": 1}


def test_a_carry_chain_is_one_level() -> None:
    """However long it is; the LUT before it counts."""
    module = chain(1)
    cells, bit = module["cells"], "0"
    for n in range(8):
        inputs = {"CI": [bit], "S": [11], "DI": ["0"]}
        cells[f"c{n}"] = cell("CARRY4", inputs, {"CO": [200 + n], "O": [300 + n]})
        bit = 200 + n
    cells["b"]["connections"]["D"] = [307]
    assert longest(module) == 2


def test_muxf_is_no_level() -> None:
    """It is part of the LUTs that it selects between."""
    module = chain(2)
    module["cells"]["m"] = cell("MUXF7", {"I0": [12], "I1": ["0"], "S": [10]}, {"O": [60]})
    module["cells"]["b"]["connections"]["D"] = [60]
    assert longest(module) == 2


@pytest.mark.parametrize("kind", ["RAM64M8", "RAMB36E2", "URAM288", "SRL16E", "fb_payload_ram"])
def test_memories_end_and_begin_a_path(kind: str) -> None:
    """So do black boxes."""
    module = chain(3)
    module["cells"]["r"] = cell(kind, {"ADDRA": [13]}, {"DOA": [50]})
    module["cells"]["b"]["connections"]["D"] = [50]
    paths = {path.end: path.levels for path in longest_paths(module)}
    assert paths["r:ADDRA"] == 3 and paths["u_x.b_q:D"] == 0


def test_pins_end_a_path() -> None:
    """An output behind logic is as long as a register's input."""
    module = chain(2)
    module["ports"] = {"ready": {"direction": "output", "bits": [12, "0"]}}
    assert {path.end for path in longest_paths(module) if path.levels == 2} >= {"ready"}


def test_a_loop_is_an_error() -> None:
    """A net that depends on itself is named, and no reason to hang."""
    module = chain(2)
    module["cells"]["l0"]["connections"]["I1"] = [12]
    module["netnames"]["u_x.ring"] = {"bits": [12]}
    with pytest.raises(ValueError, match=r"depends on itself"):
        longest_paths(module)
