# SPDX-License-Identifier: Apache-2.0
"""Renderers of the register map: what `scripts/generate` makes of a SystemRDL file."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
from peakrdl_regblock.field_logic import sw_onwrite
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode, FieldNode, MemNode, RegfileNode, RegNode, SignalNode

REPOSITORY = Path(__file__).resolve().parent.parent

# The generated block leaves some of its own helpers unused.
VERILATOR_WAIVERS = ("UNUSEDSIGNAL", "UNUSEDPARAM", "WIDTHEXPAND", "WIDTHTRUNC", "DECLFILENAME")


class OneAtATimeAxil(AXI4Lite_Cpuif_flattened):
    """AXI4-Lite front end without buffers; see `axil_cpuif.sv`."""

    template_path = "axil_cpuif.sv"


def _write_by_lane(self: sw_onwrite.Write, field: FieldNode) -> list[str]:
    """Assign the byte lanes that are strobed.

    PeakRDL's own form, `(old & ~strobe) | (new & strobe)`, costs a LUT for each bit: synthesis does
    not see a clock enable in it.
    """
    lines = ["load_next_c = '1;"]
    for lane in range(field.low // 8, field.high // 8 + 1):
        high, low = min(8 * lane + 7, field.high), max(8 * lane, field.low)
        target = f"next_c[{high - field.low}:{low - field.low}]" if field.width > 1 else "next_c"
        lines.append(f"if(decoded_wr_biten[{low}]) {target} = decoded_wr_data[{high}:{low}];")
    return lines


sw_onwrite.Write.get_assignments = _write_by_lane


@dataclass(frozen=True)
class Field:
    """One bit field.

    Attributes
    ----------
    name, title, text : str
        Identifier, short name and description.
    high, low : int
        Bit positions, inclusive.
    access : str
        `rw`, `ro` or `rw1c`, as software sees it.
    reset : int or None
        Value after reset; None where hardware drives it or an RTL parameter decides.
    """

    name: str
    title: str
    text: str
    high: int
    low: int
    access: str
    reset: int | None

    @property
    def width(self) -> int:
        """Number of bits."""
        return self.high - self.low + 1

    @property
    def mask(self) -> int:
        """The field's bits in its register."""
        return ((1 << self.width) - 1) << self.low


@dataclass(frozen=True)
class Register:
    """One register, or a memory of `entries` words.

    Attributes
    ----------
    offset : int
        Bytes from the start of the register file.
    entries : int
        Words of 64 bits; 0 for a plain register.
    writable : bool
        Whether software may write these words.
    copies, stride : int
        How many there are of it, and bytes from one to the next; `offset` is the first one's.
    """

    name: str
    title: str
    text: str
    offset: int
    fields: tuple[Field, ...]
    entries: int = 0
    writable: bool = False
    copies: int = 1
    stride: int = 0

    @property
    def reset(self) -> int | None:
        """Value after reset, None if any field's is not a constant."""
        if not self.fields or any(field.reset is None for field in self.fields):
            return None
        return sum(field.reset << field.low for field in self.fields if field.reset is not None)


def compile_rdl(path: Path) -> AddrmapNode:
    """Elaborate a SystemRDL file and return its top address map."""
    compiler = RDLCompiler()
    for extension in ALL_UDPS:
        compiler.register_udp(extension)
    compiler.compile_file(str(path))
    return compiler.elaborate().top


def _text(node: RegNode | FieldNode | MemNode | AddrmapNode) -> str:
    return " ".join((node.get_property("desc") or "").split())


def _field(node: FieldNode) -> Field:
    if node.get_property("onwrite") is not None:
        access = "rw1c"
    else:
        access = "rw" if node.is_sw_writable else "ro"
    reset = node.get_property("reset")
    return Field(
        name=node.inst_name,
        title=node.get_property("name"),
        text=_text(node),
        high=node.high,
        low=node.low,
        access=access,
        reset=reset if isinstance(reset, int) else None,
    )


