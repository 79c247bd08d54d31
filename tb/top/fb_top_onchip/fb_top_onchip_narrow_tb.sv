// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_top_onchip behind a bridge of fewer than 512 bits, and slices in between.

`default_nettype none

module fb_top_onchip_narrow_tb #(
    parameter int unsigned NarrowBits = 128,
    parameter int unsigned QueueDepth = 64,
    parameter int unsigned Pages = 1024,
    parameter int unsigned ReservePages = 64,
    parameter int unsigned Slices = 0,
    localparam int unsigned AxiIdBits = 4,
    localparam int unsigned BarAddrBits = $clog2(fb_spec_pkg::BAR0_BYTES)
) (
    input wire clk,
    input wire rst,

    // Write stream, and its responses.
    input wire s_axis_wr_tvalid,
    output logic s_axis_wr_tready,
    input wire [511:0] s_axis_wr_tdata,
    input wire [63:0] s_axis_wr_tkeep,
    input wire s_axis_wr_tlast,
    output logic m_axis_wrsp_tvalid,
    input wire m_axis_wrsp_tready,
    output logic [7:0] m_axis_wrsp_tdata,
    output logic m_axis_wrsp_tlast,

    // Read commands, and the data read.
    input wire s_axis_rdcmd_tvalid,
    output logic s_axis_rdcmd_tready,
    input wire [511:0] s_axis_rdcmd_tdata,
    input wire [63:0] s_axis_rdcmd_tkeep,
    input wire s_axis_rdcmd_tlast,
    output logic m_axis_rd_tvalid,
    input wire m_axis_rd_tready,
    output logic [511:0] m_axis_rd_tdata,
    output logic [63:0] m_axis_rd_tkeep,
    output logic m_axis_rd_tlast,
    output logic [0:0] m_axis_rd_tuser,
    output logic [7:0] m_axis_rd_tid,

    // The BAR: the SSD's queues, payload, PRP lists; the control registers.
    input wire [AxiIdBits-1:0] s_axi_bar_awid,
    input wire [BarAddrBits-1:0] s_axi_bar_awaddr,
    input wire [7:0] s_axi_bar_awlen,
    input wire [2:0] s_axi_bar_awsize,
    input wire [1:0] s_axi_bar_awburst,
    input wire s_axi_bar_awvalid,
    output logic s_axi_bar_awready,
    input wire [NarrowBits-1:0] s_axi_bar_wdata,
    input wire [NarrowBits/8-1:0] s_axi_bar_wstrb,
    input wire s_axi_bar_wlast,
    input wire s_axi_bar_wvalid,
    output logic s_axi_bar_wready,
    output logic [AxiIdBits-1:0] s_axi_bar_bid,
    output logic [1:0] s_axi_bar_bresp,
    output logic s_axi_bar_bvalid,
    input wire s_axi_bar_bready,
    input wire [AxiIdBits-1:0] s_axi_bar_arid,
    input wire [BarAddrBits-1:0] s_axi_bar_araddr,
    input wire [7:0] s_axi_bar_arlen,
    input wire [2:0] s_axi_bar_arsize,
    input wire [1:0] s_axi_bar_arburst,
    input wire s_axi_bar_arvalid,
    output logic s_axi_bar_arready,
    output logic [AxiIdBits-1:0] s_axi_bar_rid,
    output logic [NarrowBits-1:0] s_axi_bar_rdata,
    output logic [1:0] s_axi_bar_rresp,
    output logic s_axi_bar_rlast,
    output logic s_axi_bar_rvalid,
    input wire s_axi_bar_rready,

    // Doorbells of the SSD.
    output logic [63:0] m_axil_db_awaddr,
    output logic [2:0] m_axil_db_awprot,
    output logic m_axil_db_awvalid,
    input wire m_axil_db_awready,
    output logic [31:0] m_axil_db_wdata,
    output logic [3:0] m_axil_db_wstrb,
    output logic m_axil_db_wvalid,
    input wire m_axil_db_wready,
    input wire [1:0] m_axil_db_bresp,
    input wire m_axil_db_bvalid,
    output logic m_axil_db_bready,
    output logic [63:0] m_axil_db_araddr,
    output logic [2:0] m_axil_db_arprot,
    output logic m_axil_db_arvalid,
    input wire m_axil_db_arready,
    input wire [31:0] m_axil_db_rdata,
    input wire [1:0] m_axil_db_rresp,
    input wire m_axil_db_rvalid,
    output logic m_axil_db_rready,

    // Control registers, beside the BAR.
    input wire [11:0] s_axil_ctrl_awaddr,
    input wire [2:0] s_axil_ctrl_awprot,
    input wire s_axil_ctrl_awvalid,
    output logic s_axil_ctrl_awready,
    input wire [63:0] s_axil_ctrl_wdata,
    input wire [7:0] s_axil_ctrl_wstrb,
    input wire s_axil_ctrl_wvalid,
    output logic s_axil_ctrl_wready,
    output logic [1:0] s_axil_ctrl_bresp,
    output logic s_axil_ctrl_bvalid,
    input wire s_axil_ctrl_bready,
    input wire [11:0] s_axil_ctrl_araddr,
    input wire [2:0] s_axil_ctrl_arprot,
    input wire s_axil_ctrl_arvalid,
    output logic s_axil_ctrl_arready,
    output logic [63:0] s_axil_ctrl_rdata,
    output logic [1:0] s_axil_ctrl_rresp,
    output logic s_axil_ctrl_rvalid,
    input wire s_axil_ctrl_rready
);

  logic [AxiIdBits-1:0] wide_awid;
  logic [BarAddrBits-1:0] wide_awaddr;
  logic [7:0] wide_awlen;
  logic [2:0] wide_awsize;
  logic [1:0] wide_awburst;
  logic wide_awvalid;
  logic wide_awready;
  logic [511:0] wide_wdata;
  logic [63:0] wide_wstrb;
  logic wide_wlast;
  logic wide_wvalid;
  logic wide_wready;
  logic [AxiIdBits-1:0] wide_bid;
  logic [1:0] wide_bresp;
  logic wide_bvalid;
  logic wide_bready;
  logic [AxiIdBits-1:0] wide_arid;
  logic [BarAddrBits-1:0] wide_araddr;
  logic [7:0] wide_arlen;
  logic [2:0] wide_arsize;
  logic [1:0] wide_arburst;
  logic wide_arvalid;
  logic wide_arready;
  logic [AxiIdBits-1:0] wide_rid;
  logic [511:0] wide_rdata;
  logic [1:0] wide_rresp;
  logic wide_rlast;
  logic wide_rvalid;
  logic wide_rready;

  fb_axi_width #(
      .NarrowBits(NarrowBits),
      .IdBits(AxiIdBits),
      .AddrBits(BarAddrBits)
  ) u_width (
      .s_axi_awid(s_axi_bar_awid),
      .s_axi_awaddr(s_axi_bar_awaddr),
      .s_axi_awlen(s_axi_bar_awlen),
      .s_axi_awsize(s_axi_bar_awsize),
      .s_axi_awburst(s_axi_bar_awburst),
      .s_axi_awvalid(s_axi_bar_awvalid),
      .s_axi_awready(s_axi_bar_awready),
      .s_axi_wdata(s_axi_bar_wdata),
      .s_axi_wstrb(s_axi_bar_wstrb),
      .s_axi_wlast(s_axi_bar_wlast),
      .s_axi_wvalid(s_axi_bar_wvalid),
      .s_axi_wready(s_axi_bar_wready),
      .s_axi_bid(s_axi_bar_bid),
      .s_axi_bresp(s_axi_bar_bresp),
      .s_axi_bvalid(s_axi_bar_bvalid),
      .s_axi_bready(s_axi_bar_bready),
      .s_axi_arid(s_axi_bar_arid),
      .s_axi_araddr(s_axi_bar_araddr),
      .s_axi_arlen(s_axi_bar_arlen),
      .s_axi_arsize(s_axi_bar_arsize),
      .s_axi_arburst(s_axi_bar_arburst),
      .s_axi_arvalid(s_axi_bar_arvalid),
      .s_axi_arready(s_axi_bar_arready),
      .s_axi_rid(s_axi_bar_rid),
      .s_axi_rdata(s_axi_bar_rdata),
      .s_axi_rresp(s_axi_bar_rresp),
      .s_axi_rlast(s_axi_bar_rlast),
      .s_axi_rvalid(s_axi_bar_rvalid),
      .s_axi_rready(s_axi_bar_rready),
      .m_axi_awid(wide_awid),
      .m_axi_awaddr(wide_awaddr),
      .m_axi_awlen(wide_awlen),
      .m_axi_awsize(wide_awsize),
      .m_axi_awburst(wide_awburst),
      .m_axi_awvalid(wide_awvalid),
      .m_axi_awready(wide_awready),
      .m_axi_wdata(wide_wdata),
      .m_axi_wstrb(wide_wstrb),
      .m_axi_wlast(wide_wlast),
      .m_axi_wvalid(wide_wvalid),
      .m_axi_wready(wide_wready),
      .m_axi_bid(wide_bid),
      .m_axi_bresp(wide_bresp),
      .m_axi_bvalid(wide_bvalid),
      .m_axi_bready(wide_bready),
      .m_axi_arid(wide_arid),
      .m_axi_araddr(wide_araddr),
      .m_axi_arlen(wide_arlen),
      .m_axi_arsize(wide_arsize),
      .m_axi_arburst(wide_arburst),
      .m_axi_arvalid(wide_arvalid),
      .m_axi_arready(wide_arready),
      .m_axi_rid(wide_rid),
      .m_axi_rdata(wide_rdata),
      .m_axi_rresp(wide_rresp),
      .m_axi_rlast(wide_rlast),
      .m_axi_rvalid(wide_rvalid),
      .m_axi_rready(wide_rready),
      .*
  );

  fb_top_onchip #(
      .QueueDepth(QueueDepth),
      .Pages(Pages),
      .ReservePages(ReservePages),
      .Slices(Slices)
  ) u_top (
      .s_axi_bar_awid(wide_awid),
      .s_axi_bar_awaddr(wide_awaddr),
      .s_axi_bar_awlen(wide_awlen),
      .s_axi_bar_awsize(wide_awsize),
      .s_axi_bar_awburst(wide_awburst),
      .s_axi_bar_awvalid(wide_awvalid),
      .s_axi_bar_awready(wide_awready),
      .s_axi_bar_wdata(wide_wdata),
      .s_axi_bar_wstrb(wide_wstrb),
      .s_axi_bar_wlast(wide_wlast),
      .s_axi_bar_wvalid(wide_wvalid),
      .s_axi_bar_wready(wide_wready),
      .s_axi_bar_bid(wide_bid),
      .s_axi_bar_bresp(wide_bresp),
      .s_axi_bar_bvalid(wide_bvalid),
      .s_axi_bar_bready(wide_bready),
      .s_axi_bar_arid(wide_arid),
      .s_axi_bar_araddr(wide_araddr),
      .s_axi_bar_arlen(wide_arlen),
      .s_axi_bar_arsize(wide_arsize),
      .s_axi_bar_arburst(wide_arburst),
      .s_axi_bar_arvalid(wide_arvalid),
      .s_axi_bar_arready(wide_arready),
      .s_axi_bar_rid(wide_rid),
      .s_axi_bar_rdata(wide_rdata),
      .s_axi_bar_rresp(wide_rresp),
      .s_axi_bar_rlast(wide_rlast),
      .s_axi_bar_rvalid(wide_rvalid),
      .s_axi_bar_rready(wide_rready),
      .*
  );

endmodule

`default_nettype wire
