// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_pause_watchdog: whether a pause lasts too long.
//
// What:        counts the quanta for which `active` has been high without a break. At `cfg_limit` it
//              says `over`, until `active` falls.
// Handshake:   none: levels, and pulses of one cycle.
// Latency:     1 cycle from the last quantum to `over`.
// Limits:      2^32 - 1 quanta, 22 s at 100 Gb/s.
// Does not implement: ending the pause; who asks, or obeys, does that.

`default_nettype none

module fb_net_pause_watchdog
  import fb_spec_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire [31:0] cfg_limit,  // quanta; 0: none
    input wire        active,     // there is a pause

    output logic over,     // it lasts too long
    output logic quantum,  // for one cycle: another quantum before that has passed
    output logic bites     // for one cycle: the limit is reached
);

  localparam int unsigned PhaseBits = $clog2(PAUSE_CYCLES + PAUSE_QUANTA);

  // 33rds of a quantum since the pause began: those of fb_net_pause_timer begin anew with each
  // frame, and would go unseen where frames come close behind each other.
  logic [PhaseBits-1:0] phase_q, phase;
  logic [31:0] endured_q;  // quanta
  logic tick;

  assign phase   = phase_q + PhaseBits'(PAUSE_QUANTA);
  assign tick    = active && phase >= PhaseBits'(PAUSE_CYCLES);
  assign quantum = tick && !over;
  assign bites   = active && !over && cfg_limit != '0 && endured_q >= cfg_limit;

  always_ff @(posedge clk) begin : endure
    phase_q <= tick ? phase - PhaseBits'(PAUSE_CYCLES) : phase;
    if (quantum && endured_q != '1) endured_q <= endured_q + 1'b1;
    if (bites) over <= 1'b1;
    if (rst || !active) begin
      phase_q   <= '0;
      endured_q <= '0;
      over      <= 1'b0;
    end
  end

endmodule

`default_nettype wire
