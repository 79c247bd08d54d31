// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_maximum: a layer that keeps the greatest value of each square.
//
// What:        squares of pixels; each channel for itself. What is put around is 0, the least value.
// Handshake:   valid/ready; s_ready may depend on m_ready.
// Throughput:  a pixel that comes, or is put around, takes Channels / Lanes cycles.

`default_nettype none

module fb_dnn_maximum #(
    parameter int unsigned Size = 32,  // pixels of a side of the image that comes
    parameter int unsigned Channels = 16,
    parameter int unsigned Lanes = 1,  // of them at a time
    parameter int unsigned Kernel = 2,  // pixels of a side of the square; see fb_dnn_window
    parameter int unsigned Stride = 2,
    parameter int unsigned Before = 0,
    parameter int unsigned After = 0
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
      .Zero(8'd0)
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

  fb_dnn_greatest #(
      .Lanes(Lanes),
      .Taps (Taps)
  ) u_greatest (
      .clk,
      .rst,
      .s_valid(square_valid),
      .s_ready(square_ready),
      .s_data (square),
      .m_valid,
      .m_ready,
      .m_data
  );

endmodule

`default_nettype wire
