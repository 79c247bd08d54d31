// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_pause_in: how long we must be silent.
//
// What:        obeys the times of pause frames as fb_net_filter finds them. A peer that keeps us
//              silent for `cfg_watchdog` quanta on end is disobeyed until it lets us go, by zero
//              quanta or by an end of its time.
// Handshake:   `silent` is a level, looked at between frames.
// Latency:     2 cycles from `pause` to `silent`.
// Limits:      one class; 2^24 - 1 quanta, 86 ms, for the watchdog.
// Does not implement: the time that the frame itself took to arrive.

`default_nettype none

module fb_net_pause_in
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire [23:0] cfg_watchdog,  // quanta; 0: none

    input wire pause_t pause,

    output logic silent,   // begin no frame
    output logic quantum,  // for one cycle: another quantum of silence is over
    output logic storm     // for one cycle: the watchdog gave up obeying
);

  logic [15:0] left;
  logic active, over;  // the peer asks for silence; and has for too long

  fb_net_pause_timer u_timer (
      .clk,
      .rst,
      .load  (pause.valid),
      .quanta(pause.quanta),
      .left,
      .tick  ()
  );

  fb_net_pause_watchdog u_watchdog (
      .clk,
      .rst,
      .cfg_limit(32'(cfg_watchdog)),
      .active,
      .over,
      .quantum,
      .bites(storm)
  );

  assign active = left != '0;
  always_ff @(posedge clk) begin : obey
    silent <= active && !over && !rst;
  end

endmodule

`default_nettype wire
