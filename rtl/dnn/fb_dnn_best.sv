// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_best: the class of an image, and how sure that is.
//
// What:        of the values of all classes the greatest wins, of equal ones the first. The score is
//              the softmax of that class: 1 / sum(e^(-scale * (greatest - value))), as an IEEE single
//              rounded towards zero, whose terms come from a table.
// Handshake:   valid/ready. While an image is judged the values of the next one wait.
// Latency:     Classes + 29 cycles from the last value, and up to 16 more for scores below 1/2.
// Throughput:  an image in twice Classes cycles and 30 to 46.

`default_nettype none

module fb_dnn_best
  import fb_dnn_layer_pkg::*;
#(
    parameter int unsigned Classes = 10,  // 2 to 65534
    parameter File = ""  // a line a difference, 0 to 255: 2^24 * e^(-scale * difference), rounded
) (
    input wire clk,
    input wire rst,

    input  wire        s_valid,
    output logic       s_ready,
    input  wire  [7:0] s_data,

    output logic   m_valid,
    input  wire    m_ready,
    output class_t m_data
);

  localparam int unsigned TermBits = 25;
  localparam int unsigned SumBits = TermBits + 16;
  localparam int unsigned NumberBits = $clog2(Classes + 1);
  localparam logic [NumberBits-1:0] Last = NumberBits'(Classes - 1);

  if (Classes < 2 || Classes > 65534) begin : gen_bad_classes
    $fatal(1, "fb_dnn_best (%m): Classes=%0d must be 2 to 65534", Classes);
  end

  typedef enum logic [1:0] {
    TAKES,  // the values of an image
    SUMS,   // the terms of its score
    GIVES   // the judgement, once it is divided
  } state_e;
  state_e state_q;

  (* ram_style = (Classes > 64) ? "block" : "distributed", no_rw_check *)
  logic [7:0] values[Classes];
  logic [7:0] value_q, most_q;
  logic [NumberBits-1:0] number_q, best_q;
  logic [2:0] terms_q;  // on their way, the newest lowest
  logic takes, last, reads, start;
  logic [TermBits-1:0] term;
  logic [ SumBits-1:0] sum_q;

  assign s_ready = state_q == TAKES;
  assign takes = s_valid && s_ready;
  assign last = number_q == Last;
  assign reads = state_q == SUMS && number_q <= Last;

  always_ff @(posedge clk) begin : memory
    if (takes) values[number_q] <= s_data;
    if (reads) value_q <= values[number_q];
  end

  fb_dnn_rom #(
      .Width(TermBits),
      .Depth(256),
      .File (File)
  ) u_terms (
      .clk,
      .enable(terms_q[0]),
      .address(most_q - value_q),
      .data(term)
  );

  always_ff @(posedge clk) begin : judge
    start   <= 1'b0;
    terms_q <= {terms_q[1:0], reads};
    case (state_q)
      TAKES:
      if (takes) begin
        if (number_q == '0 || s_data > most_q) begin
          most_q <= s_data;
          best_q <= number_q;
        end
        number_q <= last ? '0 : number_q + 1'b1;
        if (last) state_q <= SUMS;
      end
      SUMS: begin
        if (reads) number_q <= number_q + 1'b1;
        if (!reads && terms_q == '0) begin
          start   <= 1'b1;
          state_q <= GIVES;
        end
      end
      default: begin
        number_q <= '0;
        if (m_valid && m_ready) state_q <= TAKES;
      end
    endcase
    if (terms_q[1]) sum_q <= sum_q + SumBits'(term);
    if (state_q == TAKES) sum_q <= '0;
    if (rst) begin
      state_q  <= TAKES;
      number_q <= '0;
      terms_q  <= '0;
      start    <= 1'b0;
    end
  end

  logic divided, unused;
  logic [31:0] score;
  fb_common_quotient #(
      .Width(SumBits)
  ) u_score (
      .clk,
      .rst,
      .start,
      .numerator(SumBits'(1) << (TermBits - 1)),
      .divisor(sum_q),
      .valid(divided),
      .single(score),
      .whole(unused)
  );
  assign m_valid = state_q == GIVES && !start && divided;
  assign m_data  = '{score, 16'(best_q)};

endmodule

`default_nettype wire
