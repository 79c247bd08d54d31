# SPDX-License-Identifier: Apache-2.0
"""Writes a compiled network as a processing element: objects pass, and images get classes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from forebay.filelist import ROOT, read_filelist

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from forebay.dnn.network import Network

SIZES = (32, 256)  # pixels of a side that the scaler makes
MORE_IMAGES = 2  # that have a place, beside one of each stream
MODULE = """\
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_{name}: written by `forebay dnn compile`, not by hand.
//
// What:        objects that are images pass; the network {name} judges a small one of each, see
//              fb_dnn_classify. Settings and status: see fb_pe_{name}.toml.
// Handshake:   valid/ready; packets pass within the cycle.
// Throughput:  {cycles} cycles an image, unless some are skipped; see fb_dnn_shrink, too.

`default_nettype none

module fb_pe_{name}
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
  import fb_dnn_layer_pkg::*;
#(
    parameter int unsigned Streams = 4,
    parameter DataFolder = "."
) (
    input  wire         clk,
    input  wire         rst,
    input  wire  [63:0] cfg,
    output logic [63:0] status,

    input  wire                                s_axis_object_tvalid,
    output logic                               s_axis_object_tready,
    input  wire          [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire          [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                                s_axis_object_tlast,
    input  wire          [                1:0] s_axis_object_tuser,
    input  wire          [PACKET_TAG_BITS-1:0] s_axis_object_tid,
    input  wire extent_t                       extent,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid,

    output logic                       m_axis_result_tvalid,
    input  wire                        m_axis_result_tready,
    output logic [               47:0] m_axis_result_tdata,
    output logic                       m_axis_result_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_result_tid
);

  logic pixel_valid, pixel_ready, class_valid, class_ready;
  logic [2:0][7:0] pixel;
  class_t judged;

  fb_dnn_classify #(
      .Size(32'd{size}),
      .Streams(Streams),
      .Images(Streams + {more})
  ) u_classify (
      .skip(cfg[0]),
      .*
  );

  fb_dnn_{name} #(
      .DataFolder(DataFolder)
  ) u_network (
      .clk,
      .rst,
      .s_valid(pixel_valid),
      .s_ready(pixel_ready),
      .s_data (pixel),
      .m_valid(class_valid),
      .m_ready(class_ready),
      .m_data (judged)
  );

  logic unused;
  assign unused = &{{1'b0, cfg}};

  fb_pe_check u_check (
      .clk,
      .rst,
      .in_valid (s_axis_object_tvalid),
      .in_ready (s_axis_object_tready),
      .in_last  (s_axis_object_tlast),
      .in_user  (s_axis_object_tuser),
      .in_tid   (s_axis_object_tid),
      .out_valid(m_axis_object_tvalid),
      .out_ready(m_axis_object_tready),
      .out_data (m_axis_object_tdata),
      .out_keep (m_axis_object_tkeep),
      .out_last (m_axis_object_tlast),
      .out_user (m_axis_object_tuser),
      .out_tid  (m_axis_object_tid)
  );

  fb_pe_check_result #(
      .Patience({patience})
  ) u_check_result (
      .clk,
      .rst,
      .in_valid(s_axis_object_tvalid),
      .in_ready(s_axis_object_tready),
      .in_last (s_axis_object_tlast),
      .in_user (s_axis_object_tuser),
      .in_tid  (s_axis_object_tid),
      .valid   (m_axis_result_tvalid),
      .ready   (m_axis_result_tready),
      .data    (m_axis_result_tdata),
      .user    (m_axis_result_tuser),
      .tid     (m_axis_result_tid)
  );

endmodule

`default_nettype wire
"""
MANIFEST = """\
# SPDX-License-Identifier: Apache-2.0
# Written by `forebay dnn compile`, not by hand.
description = "Lets images pass; result: the class that the network {name} sees"
extent = true{clock}
patience = {patience}
files = [
{files}
]
data = [
{data}
]

[[result]]
name = "class"
type = "u16"
description = "The class, from 0 to {last}"

[[result]]
name = "score"
type = "f32"
description = "Its softmax"

[parameters.senders]
description = "Streams whose images may come in turns; their numbers differ in the lowest bits"
parameter = "Streams"
values = [1, 2, 4]
default = 4

[settings.skip]
description = "Where the network is busy, an image is not judged; else the stream waits"
bits = [0, 0]
type = "flag"

[status.skipped]
description = "Objects that were not judged since the network was busy"
bits = [31, 0]

[status.misfits]
description = "Objects that were no image which fits, or not all of one"
bits = [63, 32]
"""


def judges_images(network: Network) -> None:
    """Look whether an element can have the network.

    Raises
    ------
    ValueError
        Its images are none that the scaler makes.
    """
    size, channels = network.size, network.layers[0].channels
    if channels != 3 or size % 4 or not SIZES[0] <= size <= SIZES[1]:
        message = f"network {network.name}: images of {size} x {size} pixels, {channels} channels; "
        message += f"the scaler makes {SIZES[0]} to {SIZES[1]} pixels, a multiple of 4, 3 channels"
        raise ValueError(message)


def is_ours(name: str, into: Path) -> Path | None:
    """Return a module of the project that has one of the names of a network's modules, if any."""
    for kind in ("dnn", "pe"):
        for path in (ROOT / "rtl").rglob(f"fb_{kind}_{name}.sv"):
            if path.parent != into:
                return path
    return None


def _listed(names: Iterable[str]) -> str:
    return "\n".join(f'    "{name}",' for name in names)


def element(
    network: Network,
    cycles: int,
    latency: int,
    data: Iterable[str],
    into: Path,
    *,
    own_clock: bool = False,
) -> dict[str, str]:
    """Return module and manifest of the element that a network becomes.

    Parameters
    ----------
    network : Network
    cycles, latency : int
        From an image to the next one; from its first pixel to its class.
    data : iterable of str
        Names of the files that hold its weights.
    into : Path
        The folder where it is to lie: sources of the project are named from there.
    own_clock : bool
        It has a clock of its own, not the chain's.
    """
    # An image may wait until all other places have been judged. 4096 cycles are for the scaler.
    patience = latency + (4 + MORE_IMAGES + 1) * cycles + 4096
    sources = [path for path in read_filelist(ROOT / "rtl/dnn/dnn.f") if path.parent.name == "dnn"]
    files = [os.path.relpath(path, into) for path in sources]
    files += [f"fb_dnn_{network.name}.sv", f"fb_pe_{network.name}.sv"]
    names = {
        "name": network.name,
        "size": network.size,
        "clock": '\nclock = "own"' if own_clock else "",
        "cycles": cycles,
        "patience": patience,
        "more": MORE_IMAGES,
        "files": _listed(files),
        "data": _listed(sorted(data)),
        "last": network.best.classes - 1,
    }
    return {
        f"fb_pe_{network.name}.sv": MODULE.format(**names),
        f"fb_pe_{network.name}.toml": MANIFEST.format(**names),
    }
