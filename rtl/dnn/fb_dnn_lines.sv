// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_lines: output pixels from what each line has for them.
//
// What:        adds up the lines of an output row, each by how much of it belongs to the row; the last
//              one begins the next row with its rest. A sum over the area becomes the mean, rounded:
//              it is shifted until 26 bits can hold it, and multiplied by the area's reciprocal.
//              Four output pixels that lie side by side are in four banks.
// Handshake:   none: as many shares as come in a cycle. The same columns come again no sooner than 8 cycles later, which
//              they do with 32 columns or more.
// Latency:     9 cycles.
// Limits:      512-bit registers: none. 36 products of 9 x 22, 12 of 27 x 18 bits.
// Does not implement: exact ties. The mean may be off by one, where the sum is within 2^-9 of a half.

`default_nettype none

module fb_dnn_lines
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224,
    parameter int unsigned Streams = 1,
    localparam int unsigned StreamBits = $clog2(Streams) + 32'(Streams == 1)
) (
    input wire clk,
    input wire rst,

    // Steady while groups are inside.
    input wire scale_t                  scale,
    input wire         [StreamBits-1:0] stream,

    input wire ends_t                                ends,
    input wire        [LANES-1:0][2:0][LINE_BITS-1:0] share,

    output logic [LANES-1:0]                       m_valid,   // of each bank
    output logic [LANES-1:0][PLACE_BITS-1:0]       m_place,   // column / 4
    output logic                                   m_half,
    output logic [LANES-1:0][2:0][7:0]             m_pixel,
    output logic                                   m_row_ends // with these
);

  typedef logic [SUM_BITS-1:0] sum_t;
  typedef logic [StreamBits+PLACE_BITS-1:0] address_t;

  localparam logic [UNIT_BITS-1:0] Units = UNIT_BITS'(Size);

  // What goes along: with the shares in banks, their products, the sums, and the mean.
  typedef struct packed {
    logic [LANES-1:0] valid;
    logic [LANES-1:0][PLACE_BITS-1:0] place;
    logic first_line;
    logic row_ends;
    logic row_complete;  // the last of its output pixels are these
    logic [UNIT_BITS-1:0] row_units;
    logic half;
  } about_t;

  about_t banks_q, times_q, product_q, sum_q, shift_q, mean_q;
  logic [LANES-1:0][2:0][LINE_BITS-1:0] share_q;
  sum_t [LANES-1:0][2:0] now_q, rest_q, now2_q, rest2_q, kept, sum, done_q, next_q;
  logic [LANES-1:0][2:0][25:0] shifted_q;
  logic [LANES-1:0][2:0][42:0] mean_product_q;

  always_ff @(posedge clk) begin : into_banks
    banks_q.valid <= '0;
    banks_q.first_line <= ends.first_line;
    banks_q.row_ends <= ends.row_ends;
    banks_q.row_complete <= ends.valid && ends.row_ends && ends.line_ends;
    banks_q.row_units <= ends.row_units;
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
  end

  // The part of the line that belongs to the row, and the rest of the line.
  always_ff @(posedge clk) begin : multiply
    times_q   <= banks_q;
    product_q <= times_q;
    for (int b = 0; b < int'(LANES); b++) begin
      for (int c = 0; c < 3; c++) begin
        if (banks_q.valid[b]) begin
          now_q[b][c]  <= sum_t'(banks_q.row_units) * sum_t'(share_q[b][c]);
          rest_q[b][c] <= sum_t'(Units) * sum_t'(share_q[b][c]);
        end
        if (times_q.valid[b]) begin
          now2_q[b][c]  <= now_q[b][c];
          rest2_q[b][c] <= rest_q[b][c] - now_q[b][c];
        end
      end
    end
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
    shift_q <= sum_q;
    mean_q <= shift_q;
    for (int b = 0; b < int'(LANES); b++) begin
      if (product_q.valid[b]) begin
        done_q[b] <= sum[b];
        next_q[b] <= product_q.row_ends ? rest2_q[b] : sum[b];
      end
      for (int c = 0; c < 3; c++) begin
        if (sum_q.valid[b] && sum_q.row_ends) begin
          shifted_q[b][c] <= 26'({done_q[b][c], 7'd0} >> scale.area_bits);
        end
        if (shift_q.valid[b] && shift_q.row_ends) begin
          mean_product_q[b][c] <= 43'(shifted_q[b][c]) * 43'(scale.reciprocal);
        end
        m_pixel[b][c] <= mean(mean_product_q[b][c][42:33]);
      end
    end
    m_valid <= mean_q.row_ends ? mean_q.valid : '0;
    m_place <= mean_q.place;
    m_half <= mean_q.half;
    m_row_ends <= mean_q.row_complete;
    if (rst) begin
      {banks_q.valid, times_q.valid, product_q.valid, sum_q.valid} <= '0;
      {shift_q.valid, mean_q.valid, m_valid, m_row_ends} <= '0;
      {banks_q.row_complete, times_q.row_complete, product_q.row_complete} <= '0;
      {sum_q.row_complete, shift_q.row_complete, mean_q.row_complete} <= '0;
    end
  end

  // Of what goes along the means need not all.
  logic unused;
  assign unused = &{1'b0, mean_q};

  // Of a product of 2^34, rounded.
  function automatic logic [7:0] mean(input logic [9:0] product);
    logic [9:0] rounded;
    rounded = {1'b0, product[9:1]} + 10'(product[0]);
    mean = rounded > 10'd255 ? 8'd255 : rounded[7:0];
  endfunction

endmodule

`default_nettype wire
