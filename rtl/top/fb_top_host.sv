// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A whole card: the on-chip streamer, and a host port in the place of its user. Software on the host
// writes to the SSD and reads from it through the card's BAR; no other IP is needed. It is meant for
// the first bring-up of a board and for tests: replace the host port by your own design then.
//
// Connect as fb_top_onchip, and s_axi_host and s_axil_host to the bridge's memory-mapped master as
// well (docs/modules/host-port.md).
//
// Handshake: AXI4 (identifiers are echoed, answers stay in order), AXI4-Lite, all in one clock
// domain. Latency and throughput: docs/modules/streamer.md, and the header of fb_axis_host. No path
// leads from an input to an output without a register.
//
// Does not implement: clock crossing; streams for a user beside the host.

`default_nettype none

module fb_top_host #(
    parameter int unsigned QueueDepth = 64,  // most entries of the queues, 2 to 1024, power of two
    parameter int unsigned Pages = 1024,  // 4 KiB pages of the buffer, a power of two
    parameter int unsigned ReservePages = 64,  // pages that a resting direction keeps
    parameter int unsigned HostPages = 64,  // of both staging halves, a power of two, 16 to 1024
    parameter int unsigned ReadLatency = 3,  // of both memories, cycles
    parameter int unsigned AxiIdBits = 4,  // of the windows
    localparam int unsigned DataAddrBits = $clog2(fb_spec_pkg::DATA_WINDOW_BYTES),
    localparam int unsigned QueueAddrBits = ((QueueDepth > 64) ? $clog2(QueueDepth) + 6 : 12) + 1,
    localparam int unsigned HostAddrBits = $clog2(fb_spec_pkg::BUFFER_BYTES)
) (
    input wire clk,
    input wire rst,

    // Data window: the SSD reads and writes payload, and reads PRP lists.
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

  localparam int unsigned WordBits = $clog2(HostPages) + 6;

  logic wr_tvalid;
  logic wr_tready;
  logic [511:0] wr_tdata;
  logic [63:0] wr_tkeep;
  logic wr_tlast;
  logic wrsp_tvalid;
  logic wrsp_tready;
  logic [7:0] wrsp_tdata;
  logic wrsp_tlast;
  logic rdcmd_tvalid;
  logic rdcmd_tready;
  logic [511:0] rdcmd_tdata;
  logic [63:0] rdcmd_tkeep;
  logic rdcmd_tlast;
  logic rd_tvalid;
  logic rd_tready;
  logic [511:0] rd_tdata;
  logic [63:0] rd_tkeep;
  logic rd_tlast;
  logic [0:0] rd_tuser;
  logic [7:0] rd_tid;

  logic a_en, a_we, b_en;
  logic [WordBits-1:0] a_addr, b_addr;
  logic [63:0] b_we;
  logic [511:0] a_wdata, a_rdata, b_wdata, b_rdata;

  fb_top_onchip #(
      .QueueDepth(QueueDepth),
      .Pages(Pages),
      .ReservePages(ReservePages),
      .ReadLatency(ReadLatency),
      .AxiIdBits(AxiIdBits)
  ) u_onchip (
      .clk,
      .rst,
      .s_axis_wr_tvalid(wr_tvalid),
      .s_axis_wr_tready(wr_tready),
      .s_axis_wr_tdata(wr_tdata),
      .s_axis_wr_tkeep(wr_tkeep),
      .s_axis_wr_tlast(wr_tlast),
      .m_axis_wrsp_tvalid(wrsp_tvalid),
      .m_axis_wrsp_tready(wrsp_tready),
      .m_axis_wrsp_tdata(wrsp_tdata),
      .m_axis_wrsp_tlast(wrsp_tlast),
      .s_axis_rdcmd_tvalid(rdcmd_tvalid),
      .s_axis_rdcmd_tready(rdcmd_tready),
      .s_axis_rdcmd_tdata(rdcmd_tdata),
      .s_axis_rdcmd_tkeep(rdcmd_tkeep),
      .s_axis_rdcmd_tlast(rdcmd_tlast),
      .m_axis_rd_tvalid(rd_tvalid),
      .m_axis_rd_tready(rd_tready),
      .m_axis_rd_tdata(rd_tdata),
      .m_axis_rd_tkeep(rd_tkeep),
      .m_axis_rd_tlast(rd_tlast),
      .m_axis_rd_tuser(rd_tuser),
      .m_axis_rd_tid(rd_tid),
      .s_axi_data_awid,
      .s_axi_data_awaddr,
      .s_axi_data_awlen,
      .s_axi_data_awsize,
      .s_axi_data_awburst,
      .s_axi_data_awvalid,
      .s_axi_data_awready,
      .s_axi_data_wdata,
      .s_axi_data_wstrb,
      .s_axi_data_wlast,
      .s_axi_data_wvalid,
      .s_axi_data_wready,
      .s_axi_data_bid,
      .s_axi_data_bresp,
      .s_axi_data_bvalid,
      .s_axi_data_bready,
      .s_axi_data_arid,
      .s_axi_data_araddr,
      .s_axi_data_arlen,
      .s_axi_data_arsize,
      .s_axi_data_arburst,
      .s_axi_data_arvalid,
      .s_axi_data_arready,
      .s_axi_data_rid,
      .s_axi_data_rdata,
      .s_axi_data_rresp,
      .s_axi_data_rlast,
      .s_axi_data_rvalid,
      .s_axi_data_rready,
      .s_axi_queue_awid,
      .s_axi_queue_awaddr,
      .s_axi_queue_awlen,
      .s_axi_queue_awsize,
      .s_axi_queue_awburst,
      .s_axi_queue_awvalid,
      .s_axi_queue_awready,
      .s_axi_queue_wdata,
      .s_axi_queue_wstrb,
      .s_axi_queue_wlast,
      .s_axi_queue_wvalid,
      .s_axi_queue_wready,
      .s_axi_queue_bid,
      .s_axi_queue_bresp,
      .s_axi_queue_bvalid,
      .s_axi_queue_bready,
      .s_axi_queue_arid,
      .s_axi_queue_araddr,
      .s_axi_queue_arlen,
      .s_axi_queue_arsize,
      .s_axi_queue_arburst,
      .s_axi_queue_arvalid,
      .s_axi_queue_arready,
      .s_axi_queue_rid,
      .s_axi_queue_rdata,
      .s_axi_queue_rresp,
      .s_axi_queue_rlast,
      .s_axi_queue_rvalid,
      .s_axi_queue_rready,
      .m_axil_db_awaddr,
      .m_axil_db_awprot,
      .m_axil_db_awvalid,
      .m_axil_db_awready,
      .m_axil_db_wdata,
      .m_axil_db_wstrb,
      .m_axil_db_wvalid,
      .m_axil_db_wready,
      .m_axil_db_bresp,
      .m_axil_db_bvalid,
      .m_axil_db_bready,
      .m_axil_db_araddr,
      .m_axil_db_arprot,
      .m_axil_db_arvalid,
      .m_axil_db_arready,
      .m_axil_db_rdata,
      .m_axil_db_rresp,
      .m_axil_db_rvalid,
      .m_axil_db_rready,
      .s_axil_ctrl_awaddr,
      .s_axil_ctrl_awprot,
      .s_axil_ctrl_awvalid,
      .s_axil_ctrl_awready,
      .s_axil_ctrl_wdata,
      .s_axil_ctrl_wstrb,
      .s_axil_ctrl_wvalid,
      .s_axil_ctrl_wready,
      .s_axil_ctrl_bresp,
      .s_axil_ctrl_bvalid,
      .s_axil_ctrl_bready,
      .s_axil_ctrl_araddr,
      .s_axil_ctrl_arprot,
      .s_axil_ctrl_arvalid,
      .s_axil_ctrl_arready,
      .s_axil_ctrl_rdata,
      .s_axil_ctrl_rresp,
      .s_axil_ctrl_rvalid,
      .s_axil_ctrl_rready
  );

  fb_axis_host #(
      .Pages(HostPages),
      .ReadLatency(ReadLatency)
  ) u_host (
      .clk,
      .rst,
      .m_axis_wr_tvalid(wr_tvalid),
      .m_axis_wr_tready(wr_tready),
      .m_axis_wr_tdata(wr_tdata),
      .m_axis_wr_tkeep(wr_tkeep),
      .m_axis_wr_tlast(wr_tlast),
      .s_axis_wrsp_tvalid(wrsp_tvalid),
      .s_axis_wrsp_tready(wrsp_tready),
      .s_axis_wrsp_tdata(wrsp_tdata),
      .m_axis_rdcmd_tvalid(rdcmd_tvalid),
      .m_axis_rdcmd_tready(rdcmd_tready),
      .m_axis_rdcmd_tdata(rdcmd_tdata),
      .m_axis_rdcmd_tkeep(rdcmd_tkeep),
      .m_axis_rdcmd_tlast(rdcmd_tlast),
      .s_axis_rd_tvalid(rd_tvalid),
      .s_axis_rd_tready(rd_tready),
      .s_axis_rd_tdata(rd_tdata),
      .s_axis_rd_tkeep(rd_tkeep),
      .s_axis_rd_tlast(rd_tlast),
      .s_axis_rd_tuser(rd_tuser),
      .s_axis_rd_tid(rd_tid),
      .mem_en(a_en),
      .mem_we(a_we),
      .mem_addr(a_addr),
      .mem_wdata(a_wdata),
      .mem_rdata(a_rdata),
      .s_axil_host_awaddr,
      .s_axil_host_awprot,
      .s_axil_host_awvalid,
      .s_axil_host_awready,
      .s_axil_host_wdata,
      .s_axil_host_wstrb,
      .s_axil_host_wvalid,
      .s_axil_host_wready,
      .s_axil_host_bresp,
      .s_axil_host_bvalid,
      .s_axil_host_bready,
      .s_axil_host_araddr,
      .s_axil_host_arprot,
      .s_axil_host_arvalid,
      .s_axil_host_arready,
      .s_axil_host_rdata,
      .s_axil_host_rresp,
      .s_axil_host_rvalid,
      .s_axil_host_rready
  );

  fb_buffer_onchip #(
      .Pages(HostPages),
      .ReadLatency(ReadLatency)
  ) u_staging (
      .clk,
      .a_en,
      .a_we,
      .a_addr,
      .a_wdata,
      .a_rdata,
      .b_en,
      .b_we,
      .b_addr,
      .b_wdata,
      .b_rdata
  );

  // Of the two views that this window has, the lower one; nobody asks for PRP lists.
  fb_buffer_window #(
      .Pages(HostPages),
      .AxiIdBits(AxiIdBits),
      .ReadLatency(ReadLatency)
  ) u_window (
      .clk,
      .rst,
      .data_window_base('0),
      .s_axi_data_awid(s_axi_host_awid),
      .s_axi_data_awaddr({1'b0, s_axi_host_awaddr}),
      .s_axi_data_awlen(s_axi_host_awlen),
      .s_axi_data_awsize(s_axi_host_awsize),
      .s_axi_data_awburst(s_axi_host_awburst),
      .s_axi_data_awvalid(s_axi_host_awvalid),
      .s_axi_data_awready(s_axi_host_awready),
      .s_axi_data_wdata(s_axi_host_wdata),
      .s_axi_data_wstrb(s_axi_host_wstrb),
      .s_axi_data_wlast(s_axi_host_wlast),
      .s_axi_data_wvalid(s_axi_host_wvalid),
      .s_axi_data_wready(s_axi_host_wready),
      .s_axi_data_bid(s_axi_host_bid),
      .s_axi_data_bresp(s_axi_host_bresp),
      .s_axi_data_bvalid(s_axi_host_bvalid),
      .s_axi_data_bready(s_axi_host_bready),
      .s_axi_data_arid(s_axi_host_arid),
      .s_axi_data_araddr({1'b0, s_axi_host_araddr}),
      .s_axi_data_arlen(s_axi_host_arlen),
      .s_axi_data_arsize(s_axi_host_arsize),
      .s_axi_data_arburst(s_axi_host_arburst),
      .s_axi_data_arvalid(s_axi_host_arvalid),
      .s_axi_data_arready(s_axi_host_arready),
      .s_axi_data_rid(s_axi_host_rid),
      .s_axi_data_rdata(s_axi_host_rdata),
      .s_axi_data_rresp(s_axi_host_rresp),
      .s_axi_data_rlast(s_axi_host_rlast),
      .s_axi_data_rvalid(s_axi_host_rvalid),
      .s_axi_data_rready(s_axi_host_rready),
      .b_en,
      .b_we,
      .b_addr,
      .b_wdata,
      .b_rdata
  );

  logic unused;
  assign unused = &{1'b0, wrsp_tlast, 1'b0};

endmodule

`default_nettype wire
