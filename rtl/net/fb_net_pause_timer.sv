// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_pause_timer: a timer in pause quanta.
//
// What:        counts down from what it is given, one each 512 bit times; those are 33/20 cycles of
//              the MAC's clock at 100 Gb/s, so it counts in twentieths.
// Handshake:   `load` takes `quanta` in any cycle, whatever is left.
// Latency:     `left` is the new value in the next cycle, and 0 after 1.65 cycles a quantum from
//              then on, rounded up.
// Does not implement: other rates.

`default_nettype none

module fb_net_pause_timer
  import fb_spec_pkg::*;
(
    input wire clk,
    input wire rst,

    input  wire         load,
    input  wire  [15:0] quanta,
    output logic [15:0] left,
    output logic        tick     // a quantum is over at the end of this cycle
);

  localparam int unsigned PhaseBits = $clog2(PAUSE_CYCLES + PAUSE_QUANTA);

  logic [PhaseBits-1:0] phase_q, phase;

  assign phase = phase_q + PhaseBits'(PAUSE_QUANTA);
  assign tick  = left != '0 && phase >= PhaseBits'(PAUSE_CYCLES);

  always_ff @(posedge clk) begin : count
    phase_q <= tick ? phase - PhaseBits'(PAUSE_CYCLES) : phase;
    left <= left - 16'(tick);
    if (load || left == '0) phase_q <= '0;
    if (load) left <= quanta;
    if (rst) left <= '0;
  end

endmodule

`default_nettype wire
