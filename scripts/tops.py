# SPDX-License-Identifier: Apache-2.0
"""The flat tops, as SystemVerilog, from rtl/top/tops.toml.

A bus is written once there; here it becomes pins, an interface, or connections of an instance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

DESCRIPTION = "rtl/top/tops.toml"
COLUMNS = 100
DIRECTIVES = ("nets", "interface", "drive", "same", "bus", "pins")
# REUSE-IgnoreStart
LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1"
# REUSE-IgnoreEnd
ADDRESS = "len:8 size:3 burst:2"
ATTRIBUTES = "lock cache:4 prot:3 qos:4 region:4"
# Types of parameters, by the width of their default.
KINDS = {"1'": "bit", "3'": "logic [2:0]", "4'": "logic [3:0]", "64'": "logic [63:0]"}
# What an interface carries of a channel; the other pins are of no use inside.
CARRIED = re.compile(
    r"(aw|ar|w|b|r)(addr|len|size|burst|id|data|strb|last|resp|valid|ready)"
    r"|t(data|keep|id|last|user|valid|ready)"
)
# What a top drives of these: parameters of an AXI4 initiator.
ATTRIBUTE = {"cache": "AxCache", "prot": "AxProt"}
# What a slave drives, whatever the channel of the others.
ANSWERS = re.compile(r"(aw|w|ar|t)ready|[br](id|data|resp|last|valid)")


@dataclass(frozen=True)
class Signal:
    """A signal of a bus.

    Attributes
    ----------
    name : str
        Its name behind the bus's prefix.
    width : str
        Bits, a number or an expression; empty for a scalar.
    """

    name: str
    width: str

    @property
    def range(self) -> str:
        """Its packed dimension."""
        if not self.width:
            return ""
        return f"[{int(self.width) - 1 if self.width.isdigit() else f'{self.width}-1'}:0] "


@dataclass(frozen=True)
class Bus:
    """Signals with a common prefix; `initiator`: they are those of a bus that the top drives.

    `kind` is what its interface is declared as, with parameters.
    """

    prefix: str
    initiator: bool
    signals: tuple[Signal, ...]
    about: str
    kind: str

    @property
    def name(self) -> str:
        """The interface's name."""
        return self.prefix[:-1]

    def drives(self, signal: Signal) -> bool:
        """Say whether the module that has the pins drives this one."""
        return bool(ANSWERS.fullmatch(signal.name)) != self.initiator

    def pins(self) -> Iterator[str]:
        """Yield the port declarations."""
        if self.about:
            yield f"\n    // {self.about}"
        for signal in self.signals:
            kind = "output logic" if self.drives(signal) else "input wire"
            yield f"    {kind} {signal.range}{self.prefix}{signal.name},"


def listed(text: str) -> Iterator[Signal]:
    """Yield the signals of a list of `name` and `name:width`."""
    for word in text.split():
        name, _, width = word.partition(":")
        yield Signal(name, width)


def axi(address: str, id: str = "", data: int = 512, attributes: bool = False) -> str:
    """List the signals of an AXI4 bus."""
    more = f"{ATTRIBUTES} " if attributes else ""

    def channel(name: str, signals: str) -> str:
        words = f"id:{id} {signals}" if id and name != "w" else signals
        return " ".join(name + word for word in f"{words} valid ready".split())

    asked = f"addr:{address} {ADDRESS} {more}"
    written = f"data:{data} strb:{data // 8} last"
    answered = f"data:{data} resp:2 last"
    parts = {"aw": asked, "w": written, "b": "resp:2", "ar": asked, "r": answered}
    return " ".join(channel(name, signals) for name, signals in parts.items())


def lite(address: str, data: int) -> str:
    """List the signals of an AXI4-Lite bus."""
    asked, written = f"addr:{address} prot:3", f"data:{data} strb:{data // 8}"
    parts = {"aw": asked, "w": written, "b": "resp:2", "ar": asked, "r": f"data:{data} resp:2"}
    words = (f"{name}{word}" for name, of in parts.items() for word in f"{of} valid ready".split())
    return " ".join(words)


