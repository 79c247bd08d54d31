// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw, a FIFO beside it, and the on-chip streamer that it uses.

`default_nettype none

module fb_store_raw_streamer_tb #(
    parameter int unsigned Chunks = 4,
    parameter int unsigned QueueDepth = 16,
    parameter int unsigned Pages = 64,
    localparam int unsigned BarAddrBits = $clog2(fb_spec_pkg::BAR0_BYTES)
) (
    input wire clk,
    input wire rst,

    input wire        hold,
    input wire        drives_reset,
    input wire [63:0] media_bytes,
    input wire [ 7:0] block_shift,

    input  wire  [11:0] s_axil_raw_awaddr,
    input  wire  [ 2:0] s_axil_raw_awprot,
    input  wire         s_axil_raw_awvalid,
    output logic        s_axil_raw_awready,
    input  wire  [63:0] s_axil_raw_wdata,
    input  wire  [ 7:0] s_axil_raw_wstrb,
    input  wire         s_axil_raw_wvalid,
    output logic        s_axil_raw_wready,
    output logic [ 1:0] s_axil_raw_bresp,
    output logic        s_axil_raw_bvalid,
    input  wire         s_axil_raw_bready,
    input  wire  [11:0] s_axil_raw_araddr,
    input  wire  [ 2:0] s_axil_raw_arprot,
    input  wire         s_axil_raw_arvalid,
    output logic        s_axil_raw_arready,
    output logic [63:0] s_axil_raw_rdata,
    output logic [ 1:0] s_axil_raw_rresp,
    output logic        s_axil_raw_rvalid,
    input  wire         s_axil_raw_rready,

    input  wire          s_axis_in_tvalid,
    output logic         s_axis_in_tready,
    input  wire  [511:0] s_axis_in_tdata,
    output logic         m_axis_out_tvalid,
    input  wire          m_axis_out_tready,
    output logic [511:0] m_axis_out_tdata,
    output logic         m_axis_out_tlast,
    output logic         m_axis_out_tuser,

    input  wire  [            3:0] s_axi_bar_awid,
    input  wire  [BarAddrBits-1:0] s_axi_bar_awaddr,
    input  wire  [            7:0] s_axi_bar_awlen,
    input  wire  [            2:0] s_axi_bar_awsize,
    input  wire  [            1:0] s_axi_bar_awburst,
    input  wire                    s_axi_bar_awvalid,
    output logic                   s_axi_bar_awready,
    input  wire  [          511:0] s_axi_bar_wdata,
    input  wire  [           63:0] s_axi_bar_wstrb,
    input  wire                    s_axi_bar_wlast,
    input  wire                    s_axi_bar_wvalid,
    output logic                   s_axi_bar_wready,
    output logic [            3:0] s_axi_bar_bid,
    output logic [            1:0] s_axi_bar_bresp,
    output logic                   s_axi_bar_bvalid,
    input  wire                    s_axi_bar_bready,
    input  wire  [            3:0] s_axi_bar_arid,
    input  wire  [BarAddrBits-1:0] s_axi_bar_araddr,
    input  wire  [            7:0] s_axi_bar_arlen,
    input  wire  [            2:0] s_axi_bar_arsize,
    input  wire  [            1:0] s_axi_bar_arburst,
    input  wire                    s_axi_bar_arvalid,
    output logic                   s_axi_bar_arready,
    output logic [            3:0] s_axi_bar_rid,
    output logic [          511:0] s_axi_bar_rdata,
    output logic [            1:0] s_axi_bar_rresp,
    output logic                   s_axi_bar_rlast,
    output logic                   s_axi_bar_rvalid,
    input  wire                    s_axi_bar_rready,

    output logic [63:0] m_axil_db_awaddr,
    output logic [ 2:0] m_axil_db_awprot,
    output logic        m_axil_db_awvalid,
    input  wire         m_axil_db_awready,
    output logic [31:0] m_axil_db_wdata,
    output logic [ 3:0] m_axil_db_wstrb,
    output logic        m_axil_db_wvalid,
    input  wire         m_axil_db_wready,
    input  wire  [ 1:0] m_axil_db_bresp,
    input  wire         m_axil_db_bvalid,
    output logic        m_axil_db_bready,
    output logic [63:0] m_axil_db_araddr,
    output logic [ 2:0] m_axil_db_arprot,
    output logic        m_axil_db_arvalid,
    input  wire         m_axil_db_arready,
    input  wire  [31:0] m_axil_db_rdata,
    input  wire  [ 1:0] m_axil_db_rresp,
    input  wire         m_axil_db_rvalid,
    output logic        m_axil_db_rready,

    input  wire  [11:0] s_axil_ctrl_awaddr,
    input  wire  [ 2:0] s_axil_ctrl_awprot,
    input  wire         s_axil_ctrl_awvalid,
    output logic        s_axil_ctrl_awready,
    input  wire  [63:0] s_axil_ctrl_wdata,
    input  wire  [ 7:0] s_axil_ctrl_wstrb,
    input  wire         s_axil_ctrl_wvalid,
    output logic        s_axil_ctrl_wready,
    output logic [ 1:0] s_axil_ctrl_bresp,
    output logic        s_axil_ctrl_bvalid,
    input  wire         s_axil_ctrl_bready,
    input  wire  [11:0] s_axil_ctrl_araddr,
    input  wire  [ 2:0] s_axil_ctrl_arprot,
    input  wire         s_axil_ctrl_arvalid,
    output logic        s_axil_ctrl_arready,
    output logic [63:0] s_axil_ctrl_rdata,
    output logic [ 1:0] s_axil_ctrl_rresp,
    output logic        s_axil_ctrl_rvalid,
    input  wire         s_axil_ctrl_rready
);

  logic fifo_in_valid, fifo_in_ready, fifo_out_valid, fifo_out_ready;
  logic [511:0] fifo_in_data, fifo_out_data;
  logic [9:0] level;

  fb_common_fifo #(
      .Width(512),
      .Depth(512)
  ) u_fifo (
      .clk,
      .rst,
      .s_valid(fifo_in_valid),
      .s_ready(fifo_in_ready),
      .s_data (fifo_in_data),
      .m_valid(fifo_out_valid),
      .m_ready(fifo_out_ready),
      .m_data (fifo_out_data),
      .level
  );

  logic wr_valid, wr_ready, wr_last, wrsp_valid, wrsp_ready;
  logic rdcmd_valid, rdcmd_ready, rdcmd_last, rd_valid, rd_ready, rd_last, rd_user;
  logic [511:0] wr_data, rdcmd_data, rd_data;
  logic [63:0] wr_keep;
  logic [ 7:0] wrsp_data;

  fb_store_raw #(
      .Chunks(Chunks)
  ) u_dut (
      .now_ns(64'd0),
      .m_axis_fifo_tvalid(fifo_in_valid),
      .m_axis_fifo_tready(fifo_in_ready),
      .m_axis_fifo_tdata(fifo_in_data),
      .fifo_free(32'd512 - 32'(level)),
      .fifo_flush(),
      .fifo_level('0),
      .fifo_high_water('0),
      .fifo_begins(),
      .fifo_write_error(1'b0),
      .fifo_read_error(1'b0),
      .s_axis_fifo_tvalid(fifo_out_valid),
      .s_axis_fifo_tready(fifo_out_ready),
      .s_axis_fifo_tdata(fifo_out_data),
      .m_axis_wr_tvalid(wr_valid),
      .m_axis_wr_tready(wr_ready),
      .m_axis_wr_tdata(wr_data),
      .m_axis_wr_tkeep(wr_keep),
      .m_axis_wr_tlast(wr_last),
      .s_axis_wrsp_tvalid(wrsp_valid),
      .s_axis_wrsp_tready(wrsp_ready),
      .s_axis_wrsp_tdata(wrsp_data),
      .m_axis_rdcmd_tvalid(rdcmd_valid),
      .m_axis_rdcmd_tready(rdcmd_ready),
      .m_axis_rdcmd_tdata(rdcmd_data),
      .m_axis_rdcmd_tlast(rdcmd_last),
      .s_axis_rd_tvalid(rd_valid),
      .s_axis_rd_tready(rd_ready),
      .s_axis_rd_tdata(rd_data),
      .s_axis_rd_tlast(rd_last),
      .s_axis_rd_tuser(rd_user),
      .*
  );

  fb_top_onchip #(
      .QueueDepth(QueueDepth),
      .Pages(Pages),
      .ReservePages(Pages / 4)
  ) u_streamer (
      .s_axis_wr_tvalid(wr_valid),
      .s_axis_wr_tready(wr_ready),
      .s_axis_wr_tdata(wr_data),
      .s_axis_wr_tkeep(wr_keep),
      .s_axis_wr_tlast(wr_last),
      .m_axis_wrsp_tvalid(wrsp_valid),
      .m_axis_wrsp_tready(wrsp_ready),
      .m_axis_wrsp_tdata(wrsp_data),
      .m_axis_wrsp_tlast(),
      .s_axis_rdcmd_tvalid(rdcmd_valid),
      .s_axis_rdcmd_tready(rdcmd_ready),
      .s_axis_rdcmd_tdata(rdcmd_data),
      .s_axis_rdcmd_tkeep('1),
      .s_axis_rdcmd_tlast(rdcmd_last),
      .m_axis_rd_tvalid(rd_valid),
      .m_axis_rd_tready(rd_ready),
      .m_axis_rd_tdata(rd_data),
      .m_axis_rd_tkeep(),
      .m_axis_rd_tlast(rd_last),
      .m_axis_rd_tuser(rd_user),
      .m_axis_rd_tid(),
      .*
  );

endmodule

`default_nettype wire
