// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_top_front: what stands in the place of the streamer's user to record from the network and to send
// what was recorded.
//
// What:        the network side, a chain of processing elements, the recorder. Payload goes through
//              the chain; the word of each extent goes beside it.
// Handshake:   AXI4-Stream, from the MAC without TREADY. AXI4-Lite, 64 bit, one access at a time.
// Latency:     as its parts.
// Throughput:  64 bytes a cycle in each clock, less what the chain's elements take.
// Limits:      an element puts out a packet for each packet, in order, and at most one makes results.
//              Words of 16 extents go ahead of their data.
// Does not implement: the MAC, the streamer.

`default_nettype none

module fb_top_front #(
    parameter int unsigned ReceiveBeats = 2048,  // of 64 bytes for frames received, see fb_net_port
    parameter int unsigned SendBeats = 512  // the same for frames to be sent
) (
    input wire clk,
    input wire rst,

    // From the MAC and to it; what comes from it cannot be stopped.
    input wire clk_mac,
    input wire rst_mac,
    input wire s_axis_mac_tvalid,
    input wire [511:0] s_axis_mac_tdata,
    input wire [63:0] s_axis_mac_tkeep,
    input wire s_axis_mac_tlast,
    input wire s_axis_mac_tuser,
    output logic m_axis_mac_tvalid,
    input wire m_axis_mac_tready,
    output logic [511:0] m_axis_mac_tdata,
    output logic [63:0] m_axis_mac_tkeep,
    output logic m_axis_mac_tlast,
    output logic m_axis_mac_tuser,

    // To the streamer, and from it.
    output logic         m_axis_wr_tvalid,
    input  wire          m_axis_wr_tready,
    output logic [511:0] m_axis_wr_tdata,
    output logic [ 63:0] m_axis_wr_tkeep,
    output logic         m_axis_wr_tlast,
    input  wire          s_axis_wrsp_tvalid,
    output logic         s_axis_wrsp_tready,
    input  wire  [  7:0] s_axis_wrsp_tdata,
    output logic         m_axis_rdcmd_tvalid,
    input  wire          m_axis_rdcmd_tready,
    output logic [511:0] m_axis_rdcmd_tdata,
    output logic [ 63:0] m_axis_rdcmd_tkeep,
    output logic         m_axis_rdcmd_tlast,
    input  wire          s_axis_rd_tvalid,
    output logic         s_axis_rd_tready,
    input  wire  [511:0] s_axis_rd_tdata,
    input  wire  [ 63:0] s_axis_rd_tkeep,
    input  wire          s_axis_rd_tlast,
    input  wire          s_axis_rd_tuser,

    // Control registers of the network side.
    input wire [11:0] s_axil_net_awaddr,
    input wire [2:0] s_axil_net_awprot,
    input wire s_axil_net_awvalid,
    output logic s_axil_net_awready,
    input wire [63:0] s_axil_net_wdata,
    input wire [7:0] s_axil_net_wstrb,
    input wire s_axil_net_wvalid,
    output logic s_axil_net_wready,
    output logic [1:0] s_axil_net_bresp,
    output logic s_axil_net_bvalid,
    input wire s_axil_net_bready,
    input wire [11:0] s_axil_net_araddr,
    input wire [2:0] s_axil_net_arprot,
    input wire s_axil_net_arvalid,
    output logic s_axil_net_arready,
    output logic [63:0] s_axil_net_rdata,
    output logic [1:0] s_axil_net_rresp,
    output logic s_axil_net_rvalid,
    input wire s_axil_net_rready,

    // Control registers of the recorder.
    input wire [11:0] s_axil_rec_awaddr,
    input wire [2:0] s_axil_rec_awprot,
    input wire s_axil_rec_awvalid,
    output logic s_axil_rec_awready,
    input wire [63:0] s_axil_rec_wdata,
    input wire [7:0] s_axil_rec_wstrb,
    input wire s_axil_rec_wvalid,
    output logic s_axil_rec_wready,
    output logic [1:0] s_axil_rec_bresp,
    output logic s_axil_rec_bvalid,
    input wire s_axil_rec_bready,
    input wire [11:0] s_axil_rec_araddr,
    input wire [2:0] s_axil_rec_arprot,
    input wire s_axil_rec_arvalid,
    output logic s_axil_rec_arready,
    output logic [63:0] s_axil_rec_rdata,
    output logic [1:0] s_axil_rec_rresp,
    output logic s_axil_rec_rvalid,
    input wire s_axil_rec_rready
);

  localparam int unsigned HeadBits = 64 + 8 * fb_spec_pkg::FRAMING_BYTES;

  logic extent_valid, extent_ready, extent_last, extent_user;
  logic payload_valid, payload_ready, payload_last, payload_user;
  logic object_valid, object_ready, object_last;
  logic word_valid, word_ready, head_valid, head_ready, number_valid, number_ready;
  logic [511:0] extent_data, payload_data, object_data, element;
  logic [63:0] extent_keep, payload_keep, object_keep;
  logic [HeadBits-1:0] word, head;
  logic [127:0] number, result;
  logic class_valid, class_ready, result_valid, result_ready;
  logic [47:0] class_data;
  logic [63:0] now;

  fb_net_port #(
      .ReceiveBeats(ReceiveBeats),
      .SendBeats(SendBeats)
  ) u_net (
      .m_axis_object_tvalid(extent_valid),
      .m_axis_object_tready(extent_ready),
      .m_axis_object_tdata(extent_data),
      .m_axis_object_tkeep(extent_keep),
      .m_axis_object_tlast(extent_last),
      .m_axis_object_tuser(extent_user),
      .m_axis_head_tvalid(word_valid),
      .m_axis_head_tready(word_ready),
      .m_axis_head_tdata(word),
      .s_axis_object_tvalid(object_valid),
      .s_axis_object_tready(object_ready),
      .s_axis_object_tdata(object_data),
      .s_axis_object_tkeep(object_keep),
      .s_axis_object_tlast(object_last),
      .s_axis_head_tvalid(number_valid),
      .s_axis_head_tready(number_ready),
      .s_axis_head_tdata(number),
      .*
  );

  // An element may hold packets back while it works; their words wait here.
  fb_common_fifo #(
      .Width(HeadBits),
      .Depth(16)
  ) u_words (
      .clk,
      .rst,
      .s_valid(word_valid),
      .s_ready(word_ready),
      .s_data (word),
      .m_valid(head_valid),
      .m_ready(head_ready),
      .m_data (head),
      .level  ()
  );

  fb_pe_chain u_chain (
      .clk,
      .rst,
      .cfg(element),
      .s_axis_object_tvalid(extent_valid),
      .s_axis_object_tready(extent_ready),
      .s_axis_object_tdata(extent_data),
      .s_axis_object_tkeep(extent_keep),
      .s_axis_object_tlast(extent_last),
      .s_axis_object_tuser(extent_user),
      .m_axis_object_tvalid(payload_valid),
      .m_axis_object_tready(payload_ready),
      .m_axis_object_tdata(payload_data),
      .m_axis_object_tkeep(payload_keep),
      .m_axis_object_tlast(payload_last),
      .m_axis_object_tuser(payload_user),
      .m_axis_result_tvalid(class_valid),
      .m_axis_result_tready(class_ready),
      .m_axis_result_tdata(class_data)
  );

  // An extent's word is taken with its last beat.
  fb_pe_number u_number (
      .clk,
      .rst,
      .ends(head_valid && head_ready),
      .whole(!payload_user),
      .stream(head[8*fb_spec_pkg::FRAMING_STREAM_AT+:16]),
      .object(head[8*fb_spec_pkg::FRAMING_OBJECT_AT+:64]),
      .s_axis_result_tvalid(class_valid),
      .s_axis_result_tready(class_ready),
      .s_axis_result_tdata(class_data),
      .m_axis_result_tvalid(result_valid),
      .m_axis_result_tready(result_ready),
      .m_axis_result_tdata(result)
  );

  fb_store_recorder u_recorder (
      .clk,
      .rst,
      .element,
      .s_axis_head_tvalid(head_valid),
      .s_axis_head_tready(head_ready),
      .s_axis_head_tdata(head),
      .s_axis_object_tvalid(payload_valid),
      .s_axis_object_tready(payload_ready),
      .s_axis_object_tdata(payload_data),
      .s_axis_object_tkeep(payload_keep),
      .s_axis_object_tlast(payload_last),
      .s_axis_object_tuser(payload_user),
      .s_axis_result_tvalid(result_valid),
      .s_axis_result_tready(result_ready),
      .s_axis_result_tdata(result),
      .m_axis_head_tvalid(number_valid),
      .m_axis_head_tready(number_ready),
      .m_axis_head_tdata(number),
      .m_axis_object_tvalid(object_valid),
      .m_axis_object_tready(object_ready),
      .m_axis_object_tdata(object_data),
      .m_axis_object_tkeep(object_keep),
      .m_axis_object_tlast(object_last),
      .*
  );

endmodule

`default_nettype wire
