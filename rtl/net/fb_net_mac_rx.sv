// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_mac_rx: frames from the MAC's receive clock, each of them to its end.
//
// What:        carries frames from the MAC's receive clock to the clock of the network side. When the MAC
//              is reset in mid-frame, as when the link goes down, the frame is ended with one more byte
//              and marked as damaged; earlier frames are not affected. A frame that runs out of room in
//              the FIFO is ended in the same way. A frame whose first beat finds no room is dropped
//              whole, and `lost` counts it.
// Handshake:   no ready on either side: neither the MAC nor the receive path can wait.
// Latency:     2 cycles of clk_rx and 3 to 4 of clk; in a reset of the MAC the end of a frame waits for
//              a cycle of clk_rx.
// Throughput:  a beat in every cycle of the slower clock. Frames have pauses between them, so that no
//              clock of a 100G MAC is too slow.
// Limits:      `rst` ends behind `rst_rx`, and both are held together for four cycles of the slower
//              clock. clk_rx may stop at any time, but each of its pulses is whole. 512-bit
//              registers: none.
// Does not implement: the check sequence; the MAC checks it and says so by TUSER.

`default_nettype none

module fb_net_mac_rx
  import fb_spec_pkg::*;
(
    input wire clk_rx,
    input wire rst_rx,   // of this side
    input wire rst_link, // the MAC is in reset: nothing comes, and what has begun does not go on

    input wire                       s_axis_mac_tvalid,
    input wire [ USER_DATA_BITS-1:0] s_axis_mac_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_mac_tkeep,
    input wire                       s_axis_mac_tlast,
    input wire                       s_axis_mac_tuser,   // with TLAST: damaged

    output logic cut,  // for one cycle of clk_rx: a reset has ended a frame
    output logic lost, // for one cycle of clk_rx: a frame has found no room

    input  wire                        clk,
    input  wire                        rst,
    output logic                       m_axis_mac_tvalid,
    output logic [ USER_DATA_BITS-1:0] m_axis_mac_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_mac_tkeep,
    output logic                       m_axis_mac_tlast,
    output logic                       m_axis_mac_tuser
);

  localparam int unsigned Width = USER_DATA_BITS + USER_BEAT_BYTES + 2;

  logic open_q;  // the next beat is not a frame's first
  logic skip_q;  // and it is one of a frame that found no room
  logic owed_q;  // the end of a frame waits for room
  logic comes, end_here, push, room;

  assign comes = s_axis_mac_tvalid && !rst_link;
  assign end_here = owed_q || (rst_link && open_q);
  assign push = end_here || (comes && !skip_q);

  always_ff @(posedge clk_rx) begin : follow
    cut  <= rst_link && open_q;
    lost <= comes && !open_q && !skip_q && (owed_q || !room);
    if (end_here) owed_q <= !room;
    if (rst_link) begin
      {open_q, skip_q} <= '0;
    end else if (comes) begin
      open_q <= !s_axis_mac_tlast && !skip_q && room && !owed_q;
      skip_q <= !s_axis_mac_tlast && (skip_q || !room || owed_q);
      // What has begun is to end.
      if (open_q && !room) owed_q <= 1'b1;
    end
    if (rst_rx) {open_q, skip_q, owed_q, cut, lost} <= '0;
  end

  fb_common_async #(
      .Width(Width),
      .Depth(16)
  ) u_cross (
      .s_clk(clk_rx),
      .s_rst(rst_rx),
      .s_valid(push),
      .s_ready(room),
      .s_data({
        s_axis_mac_tdata,
        end_here ? USER_BEAT_BYTES'(1) : s_axis_mac_tkeep,
        end_here || s_axis_mac_tlast,
        end_here || s_axis_mac_tuser
      }),
      .s_level(),
      .m_clk(clk),
      .m_rst(rst),
      .m_valid(m_axis_mac_tvalid),
      .m_ready(1'b1),
      .m_data({m_axis_mac_tdata, m_axis_mac_tkeep, m_axis_mac_tlast, m_axis_mac_tuser})
  );

endmodule

`default_nettype wire
