// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_clock: the time of day by which frames are stamped.
//
// What:        shows the core's clock, as the MAC's clock sees it, or an IEEE 1588 time of day that
//              comes in seconds and nanoseconds. A second begins 10^9 ns after the one before; after
//              a jump its beginning is multiplied, bit by bit.
// Handshake:   none.
// Latency:     IEEE 1588: 3 cycles, 4 where a second follows, 38 where the time jumps: until then the
//              time stands. The core's: up to 14 cycles of the slower clock, in steps of some five.
// Throughput:  a time in every cycle.
// Limits:      times up to the year 2514; later ones, and nanoseconds of 10^9 or more, are none: the
//              time stands. 512-bit registers: none.
// Does not implement: setting a clock, or following one: that is the IEEE 1588 core's.

`default_nettype none

module fb_net_clock
  import fb_net_pkg::*;
(
    input wire clk,
    input wire rst,
    input wire cfg_ieee1588, // IEEE 1588, not the core's

    input wire [79:0] time_of_day,  // seconds since 1970, below them 32 bits of nanoseconds

    input wire        clk_core,
    input wire        rst_core,
    input wire time_t core,

    output time_t now,
    output logic  of_day  // that is IEEE 1588
);

  localparam int unsigned SECOND = 1_000_000_000;  // in ns
  localparam int unsigned Bits = 34;  // of seconds
  localparam int unsigned CountBits = $clog2(Bits + 1);

  time_t core_seen, outer_q;

  fb_common_value_cdc #(
      .Width($bits(time_t))
  ) u_core (
      .s_clk  (clk_core),
      .s_rst  (rst_core),
      .s_value(core),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_value(core_seen)
  );

  logic [47:0] seconds;
  logic [31:0] nanoseconds;
  assign {seconds, nanoseconds} = time_of_day;

  logic good_q;
  logic [Bits-1:0] seconds_q;
  logic [29:0] part_q;
  logic [Bits-1:0] held_q;  // the second that ...
  logic [63:0] begin_q;  // ... begins at so many ns
  logic [Bits-1:0] rest_q;  // of a second that is multiplied: the bits to come,
  logic [CountBits-1:0] left_q;  // and how many these are
  logic same, follows;

  assign same = seconds_q == held_q;
  assign follows = {1'b0, seconds_q} == {1'b0, held_q} + 1'b1;

  always_ff @(posedge clk) begin : follow
    good_q <= !rst && seconds[47:Bits] == '0 && nanoseconds < SECOND;
    seconds_q <= seconds[Bits-1:0];
    part_q <= nanoseconds[29:0];

    rest_q <= rest_q << 1;
    if (left_q != '0) begin
      left_q  <= left_q - 1'b1;
      begin_q <= (begin_q << 1) + (rest_q[Bits-1] ? 64'(SECOND) : '0);
    end else if (good_q && same) begin
      outer_q <= '{seconds: seconds_q, ns: begin_q + 64'(part_q)};
    end else if (good_q) begin
      held_q  <= seconds_q;
      rest_q  <= seconds_q;
      left_q  <= follows ? '0 : CountBits'(Bits);
      begin_q <= follows ? begin_q + 64'(SECOND) : '0;
    end
    if (rst) {outer_q, held_q, begin_q, left_q} <= '0;

    now <= cfg_ieee1588 ? outer_q : core_seen;
    of_day <= cfg_ieee1588;
  end

endmodule

`default_nettype wire
