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

  fb_axi_if #(
      .IdBits  (AxiIdBits),
      .AddrBits(BarAddrBits),
      .DataBits(NarrowBits)
  ) narrow (
      .*
  );
  fb_axi_if #(
      .IdBits  (AxiIdBits),
      .AddrBits(BarAddrBits)
  ) wide (
      .*
  );
  assign narrow.awid = s_axi_bar_awid;
  assign narrow.awaddr = s_axi_bar_awaddr;
  assign narrow.awlen = s_axi_bar_awlen;
  assign narrow.awsize = s_axi_bar_awsize;
  assign narrow.awburst = s_axi_bar_awburst;
  assign narrow.awvalid = s_axi_bar_awvalid;
  assign s_axi_bar_awready = narrow.awready;
  assign narrow.wdata = s_axi_bar_wdata;
  assign narrow.wstrb = s_axi_bar_wstrb;
  assign narrow.wlast = s_axi_bar_wlast;
  assign narrow.wvalid = s_axi_bar_wvalid;
  assign s_axi_bar_wready = narrow.wready;
  assign s_axi_bar_bid = narrow.bid;
  assign s_axi_bar_bresp = narrow.bresp;
  assign s_axi_bar_bvalid = narrow.bvalid;
  assign narrow.bready = s_axi_bar_bready;
  assign narrow.arid = s_axi_bar_arid;
  assign narrow.araddr = s_axi_bar_araddr;
  assign narrow.arlen = s_axi_bar_arlen;
  assign narrow.arsize = s_axi_bar_arsize;
  assign narrow.arburst = s_axi_bar_arburst;
  assign narrow.arvalid = s_axi_bar_arvalid;
  assign s_axi_bar_arready = narrow.arready;
  assign s_axi_bar_rid = narrow.rid;
  assign s_axi_bar_rdata = narrow.rdata;
  assign s_axi_bar_rresp = narrow.rresp;
  assign s_axi_bar_rlast = narrow.rlast;
  assign s_axi_bar_rvalid = narrow.rvalid;
  assign narrow.rready = s_axi_bar_rready;

  fb_axi_width #(
      .NarrowBits(NarrowBits)
  ) u_width (
      .s_axi(narrow),
      .m_axi(wide),
      .*
  );

  fb_top_onchip #(
      .QueueDepth(QueueDepth),
      .Pages(Pages),
      .ReservePages(ReservePages),
      .Slices(Slices)
  ) u_top (
      .s_axi_bar_awid(wide.awid),
      .s_axi_bar_awaddr(wide.awaddr),
      .s_axi_bar_awlen(wide.awlen),
      .s_axi_bar_awsize(wide.awsize),
      .s_axi_bar_awburst(wide.awburst),
      .s_axi_bar_awvalid(wide.awvalid),
      .s_axi_bar_awready(wide.awready),
      .s_axi_bar_wdata(wide.wdata),
      .s_axi_bar_wstrb(wide.wstrb),
      .s_axi_bar_wlast(wide.wlast),
      .s_axi_bar_wvalid(wide.wvalid),
      .s_axi_bar_wready(wide.wready),
      .s_axi_bar_bid(wide.bid),
      .s_axi_bar_bresp(wide.bresp),
      .s_axi_bar_bvalid(wide.bvalid),
      .s_axi_bar_bready(wide.bready),
      .s_axi_bar_arid(wide.arid),
      .s_axi_bar_araddr(wide.araddr),
      .s_axi_bar_arlen(wide.arlen),
      .s_axi_bar_arsize(wide.arsize),
      .s_axi_bar_arburst(wide.arburst),
      .s_axi_bar_arvalid(wide.arvalid),
      .s_axi_bar_arready(wide.arready),
      .s_axi_bar_rid(wide.rid),
      .s_axi_bar_rdata(wide.rdata),
      .s_axi_bar_rresp(wide.rresp),
      .s_axi_bar_rlast(wide.rlast),
      .s_axi_bar_rvalid(wide.rvalid),
      .s_axi_bar_rready(wide.rready),
      .*
  );

endmodule

`default_nettype wire
