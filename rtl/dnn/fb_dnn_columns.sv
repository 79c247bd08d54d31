// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_columns: what a line has for each output pixel, from groups of its pixels.
//
// What:        the sum of a line's pixels up to each boundary, Size times; between two boundaries lies
//              the share of an output pixel. All modulo 2^22, which the shares are below. A grey image
//              has three equal channels.
// Handshake:   none: a group a cycle. `group` with the cycle of `window`.
// Latency:     8 cycles; `saved` after as many.
// Limits:      512-bit registers: two.
// Does not implement: more than four boundaries in a group.

`default_nettype none

module fb_dnn_columns
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224  // pixels of a side of the small image, 32 to 256
) (
    input wire clk,
    input wire rst,

    input wire grey,  // steady while groups are inside

    // Sums up to here and up to the last boundary, of a line that a packet's end cuts in two.
    input  wire                            load,
    input  wire  [1:0][2:0][LINE_BITS-1:0] loaded,
    output logic [1:0][2:0][LINE_BITS-1:0] saved,

    input wire group_t                     group,
    input wire         [8*GROUP_BYTES-1:0] window,

    output ends_t                                 m_ends,
    output logic  [LANES-1:0][2:0][LINE_BITS-1:0] m_share
);

  localparam int unsigned Triples = GROUP_BYTES / 9;
  typedef logic [LINE_BITS-1:0] sum_t;

  // Where bytes before a boundary end, in rows of three bytes: whole triples of rows, rows of the next
  // triple, and bytes of the next row.
  typedef struct packed {
    logic [2:0] triple;
    logic [1:0] row;
    logic [1:0] rest;
  } cut_t;
  function automatic cut_t [GROUP_BYTES:0] every_cut();
    for (int n = 0; n <= int'(GROUP_BYTES); n++)
    every_cut[n] = '{3'(n / 9), 2'(n / 3 % 3), 2'(n % 3)};
  endfunction
  localparam cut_t [GROUP_BYTES:0] Cuts = every_cut();

  // ------------------------------------------------------------------------- sums up to boundaries
  // The last cut is behind all of the group.
  cut_t [LANES:0] cuts_q, triple_cuts_q, up_to_cuts_q;
  logic [Triples-1:0][71:0] window_q, triple_window_q;
  logic [Triples-1:0][2:0][9:0] triple_sum_q;
  logic [Triples:0][2:0][12:0] up_to_triple_q;  // sums of all triples before
  logic [LANES:0][2:0][2:0][7:0] triple_q;  // in which the boundary lies: row, channel
  group_t cuts_group_q, triple_group_q, up_to_group_q;

  always_ff @(posedge clk) begin : sum_triples
    cuts_group_q <= group;
    if (group.ends.valid) begin
      window_q <= window;
      for (int i = 0; i < int'(LANES); i++) begin
        cuts_q[i] <= Cuts[grey?group.pixel[i] : 6'(group.pixel[i]*6'd3)];
      end
      cuts_q[LANES] <= Cuts[group.bytes];
    end
    triple_group_q <= cuts_group_q;
    triple_cuts_q  <= cuts_q;
    if (cuts_group_q.ends.valid) begin
      triple_window_q <= window_q;
      for (int t = 0; t < int'(Triples); t++) begin
        for (int c = 0; c < 3; c++) begin
          triple_sum_q[t][c] <= 10'(window_q[t][8*c+:8]) + 10'(window_q[t][24+8*c+:8]) +
              10'(window_q[t][48+8*c+:8]);
        end
      end
    end
    up_to_group_q <= triple_group_q;
    up_to_cuts_q  <= triple_cuts_q;
    if (triple_group_q.ends.valid) begin
      for (int i = 0; i <= int'(LANES); i++) begin
        triple_q[i] <= '0;
        for (int t = 0; t < int'(Triples); t++) begin
          if (triple_cuts_q[i].triple == 3'(t)) triple_q[i] <= triple_window_q[t];
        end
      end
      for (int c = 0; c < 3; c++) begin
        logic [Triples-1:0][12:0] of;
        logic [12:0] two, four;
        for (int t = 0; t < int'(Triples); t++) of[t] = 13'(triple_sum_q[t][c]);
        two  = of[0] + of[1];
        four = two + (of[2] + of[3]);
        up_to_triple_q[0][c] <= '0;
        up_to_triple_q[1][c] <= of[0];
        up_to_triple_q[2][c] <= two;
        up_to_triple_q[3][c] <= two + of[2];
        up_to_triple_q[4][c] <= four;
        up_to_triple_q[5][c] <= four + of[4];
        up_to_triple_q[6][c] <= four + (of[4] + of[5]);
        up_to_triple_q[7][c] <= four + (of[4] + of[5] + of[6]);
      end
    end
    if (rst) {cuts_group_q.ends.valid, triple_group_q.ends.valid, up_to_group_q.ends.valid} <= '0;
  end

  logic [LANES:0][2:0][12:0] whole_q;  // triples
  logic [LANES:0][2:0][ 9:0] part_q;  // of the next triple
  logic [LANES:0][2:0][13:0] group_q;
  logic [LANES-1:0][2:0][7:0] pixel_q, group_pixel_q;  // in which the output pixel ends
  group_t whole_group_q, group_group_q;

  always_ff @(posedge clk) begin : sum_group
    whole_group_q <= up_to_group_q;
    if (up_to_group_q.ends.valid) begin
      for (int i = 0; i <= int'(LANES); i++) begin
        whole_q[i] <= up_to_triple_q[up_to_cuts_q[i].triple];
        for (int c = 0; c < 3; c++) begin
          logic [9:0] part;
          part = '0;
          for (int r = 0; r < 3; r++) begin
            if (2'(r) < up_to_cuts_q[i].row ||
                (2'(r) == up_to_cuts_q[i].row && 2'(c) < up_to_cuts_q[i].rest)) begin
              part = part + 10'(triple_q[i][r][c]);
            end
          end
          part_q[i][c] <= part;
        end
      end
      for (int i = 0; i < int'(LANES); i++) begin
        logic [2:0][7:0] row;
        row = triple_q[i][up_to_cuts_q[i].row];
        pixel_q[i] <= grey ? {3{row[up_to_cuts_q[i].rest]}} : row;
      end
    end
    group_group_q <= whole_group_q;
    if (whole_group_q.ends.valid) begin
      group_pixel_q <= pixel_q;
      for (int i = 0; i <= int'(LANES); i++) begin
        logic [2:0][13:0] sum;
        for (int c = 0; c < 3; c++) sum[c] = 14'(whole_q[i][c]) + 14'(part_q[i][c]);
        group_q[i] <= grey ? {3{sum[0] + sum[1] + sum[2]}} : sum;
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
        if (integral_begins_q) last_q[c] <= '0;
        for (int i = 0; i < int'(LANES); i++) begin
          m_share[i][c] <= integral_q[i][c] - (i > 0 ? integral_q[i-32'(i>0)][c] :
                                               integral_begins_q ? '0 : last_q[c]);
          if (integral_ends_q.ends[i]) last_q[c] <= integral_q[i][c];
        end
      end
    end
    if (load) {last_q, before_q} <= loaded;
    if (rst) {up_to_ends_q.valid, integral_ends_q.valid, m_ends.valid} <= '0;
  end

endmodule

`default_nettype wire
