// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_entry: the door of the processing elements: a packet gets the tag of its extent, and the nonce
// of its object.
//
// What:        what is known of extents passes by on its way to who gives them tags, and is kept here
//              until the packet comes. The n-th packet is that of the n-th tag: its beats wait until
//              that is there, and carry it as TID. What is known of it goes to the elements in the
//              cycle before its first beat. The tag is taken with the packet's end: who keeps the tags
//              learns then how long it is, and whether an object of which nothing is missing ends with
//              it, which has a result.
// Nonce:       no two bytes have the same nonce and the same offset. Each extent gets the next number
//              since a reset, from 1 on; but one that goes on without a gap, where that of its stream
//              before it has ended, keeps that one's.
// Handshake:   valid/ready; the path of packets ends in registers here, that of extents passes. The
//              beginning of a packet waits while INSIDE are in the chain.
// Latency:     1 cycle.
// Throughput:  64 bytes a cycle.
// Limits:      16 extents ahead of their packets; of 16 streams whose numbers end differently it is
//              known what goes on. 512-bit registers: two.
// Does not implement: packets without a tag.

`default_nettype none

module fb_pe_entry
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
(
    input wire clk,
    input wire rst,

    input  wire                          s_axis_extent_tvalid,
    output logic                         s_axis_extent_tready,
    input  wire  [ PACKET_HEAD_BITS-1:0] s_axis_extent_tdata,
    output logic                         m_axis_extent_tvalid,
    input  wire                          m_axis_extent_tready,
    output logic [ PACKET_HEAD_BITS-1:0] m_axis_extent_tdata,
    output logic [PACKET_NONCE_BITS-1:0] m_axis_extent_tuser,   // its nonce

    // With the tag's handshake: the packet that takes it ends an object.
    input  wire                        s_axis_tag_tvalid,
    output logic                       s_axis_tag_tready,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_tag_tdata,
    output logic                       ends_object,
    output logic [               31:0] received,           // its bytes

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

    // To the elements; and a packet's end leaves the last of them.
    output logic                          extent_valid,
    output logic    [PACKET_TAG_BITS-1:0] extent_tid,
    output extent_t                       extent,
    input  wire                           leaves
);

  localparam int unsigned Ahead = 16;  // extents
  localparam int unsigned StreamBits = 4;  // of its number: where its last nonce stands
  localparam int unsigned CountBits = $clog2(INSIDE) + 1;

  logic room, known, there, free, enters, ends;
  logic open_q;  // the packet has begun
  logic [CountBits-1:0] inside_q;  // packets in the chain
  logic [31-$clog2(USER_BEAT_BYTES):0] beats_q;  // of the packet that have entered

  logic [PACKET_NONCE_BITS-1:0] nonces_q, last_nonce, nonce;  // given; of the stream; of the extent
  logic [15:0] stream, last_stream;
  logic [StreamBits-1:0] place;
  logic [(1<<StreamBits)-1:0] known_q;  // there was an extent
  logic goes_on, passes;

  assign stream = s_axis_extent_tdata[8*FRAMING_STREAM_AT+:16];
  assign place = stream[StreamBits-1:0];
  assign goes_on = (s_axis_extent_tdata[8*FRAMING_FLAGS_AT+:4] & PACKET_GOES_ON) != '0 &&
      known_q[place] && last_stream == stream;
  assign nonce = goes_on ? last_nonce : nonces_q + 1'b1;
  assign passes = s_axis_extent_tvalid && s_axis_extent_tready;
  assign m_axis_extent_tuser = nonce;

  always_ff @(posedge clk) begin : give_nonces
    if (passes && !goes_on) nonces_q <= nonce;
    if (passes) known_q[place] <= 1'b1;
    if (rst) {nonces_q, known_q} <= '0;
  end

  fb_common_lutram #(
      .Width(16 + PACKET_NONCE_BITS),
      .Depth(1 << StreamBits)
  ) u_nonces (
      .clk,
      .we   (passes),
      .waddr(place),
      .wdata({stream, nonce}),
      .raddr(place),
      .rdata({last_stream, last_nonce})
  );

  assign s_axis_extent_tready = m_axis_extent_tready && room;
  assign m_axis_extent_tvalid = s_axis_extent_tvalid && room;
  assign m_axis_extent_tdata  = s_axis_extent_tdata;

  fb_common_fifo #(
      .Width($bits(extent_t)),
      .Depth(Ahead)
  ) u_ahead (
      .clk,
      .rst,
      .clear  (1'b0),
      .s_valid(s_axis_extent_tvalid && m_axis_extent_tready),
      .s_ready(room),
      .s_data (extent_of(s_axis_extent_tdata, nonce)),
      .m_valid(known),
      .m_ready(ends),
      .m_data (extent),
      .level  ()
  );

  assign there = s_axis_tag_tvalid && known && (open_q || inside_q != CountBits'(INSIDE));
  assign s_axis_object_tready = free && there;
  assign enters = s_axis_object_tvalid && s_axis_object_tready;
  assign ends = enters && s_axis_object_tlast;
  assign s_axis_tag_tready = ends;
  assign ends_object = (s_axis_object_tuser & PACKET_ENDS_OBJECT) != '0;
  assign received = {beats_q, 6'd0} + 32'($countones(s_axis_object_tkeep));
  assign extent_valid = enters && !open_q;
  assign extent_tid = s_axis_tag_tdata;

  always_ff @(posedge clk) begin : follow
    if (enters) open_q <= !s_axis_object_tlast;
    if (extent_valid != leaves) inside_q <= leaves ? inside_q - 1'b1 : inside_q + 1'b1;
    if (enters) beats_q <= s_axis_object_tlast ? '0 : beats_q + 1'b1;
    if (rst) {open_q, inside_q, beats_q} <= '0;
  end

  fb_common_skid #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 3 + PACKET_TAG_BITS)
  ) u_skid (
      .clk,
      .rst,
      .s_valid(s_axis_object_tvalid && there),
      .s_ready(free),
      .s_data({
        s_axis_tag_tdata,
        s_axis_object_tuser,
        s_axis_object_tlast,
        s_axis_object_tkeep,
        s_axis_object_tdata
      }),
      .m_valid(m_axis_object_tvalid),
      .m_ready(m_axis_object_tready),
      .m_data({
        m_axis_object_tid,
        m_axis_object_tuser,
        m_axis_object_tlast,
        m_axis_object_tkeep,
        m_axis_object_tdata
      })
  );

`ifndef SYNTHESIS
  leaves_what_entered :
  assert property (@(posedge clk) disable iff (rst) leaves |-> inside_q != '0)
  else $error("fb_pe_entry (%m): a packet leaves the elements, and none is inside");
`endif

endmodule

`default_nettype wire
