// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_columns: what a line has for each output pixel, from groups of its pixels.
//
// What:        the sum of a line's pixels up to each boundary, Size times; between two boundaries lies
//              the share of an output pixel. All modulo 2^22, which the shares are below. A grey image
//              has three equal channels.
// Handshake:   none: a group a cycle. `group` with the cycle of `window`.
// Latency:     7 cycles; `saved` after as many.
// Limits:      512-bit registers: one.
// Does not implement: more than four boundaries in a group.

`default_nettype none

module fb_dnn_columns
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224
) (
    input wire clk,
    input wire rst,

    input wire grey,  // steady while groups are inside

    // Sums up to here and up to the last boundary, of a line that a packet's end cuts in two.
    input  wire                                load,
    input  wire  [1:0][2:0][LINE_BITS-1:0] loaded,
    output logic [1:0][2:0][LINE_BITS-1:0] saved,

    input wire group_t                     group,
    input wire         [8*GROUP_BYTES-1:0] window,

    output ends_t                                  m_ends,
    output logic   [LANES-1:0][2:0][LINE_BITS-1:0] m_share
);

  localparam int unsigned Rows = GROUP_BYTES / 3;  // of three bytes
  localparam int unsigned Parts = Rows / 3;
  typedef logic [LINE_BITS-1:0] sum_t;

  // Where bytes before a boundary end: whole rows of three, and so many of the next.
  typedef struct packed {
    logic [4:0] row;
    logic [1:0] rest;
  } cut_t;
  function automatic cut_t cut(input logic [5:0] pixels);
    cut = grey ? '{5'(pixels / 6'd3), 2'(pixels % 6'd3)} : '{pixels[4:0], 2'd0};
  endfunction

  // -------------------------------------------------------------------------- sums of three rows
  // Of the bytes before each boundary, and (the last one) of all of the group.
  cut_t [LANES:0] cuts_q;
  group_t cut_group_q;
  logic [8*GROUP_BYTES-1:0] cut_window_q;
  logic [LANES:0][2:0][Parts-1:0][9:0] parts_q;
  logic [LANES-1:0][2:0][7:0] pixel_q;  // the one in which the output pixel ends
  group_t parts_group_q;

  always_ff @(posedge clk) begin : sum_rows
    cut_group_q <= group;
    if (group.ends.valid) begin
      cut_window_q <= window;
      for (int i = 0; i < int'(LANES); i++) cuts_q[i] <= cut(group.pixel[i]);
      cuts_q[LANES] <= '{5'(group.bytes / 6'd3), 2'(group.bytes % 6'd3)};
    end
    parts_group_q <= cut_group_q;
    if (cut_group_q.ends.valid) begin
      for (int i = 0; i <= int'(LANES); i++) begin
        for (int c = 0; c < 3; c++) begin
          for (int p = 0; p < int'(Parts); p++) begin
            logic [9:0] part;
            part = '0;
            for (int r = 3 * p; r < 3 * p + 3; r++) begin
              if (5'(r) < cuts_q[i].row || (5'(r) == cuts_q[i].row && 2'(c) < cuts_q[i].rest)) begin
                part = part + 10'(cut_window_q[24*r+8*c+:8]);
              end
            end
            parts_q[i][c][p] <= part;
          end
        end
      end
      for (int i = 0; i < int'(LANES); i++) begin
        logic [2:0][7:0] row;
        row = '0;
        for (int r = 0; r < int'(Rows); r++) begin
          if (5'(r) == cuts_q[i].row) row = row | cut_window_q[24*r+:24];
        end
        pixel_q[i] <= grey ? {3{row[cuts_q[i].rest]}} : row;
      end
    end
    if (rst) {cut_group_q.ends.valid, parts_group_q.ends.valid} <= '0;
  end

  // ----------------------------------------------------------------------------- sums of a group
  logic [LANES:0][2:0][12:0] whole_q;
  logic [LANES:0][2:0][13:0] group_q;
  logic [LANES-1:0][2:0][7:0] whole_pixel_q, group_pixel_q;
  group_t whole_group_q, group_group_q;

  always_ff @(posedge clk) begin : sum_group
    whole_group_q <= parts_group_q;
    if (parts_group_q.ends.valid) begin
      whole_pixel_q <= pixel_q;
      for (int i = 0; i <= int'(LANES); i++) begin
        for (int c = 0; c < 3; c++) begin
          logic [12:0] sum;
          sum = '0;
          for (int p = 0; p < int'(Parts); p++) sum = sum + 13'(parts_q[i][c][p]);
          whole_q[i][c] <= sum;
        end
      end
    end
    group_group_q <= whole_group_q;
    if (whole_group_q.ends.valid) begin
      group_pixel_q <= whole_pixel_q;
      for (int i = 0; i <= int'(LANES); i++) begin
        for (int c = 0; c < 3; c++) begin
          group_q[i][c] <= grey ?
              14'(whole_q[i][0]) + 14'(whole_q[i][1]) + 14'(whole_q[i][2]) : 14'(whole_q[i][c]);
        end
      end
    end
    if (rst) {whole_group_q.ends.valid, group_group_q.ends.valid} <= '0;
  end

  // Where the pixels lay is done with.
  logic unused;
  assign unused = &{1'b0, group_group_q};

  // ------------------------------------------------------------------------------ sums of a line
  sum_t [2:0] before_q, last_q;  // of the line so far; of what is up to its last boundary
  sum_t [LANES-1:0][2:0] up_to_q, of_pixel_q, integral_q;
  ends_t up_to_ends_q, integral_ends_q;
  logic up_to_begins_q, integral_begins_q;  // with the line's first pixels
  assign saved = {last_q, before_q};

  always_ff @(posedge clk) begin : sum_line
    up_to_ends_q   <= group_group_q.ends;
    up_to_begins_q <= group_group_q.line_begins;
    if (group_group_q.ends.valid) begin
      for (int c = 0; c < 3; c++) begin
        sum_t so_far;
        so_far = group_group_q.line_begins ? '0 : before_q[c];
        before_q[c] <= so_far + sum_t'(group_q[LANES][c]);
        for (int i = 0; i < int'(LANES); i++) begin
          up_to_q[i][c] <= so_far + sum_t'(group_q[i][c]);
          of_pixel_q[i][c] <= sum_t'(group_group_q.units[i]) * sum_t'(group_pixel_q[i][c]);
        end
      end
    end
    integral_ends_q   <= up_to_ends_q;
    integral_begins_q <= up_to_begins_q;
    if (up_to_ends_q.valid) begin
      for (int i = 0; i < int'(LANES); i++) begin
        for (int c = 0; c < 3; c++) begin
          integral_q[i][c] <= sum_t'(Size) * up_to_q[i][c] + of_pixel_q[i][c];
        end
      end
    end
    m_ends <= integral_ends_q;
    if (integral_ends_q.valid) begin
      for (int c = 0; c < 3; c++) begin
        sum_t last;
        last = integral_begins_q ? '0 : last_q[c];
        for (int i = 0; i < int'(LANES); i++) begin
          m_share[i][c] <= integral_q[i][c] - last;
          if (integral_ends_q.ends[i]) last = integral_q[i][c];
        end
        last_q[c] <= last;
      end
    end
    if (load) {last_q, before_q} <= loaded;
    if (rst) {up_to_ends_q.valid, integral_ends_q.valid, m_ends.valid} <= '0;
  end

endmodule

`default_nettype wire
