# SPDX-License-Identifier: Apache-2.0
"""Writes a folded network: a module that puts layers in a row, and what is in their memories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.dnn.layers import packed
from forebay.dnn.network import Convolution, Depthwise, Summing, Table

if TYPE_CHECKING:
    from forebay.dnn.fold import Folding
    from forebay.dnn.network import Layer, Network

HEAD = """\
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_{name}: written by `forebay dnn compile`, not by hand.
//
// What:        {about}
// Handshake:   valid/ready: pixels, the first channel lowest, row by row, image by image; a class
//              and a score for each image, in order.
// Throughput:  an image in {cycles} cycles.

`default_nettype none

module fb_dnn_{name}
  import fb_dnn_layer_pkg::*;
#(
    parameter DataFolder = "."  // of the weights
) (
    input wire clk,
    input wire rst,

    input  wire            s_valid,
    output logic           s_ready,
    input  wire  [{channels}:0][7:0] s_data,

    output logic   m_valid,
    input  wire    m_ready,
    output class_t m_data
);
"""
TAIL = """
endmodule

`default_nettype wire
"""


def memories(layer: Layer, folding: Folding) -> dict[str, list[str]]:
    """Return the contents of a layer's memories by the parameter that names them, a line a word."""
    if isinstance(layer, Table):
        return {"File": packed(layer.values, 8, layer.channels)}
    found = {}
    if isinstance(layer, Convolution):
        # Channels come in groups, all taps of each; a line has Simd inputs of each of Pe outputs.
        groups = layer.weights.reshape(
            layer.outputs, -1, layer.channels // folding.given, folding.given
        )
        matrix = groups.swapaxes(1, 2).reshape(
            layer.outputs // folding.pe, folding.pe, layer.inputs // folding.simd, folding.simd
        )
        found["Weights"] = packed(matrix.swapaxes(1, 2), 8, folding.pe * folding.simd)
    if isinstance(layer, Depthwise):
        groups = layer.weights.reshape(-1, layer.channels // folding.given, folding.given)
        taps = groups.shape[0]
        found["Weights"] = packed(groups.swapaxes(0, 1), 8, taps * folding.given)
    if isinstance(layer, Summing):
        found["Factors"] = layer.factors.lines(folding.made)
    return found


def instance(module: str, name: str, parameters: dict[str, object], ports: dict[str, str]) -> str:
    """Return an instance."""
    values = ",\n".join(f"      .{key}({value})" for key, value in parameters.items())
    wires = ",\n".join(f"      .{port}({wire})" for port, wire in ports.items())
    clocked = "      .clk,\n      .rst,\n"
    return f"\n  {module} #(\n{values}\n  ) u_{name} (\n{clocked}{wires}\n  );\n"


@dataclass(frozen=True)
class Part:
    """A module between two streams, of `comes` and `leaves` values of 8 bits at a time."""

    module: str
    name: str
    parameters: dict[str, object]
    comes: int
    leaves: int


class Chain:
    """Modules, each of which takes what the one before it leaves, and the text of them."""

    def __init__(self, lanes: int) -> None:
        self.text: list[str] = []
        self.parts: list[Part] = []
        self.lanes, self.of = lanes, ""  # of the stream that is to be taken, and its name

    def add(self, module: str, name: str, parameters: dict[str, object], lanes: int) -> None:
        """Put a module behind the others; `lanes` of 8 bits leave at a time."""
        ends = "valid", "ready", "data"
        ports = {f"s_{end}": f"{self.of}_{end}" if self.of else f"s_{end}" for end in ends}
        ports |= {f"m_{end}": f"{name}_{end}" for end in ends}
        wires = f"\n  logic {name}_valid, {name}_ready;\n  logic [{lanes - 1}:0][7:0] {name}_data;"
        self.text.append(wires + instance(module, name, parameters, ports))
        self.parts.append(Part(module, name, parameters, self.lanes, lanes))
        self.lanes, self.of = lanes, name

    def link(self, to: int, name: str, depth: int) -> None:
        """Add the FIFO in front of the next layer, which takes `to` values at a time."""
        sizes = {"From": self.lanes, "To": to, "Wide": math.lcm(self.lanes, to), "Depth": depth}
        self.add("fb_dnn_link", f"{name}_link", sizes, to)


def chain(
    network: Network, foldings: tuple[Folding, ...], rooms: tuple[int, ...]
) -> tuple[Chain, dict[str, list[str]]]:
    """Put the layers in a row, a FIFO behind each; returns that, and files of contents."""
    files: dict[str, list[str]] = {}
    made = Chain(network.layers[0].channels)
    takes = [folding.given for folding in foldings[1:]] + [1]
    for layer, folding, room, to in zip(network.layers, foldings, rooms, takes, strict=True):
        contents = named(layer.name, memories(layer, folding), files)
        made.add(layer.MODULE, layer.name, folding.parameters(layer) | contents, folding.made)
        made.link(to, layer.name, room)
    return made, files


def named(
    name: str, contents: dict[str, list[str]], files: dict[str, list[str]]
) -> dict[str, object]:
    """Give contents of memories a file each; returns the parameters that name them."""
    found: dict[str, object] = {}
    for parameter, lines in contents.items():
        path = f"{name}.{parameter.lower()}.mem" if parameter != "File" else f"{name}.mem"
        files[path] = lines
        found[parameter] = f'{{DataFolder, "/{path}"}}'
    return found


def write(
    network: Network, foldings: tuple[Folding, ...], rooms: tuple[int, ...]
) -> dict[str, str]:
    """Return the files of a network by their names.

    Parameters
    ----------
    network : Network
    foldings : tuple of Folding
        One for each layer.
    rooms : tuple of int
        Depth of the FIFO behind each layer, words; powers of two.
    """
    first, channels = network.layers[0], network.layers[0].channels
    layers, files = chain(network, foldings, rooms)
    parameters = {"Classes": network.best.classes}
    parameters |= named("best", {"File": packed(network.best.terms, 25, 1)}, files)
    ends = "valid", "ready", "data"
    ports = {f"s_{end}": f"{layers.of}_{end}" for end in ends} | {
        f"m_{end}": f"m_{end}" for end in ends
    }
    layers.text.append(instance("fb_dnn_best", "best", parameters, ports))
    about = f"{first.size} x {first.size} pixels of {channels} channels, "
    head = HEAD.format(
        name=network.name,
        about=f"{about}{network.best.classes} classes.",
        cycles=max(folding.cycles for folding in foldings),
        channels=channels - 1,
    )
    module = head + "".join(layers.text) + TAIL
    return {f"fb_dnn_{network.name}.sv": module} | {
        path: "\n".join(lines) + "\n" for path, lines in files.items()
    }
