// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_classify: objects that are images pass, and a network judges a small one of each.
//
// What:        packets pass as they are; fb_dnn_shrink sees them, too. Small images wait in
//              fb_dnn_images until their objects have ended; then the network, which is outside, gets
//              their pixels and gives their classes in that order. Each object that ends with nothing
//              missing has one result: class and score, or that it is not judged.
// Handshake:   valid/ready; packets pass within the cycle, when fb_dnn_shrink takes them, too.
// Latency:     packets 0 cycles.
// Throughput:  that of fb_dnn_shrink; and, unless `skip`, that of the network.
// Limits:      see fb_dnn_shrink and fb_dnn_images. 512-bit registers: that of fb_dnn_shrink.

`default_nettype none

module fb_dnn_classify
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
  import fb_dnn_pkg::*;
  import fb_dnn_layer_pkg::*;
#(
    parameter int unsigned Size = 224,  // pixels of a side of the network's image
    parameter int unsigned Streams = 4,  // see fb_dnn_shrink
    parameter int unsigned Images = 6  // see fb_dnn_images
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         skip,
    output logic [63:0] status, // objects skipped, misfits above

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
    output logic [PACKET_TAG_BITS-1:0] m_axis_result_tid,

    output logic                   pixel_valid,
    input  wire                    pixel_ready,
    output logic        [2:0][7:0] pixel,
    input  wire                    class_valid,
    output logic                   class_ready,
    input  wire class_t            judged
);

  localparam int unsigned WordBits = 8 * 3 * LANES;

  // ---------------------------------------------------------------------------------------- packets
  logic shrink_ready;
  assign s_axis_object_tready = m_axis_object_tready && shrink_ready;
  assign m_axis_object_tvalid = s_axis_object_tvalid && shrink_ready;
  assign m_axis_object_tdata  = s_axis_object_tdata;
  assign m_axis_object_tkeep  = s_axis_object_tkeep;
  assign m_axis_object_tlast  = s_axis_object_tlast;
  assign m_axis_object_tuser  = s_axis_object_tuser;
  assign m_axis_object_tid    = s_axis_object_tid;

  // ----------------------------------------------------------------------------------------- images
  logic word_valid, word_ready;
  kind_e word_kind;
  logic [WordBits-1:0] word;
  fb_dnn_shrink #(
      .Size(Size),
      .Streams(Streams)
  ) u_shrink (
      .clk,
      .rst,
      // It looks at a packet's first beat before it takes it, as may the element behind.
      .s_axis_object_tvalid(s_axis_object_tvalid && (m_axis_object_tready || !shrink_ready)),
      .s_axis_object_tready(shrink_ready),
      .s_axis_object_tdata,
      .s_axis_object_tkeep,
      .s_axis_object_tlast,
      .s_axis_object_tuser,
      .s_axis_object_tid,
      .extent,
      .m_valid(word_valid),
      .m_ready(word_ready),
      .m_kind(word_kind),
      .m_data(word)
  );

  logic image_valid, image_ready, none_valid, none_ready;
  logic [PACKET_TAG_BITS-1:0] image_tag, none_tag;
  fb_dnn_images #(
      .Size(Size),
      .Streams(Streams),
      .Images(Images)
  ) u_images (
      .clk,
      .rst,
      .skip,
      .s_valid(word_valid),
      .s_ready(word_ready),
      .s_kind (word_kind),
      .s_data (word),
      .pixel_valid,
      .pixel_ready,
      .pixel,
      .image_valid,
      .image_ready,
      .image_tag,
      .none_valid,
      .none_ready,
      .none_tag,
      .skipped(status[31:0]),
      .misfits(status[63:32])
  );

  // ---------------------------------------------------------------------------------------- results
  // Tags of images in the network; and results. A class goes first: it holds up the network.
  logic tag_valid;
  logic [PACKET_TAG_BITS-1:0] tag;
  fb_common_fifo #(
      .Width(PACKET_TAG_BITS),
      .Depth(64)
  ) u_tags (
      .clk,
      .rst,
      .s_valid(image_valid),
      .s_ready(image_ready),
      .s_data (image_tag),
      .m_valid(tag_valid),
      .m_ready(class_valid && class_ready),
      .m_data (tag),
      .level  ()
  );

  logic result_ready;
  assign class_ready = result_ready;
  assign none_ready  = result_ready && !class_valid;
  fb_common_fifo #(
      .Width(48 + 1 + PACKET_TAG_BITS),
      .Depth(4)
  ) u_results (
      .clk,
      .rst,
      .s_valid(class_valid || none_valid),
      .s_ready(result_ready),
      .s_data (class_valid ? {judged, 1'b0, tag} : {48'd0, 1'b1, none_tag}),
      .m_valid(m_axis_result_tvalid),
      .m_ready(m_axis_result_tready),
      .m_data ({m_axis_result_tdata, m_axis_result_tuser, m_axis_result_tid}),
      .level  ()
  );

`ifndef SYNTHESIS
  classes_have_tags :
  assert property (@(posedge clk) disable iff (rst) class_valid |-> tag_valid)
  else $error("fb_dnn_classify (%m): a class of no image");
`endif

endmodule

`default_nettype wire
