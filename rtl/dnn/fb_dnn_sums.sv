// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_sums: each channel summed over all pixels of an image.
//
// What:        the groups of a pixel's channels come in turns. With the last pixel of an image the sums
//              leave.
// Handshake:   valid/ready; s_ready depends on m_ready while the last pixel comes.
// Latency:     0 cycles.
// Throughput:  a group a cycle.

`default_nettype none

module fb_dnn_sums #(
    parameter int unsigned Pixels = 49,  // of an image
    parameter int unsigned Channels = 16,
    parameter int unsigned Lanes = 1,  // channels of a group, a divisor of Channels
    localparam int unsigned SumBits = $clog2(Pixels * 255 + 1) + 1
) (
    input wire clk,
    input wire rst,

    input  wire                   s_valid,
    output logic                  s_ready,
    input  wire  [Lanes-1:0][7:0] s_data,

    output logic                                 m_valid,
    input  wire                                  m_ready,
    output logic signed [Lanes-1:0][SumBits-1:0] m_data
);

  localparam int unsigned Groups = Channels / Lanes;
  localparam int unsigned GroupBits = Groups > 1 ? $clog2(Groups) : 1;
  localparam int unsigned PixelBits = Pixels > 1 ? $clog2(Pixels) : 1;

  if (Pixels < 1 || Lanes < 1 || Channels < Lanes || Channels % Lanes != 0) begin : gen_bad_lanes
    $fatal(
        1,
        "fb_dnn_sums (%m): Pixels=%0d must be 1 or more, Lanes=%0d divide Channels=%0d",
        Pixels,
        Lanes,
        Channels
    );
  end

  logic [GroupBits-1:0] group_q;
  logic [PixelBits-1:0] pixel_q;
  logic last, step;
  logic [Lanes-1:0][SumBits-1:0] earlier;

  assign last = pixel_q == PixelBits'(Pixels - 1);
  assign m_valid = s_valid && last;
  assign s_ready = !last || m_ready;
  assign step = s_valid && s_ready;

  // The sums of a group come by again with its next pixel.
  fb_dnn_delay #(
      .Width(Lanes * SumBits),
      .Steps(Groups)
  ) u_sums (
      .clk,
      .rst,
      .step,
      .s_data(m_data),
      .m_data(earlier)
  );
  for (genvar lane = 0; lane < int'(Lanes); lane++) begin : gen_lanes
    assign m_data[lane] = SumBits'(s_data[lane]) + (pixel_q == '0 ? '0 : earlier[lane]);
  end

  always_ff @(posedge clk) begin : follow
    if (step) begin
      group_q <= group_q + 1'b1;
      if (group_q == GroupBits'(Groups - 1)) begin
        group_q <= '0;
        pixel_q <= last ? '0 : pixel_q + 1'b1;
      end
    end
    if (rst) {group_q, pixel_q} <= '0;
  end

endmodule

`default_nettype wire
