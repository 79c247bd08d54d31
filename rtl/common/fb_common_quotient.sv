// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_quotient: a quotient as an IEEE single, rounded towards zero.
//
// What:        long division, a bit a cycle, until the single has all of its bits. The first bit has
//              the weight 2^(Exponent - 127); the first `WholeBits` bits are given as an integer, too.
// Handshake:   `start` with the operands begins, and gives up what was under way; the quotient is
//              there, steady, while `valid`.
// Latency:     25 cycles where the first bit is set, one more for each bit that is not; 1 for 0.
// Throughput:  one division at a time.
// Limits:      the numerator is less than twice the divisor.
// Does not implement: signs, numbers that are no normal singles.

`default_nettype none

module fb_common_quotient #(
    parameter int unsigned Width = 32,  // bits of the operands
    parameter logic [7:0] Exponent = 8'd127,  // of the first bit, with its bias of 127
    parameter int unsigned WholeBits = 1  // 1 to 24
) (
    input wire clk,
    input wire rst,

    input wire             start,
    input wire [Width-1:0] numerator,
    input wire [Width-1:0] divisor,

    output logic                 valid,
    output logic [         31:0] single,
    output logic [WholeBits-1:0] whole
);

  localparam int unsigned LeftBits = $clog2(WholeBits + 1);

  logic active_q, zero_q;
  logic [Width:0] rest_q, less;  // less than twice the divisor in every step
  logic [Width-1:0] divisor_q;
  logic [23:0] mantissa_q;  // comes in from below; whole when its highest bit is set
  logic [7:0] exponent_q;  // of the next bit, until the first one that is set
  logic [LeftBits-1:0] whole_left_q;  // of its bits
  logic fits;

  assign fits   = rest_q >= {1'b0, divisor_q};
  assign less   = fits ? rest_q - {1'b0, divisor_q} : rest_q;
  assign valid  = active_q && (mantissa_q[23] || zero_q);
  assign single = zero_q ? 32'd0 : {1'b0, exponent_q, mantissa_q[22:0]};

  always_ff @(posedge clk) begin : divide
    if (active_q && !valid) begin
      rest_q <= less << 1;
      mantissa_q <= {mantissa_q[22:0], fits};
      if (mantissa_q == '0 && !fits) exponent_q <= exponent_q - 1'b1;
      if (whole_left_q != '0) begin
        whole <= WholeBits'({whole, fits});
        whole_left_q <= whole_left_q - 1'b1;
      end
    end
    if (start) begin
      active_q <= 1'b1;
      zero_q <= numerator == '0;
      rest_q <= {1'b0, numerator};
      divisor_q <= divisor;
      mantissa_q <= '0;
      exponent_q <= Exponent;
      whole <= '0;
      whole_left_q <= LeftBits'(WholeBits);
    end
    if (rst) active_q <= 1'b0;
  end

`ifndef SYNTHESIS
  in_range :
  assert property (@(posedge clk) disable iff (rst)
                   start |-> {1'b0, numerator} < {divisor, 1'b0} || numerator == '0)
  else $error("fb_common_quotient (%m): numerator %0d, divisor %0d", numerator, divisor);
`endif

endmodule

`default_nettype wire
