// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// fb_pe_NAME: say here what it does to an object.
//
// What:        a packet comes out for each that goes in, in order, of one byte or more.
// Handshake:   valid/ready; `s_axis_object_tready` follows `m_axis_object_tready` within the cycle.
// Latency:     1 cycle.
// Throughput:  a beat a cycle.
// Limits:      `cfg` is steady while packets are inside.

`default_nettype none

module fb_pe_NAME #(
    localparam int unsigned Bits = 512  // of a beat, as the manifest says
) (
    input wire        clk,
    input wire        rst,
    input wire [63:0] cfg,  // settings: fb_pe_NAME.toml says which bits are what

    // Byte 0 of a packet is tdata[7:0] of its first beat. TKEEP is all ones but on the last beat. TUSER
    // stands with TLAST: bit 0, a part of an object; bit 1, the end of an object of which nothing is
    // missing. TID is the tag of the packet's extent.
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
    output logic [      31:0] m_axis_object_tid
);

  // ------------------------------------------------------------------------ your work: from here ...
  logic invert;
  logic [Bits-1:0] result;

  assign invert = cfg[0];
  assign result = s_axis_object_tdata ^ {Bits{invert}};
  // ------------------------------------------------------------------------------------ ... to here

  assign s_axis_object_tready = !m_axis_object_tvalid || m_axis_object_tready;

  always_ff @(posedge clk) begin : hold
    if (s_axis_object_tready) begin
      m_axis_object_tdata  <= result;
      m_axis_object_tkeep  <= s_axis_object_tkeep;
      m_axis_object_tlast  <= s_axis_object_tlast;
      m_axis_object_tuser  <= s_axis_object_tuser;
      m_axis_object_tid    <= s_axis_object_tid;
      m_axis_object_tvalid <= s_axis_object_tvalid;
    end
    // A reset takes what tells that there is a beat; the beat itself may stay.
    if (rst) m_axis_object_tvalid <= 1'b0;
  end

  // Stops a simulation where the rules of elements are broken; nothing in synthesis.
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

endmodule

`default_nettype wire
