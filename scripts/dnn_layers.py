# SPDX-License-Identifier: Apache-2.0
"""Synthesizes each layer of MobileNet-V1 1.0/224, and each FIFO between them, by Yosys.

Layers are counted one by one, each flattened, and summed: all at once would not fit into the memory
that Yosys has. Of those that differ only in weights and constants one is counted. Multipliers are
DSP48E2.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay import synthesis
from forebay.dnn.compiled import ROOM
from forebay.dnn.fold import fold, link_ramb36
from forebay.dnn.mobilenet import DESIGNS, mobilenet
from forebay.dnn.times import between
from forebay.dnn.weights import filled
from forebay.dnn.write import chain
from forebay.filelist import ROOT, read_filelist

if TYPE_CHECKING:
    from forebay.dnn.fold import Folding
    from forebay.dnn.network import Network
    from forebay.dnn.write import Part

SIZE = 224
# Contents of memories, and constants that a few LUT compare with.
VALUES = {"File", "Weights", "Factors", "Zero", "Low", "High", "Around"}
SOURCES = read_filelist(ROOT / "rtl/dnn/dnn.f")


def alone(part: Part, top: str) -> str:
    """Return a module that has nothing but this one."""
    # The contents of its memories lie beside it.
    values = ", ".join(
        f".{key}({str(value).removeprefix('{DataFolder, ').replace('/', '').removesuffix('}')})"
        for key, value in part.parameters.items()
    )
    return f"""module {top} (
  input wire clk, input wire rst,
  input wire s_valid, output logic s_ready, input wire [{part.comes - 1}:0][7:0] s_data,
  output logic m_valid, input wire m_ready, output logic [{part.leaves - 1}:0][7:0] m_data
);
  {part.module} #({values}) u_part (.*);
endmodule
"""


def counted(part: Part, files: dict[str, list[str]]) -> dict[str, Any]:
    """Count what a module takes."""
    top = f"layer_{part.name}"
    folder = synthesis.work_folder(synthesis.Design([], top))
    source = folder / f"{top}.sv"
    source.write_text(alone(part, top))
    for name, lines in files.items():
        if name.startswith(f"{part.name}."):
            (folder / name).write_text("\n".join(lines) + "\n")
    found = asdict(synthesis.measure(synthesis.Design([*SOURCES, source], top)))
    return {**found, "dsp": found["blackboxes"].get("DSP48E2", 0)}


def compilers(
    network: Network, foldings: tuple[Folding, ...], rooms: tuple[int, ...]
) -> dict[str, tuple[int, float]]:
    """Return multipliers and block RAM that the compiler counts, of each layer and each FIFO."""
    takes = [folding.given for folding in foldings[1:]] + [1]
    found = {}
    for layer, folding, room, to in zip(network.layers, foldings, rooms, takes, strict=True):
        found[layer.name] = folding.dsp, folding.ramb36
        found[f"{layer.name}_link"] = 0, link_ramb36(folding.made, to, room)
    return found


def main() -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--design", choices=DESIGNS, default="B", help="default: B, one drive's")
    parser.add_argument("--jobs", type=int, default=2, help="at a time [default: 2]")
    parser.add_argument("--json", type=Path, help="put the figures into this file")
    options = parser.parse_args()
    network = filled(np.random.default_rng(1), mobilenet(SIZE), 1)
    foldings = fold(network, DESIGNS[options.design])
    rooms, _ = between(network, foldings)
    rooms = tuple(min(room, ROOM) for room in rooms)
    layers, files = chain(network, foldings, rooms)
    due = compilers(network, foldings, rooms)
    kinds: dict[str, list[Part]] = {}
    for part in layers.parts:
        parameters = {key: one for key, one in part.parameters.items() if key not in VALUES}
        kinds.setdefault(json.dumps([part.module, parameters]), []).append(part)

    def count(alike: list[Part]) -> dict[str, Any]:
        found = counted(alike[0], files)
        names = [part.name for part in alike]
        print(
            f"{', '.join(names)}: {found['lut']} LUT, {found['ff']} FF, {found['dsp']} DSP, "
            f"{found['bram']:g} RAMB36",
            flush=True,
        )
        said = due[names[0]]
        return {
            "module": alike[0].module,
            "names": names,
            "compiler": {"dsp": said[0], "bram": said[1]},
            "alike": said == (found["dsp"], found["bram"]),
            **found,
        }

    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(count, kinds.values()))
    units = ("lut", "ff", "dsp", "bram")
    sums = {unit: sum(row[unit] * len(row["names"]) for row in rows) for unit in units}
    of_links = sum(row["bram"] * len(row["names"]) for row in rows if "link" in row["module"])
    others = [row for row in rows if not row["alike"]]
    for row in others:
        said = row["compiler"]
        print(f"{row['names'][0]}: {row['dsp']} DSP, {row['bram']} RAMB36; compiler: {said}")
    found = {"design": options.design, **sums, "bram_of_links": of_links}
    found |= {"differ": sum(len(row["names"]) for row in others), "rows": rows}
    print(f"{options.design}: {sums}, of links {of_links:g} RAMB36; {found['differ']} differ")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
