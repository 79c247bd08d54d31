// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_mean: how bright an object is: the mean of its bytes, and whether that is enough.
//
// What:        packets pass as they are. The result of an object is its mean byte as an IEEE single,
//              rounded towards zero, and class 1 if that is `cfg[7:0]` or more, else class 0. It may
//              come in several packets, between those of other streams. Of 16 streams the sums are
//              kept, by the lowest bits of their numbers: where two share a place, an object that
//              loses its sum to the other is not judged, and that is said at its end.
// Handshake:   valid/ready; packets pass within the cycle. The end of a packet waits until the result
//              of the one before has been taken.
// Latency:     packets 0 cycles; a result 27 after the packet's last beat for a mean of 128 or more,
//              and one more for each halving.
// Throughput:  64 bytes a cycle for packets of 35 beats or more with a mean of 1 or more; of shorter
//              ones a packet in 28 to 35 cycles.
// Limits:      objects of less than 1 TiB. 512-bit registers: none.
// Does not implement: words of more than a byte.

`default_nettype none

module fb_pe_mean
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
(
    input  wire         clk,
    input  wire         rst,
    input  wire  [63:0] cfg,    // see fb_pe_mean.toml
    output logic [63:0] status, // see there, too

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

    // One for each object that ends with nothing missing, in any order: the columns of the manifest,
    // the first one lowest; TUSER where it was not judged; TID is that of the packet that ends it.
    output logic                       m_axis_result_tvalid,
    input  wire                        m_axis_result_tready,
    output logic [               47:0] m_axis_result_tdata,
    output logic                       m_axis_result_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_result_tid
);

  localparam int unsigned Places = 16;  // objects whose sums are kept
  localparam int unsigned PlaceBits = $clog2(Places);
  localparam int unsigned CountBits = 40;  // of an object's bytes
  localparam int unsigned SumBits = CountBits + 8;
  localparam int unsigned Fours = USER_BEAT_BYTES / 4;
  localparam logic [7:0] One = 8'd127;  // exponent of 1.0

  // ---------------------------------------------------------------------------------------- packets
  logic busy_q;  // a packet has ended, its result is still to be taken
  logic waits, moves, ends;  // ends: the packet does, and an object with it

  assign waits = s_axis_object_tlast && busy_q;
  assign ends = moves && s_axis_object_tlast && (s_axis_object_tuser & PACKET_ENDS_OBJECT) != '0;
  assign moves = m_axis_object_tvalid && m_axis_object_tready;
  assign s_axis_object_tready = m_axis_object_tready && !waits;
  assign m_axis_object_tvalid = s_axis_object_tvalid && !waits;
  assign m_axis_object_tdata = s_axis_object_tdata;
  assign m_axis_object_tkeep = s_axis_object_tkeep;
  assign m_axis_object_tlast = s_axis_object_tlast;
  assign m_axis_object_tuser = s_axis_object_tuser;
  assign m_axis_object_tid = s_axis_object_tid;

  // ---------------------------------------------------------------------------------------- objects
  // Whose sum is in each place, and whether it has been there since the object began. It is looked up
  // with the first beat of a packet.
  object_t object, owner;
  logic [PlaceBits-1:0] place;
  logic begins, goes_on, good, good_q, owner_good;
  logic inside_q;  // the first beat of the packet has passed

  assign place = extent.stream[PlaceBits-1:0];
  assign object = '{extent.stream, extent.epoch, extent.object};
  assign begins = extent.offset == '0;
  assign goes_on = owner_good && owner == object;
  assign good = inside_q ? good_q : begins || goes_on;

  fb_common_lutram #(
      .Width(1 + $bits(object_t)),
      .Depth(Places)
  ) u_owners (
      .clk,
      .we(moves && !inside_q),
      .waddr(place),
      .wdata({good, object}),
      .raddr(place),
      .rdata({owner_good, owner})
  );

  always_ff @(posedge clk) begin : follow
    if (moves) {inside_q, good_q} <= {!s_axis_object_tlast, good};
    if (rst) inside_q <= 1'b0;
  end

  // -------------------------------------------------------------------------------------------- sum
  // Of a beat in two steps, of four bytes and of all; then into that of the object.
  typedef struct packed {
    logic valid;
    logic first;  // of its packet
    logic last;  // of its packet
    logic ends;  // an object, with it
    logic begins;  // an object, with its packet
    logic [PlaceBits-1:0] place;
  } beat_t;

  typedef struct packed {
    logic [SumBits-1:0]   sum;
    logic [CountBits-1:0] count;  // of bytes
  } sum_t;

  logic [Fours-1:0][9:0] fours_q;
  logic [13:0] beat_q;
  logic [6:0] fours_there_q, beat_there_q;  // bytes
  beat_t fours_of_q, beat_of_q;
  sum_t sum_q, sum, kept, base;

  function automatic logic [9:0] four(input logic [31:0] bytes, input logic [3:0] keep);
    four = '0;
    for (int i = 0; i < 4; i++) if (keep[i]) four = four + 10'(bytes[8*i+:8]);
  endfunction

  function automatic logic [13:0] all(input logic [Fours-1:0][9:0] fours);
    all = '0;
    for (int i = 0; i < int'(Fours); i++) all = all + 14'(fours[i]);
  endfunction

  fb_common_lutram #(
      .Width($bits(sum_t)),
      .Depth(Places)
  ) u_sums (
      .clk,
      .we(beat_of_q.valid && beat_of_q.last),
      .waddr(beat_of_q.place),
      .wdata(sum),
      .raddr(beat_of_q.place),
      .rdata(kept)
  );

  assign base = !beat_of_q.first ? sum_q : beat_of_q.begins ? '0 : kept;
  assign sum  = '{base.sum + SumBits'(beat_q), base.count + CountBits'(beat_there_q)};

  always_ff @(posedge clk) begin : add
    for (int i = 0; i < int'(Fours); i++) begin
      fours_q[i] <= four(s_axis_object_tdata[32*i+:32], s_axis_object_tkeep[4*i+:4]);
    end
    fours_there_q <= 7'($countones(s_axis_object_tkeep));
    fours_of_q <= '{moves, !inside_q, s_axis_object_tlast, ends, begins, place};
    beat_q <= all(fours_q);
    beat_there_q <= fours_there_q;
    beat_of_q <= fours_of_q;
    if (beat_of_q.valid) sum_q <= sum;
    if (rst) {fours_of_q.valid, beat_of_q.valid} <= '0;
  end

  // ------------------------------------------------------------------------------------------- mean
  // The first bit of the quotient has the weight 128.
  logic starts, divides_q, divided;  // divides: until the result is taken
  logic [31:0] mean;
  logic [ 7:0] whole;
  logic [31:0] lost_q;  // objects that lost their sums

  assign starts = beat_of_q.valid && beat_of_q.ends;
  fb_common_quotient #(
      .Width(SumBits),
      .Exponent(One + 8'd7),
      .WholeBits(8)
  ) u_mean (
      .clk,
      .rst,
      .start(starts),
      .numerator(sum.sum),
      .divisor({1'b0, sum.count, 7'd0}),
      .valid(divided),
      .single(mean),
      .whole
  );

  always_ff @(posedge clk) begin : judge
    if (starts) divides_q <= 1'b1;
    if (ends) begin
      busy_q <= 1'b1;
      m_axis_result_tid <= s_axis_object_tid;
      m_axis_result_tuser <= !good;
    end
    if (m_axis_result_tvalid && m_axis_result_tready) {busy_q, divides_q} <= '0;
    lost_q <= lost_q + 32'(ends && !good);
    if (rst) {busy_q, divides_q, lost_q} <= '0;
  end
  assign status = 64'(lost_q);

  assign m_axis_result_tvalid = divides_q && divided;
  assign m_axis_result_tdata = {mean, 15'd0, whole >= cfg[7:0]};

  // Of the settings only the threshold counts.
  logic unused;
  assign unused = &{1'b0, cfg, extent};

  fb_pe_check u_check (
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

  fb_pe_check_result u_check_result (
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
