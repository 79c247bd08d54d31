// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_chain: what happens to objects between network and store, and on the way back.
//
// Made from a pipeline's file: change that, not this. Built in the place of the chain of no
// elements, which has the same ports. The elements, in order:
//   add
//   add, on the way back
//   pass
//   add, on the way back

`default_nettype none

module fb_pe_chain
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
#(
    localparam int unsigned ResultBits = 48
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             clk_pe,  // of elements with a clock of their own
    input  wire             rst_pe,
    input  wire  [8*64-1:0] cfg,     // of stage i from bit 64 * i on
    output logic [8*64-1:0] status,  // so does the status of stage i

    // Registers of the stages, see fb_pe_windows.
    input  wire         s_axil_pe_awvalid,
    output logic        s_axil_pe_awready,
    input  wire  [15:0] s_axil_pe_awaddr,
    input  wire  [ 2:0] s_axil_pe_awprot,
    input  wire         s_axil_pe_wvalid,
    output logic        s_axil_pe_wready,
    input  wire  [31:0] s_axil_pe_wdata,
    input  wire  [ 3:0] s_axil_pe_wstrb,
    output logic        s_axil_pe_bvalid,
    input  wire         s_axil_pe_bready,
    output logic [ 1:0] s_axil_pe_bresp,
    input  wire         s_axil_pe_arvalid,
    output logic        s_axil_pe_arready,
    input  wire  [15:0] s_axil_pe_araddr,
    input  wire  [ 2:0] s_axil_pe_arprot,
    output logic        s_axil_pe_rvalid,
    input  wire         s_axil_pe_rready,
    output logic [31:0] s_axil_pe_rdata,
    output logic [ 1:0] s_axil_pe_rresp,

    // What is known of a packet, a cycle or more before its first beat.
    input wire                                extent_valid,
    input wire          [PACKET_TAG_BITS-1:0] extent_tid,
    input wire extent_t                       extent,

    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire  [                1:0] s_axis_object_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_object_tid,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid,

    // One for each object that ends with nothing missing, in any order: the columns of the manifest of
    // the element that gives it, the first one lowest; TUSER where it was not judged; TID is that of
    // the packet that ends it.
    output logic                       m_axis_result_tvalid,
    input  wire                        m_axis_result_tready,
    output logic [     ResultBits-1:0] m_axis_result_tdata,
    output logic                       m_axis_result_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_result_tid,

    output logic unseen,  // for one cycle: an object ends of which a branch did not see all

    // The way back: objects that are read to be sent, and what is known of each, in the same way.
    input wire                                back_valid,
    input wire          [PACKET_TAG_BITS-1:0] back_tid,
    input wire extent_t                       back,

    input  wire                        s_axis_back_tvalid,
    output logic                       s_axis_back_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_back_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_back_tkeep,
    input  wire                        s_axis_back_tlast,
    input  wire  [                1:0] s_axis_back_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_back_tid,

    output logic                       m_axis_back_tvalid,
    input  wire                        m_axis_back_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_back_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_back_tkeep,
    output logic                       m_axis_back_tlast,
    output logic [                1:0] m_axis_back_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_back_tid
);

  logic link_2_tvalid;
  logic link_2_tready;
  logic [USER_DATA_BITS-1:0] link_2_tdata;
  logic [USER_BEAT_BYTES-1:0] link_2_tkeep;
  logic link_2_tlast;
  logic [1:0] link_2_tuser;
  logic [PACKET_TAG_BITS-1:0] link_2_tid;
  logic link_3_tvalid;
  logic link_3_tready;
  logic [USER_DATA_BITS-1:0] link_3_tdata;
  logic [USER_BEAT_BYTES-1:0] link_3_tkeep;
  logic link_3_tlast;
  logic [1:0] link_3_tuser;
  logic [PACKET_TAG_BITS-1:0] link_3_tid;
  extent_t extent_3;
  logic [63:0] settings_3;
  setting_write_t [7:0] setting;

  fb_common_lutram #(
      .Width($bits(extent_t)),
      .Depth(INSIDE)
  ) u_extent_3_add (
      .clk,
      .we(back_valid),
      .waddr(back_tid[$clog2(INSIDE)-1:0]),
      .wdata(back),
      .raddr(link_3_tid[$clog2(INSIDE)-1:0]),
      .rdata(extent_3)
  );

  fb_pe_add u_0_add (
      .clk,
      .rst,
      .cfg(cfg[64*0+:64]),
      .s_axis_object_tvalid(s_axis_object_tvalid),
      .s_axis_object_tready(s_axis_object_tready),
      .s_axis_object_tdata(s_axis_object_tdata),
      .s_axis_object_tkeep(s_axis_object_tkeep),
      .s_axis_object_tlast(s_axis_object_tlast),
      .s_axis_object_tuser(s_axis_object_tuser),
      .s_axis_object_tid(s_axis_object_tid),
      .m_axis_object_tvalid(link_2_tvalid),
      .m_axis_object_tready(link_2_tready),
      .m_axis_object_tdata(link_2_tdata),
      .m_axis_object_tkeep(link_2_tkeep),
      .m_axis_object_tlast(link_2_tlast),
      .m_axis_object_tuser(link_2_tuser),
      .m_axis_object_tid(link_2_tid)
  );

  fb_pe_check u_check_0_add (
      .clk,
      .rst,
      .in_valid(s_axis_object_tvalid),
      .in_ready(s_axis_object_tready),
      .in_last(s_axis_object_tlast),
      .in_user(s_axis_object_tuser),
      .in_tid(s_axis_object_tid),
      .out_valid(link_2_tvalid),
      .out_ready(link_2_tready),
      .out_data(link_2_tdata),
      .out_keep(link_2_tkeep),
      .out_last(link_2_tlast),
      .out_user(link_2_tuser),
      .out_tid(link_2_tid)
  );

  fb_pe_add u_1_add (
      .clk,
      .rst,
      .cfg(cfg[64*1+:64]),
      .s_axis_object_tvalid(s_axis_back_tvalid),
      .s_axis_object_tready(s_axis_back_tready),
      .s_axis_object_tdata(s_axis_back_tdata),
      .s_axis_object_tkeep(s_axis_back_tkeep),
      .s_axis_object_tlast(s_axis_back_tlast),
      .s_axis_object_tuser(s_axis_back_tuser),
      .s_axis_object_tid(s_axis_back_tid),
      .m_axis_object_tvalid(link_3_tvalid),
      .m_axis_object_tready(link_3_tready),
      .m_axis_object_tdata(link_3_tdata),
      .m_axis_object_tkeep(link_3_tkeep),
      .m_axis_object_tlast(link_3_tlast),
      .m_axis_object_tuser(link_3_tuser),
      .m_axis_object_tid(link_3_tid)
  );

  fb_pe_check u_check_1_add (
      .clk,
      .rst,
      .in_valid(s_axis_back_tvalid),
      .in_ready(s_axis_back_tready),
      .in_last(s_axis_back_tlast),
      .in_user(s_axis_back_tuser),
      .in_tid(s_axis_back_tid),
      .out_valid(link_3_tvalid),
      .out_ready(link_3_tready),
      .out_data(link_3_tdata),
      .out_keep(link_3_tkeep),
      .out_last(link_3_tlast),
      .out_user(link_3_tuser),
      .out_tid(link_3_tid)
  );

  fb_pe_pass u_2_pass (
      .clk,
      .rst,
      .cfg(cfg[64*2+:64]),
      .s_axis_object_tvalid(link_2_tvalid),
      .s_axis_object_tready(link_2_tready),
      .s_axis_object_tdata(link_2_tdata),
      .s_axis_object_tkeep(link_2_tkeep),
      .s_axis_object_tlast(link_2_tlast),
      .s_axis_object_tuser(link_2_tuser),
      .s_axis_object_tid(link_2_tid),
      .m_axis_object_tvalid(m_axis_object_tvalid),
      .m_axis_object_tready(m_axis_object_tready),
      .m_axis_object_tdata(m_axis_object_tdata),
      .m_axis_object_tkeep(m_axis_object_tkeep),
      .m_axis_object_tlast(m_axis_object_tlast),
      .m_axis_object_tuser(m_axis_object_tuser),
      .m_axis_object_tid(m_axis_object_tid)
  );

  fb_pe_check u_check_2_pass (
      .clk,
      .rst,
      .in_valid(link_2_tvalid),
      .in_ready(link_2_tready),
      .in_last(link_2_tlast),
      .in_user(link_2_tuser),
      .in_tid(link_2_tid),
      .out_valid(m_axis_object_tvalid),
      .out_ready(m_axis_object_tready),
      .out_data(m_axis_object_tdata),
      .out_keep(m_axis_object_tkeep),
      .out_last(m_axis_object_tlast),
      .out_user(m_axis_object_tuser),
      .out_tid(m_axis_object_tid)
  );

  fb_pe_settings u_settings_3_add (
      .clk,
      .rst,
      .write(setting[3]),
      .cfg(cfg[64*3+:64]),
      .stream(extent_3.stream),
      .settings(settings_3)
  );

  fb_pe_add u_3_add (
      .clk,
      .rst,
      .cfg(settings_3),
      .s_axis_object_tvalid(link_3_tvalid),
      .s_axis_object_tready(link_3_tready),
      .s_axis_object_tdata(link_3_tdata),
      .s_axis_object_tkeep(link_3_tkeep),
      .s_axis_object_tlast(link_3_tlast),
      .s_axis_object_tuser(link_3_tuser),
      .s_axis_object_tid(link_3_tid),
      .m_axis_object_tvalid(m_axis_back_tvalid),
      .m_axis_object_tready(m_axis_back_tready),
      .m_axis_object_tdata(m_axis_back_tdata),
      .m_axis_object_tkeep(m_axis_back_tkeep),
      .m_axis_object_tlast(m_axis_back_tlast),
      .m_axis_object_tuser(m_axis_back_tuser),
      .m_axis_object_tid(m_axis_back_tid)
  );

  fb_pe_check u_check_3_add (
      .clk,
      .rst,
      .in_valid(link_3_tvalid),
      .in_ready(link_3_tready),
      .in_last(link_3_tlast),
      .in_user(link_3_tuser),
      .in_tid(link_3_tid),
      .out_valid(m_axis_back_tvalid),
      .out_ready(m_axis_back_tready),
      .out_data(m_axis_back_tdata),
      .out_keep(m_axis_back_tkeep),
      .out_last(m_axis_back_tlast),
      .out_user(m_axis_back_tuser),
      .out_tid(m_axis_back_tid)
  );

  assign m_axis_result_tvalid = '0;
  assign m_axis_result_tdata = '0;
  assign m_axis_result_tuser = '0;
  assign m_axis_result_tid = '0;
  assign unseen = 1'b0;
  assign status = '0;

  fb_pe_windows #(
      .Present (8'b00000000),
      .Settings(8'b00001000)
  ) u_windows (
      .request (),
      .response('0),
      .setting (setting),
      .*
  );

endmodule

`default_nettype wire
