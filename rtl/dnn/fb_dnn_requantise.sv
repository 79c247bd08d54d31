// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_requantise: sums of products become values of a layer's output.
//
// What:        y = clamp(round((sum * multiplier + offset) / 2^shift) + Zero, Low, High); a half is
//              rounded to the even neighbour. Each channel has its factors: the multiplier is a scale's
//              24 bits and a sign; the offset, at the scale of the product, is all that is added to a
//              sum. The groups of a pixel's channels come in turns.
// Handshake:   valid/ready; s_ready depends on m_ready.
// Latency:     5 cycles.
// Throughput:  a group a cycle.

`default_nettype none

module fb_dnn_requantise
  import fb_dnn_layer_pkg::*;
#(
    parameter int unsigned Channels = 16,
    parameter int unsigned Lanes = 1,  // channels of a group, a divisor of Channels
    parameter int unsigned SumBits = 24,
    parameter logic [7:0] Zero = 8'd0,  // the value that stands for zero
    parameter logic [7:0] Low = 8'd0,  // least value
    parameter logic [7:0] High = 8'd255,  // greatest one
    parameter File = ""  // a line a group: factors_t [Lanes-1:0], in hexadecimal digits
) (
    input wire clk,
    input wire rst,

    input  wire                                 s_valid,
    output logic                                s_ready,
    input  wire signed [Lanes-1:0][SumBits-1:0] s_data,

    output logic                  m_valid,
    input  wire                   m_ready,
    output logic [Lanes-1:0][7:0] m_data
);

  localparam int unsigned Groups = Channels / Lanes;
  localparam int unsigned GroupBits = Groups > 1 ? $clog2(Groups) : 1;

  if (Lanes < 1 || Channels < Lanes || Channels % Lanes != 0) begin : gen_bad_lanes
    $fatal(1, "fb_dnn_requantise (%m): Lanes=%0d must divide Channels=%0d", Lanes, Channels);
  end
  if (SumBits > SUM_BITS_MOST || Low > High) begin : gen_bad_range
    $fatal(
        1,
        "fb_dnn_requantise (%m): SumBits=%0d must be at most %0d, Low=%0d at most High=%0d",
        SumBits,
        SUM_BITS_MOST,
        Low,
        High
    );
  end

  logic [3:0] there_q;  // stages whose contents are valid
  logic moves;
  assign moves   = !m_valid || m_ready;
  assign s_ready = moves;

  logic [GroupBits-1:0] group_q;
  factors_t [Lanes-1:0] factors;
  fb_dnn_rom #(
      .Width(Lanes * $bits(factors_t)),
      .Depth(Groups),
      .File (File)
  ) u_factors (
      .clk,
      .enable(s_valid && s_ready),
      .address(group_q),
      .data(factors)
  );

  always_ff @(posedge clk) begin : follow
    if (moves) {m_valid, there_q} <= {there_q, s_valid};
    if (s_valid && s_ready) group_q <= group_q == GroupBits'(Groups - 1) ? '0 : group_q + 1'b1;
    if (rst) {m_valid, there_q, group_q} <= '0;
  end

  for (genvar lane = 0; lane < int'(Lanes); lane++) begin : gen_lanes
    logic signed [SumBits-1:0] sum_q;
    logic signed [TOTAL_BITS-1:0] product_q, total_q, halves_q;
    logic signed [OFFSET_BITS-1:0] offset_q;
    logic [SHIFT_BITS-1:0] shift_q, total_shift_q;
    logic rest_q, up;  // rest: something was shifted out
    logic signed [TOTAL_BITS-1:0] whole, value;

    // Halves are integers here. One that is left rounds up with a rest, or where the integer is odd.
    assign up = halves_q[0] && (rest_q || halves_q[1]);
    assign whole = halves_q >>> 1;
    assign value = whole + $signed(TOTAL_BITS'(up)) + $signed(TOTAL_BITS'(Zero));

    always_ff @(posedge clk) begin : compute
      if (s_valid && s_ready) sum_q <= s_data[lane];
      if (moves && there_q[0]) begin
        product_q <= TOTAL_BITS'(sum_q) * TOTAL_BITS'(factors[lane].multiplier);
        offset_q  <= factors[lane].offset;
        shift_q   <= factors[lane].shift;
      end
      if (moves && there_q[1]) begin
        total_q <= product_q + TOTAL_BITS'(offset_q);
        total_shift_q <= shift_q;
      end
      if (moves && there_q[2]) begin
        halves_q <= total_q >>> total_shift_q;
        rest_q   <= (total_q & ~({TOTAL_BITS{1'b1}} << total_shift_q)) != '0;
      end
      if (moves && there_q[3]) begin
        m_data[lane] <= value[7:0];
        if (value < $signed(TOTAL_BITS'(Low))) m_data[lane] <= Low;
        if (value > $signed(TOTAL_BITS'(High))) m_data[lane] <= High;
      end
    end
  end

endmodule

`default_nettype wire