def bus(entry: dict[str, Any]) -> Bus:
    """Make a bus of its description."""
    prefix, kind = entry.get("target", entry.get("initiator", "")), ""
    if "axi" in entry:
        of = entry["axi"]
        signals = axi(**of)
        kind = f"fb_axi_if #(.IdBits({of.get('id', 1)}), .AddrBits({of['address']}))"
    elif "lite" in entry:
        of = entry["lite"]
        signals = lite(**of)
        kind = f"fb_axil_if #(.AddrBits({of['address']}), .DataBits({of['data']}))"
    else:
        signals = entry["signals"]
        widths = dict(re.findall(r"(\w+):(\S+)", signals))
        usual = {"tdata": "512", "tid": "8", "tuser": "1"}
        names = {"tdata": "DataBits", "tid": "TagBits", "tuser": "UserBits"}
        parameters = [
            f".{names[name]}({bits})"
            for name, bits in widths.items()
            if bits != usual.get(name, bits)
        ]
        kind = f"fb_axis_if #({', '.join(parameters)})" if parameters else "fb_axis_if"
    prefix = f"{prefix}_" if prefix else ""
    return Bus(
        prefix=f"{entry['interface']}." if "interface" in entry else prefix,
        initiator="initiator" in entry,
        signals=tuple(listed(signals)),
        about=entry.get("about", ""),
        kind=kind,
    )


def described(about: str, of: dict[str, Any]) -> str:
    """Return the comment at the head of a top."""
    return (
        f"{about}\n\nHandshake: {of['handshake'].strip()}\n"
        "No path leads from an input to an output without a register.\n\n"
        f"Does not implement: {of['lacks']}"
    )


