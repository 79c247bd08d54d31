// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_turns: sources of writes take turns at one streamer, packet by packet.
//
// What:        the last of the sources that want to begin goes first; it has the least to say. Answers
//              go back to the source that they are for, which is remembered.
// Handshake:   valid/ready; `m_*` follows `s_*` within the cycle, and the other way.
// Latency:     1 cycle before each packet, then none.
// Throughput:  a beat in every cycle but one for each packet.
// Limits:      512-bit registers: none.
// Does not implement: fairness.

`default_nettype none

module fb_store_turns
  import fb_spec_pkg::*;
#(
    parameter int unsigned Sources = 2,  // 2 to 4
    parameter int unsigned Depth = 512,  // packets without an answer, a power of two, 2 to 1024
    localparam int unsigned Bits = $clog2(Sources)
) (
    input wire clk,
    input wire rst,

    input  wire  [Sources-1:0]                      s_axis_wr_tvalid,
    output logic [Sources-1:0]                      s_axis_wr_tready,
    input  wire  [Sources-1:0][ USER_DATA_BITS-1:0] s_axis_wr_tdata,
    input  wire  [Sources-1:0][USER_BEAT_BYTES-1:0] s_axis_wr_tkeep,
    input  wire  [Sources-1:0]                      s_axis_wr_tlast,
    output logic [Sources-1:0]                      m_axis_wrsp_tvalid,
    input  wire  [Sources-1:0]                      m_axis_wrsp_tready,
    output logic [        7:0]                      m_axis_wrsp_tdata,

    output logic                       m_axis_wr_tvalid,
    input  wire                        m_axis_wr_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_wr_tkeep,
    output logic                       m_axis_wr_tlast,
    input  wire                        s_axis_wrsp_tvalid,
    output logic                       s_axis_wrsp_tready,
    input  wire  [                7:0] s_axis_wrsp_tdata
);

  if (Sources < 2 || Sources > 4) begin : gen_bad_sources
    $fatal(1, "fb_store_turns (%m): Sources=%0d must be 2 to 4", Sources);
  end

  logic turn_q;  // a packet goes through
  logic [Bits-1:0] which_q, wants, whose;
  logic begins, room, asked, answers;

  assign begins = !turn_q && room && s_axis_wr_tvalid != '0;
  assign m_axis_wr_tvalid = turn_q && s_axis_wr_tvalid[which_q];
  assign m_axis_wr_tdata = s_axis_wr_tdata[which_q];
  assign m_axis_wr_tkeep = s_axis_wr_tkeep[which_q];
  assign m_axis_wr_tlast = s_axis_wr_tlast[which_q];
  always_comb begin : choose
    wants = '0;
    s_axis_wr_tready = '0;
    m_axis_wrsp_tvalid = '0;
    for (int i = 0; i < Sources; i++) if (s_axis_wr_tvalid[i]) wants = Bits'(i);
    s_axis_wr_tready[which_q] = turn_q && m_axis_wr_tready;
    m_axis_wrsp_tvalid[whose] = asked && s_axis_wrsp_tvalid;
  end

  always_ff @(posedge clk) begin : take_turns
    if (begins) begin
      turn_q  <= 1'b1;
      which_q <= wants;
    end else if (m_axis_wr_tvalid && m_axis_wr_tready && m_axis_wr_tlast) begin
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
      .m_ready(answers),
      .m_data (whose),
      .level  ()
  );

  assign m_axis_wrsp_tdata = s_axis_wrsp_tdata;
  assign s_axis_wrsp_tready = asked && m_axis_wrsp_tready[whose];
  assign answers = s_axis_wrsp_tvalid && s_axis_wrsp_tready;

`ifndef SYNTHESIS
  answers_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_wrsp_tvalid |-> asked)
  else $error("fb_store_turns (%m): an answer, and no packet waits for it");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 1),
      .Name ("m_axis_wr")
  ) u_check_wr (
      .clk,
      .rst,
      .valid(m_axis_wr_tvalid),
      .ready(m_axis_wr_tready),
      .data ({m_axis_wr_tdata, m_axis_wr_tkeep, m_axis_wr_tlast})
  );

endmodule

`default_nettype wire