def registers(top: AddrmapNode | RegfileNode) -> list[Register]:
    """List the registers and memories of an address map or register file, by offset."""
    rows = []
    for node in top.children():
        if isinstance(node, SignalNode):
            continue
        if isinstance(node, RegfileNode) and node.is_array:
            (copies,), stride = node.array_dimensions, node.array_stride
            rows += [
                replace(row, name=f"{node.inst_name}_{row.name}", copies=copies, stride=stride)
                for row in registers(next(node.unrolled()))
            ]
            continue
        if isinstance(node, RegfileNode):
            rows += registers(node)
            continue
        memory = isinstance(node, MemNode)
        rows.append(
            Register(
                name=node.inst_name,
                title=node.get_property("name"),
                text=_text(node),
                offset=node.absolute_address,
                fields=() if memory else tuple(_field(field) for field in node.fields()),
                entries=node.get_property("mementries") if memory else 0,
                writable=memory and node.is_sw_writable,
            )
        )
    return rows


def _banner(comment: str, source: str, spdx: str) -> str:
    # REUSE-IgnoreStart
    return (
        f"{comment} SPDX-License-Identifier: {spdx}\n"
        f"{comment} Generated by scripts/generate from {source}: do not edit.\n"
    )
    # REUSE-IgnoreEnd


# Where a block is outside of a register block, PeakRDL keeps the address of a read for it. Our port
# holds the address until the answer, so that a copy would only make the longest path longer.
HELD_ADDRESS = re.compile(
    r" *logic \[11:0\] pending_rd_addr;\n.*?assign rd_mux_addr = decoded_req [^\n]*\n", re.DOTALL
)


def render_sv(top: AddrmapNode, module: str, source: str) -> dict[str, str]:
    """Render the register block; returns the package's and the module's text by file name."""
    with tempfile.TemporaryDirectory() as folder:
        RegblockExporter().export(
            top,
            folder,
            cpuif_cls=OneAtATimeAxil,
            module_name=module,
            package_name=f"{module}_pkg",
            address_width=12,
            reuse_hwif_typedefs=False,
            retime_read_fanin=True,
        )
        files = {path.name: path.read_text() for path in sorted(Path(folder).iterdir())}
    waivers = "".join(f"// verilator lint_off {rule}\n" for rule in VERILATOR_WAIVERS)
    banner = _banner("//", source, "Apache-2.0 WITH SHL-2.1")
    result = {}
    for name, text in files.items():
        body = text.split("\n", 3)[3]  # PeakRDL's own banner
        body = body.replace("struct {", "struct packed {")
        body = HELD_ADDRESS.sub("    assign rd_mux_addr = decoded_addr;\n", body)
        if "pending_rd_addr" in body:
            msg = f"{name}: PeakRDL holds the address of a read in another way: mend HELD_ADDRESS"
            raise ValueError(msg)
        body = "\n".join(line.rstrip() for line in body.splitlines()).strip("\n")
        tool = (
            "// Register block by PeakRDL-regblock, https://github.com/SystemRDL/PeakRDL-regblock\n"
        )
        result[name] = (
            f"{banner}{tool}\n`default_nettype none\n{waivers}\n{body}\n\n`default_nettype wire\n"
        )
    return result


