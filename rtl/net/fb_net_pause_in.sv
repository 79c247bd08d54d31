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

  localparam int unsigned PhaseBits = $clog2(PAUSE_CYCLES + PAUSE_QUANTA);

  logic [15:0] left;
  logic [23:0] endured_q;  // quanta of silence on end
  logic defiant_q, tick;
  // 33rds of a quantum since silence began: the timer begins a new quantum with each frame, so
  // its own would go unseen where frames come close behind each other.
  logic [PhaseBits-1:0] phase_q, phase;

  fb_net_pause_timer u_timer (
      .clk,
      .rst,
      .load  (pause.valid),
      .quanta(pause.quanta),
      .left,
      .tick  ()
  );

  assign phase   = phase_q + PhaseBits'(PAUSE_QUANTA);
  assign tick    = left != '0 && phase >= PhaseBits'(PAUSE_CYCLES);
  assign quantum = tick && !defiant_q;
  assign storm   = left != '0 && !defiant_q && cfg_watchdog != '0 && endured_q >= cfg_watchdog;

  always_ff @(posedge clk) begin : endure
    silent  <= left != '0 && !defiant_q && !rst;
    phase_q <= tick ? phase - PhaseBits'(PAUSE_CYCLES) : phase;
    if (quantum && endured_q != '1) endured_q <= endured_q + 1'b1;
    if (storm) defiant_q <= 1'b1;
    if (rst || left == '0) begin
      phase_q   <= '0;
      endured_q <= '0;
      defiant_q <= 1'b0;
    end
  end

endmodule

`default_nettype wire
