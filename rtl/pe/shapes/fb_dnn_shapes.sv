// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_shapes: written by `forebay dnn compile`, not by hand.
//
// What:        32 x 32 pixels of 3 channels, 10 classes.
// Handshake:   valid/ready: pixels, the first channel lowest, row by row, image by image; a class
//              and a score for each image, in order.
// Throughput:  an image in 18433 cycles.

`default_nettype none

module fb_dnn_shapes
  import fb_dnn_layer_pkg::*;
#(
    parameter DataFolder = "."  // of the weights
) (
    input wire clk,
    input wire rst,

    input  wire             s_valid,
    output logic            s_ready,
    input  wire  [2:0][7:0] s_data,

    output logic   m_valid,
    input  wire    m_ready,
    output class_t m_data
);

  logic table_valid, table_ready;
  logic [2:0][7:0] table_data;
  fb_dnn_table #(
      .Channels(3),
      .File({DataFolder, "/table.mem"})
  ) u_table (
      .clk,
      .rst,
      .s_valid(s_valid),
      .s_ready(s_ready),
      .s_data (s_data),
      .m_valid(table_valid),
      .m_ready(table_ready),
      .m_data (table_data)
  );

  logic table_link_valid, table_link_ready;
  logic [2:0][7:0] table_link_data;
  fb_dnn_link #(
      .From(3),
      .To(3),
      .Wide(3),
      .Depth(32)
  ) u_table_link (
      .clk,
      .rst,
      .s_valid(table_valid),
      .s_ready(table_ready),
      .s_data (table_data),
      .m_valid(table_link_valid),
      .m_ready(table_link_ready),
      .m_data (table_link_data)
  );

  logic convolution1_valid, convolution1_ready;
  logic [0:0][7:0] convolution1_data;
  fb_dnn_convolution #(
      .Size(32),
      .Channels(3),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(3),
      .Stride(2),
      .Before(1),
      .After(1),
      .Around(0),
      .Lanes(3),
      .Outputs(16),
      .Pe(2),
      .Simd(3),
      .OutLanes(1),
      .Ahead(2),
      .Weights({DataFolder, "/convolution1.weights.mem"}),
      .Factors({DataFolder, "/convolution1.factors.mem"})
  ) u_convolution1 (
      .clk,
      .rst,
      .s_valid(table_link_valid),
      .s_ready(table_link_ready),
      .s_data (table_link_data),
      .m_valid(convolution1_valid),
      .m_ready(convolution1_ready),
      .m_data (convolution1_data)
  );

  logic convolution1_link_valid, convolution1_link_ready;
  logic [0:0][7:0] convolution1_link_data;
  fb_dnn_link #(
      .From(1),
      .To(1),
      .Wide(1),
      .Depth(256)
  ) u_convolution1_link (
      .clk,
      .rst,
      .s_valid(convolution1_valid),
      .s_ready(convolution1_ready),
      .s_data (convolution1_data),
      .m_valid(convolution1_link_valid),
      .m_ready(convolution1_link_ready),
      .m_data (convolution1_link_data)
  );

  logic depthwise2_valid, depthwise2_ready;
  logic [0:0][7:0] depthwise2_data;
  fb_dnn_depthwise #(
      .Size(16),
      .Channels(16),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(3),
      .Stride(1),
      .Before(1),
      .After(1),
      .Around(0),
      .Lanes(1),
      .Weights({DataFolder, "/depthwise2.weights.mem"}),
      .Factors({DataFolder, "/depthwise2.factors.mem"})
  ) u_depthwise2 (
      .clk,
      .rst,
      .s_valid(convolution1_link_valid),
      .s_ready(convolution1_link_ready),
      .s_data (convolution1_link_data),
      .m_valid(depthwise2_valid),
      .m_ready(depthwise2_ready),
      .m_data (depthwise2_data)
  );

  logic depthwise2_link_valid, depthwise2_link_ready;
  logic [1:0][7:0] depthwise2_link_data;
  fb_dnn_link #(
      .From(1),
      .To(2),
      .Wide(2),
      .Depth(128)
  ) u_depthwise2_link (
      .clk,
      .rst,
      .s_valid(depthwise2_valid),
      .s_ready(depthwise2_ready),
      .s_data (depthwise2_data),
      .m_valid(depthwise2_link_valid),
      .m_ready(depthwise2_link_ready),
      .m_data (depthwise2_link_data)
  );

  logic convolution3_valid, convolution3_ready;
  logic [0:0][7:0] convolution3_data;
  fb_dnn_convolution #(
      .Size(16),
      .Channels(16),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(1),
      .Stride(1),
      .Before(0),
      .After(0),
      .Around(0),
      .Lanes(2),
      .Outputs(32),
      .Pe(4),
      .Simd(2),
      .OutLanes(1),
      .Weights({DataFolder, "/convolution3.weights.mem"}),
      .Factors({DataFolder, "/convolution3.factors.mem"})
  ) u_convolution3 (
      .clk,
      .rst,
      .s_valid(depthwise2_link_valid),
      .s_ready(depthwise2_link_ready),
      .s_data (depthwise2_link_data),
      .m_valid(convolution3_valid),
      .m_ready(convolution3_ready),
      .m_data (convolution3_data)
  );

  logic convolution3_link_valid, convolution3_link_ready;
  logic [0:0][7:0] convolution3_link_data;
  fb_dnn_link #(
      .From(1),
      .To(1),
      .Wide(1),
      .Depth(512)
  ) u_convolution3_link (
      .clk,
      .rst,
      .s_valid(convolution3_valid),
      .s_ready(convolution3_ready),
      .s_data (convolution3_data),
      .m_valid(convolution3_link_valid),
      .m_ready(convolution3_link_ready),
      .m_data (convolution3_link_data)
  );

  logic depthwise4_valid, depthwise4_ready;
  logic [0:0][7:0] depthwise4_data;
  fb_dnn_depthwise #(
      .Size(16),
      .Channels(32),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(3),
      .Stride(2),
      .Before(1),
      .After(1),
      .Around(0),
      .Lanes(1),
      .Weights({DataFolder, "/depthwise4.weights.mem"}),
      .Factors({DataFolder, "/depthwise4.factors.mem"})
  ) u_depthwise4 (
      .clk,
      .rst,
      .s_valid(convolution3_link_valid),
      .s_ready(convolution3_link_ready),
      .s_data (convolution3_link_data),
      .m_valid(depthwise4_valid),
      .m_ready(depthwise4_ready),
      .m_data (depthwise4_data)
  );

  logic depthwise4_link_valid, depthwise4_link_ready;
  logic [1:0][7:0] depthwise4_link_data;
  fb_dnn_link #(
      .From(1),
      .To(2),
      .Wide(2),
      .Depth(128)
  ) u_depthwise4_link (
      .clk,
      .rst,
      .s_valid(depthwise4_valid),
      .s_ready(depthwise4_ready),
      .s_data (depthwise4_data),
      .m_valid(depthwise4_link_valid),
      .m_ready(depthwise4_link_ready),
      .m_data (depthwise4_link_data)
  );

  logic convolution5_valid, convolution5_ready;
  logic [0:0][7:0] convolution5_data;
  fb_dnn_convolution #(
      .Size(8),
      .Channels(32),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(1),
      .Stride(1),
      .Before(0),
      .After(0),
      .Around(0),
      .Lanes(2),
      .Outputs(64),
      .Pe(4),
      .Simd(2),
      .OutLanes(1),
      .Weights({DataFolder, "/convolution5.weights.mem"}),
      .Factors({DataFolder, "/convolution5.factors.mem"})
  ) u_convolution5 (
      .clk,
      .rst,
      .s_valid(depthwise4_link_valid),
      .s_ready(depthwise4_link_ready),
      .s_data (depthwise4_link_data),
      .m_valid(convolution5_valid),
      .m_ready(convolution5_ready),
      .m_data (convolution5_data)
  );

  logic convolution5_link_valid, convolution5_link_ready;
  logic [0:0][7:0] convolution5_link_data;
  fb_dnn_link #(
      .From(1),
      .To(1),
      .Wide(1),
      .Depth(256)
  ) u_convolution5_link (
      .clk,
      .rst,
      .s_valid(convolution5_valid),
      .s_ready(convolution5_ready),
      .s_data (convolution5_data),
      .m_valid(convolution5_link_valid),
      .m_ready(convolution5_link_ready),
      .m_data (convolution5_link_data)
  );

  logic depthwise6_valid, depthwise6_ready;
  logic [0:0][7:0] depthwise6_data;
  fb_dnn_depthwise #(
      .Size(8),
      .Channels(64),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(3),
      .Stride(1),
      .Before(1),
      .After(1),
      .Around(0),
      .Lanes(1),
      .Weights({DataFolder, "/depthwise6.weights.mem"}),
      .Factors({DataFolder, "/depthwise6.factors.mem"})
  ) u_depthwise6 (
      .clk,
      .rst,
      .s_valid(convolution5_link_valid),
      .s_ready(convolution5_link_ready),
      .s_data (convolution5_link_data),
      .m_valid(depthwise6_valid),
      .m_ready(depthwise6_ready),
      .m_data (depthwise6_data)
  );

  logic depthwise6_link_valid, depthwise6_link_ready;
  logic [3:0][7:0] depthwise6_link_data;
  fb_dnn_link #(
      .From(1),
      .To(4),
      .Wide(4),
      .Depth(128)
  ) u_depthwise6_link (
      .clk,
      .rst,
      .s_valid(depthwise6_valid),
      .s_ready(depthwise6_ready),
      .s_data (depthwise6_data),
      .m_valid(depthwise6_link_valid),
      .m_ready(depthwise6_link_ready),
      .m_data (depthwise6_link_data)
  );

  logic convolution7_valid, convolution7_ready;
  logic [0:0][7:0] convolution7_data;
  fb_dnn_convolution #(
      .Size(8),
      .Channels(64),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(1),
      .Stride(1),
      .Before(0),
      .After(0),
      .Around(0),
      .Lanes(4),
      .Outputs(64),
      .Pe(4),
      .Simd(4),
      .OutLanes(1),
      .Weights({DataFolder, "/convolution7.weights.mem"}),
      .Factors({DataFolder, "/convolution7.factors.mem"})
  ) u_convolution7 (
      .clk,
      .rst,
      .s_valid(depthwise6_link_valid),
      .s_ready(depthwise6_link_ready),
      .s_data (depthwise6_link_data),
      .m_valid(convolution7_valid),
      .m_ready(convolution7_ready),
      .m_data (convolution7_data)
  );

  logic convolution7_link_valid, convolution7_link_ready;
  logic [0:0][7:0] convolution7_link_data;
  fb_dnn_link #(
      .From(1),
      .To(1),
      .Wide(1),
      .Depth(256)
  ) u_convolution7_link (
      .clk,
      .rst,
      .s_valid(convolution7_valid),
      .s_ready(convolution7_ready),
      .s_data (convolution7_data),
      .m_valid(convolution7_link_valid),
      .m_ready(convolution7_link_ready),
      .m_data (convolution7_link_data)
  );

  logic depthwise8_valid, depthwise8_ready;
  logic [0:0][7:0] depthwise8_data;
  fb_dnn_depthwise #(
      .Size(8),
      .Channels(64),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(3),
      .Stride(2),
      .Before(1),
      .After(1),
      .Around(0),
      .Lanes(1),
      .Weights({DataFolder, "/depthwise8.weights.mem"}),
      .Factors({DataFolder, "/depthwise8.factors.mem"})
  ) u_depthwise8 (
      .clk,
      .rst,
      .s_valid(convolution7_link_valid),
      .s_ready(convolution7_link_ready),
      .s_data (convolution7_link_data),
      .m_valid(depthwise8_valid),
      .m_ready(depthwise8_ready),
      .m_data (depthwise8_data)
  );

  logic depthwise8_link_valid, depthwise8_link_ready;
  logic [1:0][7:0] depthwise8_link_data;
  fb_dnn_link #(
      .From(1),
      .To(2),
      .Wide(2),
      .Depth(64)
  ) u_depthwise8_link (
      .clk,
      .rst,
      .s_valid(depthwise8_valid),
      .s_ready(depthwise8_ready),
      .s_data (depthwise8_data),
      .m_valid(depthwise8_link_valid),
      .m_ready(depthwise8_link_ready),
      .m_data (depthwise8_link_data)
  );

  logic convolution9_valid, convolution9_ready;
  logic [0:0][7:0] convolution9_data;
  fb_dnn_convolution #(
      .Size(4),
      .Channels(64),
      .Zero(0),
      .Low(0),
      .High(255),
      .Kernel(1),
      .Stride(1),
      .Before(0),
      .After(0),
      .Around(0),
      .Lanes(2),
      .Outputs(128),
      .Pe(4),
      .Simd(2),
      .OutLanes(1),
      .Weights({DataFolder, "/convolution9.weights.mem"}),
      .Factors({DataFolder, "/convolution9.factors.mem"})
  ) u_convolution9 (
      .clk,
      .rst,
      .s_valid(depthwise8_link_valid),
      .s_ready(depthwise8_link_ready),
      .s_data (depthwise8_link_data),
      .m_valid(convolution9_valid),
      .m_ready(convolution9_ready),
      .m_data (convolution9_data)
  );

  logic convolution9_link_valid, convolution9_link_ready;
  logic [0:0][7:0] convolution9_link_data;
  fb_dnn_link #(
      .From(1),
      .To(1),
      .Wide(1),
      .Depth(256)
  ) u_convolution9_link (
      .clk,
      .rst,
      .s_valid(convolution9_valid),
      .s_ready(convolution9_ready),
      .s_data (convolution9_data),
      .m_valid(convolution9_link_valid),
      .m_ready(convolution9_link_ready),
      .m_data (convolution9_link_data)
  );

  logic average10_valid, average10_ready;
  logic [0:0][7:0] average10_data;
  fb_dnn_average #(
      .Size(4),
      .Channels(128),
      .Zero(0),
      .Low(0),
      .High(255),
      .Lanes(1),
      .Factors({DataFolder, "/average10.factors.mem"})
  ) u_average10 (
      .clk,
      .rst,
      .s_valid(convolution9_link_valid),
      .s_ready(convolution9_link_ready),
      .s_data (convolution9_link_data),
      .m_valid(average10_valid),
      .m_ready(average10_ready),
      .m_data (average10_data)
  );

  logic average10_link_valid, average10_link_ready;
  logic [0:0][7:0] average10_link_data;
  fb_dnn_link #(
      .From(1),
      .To(1),
      .Wide(1),
      .Depth(256)
  ) u_average10_link (
      .clk,
      .rst,
      .s_valid(average10_valid),
      .s_ready(average10_ready),
      .s_data (average10_data),
      .m_valid(average10_link_valid),
      .m_ready(average10_link_ready),
      .m_data (average10_link_data)
  );

  logic dense11_valid, dense11_ready;
  logic [0:0][7:0] dense11_data;
  fb_dnn_convolution #(
      .Size(1),
      .Channels(128),
      .Zero(135),
      .Low(0),
      .High(255),
      .Kernel(1),
      .Stride(1),
      .Before(0),
      .After(0),
      .Around(0),
      .Lanes(1),
      .Outputs(10),
      .Pe(1),
      .Simd(1),
      .OutLanes(1),
      .Weights({DataFolder, "/dense11.weights.mem"}),
      .Factors({DataFolder, "/dense11.factors.mem"})
  ) u_dense11 (
      .clk,
      .rst,
      .s_valid(average10_link_valid),
      .s_ready(average10_link_ready),
      .s_data (average10_link_data),
      .m_valid(dense11_valid),
      .m_ready(dense11_ready),
      .m_data (dense11_data)
  );

  logic dense11_link_valid, dense11_link_ready;
  logic [0:0][7:0] dense11_link_data;
  fb_dnn_link #(
      .From(1),
      .To(1),
      .Wide(1),
      .Depth(16)
  ) u_dense11_link (
      .clk,
      .rst,
      .s_valid(dense11_valid),
      .s_ready(dense11_ready),
      .s_data (dense11_data),
      .m_valid(dense11_link_valid),
      .m_ready(dense11_link_ready),
      .m_data (dense11_link_data)
  );

  fb_dnn_best #(
      .Classes(10),
      .File({DataFolder, "/best.mem"})
  ) u_best (
      .clk,
      .rst,
      .s_valid(dense11_link_valid),
      .s_ready(dense11_link_ready),
      .s_data (dense11_link_data),
      .m_valid(m_valid),
      .m_ready(m_ready),
      .m_data (m_data)
  );

endmodule

`default_nettype wire
