// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_tx_mux: one frame after the other, obeying pause.
//
// What:        chooses between frames, never within one: pause frames before all, then answers,
//              requests and data in turn, and these only while no pause is in force. When the MAC is
//              reset in mid-frame, the rest of that frame is dropped; the next one begins after the
//              reset.
// Handshake:   valid/ready. Who has begun a frame goes on with it in every cycle (fb_net_frame_fifo does):
//              a MAC cannot wait in the middle of one.
// Latency:     2 cycles; a frame that was chosen in the cycle in which silence begins still goes.
// Throughput:  a beat in every cycle but one for each frame: at 322 MHz more frames than 100 Gb/s has.
// Limits:      512-bit registers: one.
// Does not implement: priorities of data.

`default_nettype none

module fb_net_tx_mux
  import fb_spec_pkg::*;
(
    input wire clk,
    input wire rst,
    input wire rst_link, // the MAC is in reset

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

    input  wire                        s_axis_ask_tvalid,  // one beat each
    output logic                       s_axis_ask_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_ask_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_ask_tkeep,

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

  logic free, begins, valid, last, open_q, drops_q;
  logic [USER_DATA_BITS+USER_BEAT_BYTES-1:0] beat;

  assign m_axis_mac_tuser = 1'b0;
  assign free = !m_axis_mac_tvalid || m_axis_mac_tready;
  assign begins = free && !silent && !rst_link;

  fb_axis_arbiter #(
      .Sources(4),
      .Width  (USER_DATA_BITS + USER_BEAT_BYTES),
      .Fair   (1),
      .Ahead  (1'b1)
  ) u_arbiter (
      .clk,
      .rst,
      .may_begin({begins, begins, begins, free && !rst_link}),
      .s_valid({s_axis_data_tvalid, s_axis_ask_tvalid, s_axis_answer_tvalid, s_axis_pause_tvalid}),
      .s_ready({s_axis_data_tready, s_axis_ask_tready, s_axis_answer_tready, s_axis_pause_tready}),
      .s_data({
        {s_axis_data_tdata, s_axis_data_tkeep},
        {s_axis_ask_tdata, s_axis_ask_tkeep},
        {s_axis_answer_tdata, s_axis_answer_tkeep},
        {s_axis_pause_tdata, s_axis_pause_tkeep}
      }),
      .s_last({s_axis_data_tlast, 1'b1, s_axis_answer_tlast, 1'b1}),
      .m_valid(valid),
      .m_ready(free),
      .m_data(beat),
      .m_last(last),
      .begins(),
      .source()
  );

  always_ff @(posedge clk) begin : pass_on
    if (free) begin
      m_axis_mac_tvalid <= valid && !drops_q;
      m_axis_mac_tlast <= last;
      {m_axis_mac_tdata, m_axis_mac_tkeep} <= beat;
    end
    if (valid && free) begin
      open_q <= !last;
      if (last) drops_q <= 1'b0;
    end
    if (rst_link) begin
      m_axis_mac_tvalid <= 1'b0;
      drops_q <= valid && free ? !last : open_q;
    end
    if (rst) {m_axis_mac_tvalid, open_q, drops_q} <= '0;
  end

`ifndef SYNTHESIS
  no_gap :
  assert property (@(posedge clk) disable iff (rst) open_q |-> valid)
  else $error("fb_net_tx_mux (%m): a frame that has begun does not go on");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 1),
      .Name ("m_axis_mac")
  ) u_check_mac (
      .clk,
      .rst  (rst || rst_link),
      .valid(m_axis_mac_tvalid),
      .ready(m_axis_mac_tready),
      .data ({m_axis_mac_tdata, m_axis_mac_tkeep, m_axis_mac_tlast})
  );

endmodule

`default_nettype wire
