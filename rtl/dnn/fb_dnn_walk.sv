// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_walk: which output pixels end in the next pixels of a line.
//
// What:        of `pixels` that are taken from place `now`, those in which output pixels end, and the
//              place behind them. At most as many as have four boundaries, none of the next line.
// Latency:     none; no clock.
// Does not implement: a choice of how many: whoever has the bytes makes it.

`default_nettype none

module fb_dnn_walk
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224
) (
    input wire steps_t steps,
    input wire side_t width,
    input wire grey,

    input  wire walk_t       now,
    input  wire        [5:0] pixels,
    output group_t     group,
    output walk_t      next
);

  localparam logic [UNIT_BITS-1:0] Units = UNIT_BITS'(Size);

  function automatic boundary_t behind(input boundary_t a, input boundary_t step);
    logic [UNIT_BITS:0] units;
    logic carry;
    units = {1'b0, a.units} + {1'b0, step.units};
    carry = units > {1'b0, Units};
    behind.units = carry ? UNIT_BITS'(units - {1'b0, Units}) : units[UNIT_BITS-1:0];
    behind.pixel = a.pixel + step.pixel + side_t'(carry);
  endfunction

  boundary_t [LANES:0] ahead;
  side_t x;
  logic line_ends;
  logic [2:0] count;

  always_comb begin : look
    x = now.x + side_t'(pixels);
    line_ends = x == width;
    ahead[0] = now.column;
    for (int i = 1; i <= int'(LANES); i++) ahead[i] = behind(now.column, steps.columns[i]);

    count = '0;
    for (int i = 0; i < int'(LANES); i++) begin
      group.ends.ends[i]  = ahead[i].pixel < x;
      group.pixel[i] = 6'(ahead[i].pixel - now.x);
      group.units[i] = ahead[i].units;
      count = count + 3'(group.ends.ends[i]);
    end
    group.ends.valid = pixels != '0;
    group.bytes = grey ? pixels : 6'(pixels * 6'd3);
    group.ends.columns = now.columns;
    group.line_begins = now.x == '0;
    group.ends.line_ends = line_ends;
    group.ends.first_line = now.y == '0;
    group.ends.row_ends = now.line.pixel == now.y;
    group.ends.row_units = group.ends.row_ends ? now.line.units : Units;
    group.ends.half = now.half;

    next = now;
    if (pixels != '0) begin
      next.x = x;
      next.column = ahead[count];
      next.columns = now.columns + (UNIT_BITS - 1)'(count);
      if (line_ends) begin
        next.x = '0;
        next.y = now.y + 1'b1;
        next.column = steps.column_first;
        next.columns = '0;
        if (group.ends.row_ends) begin
          next.line = behind(now.line, steps.line);
          next.half = !now.half;
        end
      end
    end
  end

endmodule

`default_nettype wire
