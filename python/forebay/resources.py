# SPDX-License-Identifier: Apache-2.0
"""`python -m forebay.resources`: what a design costs on an FPGA, and how it is timed.

Without arguments it measures the on-chip streamer of this repository. The methods, and what their
figures are worth, stand in `forebay.synthesis` and `forebay.timing`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from forebay.filelist import ROOT, read_filelist
from forebay.paths import by_module, longest_paths
from forebay.synthesis import (
    Design,
    Resources,
    SynthesisError,
    measure,
    measure_hierarchy,
    work_folder,
)
from forebay.timing import Timing, measure_timing
from forebay.validation import replaced

# SNAcc's published on-chip streamer, through this same flow.
SNACC = {"lut": 7257, "ff": 8152}
PAYLOAD_MEMORY = "fb_payload_ram"
SEEDS = (1, 2, 3)
METHOD = "yosys synth_xilinx -family xcup -noiopad -flatten; no vendor tool, no hardware"
MARKS = (
    "<!-- modules: begin (python -m forebay.resources --into writes what follows) -->",
    "<!-- modules: end -->",
)


def parse_budget(text: str) -> dict[str, int]:
    """Read `lut=7257,ff=8152`."""
    try:
        limits = {key: int(value) for key, value in (pair.split("=") for pair in text.split(","))}
    except ValueError:
        limits = {}
    if not limits or not set(limits) <= {"lut", "ff", "bram"}:
        raise argparse.ArgumentTypeError(f"budget '{text}': write for example lut=7257,ff=8152")
    return limits


def parse_parameter(text: str) -> tuple[str, int]:
    """Read `QueueDepth=256`."""
    key, _, value = text.partition("=")
    try:
        return key, int(value, 0)
    except ValueError:
        message = f"parameter '{text}': write for example QueueDepth=256"
        raise argparse.ArgumentTypeError(message) from None


def arguments(command_line: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m forebay.resources", description="LUT, FF and relative clock rate of RTL."
    )
    parser.add_argument(
        "--rtl", nargs="+", type=Path, help="sources (.v, .sv) and filelists (.f), in order"
    )
    parser.add_argument("--top", default="fb_top_onchip", help="top module")
    parser.add_argument("--clock", default="clk", help="its clock port")
    parser.add_argument("--blackbox", action="append", help="module that stands for memory blocks")
    parser.add_argument("--parameter", action="append", type=parse_parameter, default=[])
    parser.add_argument("--hierarchy", action="store_true", help="also count module by module")
    parser.add_argument("--each", nargs="+", help="count these modules instead, one by one")
    parser.add_argument("--into", type=Path, help="with --each: write the table into this document")
    parser.add_argument("--timing", action="store_true", help="also place and route on an ECP5-85")
    parser.add_argument(
        "--paths", type=int, default=0, help="list the N longest paths, in LUT levels"
    )
    parser.add_argument(
        "--levels", action="store_true", help="report the longest path's LUT levels"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--budget", type=parse_budget, help="fail above, e.g. lut=7257,ff=8152")
    parser.add_argument(
        "--json", nargs="?", const="-", help="JSON to this file, or instead of text"
    )
    options = parser.parse_args(command_line)
    if options.into and not options.each:
        parser.error("--into: only the table of --each goes into a document")
    return options


def design_of(options: argparse.Namespace) -> Design:
    """Find out what to measure."""
    named = options.rtl or [ROOT / "rtl/top/onchip.f"]
    listed = (read_filelist(path) if path.suffix == ".f" else [path] for path in named)
    sources = list(dict.fromkeys(chain.from_iterable(listed)))
    missing = [str(path) for path in sources if not path.exists()]
    if missing:
        raise SynthesisError(f"no such source: {', '.join(missing)}")
    default = [] if options.rtl else [PAYLOAD_MEMORY]
    return Design(
        sources=sources,
        top=options.top,
        parameters=dict(options.parameter),
        blackboxes=options.blackbox or default,
        clock=options.clock,
    )


def as_json(found: Resources) -> dict[str, Any]:
    """Name a design's counts for JSON."""
    return {
        "lut": found.lut,
        "lut_logic": found.lut_logic,
        "lut_ram": found.lut_ram,
        "ff": found.ff,
        "carry": found.carry,
        "bram": found.bram,
        "blackboxes": dict(found.blackboxes),
    }


def slowest_path(timing: Timing) -> dict[str, Any]:
    """Describe the slowest path of the slowest seed: where to begin."""
    route = min(timing.routes.values(), key=lambda route: route.mhz)
    return {
        "mhz": round(route.mhz, 2),
        "levels": route.levels,
        "logic_ns": round(route.logic_ns, 2),
        "routing_ns": round(route.routing_ns, 2),
        "nets": list(route.path),
    }


