# SPDX-License-Identifier: Apache-2.0
"""Longest paths of a netlist for UltraScale+, in levels of LUTs.

A LUT counts one, a carry chain one however long it is, what selects between LUTs (MUXF) none.
Registers and memories begin and end a path, and so do pins and black boxes. Where cells come to lie
is not known: levels tell where to begin, and let designs be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

# What has its outputs ready at the clock's edge, as far as levels go.
STORES = re.compile(r"FD[A-Z]|RAM|URAM|SRL|DSP")
LOGIC = re.compile(r"LUT\d|MUXF\d|CARRY\d|INV|[A-Z]*BUF")
CARRY_IN = ("CI", "CI_TOP", "CIN")


@dataclass(frozen=True)
class Path:
    """The longest way to a register's input.

    Attributes
    ----------
    end : str
        Name and port of the register, memory or pin.
    module : str
        The instance that it belongs to, from the top down.
    levels : int
        Levels of logic.
    nets : tuple of str
        The nets on the way that have names, from the end back to the start.
    """

    end: str
    module: str
    levels: int
    nets: tuple[str, ...]


@dataclass
class Netlist:
    """A module of Yosys' JSON after `synth_xilinx`, as a graph of bits."""

    cells: Mapping[str, Any]
    ports: Mapping[str, Any]
    names: dict[int, str] = field(default_factory=dict)
    drivers: dict[int, str] = field(default_factory=dict)
    levels: dict[int, int] = field(default_factory=dict)
    came_from: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, module: Mapping[str, Any]) -> Netlist:
        """Read a module."""
        netlist = cls(module["cells"], module["ports"])
        for name, net in module["netnames"].items():
            if net.get("hide_name"):
                continue
            for index, bit in enumerate(net["bits"]):
                label = f"{name}[{index}]" if len(net["bits"]) > 1 else name
                # Of several names the one nearest to the top.
                if isinstance(bit, int) and len(label) < len(netlist.names.get(bit, label + " ")):
                    netlist.names[bit] = label
        for name, cell in netlist.cells.items():
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    netlist.drivers.update((bit, name) for bit in bits if isinstance(bit, int))
        return netlist

    def before(self, bit: int) -> list[tuple[int, int]]:
        """List what a bit depends on in the same cycle, each with the levels between."""
        name = self.drivers.get(bit)
        cell = self.cells[name] if name else None
        if cell is None or STORES.match(cell["type"]) or not LOGIC.match(cell["type"]):
            return []
        kind, found = cell["type"], []
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "input":
                continue
            for other in bits:
                if not isinstance(other, int):
                    continue
                driver = self.drivers.get(other)
                chained = port in CARRY_IN and driver and self.cells[driver]["type"] == kind
                counts = kind.startswith("LUT") or (kind.startswith("CARRY") and not chained)
                found.append((other, int(counts)))
        return found

    def settle(self, start: int) -> int:
        """Return after how many levels a bit settles."""
        pending = [start]
        while pending:
            bit = pending[-1]
            if bit in self.levels:
                pending.pop()
                continue
            before = self.before(bit)
            unknown = [other for other, _ in before if other not in self.levels]
            if any(other in pending for other in unknown):
                raise ValueError(f"net {self.names.get(bit) or bit} depends on itself")
            if unknown:
                pending += unknown[:1]
                continue
            self.levels[bit] = 0
            if before:
                most, origin = max((self.levels[other] + n, other) for other, n in before)
                self.levels[bit], self.came_from[bit] = most, origin
        return self.levels[start]

    def way(self, bit: int) -> tuple[str, ...]:
        """List the named nets from a bit back to its register."""
        nets, at = [self.names.get(bit, "")], bit
        while at in self.came_from:
            at = self.came_from[at]
            nets.append(self.names.get(at, ""))
        return tuple(dict.fromkeys(net for net in nets if net))

    def path(self, end: str, levels: int, bit: int) -> Path:
        """Describe a path; one whose end has no name is of the module in which it begins."""
        nets = self.way(bit)
        owner = nets[-1] if end.startswith("$") and nets else end.rpartition(":")[0]
        return Path(end, owner.rpartition(".")[0], levels, nets)

    def ends(self) -> Iterator[tuple[str, int]]:
        """Yield the name of each end of a path, and a bit that arrives there."""
        for name, cell in self.cells.items():
            if LOGIC.match(cell["type"]) and not STORES.match(cell["type"]):
                continue
            outputs = cell["connections"].get("Q")
            label = (self.names.get(outputs[0]) if outputs else "") or name
            label = re.sub(r"\[\d+\]$|\.\d+\.\d+.*$", "", label)
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "input":
                    yield from ((f"{label}:{port}", bit) for bit in bits if isinstance(bit, int))
        for name, port in self.ports.items():
            if port["direction"] == "output":
                yield from ((name, bit) for bit in port["bits"] if isinstance(bit, int))


def longest_paths(module: Mapping[str, Any]) -> list[Path]:
    """List the longest ways to registers, one a register and port, the longest first.

    Parameters
    ----------
    module : mapping
        A module of Yosys' JSON after `synth_xilinx -flatten`.

    Raises
    ------
    ValueError
        If a net depends on itself.
    """
    netlist = Netlist.of(module)
    worst: dict[str, tuple[int, int]] = {}
    for end, bit in netlist.ends():
        levels = netlist.settle(bit)
        if levels > worst.get(end, (-1, 0))[0]:
            worst[end] = (levels, bit)
    longest = sorted(worst.items(), key=lambda row: (-row[1][0], row[0]))
    return [netlist.path(end, levels, bit) for end, (levels, bit) in longest]


def by_module(paths: list[Path]) -> dict[str, int]:
    """Return the levels of the longest path that ends in each module, the longest first."""
    found: dict[str, int] = {}
    for path in paths:
        found[path.module] = max(found.get(path.module, 0), path.levels)
    return dict(sorted(found.items(), key=lambda row: -row[1]))
