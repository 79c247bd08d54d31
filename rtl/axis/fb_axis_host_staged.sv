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
    fb_axi_if.target s_axi_host,

    // Control registers of the host port.
    fb_axil_if.target s_axil_host
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
      .s_axil_host
  );

  fb_payload_ram #(
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
  logic [HostAddrBits-1:0] write_addr, read_addr, next_addr;
  fb_bar_memory_if #(.AddrBits(WordBits)) bar_memory ();

  fb_bar_target #(
      .AddrBits(HostAddrBits),
      .AxiIdBits(AxiIdBits),
      .Latency(ReadLatency),
      .Map(Map)
  ) u_window (
      .clk,
      .rst,
      .s_axi_bar(s_axi_host),
      .write_valid(writes),
      .write_ready({fb_bar_pkg::REGIONS{bar_memory.write_ready}}),
      .write_refused('0),
      .write_addr,
      .write_data(bar_memory.write_data),
      .write_strb(bar_memory.write_strb),
      .write_dwords(),
      .read_valid(reads),
      .read_ready({fb_bar_pkg::REGIONS{bar_memory.read_ready}}),
      .read_addr,
      .read_word({fb_bar_pkg::REGIONS{bar_memory.read_word}}),
      .read_error({fb_bar_pkg::REGIONS{bar_memory.read_error}}),
      .read_stays(bar_memory.read_stays),
      .next_valid(bar_memory.next_valid),
      .next_addr
  );

  assign bar_memory.write_valid = writes[fb_bar_pkg::PAYLOAD];
  assign bar_memory.write_addr  = write_addr[6+:WordBits];
  assign bar_memory.read_valid  = reads[fb_bar_pkg::PAYLOAD];
  assign bar_memory.read_addr   = read_addr[6+:WordBits];
  assign bar_memory.next_addr   = next_addr[6+:WordBits];

  fb_payload_bar_port #(
      .AddrBits(WordBits)
  ) u_side (
      .clk,
      .rst,
      .bar_memory,
      .b_en,
      .b_we,
      .b_addr,
      .b_wdata,
      .b_rdata
  );

  logic unused;
  assign unused = &{1'b0, writes, reads, write_addr, read_addr, next_addr, 1'b0};

endmodule

`default_nettype wire
