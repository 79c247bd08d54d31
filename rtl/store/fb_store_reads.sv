// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_reads: sources of read commands take turns at one streamer; data go back to who asked.
//
// What:        the last of the sources that want to read goes first; it has the least to ask. Data
//              come in the order of the commands, so that whose they are is a queue.
// Handshake:   valid/ready; data and their ready pass within the cycle.
// Latency:     1 cycle for a command, none for data.
// Throughput:  a command in two cycles; 64 bytes a cycle.
// Limits:      Depth commands may have data on their way. 512-bit registers: none.
// Does not implement: fairness.

`default_nettype none

module fb_store_reads
  import fb_spec_pkg::*;
#(
    parameter int unsigned Sources = 2,  // 2 to 4
    parameter int unsigned Depth = 64,  // commands without their last beat, a power of two, 2 to 1024
    localparam int unsigned Bits = $clog2(Sources)
) (
    input wire clk,
    input wire rst,

    input  wire  [Sources-1:0]                     s_axis_rdcmd_tvalid,
    output logic [Sources-1:0]                     s_axis_rdcmd_tready,
    input  wire  [Sources-1:0][USER_DATA_BITS-1:0] s_axis_rdcmd_tdata,
    output logic [Sources-1:0]                     m_axis_rd_tvalid,
    input  wire  [Sources-1:0]                     m_axis_rd_tready,

    output logic                      m_axis_rdcmd_tvalid,
    input  wire                       m_axis_rdcmd_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_rdcmd_tdata,
    input  wire                       s_axis_rd_tvalid,
    output logic                      s_axis_rd_tready,
    input  wire                       s_axis_rd_tlast
);

  if (Sources < 2 || Sources > 4) begin : gen_bad_sources
    $fatal(1, "fb_store_reads (%m): Sources=%0d must be 2 to 4", Sources);
  end

  logic turn_q;  // a command is offered
  logic [Bits-1:0] which_q, wants, whose;
  logic begins, room, asked;

  assign begins = !turn_q && room && s_axis_rdcmd_tvalid != '0;
  assign m_axis_rdcmd_tvalid = turn_q;
  assign m_axis_rdcmd_tdata = s_axis_rdcmd_tdata[which_q];
  assign s_axis_rd_tready = asked && m_axis_rd_tready[whose];

  always_comb begin : choose
    wants = '0;
    s_axis_rdcmd_tready = '0;
    m_axis_rd_tvalid = '0;
    for (int i = 0; i < Sources; i++) if (s_axis_rdcmd_tvalid[i]) wants = Bits'(i);
    s_axis_rdcmd_tready[which_q] = turn_q && m_axis_rdcmd_tready;
    m_axis_rd_tvalid[whose] = asked && s_axis_rd_tvalid;
  end

  always_ff @(posedge clk) begin : take_turns
    if (begins) begin
      turn_q  <= 1'b1;
      which_q <= wants;
    end else if (m_axis_rdcmd_tready) begin
      turn_q <= 1'b0;
    end
    if (rst) turn_q <= 1'b0;
  end

  fb_common_fifo #(
      .Width(Bits),
      .Depth(Depth)
  ) u_whose (
      .clk,
      .rst,
      .s_valid(begins),
      .s_ready(room),
      .s_data (wants),
      .m_valid(asked),
      .m_ready(s_axis_rd_tvalid && s_axis_rd_tready && s_axis_rd_tlast),
      .m_data (whose),
      .level  ()
  );

`ifndef SYNTHESIS
  data_were_asked_for :
  assert property (@(posedge clk) disable iff (rst) s_axis_rd_tvalid |-> asked)
  else $error("fb_store_reads (%m): data, and nobody asked");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS),
      .Name ("m_axis_rdcmd")
  ) u_check_rdcmd (
      .clk,
      .rst,
      .valid(m_axis_rdcmd_tvalid),
      .ready(m_axis_rdcmd_tready),
      .data (m_axis_rdcmd_tdata)
  );

endmodule

`default_nettype wire
