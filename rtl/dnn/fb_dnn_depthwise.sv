// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_depthwise: a layer in which each output sees a channel of its own.
//
// What:        squares of pixels, each channel times its weights; the sums become values again.
// Handshake:   valid/ready; s_ready may depend on m_ready.
// Throughput:  a pixel that comes, or is put around, takes Channels / Lanes cycles.

`default_nettype none

module fb_dnn_depthwise #(
    parameter int unsigned Size = 32,  // pixels of a side of the image that comes
    parameter int unsigned Channels = 16,
    parameter int unsigned Lanes = 1,  // of them at a time
    parameter int unsigned Kernel = 3,  // pixels of a side of the square; see fb_dnn_window
    parameter int unsigned Stride = 1,
    parameter int unsigned Before = 1,
    parameter int unsigned After = 1,
    parameter logic [7:0] Around = 8'd0,  // value of pixels that are put around
    parameter logic [7:0] Zero = 8'd0,  // see fb_dnn_requantise
    parameter logic [7:0] Low = 8'd0,
    parameter logic [7:0] High = 8'd255,
    parameter Weights = "",  // files: see fb_dnn_taps ...
    parameter Factors = ""  // ... and fb_dnn_requantise
) (
    input wire clk,
    input wire rst,

    input  wire                   s_valid,
    output logic                  s_ready,
    input  wire  [Lanes-1:0][7:0] s_data,

    output logic                  m_valid,
    input  wire                   m_ready,
    output logic [Lanes-1:0][7:0] m_data
);

  localparam int unsigned Taps = Kernel * Kernel;
  localparam int unsigned SumBits = $clog2(Taps * 255 * 128 + 1) + 1;

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

  logic sum_valid, sum_ready;
  logic [Lanes-1:0][SumBits-1:0] sum;
  fb_dnn_taps #(
      .Channels(Channels),
      .Lanes(Lanes),
      .Taps(Taps),
      .File(Weights)
  ) u_taps (
      .clk,
      .rst,
      .s_valid(square_valid),
      .s_ready(square_ready),
      .s_data (square),
      .m_valid(sum_valid),
      .m_ready(sum_ready),
      .m_data (sum)
  );

  fb_dnn_requantise #(
      .Channels(Channels),
      .Lanes(Lanes),
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
