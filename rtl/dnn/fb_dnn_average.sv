// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_average: a layer that makes one pixel of an image, the average of all.
//
// What:        sums over all pixels become values again; what divides is among the factors.
// Handshake:   valid/ready; s_ready may depend on m_ready.
// Throughput:  a pixel that comes takes Channels / Lanes cycles.

`default_nettype none

module fb_dnn_average #(
    parameter int unsigned Size = 7,  // pixels of a side of the image that comes
    parameter int unsigned Channels = 16,
    parameter int unsigned Lanes = 1,  // of them at a time
    parameter logic [7:0] Zero = 8'd0,  // see fb_dnn_requantise
    parameter logic [7:0] Low = 8'd0,
    parameter logic [7:0] High = 8'd255,
    parameter Factors = ""  // file: see fb_dnn_requantise
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

  localparam int unsigned SumBits = $clog2(Size * Size * 255 + 1) + 1;

  logic sum_valid, sum_ready;
  logic [Lanes-1:0][SumBits-1:0] sum;
  fb_dnn_sums #(
      .Pixels(Size * Size),
      .Channels(Channels),
      .Lanes(Lanes)
  ) u_sums (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data,
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
