// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_matrix: a matrix of weights times vectors.
//
// What:        outputs are computed `Pe` at a time, from `Simd` inputs a cycle: the vector comes once
//              for each Pe outputs (fb_dnn_vector), Inputs / Simd words each time. Inputs are u8,
//              weights s8. Two outputs share a multiplier: their weights w1 * 2^18 + w0 are one factor
//              of 26 bits. Of four such products the lower halves add up without reaching the upper
//              ones: 4 * 255 * 128 < 2^17; what a negative one borrows from above is given back.
// Handshake:   valid/ready; s_ready depends on m_ready.
// Latency:     3 cycles from the last word of a vector.
// Throughput:  Pe * Simd products a cycle.
// Limits:      Pe * Simd / 2 multipliers.

`default_nettype none

module fb_dnn_matrix #(
    parameter int unsigned Inputs = 16,
    parameter int unsigned Outputs = 16,
    parameter int unsigned Pe = 2,  // outputs at a time, 1 or even, a divisor of Outputs
    parameter int unsigned Simd = 4,  // inputs at a time, a divisor of Inputs
    parameter File = "",  // a line a cycle: s8 [Pe-1:0][Simd-1:0], in hexadecimal digits
    localparam int unsigned SumBits = $clog2(Inputs * 255 * 128 + 1) + 1
) (
    input wire clk,
    input wire rst,

    input  wire                  s_valid,
    output logic                 s_ready,
    input  wire  [Simd-1:0][7:0] s_data,

    output logic                              m_valid,
    input  wire                               m_ready,
    output logic signed [Pe-1:0][SumBits-1:0] m_data
);

  localparam int unsigned Words = Inputs / Simd;
  localparam int unsigned Depth = Words * (Outputs / Pe);
  localparam int unsigned WordBits = Words > 1 ? $clog2(Words) : 1;
  localparam int unsigned PlaceBits = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned Pairs = (Pe + 1) / 2;
  localparam int unsigned Fours = (Simd + 3) / 4;
  localparam int unsigned Upper = 18;  // the bit at which the second product begins

  if (Pe < 1 || Simd < 1 || (Pe > 1 && Pe % 2 != 0) || Outputs % Pe != 0 || Inputs % Simd != 0)
  begin : gen_bad_folding
    $fatal(
        1,
        "fb_dnn_matrix (%m): Pe=%0d must be 1 or even and divide Outputs=%0d, %s",
        Pe,
        Outputs,
        $sformatf(
            "Simd=%0d must divide Inputs=%0d", Simd, Inputs
        )
    );
  end

  // What a stage holds. They move together.
  typedef struct packed {
    logic valid;
    logic first;  // word of a vector
    logic last;
  } word_t;
  word_t read_q, product_q;
  logic moves;
  logic [WordBits-1:0] word_q;
  logic [PlaceBits-1:0] place_q;
  logic last;

  assign last = word_q == WordBits'(Words - 1);
  assign moves = !m_valid || m_ready;
  assign s_ready = moves;

  logic [Simd-1:0][7:0] data_q;
  logic [Pe-1:0][Simd-1:0][7:0] weights;
  fb_dnn_rom #(
      .Width(Pe * Simd * 8),
      .Depth(Depth),
      .File (File)
  ) u_weights (
      .clk,
      .enable(s_valid && s_ready),
      .address(place_q),
      .data(weights)
  );

  always_ff @(posedge clk) begin : follow
    if (s_valid && s_ready) begin
      data_q  <= s_data;
      word_q  <= last ? '0 : word_q + 1'b1;
      place_q <= place_q == PlaceBits'(Depth - 1) ? '0 : place_q + 1'b1;
    end
    if (moves) begin
      read_q <= '{s_valid, word_q == '0, last};
      product_q <= read_q;
      m_valid <= product_q.valid && product_q.last;
    end
    if (rst) {m_valid, read_q.valid, product_q.valid, word_q, place_q} <= '0;
  end

  // A process a pair of outputs: simulators keep up with that best.
  for (genvar pair = 0; pair < int'(Pairs); pair++) begin : gen_pairs
    localparam int unsigned Low = 2 * pair, High = Pe > 1 ? 2 * pair + 1 : 0;
    logic signed [Fours-1:0][44:0] products_q;  // sums of four of them
    logic signed [SumBits-1:0] low_q, high_q;

    assign m_data[Low] = low_q;
    if (Pe > 1) begin : gen_high
      assign m_data[High] = high_q;
    end

    always_ff @(posedge clk) begin : compute
      logic signed [26:0] factor;
      logic signed [44:0] four;
      logic signed [SumBits-1:0] low, high;
      if (moves && read_q.valid) begin
        for (int f = 0; f < int'(Fours); f++) begin
          four = '0;
          for (int s = 4 * f; s < 4 * f + 4 && s < int'(Simd); s++) begin
            factor = 27'($signed({Pe > 1 ? weights[High][s] : 8'd0, {Upper{1'b0}}})) +
                27'($signed(weights[Low][s]));
            four += 45'(factor) * 45'($signed({1'b0, data_q[s]}));
          end
          products_q[f] <= four;
        end
      end
      if (moves && product_q.valid) begin
        low  = product_q.first ? '0 : low_q;
        high = product_q.first ? '0 : high_q;
        for (int f = 0; f < int'(Fours); f++) begin
          low += SumBits'($signed(products_q[f][Upper-1:0]));
          high += SumBits'($signed(products_q[f][44:Upper])) + SumBits'(products_q[f][Upper-1]);
        end
        low_q  <= low;
        high_q <= high;
      end
    end
  end

endmodule

`default_nettype wire