def render_c(top: AddrmapNode, source: str, name: str) -> str:
    """Render the C header."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        CHeaderExporter().export(top, str(path), explode_top=False)
        text = path.read_text()
    body = text.split("\n", 3)[3]
    return _banner("//", source, "Apache-2.0") + "\n" + body.strip("\n") + "\n"


def _rust(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def render_rust(top: AddrmapNode, source: str) -> str:
    """Render offsets, fields and resets as an invocation of the crate's macro `registers`."""
    lines = [
        _banner("//", source, "Apache-2.0"),
        f"//! {_text(top)}\n//!\n",
        "//! Offsets are bytes from the start of the register file; registers have 64 bits.\n\n",
        "use crate::field::registers;\n\n",
        "registers! {\n",
    ]
    for register in registers(top):
        place = f"{register.offset:#05x}"
        place += f" + {register.stride:#x}" if register.stride else ""
        place += f" [{register.entries}]" if register.entries else ""
        place += f" = {register.reset:#x}" if register.reset is not None else ""
        if [field.name for field in register.fields] == ["count"]:
            summary = f"{_rust(register.title)} counts {_rust(register.text)}"
        elif register.text:
            summary = _rust(f"{register.title}: {register.text}")
        else:
            summary = _rust(f"{register.title}.")
        lines.append(f"    {register.name} @ {place} {summary} {{\n")
        for field in register.fields:
            text = _rust(f"{field.title}: {field.text}")
            lines.append(f"        {field.name.upper()} = {field.low}, {field.width}, {text};\n")
        lines.append("    }\n")
    lines.append("}\n")
    return "".join(lines)


def render_python(top: AddrmapNode, source: str) -> str:
    """Render offsets and bit positions as a Python module."""
    lines = [
        _banner("#", source, "Apache-2.0"),
        f'"""{top.get_property("name")}: register offsets (bytes), fields (high, low bit)."""\n\n',
    ]
    rows = registers(top)
    for register in rows:
        lines.append(f"{register.name.upper()} = {register.offset:#05x}\n")
    lines.append("\nMEMORIES = {\n")
    lines += [
        f'    "{row.name}": ({row.offset:#05x}, {row.entries}),\n' for row in rows if row.entries
    ]
    lines.append("}\n\nFIELDS = {\n")
    for register in rows:
        if not register.fields:
            continue
        lines.append(f'    "{register.name}": {{\n')
        lines += [f'        "{f.name}": ({f.high}, {f.low}),\n' for f in register.fields]
        lines.append("    },\n")
    lines.append("}\n\nRESETS = {\n")
    lines += [f'    "{row.name}": {row.reset:#x},\n' for row in rows if row.reset is not None]
    lines.append("}\n")
    return "".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def render_markdown(top: AddrmapNode, source: str) -> str:
    """Render the page for readers."""
    name = top.get_property("name")
    lines = [
        f"<!-- Generated by scripts/generate from {source}: do not edit. -->\n",
        f"# Registers of the {name}\n\n{_text(top)}\n\n",
        "`rw` reads and writes, `ro` only reads, `rw1c` clears by writing 1; other bits are 0.\n\n",
        "| offset | register | |\n|---|---|---|\n",
    ]
    rows = registers(top)
    for row in rows:
        span = f"`{row.offset:#05x}`"
        if row.entries:
            span = f"`{row.offset:#05x}`-`{row.offset + 8 * row.entries - 1:#05x}`"
        if row.stride:
            span = f"`{row.offset:#05x} + {row.stride:#x} n`, n < {row.copies}"
        lines.append(f"| {span} | [`{row.name}`](#{row.name}) | {_cell(row.title)} |\n")
    for row in rows:
        lines.append(
            f"\n## {row.name}\n\n`{row.offset:#05x}` {row.title}. {row.text}".rstrip() + "\n"
        )
        if row.entries:
            access = "read and written" if row.writable else "read only"
            lines.append(f"\n{row.entries} words of 64 bits, {access}.\n")
            continue
        lines.append("\n| bits | field | access | reset | meaning |\n|---|---|---|---|---|\n")
        for field in reversed(row.fields):
            bits = f"{field.high}:{field.low}" if field.width > 1 else f"{field.low}"
            reset = "-" if field.reset is None else f"`{field.reset:#x}`"
            lines.append(
                f"| {bits} | `{field.name}` | {field.access} | {reset} | {_cell(field.text)} |\n"
            )
    return "".join(lines)
