// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_walk: how many pixels are taken next, and which output pixels end in them.
//
// What:        goes through an image, line by line. It takes as many pixels as cannot have more than
//              four boundaries, and none of the next line; where the packet ends before, one by one.
//              A line with which an output row ends begins when that row has a place.
// Handshake:   `load` begins at a place, the next cycle at the earliest takes from there. While `run`
//              is high a group or a pixel of what is `available` is taken in each cycle.
// Latency:     `group` says a cycle later what was taken.
// Throughput:  `most` pixels a cycle, but one cycle a line.
// Limits:      512-bit registers: none.
// Does not implement: a choice of the place in mid-group: `saved` is right two cycles after the last
//              group.

`default_nettype none

module fb_dnn_walk
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224  // pixels of a side of the small image, 32 to 256
) (
    input wire clk,
    input wire rst,

    input  wire         load,
    input  wire walk_t  loaded,
    output walk_t saved,

    // Of the image, steady from `load` on.
    input wire steps_t steps,
    input wire side_t width,
    input wire side_t height,
    input wire grey,
    input wire [5:0] most,

    input  wire        run,
    input  wire  [7:0] available,
    input  wire        ended,      // and no more comes
    input  wire  [1:0] pending,    // output rows, by their half, that have not left
    output logic       goes,       // a group is taken,
    output logic [5:0] goes_bytes,
    output logic       goes_one,   // or a pixel
    output logic       complete,   // all lines were taken
    output logic       exhausted,  // the packet has no whole pixel any more

    output group_t group
);

  localparam logic [UNIT_BITS-1:0] Units = UNIT_BITS'(Size);

  function automatic boundary_t behind(input boundary_t a, input boundary_t step);
    // Less one: below 0 where the pixel does not end.
    logic [UNIT_BITS:0] units;
    logic unused;
    logic [SIDE_BITS:0] pixel;
    units = {1'b0, a.units} + ({1'b0, step.units} - {1'b0, Units} - 1'b1);
    {pixel, unused} = {a.pixel, 1'b1} + {step.pixel, 1'b1};
    behind.units = units[UNIT_BITS] ? a.units + step.units : units[UNIT_BITS-1:0] + 1'b1;
    behind.pixel = units[UNIT_BITS] ? a.pixel + step.pixel : pixel;
  endfunction

  function automatic logic [5:0] bytes(input logic [5:0] pixels);
    bytes = grey ? pixels : 6'(pixels * 6'd3);
  endfunction

  // What is to be taken of what is left of a line: pixels, and bytes.
  function automatic logic [11:0] wanted(input side_t pixels);
    wanted = pixels < side_t'(most) ? {pixels[5:0], bytes(pixels[5:0])} : {most, bytes(most)};
  endfunction

  // -------------------------------------------------------------------------------------- choice
  // What is left of the line, and how much of it is to be taken at once; what follows if that is
  // done, or if it is one pixel.
  side_t x_q, left_q, y_q, left_behind, left_behind_one;
  boundary_t line_q, line;
  logic [5:0] wanted_q, wanted_bytes_q, taken;
  logic [1:0] pending_q;
  logic begins_q, last_line_q, row_ends_q, half_q;  // begins: with the next pixels the line does
  logic may, line_ends;
  logic valid_q, line_ends_q;  // a cycle later

  assign exhausted = ended && available < (grey ? 8'd1 : 8'd3);
  // What is ahead in the next line is known a cycle after its begin.
  assign may = run && !complete && !(valid_q && line_ends_q) &&
      !(begins_q && row_ends_q && pending_q[half_q]);
  assign goes = may && available >= 8'(wanted_bytes_q);
  assign goes_one = may && !goes && ended && !exhausted;
  assign goes_bytes = wanted_bytes_q;
  assign taken = goes ? wanted_q : 6'(goes_one);
  assign line_ends = goes ? left_behind == '0 : left_q == side_t'(1);

  assign left_behind = left_q - side_t'(wanted_q);
  assign left_behind_one = left_q - 1'b1;
  assign line = row_ends_q ? behind(line_q, steps.line) : line_q;

  always_ff @(posedge clk) begin : choose
    pending_q <= pending;
    if (goes || goes_one) begin
      if (line_ends) begin
        x_q <= '0;
        y_q <= y_q + 1'b1;
        left_q <= width;
        {wanted_q, wanted_bytes_q} <= {most, bytes(most)};
        begins_q <= 1'b1;
        complete <= last_line_q;
        last_line_q <= y_q + side_t'(2) == height;
        line_q <= line;
        row_ends_q <= line.pixel == {1'b0, y_q} + 1'b1;
        half_q <= half_q ^ row_ends_q;
      end else begin
        x_q <= x_q + side_t'(taken);
        left_q <= goes ? left_behind : left_behind_one;
        {wanted_q, wanted_bytes_q} <= goes ? wanted(left_behind) : wanted(left_behind_one);
        begins_q <= 1'b0;
      end
    end
    if (load) begin
      x_q <= loaded.x;
      y_q <= loaded.y;
      left_q <= width - loaded.x;
      {wanted_q, wanted_bytes_q} <= wanted(width - loaded.x);
      begins_q <= loaded.x == '0;
      complete <= loaded.y == height;
      last_line_q <= loaded.y + 1'b1 == height;
      line_q <= loaded.line;
      row_ends_q <= loaded.line.pixel == {1'b0, loaded.y};
      half_q <= loaded.half;
    end
  end

  // ---------------------------------------------------------------------------------- boundaries
  // Of what was taken: from where to where.
  logic group_row_ends_q, group_half_q, first_line_q;
  logic [5:0] taken_q;
  side_t from_q, to_q;
  logic [UNIT_BITS-1:0] row_units_q;
  logic [UNIT_BITS-2:0] columns_q;
  boundary_t [LANES:0] ahead_q;  // the next boundaries of the line
  boundary_t [2*LANES:0] ahead;  // and those behind them
  logic fresh_q;  // only the first one is known
  logic [2:0] count;

  always_comb begin : look
    ahead[LANES:0] = ahead_q;
    for (int i = 1; i <= int'(LANES); i++) begin
      ahead[int'(LANES)+i] = behind(fresh_q ? ahead_q[0] : ahead_q[LANES], steps.columns[i]);
    end
    count = '0;
    for (int i = 0; i < int'(LANES); i++) begin
      group.ends.ends[i] = ahead_q[i].pixel < {1'b0, to_q};
      group.pixel[i] = 6'(ahead_q[i].pixel - {1'b0, from_q});
      group.units[i] = ahead_q[i].units;
      if (group.ends.ends[i]) count = 3'(i + 1);
    end
  end
  assign group.bytes = bytes(taken_q);
  assign group.line_begins = from_q == '0;
  assign group.ends.valid = valid_q;
  assign group.ends.columns = columns_q;
  assign group.ends.line_ends = line_ends_q;
  assign group.ends.first_line = first_line_q;
  assign group.ends.row_ends = group_row_ends_q;
  assign group.ends.row_units = row_units_q;
  assign group.ends.half = group_half_q;

  always_ff @(posedge clk) begin : step
    valid_q <= goes || goes_one;
    taken_q <= taken;
    from_q <= x_q;
    to_q <= x_q + side_t'(taken);
    line_ends_q <= line_ends;
    group_row_ends_q <= row_ends_q;
    group_half_q <= half_q;
    first_line_q <= y_q == '0;
    row_units_q <= row_ends_q ? line_q.units : Units;
    fresh_q <= 1'b0;
    if (fresh_q) ahead_q[LANES:1] <= ahead[2*LANES:LANES+1];
    if (valid_q) begin
      for (int i = 0; i <= int'(LANES); i++) ahead_q[i] <= ahead[32'(count)+i];
      columns_q <= columns_q + (UNIT_BITS - 1)'(count);
      if (line_ends_q) begin
        ahead_q[0] <= steps.column_first;
        columns_q <= '0;
        fresh_q <= 1'b1;
      end
    end
    if (load) begin
      ahead_q[0] <= loaded.column;
      columns_q <= loaded.columns;
      fresh_q <= 1'b1;
    end
    if (rst) valid_q <= 1'b0;
  end

  assign saved = '{
          x: x_q,
          y: y_q,
          column: ahead_q[0],
          line: line_q,
          columns: columns_q,
          half: half_q
      };

endmodule

`default_nettype wire
