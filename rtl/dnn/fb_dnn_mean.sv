// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_mean: the mean of an area from the sum over it.
//
// What:        the sum is shifted until 26 bits can hold any, and multiplied by the reciprocal of the
//              area, which has 17; the product is rounded.
// Handshake:   none: a sum a cycle. `scale` of that cycle and the next.
// Latency:     3 cycles.
// Does not implement: exact rounding: where the mean is within 2^-9 of a half it may be off by one.

`default_nettype none

module fb_dnn_mean
  import fb_dnn_pkg::*;
(
    input wire clk,

    input  wire                        valid,
    input  wire scale_t                scale,
    input  wire         [SUM_BITS-1:0] sum,
    output logic        [         7:0] mean
);

  logic valid_q;
  logic [25:0] shifted_q;
  logic [42:0] product_q;
  logic [9:0] rounded;

  always_ff @(posedge clk) begin : divide
    valid_q <= valid;
    if (valid) shifted_q <= 26'({sum, 7'd0} >> scale.area_bits);
    if (valid_q) product_q <= 43'(shifted_q) * 43'(scale.reciprocal);
    mean <= rounded > 10'd255 ? 8'd255 : rounded[7:0];
  end
  // 2^34 is one.
  assign rounded = 10'(product_q[42:34]) + 10'(product_q[33]);

  logic unused;
  assign unused = &{1'b0, product_q};

endmodule

`default_nettype wire
