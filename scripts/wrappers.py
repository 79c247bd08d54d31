#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write Verilog-2001 wrappers of the tops, for packagers that take no SystemVerilog as a top.

Each pin names its bus by the attributes X_INTERFACE_INFO and X_INTERFACE_PARAMETER. The source is
rtl/top/tops.toml, by way of scripts/tops.py. A parameter whose default follows from another stays
the top's own: a packager takes literals only.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tops
from forebay import spec

ROOT = Path(__file__).resolve().parent.parent
SUFFIX = "_ip"
PARAMETER = re.compile(r"^ +(localparam|parameter) (.*?) (\w+) = (.*?),?(?: *//.*)?$", re.M)
PIN = re.compile(r"^ +(input wire|output logic) (?:\[([^\]]+):0\] )?(\w+),?$", re.M)
LITERAL = re.compile(r"\d+|\d+'[bdh][0-9a-f]+")
# Clocks of the tops, with their resets and the polarity of these.
CLOCKS = {
    "clk": ("rst", "HIGH"),
    "clk_rx": ("rst_rx", "HIGH"),
    "clk_tx": ("rst_tx", "HIGH"),
    "clk_pe": ("rst_pe", "HIGH"),
    "aclk": ("aresetn", "LOW"),
}
# Types of buses by a signal that only they have.
TYPES = {"tvalid": "axis", "awvalid": "aximm"}
VENDOR = "xilinx.com"


@dataclass(frozen=True)
class Pin:
    """A pin: name, direction, its highest bit or nothing, its bus or nothing, its name there."""

    name: str
    out: bool
    high: str
    bus: str
    signal: str


@dataclass(frozen=True)
class Top:
    """What a wrapper shows of a top."""

    name: str
    parameters: dict[str, tuple[str, str]]
    pins: list[Pin]


def value(expression: str) -> str:
    """Return a width that follows from constants of the specification as a number."""
    found = re.fullmatch(r"\$clog2\(fb_spec_pkg::(\w+)\)", expression)
    return str((getattr(spec, found[1]) - 1).bit_length()) if found else expression


def read(name: str, source: str, prefixes: list[str]) -> Top:
    """Read parameters and pins of a generated top."""
    head = source[: source.index(");\n")]
    parameters, widths = {}, {}
    for kind, type_, parameter, default in PARAMETER.findall(head):
        if kind == "localparam":
            widths[parameter] = value(default)
        elif LITERAL.fullmatch(default):
            packed = re.search(r"\[.*\]", type_)
            parameters[parameter] = (packed[0] + " " if packed else "", default)
    pins = []
    for direction, high, pin in PIN.findall(head):
        bus = next((prefix for prefix in prefixes if pin.startswith(prefix)), "")
        for width, number in widths.items():
            high = str(int(number) - 1) if high == f"{width}-1" else high
        signal = pin.removeprefix(bus).upper()
        pins.append(Pin(pin, direction == "output logic", high, bus.rstrip("_"), signal))
    return Top(name, parameters, pins)


def clock_of(top: Top, pin: Pin) -> str:
    """Return the clock of a bus's pin."""
    if "axis_mac" in pin.bus:
        return "clk_tx" if pin.bus.startswith("m_") else "clk_rx"
    return next(each.name for each in top.pins if each.name in CLOCKS)


def attributes(top: Top, pin: Pin, first: bool) -> str:
    """Return the attributes of a pin; the first of a bus has the bus's parameters as well."""
    if pin.name in CLOCKS:
        reset, _ = CLOCKS[pin.name]
        # The MAC's streams have the MAC's clock; no bus has that of elements.
        buses = dict.fromkeys(
            each.bus for each in top.pins if each.bus and clock_of(top, each) == pin.name
        )
        info, about = "signal:clock:1.0 {} CLK", f"ASSOCIATED_RESET {reset}"
        if buses:
            about = f"ASSOCIATED_BUSIF {':'.join(buses)}, {about}"
    elif pin.name in {reset for reset, _ in CLOCKS.values()}:
        polarity = next(level for reset, level in CLOCKS.values() if reset == pin.name)
        info, about = "signal:reset:1.0 {} RST", f"POLARITY ACTIVE_{polarity}"
    elif pin.name == "irq":
        info, about = "signal:interrupt:1.0 {} INTERRUPT", "SENSITIVITY LEVEL_HIGH"
    elif not pin.bus:
        info, about = "signal:data:1.0 {} DATA", ""
    else:
        signals = {each.signal.lower() for each in top.pins if each.bus == pin.bus}
        kind = next(type_ for signal, type_ in TYPES.items() if signal in signals)
        info, about = f"interface:{kind}:1.0 {{}} {pin.signal}", ""
        if first and kind == "aximm":
            full = "awlen" in signals
            about = f"PROTOCOL {'AXI4' if full else 'AXI4LITE'}"
            about += ", SUPPORTS_NARROW_BURST 1" if full and pin.bus.startswith("s_axi") else ""
    name = pin.bus or pin.name
    text = f'  (* X_INTERFACE_INFO = "{VENDOR}:{info.format(name)}" *)\n'
    if about:
        text += f'  (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME {name}, {about}" *)\n'
    return text


def wrapper(top: Top) -> str:
    """Return the Verilog of a wrapper."""
    pins, seen = [], set()
    for pin in top.pins:
        direction = "output" if pin.out else "input"
        bits = f"[{pin.high}:0] " if pin.high else ""
        first = pin.bus not in seen
        seen.add(pin.bus)
        pins.append(f"{attributes(top, pin, first)}  {direction} wire {bits}{pin.name}")
    declared = [f"  parameter {kind}{name} = {it}" for name, (kind, it) in top.parameters.items()]
    given = [f"    .{name}({name})" for name in top.parameters]
    nets = [f"    .{pin.name}({pin.name})" for pin in top.pins]

    def lines(of: list[str]) -> str:
        return ",\n".join(of)

    return (
        f"{tops.LICENCE}\n// {top.name} as Verilog-2001, by scripts/wrappers.py: do not edit.\n\n"
        f"`default_nettype none\n\nmodule {top.name}{SUFFIX} #(\n{lines(declared)}\n) (\n"
        f"{lines(pins)}\n);\n\n"
        f"  {top.name} #(\n{lines(given)}\n  ) u_top (\n{lines(nets)}\n  );\n\n"
        "endmodule\n\n`default_nettype wire\n"
    )


def wrappers(root: Path) -> Iterator[tuple[str, str]]:
    """Yield name and Verilog of the wrapper of each top."""
    described = tops.Tops((root / tops.DESCRIPTION).read_text())
    prefixes = [bus.prefix for bus in described.buses.values() if bus.prefix]
    # S_CTRL_ before S_: the longest that fits.
    prefixes = sorted(dict.fromkeys(prefixes), key=len, reverse=True)
    for name, source in described.all():
        yield f"{name}{SUFFIX}", wrapper(read(name, source, prefixes))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to write them")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in wrappers(ROOT):
        (folder / f"{name}.v").write_text(text)
        print(folder / f"{name}.v")


if __name__ == "__main__":
    main()