class Tops:
    """The description, and what is written from it."""

    def __init__(self, text: str) -> None:
        self.of = tomllib.loads(text)
        self.buses = {name: bus(entry) for name, entry in self.of["bus"].items()}

    # ------------------------------------------------------------------------------------ bodies
    def body(self, text: str) -> str:
        """Replace the lines that begin with `@`."""
        lines = []
        for line in text.strip("\n").splitlines():
            found = re.fullmatch(r"\s*@(\w+) (.*)", line)
            if not found:
                lines.append(line)
                continue
            names, _, without = found[2].partition(" - ")
            if found[1] not in DIRECTIVES:
                raise ValueError(f"{DESCRIPTION}: `@{found[1]}` is none of {', '.join(DIRECTIVES)}")
            lines += getattr(self, f"_{found[1]}")(names, without.split())
        # The last connection of an instance has no comma.
        return re.sub(r",\s*\n(\s*\))", r"\n\1", "\n".join(lines))

    def _nets(self, names: str, _: list[str]) -> Iterator[str]:
        for of in (self.buses[name] for name in names.split()):
            yield f"  {of.kind} {of.name} (.*);"

    def _same(self, names: str, _: list[str]) -> Iterator[str]:
        return (f"      .{name}({name})," for name in names.split())

    def _bus(self, names: str, without: list[str]) -> Iterator[str]:
        ports, _, nets = names.partition(" = ")
        of = self.buses[nets]
        for signal in of.signals:
            if signal.name not in without:
                yield f"      .{ports}_{signal.name}({of.name}.{signal.name}),"

    def _interface(self, names: str, _: list[str]) -> Iterator[str]:
        for of in (self.buses[name] for name in names.split()):
            yield f"  {of.kind} {of.name} (.*);"
            if not of.prefix.endswith("."):
                yield from self._connected(of.name, of, [])

    def _drive(self, names: str, without: list[str]) -> Iterator[str]:
        interface, _, pins = names.partition(" = ")
        return self._connected(interface, self.buses[pins], without)

    def _connected(self, interface: str, of: Bus, without: list[str]) -> Iterator[str]:
        """Yield what connects the pins of a bus with an interface."""
        names = [signal.name for signal in of.signals]
        for signal in of.signals:
            pin, inside = f"{of.prefix}{signal.name}", f"{interface}.{signal.name}"
            carried = CARRIED.fullmatch(signal.name)
            if signal.name in without:
                continue
            if of.drives(signal):
                other = ATTRIBUTE.get(signal.name[2:], "'0") if "awcache" in names else "'0"
                yield f"  assign {pin} = {inside if carried else other};"
            elif carried:
                yield f"  assign {inside} = {pin};"
        if "awlen" in names and "awid" not in names:
            yield from (f"  assign {interface}.{name} = '0;" for name in ("awid", "arid"))

    def _pins(self, names: str, without: list[str]) -> Iterator[str]:
        ports, nets = (self.buses[name] for name in names.split(" = "))
        there = {signal.name for signal in nets.signals}
        for signal in ports.signals:
            if signal.name in without:
                continue
            none = "" if ports.drives(signal) else "'0"
            net = f"{nets.prefix}{signal.name}" if signal.name in there else none
            yield f"      .{ports.prefix}{signal.name}({net}),"

    # -------------------------------------------------------------------------------------- modules
    def parameters(self, entries: list[str]) -> Iterator[str]:
        """Yield the declarations of parameters, each once."""
        for entry in dict.fromkeys(entries):
            name, _, value = entry.partition(" = ")
            default, about = self.of["parameter"][name]
            kind = KINDS.get(default[: default.find("'") + 1], "int unsigned")
            line = f"    parameter {kind} {name} = {value or default},"
            if len(line) + len(about) > COLUMNS - 5:
                yield f"    // {about}"
                yield line
            else:
                yield f"{line}  // {about}"

    def module(
        self,
        name: str,
        about: str,
        parameters: list[str],
        widths: dict[str, str],
        pins: list[str],
        body: str,
    ) -> str:
        """Return the source of one top; it is not yet in the project's format."""
        comment = "\n".join(f"// {line}".rstrip() for line in about.strip().splitlines())
        declared = [*self.parameters(parameters)]
        declared += [f"    localparam int unsigned {of} = {bits}," for of, bits in widths.items()]
        # The comma behind the last parameter, and behind the last pin.
        head = re.sub(r",(  //[^\n]*)?$", r"\1", "\n".join(declared))
        ports = re.sub(r",$", "", "\n".join(pins))
        return (
            f"{LICENCE}\n// Generated by scripts/generate from {DESCRIPTION}: do not edit.\n"
            f"//\n{comment}\n\n"
            f"`default_nettype none\n\nmodule {name} #(\n{head}\n) (\n{ports}\n);\n\n"
            f"{self.body(body)}\n\nendmodule\n\n`default_nettype wire\n"
        )

    def streamer(self, memory: str, user: str | None) -> tuple[str, str]:
        """Return name and source of a memory with what stands in the place of the user."""
        inner = self.of["memory"][memory]
        outer = self.of["user"][user] if user else {}
        own = [*inner["parameters"], "AxiIdBits"]
        mac, behind = outer.get("mac", []), outer.get("buses", [])
        streams = ["wr", "wrsp", "rdcmd", "rd"]
        pins = ["    input wire clk,", "    input wire rst,"]
        if mac:
            pins += [
                "",
                "    // An event of the recorder stands: to the bridge.",
                "    output logic irq,",
            ]
            pins += ["", "    // Of the MAC."]
            pins += [
                f"    input wire {kind}_{way}," for way in ("rx", "tx") for kind in ("clk", "rst")
            ]
            pins += [
                "",
                "    // Time of day of IEEE 1588, in clk_tx: seconds, and 32 bits of nanoseconds.",
                "    input wire [79:0] time_of_day,",
            ]
            pins += [
                "",
                "    // Of processing elements with their own clock; without any: clk and rst.",
            ]
            pins += ["    input wire clk_pe,", "    input wire rst_pe,"]
        streamers = ["bar", *inner["buses"], "db", "ctrl"]
        for name in [*mac, *([] if user else streams), *streamers, *behind]:
            pins += self.buses[name].pins()
        widths = {"BarAddrBits": inner["bar_bits"], **self.of["width"]}
        widths = {name: bits for name, bits in widths.items() if any(name in pin for pin in pins)}
        top = f"fb_top_{memory}"
        body = inner["head"] + self.of["streamer"]["body"]
        for bus in inner["buses"]:
            text = self.of["initiator"]["body"]
            body += text.replace("BUS", bus).replace("NAME", self.buses[bus].name)
        body += inner["body"] + "\n  assign m_axis_wrsp_tlast = 1'b1;  // a response is a packet\n"
        if user:
            names = [entry.partition(" = ")[0] for entry in own]
            connected = [f"      @bus {self.buses[name].name} = {name}\n" for name in streams]
            body = (
                f"  @nets {' '.join(streams)}\n\n"
                f"  {top} #(\n      @same {' '.join(names)}\n  ) u_streamer (\n"
                f"{''.join(connected)}      .*\n  );\n{outer['body']}"
            )
        about = outer.get("about", inner["about"]).format(place=inner["place"], streamer=top)
        about = described(about, {**self.of["streamer"], **inner, **outer})
        suffix = "" if memory == "onchip" else f"_{memory}"
        name = f"fb_top_{user}{suffix}" if user else top
        parameters = own + outer.get("parameters", [])
        return name, self.module(name, about, parameters, widths, pins, body)

    def wrapper(self, name: str) -> tuple[str, str]:
        """Return name and source of a top with pins of its own."""
        of = self.of["wrapper"][name]
        pins = [f"    input wire {clock}," for clock in of["clocks"].split()]
        for each in of["buses"]:
            pins += self.buses[each].pins()
        return name, self.module(
            name,
            described(of["about"], of),
            of["parameters"],
            of.get("widths", {}),
            pins,
            of["body"],
        )

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield name and source of each top."""
        for memory in self.of["memory"]:
            for user in (None, *self.of["user"]):
                yield self.streamer(memory, user)
        yield from map(self.wrapper, self.of["wrapper"])


def outputs(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the unformatted source of each top."""
    tops = Tops((root / DESCRIPTION).read_text())
    for name, source in tops.all():
        yield f"rtl/top/{name}.sv", source
