// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// fb_pe_aside: an element that has all that elements can have, 128 bits and a clock of its own, for tests.
//
// What:        each byte is XORed with one of 16 in registers, and with `cfg[7:0]`. The result of an object
//              is its stream and the lower half of its number; the status counts packets.
// Latency:     1 cycle.

`default_nettype none

module fb_pe_aside
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
(
    input  wire                 clk,
    input  wire                 rst,
    input  wire          [63:0] cfg,
    output logic         [63:0] status,
    input  wire extent_t        extent,

    input  wire          s_axis_object_tvalid,
    output logic         s_axis_object_tready,
    input  wire  [127:0] s_axis_object_tdata,
    input  wire  [ 15:0] s_axis_object_tkeep,
    input  wire          s_axis_object_tlast,
    input  wire  [  1:0] s_axis_object_tuser,
    input  wire  [ 31:0] s_axis_object_tid,

    output logic         m_axis_object_tvalid,
    input  wire          m_axis_object_tready,
    output logic [127:0] m_axis_object_tdata,
    output logic [ 15:0] m_axis_object_tkeep,
    output logic         m_axis_object_tlast,
    output logic [  1:0] m_axis_object_tuser,
    output logic [ 31:0] m_axis_object_tid,

    output logic        m_axis_result_tvalid,
    input  wire         m_axis_result_tready,
    output logic [47:0] m_axis_result_tdata,
    output logic        m_axis_result_tuser,
    output logic [31:0] m_axis_result_tid,

    input  wire         s_axil_awvalid,
    output logic        s_axil_awready,
    input  wire  [11:0] s_axil_awaddr,
    input  wire         s_axil_wvalid,
    output logic        s_axil_wready,
    input  wire  [31:0] s_axil_wdata,
    input  wire  [ 3:0] s_axil_wstrb,
    output logic        s_axil_bvalid,
    input  wire         s_axil_bready,
    output logic [ 1:0] s_axil_bresp,
    input  wire         s_axil_arvalid,
    output logic        s_axil_arready,
    input  wire  [11:0] s_axil_araddr,
    output logic        s_axil_rvalid,
    input  wire         s_axil_rready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp
);

  logic [3:0][31:0] mask_q;
  logic moves, ends, waits, unused;

  assign unused = &{1'b0, cfg[63:8], extent, s_axil_awaddr[1:0], s_axil_araddr[1:0], s_axil_wstrb};

  // The end of a packet waits until the result before has been taken.
  assign waits = s_axis_object_tlast && m_axis_result_tvalid;
  assign s_axis_object_tready = (!m_axis_object_tvalid || m_axis_object_tready) && !waits;
  assign moves = s_axis_object_tvalid && s_axis_object_tready;
  assign ends = moves && s_axis_object_tlast;

  always_ff @(posedge clk) begin : hold
    if (m_axis_object_tready) m_axis_object_tvalid <= 1'b0;
    if (moves) begin
      m_axis_object_tvalid <= 1'b1;
      m_axis_object_tdata  <= s_axis_object_tdata ^ mask_q ^ {16{cfg[7:0]}};
      m_axis_object_tkeep  <= s_axis_object_tkeep;
      m_axis_object_tlast  <= s_axis_object_tlast;
      m_axis_object_tuser  <= s_axis_object_tuser;
      m_axis_object_tid    <= s_axis_object_tid;
    end
    if (m_axis_result_tready) m_axis_result_tvalid <= 1'b0;
    if (ends && (s_axis_object_tuser & PACKET_ENDS_OBJECT) != '0) begin
      m_axis_result_tvalid <= 1'b1;
      m_axis_result_tdata  <= {extent.object[31:0], extent.stream};
      m_axis_result_tuser  <= 1'b0;
      m_axis_result_tid    <= s_axis_object_tid;
    end
    status <= status + 64'(ends);
    if (rst) {m_axis_object_tvalid, m_axis_result_tvalid, status} <= '0;
  end

  assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_wready  = s_axil_awready;
  assign s_axil_arready = s_axil_arvalid && !s_axil_rvalid;

  always_ff @(posedge clk) begin : serve
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (s_axil_awready) begin
      s_axil_bvalid <= 1'b1;
      s_axil_bresp  <= s_axil_awaddr[11:4] == '0 ? 2'b00 : 2'b10;
      if (s_axil_awaddr[11:4] == '0) mask_q[s_axil_awaddr[3:2]] <= s_axil_wdata;
    end
    if (s_axil_arready) begin
      s_axil_rvalid <= 1'b1;
      s_axil_rresp  <= s_axil_araddr[11:4] == '0 ? 2'b00 : 2'b10;
      s_axil_rdata  <= mask_q[s_axil_araddr[3:2]];
    end
    if (rst) {s_axil_bvalid, s_axil_rvalid, mask_q} <= '0;
  end

  fb_pe_check #(
      .Bits(128)
  ) u_check (
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

endmodule

`default_nettype wire
