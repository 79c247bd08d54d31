// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The on-chip streamer: payload in UltraRAM, nothing outside the chip but the PCIe bridge.
//
// Connect the two AXI4 targets and the control registers to the bridge's memory-mapped master, and
// the doorbell initiator to its slave; give the SSD the bridge's addresses of the two windows
// (docs/how-to/integrate.md). The four streams are the user's.
//
// Handshake: AXI4-Stream, AXI4 (identifiers are echoed, answers stay in order), AXI4-Lite, all in
// one clock domain. Latency and throughput: docs/reference/streamer.md. No path leads from an input
// to an output without a register.
//
// Does not implement: clock crossing; payload in DRAM.

`default_nettype none

module fb_top_onchip #(
    parameter int unsigned QueueDepth = 64,  // most entries of the queues, 2 to 1024, power of two
    parameter int unsigned Drives = 1,  // most SSDs, 1 to 8; with QueueDepth at most 1024 entries
    parameter int unsigned ParityPages = 0,  // of the longest chunk with parity; 0: none
    parameter int unsigned Pages = 1024,  // units of the buffer, a power of two
    parameter int unsigned UnitBits = 0,  // log2 of the 4 KiB pages of a unit, 0 to 2: 4 to 16 MiB
    parameter int unsigned ReservePages = 64,  // units that a resting direction keeps
    parameter int unsigned ReadLatency = 3,  // of the buffer memory, cycles
    parameter int unsigned AxiIdBits = 4,  // of both windows
    localparam int unsigned DataAddrBits = $clog2(fb_spec_pkg::DATA_WINDOW_BYTES) + UnitBits,
    localparam int unsigned QueueAddrBits = ((QueueDepth > 64) ? $clog2(
        QueueDepth
    ) + 6 : 12) + 1 + $clog2(
        Drives
    )
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
    input wire s_axil_ctrl_rready
);

  localparam int unsigned WordBits = $clog2(Pages) + UnitBits + 6;

  logic a_en, a_we, b_en;
  logic [15+UnitBits:0] a_addr;
  logic [WordBits-1:0] b_addr;
  logic [63:0] b_we;
  logic [511:0] a_wdata, a_rdata, b_wdata, b_rdata;
  logic put_valid, put_end, put_hold, landed, get_valid, get_ready, got_valid, mem_restart;
  logic [15+UnitBits:0] put_addr, get_addr;
  logic [511:0] put_data, got_data;
  logic [63:0] data_window;

  fb_nvme_streamer #(
      .QueueDepth(QueueDepth),
      .Drives(Drives),
      .ParityPages(ParityPages),
      .Pages(Pages),
      .UnitBits(UnitBits),
      .ReservePages(ReservePages),
      .AxiIdBits(AxiIdBits)
  ) u_streamer (
      .clk,
      .rst,
      .s_axis_wr_tvalid,
      .s_axis_wr_tready,
      .s_axis_wr_tdata,
      .s_axis_wr_tkeep,
      .s_axis_wr_tlast,
      .m_axis_wrsp_tvalid,
      .m_axis_wrsp_tready,
      .m_axis_wrsp_tdata,
      .s_axis_rdcmd_tvalid,
      .s_axis_rdcmd_tready,
      .s_axis_rdcmd_tdata(s_axis_rdcmd_tdata[255:0]),
      .m_axis_rd_tvalid,
      .m_axis_rd_tready,
      .m_axis_rd_tdata,
      .m_axis_rd_tkeep,
      .m_axis_rd_tlast,
      .m_axis_rd_tuser,
      .m_axis_rd_tid,
      .mem_put_valid(put_valid),
      .mem_put_addr(put_addr),
      .mem_put_data(put_data),
      .mem_put_end(put_end),
      .mem_put_hold(put_hold),
      .mem_landed(landed),
      .mem_landed_error(1'b0),
      .mem_get_valid(get_valid),
      .mem_get_ready(get_ready),
      .mem_get_addr(get_addr),
      .mem_get_first(),
      .mem_get_count(),
      .mem_got_valid(got_valid),
      .mem_got_error(1'b0),
      .mem_got_data(got_data),
      .mem_restart(mem_restart),
      .mem_quiet(1'b1),
      .mem_errors(2'b00),
      .data_window,
      .prp_lists(),
      .dram_read(),
      .dram_write(),
      .piece_we(),
      .piece_index(),
      .piece_address(),
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
  assign m_axis_wrsp_tlast = 1'b1;  // a response is a packet of one beat

  fb_buffer_port #(
      .ReadLatency(ReadLatency),
      .UnitBits(UnitBits)
  ) u_port (
      .clk,
      .restart(mem_restart),
      .put_valid,
      .put_addr,
      .put_data,
      .put_end,
      .put_hold,
      .landed,
      .get_valid,
      .get_ready,
      .get_addr,
      .got_valid,
      .got_data,
      .a_en,
      .a_we,
      .a_addr,
      .a_wdata,
      .a_rdata
  );

  fb_buffer_onchip #(
      .Pages(Pages << UnitBits),
      .ReadLatency(ReadLatency)
  ) u_buffer (
      .clk,
      .a_en,
      .a_we,
      .a_addr(WordBits'(a_addr)),
      .a_wdata,
      .a_rdata,
      .b_en,
      .b_we,
      .b_addr,
      .b_wdata,
      .b_rdata
  );

  fb_buffer_window #(
      .Pages(Pages),
      .UnitBits(UnitBits),
      .AxiIdBits(AxiIdBits),
      .ReadLatency(ReadLatency)
  ) u_window (
      .clk,
      .rst,
      .data_window_base(data_window),
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
      .b_en,
      .b_we,
      .b_addr,
      .b_wdata,
      .b_rdata
  );

endmodule

`default_nettype wire
