// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_if: an AXI4 bus between modules. Pins of a top are flat.
//
// Does not carry: LOCK, CACHE, PROT, QOS, REGION and USER, at which nothing inside looks.

`default_nettype none

interface fb_axi_if #(
    parameter int unsigned IdBits   = 4,
    parameter int unsigned AddrBits = 64,
    parameter int unsigned DataBits = 512
) (
    input wire clk,
    input wire rst
);

  logic [IdBits-1:0] awid, bid, arid, rid;
  logic [AddrBits-1:0] awaddr, araddr;
  logic [7:0] awlen, arlen;
  logic [2:0] awsize, arsize;
  logic [1:0] awburst, arburst, bresp, rresp;
  logic [DataBits-1:0] wdata, rdata;
  logic [DataBits/8-1:0] wstrb;
  logic wlast, rlast;
  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;

  modport initiator(
      output awid, awaddr, awlen, awsize, awburst, awvalid,
      output wdata, wstrb, wlast, wvalid,
      output arid, araddr, arlen, arsize, arburst, arvalid,
      output bready, rready,
      input awready, wready, arready,
      input bid, bresp, bvalid,
      input rid, rdata, rresp, rlast, rvalid
  );

  // The halves of an initiator.
  modport write_initiator(
      output awid, awaddr, awlen, awsize, awburst, awvalid,
      output wdata, wstrb, wlast, wvalid,
      output bready,
      input awready, wready,
      input bid, bresp, bvalid
  );

  modport read_initiator(
      output arid, araddr, arlen, arsize, arburst, arvalid,
      output rready,
      input arready,
      input rid, rdata, rresp, rlast, rvalid
  );

  modport target(
      input awid, awaddr, awlen, awsize, awburst, awvalid,
      input wdata, wstrb, wlast, wvalid,
      input arid, araddr, arlen, arsize, arburst, arvalid,
      input bready, rready,
      output awready, wready, arready,
      output bid, bresp, bvalid,
      output rid, rdata, rresp, rlast, rvalid
  );

`ifndef SYNTHESIS
  // Each channel by its handshake.
  `define FB_CHECK(channel, fields) \
    fb_axis_check #( \
        .Width($bits(fields)), \
        .Name (`"AXI4 channel`") \
    ) u_check_``channel ( \
        .clk, .rst, .valid(channel``valid), .ready(channel``ready), .data(fields));
  `FB_CHECK(aw, {awid, awaddr, awlen, awsize, awburst})
  `FB_CHECK(w, {wdata, wstrb, wlast})
  `FB_CHECK(b, {bid, bresp})
  `FB_CHECK(ar, {arid, araddr, arlen, arsize, arburst})
  `FB_CHECK(r, {rid, rdata, rresp, rlast})
  `undef FB_CHECK
`endif

endinterface

`default_nettype wire
