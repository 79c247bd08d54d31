// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_count_cdc: pulses of one clock, counted for another.
//
// What:        a counter of 32 bits that crosses by fb_common_gray_sync.
// Handshake:   none.
// Latency:     1 cycle, and the crossing.
// Limits:      modulo 2^32.
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

  logic [31:0] count_q;

  always_ff @(posedge s_clk) begin : count
    count_q <= s_rst ? '0 : count_q + 32'(s_pulse);
  end

  fb_common_gray_sync #(
      .Width(32)
  ) u_cross (
      .s_clk,
      .s_rst,
      .s_value(count_q),
      .m_clk,
      .m_rst,
      .m_value(m_count)
  );

endmodule

`default_nettype wire
