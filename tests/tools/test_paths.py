# SPDX-License-Identifier: Apache-2.0
"""Estimated paths through a netlist of a few cells."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.paths import CLOCK_TO_Q, SETUP, slowest_paths


def cell(kind: str, inputs: dict[str, list[Any]], outputs: dict[str, list[Any]]) -> dict[str, Any]:
    """Make a cell as Yosys' JSON has it."""
    directions = dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")
    return {"type": kind, "port_directions": directions, "connections": inputs | outputs}


def chain(luts: int) -> dict[str, Any]:
    """Make a module of two registers with some LUTs between them."""
    cells = {"a": cell("TRELLIS_FF", {"DI": ["0"], "CLK": [1]}, {"Q": [10]})}
    for n in range(luts):
        cells[f"l{n}"] = cell("LUT4", {"A": [10 + n], "B": ["1"]}, {"Z": [11 + n]})
    cells["b"] = cell("TRELLIS_FF", {"DI": [10 + luts], "CLK": [1]}, {"Q": [99]})
    names = {"dut.u_x.a_q": {"bits": [10]}, "dut.u_x.b_q": {"bits": [99]}}
    return {"cells": cells, "netnames": names}


def test_counts_levels_and_names() -> None:
    """Three LUTs are three levels, and the path is told from register to register."""
    path = slowest_paths(chain(3))[0]
    assert (path.end, path.levels, path.nets) == ("u_x.b_q:DI", 3, ("u_x.a_q",))


def test_longer_is_slower() -> None:
    """Each LUT adds its delay and its wire's."""
    none, one, two = (slowest_paths(chain(n))[0].ns for n in range(3))
    assert none == pytest.approx(CLOCK_TO_Q + SETUP)
    assert one < two
    assert two - one == pytest.approx(one - none, abs=0.02)


def test_carry_is_fast() -> None:
    """A carry chain of eight cells costs less than two LUTs."""
    module = chain(0)
    cells = module["cells"]
    bit: Any = "0"
    for n in range(8):
        cells[f"c{n}"] = cell(
            "CCU2C", {"CIN": [bit], "A0": [10], "B0": ["0"]}, {"COUT": [200 + n], "S0": [300 + n]}
        )
        bit = 200 + n
    cells["b"]["connections"]["DI"] = [307]
    assert slowest_paths(module)[0].ns < slowest_paths(chain(2))[0].ns + 0.6


def test_memory_is_read_through() -> None:
    """A LUT RAM passes its address on to its data and takes time of its own."""
    module = chain(1)
    module["cells"]["r"] = cell(
        "TRELLIS_DPR16X4", {"RAD": [11, "0", "0", "0"], "WCK": [1]}, {"DO": [50]}
    )
    module["cells"]["b"]["connections"]["DI"] = [50]
    path = slowest_paths(module)[0]
    assert path.levels == 2
    assert path.ns > slowest_paths(chain(1))[0].ns


def test_loops_end() -> None:
    """A combinational loop is no reason to hang."""
    module = chain(2)
    module["cells"]["l0"]["connections"]["B"] = [12]
    assert slowest_paths(module)
