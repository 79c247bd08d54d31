// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_collect: takes extents into a memory, and has headers made for small ones.
//
// What:        all extents pass a memory; bytes behind their end become zero. With `cfg_small` one is
//              kept there until its length and checksum are known, and its header is made of them:
//              `m_extent` says then what it takes in a batch, and its checksum.
// Handshake:   valid/ready. An extent is taken while `cfg_enable` is high; one that has begun to its end.
// Latency:     2 cycles; with `cfg_small` 14 from the last beat to the facts of the header.
// Throughput:  64 bytes a cycle.
// Limits:      with `cfg_small` an extent of more than Beats - 8 beats, or of more than a batch holds
//              behind a header, is cut. Settings are steady while `open` is high or `waiting` is not
//              0. 512-bit registers: the memory's.
// Does not implement: places (fb_store_write); headers (fb_store_header).

`default_nettype none

module fb_store_collect
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
#(
    parameter int unsigned Beats = 1024,  // of the memory, a power of two, 64 to 4096
    parameter int unsigned Extents = 64  // small ones in it, a power of two, 4 to 4096
) (
    input wire clk,
    input wire rst,

    input wire                 cfg_small,   // small extents: they have a header each
    input wire                 cfg_enable,  // take extents
    input wire [31:PAGE_SHIFT] cfg_batch,   // most bytes of a batch, a page or more

    // What is known of each extent, taken with its end, of a small one with its header's.
    input wire s_axis_head_tvalid,
    output logic s_axis_head_tready,
    input wire metadata_t s_axis_head_tdata,
    input wire s_axis_object_tvalid,
    output logic s_axis_object_tready,
    input wire [USER_DATA_BITS-1:0] s_axis_object_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input wire s_axis_object_tlast,
    input wire s_axis_object_tuser,  // with TLAST: not a whole object

    // Beats of small extents for their checksums, and these.
    output logic         crc_valid,
    output beat_t        crc_beat,
    input  wire          sum_valid,
    input  wire   [31:0] sum,

    // Facts for headers; what becomes of them goes to who stores the extents.
    output logic   m_facts_tvalid,
    input  wire    m_facts_tready,
    output facts_t m_facts_tdata,

    output logic   m_extent_tvalid,  // of a small one
    input  wire    m_extent_tready,
    output small_t m_extent_tdata,
    output logic   m_beat_tvalid,
    input  wire    m_beat_tready,
    output beat_t  m_beat_tdata,

    output logic        open,    // an extent has begun and not ended
    output logic        ended,   // none has, and none will
    output logic [15:0] waiting  // extents that have begun and whose last beat has not left
);

  localparam int unsigned BeatShift = $clog2(USER_BEAT_BYTES);

  if (Beats < 64 || Beats > 4096 || (Beats & (Beats - 1)) != 0) begin : gen_bad
    $fatal(1, "fb_store_collect (%m): Beats=%0d must be a power of two from 64 to 4096", Beats);
  end

  // What is known of a small extent when its last beat is in the memory.
  typedef struct packed {
    logic cut, broken;
    logic [63:0] done;  // bytes of it in earlier parts
    logic [31:0] length;
  } taken_t;

  // ------------------------------------------------------------------------------------- taking
  logic inside_q;  // an extent has begun
  logic first_q;  // the next beat is the first one of a part
  span_t beats_q, most;  // of it so far; at most, less two
  logic last_q;  // the next beat is the last that it may have
  logic [63:0] done_q;
  logic may, takes, ends, room, extents_room, leaves;
  beat_t  beat;
  taken_t taken;

  // A cycle late.
  always_ff @(posedge clk) begin : limit
    most <= (cfg_batch > (32 - PAGE_SHIFT)'(Beats >> (PAGE_SHIFT - BeatShift)) ? span_t'(Beats) :
             span_t'({cfg_batch, (PAGE_SHIFT - BeatShift)'(0)})) - span_t'(HEADER_BEATS + 2);
  end

  assign may = (inside_q || cfg_enable) && (cfg_small ? extents_room : s_axis_head_tvalid);
  assign s_axis_object_tready = room && may;
  assign takes = s_axis_object_tvalid && s_axis_object_tready;
  assign ends = s_axis_object_tlast || beat.cut;

  always_comb begin : compose
    beat.bytes = bytes_of(s_axis_object_tkeep);
    beat.cut = cfg_small && !s_axis_object_tlast && last_q;
    beat.last = ends;
    beat.broken = s_axis_object_tuser;
    for (int i = 0; i < USER_BEAT_BYTES; i++) begin
      beat.data[8*i+:8] = s_axis_object_tdata[8*i+:8] & {8{s_axis_object_tkeep[i]}};
    end
    taken.cut = beat.cut;
    taken.broken = s_axis_object_tuser;
    taken.done = done_q;
    taken.length = {beats_q, BeatShift'(0)} + 32'(beat.bytes);
  end

  always_ff @(posedge clk) begin : take
    if (takes) begin
      inside_q <= !s_axis_object_tlast;
      first_q  <= ends;
      beats_q  <= ends ? '0 : beats_q + 1'b1;
      last_q   <= !ends && beats_q == most;
      if (ends) done_q <= beat.cut ? done_q + 64'(taken.length) : '0;
    end
    if (leaves != (takes && first_q)) waiting <= leaves ? waiting - 1'b1 : waiting + 1'b1;
    if (rst) begin
      inside_q <= 1'b0;
      first_q  <= 1'b1;
      beats_q  <= '0;
      last_q   <= 1'b0;
      done_q   <= '0;
      waiting  <= '0;
    end
  end

  fb_common_fifo_bram #(
      .Width($bits(beat_t)),
      .Depth(Beats)
  ) u_store (
      .clk,
      .rst,
      .s_valid(s_axis_object_tvalid && may),
      .s_ready(room),
      .s_data (beat),
      .m_valid(m_beat_tvalid),
      .m_ready(m_beat_tready),
      .m_data (m_beat_tdata),
      .level  ()
  );

  assign open   = inside_q;
  assign ended  = !cfg_enable && !inside_q;
  assign leaves = m_beat_tvalid && m_beat_tready && m_beat_tdata.last;

  // ------------------------------------------------------------------------------------- headers
  logic held, summed, described, made_ready;
  logic [31:0] sum_out;
  taken_t next;
  part_t part;
  small_t made;

  assign crc_valid = cfg_small && takes;
  assign crc_beat  = beat;

  fb_common_fifo_bram #(
      .Width($bits(taken_t)),
      .Depth(Extents)
  ) u_taken (
      .clk,
      .rst,
      .s_valid(cfg_small && takes && ends),
      .s_ready(extents_room),
      .s_data (taken),
      .m_valid(held),
      .m_ready(described),
      .m_data (next),
      .level  ()
  );

  fb_common_fifo_bram #(
      .Width(32),
      .Depth(Extents)
  ) u_sums (
      .clk,
      .rst,
      .s_valid(sum_valid),
      .s_ready(),
      .s_data (sum),
      .m_valid(summed),
      .m_ready(described),
      .m_data (sum_out),
      .level  ()
  );

  always_comb begin : describe
    part = '0;
    part.whole = !next.cut && !next.broken && next.done == '0;
    part.done = next.done;
    part.length = next.length;
    part.crc32c = sum_out;
    made.span = blocks_of(next.length) + span_t'(HEADER_BEATS);
    made.crc32c = sum_out;
  end

  assign m_facts_tdata = facts_of(s_axis_head_tdata, part);
  assign m_facts_tvalid = held && summed && made_ready && s_axis_head_tvalid;
  assign described = m_facts_tvalid && m_facts_tready;
  assign s_axis_head_tready = cfg_small ? described && !next.cut : takes && s_axis_object_tlast;

  // Extents whose header is made.
  fb_common_fifo #(
      .Width($bits(small_t)),
      .Depth(4)
  ) u_made (
      .clk,
      .rst,
      .s_valid(described),
      .s_ready(made_ready),
      .s_data (made),
      .m_valid(m_extent_tvalid),
      .m_ready(m_extent_tready),
      .m_data (m_extent_tdata),
      .level  ()
  );

`ifndef SYNTHESIS
  keep_has_no_holes :
  assert property (@(posedge clk) disable iff (rst)
                   takes |-> (s_axis_object_tkeep & (s_axis_object_tkeep + 64'd1)) == '0 &&
                   (s_axis_object_tlast || s_axis_object_tkeep == '1))
  else
    $error("fb_store_collect (%m): TKEEP %0h, TLAST %b", s_axis_object_tkeep, s_axis_object_tlast);
`endif

  fb_axis_check #(
      .Width($bits(beat_t)),
      .Name ("m_beat")
  ) u_check_beat (
      .clk,
      .rst,
      .valid(m_beat_tvalid),
      .ready(m_beat_tready),
      .data (m_beat_tdata)
  );

  fb_axis_check #(
      .Width($bits(facts_t)),
      .Name ("m_facts")
  ) u_check_facts (
      .clk,
      .rst,
      .valid(m_facts_tvalid),
      .ready(m_facts_tready),
      .data (m_facts_tdata)
  );

endmodule

`default_nettype wire
