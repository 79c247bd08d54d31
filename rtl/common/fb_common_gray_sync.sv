// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_gray_sync: a counter as another clock sees it.
//
// What:        the value crosses in Gray code through two flip-flops, so that what arrives is a value
//              that the counter had, never a mixture of two. It leaves from flip-flops.
// Handshake:   none. The value changes by one a cycle, up or down, or not at all.
// Latency:     1 cycle of s_clk, 3 to 4 of m_clk.
// Limits:      a value may be skipped, never invented. Both resets overlap.
// Does not implement: values that jump.

`default_nettype none

module fb_common_gray_sync #(
    parameter int unsigned Width = 4  // bits of the counter, 2 or more
) (
    input wire             s_clk,
    input wire             s_rst,
    input wire [Width-1:0] s_value,

    input  wire              m_clk,
    input  wire              m_rst,
    output logic [Width-1:0] m_value
);

  if (Width < 2) begin : gen_bad_width
    $fatal(1, "fb_common_gray_sync (%m): Width=%0d must be at least 2", Width);
  end

  logic [Width-1:0] gray, gray_q, value;
  (* async_reg = "true" *) logic [Width-1:0] meta_q, seen_q;

  assign gray = s_value ^ (s_value >> 1);

  always_ff @(posedge s_clk) begin : encode
    gray_q <= s_rst ? '0 : gray;
  end

  always_ff @(posedge m_clk) begin : synchronize
    meta_q  <= m_rst ? '0 : gray_q;
    seen_q  <= m_rst ? '0 : meta_q;
    m_value <= m_rst ? '0 : value;
  end

  always_comb begin : decode
    // A bit is the sum of those above it: in steps that double, not in a chain.
    value = seen_q;
    for (int i = 1; i < int'(Width); i *= 2) value ^= value >> i;
  end

`ifndef SYNTHESIS
  steps_by_one :
  assert property (@(posedge s_clk) disable iff (s_rst) $countones(gray ^ gray_q) <= 1)
  else $error("fb_common_gray_sync (%m): %0d does not follow by one", s_value);
`endif

endmodule

`default_nettype wire