def report(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for."""
    started = time.monotonic()
    design = design_of(options)
    found = measure(design)
    result: dict[str, Any] = {
        "top": design.top,
        "parameters": dict(design.parameters),
        "front_end": design.front_end,
        "method": METHOD,
        "resources": as_json(found),
        "snacc": SNACC,
    }
    if options.hierarchy:
        result["modules"] = [
            {"module": name, "instances": number, **as_json(own)}
            for name, number, own in measure_hierarchy(design)
        ]
    if options.paths or options.levels:
        netlist = json.loads((work_folder(design) / "netlist.json").read_text())
        paths = longest_paths(netlist["modules"][design.top])
        result["levels"] = paths[0].levels
        result["levels_by_module"] = by_module(paths)
        result["paths"] = [asdict(path) for path in paths[: options.paths]]
    if options.timing:
        timing = measure_timing(design, options.seeds)
        result["ecp5"] = {
            "mhz_by_seed": {str(seed): round(mhz, 2) for seed, mhz in timing.mhz.items()},
            "mhz_median": round(timing.median, 2),
            "cells": timing.cells,
            "slowest_path": slowest_path(timing),
        }
    if options.budget:
        over = {key: result["resources"][key] - limit for key, limit in options.budget.items()}
        result["budget"] = {"limits": options.budget, "met": all(n <= 0 for n in over.values())}
    result["seconds"] = round(time.monotonic() - started, 1)
    return result


def place(module: str) -> str:
    """Shorten a module's name: slang's `module$top.path` becomes `path: module`."""
    name, _, path = module.partition("$")
    return f"{path.partition('.')[2] or path}: {name}"[:70] if name and path else module[:70]


def table(result: dict[str, Any]) -> str:
    """Render a report for reading."""
    counts = result["resources"]
    lines = [
        f"{result['top']} ({result['method']})",
        f"  {'':24}{'here':>8}{'SNAcc':>8}",
        f"  {'LUT':24}{counts['lut']:>8}{SNACC['lut']:>8}",
        f"  {'  of these LUT RAM':24}{counts['lut_ram']:>8}",
        f"  {'FF':24}{counts['ff']:>8}{SNACC['ff']:>8}",
        f"  {'block RAM':24}{counts['bram']:>8}",
    ]
    if "ecp5" in result:
        rates = result["ecp5"]
        seeds = ", ".join(str(mhz) for mhz in rates["mhz_by_seed"].values())
        lines.append(
            f"  {'ECP5-85 MHz, median':24}{rates['mhz_median']:>8}"
            f"   seeds {seeds}; only ratios between designs mean anything"
        )
        path = rates["slowest_path"]
        lines.append(f"  slowest path, {path['levels']} levels: {' > '.join(path['nets'])}")
    if "levels" in result:
        lines.append(f"  {'longest path, LUT levels':24}{result['levels']:>8}")
    if "modules" in result:
        lines.append(f"\n  {'module alone':72}{'count':>6}{'LUT':>7}{'FF':>7}")
        lines += [
            f"  {place(row['module']):72}{row['instances']:>6}{row['lut']:>7}{row['ff']:>7}"
            for row in result["modules"]
        ]
    if result.get("paths"):
        lines.append("\n  longest paths, in levels of LUTs")
        lines += [
            f"  {path['levels']:3}  {path['end']} < {' < '.join(path['nets'])}"
            for path in result["paths"]
        ]
    if "budget" in result:
        limits = ", ".join(f"{key} <= {value}" for key, value in result["budget"]["limits"].items())
        lines.append(f"  budget {limits}: {'met' if result['budget']['met'] else 'EXCEEDED'}")
    return "\n".join(lines)


def each(options: argparse.Namespace) -> dict[str, Any]:
    """Count modules one by one, each with all that is in it."""
    design = design_of(options)
    rows = []
    for top in options.each:
        found = measure(replace(design, top=top))
        rows.append({"module": top, **as_json(found)})
        print(f"  {top:24}{found.lut:>8} LUT{found.ff:>8} FF", file=sys.stderr)
    return {"method": METHOD, "modules": rows}


def page_table(result: dict[str, Any]) -> str:
    """Render the counts of modules for a page."""
    lines = ["| module | LUT | of these LUT RAM | FF |", "|---|---|---|---|"]
    lines += [
        f"| `{row['module']}` | {row['lut']} | {row['lut_ram']} | {row['ff']} |"
        for row in result["modules"]
    ]
    return "\n".join(lines)


def main(command_line: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = arguments(command_line)
    try:
        # Before the work: a document without a place for the table would waste it.
        if options.into:
            replaced(options.into.read_text(), "", MARKS)
        result = each(options) if options.each else report(options)
    except (SynthesisError, ValueError) as error:
        print(f"resources: {error}", file=sys.stderr)
        return 1
    if options.into:
        page = options.into.read_text()
        options.into.write_text(replaced(page, page_table(result), MARKS))
    text = json.dumps(result, indent=2)
    if options.json and options.json != "-":
        Path(options.json).write_text(text + "\n")
    if options.json == "-" or not options.each:
        print(text if options.json == "-" else table(result))
    return 0 if result.get("budget", {}).get("met", True) else 7


if __name__ == "__main__":
    sys.exit(main())
