// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_slice: register slices on the five channels of an AXI4 port.
//
// What:        each channel goes through fb_common_skid, by itself. For a port that is far from what
//              it leads to, such as a hard PCIe block on another die.
// Handshake:   AXI4; the signals that Forebay's ports have. The rest are constants at the pins.
// Latency:     Stages cycles a channel: twice that from an address to its answer.
// Throughput:  one beat a cycle and channel.
// Limits:      about 2,500 flip-flops a stage with 512 bits. Without stages the two sides are
//              connected.
// Does not implement: stages on some of the channels.

`default_nettype none

module fb_axi_slice #(
    parameter int unsigned Stages   = 1,   // register slices in a row, 0 to 4
    parameter int unsigned IdBits   = 1,   // 1 or more
    parameter int unsigned AddrBits = 64,
    parameter int unsigned DataBits = 512
) (
    input wire clk,
    input wire rst,

    input  wire  [    IdBits-1:0] s_axi_awid,
    input  wire  [  AddrBits-1:0] s_axi_awaddr,
    input  wire  [           7:0] s_axi_awlen,
    input  wire  [           2:0] s_axi_awsize,
    input  wire  [           1:0] s_axi_awburst,
    input  wire                   s_axi_awvalid,
    output logic                  s_axi_awready,
    input  wire  [  DataBits-1:0] s_axi_wdata,
    input  wire  [DataBits/8-1:0] s_axi_wstrb,
    input  wire                   s_axi_wlast,
    input  wire                   s_axi_wvalid,
    output logic                  s_axi_wready,
    output logic [    IdBits-1:0] s_axi_bid,
    output logic [           1:0] s_axi_bresp,
    output logic                  s_axi_bvalid,
    input  wire                   s_axi_bready,
    input  wire  [    IdBits-1:0] s_axi_arid,
    input  wire  [  AddrBits-1:0] s_axi_araddr,
    input  wire  [           7:0] s_axi_arlen,
    input  wire  [           2:0] s_axi_arsize,
    input  wire  [           1:0] s_axi_arburst,
    input  wire                   s_axi_arvalid,
    output logic                  s_axi_arready,
    output logic [    IdBits-1:0] s_axi_rid,
    output logic [  DataBits-1:0] s_axi_rdata,
    output logic [           1:0] s_axi_rresp,
    output logic                  s_axi_rlast,
    output logic                  s_axi_rvalid,
    input  wire                   s_axi_rready,

    output logic [    IdBits-1:0] m_axi_awid,
    output logic [  AddrBits-1:0] m_axi_awaddr,
    output logic [           7:0] m_axi_awlen,
    output logic [           2:0] m_axi_awsize,
    output logic [           1:0] m_axi_awburst,
    output logic                  m_axi_awvalid,
    input  wire                   m_axi_awready,
    output logic [  DataBits-1:0] m_axi_wdata,
    output logic [DataBits/8-1:0] m_axi_wstrb,
    output logic                  m_axi_wlast,
    output logic                  m_axi_wvalid,
    input  wire                   m_axi_wready,
    input  wire  [    IdBits-1:0] m_axi_bid,
    input  wire  [           1:0] m_axi_bresp,
    input  wire                   m_axi_bvalid,
    output logic                  m_axi_bready,
    output logic [    IdBits-1:0] m_axi_arid,
    output logic [  AddrBits-1:0] m_axi_araddr,
    output logic [           7:0] m_axi_arlen,
    output logic [           2:0] m_axi_arsize,
    output logic [           1:0] m_axi_arburst,
    output logic                  m_axi_arvalid,
    input  wire                   m_axi_arready,
    input  wire  [    IdBits-1:0] m_axi_rid,
    input  wire  [  DataBits-1:0] m_axi_rdata,
    input  wire  [           1:0] m_axi_rresp,
    input  wire                   m_axi_rlast,
    input  wire                   m_axi_rvalid,
    output logic                  m_axi_rready
);

  fb_common_skid #(
      .Width (IdBits + AddrBits + 13),
      .Stages(Stages)
  ) u_aw (
      .clk,
      .rst,
      .s_valid(s_axi_awvalid),
      .s_ready(s_axi_awready),
      .s_data ({s_axi_awid, s_axi_awaddr, s_axi_awlen, s_axi_awsize, s_axi_awburst}),
      .m_valid(m_axi_awvalid),
      .m_ready(m_axi_awready),
      .m_data ({m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst})
  );

  fb_common_skid #(
      .Width (DataBits + DataBits / 8 + 1),
      .Stages(Stages)
  ) u_w (
      .clk,
      .rst,
      .s_valid(s_axi_wvalid),
      .s_ready(s_axi_wready),
      .s_data ({s_axi_wdata, s_axi_wstrb, s_axi_wlast}),
      .m_valid(m_axi_wvalid),
      .m_ready(m_axi_wready),
      .m_data ({m_axi_wdata, m_axi_wstrb, m_axi_wlast})
  );

  fb_common_skid #(
      .Width (IdBits + 2),
      .Stages(Stages)
  ) u_b (
      .clk,
      .rst,
      .s_valid(m_axi_bvalid),
      .s_ready(m_axi_bready),
      .s_data ({m_axi_bid, m_axi_bresp}),
      .m_valid(s_axi_bvalid),
      .m_ready(s_axi_bready),
      .m_data ({s_axi_bid, s_axi_bresp})
  );

  fb_common_skid #(
      .Width (IdBits + AddrBits + 13),
      .Stages(Stages)
  ) u_ar (
      .clk,
      .rst,
      .s_valid(s_axi_arvalid),
      .s_ready(s_axi_arready),
      .s_data ({s_axi_arid, s_axi_araddr, s_axi_arlen, s_axi_arsize, s_axi_arburst}),
      .m_valid(m_axi_arvalid),
      .m_ready(m_axi_arready),
      .m_data ({m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst})
  );

  fb_common_skid #(
      .Width (IdBits + DataBits + 3),
      .Stages(Stages)
  ) u_r (
      .clk,
      .rst,
      .s_valid(m_axi_rvalid),
      .s_ready(m_axi_rready),
      .s_data ({m_axi_rid, m_axi_rdata, m_axi_rresp, m_axi_rlast}),
      .m_valid(s_axi_rvalid),
      .m_ready(s_axi_rready),
      .m_data ({s_axi_rid, s_axi_rdata, s_axi_rresp, s_axi_rlast})
  );

endmodule

`default_nettype wire
