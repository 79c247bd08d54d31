// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axis_if: an AXI4-Stream between modules. Pins of a top are flat.
//
// Where a stream has no TKEEP, TLAST, TUSER or TID nothing looks at them. `rst` is that of the modules
// at both ends: while it holds the handshake is not checked.

`default_nettype none

interface fb_axis_if #(
    parameter int unsigned DataBits = 512,
    parameter int unsigned TagBits  = 8,
    parameter int unsigned UserBits = 1
) (
    input wire clk,
    input wire rst
);

  logic [DataBits-1:0] tdata;
  logic [DataBits/8-1:0] tkeep;
  logic [TagBits-1:0] tid;
  logic [UserBits-1:0] tuser;
  logic tlast, tvalid, tready;

  modport initiator(output tdata, tkeep, tid, tlast, tuser, tvalid, input tready);
  modport target(input tdata, tkeep, tid, tlast, tuser, tvalid, output tready);

`ifndef SYNTHESIS
  fb_axis_check #(
      .Width(DataBits + DataBits / 8 + TagBits + UserBits + 1),
      .Name ("stream")
  ) u_check (
      .clk,
      .rst,
      .valid(tvalid),
      .ready(tready),
      .data ({tdata, tkeep, tid, tlast, tuser})
  );
`endif

endinterface

`default_nettype wire
