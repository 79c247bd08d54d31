# SPDX-License-Identifier: Apache-2.0
"""The harness and stubs around a design that is timed, and what is read from nextpnr."""

from __future__ import annotations

import json

import pytest

from forebay import timing
from forebay.resources import arguments, main, parse_budget, parse_parameter
from forebay.synthesis import Port

PORTS = [
    Port("aclk", "input", 1),
    Port("a", "input", 8),
    Port("b", "input", 1),
    Port("y", "output", 4),
    Port("z", "output", 2),
]


def test_harness_registers_every_port() -> None:
    """Each input bit has a place in the shift register, each output bit one in the other."""
    text = timing.render_harness("dut_top", PORTS, "aclk")
    assert "reg [8:0] inputs_q;" in text
    assert "wire [5:0] outputs;" in text
    assert ".aclk (clk)" in text
    assert ".a (inputs_q[0 +: 8])" in text
    assert ".b (inputs_q[8 +: 1])" in text
    assert ".z (outputs[4 +: 2])" in text


def test_stub_registers_both_sides() -> None:
    """A stub mixes all inputs into all outputs through two registers."""
    ports = [Port("clk", "input", 1), Port("d", "input", 6), Port("q", "output", 3)]
    text = timing.render_stub("memory", ports)
    assert "reg [5:0] inputs_q;" in text
    assert "reg [2:0] outputs_q;" in text
    assert "always @(posedge clk)" in text


def test_slowest_clock_counts() -> None:
    """Of several clocks the slowest is the result; none is an error."""
    clocks = {"a": {"achieved": 80.0, "constraint": 150.0}, "b": {"achieved": 70.5}}
    assert timing.parse_report(json.dumps({"fmax": clocks})).mhz == 70.5
    with pytest.raises(ValueError, match="no clock"):
        timing.parse_report('{"fmax": {}}')


def test_slowest_path() -> None:
    """The slowest path inside the design is told by the nets that the RTL names."""
    steps = [
        {"type": "clk-to-q", "delay": 0.5},
        {"type": "routing", "delay": 1.0, "net": "dut.u_read.pages_q"},
        {"type": "logic", "delay": 0.25},
        {"type": "routing", "delay": 1.5, "net": "dut.u_read.x_LUT4_Z"},
        {"type": "logic", "delay": 0.25},
        {"type": "setup", "delay": 0.5},
    ]
    outside = [{"type": "routing", "delay": 9.0, "net": "shift_in"}]
    report = {
        "fmax": {"clk": {"achieved": 250.0}},
        "critical_paths": [
            {"from": "posedge clk", "to": "posedge clk", "path": steps},
            {"from": "<async>", "to": "posedge clk", "path": outside},
        ],
    }
    route = timing.parse_report(json.dumps(report))
    assert route.path == ("u_read.pages_q",)
    assert (route.levels, route.logic_ns, route.routing_ns) == (2, 1.5, 2.5)


def test_median() -> None:
    """The median of three seeds, whatever their order."""
    routes = {seed: timing.Route(mhz, (), 0, 0.0, 0.0) for seed, mhz in ((1, 90.0), (2, 70.0))}
    routes[3] = timing.Route(85.0, (), 0, 0.0, 0.0)
    assert timing.Timing(routes, {}).median == 85.0


def test_command_line() -> None:
    """Budgets and parameters are read, nonsense is refused with an example."""
    assert parse_budget("lut=7257,ff=8152") == {"lut": 7257, "ff": 8152}
    assert parse_parameter("QueueDepth=256") == ("QueueDepth", 256)
    assert arguments(["--json"]).json == "-"
    assert arguments(["--json", "file"]).json == "file"
    for line in (["--budget", "lut"], ["--budget", "dsp=1"], ["--parameter", "x=y"]):
        with pytest.raises(SystemExit):
            arguments(line)


def test_missing_sources_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A source that is not there is told and the exit status says failure."""
    assert main(["--rtl", "absent.v", "--top", "x"]) == 1
    assert "absent.v" in capsys.readouterr().err
