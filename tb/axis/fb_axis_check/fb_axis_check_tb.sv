// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The checker behind pins, and a stream that the test alone drives.

`default_nettype none

module fb_axis_check_tb #(
    parameter int unsigned Width = 1
) (
    input wire             clk,
    input wire             rst,
    input wire             valid,
    input wire             ready,
    input wire [Width-1:0] data
);

  fb_axis_check #(.Width(Width)) u_check (.*);
  fb_axis_if stream (.*);

endmodule

`default_nettype wire
