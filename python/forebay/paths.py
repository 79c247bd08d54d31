# SPDX-License-Identifier: Apache-2.0
"""Slowest paths of an ECP5 netlist by estimate: seconds, where place and route takes many minutes.

Each cell counts with its delay and each wire with a typical one that grows with its fan-out; where
cells come to lie is not known. Good for finding where to begin, and for ratios: SNAcc's on-chip
streamer is estimated at 11.5 ns and takes 15.4 ns after place and route.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SEQUENTIAL = ("TRELLIS_FF", "TRELLIS_DPR16X4", "DP16KD")
MADE_UP = ("LUT4", "CCU2C", "PFUMX", "L6MUX", "TRELLIS")
# Nanoseconds, of the slowest speed grade, as nextpnr's reports show them.
CLOCK_TO_Q = 0.5
SETUP = 0.6
CELL = {"LUT4": 0.24, "PFUMX": 0.2, "L6MUX21": 0.2, "TRELLIS_DPR16X4": 0.3}
CARRY_IN, CARRY_STEP, CARRY_OUT = 0.45, 0.07, 0.2
WIRE, WIRE_PER_SINK, SINKS = 0.55, 0.02, 60


@dataclass(frozen=True)
class Path:
    """A register's slowest input: name and port, ns, cells, and the named nets on the way back."""

    end: str
    ns: float
    levels: int
    nets: tuple[str, ...]


@dataclass
class Netlist:
    """A module of Yosys' JSON, as a graph of bits."""

    cells: Mapping[str, Any]
    names: dict[int, str] = field(default_factory=dict)
    sinks: dict[int, int] = field(default_factory=dict)
    drivers: dict[int, tuple[str, str]] = field(default_factory=dict)
    arrival: dict[int, float] = field(default_factory=dict)
    came_from: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, module: Mapping[str, Any]) -> Netlist:
        """Read a module."""
        netlist = cls(module["cells"])
        for name, net in module["netnames"].items():
            for index, bit in enumerate(net["bits"]):
                known = netlist.names.get(bit)
                if known is None or (is_made_up(known) and not is_made_up(name)):
                    netlist.names[bit] = f"{name}[{index}]" if len(net["bits"]) > 1 else name
        for cell_name, cell in netlist.cells.items():
            for port, bits in cell["connections"].items():
                for bit in bits:
                    if cell["port_directions"][port] == "output":
                        netlist.drivers[bit] = (cell_name, port)
                    else:
                        netlist.sinks[bit] = netlist.sinks.get(bit, 0) + 1
        return netlist

    def inputs(self, name: str, port: str) -> list[tuple[Any, float]]:
        """List the bits that an output of a cell depends on, with the cell's delay from each."""
        cell = self.cells[name]
        connections = cell["connections"]
        if cell["type"] == "CCU2C":
            ports = ["CIN", "A0", "B0", "C0", "D0"]
            ports += ["A1", "B1", "C1", "D1"] if port in ("S1", "COUT") else []
            out = CARRY_OUT if port.startswith("S") else 0.0
            return [
                (connections[each][0], out + (CARRY_STEP if each == "CIN" else CARRY_IN))
                for each in ports
                if connections.get(each)
            ]
        delay = CELL.get(cell["type"], 0.2)
        if cell["type"] == "TRELLIS_DPR16X4":
            return [(bit, delay) for bit in connections["RAD"]]
        directions = cell["port_directions"]
        return [
            (bit, delay)
            for each, bits in connections.items()
            if directions[each] == "input"
            for bit in bits
        ]

    def wire(self, bit: int, sink: str) -> float:
        """Estimate the delay of a wire; some have a way of their own inside a tile."""
        if bit not in self.drivers:
            return 0.0
        driver, port = self.drivers[bit]
        inside = self.cells[driver]["type"] in ("LUT4", "PFUMX")
        if port == "COUT" or (self.cells[sink]["type"] in ("PFUMX", "L6MUX21") and inside):
            return 0.0
        return WIRE + WIRE_PER_SINK * min(self.sinks.get(bit, 0), SINKS)

    def settle(self, start: int) -> float:
        """Return when a bit settles, in ns after the clock's edge."""
        pending = [start]
        while pending:
            bit = pending[-1]
            if bit in self.arrival:
                pending.pop()
                continue
            if bit not in self.drivers:
                self.arrival[bit] = 0.0
                continue
            name, port = self.drivers[bit]
            kind = self.cells[name]["type"]
            if kind in ("TRELLIS_FF", "DP16KD"):
                self.arrival[bit] = CLOCK_TO_Q
                continue
            before = [(b, delay) for b, delay in self.inputs(name, port) if isinstance(b, int)]
            unknown = [b for b, _ in before if b not in self.arrival and b not in pending]
            if unknown:
                pending += unknown
                continue
            times = [(self.arrival.get(b, 0.0) + self.wire(b, name) + d, b) for b, d in before]
            latest, origin = max(times, default=(0.0, None))
            self.arrival[bit] = max(latest, CLOCK_TO_Q if kind == "TRELLIS_DPR16X4" else 0.0)
            if origin is not None:
                self.came_from[bit] = origin
        return self.arrival[start]

    def way(self, bit: int) -> tuple[int, tuple[str, ...]]:
        """Count the cells from a bit back to its register, and list the nets that have names."""
        levels, nets, at = 0, [], bit
        while at in self.came_from:
            levels += 1
            nets.append(self.names.get(at, ""))
            at = self.came_from[at]
        nets.append(self.names.get(at, ""))
        kept = [net.removeprefix("dut.") for net in nets if net and not is_made_up(net)]
        return levels, tuple(dict.fromkeys(kept))


def is_made_up(name: str) -> bool:
    """Tell whether synthesis invented a net's name from the cells around it."""
    return any(part in name for part in MADE_UP)


def slowest_paths(module: Mapping[str, Any], number: int = 20) -> list[Path]:
    """List the slowest inputs of registers, one a register and port, the slowest first.

    Parameters
    ----------
    module : mapping
        A module of Yosys' JSON after `synth_ecp5`.
    number : int
        How many.
    """
    netlist = Netlist.of(module)
    worst: dict[str, tuple[float, int]] = {}
    for name, cell in netlist.cells.items():
        if cell["type"] not in SEQUENTIAL:
            continue
        outputs = cell["connections"].get("Q")
        label = netlist.names.get(outputs[0], name) if outputs else name
        label = re.sub(r"\[\d+\]$|\.\d+\.\d+.*$", "", label.removeprefix("dut."))
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "input" or port in ("CLK", "RAD", "WCK"):
                continue
            for bit in bits:
                if isinstance(bit, int):
                    ns = netlist.settle(bit) + SETUP
                    end = f"{label}:{port}"
                    worst[end] = max(worst.get(end, (0.0, bit)), (ns, bit))
    slowest = sorted(worst.items(), key=lambda row: -row[1][0])[:number]
    return [Path(end, round(ns, 2), *netlist.way(bit)) for end, (ns, bit) in slowest]
