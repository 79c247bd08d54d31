// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_tx_mux: one frame after the other, obeying pause.
//
// What:        chooses between frames, never within one: pause frames before all, then answers and
//              data in turn, and those only while nobody wants us silent.
// Handshake:   valid/ready. Who has begun a frame goes on with it in every cycle (fb_net_frame_fifo does):
//              a MAC cannot wait in the middle of one.
// Latency:     1 cycle.
// Throughput:  a beat in every cycle, a frame in every cycle.
// Limits:      512-bit registers: one.
// Does not implement: priorities of data.

`default_nettype none

module fb_net_tx_mux
  import fb_spec_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire silent,  // begin no frame but pause frames

    input  wire                        s_axis_pause_tvalid,  // one beat each
    output logic                       s_axis_pause_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_pause_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_pause_tkeep,

    input  wire                        s_axis_answer_tvalid,
    output logic                       s_axis_answer_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_answer_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_answer_tkeep,
    input  wire                        s_axis_answer_tlast,

    input  wire                        s_axis_data_tvalid,
    output logic                       s_axis_data_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_data_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_data_tkeep,
    input  wire                        s_axis_data_tlast,

    output logic                       m_axis_mac_tvalid,
    input  wire                        m_axis_mac_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_mac_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_mac_tkeep,
    output logic                       m_axis_mac_tlast,
    output logic                       m_axis_mac_tuser    // always 0: no frame is broken off
);

  typedef enum logic [1:0] {
    NOBODY,
    PAUSE,
    ANSWER,
    DATA
  } source_e;

  source_e chosen, open_q;  // who sends in this cycle; who has begun a frame and not ended it
  logic answered_q;  // the last turn was an answer's
  logic free, valid, last;

  assign m_axis_mac_tuser = 1'b0;
  assign free = !m_axis_mac_tvalid || m_axis_mac_tready;

  always_comb begin : choose
    chosen = open_q;
    if (open_q == NOBODY) begin
      if (s_axis_pause_tvalid) chosen = PAUSE;
      else if (silent) chosen = NOBODY;
      else if (s_axis_answer_tvalid && !(answered_q && s_axis_data_tvalid)) chosen = ANSWER;
      else if (s_axis_data_tvalid) chosen = DATA;
    end
  end

  assign s_axis_pause_tready  = free && chosen == PAUSE;
  assign s_axis_answer_tready = free && chosen == ANSWER;
  assign s_axis_data_tready   = free && chosen == DATA;

  always_comb begin : pick
    unique case (chosen)
      ANSWER:  {valid, last} = {s_axis_answer_tvalid, s_axis_answer_tlast};
      DATA:    {valid, last} = {s_axis_data_tvalid, s_axis_data_tlast};
      default: {valid, last} = {chosen == PAUSE, 1'b1};
    endcase
  end

  always_ff @(posedge clk) begin : pass_on
    if (free) begin
      m_axis_mac_tvalid <= valid;
      m_axis_mac_tlast  <= last;
      unique case (chosen)
        ANSWER:  {m_axis_mac_tdata, m_axis_mac_tkeep} <= {s_axis_answer_tdata, s_axis_answer_tkeep};
        DATA:    {m_axis_mac_tdata, m_axis_mac_tkeep} <= {s_axis_data_tdata, s_axis_data_tkeep};
        default: {m_axis_mac_tdata, m_axis_mac_tkeep} <= {s_axis_pause_tdata, s_axis_pause_tkeep};
      endcase
      open_q <= valid && last ? NOBODY : chosen;
      if (valid) answered_q <= chosen == ANSWER || (chosen == PAUSE && answered_q);
    end
    if (rst) begin
      m_axis_mac_tvalid <= 1'b0;
      open_q <= NOBODY;
      answered_q <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  no_gap :
  assert property (@(posedge clk) disable iff (rst) open_q != NOBODY |-> valid)
  else $error("fb_net_tx_mux (%m): a frame that has begun does not go on");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 1),
      .Name ("m_axis_mac")
  ) u_check_mac (
      .clk,
      .rst,
      .valid(m_axis_mac_tvalid),
      .ready(m_axis_mac_tready),
      .data ({m_axis_mac_tdata, m_axis_mac_tkeep, m_axis_mac_tlast})
  );

endmodule

`default_nettype wire
