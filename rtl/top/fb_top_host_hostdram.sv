// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A whole card: the streamer with its payload in host memory, and a host port in the place of its
// user, for the first bring-up of a board and for tests (docs/reference/host-port.md).
//
// Connect as fb_top_hostdram, and s_axi_host and s_axil_host to the bridge's memory-mapped master as
// well.
//
// Handshake: AXI4 (identifiers are echoed, answers stay in order), AXI4-Lite, all in one clock
// domain. Latency, throughput: docs/reference/memories.md and the header of fb_axis_host. No path
// leads from an input to an output without a register.
//
// Does not implement: clock crossing; streams for a user beside the host.

`default_nettype none

module fb_top_host_hostdram #(
    parameter int unsigned QueueDepth = 64,  // most entries of the queues, 2 to 1024, power of two
    parameter int unsigned HostPages = 64,  // of both staging halves, a power of two, 16 to 1024
    parameter int unsigned ReadLatency = 3,  // of the staging memory, cycles
    parameter int unsigned AxiIdBits = 4,  // of the windows
    localparam int unsigned DataAddrBits = $clog2(fb_spec_pkg::PRP_LISTS_BYTES),
    localparam int unsigned QueueAddrBits = ((QueueDepth > 64) ? $clog2(QueueDepth) + 6 : 12) + 1,
    localparam int unsigned HostAddrBits = $clog2(fb_spec_pkg::BUFFER_BYTES)
) (
    input wire clk,
    input wire rst,

    // Data window: the SSD reads PRP lists.
    input wire [AxiIdBits-1:0] s_axi_data_awid,
    input wire [DataAddrBits-1:0] s_axi_data_awaddr,
    input wire [7:0] s_axi_data_awlen,
    input wire [2:0] s_axi_data_awsize,
    input wire [1:0] s_axi_data_awburst,
    input wire s_axi_data_awvalid,
    output logic s_axi_data_awready,
    input wire [511:0] s_axi_data_wdata,
    input wire [63:0] s_axi_data_wstrb,
    input wire s_axi_data_wlast,
    input wire s_axi_data_wvalid,
    output logic s_axi_data_wready,
    output logic [AxiIdBits-1:0] s_axi_data_bid,
    output logic [1:0] s_axi_data_bresp,
    output logic s_axi_data_bvalid,
    input wire s_axi_data_bready,
    input wire [AxiIdBits-1:0] s_axi_data_arid,
    input wire [DataAddrBits-1:0] s_axi_data_araddr,
    input wire [7:0] s_axi_data_arlen,
    input wire [2:0] s_axi_data_arsize,
    input wire [1:0] s_axi_data_arburst,
    input wire s_axi_data_arvalid,
    output logic s_axi_data_arready,
    output logic [AxiIdBits-1:0] s_axi_data_rid,
    output logic [511:0] s_axi_data_rdata,
    output logic [1:0] s_axi_data_rresp,
    output logic s_axi_data_rlast,
    output logic s_axi_data_rvalid,
    input wire s_axi_data_rready,

    // The bridge to the host.
    output logic [0:0] m_axi_host_awid,
    output logic [63:0] m_axi_host_awaddr,
    output logic [7:0] m_axi_host_awlen,
    output logic [2:0] m_axi_host_awsize,
    output logic [1:0] m_axi_host_awburst,
    output logic m_axi_host_awvalid,
    input wire m_axi_host_awready,
    output logic [511:0] m_axi_host_wdata,
    output logic [63:0] m_axi_host_wstrb,
    output logic m_axi_host_wlast,
    output logic m_axi_host_wvalid,
    input wire m_axi_host_wready,
    input wire [0:0] m_axi_host_bid,
    input wire [1:0] m_axi_host_bresp,
    input wire m_axi_host_bvalid,
    output logic m_axi_host_bready,
    output logic [0:0] m_axi_host_arid,
    output logic [63:0] m_axi_host_araddr,
    output logic [7:0] m_axi_host_arlen,
    output logic [2:0] m_axi_host_arsize,
    output logic [1:0] m_axi_host_arburst,
    output logic m_axi_host_arvalid,
    input wire m_axi_host_arready,
    input wire [0:0] m_axi_host_rid,
    input wire [511:0] m_axi_host_rdata,
    input wire [1:0] m_axi_host_rresp,
    input wire m_axi_host_rlast,
    input wire m_axi_host_rvalid,
    output logic m_axi_host_rready,

    // Queue window: the SSD reads submission and writes completion queue entries.
    input wire [AxiIdBits-1:0] s_axi_queue_awid,
    input wire [QueueAddrBits-1:0] s_axi_queue_awaddr,
    input wire [7:0] s_axi_queue_awlen,
    input wire [2:0] s_axi_queue_awsize,
    input wire [1:0] s_axi_queue_awburst,
    input wire s_axi_queue_awvalid,
    output logic s_axi_queue_awready,
    input wire [511:0] s_axi_queue_wdata,
    input wire [63:0] s_axi_queue_wstrb,
    input wire s_axi_queue_wlast,
    input wire s_axi_queue_wvalid,
    output logic s_axi_queue_wready,
    output logic [AxiIdBits-1:0] s_axi_queue_bid,
    output logic [1:0] s_axi_queue_bresp,
    output logic s_axi_queue_bvalid,
    input wire s_axi_queue_bready,
    input wire [AxiIdBits-1:0] s_axi_queue_arid,
    input wire [QueueAddrBits-1:0] s_axi_queue_araddr,
    input wire [7:0] s_axi_queue_arlen,
    input wire [2:0] s_axi_queue_arsize,
    input wire [1:0] s_axi_queue_arburst,
    input wire s_axi_queue_arvalid,
    output logic s_axi_queue_arready,
    output logic [AxiIdBits-1:0] s_axi_queue_rid,
    output logic [511:0] s_axi_queue_rdata,
    output logic [1:0] s_axi_queue_rresp,
    output logic s_axi_queue_rlast,
    output logic s_axi_queue_rvalid,
    input wire s_axi_queue_rready,

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

    // Control registers.
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
    input wire s_axil_ctrl_rready,

    // Staging window of the host port: 4 MiB, of which HostPages are there.
    input wire [AxiIdBits-1:0] s_axi_host_awid,
    input wire [HostAddrBits-1:0] s_axi_host_awaddr,
    input wire [7:0] s_axi_host_awlen,
    input wire [2:0] s_axi_host_awsize,
    input wire [1:0] s_axi_host_awburst,
    input wire s_axi_host_awvalid,
    output logic s_axi_host_awready,
    input wire [511:0] s_axi_host_wdata,
    input wire [63:0] s_axi_host_wstrb,
    input wire s_axi_host_wlast,
    input wire s_axi_host_wvalid,
    output logic s_axi_host_wready,
    output logic [AxiIdBits-1:0] s_axi_host_bid,
    output logic [1:0] s_axi_host_bresp,
    output logic s_axi_host_bvalid,
    input wire s_axi_host_bready,
    input wire [AxiIdBits-1:0] s_axi_host_arid,
    input wire [HostAddrBits-1:0] s_axi_host_araddr,
    input wire [7:0] s_axi_host_arlen,
    input wire [2:0] s_axi_host_arsize,
    input wire [1:0] s_axi_host_arburst,
    input wire s_axi_host_arvalid,
    output logic s_axi_host_arready,
    output logic [AxiIdBits-1:0] s_axi_host_rid,
    output logic [511:0] s_axi_host_rdata,
    output logic [1:0] s_axi_host_rresp,
    output logic s_axi_host_rlast,
    output logic s_axi_host_rvalid,
    input wire s_axi_host_rready,

    // Control registers of the host port.
    input wire [11:0] s_axil_host_awaddr,
    input wire [2:0] s_axil_host_awprot,
    input wire s_axil_host_awvalid,
    output logic s_axil_host_awready,
    input wire [63:0] s_axil_host_wdata,
    input wire [7:0] s_axil_host_wstrb,
    input wire s_axil_host_wvalid,
    output logic s_axil_host_wready,
    output logic [1:0] s_axil_host_bresp,
    output logic s_axil_host_bvalid,
    input wire s_axil_host_bready,
    input wire [11:0] s_axil_host_araddr,
    input wire [2:0] s_axil_host_arprot,
    input wire s_axil_host_arvalid,
    output logic s_axil_host_arready,
    output logic [63:0] s_axil_host_rdata,
    output logic [1:0] s_axil_host_rresp,
    output logic s_axil_host_rvalid,
    input wire s_axil_host_rready
);

  // The streams, named as the streamer names them.
  logic s_axis_wr_tvalid, s_axis_wr_tready, s_axis_wr_tlast;
  logic m_axis_wrsp_tvalid, m_axis_wrsp_tready, m_axis_wrsp_tlast;
  logic s_axis_rdcmd_tvalid, s_axis_rdcmd_tready, s_axis_rdcmd_tlast;
  logic m_axis_rd_tvalid, m_axis_rd_tready, m_axis_rd_tlast;
  logic [511:0] s_axis_wr_tdata, s_axis_rdcmd_tdata, m_axis_rd_tdata;
  logic [63:0] s_axis_wr_tkeep, s_axis_rdcmd_tkeep, m_axis_rd_tkeep;
  logic [7:0] m_axis_wrsp_tdata, m_axis_rd_tid;
  logic [0:0] m_axis_rd_tuser;

  fb_top_hostdram #(
      .QueueDepth(QueueDepth),
      .AxiIdBits (AxiIdBits)
  ) u_streamer (
      .*
  );

  fb_axis_host_staged #(
      .Pages(HostPages),
      .ReadLatency(ReadLatency),
      .AxiIdBits(AxiIdBits)
  ) u_host (
      .m_axis_wr_tvalid(s_axis_wr_tvalid),
      .m_axis_wr_tready(s_axis_wr_tready),
      .m_axis_wr_tdata(s_axis_wr_tdata),
      .m_axis_wr_tkeep(s_axis_wr_tkeep),
      .m_axis_wr_tlast(s_axis_wr_tlast),
      .s_axis_wrsp_tvalid(m_axis_wrsp_tvalid),
      .s_axis_wrsp_tready(m_axis_wrsp_tready),
      .s_axis_wrsp_tdata(m_axis_wrsp_tdata),
      .m_axis_rdcmd_tvalid(s_axis_rdcmd_tvalid),
      .m_axis_rdcmd_tready(s_axis_rdcmd_tready),
      .m_axis_rdcmd_tdata(s_axis_rdcmd_tdata),
      .m_axis_rdcmd_tkeep(s_axis_rdcmd_tkeep),
      .m_axis_rdcmd_tlast(s_axis_rdcmd_tlast),
      .s_axis_rd_tvalid(m_axis_rd_tvalid),
      .s_axis_rd_tready(m_axis_rd_tready),
      .s_axis_rd_tdata(m_axis_rd_tdata),
      .s_axis_rd_tkeep(m_axis_rd_tkeep),
      .s_axis_rd_tlast(m_axis_rd_tlast),
      .s_axis_rd_tuser(m_axis_rd_tuser),
      .s_axis_rd_tid(m_axis_rd_tid),
      .*
  );

  logic unused;
  assign unused = &{1'b0, m_axis_wrsp_tlast, 1'b0};

endmodule

`default_nettype wire
