// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// From the wire to flash and back: the network side, a chain of processing elements and the recorder
// (fb_top_front), in front of the streamer with its payload in host memory.
//
// Connect as fb_top_hostdram; to the MAC, 512 bit at 322.265625 MHz, in its own clock; and s_axil_net and
// s_axil_rec to the bridge's memory-mapped master as well. The chain, fb_pe_chain, is in no filelist
// but rtl/pe/pe.f: a pipeline brings its own (docs/reference/pipelines.md).
//
// Handshake: AXI4-Stream, from the MAC without TREADY; AXI4 (identifiers are echoed, answers stay in
// order); AXI4-Lite. `rst` and `rst_mac` overlap for four cycles of the slower clock. No path leads
// from an input to an output without a register.
//
// Does not implement: the MAC; streams for a user beside the network.

`default_nettype none

module fb_top_net_hostdram #(
    parameter int unsigned QueueDepth = 64,  // most entries of the queues, 2 to 1024, power of two
    parameter int unsigned Drives = 1,  // most SSDs, 1 to 8; with QueueDepth at most 1024 entries
    parameter int unsigned ParityPages = 0,  // of the longest chunk with parity; 0: none
    parameter int unsigned ReadBeats = 512,  // beats on their way to the reader, 64 to 1024
    parameter int unsigned AxiIdBits = 4,  // of both windows
    parameter int unsigned ReceiveBeats = 2048,  // of 64 bytes for frames received, see fb_net_port
    parameter int unsigned SendBeats = 512,  // the same for frames to be sent
    localparam int unsigned DataAddrBits = $clog2(fb_spec_pkg::PRP_LISTS_BYTES),
    localparam int unsigned QueueAddrBits = ((QueueDepth > 64) ? $clog2(
        QueueDepth
    ) + 6 : 12) + 1 + $clog2(
        Drives
    )
) (
    input wire clk,
    input wire rst,

    // From the MAC and to it; what comes from it cannot be stopped.
    input wire clk_mac,
    input wire rst_mac,
    input wire s_axis_mac_tvalid,
    input wire [511:0] s_axis_mac_tdata,
    input wire [63:0] s_axis_mac_tkeep,
    input wire s_axis_mac_tlast,
    input wire s_axis_mac_tuser,
    output logic m_axis_mac_tvalid,
    input wire m_axis_mac_tready,
    output logic [511:0] m_axis_mac_tdata,
    output logic [63:0] m_axis_mac_tkeep,
    output logic m_axis_mac_tlast,
    output logic m_axis_mac_tuser,

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

    // Control registers of the network side.
    input wire [11:0] s_axil_net_awaddr,
    input wire [2:0] s_axil_net_awprot,
    input wire s_axil_net_awvalid,
    output logic s_axil_net_awready,
    input wire [63:0] s_axil_net_wdata,
    input wire [7:0] s_axil_net_wstrb,
    input wire s_axil_net_wvalid,
    output logic s_axil_net_wready,
    output logic [1:0] s_axil_net_bresp,
    output logic s_axil_net_bvalid,
    input wire s_axil_net_bready,
    input wire [11:0] s_axil_net_araddr,
    input wire [2:0] s_axil_net_arprot,
    input wire s_axil_net_arvalid,
    output logic s_axil_net_arready,
    output logic [63:0] s_axil_net_rdata,
    output logic [1:0] s_axil_net_rresp,
    output logic s_axil_net_rvalid,
    input wire s_axil_net_rready,

    // Control registers of the recorder.
    input wire [11:0] s_axil_rec_awaddr,
    input wire [2:0] s_axil_rec_awprot,
    input wire s_axil_rec_awvalid,
    output logic s_axil_rec_awready,
    input wire [63:0] s_axil_rec_wdata,
    input wire [7:0] s_axil_rec_wstrb,
    input wire s_axil_rec_wvalid,
    output logic s_axil_rec_wready,
    output logic [1:0] s_axil_rec_bresp,
    output logic s_axil_rec_bvalid,
    input wire s_axil_rec_bready,
    input wire [11:0] s_axil_rec_araddr,
    input wire [2:0] s_axil_rec_arprot,
    input wire s_axil_rec_arvalid,
    output logic s_axil_rec_arready,
    output logic [63:0] s_axil_rec_rdata,
    output logic [1:0] s_axil_rec_rresp,
    output logic s_axil_rec_rvalid,
    input wire s_axil_rec_rready
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
      .Drives(Drives),
      .ParityPages(ParityPages),
      .ReadBeats(ReadBeats),
      .AxiIdBits(AxiIdBits)
  ) u_streamer (
      .*
  );

  fb_top_front #(
      .ReceiveBeats(ReceiveBeats),
      .SendBeats(SendBeats)
  ) u_front (
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
      .*
  );

  logic unused;
  assign unused = &{1'b0, m_axis_wrsp_tlast, m_axis_rd_tid, 1'b0};

endmodule

`default_nettype wire
