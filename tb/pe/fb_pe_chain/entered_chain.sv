// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// entered_chain: a chain behind its entry, as in the tops; the extents' tags come from the bench.

`default_nettype none

module entered_chain
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
(
    input wire clk,
    input wire rst,
    input wire [8*64-1:0] cfg,
    output logic [8*64-1:0] status,

    input  wire                         s_axis_extent_tvalid,
    output logic                        s_axis_extent_tready,
    input  wire  [PACKET_HEAD_BITS-1:0] s_axis_extent_tdata,

    input  wire                        s_axis_tag_tvalid,
    output logic                       s_axis_tag_tready,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_tag_tdata,

    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire  [                1:0] s_axis_object_tuser,

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
    output logic                       unseen
);

  logic entered_tvalid, entered_tready, entered_tlast, extent_valid;
  logic [USER_DATA_BITS-1:0] entered_tdata;
  logic [USER_BEAT_BYTES-1:0] entered_tkeep;
  logic [1:0] entered_tuser;
  logic [PACKET_TAG_BITS-1:0] entered_tid, extent_tid;
  extent_t extent;

  fb_pe_entry u_entry (
      .m_axis_extent_tvalid(),
      .m_axis_extent_tready(1'b1),
      .m_axis_extent_tdata(),
      .m_axis_extent_tuser(),
      .ends_object(),
      .received(),
      .m_axis_object_tvalid(entered_tvalid),
      .m_axis_object_tready(entered_tready),
      .m_axis_object_tdata(entered_tdata),
      .m_axis_object_tkeep(entered_tkeep),
      .m_axis_object_tlast(entered_tlast),
      .m_axis_object_tuser(entered_tuser),
      .m_axis_object_tid(entered_tid),
      .leaves(m_axis_object_tvalid && m_axis_object_tready && m_axis_object_tlast),
      .*
  );

  fb_pe_chain u_chain (
      .clk_pe(clk),
      .rst_pe(rst),
      .s_axil_pe_awvalid(1'b0),
      .s_axil_pe_awready(),
      .s_axil_pe_awaddr('0),
      .s_axil_pe_awprot('0),
      .s_axil_pe_wvalid(1'b0),
      .s_axil_pe_wready(),
      .s_axil_pe_wdata('0),
      .s_axil_pe_wstrb('0),
      .s_axil_pe_bvalid(),
      .s_axil_pe_bready(1'b0),
      .s_axil_pe_bresp(),
      .s_axil_pe_arvalid(1'b0),
      .s_axil_pe_arready(),
      .s_axil_pe_araddr('0),
      .s_axil_pe_arprot('0),
      .s_axil_pe_rvalid(),
      .s_axil_pe_rready(1'b0),
      .s_axil_pe_rdata(),
      .s_axil_pe_rresp(),
      .back_valid(1'b0),
      .back_tid('0),
      .back('0),
      .s_axis_back_tvalid(1'b0),
      .s_axis_back_tready(),
      .s_axis_back_tdata('0),
      .s_axis_back_tkeep('0),
      .s_axis_back_tlast(1'b0),
      .s_axis_back_tuser('0),
      .s_axis_back_tid('0),
      .m_axis_back_tvalid(),
      .m_axis_back_tready(1'b0),
      .m_axis_back_tdata(),
      .m_axis_back_tkeep(),
      .m_axis_back_tlast(),
      .m_axis_back_tuser(),
      .m_axis_back_tid(),
      .s_axis_object_tvalid(entered_tvalid),
      .s_axis_object_tready(entered_tready),
      .s_axis_object_tdata (entered_tdata),
      .s_axis_object_tkeep (entered_tkeep),
      .s_axis_object_tlast (entered_tlast),
      .s_axis_object_tuser (entered_tuser),
      .s_axis_object_tid   (entered_tid),
      .*
  );

endmodule

`default_nettype wire
