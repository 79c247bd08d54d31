// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_lines: output pixels from what each line has for them.
//
// What:        adds up the lines of an output row, each by how much of it belongs to the row; the last
//              one begins the next row with its rest. Four output pixels that lie side by side are in
//              four banks.
// Handshake:   none. The same columns come again no sooner than 8 cycles later, which they do with 32
//              columns or more.
// Latency:     4 cycles.
// Limits:      512-bit registers: none. 24 products of 9 x 22 bits.
// Does not implement: columns that come again sooner.

`default_nettype none

module fb_dnn_lines
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224,  // pixels of a side of the small image, 32 to 256
    parameter int unsigned Streams = 1,  // 1, 2 or 4
    localparam int unsigned StreamBits = $clog2(Streams) + 32'(Streams == 1)
) (
    input wire clk,
    input wire rst,

    // Steady while shares are inside.
    input wire [StreamBits-1:0] stream,

    input wire ends_t                                 ends,
    input wire        [LANES-1:0][2:0][LINE_BITS-1:0] share,

    output logic [LANES-1:0]                               m_valid,    // of each bank
    output logic [LANES-1:0][PLACE_BITS-1:0]               m_place,    // column / 4
    output logic                                           m_half,
    output logic [LANES-1:0][           2:0][SUM_BITS-1:0] m_sum,
    output logic                                           m_row_ends  // with these
);

  typedef logic [SUM_BITS-1:0] sum_t;
  typedef logic [StreamBits+PLACE_BITS-1:0] address_t;

  localparam logic [UNIT_BITS-1:0] Units = UNIT_BITS'(Size);

  // What goes along: with the shares in banks, their products, and the sums.
  typedef struct packed {
    logic [LANES-1:0] valid;
    logic [LANES-1:0][PLACE_BITS-1:0] place;
    logic first_line;
    logic row_ends;
    logic row_complete;  // the last of its output pixels are these
    logic [UNIT_BITS-1:0] row_units, rest_units;  // of the line: the row's, and what is left
    logic half;
  } about_t;

  about_t banks_q, times_q, product_q, sum_q;
  logic [LANES-1:0][2:0][LINE_BITS-1:0] share_q;
  sum_t [LANES-1:0][2:0] now_q, rest_q, now2_q, rest2_q, kept, sum, next_q;

  always_ff @(posedge clk) begin : into_banks
    banks_q.valid <= '0;
    banks_q.first_line <= ends.first_line;
    banks_q.row_ends <= ends.row_ends;
    banks_q.row_complete <= ends.valid && ends.row_ends && ends.line_ends;
    banks_q.row_units <= ends.row_units;
    banks_q.rest_units <= Units - ends.row_units;
    banks_q.half <= ends.half;
    if (ends.valid) begin
      for (int b = 0; b < int'(LANES); b++) begin
        logic [1:0] lane;
        lane = 2'(b) - ends.columns[1:0];
        banks_q.valid[b] <= ends.ends[lane];
        // Whose lane wraps is in the next place.
        banks_q.place[b] <= ends.columns[UNIT_BITS-2:2] + PLACE_BITS'(2'(b) < ends.columns[1:0]);
        share_q[b] <= share[lane];
      end
    end
    if (rst) {banks_q.valid, banks_q.row_complete} <= '0;
  end

  // The part of the line that belongs to the row, and the rest of the line.
  always_ff @(posedge clk) begin : multiply
    times_q   <= banks_q;
    product_q <= times_q;
    for (int b = 0; b < int'(LANES); b++) begin
      for (int c = 0; c < 3; c++) begin
        if (banks_q.valid[b]) begin
          now_q[b][c]  <= sum_t'(banks_q.row_units) * sum_t'(share_q[b][c]);
          rest_q[b][c] <= sum_t'(banks_q.rest_units) * sum_t'(share_q[b][c]);
        end
        if (times_q.valid[b]) begin
          now2_q[b][c]  <= now_q[b][c];
          rest2_q[b][c] <= rest_q[b][c];
        end
      end
    end
    if (rst) {times_q.valid, times_q.row_complete} <= '0;
    if (rst) {product_q.valid, product_q.row_complete} <= '0;
  end

  address_t [LANES-1:0] read_place, write_place;
  for (genvar b = 0; b < int'(LANES); b++) begin : gen_banks
    assign read_place[b]  = {stream, banks_q.place[b]};
    assign write_place[b] = {stream, sum_q.place[b]};
    fb_common_table #(
        .Width(3 * SUM_BITS),
        .Depth(1 << $bits(address_t))
    ) u_sums (
        .clk,
        .we(sum_q.valid[b]),
        .waddr(write_place[b]),
        .wdata(next_q[b]),
        .raddr(read_place[b]),
        .rdata(kept[b])
    );
    for (genvar c = 0; c < 3; c++) begin : gen_channels
      assign sum[b][c] = (product_q.first_line ? '0 : kept[b][c]) + now2_q[b][c];
    end
  end

  always_ff @(posedge clk) begin : add
    sum_q <= product_q;
    for (int b = 0; b < int'(LANES); b++) begin
      if (product_q.valid[b]) begin
        m_sum[b]  <= sum[b];
        next_q[b] <= product_q.row_ends ? rest2_q[b] : sum[b];
      end
    end
    if (rst) {sum_q.valid, sum_q.row_complete} <= '0;
  end

  assign m_valid = sum_q.row_ends ? sum_q.valid : '0;
  assign m_place = sum_q.place;
  assign m_half = sum_q.half;
  assign m_row_ends = sum_q.row_complete;

  // How the lines were shared out is done with.
  logic unused;
  assign unused = &{1'b0, sum_q};

endmodule

`default_nettype wire
