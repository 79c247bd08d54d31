// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_value_cdc: a value that changes seldom, as another clock sees it.
//
// What:        the value is sent over and over; what arrives is one that it had, whole.
// Handshake:   none. A value that stands for 14 cycles of the slower clock arrives.
// Latency:     up to 14 cycles of the slower clock: four words that are older come before it.
// Throughput:  a value in some five cycles of the slower clock.
// Limits:      0 from a reset until the first one arrives. Both resets are held together for four cycles
//              of the slower clock.
// Does not implement: each value in between.

`default_nettype none

module fb_common_value_cdc #(
    parameter int unsigned Width = 64  // bits, 1 or more
) (
    input wire             s_clk,
    input wire             s_rst,
    input wire [Width-1:0] s_value,

    input  wire              m_clk,
    input  wire              m_rst,
    output logic [Width-1:0] m_value
);

  logic arrives;
  logic [Width-1:0] value;

  fb_common_async #(
      .Width(Width),
      .Depth(4)
  ) u_values (
      .s_clk,
      .s_rst,
      .s_valid(1'b1),
      .s_ready(),
      .s_data (s_value),
      .s_level(),
      .m_clk,
      .m_rst,
      .m_valid(arrives),
      .m_ready(1'b1),
      .m_data (value)
  );

  always_ff @(posedge m_clk) begin : hold
    if (arrives) m_value <= value;
    if (m_rst) m_value <= '0;
  end

endmodule

`default_nettype wire
