// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_taps: each channel's square of pixels times its weights.
//
// What:        sums over the taps of u8 values times s8 weights, a channel a lane. The groups of a
//              pixel's channels come in turns, each with weights of its own.
// Handshake:   valid/ready; s_ready depends on m_ready.
// Latency:     3 cycles.
// Throughput:  a group a cycle.
// Limits:      a multiplier a tap and lane.

`default_nettype none

module fb_dnn_taps #(
    parameter int unsigned Channels = 16,
    parameter int unsigned Lanes = 1,  // channels of a group, a divisor of Channels
    parameter int unsigned Taps = 9,
    parameter File = "",  // a line a group: s8 [Taps-1:0][Lanes-1:0], in hexadecimal digits
    localparam int unsigned SumBits = $clog2(Taps * 255 * 128 + 1) + 1
) (
    input wire clk,
    input wire rst,

    input  wire                             s_valid,
    output logic                            s_ready,
    input  wire  [Taps-1:0][Lanes-1:0][7:0] s_data,

    output logic                                 m_valid,
    input  wire                                  m_ready,
    output logic signed [Lanes-1:0][SumBits-1:0] m_data
);

  localparam int unsigned Groups = Channels / Lanes;
  localparam int unsigned GroupBits = Groups > 1 ? $clog2(Groups) : 1;

  if (Lanes < 1 || Channels < Lanes || Channels % Lanes != 0) begin : gen_bad_lanes
    $fatal(1, "fb_dnn_taps (%m): Lanes=%0d must divide Channels=%0d", Lanes, Channels);
  end

  logic [1:0] there_q;  // stages whose contents are valid
  logic moves;
  assign moves   = !m_valid || m_ready;
  assign s_ready = moves;

  logic [GroupBits-1:0] group_q;
  logic [Taps-1:0][Lanes-1:0][7:0] weights, data_q;
  fb_dnn_rom #(
      .Width(Taps * Lanes * 8),
      .Depth(Groups),
      .File (File)
  ) u_weights (
      .clk,
      .enable(s_valid && s_ready),
      .address(group_q),
      .data(weights)
  );

  always_ff @(posedge clk) begin : follow
    if (moves) {m_valid, there_q} <= {there_q, s_valid};
    if (s_valid && s_ready) begin
      data_q  <= s_data;
      group_q <= group_q == GroupBits'(Groups - 1) ? '0 : group_q + 1'b1;
    end
    if (rst) {m_valid, there_q, group_q} <= '0;
  end

  for (genvar lane = 0; lane < int'(Lanes); lane++) begin : gen_lanes
    logic signed [Taps-1:0][16:0] products_q;
    always_ff @(posedge clk) begin : compute
      logic signed [SumBits-1:0] sum;
      sum = '0;
      if (moves && there_q[0]) begin
        for (int tap = 0; tap < int'(Taps); tap++) begin
          products_q[tap] <= 17'($signed({1'b0, data_q[tap][lane]})) *
              17'($signed(weights[tap][lane]));
        end
      end
      if (moves && there_q[1]) begin
        for (int tap = 0; tap < int'(Taps); tap++) sum += SumBits'($signed(products_q[tap]));
        m_data[lane] <= sum;
      end
    end
  end

endmodule

`default_nettype wire
