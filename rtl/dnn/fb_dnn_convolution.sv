// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_convolution: a layer in which each output sees all channels.
//
// What:        squares of pixels, all channels of each, times a matrix; the sums become values again.
//              With a Kernel of 1 it is a pointwise convolution, with a Size of 1 too a fully connected
//              layer.
// Handshake:   valid/ready; s_ready may depend on m_ready.
// Throughput:  a pixel that leaves takes Kernel^2 * Channels / Simd * Outputs / Pe cycles, one that
//              comes Channels / Lanes, as does one that is put around; both at a time as long as there
//              are squares that wait, for which there is room.

`default_nettype none

module fb_dnn_convolution #(
    parameter int unsigned Size = 32,  // pixels of a side of the image that comes
    parameter int unsigned Channels = 16,  // of a pixel that comes
    parameter int unsigned Lanes = 1,  // of them that come at a time
    parameter int unsigned Kernel = 1,  // pixels of a side of the square; see fb_dnn_window
    parameter int unsigned Stride = 1,
    parameter int unsigned Before = 0,
    parameter int unsigned After = 0,
    parameter logic [7:0] Around = 8'd0,  // value of pixels that are put around
    parameter int unsigned Outputs = 16,  // channels of a pixel that leaves
    parameter int unsigned Pe = 2,  // see fb_dnn_matrix
    parameter int unsigned Simd = 4,
    parameter int unsigned Ahead = 2,  // with a Kernel of 2 or more: parts of squares that may wait
    parameter int unsigned OutLanes = 1,  // channels that leave at a time, a divisor of Pe
    parameter logic [7:0] Zero = 8'd0,  // see fb_dnn_requantise
    parameter logic [7:0] Low = 8'd0,
    parameter logic [7:0] High = 8'd255,
    parameter Weights = "",  // files: see fb_dnn_matrix ...
    parameter Factors = ""  // ... and fb_dnn_requantise
) (
    input wire clk,
    input wire rst,

    input  wire                   s_valid,
    output logic                  s_ready,
    input  wire  [Lanes-1:0][7:0] s_data,

    output logic                     m_valid,
    input  wire                      m_ready,
    output logic [OutLanes-1:0][7:0] m_data
);

  localparam int unsigned Taps = Kernel * Kernel;
  localparam int unsigned Inputs = Taps * Channels;
  localparam int unsigned SumBits = $clog2(Inputs * 255 * 128 + 1) + 1;

  logic square_valid, square_ready;
  logic [Taps-1:0][Lanes-1:0][7:0] square;
  fb_dnn_window #(
      .Size(Size),
      .Channels(Channels),
      .Lanes(Lanes),
      .Kernel(Kernel),
      .Stride(Stride),
      .Before(Before),
      .After(After),
      .Zero(Around)
  ) u_window (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data,
      .m_valid(square_valid),
      .m_ready(square_ready),
      .m_data (square)
  );

  logic part_valid, part_ready;
  logic [Simd-1:0][7:0] part;
  // At the end of a row no square ends for long: those that wait keep the matrix busy meanwhile.
  if (Kernel > 1) begin : gen_ahead
    localparam int unsigned Square = Taps * Lanes;
    fb_dnn_link #(
        .From (Square),
        .To   (Simd),
        .Wide (Square > Simd ? Square : Simd),
        .Depth(Ahead)
    ) u_parts (
        .clk,
        .rst,
        .s_valid(square_valid),
        .s_ready(square_ready),
        .s_data (square),
        .m_valid(part_valid),
        .m_ready(part_ready),
        .m_data (part)
    );
  end else begin : gen_at_once
    fb_dnn_lanes #(
        .From(Lanes),
        .To  (Simd)
    ) u_parts (
        .clk,
        .rst,
        .s_valid(square_valid),
        .s_ready(square_ready),
        .s_data (square),
        .m_valid(part_valid),
        .m_ready(part_ready),
        .m_data (part)
    );
  end

  logic input_valid, input_ready;
  logic [Simd-1:0][7:0] inputs;
  fb_dnn_vector #(
      .Width  (Simd * 8),
      .Words  (Inputs / Simd),
      .Repeats(Outputs / Pe)
  ) u_vector (
      .clk,
      .rst,
      .s_valid(part_valid),
      .s_ready(part_ready),
      .s_data (part),
      .m_valid(input_valid),
      .m_ready(input_ready),
      .m_data (inputs)
  );

  logic sums_valid, sums_ready;
  logic [Pe-1:0][SumBits-1:0] sums;
  fb_dnn_matrix #(
      .Inputs(Inputs),
      .Outputs(Outputs),
      .Pe(Pe),
      .Simd(Simd),
      .File(Weights)
  ) u_matrix (
      .clk,
      .rst,
      .s_valid(input_valid),
      .s_ready(input_ready),
      .s_data (inputs),
      .m_valid(sums_valid),
      .m_ready(sums_ready),
      .m_data (sums)
  );

  logic sum_valid, sum_ready;
  logic [OutLanes-1:0][SumBits-1:0] sum;
  fb_dnn_lanes #(
      .Width(SumBits),
      .From (Pe),
      .To   (OutLanes)
  ) u_sums (
      .clk,
      .rst,
      .s_valid(sums_valid),
      .s_ready(sums_ready),
      .s_data (sums),
      .m_valid(sum_valid),
      .m_ready(sum_ready),
      .m_data (sum)
  );

  fb_dnn_requantise #(
      .Channels(Outputs),
      .Lanes(OutLanes),
      .SumBits(SumBits),
      .Zero(Zero),
      .Low(Low),
      .High(High),
      .File(Factors)
  ) u_requantise (
      .clk,
      .rst,
      .s_valid(sum_valid),
      .s_ready(sum_ready),
      .s_data (sum),
      .m_valid,
      .m_ready,
      .m_data
  );

endmodule

`default_nettype wire
