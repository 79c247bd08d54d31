// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_turn: whose turn it is.
//
// What:        of those that want, the first behind `last`; where there is none, the first of all.
//              With all bits of `last` set no source is behind it, and the lowest goes first. Where no
//              source wants, `next` is 0.
// Latency:     none; no clock.
// Does not implement: memory of who went last.

`default_nettype none

module fb_common_turn #(
    parameter int unsigned Sources = 2,  // 2 or more
    localparam int unsigned Bits = $clog2(Sources)
) (
    input  wire  [Sources-1:0] wants,
    input  wire  [   Bits-1:0] last,
    output logic [   Bits-1:0] next
);

  if (Sources < 2) begin : gen_bad_sources
    $fatal(1, "fb_common_turn (%m): Sources=%0d must be 2 or more", Sources);
  end

  always_comb begin : choose
    next = '0;
    for (int i = Sources - 1; i >= 0; i--) if (wants[i]) next = Bits'(i);
    for (int i = Sources - 1; i >= 0; i--) if (wants[i] && Bits'(i) > last) next = Bits'(i);
  end

endmodule

`default_nettype wire
