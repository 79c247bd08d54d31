// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// fb_pe_NAME: say here what it judges of an object.
//
// What:        packets pass as they are. A whole object has a class and a score. One that comes in
//              several packets is not judged, and that is said at its end.
// Handshake:   valid/ready; packets pass within the cycle. The end of a packet waits until the result
//              before has been taken.
// Latency:     packets 0 cycles; a result 1 after the last beat of its object.
// Throughput:  a beat a cycle, a packet in two.
// Limits:      `cfg` is steady while packets are inside.

`default_nettype none

module fb_pe_NAME
  import fb_spec_pkg::*;
#(
    localparam int unsigned Bits = 512  // of a beat, as the manifest says
) (
    input wire        clk,
    input wire        rst,
    input wire [63:0] cfg,  // settings: fb_pe_NAME.toml says which bits are what

    // Byte 0 of a packet is tdata[7:0] of its first beat. TKEEP is all ones but on the last beat. TUSER
    // stands with TLAST: PACKET_PART, PACKET_ENDS_OBJECT. TID is the tag of the packet's extent.
    input  wire               s_axis_object_tvalid,
    output logic              s_axis_object_tready,
    input  wire  [  Bits-1:0] s_axis_object_tdata,
    input  wire  [Bits/8-1:0] s_axis_object_tkeep,
    input  wire               s_axis_object_tlast,
    input  wire  [       1:0] s_axis_object_tuser,
    input  wire  [      31:0] s_axis_object_tid,

    output logic              m_axis_object_tvalid,
    input  wire               m_axis_object_tready,
    output logic [  Bits-1:0] m_axis_object_tdata,
    output logic [Bits/8-1:0] m_axis_object_tkeep,
    output logic              m_axis_object_tlast,
    output logic [       1:0] m_axis_object_tuser,
    output logic [      31:0] m_axis_object_tid,

    // One for each packet with PACKET_ENDS_OBJECT, behind its last beat, as late and in whichever order
    // you like: the columns of the manifest, the first one lowest. TUSER: it was not judged.
    output logic        m_axis_result_tvalid,
    input  wire         m_axis_result_tready,
    output logic [47:0] m_axis_result_tdata,
    output logic        m_axis_result_tuser,
    output logic [31:0] m_axis_result_tid      // of the packet that ends the object
);

  logic moves;  // a beat is taken
  logic ends;  // with it an object of which nothing is missing
  logic waits;  // it has to wait for the result of the one before

  assign waits = s_axis_object_tlast && m_axis_result_tvalid;
  assign moves = s_axis_object_tvalid && s_axis_object_tready;
  assign ends  = moves && s_axis_object_tlast && (s_axis_object_tuser & PACKET_ENDS_OBJECT) != '0;

  // ------------------------------------------------------------------------ your work: from here ...
  // The object's first byte, and whether it reaches a threshold.
  logic begins_q;  // the next beat begins a packet
  logic [7:0] byte_q, first;
  logic [15:0] judged;
  logic [31:0] score;

  assign first  = begins_q ? s_axis_object_tdata[7:0] : byte_q;
  assign judged = 16'(first >= cfg[7:0]);
  assign score  = judged[0] ? 32'h3f80_0000 : 32'd0;  // 1.0, 0.0

  always_ff @(posedge clk) begin : remember
    byte_q <= first;
    if (moves) begins_q <= s_axis_object_tlast;
    if (rst) begins_q <= 1'b1;
  end
  // ------------------------------------------------------------------------------------ ... to here

  assign s_axis_object_tready = m_axis_object_tready && !waits;
  assign m_axis_object_tvalid = s_axis_object_tvalid && !waits;
  assign m_axis_object_tdata = s_axis_object_tdata;
  assign m_axis_object_tkeep = s_axis_object_tkeep;
  assign m_axis_object_tlast = s_axis_object_tlast;
  assign m_axis_object_tuser = s_axis_object_tuser;
  assign m_axis_object_tid = s_axis_object_tid;

  always_ff @(posedge clk) begin : give
    if (m_axis_result_tready) m_axis_result_tvalid <= 1'b0;
    if (ends) begin
      m_axis_result_tvalid <= 1'b1;
      m_axis_result_tdata  <= {score, judged};
      m_axis_result_tuser  <= (s_axis_object_tuser & PACKET_PART) != '0;
      m_axis_result_tid    <= s_axis_object_tid;
    end
    if (rst) m_axis_result_tvalid <= 1'b0;
  end

  // They stop a simulation where the rules of elements are broken; nothing in synthesis.
  fb_pe_check #(
      .Bits(Bits)
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

  fb_pe_check_result #(
      .Patience(65536)  // as in the manifest
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
