// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axil_if: an AXI4-Lite bus between modules. Pins of a top are flat.
//
// Does not carry: PROT, at which nothing inside looks.

`default_nettype none

interface fb_axil_if #(
    parameter int unsigned AddrBits = 12,
    parameter int unsigned DataBits = 64
) (
    input wire clk,
    input wire rst
);

  logic [AddrBits-1:0] awaddr, araddr;
  logic [DataBits-1:0] wdata, rdata;
  logic [DataBits/8-1:0] wstrb;
  logic [1:0] bresp, rresp;
  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;

  modport initiator(
      output awaddr, awvalid, wdata, wstrb, wvalid, araddr, arvalid, bready, rready,
      input awready, wready, arready, bresp, bvalid, rdata, rresp, rvalid
  );

  modport target(
      input awaddr, awvalid, wdata, wstrb, wvalid, araddr, arvalid, bready, rready,
      output awready, wready, arready, bresp, bvalid, rdata, rresp, rvalid
  );

`ifndef SYNTHESIS
  // Each channel by its handshake.
  `define FB_CHECK(channel, fields) \
    fb_axis_check #( \
        .Width($bits(fields)), \
        .Name (`"AXI4-Lite channel`") \
    ) u_check_``channel ( \
        .clk, .rst, .valid(channel``valid), .ready(channel``ready), .data(fields));
  `FB_CHECK(aw, {awaddr})
  `FB_CHECK(w, {wdata, wstrb})
  `FB_CHECK(b, {bresp})
  `FB_CHECK(ar, {araddr})
  `FB_CHECK(r, {rdata, rresp})
  `undef FB_CHECK
`endif

endinterface

`default_nettype wire
