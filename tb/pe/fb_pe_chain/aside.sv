// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_chain: what happens to objects between network and store, and on the way back.
//
// Made from a pipeline's file: change that, not this. Built in the place of the chain of no
// elements, which has the same ports. The elements, in order:
//   aside

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

  extent_t extent_0;
  axil_request_t [7:0] request;
  axil_response_t [7:0] response;
  logic narrow_0_tvalid;
  logic narrow_0_tready;
  logic [127:0] narrow_0_tdata;
  logic [15:0] narrow_0_tkeep;
  logic narrow_0_tlast;
  logic [1:0] narrow_0_tuser;
  logic [PACKET_TAG_BITS-1:0] narrow_0_tid;
  logic parts_0_tvalid;
  logic parts_0_tready;
  logic [127:0] parts_0_tdata;
  logic [15:0] parts_0_tkeep;
  logic parts_0_tlast;
  logic [1:0] parts_0_tuser;
  logic [PACKET_TAG_BITS-1:0] parts_0_tid;
  logic in_0_tvalid;
  logic in_0_tready;
  logic [127:0] in_0_tdata;
  logic [15:0] in_0_tkeep;
  logic in_0_tlast;
  logic [1:0] in_0_tuser;
  logic [PACKET_TAG_BITS-1:0] in_0_tid;
  logic out_0_tvalid;
  logic out_0_tready;
  logic [127:0] out_0_tdata;
  logic [15:0] out_0_tkeep;
  logic out_0_tlast;
  logic [1:0] out_0_tuser;
  logic [PACKET_TAG_BITS-1:0] out_0_tid;
  logic [63:0] cfg_0;
  extent_t told_0;
  logic [63:0] status_0;
  logic judged_0_tvalid;
  logic judged_0_tready;
  logic [ResultBits-1:0] judged_0_tdata;
  logic judged_0_tuser;
  logic [PACKET_TAG_BITS-1:0] judged_0_tid;
  axil_request_t request_0;
  axil_response_t response_0;

  fb_common_lutram #(
      .Width($bits(extent_t)),
      .Depth(INSIDE)
  ) u_extent_0_aside (
      .clk,
      .we(extent_valid),
      .waddr(extent_tid[$clog2(INSIDE)-1:0]),
      .wdata(extent),
      .raddr(narrow_0_tid[$clog2(INSIDE)-1:0]),
      .rdata(extent_0)
  );

  fb_axis_narrow #(
      .Bits(128),
      .UserBits(2),
      .TagBits(PACKET_TAG_BITS)
  ) u_narrow_0_aside (
      .clk,
      .rst,
      .s_axis_tvalid(s_axis_object_tvalid),
      .s_axis_tready(s_axis_object_tready),
      .s_axis_tdata(s_axis_object_tdata),
      .s_axis_tkeep(s_axis_object_tkeep),
      .s_axis_tlast(s_axis_object_tlast),
      .s_axis_tuser(s_axis_object_tuser),
      .s_axis_tid(s_axis_object_tid),
      .m_axis_tvalid(narrow_0_tvalid),
      .m_axis_tready(narrow_0_tready),
      .m_axis_tdata(narrow_0_tdata),
      .m_axis_tkeep(narrow_0_tkeep),
      .m_axis_tlast(narrow_0_tlast),
      .m_axis_tuser(narrow_0_tuser),
      .m_axis_tid(narrow_0_tid)
  );

  fb_axis_widen #(
      .Bits(128),
      .UserBits(2),
      .TagBits(PACKET_TAG_BITS)
  ) u_widen_0_aside (
      .clk,
      .rst,
      .s_axis_tvalid(parts_0_tvalid),
      .s_axis_tready(parts_0_tready),
      .s_axis_tdata(parts_0_tdata),
      .s_axis_tkeep(parts_0_tkeep),
      .s_axis_tlast(parts_0_tlast),
      .s_axis_tuser(parts_0_tuser),
      .s_axis_tid(parts_0_tid),
      .m_axis_tvalid(m_axis_object_tvalid),
      .m_axis_tready(m_axis_object_tready),
      .m_axis_tdata(m_axis_object_tdata),
      .m_axis_tkeep(m_axis_object_tkeep),
      .m_axis_tlast(m_axis_object_tlast),
      .m_axis_tuser(m_axis_object_tuser),
      .m_axis_tid(m_axis_object_tid)
  );

  fb_pe_cdc #(
      .Bits(128),
      .Side($bits(extent_t))
  ) u_in_0_aside (
      .s_clk(clk),
      .s_rst(rst),
      .s_axis_object_tvalid(narrow_0_tvalid),
      .s_axis_object_tready(narrow_0_tready),
      .s_axis_object_tdata(narrow_0_tdata),
      .s_axis_object_tkeep(narrow_0_tkeep),
      .s_axis_object_tlast(narrow_0_tlast),
      .s_axis_object_tuser(narrow_0_tuser),
      .s_axis_object_tid(narrow_0_tid),
      .s_side({extent_0}),
      .m_clk(clk_pe),
      .m_rst(rst_pe),
      .m_axis_object_tvalid(in_0_tvalid),
      .m_axis_object_tready(in_0_tready),
      .m_axis_object_tdata(in_0_tdata),
      .m_axis_object_tkeep(in_0_tkeep),
      .m_axis_object_tlast(in_0_tlast),
      .m_axis_object_tuser(in_0_tuser),
      .m_axis_object_tid(in_0_tid),
      .m_side({told_0})
  );

  fb_pe_cdc #(
      .Bits(128),
      .Side(1)
  ) u_out_0_aside (
      .s_clk(clk_pe),
      .s_rst(rst_pe),
      .s_axis_object_tvalid(out_0_tvalid),
      .s_axis_object_tready(out_0_tready),
      .s_axis_object_tdata(out_0_tdata),
      .s_axis_object_tkeep(out_0_tkeep),
      .s_axis_object_tlast(out_0_tlast),
      .s_axis_object_tuser(out_0_tuser),
      .s_axis_object_tid(out_0_tid),
      .s_side(1'b0),
      .m_clk(clk),
      .m_rst(rst),
      .m_axis_object_tvalid(parts_0_tvalid),
      .m_axis_object_tready(parts_0_tready),
      .m_axis_object_tdata(parts_0_tdata),
      .m_axis_object_tkeep(parts_0_tkeep),
      .m_axis_object_tlast(parts_0_tlast),
      .m_axis_object_tuser(parts_0_tuser),
      .m_axis_object_tid(parts_0_tid),
      .m_side()
  );

  fb_common_value_cdc u_cfg_0_aside (
      .s_clk(clk),
      .s_rst(rst),
      .s_value(cfg[64*0+:64]),
      .m_clk(clk_pe),
      .m_rst(rst_pe),
      .m_value(cfg_0)
  );

  fb_common_value_cdc u_status_0_aside (
      .s_clk(clk_pe),
      .s_rst(rst_pe),
      .s_value(status_0),
      .m_clk(clk),
      .m_rst(rst),
      .m_value(status[64*0+:64])
  );

  fb_common_async #(
      .Width(ResultBits + 1 + PACKET_TAG_BITS),
      .Depth(16)
  ) u_results_0_aside (
      .s_clk(clk_pe),
      .s_rst(rst_pe),
      .s_valid(judged_0_tvalid),
      .s_ready(judged_0_tready),
      .s_data({judged_0_tdata, judged_0_tuser, judged_0_tid}),
      .s_level(),
      .m_clk(clk),
      .m_rst(rst),
      .m_valid(m_axis_result_tvalid),
      .m_ready(m_axis_result_tready),
      .m_data({m_axis_result_tdata, m_axis_result_tuser, m_axis_result_tid})
  );

  fb_pe_registers_cdc u_registers_0_aside (
      .clk,
      .rst,
      .request(request[0]),
      .response(response[0]),
      .clk_pe(clk_pe),
      .rst_pe(rst_pe),
      .request_pe(request_0),
      .response_pe(response_0)
  );

  fb_pe_aside u_0_aside (
      .clk(clk_pe),
      .rst(rst_pe),
      .cfg(cfg_0),
      .s_axis_object_tvalid(in_0_tvalid),
      .s_axis_object_tready(in_0_tready),
      .s_axis_object_tdata(in_0_tdata),
      .s_axis_object_tkeep(in_0_tkeep),
      .s_axis_object_tlast(in_0_tlast),
      .s_axis_object_tuser(in_0_tuser),
      .s_axis_object_tid(in_0_tid),
      .extent(told_0),
      .status(status_0),
      .m_axis_object_tvalid(out_0_tvalid),
      .m_axis_object_tready(out_0_tready),
      .m_axis_object_tdata(out_0_tdata),
      .m_axis_object_tkeep(out_0_tkeep),
      .m_axis_object_tlast(out_0_tlast),
      .m_axis_object_tuser(out_0_tuser),
      .m_axis_object_tid(out_0_tid),
      .m_axis_result_tvalid(judged_0_tvalid),
      .m_axis_result_tready(judged_0_tready),
      .m_axis_result_tdata(judged_0_tdata),
      .m_axis_result_tuser(judged_0_tuser),
      .m_axis_result_tid(judged_0_tid),
      .s_axil_awvalid(request_0.awvalid),
      .s_axil_awaddr(request_0.addr),
      .s_axil_wvalid(request_0.wvalid),
      .s_axil_wdata(request_0.wdata),
      .s_axil_wstrb(request_0.wstrb),
      .s_axil_bready(request_0.bready),
      .s_axil_arvalid(request_0.arvalid),
      .s_axil_araddr(request_0.addr),
      .s_axil_rready(request_0.rready),
      .s_axil_awready(response_0.awready),
      .s_axil_wready(response_0.wready),
      .s_axil_bvalid(response_0.bvalid),
      .s_axil_bresp(response_0.bresp),
      .s_axil_arready(response_0.arready),
      .s_axil_rvalid(response_0.rvalid),
      .s_axil_rdata(response_0.rdata),
      .s_axil_rresp(response_0.rresp)
  );

  fb_pe_check #(
      .Bits(128)
  ) u_check_0_aside (
      .clk(clk_pe),
      .rst(rst_pe),
      .in_valid(in_0_tvalid),
      .in_ready(in_0_tready),
      .in_last(in_0_tlast),
      .in_user(in_0_tuser),
      .in_tid(in_0_tid),
      .out_valid(out_0_tvalid),
      .out_ready(out_0_tready),
      .out_data(out_0_tdata),
      .out_keep(out_0_tkeep),
      .out_last(out_0_tlast),
      .out_user(out_0_tuser),
      .out_tid(out_0_tid)
  );

  fb_pe_check_result #(
      .ResultBits(ResultBits),
      .Patience  (65536)
  ) u_result_0_aside (
      .clk(clk_pe),
      .rst(rst_pe),
      .in_valid(in_0_tvalid),
      .in_ready(in_0_tready),
      .in_last(in_0_tlast),
      .in_user(in_0_tuser),
      .in_tid(in_0_tid),
      .valid(judged_0_tvalid),
      .ready(judged_0_tready),
      .data(judged_0_tdata),
      .user(judged_0_tuser),
      .tid(judged_0_tid)
  );

  assign m_axis_back_tvalid = s_axis_back_tvalid;
  assign s_axis_back_tready = m_axis_back_tready;
  assign m_axis_back_tdata = s_axis_back_tdata;
  assign m_axis_back_tkeep = s_axis_back_tkeep;
  assign m_axis_back_tlast = s_axis_back_tlast;
  assign m_axis_back_tuser = s_axis_back_tuser;
  assign m_axis_back_tid = s_axis_back_tid;
  assign unseen = 1'b0;
  assign status[64*1+:64*7] = '0;

  assign response[1] = '0;
  assign response[2] = '0;
  assign response[3] = '0;
  assign response[4] = '0;
  assign response[5] = '0;
  assign response[6] = '0;
  assign response[7] = '0;
  fb_pe_windows #(
      .Present (8'b00000001),
      .Settings(8'b00000000)
  ) u_windows (
      .request (request),
      .response(response),
      .setting (),
      .*
  );

endmodule

`default_nettype wire
