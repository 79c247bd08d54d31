// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_count_cdc: pulses of one clock, counted for another.
//
// What:        a small counter crosses by fb_common_gray_sync; what it has grown by is added up.
// Handshake:   none.
// Latency:     1 cycle, the crossing, and 1 cycle.
// Limits:      modulo 2^32. Between two cycles of m_clk are fewer than 256 pulses.
// Does not implement: clearing.

`default_nettype none

module fb_net_count_cdc (
    input wire s_clk,
    input wire s_rst,
    input wire s_pulse,

    input  wire         m_clk,
    input  wire         m_rst,
    output logic [31:0] m_count
);

  logic [7:0] count_q, seen, before_q;

  always_ff @(posedge s_clk) begin : count
    count_q <= s_rst ? '0 : count_q + 8'(s_pulse);
  end

  fb_common_gray_sync #(
      .Width(8)
  ) u_cross (
      .s_clk,
      .s_rst,
      .s_value(count_q),
      .m_clk,
      .m_rst,
      .m_value(seen)
  );

  always_ff @(posedge m_clk) begin : add_up
    before_q <= m_rst ? '0 : seen;
    m_count  <= m_rst ? '0 : m_count + 32'(8'(seen - before_q));
  end

endmodule

`default_nettype wire
