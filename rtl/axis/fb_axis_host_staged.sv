// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A host port with its staging memory, and the window through which software reaches that: all that
// takes the user's place at a streamer (docs/reference/host-port.md).
//
// Handshake: AXI4 (identifiers are echoed, answers stay in order), AXI4-Lite, AXI4-Stream, all in one
// clock domain. Latency, throughput and limits: the headers of fb_axis_host and fb_bar_target.
//
// Does not implement: clock crossing; streams for a user beside the host.

`default_nettype none

module fb_axis_host_staged
  import fb_spec_pkg::*;
#(
    parameter int unsigned Pages = 64,  // of both staging halves, a power of two, 16 to 1024
    parameter int unsigned ReadLatency = 3,  // of the staging memory, cycles, 2 to 16
    parameter int unsigned AxiIdBits = 4,  // of the window
    localparam int unsigned HostAddrBits = $clog2(BUFFER_BYTES)
) (
    input wire clk,
    input wire rst,

    // To the streamer, and from it.
    output logic                          m_axis_wr_tvalid,
    input  wire                           m_axis_wr_tready,
    output logic [    USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [   USER_BEAT_BYTES-1:0] m_axis_wr_tkeep,
    output logic                          m_axis_wr_tlast,
    input  wire                           s_axis_wrsp_tvalid,
    output logic                          s_axis_wrsp_tready,
    input  wire  [                   7:0] s_axis_wrsp_tdata,
    output logic                          m_axis_rdcmd_tvalid,
    input  wire                           m_axis_rdcmd_tready,
    output logic [    USER_DATA_BITS-1:0] m_axis_rdcmd_tdata,
    output logic [   USER_BEAT_BYTES-1:0] m_axis_rdcmd_tkeep,
    output logic                          m_axis_rdcmd_tlast,
    input  wire                           s_axis_rd_tvalid,
    output logic                          s_axis_rd_tready,
    input  wire  [    USER_DATA_BITS-1:0] s_axis_rd_tdata,
    input  wire  [   USER_BEAT_BYTES-1:0] s_axis_rd_tkeep,
    input  wire                           s_axis_rd_tlast,
    input  wire  [                   0:0] s_axis_rd_tuser,
    input  wire  [USER_READ_TAG_BITS-1:0] s_axis_rd_tid,

    // Staging window of the host port: 4 MiB, of which Pages are there.
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

  localparam int unsigned WordBits = $clog2(Pages) + 6;

  logic a_en, a_we, b_en;
  logic [WordBits-1:0] a_addr, b_addr;
  logic [63:0] b_we;
  logic [511:0] a_wdata, a_rdata, b_wdata, b_rdata;

  fb_axis_host #(
      .Pages(Pages),
      .ReadLatency(ReadLatency)
  ) u_port (
      .clk,
      .rst,
      .m_axis_wr_tvalid,
      .m_axis_wr_tready,
      .m_axis_wr_tdata,
      .m_axis_wr_tkeep,
      .m_axis_wr_tlast,
      .s_axis_wrsp_tvalid,
      .s_axis_wrsp_tready,
      .s_axis_wrsp_tdata,
      .m_axis_rdcmd_tvalid,
      .m_axis_rdcmd_tready,
      .m_axis_rdcmd_tdata,
      .m_axis_rdcmd_tkeep,
      .m_axis_rdcmd_tlast,
      .s_axis_rd_tvalid,
      .s_axis_rd_tready,
      .s_axis_rd_tdata,
      .s_axis_rd_tkeep,
      .s_axis_rd_tlast,
      .s_axis_rd_tuser,
      .s_axis_rd_tid,
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
      .Pages(Pages),
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

  localparam fb_bar_pkg::aperture_t Staging = '{
      base: '0,
      bits: 6'($clog2(Pages) + 12),
      writable: 1'b1
  };
  localparam fb_bar_pkg::map_t Map = '{fb_bar_pkg::PAYLOAD: Staging, default: fb_bar_pkg::NOWHERE};

  logic [fb_bar_pkg::REGIONS-1:0] writes, reads;
  logic [HostAddrBits-1:0] write_addr, read_addr;
  logic [511:0] write_data, read_word;
  logic [63:0] write_strb;
  logic write_ready, read_ready;

  fb_bar_target #(
      .AddrBits(HostAddrBits),
      .AxiIdBits(AxiIdBits),
      .Latency(ReadLatency),
      .Map(Map)
  ) u_window (
      .clk,
      .rst,
      .s_axi_bar_awid(s_axi_host_awid),
      .s_axi_bar_awaddr(s_axi_host_awaddr),
      .s_axi_bar_awlen(s_axi_host_awlen),
      .s_axi_bar_awsize(s_axi_host_awsize),
      .s_axi_bar_awburst(s_axi_host_awburst),
      .s_axi_bar_awvalid(s_axi_host_awvalid),
      .s_axi_bar_awready(s_axi_host_awready),
      .s_axi_bar_wdata(s_axi_host_wdata),
      .s_axi_bar_wstrb(s_axi_host_wstrb),
      .s_axi_bar_wlast(s_axi_host_wlast),
      .s_axi_bar_wvalid(s_axi_host_wvalid),
      .s_axi_bar_wready(s_axi_host_wready),
      .s_axi_bar_bid(s_axi_host_bid),
      .s_axi_bar_bresp(s_axi_host_bresp),
      .s_axi_bar_bvalid(s_axi_host_bvalid),
      .s_axi_bar_bready(s_axi_host_bready),
      .s_axi_bar_arid(s_axi_host_arid),
      .s_axi_bar_araddr(s_axi_host_araddr),
      .s_axi_bar_arlen(s_axi_host_arlen),
      .s_axi_bar_arsize(s_axi_host_arsize),
      .s_axi_bar_arburst(s_axi_host_arburst),
      .s_axi_bar_arvalid(s_axi_host_arvalid),
      .s_axi_bar_arready(s_axi_host_arready),
      .s_axi_bar_rid(s_axi_host_rid),
      .s_axi_bar_rdata(s_axi_host_rdata),
      .s_axi_bar_rresp(s_axi_host_rresp),
      .s_axi_bar_rlast(s_axi_host_rlast),
      .s_axi_bar_rvalid(s_axi_host_rvalid),
      .s_axi_bar_rready(s_axi_host_rready),
      .write_valid(writes),
      .write_ready({fb_bar_pkg::REGIONS{write_ready}}),
      .write_refused('0),
      .write_addr,
      .write_data,
      .write_strb,
      .write_dwords(),
      .read_valid(reads),
      .read_ready({fb_bar_pkg::REGIONS{read_ready}}),
      .read_addr,
      .read_word({fb_bar_pkg::REGIONS{read_word}}),
      .read_error('0),
      .read_stays(),
      .next_valid(),
      .next_addr()
  );

  fb_buffer_bar #(
      .AddrBits(WordBits)
  ) u_side (
      .clk,
      .rst,
      .bar_write_valid(writes[fb_bar_pkg::PAYLOAD]),
      .bar_write_ready(write_ready),
      .bar_write_addr (write_addr[6+:WordBits]),
      .bar_write_data (write_data),
      .bar_write_strb (write_strb),
      .bar_read_valid (reads[fb_bar_pkg::PAYLOAD]),
      .bar_read_ready (read_ready),
      .bar_read_addr  (read_addr[6+:WordBits]),
      .bar_read_word  (read_word),
      .b_en,
      .b_we,
      .b_addr,
      .b_wdata,
      .b_rdata
  );

  logic unused;
  assign unused = &{1'b0, writes, reads, write_addr, read_addr, 1'b0};

endmodule

`default_nettype wire
