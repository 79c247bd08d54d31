// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_layer_pkg: layers of a network in integers.
//
// Values between layers are u8; weights are s8. A layer's sums of products become values again by one
// multiplication, one addition and one shift a channel (fb_dnn_requantise).

`default_nettype none

package fb_dnn_layer_pkg;

  localparam int unsigned SUM_BITS_MOST = 30;  // of a sum of products
  localparam int unsigned MULTIPLIER_BITS = 25;  // the 24 of an IEEE single, and a sign
  localparam int unsigned OFFSET_BITS = 55;
  localparam int unsigned SHIFT_BITS = 6;
  localparam int unsigned TOTAL_BITS = 56;  // of sum * multiplier + offset, whatever they are

  typedef struct packed {
    logic [SHIFT_BITS-1:0] shift;  // one less than what divides: the last step rounds
    logic signed [OFFSET_BITS-1:0] offset;
    logic signed [MULTIPLIER_BITS-1:0] multiplier;
  } factors_t;

  // A judgement: columns of a result, the first one lowest.
  typedef struct packed {
    logic [31:0] score;   // IEEE single
    logic [15:0] number;  // of the class
  } class_t;

endpackage

`default_nettype wire
