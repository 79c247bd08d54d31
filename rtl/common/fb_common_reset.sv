// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_reset: a reset of any origin, as the synchronous reset of one clock.
//
// What:        `rst` rises with `rst_async`, without a clock, and falls Stages cycles after it, with
//              the clock. So all flip-flops of the domain leave reset at the same edge.
// Handshake:   none. `rst_async` comes from a flip-flop or a pin: it must not glitch.
// Latency:     none to rise; Stages cycles of `clk` to fall, one less where the edge meets the clock.
// Limits:      one instance a clock. Constraints: fb_common_reset.xdc.
// Does not implement: a filter of short pulses.

`default_nettype none

module fb_common_reset #(
    parameter int unsigned Stages = 4  // flip-flops in a row, 2 to 16
) (
    input  wire  clk,
    input  wire  rst_async,
    output logic rst
);

  if (Stages < 2 || Stages > 16) begin : gen_bad_stages
    $fatal(1, "fb_common_reset (%m): Stages=%0d must be from 2 to 16", Stages);
  end

  (* async_reg = "true" *) logic [Stages-1:0] stages_q;
  assign rst = stages_q[Stages-1];

  always_ff @(posedge clk or posedge rst_async) begin : release_in_step
    if (rst_async) stages_q <= '1;
    else stages_q <= {stages_q[Stages-2:0], 1'b0};
  end

endmodule

`default_nettype wire
