// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_shapes: written by `forebay dnn compile`, not by hand.
//
// What:        objects that are images pass; the network shapes judges a small one of each, see
//              fb_dnn_classify. Settings and status: see fb_pe_shapes.toml.
// Handshake:   valid/ready; packets pass within the cycle.
// Throughput:  18433 cycles an image, unless some are skipped; see fb_dnn_shrink, too.

`default_nettype none

module fb_pe_shapes
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
  import fb_dnn_layer_pkg::*;
#(
    parameter int unsigned Streams = 4,
    parameter DataFolder = "."
) (
    input  wire         clk,
    input  wire         rst,
    input  wire  [63:0] cfg,
    output logic [63:0] status,

    input  wire                                s_axis_object_tvalid,
    output logic                               s_axis_object_tready,
    input  wire          [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire          [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                                s_axis_object_tlast,
    input  wire          [                1:0] s_axis_object_tuser,
    input  wire          [PACKET_TAG_BITS-1:0] s_axis_object_tid,
    input  wire extent_t                       extent,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid,

    output logic                       m_axis_result_tvalid,
    input  wire                        m_axis_result_tready,
    output logic [               47:0] m_axis_result_tdata,
    output logic                       m_axis_result_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_result_tid
);

  logic pixel_valid, pixel_ready, class_valid, class_ready;
  logic [2:0][7:0] pixel;
  class_t judged;

  fb_dnn_classify #(
      .Size(32'd32),
      .Streams(Streams),
      .Images(Streams + 2)
  ) u_classify (
      .skip(cfg[0]),
      .*
  );

  fb_dnn_shapes #(
      .DataFolder(DataFolder)
  ) u_network (
      .clk,
      .rst,
      .s_valid(pixel_valid),
      .s_ready(pixel_ready),
      .s_data (pixel),
      .m_valid(class_valid),
      .m_ready(class_ready),
      .m_data (judged)
  );

  logic unused;
  assign unused = &{1'b0, cfg};

  fb_pe_check u_check (
      .clk,
      .rst,
      .in_valid (s_axis_object_tvalid),
      .in_ready (s_axis_object_tready),
      .in_last  (s_axis_object_tlast),
      .in_user  (s_axis_object_tuser),
      .in_tid   (s_axis_object_tid),
      .out_valid(m_axis_object_tvalid),
      .out_ready(m_axis_object_tready),
      .out_data (m_axis_object_tdata),
      .out_keep (m_axis_object_tkeep),
      .out_last (m_axis_object_tlast),
      .out_user (m_axis_object_tuser),
      .out_tid  (m_axis_object_tid)
  );

  fb_pe_check_result #(
      .Patience(161383)
  ) u_check_result (
      .clk,
      .rst,
      .in_valid(s_axis_object_tvalid),
      .in_ready(s_axis_object_tready),
      .in_last (s_axis_object_tlast),
      .in_user (s_axis_object_tuser),
      .in_tid  (s_axis_object_tid),
      .valid   (m_axis_result_tvalid),
      .ready   (m_axis_result_tready),
      .data    (m_axis_result_tdata),
      .user    (m_axis_result_tuser),
      .tid     (m_axis_result_tid)
  );

endmodule

`default_nettype wire
