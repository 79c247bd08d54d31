# SPDX-License-Identifier: Apache-2.0
"""scripts/tops.py: a bus is written once, and becomes pins, interfaces and connections."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import tops  # noqa: E402

TINY = """
[parameter]
Depth = ["64", "entries"]

[width]

[bus.mem]
about = "The memory."
axi = { id = "1", address = "AddrBits", data = 64 }
initiator = "m_axi"

[bus.one]
signals = "tvalid tready tdata:8 tid:4"
target = "s_axis"

[bus.other]
signals = "tvalid tready tdata:8"
target = "IN"

[bus.lite]
lite = { address = "12", data = 32 }
target = "s_axil"

[memory]
[user]

[wrapper.fb_tiny]
clocks = "clk rst"
parameters = ["Depth = 32"]
buses = ["mem", "other"]
about = "A top."
handshake = "AXI4."
lacks = "nothing."
body = '''
  fb_core #(
      @same Depth
  ) u_core (
      @bus c_axis = other - tdata
      @pins one = other
      @pins mem = mem - awid
  );
  @nets one
  @interface mem lite
  @drive ports[1] = mem - awaddr
'''
"""


@pytest.fixture
def text() -> str:
    """Return the one top of the description above."""
    ((name, source),) = tops.Tops(TINY).all()
    assert name == "fb_tiny"
    return source


@pytest.mark.parametrize(
    "line",
    [
        "    parameter int unsigned Depth = 32  // entries\n) (",
        "    // The memory.\n",
        "    output logic [AddrBits-1:0] m_axi_awaddr,",
        "    output logic [0:0] m_axi_arid,",
        "    output logic [63:0] m_axi_wdata,",
        "    output logic [7:0] m_axi_wstrb,",
        "    output logic m_axi_bready,",
        "    output logic m_axi_rready,",
        "    input wire m_axi_wready,",
        "    input wire [0:0] m_axi_bid,",
        "    input wire m_axi_rlast,",
        "    output logic IN_tready,",
        "    input wire [7:0] IN_tdata\n);",
        "      .c_axis_tready(IN.tready),",
        "      .s_axis_tdata(IN_tdata),",
        "      .s_axis_tid('0),",
        "      .m_axi_rready(m_axi_rready)\n  );",
        "  fb_axis_if #(.DataBits(8), .TagBits(4)) s_axis (.*);",
        "  fb_axi_if #(.IdBits(1), .AddrBits(AddrBits)) m_axi (.*);",
        "  fb_axil_if #(.AddrBits(12), .DataBits(32)) s_axil (.*);",
        "  assign m_axi_awaddr = m_axi.awaddr;",
        "  assign m_axi.bid = m_axi_bid;",
        "  assign s_axil.wstrb = s_axil_wstrb;",
        "  assign ports[1].rdata = m_axi_rdata;",
        "  assign m_axi_araddr = ports[1].araddr;",
    ],
)
def test_what_is_written(text: str, line: str) -> None:
    """Directions follow from the role, and each directive does what the page says."""
    assert line in text


def test_what_is_left_out(text: str) -> None:
    """What is named behind the minus is not connected, nor what an interface does not carry."""
    assert ".c_axis_tdata" not in text and ".m_axi_awid" not in text
    assert "ports[1].awaddr" not in text and "awprot" not in text


def test_attributes_of_an_initiator() -> None:
    """CACHE and PROT are parameters, what else an interface does not carry is zero."""
    described = tops.Tops(TINY.replace("data = 64 }", "data = 64, attributes = true }"))
    lines = described.body("  @interface mem").splitlines()
    for pin, value in (("awcache", "AxCache"), ("arprot", "AxProt"), ("awlock", "'0")):
        assert f"  assign m_axi_{pin} = {value};" in lines


def test_unknown_names_are_refused() -> None:
    """A bus or a parameter that is not described is an error that names it."""
    for there, wrong in (("@nets one", "@nets two"), ('"Depth = 32"', '"Width"')):
        with pytest.raises(KeyError, match=r"two|Width"):
            list(tops.Tops(TINY.replace(there, wrong)).all())
    with pytest.raises(
        ValueError, match=r"`@net` is none of nets, interface, drive, same, bus, pins"
    ):
        list(tops.Tops(TINY.replace("@nets one", "@net one")).all())


PORT = re.compile(r"^\s*(input|output) (?:wire|logic) (?:\[(\w+)(?:-1)?:0\] )?(\w+),?$", re.M)


@pytest.mark.parametrize(
    ("top", "count"), [("fb_top_snacc_onchip", 134), ("fb_top_snacc_dram", 185)]
)
def test_snacc_pins(top: str, count: int) -> None:
    """The wrappers have the pins of the published components: names, directions, widths."""
    wanted = set()
    listed = tomllib.loads((ROOT / "tests/tools/snacc_pins.toml").read_text())[top]
    for prefix, signals in listed.items():
        for signal in signals.split():
            name, _, width = signal.lstrip(">").partition(":")
            name = name if prefix == "clocks" else f"{prefix}_{name}"
            wanted.add((name, "output" if signal[0] == ">" else "input", int(width or 1)))
    source = (ROOT / f"rtl/top/{top}.sv").read_text()
    source = source.replace("[ControlAddrBits-1:0]", "[7:0]")
    found = {
        (name, direction, int(high) + 1 if high else 1)
        for direction, high, name in PORT.findall(source)
    }
    assert len(wanted) == count
    assert found == wanted
