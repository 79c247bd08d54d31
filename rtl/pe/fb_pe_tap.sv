// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_tap: a branch off the chain: a copy of each packet for its elements, while the original goes on.
//
// What:        packets pass as wires. Their beats go into a FIFO as well, and from there to the branch.
//              Without `Skips` the original waits where the FIFO is full. With `Skips` it never waits
//              for the branch: a packet that begins while half of the FIFO is taken is not copied, nor is
//              one of an object of which something was not; where the FIFO fills up in mid-packet the
//              copy ends there, as a part. An object of which nothing is missing but in the copy has a
//              result that says so: it was not judged. These results and those of the branch take turns.
// Handshake:   valid/ready.
// Latency:     the original 0 cycles, the copy 2.
// Throughput:  64 bytes a cycle.
// Limits:      what is known of a packet lies in one of INSIDE words, by its tag, until it leaves the
//              branch: one that begins while its word is taken waits, or is not copied. What is copied
//              of an object is remembered for 16 streams, by the lowest bits of their numbers: one that
//              loses its place to another is not copied from there on. The end of a packet waits while
//              16 results that say "not judged" do. 512-bit registers: the FIFO's output.
// Does not implement: copies of less than a packet's beginning.

`default_nettype none

module fb_pe_tap
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
#(
    parameter bit Skips = 1'b0,  // what the branch has no room for is not copied
    parameter int unsigned Beats = 512,  // in the FIFO, a power of two, 8 to 4096
    parameter int unsigned ResultBits = 48  // of a result
) (
    input wire clk,
    input wire rst,

    input wire s_axis_object_tvalid,
    output logic s_axis_object_tready,
    input wire [USER_DATA_BITS-1:0] s_axis_object_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input wire s_axis_object_tlast,
    input wire [1:0] s_axis_object_tuser,
    input wire [PACKET_TAG_BITS-1:0] s_axis_object_tid,
    input wire extent_t extent,  // of the packet whose beat is there

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid,

    // The copy; a cycle or more before its first beat what is known of the packet. And whose end
    // leaves the last element of the branch.
    output logic                          m_axis_copy_tvalid,
    input  wire                           m_axis_copy_tready,
    output logic    [ USER_DATA_BITS-1:0] m_axis_copy_tdata,
    output logic    [USER_BEAT_BYTES-1:0] m_axis_copy_tkeep,
    output logic                          m_axis_copy_tlast,
    output logic    [                1:0] m_axis_copy_tuser,
    output logic    [PACKET_TAG_BITS-1:0] m_axis_copy_tid,
    output logic                          copy_valid,
    output logic    [PACKET_TAG_BITS-1:0] copy_tid,
    output extent_t                       copy,
    input  wire                           leaves,
    input  wire     [PACKET_TAG_BITS-1:0] leaves_tid,

    // Results of the branch, and with those of what it did not see.
    input  wire                        s_axis_result_tvalid,
    output logic                       s_axis_result_tready,
    input  wire  [     ResultBits-1:0] s_axis_result_tdata,
    input  wire                        s_axis_result_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_result_tid,
    output logic                       m_axis_result_tvalid,
    input  wire                        m_axis_result_tready,
    output logic [     ResultBits-1:0] m_axis_result_tdata,
    output logic                       m_axis_result_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_result_tid,

    output logic unseen  // for one cycle: an object ends of which the branch did not see all
);

  if (Beats < 8 || Beats > 4096 || (Beats & (Beats - 1)) != 0) begin : gen_bad_beats
    $fatal(1, "fb_pe_tap (%m): Beats=%0d must be a power of two from 8 to 4096", Beats);
  end

  localparam int unsigned LevelBits = $clog2(Beats) + 1;
  localparam int unsigned InsideBits = $clog2(INSIDE);
  localparam int unsigned Places = 16;  // objects of which is known whether they were copied
  localparam int unsigned PlaceBits = $clog2(Places);
  localparam int unsigned Nulls = 16;  // results "not judged" that wait
  localparam int unsigned NullBits = $clog2(Nulls) + 1;

  // ------------------------------------------------------------------------------------- the original
  logic waits, moves, ends;

  assign moves = m_axis_object_tvalid && m_axis_object_tready;
  assign ends = moves && s_axis_object_tlast;
  assign s_axis_object_tready = m_axis_object_tready && !waits;
  assign m_axis_object_tvalid = s_axis_object_tvalid && !waits;
  assign m_axis_object_tdata = s_axis_object_tdata;
  assign m_axis_object_tkeep = s_axis_object_tkeep;
  assign m_axis_object_tlast = s_axis_object_tlast;
  assign m_axis_object_tuser = s_axis_object_tuser;
  assign m_axis_object_tid = s_axis_object_tid;

  // ---------------------------------------------------------------------------------- what is copied
  object_t object, owner;
  logic open_q;  // the packet has begun
  logic copies, copies_q;  // its beat is copied
  logic owner_copied, follows, cut, push, room;
  logic spare_q;  // another packet may be copied
  logic null_room_q;  // another result "not judged" finds room
  logic [LevelBits-1:0] level;
  logic [NullBits-1:0] nulls;
  logic [INSIDE-1:0] inside_q;  // packets, by their words
  logic taken;  // the packet's word is in use

  assign object = '{extent.stream, extent.epoch, extent.object};
  assign follows = extent.offset == '0 || (owner_copied && owner == object);
  assign taken = inside_q[s_axis_object_tid[InsideBits-1:0]];
  assign copies = open_q ? copies_q : !Skips || (follows && spare_q && !taken);
  assign waits = Skips ? s_axis_object_tlast && !null_room_q : !room || (!open_q && taken);
  assign cut = Skips && level >= LevelBits'(Beats - 1) && !s_axis_object_tlast;
  assign push = moves && copies;
  assign unseen = Skips && ends && !copies && (s_axis_object_tuser & PACKET_ENDS_OBJECT) != '0;
  assign copy_valid = push && !open_q;
  assign copy_tid = s_axis_object_tid;
  assign copy = extent;

  fb_common_lutram #(
      .Width(1 + $bits(object_t)),
      .Depth(Places)
  ) u_owners (
      .clk,
      .we(ends),
      .waddr(extent.stream[PlaceBits-1:0]),
      .wdata({copies, object}),
      .raddr(extent.stream[PlaceBits-1:0]),
      .rdata({owner_copied, owner})
  );

  always_ff @(posedge clk) begin : follow
    if (moves) {open_q, copies_q} <= {!s_axis_object_tlast, copies && !cut};
    if (leaves) inside_q[leaves_tid[InsideBits-1:0]] <= 1'b0;
    if (copy_valid) inside_q[copy_tid[InsideBits-1:0]] <= 1'b1;
    spare_q <= level < LevelBits'(Beats / 2);
    // What is on offer stays: one more finds room then.
    null_room_q <= nulls < NullBits'(Nulls - 1) ||
        (m_axis_object_tvalid && !m_axis_object_tready && null_room_q);
    if (rst) {open_q, inside_q, spare_q, null_room_q} <= '0;
  end

  fb_common_fifo_bram #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 3 + PACKET_TAG_BITS),
      .Depth(Beats)
  ) u_copy (
      .clk,
      .rst,
      .clear(1'b0),
      .s_valid(push),
      .s_ready(room),
      .s_data({
        s_axis_object_tid,
        cut ? PACKET_PART : s_axis_object_tuser,
        s_axis_object_tlast || cut,
        s_axis_object_tkeep,
        s_axis_object_tdata
      }),
      .m_valid(m_axis_copy_tvalid),
      .m_ready(m_axis_copy_tready),
      .m_data({
        m_axis_copy_tid, m_axis_copy_tuser, m_axis_copy_tlast, m_axis_copy_tkeep, m_axis_copy_tdata
      }),
      .level
  );

  // ----------------------------------------------------------------------------------------- results
  logic null_valid, null_ready;
  logic [PACKET_TAG_BITS-1:0] null_tid;

  fb_common_fifo #(
      .Width(PACKET_TAG_BITS),
      .Depth(Nulls)
  ) u_nulls (
      .clk,
      .rst,
      .clear  (1'b0),
      .s_valid(unseen),
      .s_ready(),
      .s_data (s_axis_object_tid),
      .m_valid(null_valid),
      .m_ready(null_ready),
      .m_data (null_tid),
      .level  (nulls)
  );

  fb_axis_arbiter #(
      .Sources(2),
      .Width  (ResultBits + 1 + PACKET_TAG_BITS),
      .Fair   (0)
  ) u_results (
      .clk,
      .rst,
      .may_begin('1),
      .s_valid({null_valid, s_axis_result_tvalid}),
      .s_ready({null_ready, s_axis_result_tready}),
      .s_data({
        {ResultBits'(0), 1'b1, null_tid},
        {s_axis_result_tdata, s_axis_result_tuser, s_axis_result_tid}
      }),
      .s_last('1),
      .m_valid(m_axis_result_tvalid),
      .m_ready(m_axis_result_tready),
      .m_data({m_axis_result_tdata, m_axis_result_tuser, m_axis_result_tid}),
      .m_last(),
      .begins(),
      .source()
  );

`ifndef SYNTHESIS
  copy_has_room :
  assert property (@(posedge clk) disable iff (rst) push |-> room)
  else $error("fb_pe_tap (%m): a beat finds no room, %0d are there", level);

  null_has_room :
  assert property (@(posedge clk) disable iff (rst) unseen |-> nulls != NullBits'(Nulls))
  else $error("fb_pe_tap (%m): no room for the result of tag %0d", s_axis_object_tid);

  leaves_what_entered :
  assert property (@(posedge clk) disable iff (rst) leaves |-> inside_q[leaves_tid[InsideBits-1:0]])
  else $error("fb_pe_tap (%m): tag %0d leaves the branch, and is not inside", leaves_tid);
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 3 + PACKET_TAG_BITS),
      .Name ("m_axis_object")
  ) u_check_object (
      .clk,
      .rst,
      .valid(m_axis_object_tvalid),
      .ready(m_axis_object_tready),
      .data({
        m_axis_object_tid,
        m_axis_object_tuser,
        m_axis_object_tlast,
        m_axis_object_tkeep,
        m_axis_object_tdata
      })
  );

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 3 + PACKET_TAG_BITS),
      .Name ("m_axis_copy")
  ) u_check_copy (
      .clk,
      .rst,
      .valid(m_axis_copy_tvalid),
      .ready(m_axis_copy_tready),
      .data({
        m_axis_copy_tid, m_axis_copy_tuser, m_axis_copy_tlast, m_axis_copy_tkeep, m_axis_copy_tdata
      })
  );

  fb_axis_check #(
      .Width(1 + ResultBits + PACKET_TAG_BITS),
      .Name ("m_axis_result")
  ) u_check_result (
      .clk,
      .rst,
      .valid(m_axis_result_tvalid),
      .ready(m_axis_result_tready),
      .data ({m_axis_result_tid, m_axis_result_tuser, m_axis_result_tdata})
  );

endmodule

`default_nettype wire
