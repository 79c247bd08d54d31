// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw and a FIFO beside it, which may say what it has room for, may pause, and may keep beats
// back until it has a burst of them or is flushed, as fb_buffer_stream does.

`default_nettype none

module fb_store_raw_tb
  import fb_spec_pkg::*;
#(
    parameter int unsigned Chunks = 4,
    parameter int unsigned FifoBeats = 1024
) (
    input wire clk,
    input wire rst,

    input wire fifo_says,    // what it has room for
    input wire fifo_pauses,  // it takes nothing
    input wire fifo_keeps,   // it waits for a burst

    // Of a FIFO in memory.
    input  wire  [34:0] fifo_level,
    input  wire  [34:0] fifo_high_water,
    output logic        fifo_begins,
    input  wire         fifo_write_error,
    input  wire         fifo_read_error,

    // From the bring-up.
    input wire        hold,          // the drive is not ready
    input wire        drives_reset,
    input wire [63:0] media_bytes,
    input wire [ 7:0] block_shift,

    input wire [63:0] now_ns,

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

    input  wire                       s_axis_in_tvalid,
    output logic                      s_axis_in_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_in_tdata,

    output logic                      m_axis_out_tvalid,
    input  wire                       m_axis_out_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_out_tdata,
    output logic                      m_axis_out_tlast,
    output logic                      m_axis_out_tuser,

    // The streamer.
    output logic                       m_axis_wr_tvalid,
    input  wire                        m_axis_wr_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_wr_tkeep,      // all, or none where a beat only ends
    output logic                       m_axis_wr_tlast,
    input  wire                        s_axis_wrsp_tvalid,
    output logic                       s_axis_wrsp_tready,
    input  wire  [                7:0] s_axis_wrsp_tdata,
    output logic                       m_axis_rdcmd_tvalid,
    input  wire                        m_axis_rdcmd_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_rdcmd_tdata,
    output logic                       m_axis_rdcmd_tlast,
    input  wire                        s_axis_rd_tvalid,
    output logic                       s_axis_rd_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_rd_tdata,
    input  wire                        s_axis_rd_tlast,
    input  wire                        s_axis_rd_tuser
);

  logic fifo_in_valid, fifo_in_ready, fifo_in_takes, fifo_out_valid, fifo_out_ready;
  logic [511:0] fifo_in_data, fifo_out_data;
  logic [31:0] fifo_free;
  logic [$clog2(FifoBeats):0] level;
  logic fifo_flush, fifo_there;
  logic [5:0] burst_q;  // beats that the burst still has

  assign fifo_in_ready = fifo_in_takes && !fifo_pauses;
  assign fifo_out_valid = fifo_there &&
      (!fifo_keeps || fifo_flush || burst_q != '0 || 32'(level) >= 64);
  always_ff @(posedge clk) begin
    if (rst) burst_q <= '0;
    else if (fifo_out_valid && fifo_out_ready) burst_q <= burst_q - 1'b1;
  end
  assign fifo_free = fifo_says ? FifoBeats - 32'(level) : '1;

  fb_common_fifo #(
      .Width(512),
      .Depth(FifoBeats)
  ) u_fifo (
      .clk,
      .rst,
      .s_valid(fifo_in_valid && !fifo_pauses),
      .s_ready(fifo_in_takes),
      .s_data (fifo_in_data),
      .m_valid(fifo_there),
      .m_ready(fifo_out_valid && fifo_out_ready),
      .m_data (fifo_out_data),
      .level
  );

  fb_store_raw #(
      .Chunks(Chunks)
  ) u_dut (
      .m_axis_fifo_tvalid(fifo_in_valid),
      .m_axis_fifo_tready(fifo_in_ready),
      .m_axis_fifo_tdata (fifo_in_data),
      .s_axis_fifo_tvalid(fifo_out_valid),
      .s_axis_fifo_tready(fifo_out_ready),
      .s_axis_fifo_tdata (fifo_out_data),
      .*
  );

endmodule

`default_nettype wire
