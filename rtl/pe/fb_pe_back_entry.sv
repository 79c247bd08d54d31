// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_back_entry: the door of the processing elements on the way back: an object that is read gets a
// tag.
//
// What:        what is known of an object goes to the elements in a cycle of its own, and then its
//              beats, with the tag as TID. Number and length wait here for who sends it.
// Handshake:   valid/ready, which pass. The head of an object waits at the input until its last beat has
//              passed; a copy of it comes out before the first one.
// Latency:     1 cycle for an object, 0 for a beat.
// Throughput:  64 bytes a cycle, and a cycle for each object.
// Limits:      16 objects inside, from here to who takes their heads. 512-bit registers: none.
// Does not implement: epochs of senders; they are 0.

`default_nettype none

module fb_pe_back_entry
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
(
    input wire clk,
    input wire rst,
    input wire [63:0] now,  // ns since 1970

    // Objects, and what each is.
    input  wire                         s_axis_head_tvalid,
    output logic                        s_axis_head_tready,
    input  wire  [               127:0] s_axis_head_tdata,     // object; above it its bytes
    input  wire  [PACKET_READ_BITS-1:0] s_axis_head_tuser,     // nonce, offset, stream, a part
    input  wire                         s_axis_object_tvalid,
    output logic                        s_axis_object_tready,
    input  wire  [  USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [ USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                         s_axis_object_tlast,
    input  wire  [                 1:0] s_axis_object_tuser,

    // To the elements.
    output logic                          extent_valid,
    output logic    [PACKET_TAG_BITS-1:0] extent_tid,
    output extent_t                       extent,
    output logic                          m_axis_object_tvalid,
    input  wire                           m_axis_object_tready,
    output logic    [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic    [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                          m_axis_object_tlast,
    output logic    [                1:0] m_axis_object_tuser,
    output logic    [PACKET_TAG_BITS-1:0] m_axis_object_tid,

    // Past them.
    output logic         m_axis_head_tvalid,
    input  wire          m_axis_head_tready,
    output logic [127:0] m_axis_head_tdata
);

  localparam int unsigned Objects = INSIDE / 2;  // inside, so that no tag is there twice

  logic open_q;  // the elements know the object
  logic [$clog2(INSIDE)-1:0] tag_q;
  logic room, ends, part;

  assign extent_valid = s_axis_head_tvalid && !open_q && room;
  assign extent_tid   = PACKET_TAG_BITS'(tag_q);
  always_comb begin : describe
    extent = '0;
    extent.back = 1'b1;
    {part, extent.stream, extent.offset, extent.nonce} = s_axis_head_tuser;
    extent.object = s_axis_head_tdata[63:0];
    if (!part) extent.size = s_axis_head_tdata[127:64];
    extent.time_ = now;
  end

  assign m_axis_object_tvalid = s_axis_object_tvalid && open_q;
  assign s_axis_object_tready = m_axis_object_tready && open_q;
  assign m_axis_object_tdata = s_axis_object_tdata;
  assign m_axis_object_tkeep = s_axis_object_tkeep;
  assign m_axis_object_tlast = s_axis_object_tlast;
  assign m_axis_object_tuser = s_axis_object_tlast && part ? PACKET_PART : s_axis_object_tuser;
  assign m_axis_object_tid = extent_tid;
  assign ends = m_axis_object_tvalid && m_axis_object_tready && m_axis_object_tlast;
  assign s_axis_head_tready = ends;

  always_ff @(posedge clk) begin : follow
    if (extent_valid) open_q <= 1'b1;
    if (ends) begin
      open_q <= 1'b0;
      tag_q  <= tag_q + 1'b1;
    end
    if (rst) {open_q, tag_q} <= '0;
  end

  fb_common_fifo #(
      .Width(128),
      .Depth(Objects)
  ) u_heads (
      .clk,
      .rst,
      .clear  (1'b0),
      .s_valid(extent_valid),
      .s_ready(room),
      .s_data (s_axis_head_tdata),
      .m_valid(m_axis_head_tvalid),
      .m_ready(m_axis_head_tready),
      .m_data (m_axis_head_tdata),
      .level  ()
  );

endmodule

`default_nettype wire
