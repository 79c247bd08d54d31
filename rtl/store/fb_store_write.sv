// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_write: writes extents to the next free places of a region, and reports where each part is.
//
// What:        puts an address in front of each extent, which makes a write of the streamer of it, at a
//              multiple of the alignment, which is a page or some; a long one is several writes,
//              behind each other, so that others have their turn between them. With `cfg_page` as
//              much as the alignment is left free in front of it, and it is filled up to the next
//              multiple as a tar file wants it. With a stride extents begin at multiples of it, and
//              end there.
//              With `cfg_small` they go behind each other, each with a header in front of it, into a
//              batch, which is one write: until the next one has no room in it, the batch has waited
//              long enough, half of the parts that may wait for answers do, or nothing more is to come.
// Ends:        an extent that meets the region's end is cut: the rest is a write and a part of its
//              own, at the region's beginning. Without `cfg_ring` the end is the end, and what finds
//              no room is skipped; so is a batch that may need more than is left. A part leaves when
//              the streamer has answered, so that it is never ahead of its data.
// Ahead:       in a ring with `cfg_ahead` a write waits while it might end further than that behind the
//              newest index record that is on the SSD, or lost: what it overwrites is what readers take
//              for overwritten. A part has half of that at most, so that it gets its index record.
// Handshake:   valid/ready. `m_axis_wr_*` follows `s_beat_*` within the cycle.
// Latency:     1 cycle from the first beat to its address, 2 to itself, then none.
// Throughput:  64 bytes a cycle, and two cycles for each write, five for the first one of a part with
//              `cfg_ahead`; the beats of headers, and those that fill up blocks and pages.
// Limits:      `restart` only while `waiting` is 0 and nothing comes; else settings are steady. Region,
//              stride, batches and WriteBeats are multiples of the alignment.
//              A part has less than 4 GiB, and half of `cfg_ahead` at most; an extent that is longer
//              has several. A batch has 1 MiB.
//              One part more than Depth may wait for its answer, it rests in the register of the
//              memory; and Writes writes, if that is less. 512-bit registers: none.
// Does not implement: headers (fb_store_header); the index.

`default_nettype none

module fb_store_write
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
#(
    parameter int unsigned Depth = 512,  // parts without an answer, a power of two, 4 to 4096
    parameter int unsigned Writes = 512,  // without an answer, a power of two, 2 to 1024
    parameter int unsigned MaxBeats = (1 << 26) - 64,  // of a part, a multiple of 64
    parameter int unsigned WriteBeats = 16384  // of a write: 1 MiB; a multiple of 64
) (
    input wire clk,
    input wire rst,

    input wire                  restart,      // begin the region anew
    input wire                  cfg_ring,     // behind the region's end comes its beginning
    input wire                  cfg_small,    // batches; no page and no stride then
    input wire                  cfg_page,     // leave room in front of each extent; no stride then
    input wire [ALIGN_BITS-1:0] cfg_align,    // pages of the alignment, a power of two
    input wire [ 31:PAGE_SHIFT] cfg_batch,    // most bytes of a batch, up to a write
    input wire [          31:0] cfg_wait,     // cycles from a batch's beginning to its end; 0: any
    input wire [ 31:PAGE_SHIFT] cfg_stride,   // from an extent to the next; 0: as they come
    input wire [ 63:PAGE_SHIFT] cfg_base,     // first byte of the region
    input wire [ 63:PAGE_SHIFT] cfg_bytes,    // its size
    input wire [ 63:PAGE_SHIFT] cfg_ahead,    // of the newest index record; 0: any number of bytes
    input wire [ 63:PAGE_SHIFT] durable,      // the page behind what has one on the SSD
    input wire                  any_durable,  // there is one since `restart`
    input wire                  ended,        // no further extent will be taken
    input wire [          15:0] coming,       // extents whose last beat has not come here

    input  wire    s_beat_tvalid,
    output logic   s_beat_tready,
    input  beat_t  s_beat_tdata,
    input  wire    s_extent_tvalid,  // of a small one
    output logic   s_extent_tready,
    input  small_t s_extent_tdata,

    // The header of a small one.
    input  wire                       s_axis_header_tvalid,
    output logic                      s_axis_header_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_header_tdata,
    input  wire                       s_axis_header_tlast,

    // Beats of others for their checksums, and these.
    output logic         crc_valid,
    output beat_t        crc_beat,
    input  wire          sum_valid,
    input  wire   [31:0] sum,

    // Writes of the streamer, whole beats, and its answers to them.
    output logic                      m_axis_wr_tvalid,
    input  wire                       m_axis_wr_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic                      m_axis_wr_tlast,
    input  wire                       s_axis_wrsp_tvalid,
    output logic                      s_axis_wrsp_tready,
    input  wire  [               7:0] s_axis_wrsp_tdata,

    output logic  m_axis_part_tvalid,
    input  wire   m_axis_part_tready,
    output part_t m_axis_part_tdata,

    output logic        pressing,  // a write waits for an index record
    output logic        open,      // an extent or a batch has begun and not ended
    output logic [15:0] waiting,   // parts without an answer
    output logic [63:0] position   // where in the region the next extent begins
);

  localparam int unsigned BeatShift = $clog2(USER_BEAT_BYTES);
  localparam int unsigned BeatBits = 64 - BeatShift;
  localparam int unsigned PageShift = PAGE_SHIFT - BeatShift;
  localparam int unsigned PageBeats = PAGE_BYTES / USER_BEAT_BYTES;
  localparam int unsigned UnitBits = PageShift + (1 << ALIGN_BITS) - 1;  // of the longest unit
  localparam int unsigned BlockShift = $clog2(HEADER_BEATS);
  localparam int unsigned WriteBits = $clog2(WriteBeats + 1);

  if (MaxBeats < PageBeats || MaxBeats % PageBeats != 0 || (MaxBeats >> SPAN_BITS) != 0)
  begin : gen_bad
    $fatal(
        1,
        "fb_store_write (%m): MaxBeats=%0d must be a multiple of %0d below 2^%0d",
        MaxBeats,
        PageBeats,
        SPAN_BITS
    );
  end
  if (WriteBeats < PageBeats || WriteBeats % PageBeats != 0 || WriteBeats > MaxBeats)
  begin : gen_bad_write
    $fatal(
        1,
        "fb_store_write (%m): WriteBeats=%0d must be a multiple of %0d up to %0d",
        WriteBeats,
        PageBeats,
        MaxBeats
    );
  end

  typedef logic [BeatBits-1:0] place_t;  // in the region or on the SSD, in beats

  // A bit each, so that what waits for nothing but a state asks one register.
  typedef enum logic [4:0] {
    REST    = 5'b00001,
    ADDRESS = 5'b00010,
    HEADER  = 5'b00100,
    DATA    = 5'b01000,
    FILL    = 5'b10000   // zeros up to the end of the block, then fillers up to that of the unit
  } state_e;

  state_e state_q;
  logic rest, address, header, data, fill;  // the state
  assign {fill, data, header, address, rest} = state_q;
  logic skips_q;  // the part finds no room: it is taken, and not written
  place_t left_q, left_next;  // beats to the region's end, from here and from behind the next move
  place_t next_stride_q;  // the same from behind the part's stride
  place_t at_q, start_q;  // the next beat, the part's first one
  logic block_ends_q, unit_ends_q;  // with the next beat
  span_t span_q;  // beats that the part may still have
  logic span_ends_q;  // one
  span_t beats_q;  // that it has
  logic [WriteBits-1:0] write_q;  // beats that the write may still have
  logic write_ends_q;  // one
  logic [63:0] done_q;  // bytes of the extent in earlier parts
  logic over_q;  // the extent has met the end of its stride
  logic tail_q;  // the block that is filled up has payload
  logic [BlockShift-1:0] filler_q;  // beat of the filler

  // ---------------------------------------------------------------------------------------- places
  logic begins, full, none, strided, fills, wraps, bounded;
  place_t unit;  // beats of the alignment: what is written begins at a multiple of it, as the region does
  logic [UnitBits-1:0] below;  // bits of a place in it
  place_t need;  // beats that an extent, or a batch, may take at least
  place_t front, fresh_at_q, fresh_left_q;  // behind the front at the region's beginning
  span_t batch;

  assign fills = cfg_page || cfg_small;
  assign batch = span_t'({cfg_batch, PageShift'(0)});
  assign front = cfg_page ? unit : '0;
  assign full  = left_q < need;
  assign none  = over_q || (full && !wraps);

  // Of settings alone, which the first extent finds three cycles old.
  always_ff @(posedge clk) begin : settle
    strided <= cfg_stride != '0;
    unit <= place_t'(PageBeats) << cfg_align;
    below <= ~(UnitBits'('1) << PageShift << cfg_align);
    need <= front + unit;
    if (strided) need <= place_t'({cfg_stride, PageShift'(0)});
    if (cfg_small) need <= place_t'(batch);
    wraps <= cfg_ring && {cfg_bytes, PageShift'(0)} >= need;
    bounded <= cfg_ring && cfg_ahead != '0;
    fresh_at_q <= {cfg_base, PageShift'(0)} + front;
    fresh_left_q <= {cfg_bytes, PageShift'(0)} - front;
  end

  // Beats of a part that begins where so many are left.
  place_t longest_q;
  function automatic span_t span_of(input place_t left);
    return left > longest_q ? span_t'(longest_q) : span_t'(left);
  endfunction

  // ------------------------------------------------------------------------------------------ ahead
  // How far the next beat is ahead of the newest index record; known three cycles after a part has
  // begun, and then no more than Margin behind.
  localparam int unsigned Margin = 4 * PageBeats;
  logic negative_q, near_q, near;
  logic [1:0] settled_q;  // cycles since a part began
  place_t distance_q, ahead_q, behind_q;

  assign near = !bounded || (near_q && settled_q == '1);
  assign pressing = bounded && address && settled_q == '1 && !near_q;

  always_ff @(posedge clk) begin : measure
    longest_q <= place_t'(MaxBeats);
    if (bounded && cfg_ahead[63:PAGE_SHIFT+1] < (63 - PAGE_SHIFT)'(MaxBeats >> PageShift))
      longest_q <= {1'b0, cfg_ahead[63:PAGE_SHIFT+1], PageShift'(0)};
    behind_q <= {any_durable ? durable : cfg_base, PageShift'(0)};
    {negative_q, distance_q} <= {1'b0, at_q} - {1'b0, behind_q};
    ahead_q <= negative_q ? distance_q + {cfg_bytes, PageShift'(0)} : distance_q;
    near_q <= ahead_q + place_t'(WriteBeats) + place_t'(Margin) <= {cfg_ahead, PageShift'(0)};
    settled_q <= begins || rst ? '0 : settled_q + 2'(settled_q != '1);
  end

  // ---------------------------------------------------------------------------------------- batches
  // The last beat of a small extent's last block waits until it is decided whether the batch ends
  // with it.
  logic tail_ends, decides, decided_q, joins, last_q, over, joins_q;
  logic parts_room;  // for a part
  logic spare;  // for half of all, so that a batch ends before these wait for it
  logic drained;  // what is written is the last extent
  logic [31:0] waited_q;
  span_t room_q;  // beats of the batch behind the extent
  logic [31:0] crc32c_q;

  assign tail_ends = cfg_small && block_ends_q && !skips_q &&
      ((data && s_beat_tvalid && s_beat_tdata.last) || (fill && tail_q));
  assign drained = ended && coming == 16'(data);
  assign over = cfg_wait != '0 && waited_q >= cfg_wait;
  assign decides = tail_ends && !decided_q && (s_extent_tvalid || !spare || over || drained);
  assign joins = tail_ends && decided_q && !last_q;

  always_ff @(posedge clk) begin : decide
    waited_q <= rest ? '0 : waited_q + 32'(!over);
    if (decides) begin
      decided_q <= 1'b1;
      last_q <= !s_extent_tvalid || !spare || over || room_q < s_extent_tdata.span;
    end
    if (s_extent_tready) begin
      decided_q <= 1'b0;
      joins_q <= !rest;
      room_q <= (rest ? batch : room_q) - s_extent_tdata.span;
      crc32c_q <= s_extent_tdata.crc32c;
    end
    if (rst) decided_q <= 1'b0;
  end

  // ----------------------------------------------------------------------------------------- beats
  logic takes, ends, write_ends, writes_room, cut, moves, closes;
  logic [31:0] bytes;

  assign begins = rest && s_beat_tvalid && (cfg_small ? spare && s_extent_tvalid : parts_room);
  assign ends = s_beat_tdata.last || span_ends_q;
  assign write_ends = ends || write_ends_q;
  assign cut = !s_beat_tdata.last || s_beat_tdata.cut;
  assign closes = unit_ends_q && !joins;  // if the part is over

  assign takes = s_beat_tvalid && s_beat_tready;
  assign moves = m_axis_wr_tvalid && m_axis_wr_tready;
  assign s_beat_tready = data && (skips_q || (m_axis_wr_tready && (!tail_ends || decided_q)));
  assign s_axis_header_tready = header && (skips_q || m_axis_wr_tready);
  assign s_extent_tready = cfg_small && (begins || (moves && joins));

  assign m_axis_wr_tvalid = !skips_q && (!tail_ends || decided_q) &&
      ((address && writes_room && near) || (header && s_axis_header_tvalid) ||
       (data && s_beat_tvalid) || fill);
  assign m_axis_wr_tlast = (data && write_ends && (!fills || closes)) || (fill && closes);

  always_comb begin : compose
    m_axis_wr_tdata = s_beat_tdata.data;
    if (header) m_axis_wr_tdata = s_axis_header_tdata;
    if (fill) begin
      m_axis_wr_tdata = tail_q ? '0 : fb_store_rom_pkg::FILLER[{filler_q, 3'b0}+:8];
    end
    if (address) begin
      m_axis_wr_tdata = '0;
      m_axis_wr_tdata[USER_ADDRESS_LSB+:64] = {at_q, BeatShift'(0)};
    end
  end

  // A filler is a block, and goes on in each cycle in which it can.
  always_ff @(posedge clk) begin : count_filler
    filler_q <= fill && !tail_q ? filler_q + BlockShift'(m_axis_wr_tready) : '0;
  end

  // Where a part ends the next one begins at the next unit, or at the next stride.
  always_comb begin : count_down
    left_next = left_q - (rest ? front : place_t'(1));
    if (rest && full) left_next = fresh_left_q;
    if (data && ends && !fills) begin
      left_next[UnitBits-1:0] &= ~below;
      if (strided) left_next = next_stride_q;
    end
  end

  always_ff @(posedge clk) begin : follow
    unique case (state_q)
      REST:
      if (begins) begin
        state_q <= !none ? ADDRESS : cfg_small ? HEADER : DATA;
        skips_q <= none;
        beats_q <= '0;
        span_q <= span_t'(MaxBeats);
        span_ends_q <= 1'b0;
        if (!none) begin
          at_q   <= full ? fresh_at_q : at_q + front;
          left_q <= left_next;
        end
      end
      ADDRESS:
      if (moves) begin
        state_q <= cfg_small ? HEADER : DATA;
        write_q <= WriteBits'(WriteBeats);
        write_ends_q <= 1'b0;
        if (beats_q == '0) begin
          start_q <= at_q;
          next_stride_q <= left_q - need;
          if (!cfg_small) span_q <= span_of(strided ? need : left_q);
        end
      end
      HEADER:
      if (s_axis_header_tvalid && s_axis_header_tready) begin
        start_q <= at_q + 1'b1;
        if (s_axis_header_tlast) state_q <= DATA;
      end
      FILL:
      if (moves) begin
        if (block_ends_q) tail_q <= 1'b0;
        if (joins) state_q <= HEADER;
        else if (unit_ends_q) state_q <= REST;
      end
      default:
      if (takes) begin
        beats_q <= beats_q + 1'b1;
        span_q <= span_q - 1'b1;
        span_ends_q <= span_q == span_t'(2);
        tail_q <= !block_ends_q;
        if (ends) begin
          state_q <= joins ? HEADER : fills && !skips_q && !unit_ends_q ? FILL : REST;
          beats_q <= '0;
          done_q  <= cut ? done_q + 64'(bytes) : '0;
          over_q  <= cut && (over_q || (strided && !skips_q));
        end else if (write_ends && !skips_q) begin
          state_q <= ADDRESS;
        end
      end
    endcase
    if (moves && !address) begin
      write_q <= write_q - 1'b1;
      write_ends_q <= write_q == WriteBits'(2);
      at_q <= at_q + 1'b1;
      block_ends_q <= at_q[BlockShift-1:0] == BlockShift'(HEADER_BEATS - 2);
      unit_ends_q <= (at_q[UnitBits-1:0] | ~below) == {{UnitBits - 1{1'b1}}, 1'b0};
      left_q <= left_next;
      if (data && ends && !fills) begin
        at_q <= strided ? start_q + need : (at_q | place_t'(below)) + 1'b1;
        {block_ends_q, unit_ends_q} <= '0;
      end
    end
    if (restart || rst) begin
      {block_ends_q, unit_ends_q} <= '0;
      at_q <= {cfg_base, PageShift'(0)};
      left_q <= {cfg_bytes, PageShift'(0)};
    end
    if (rst) begin
      state_q <= REST;
      done_q  <= '0;
      over_q  <= 1'b0;
    end
  end

  assign open = !rest || done_q != '0;
  assign position = {cfg_bytes, PAGE_SHIFT'(0)} - {left_q, BeatShift'(0)};

  // ----------------------------------------------------------------------------------------- parts
  // What is known of a part when its last beat has passed, and whether it shares the answer of the one
  // before, which lies in the same batch.
  typedef struct packed {
    logic  shares;
    part_t part;
  } stored_t;

  logic push, leaves, stored_valid, summed, answered, known;
  logic [7:0] code, code_out, shared_q;
  logic [31:0] sum_out;
  logic [$clog2(Depth):0] level;
  stored_t stored, out;

  assign bytes = {beats_q, BeatShift'(0)} + 32'(s_beat_tdata.bytes);
  assign push = takes && ends;
  assign spare = level < ($clog2(Depth) + 1)'(Depth / 2);
  assign crc_valid = !cfg_small && takes && !skips_q;
  always_comb begin : conclude
    crc_beat = s_beat_tdata;
    crc_beat.last = ends;
    stored = '0;
    stored.shares = cfg_small && joins_q;
    stored.part.whole = !cut && !s_beat_tdata.broken && done_q == '0;
    stored.part.cut = cut;
    stored.part.skipped = skips_q;
    stored.part.address = skips_q ? '0 : {start_q, BeatShift'(0)};
    stored.part.done = done_q;
    stored.part.length = bytes;
  end

  fb_common_fifo_bram #(
      .Width($bits(stored_t)),
      .Depth(Depth)
  ) u_parts (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(parts_room),
      .s_data (stored),
      .m_valid(stored_valid),
      .m_ready(leaves),
      .m_data (out),
      .level
  );

  // That of a small one came with it.
  logic small_q;
  logic [31:0] small_sum_q;
  always_ff @(posedge clk) begin : keep_sum
    small_q <= push && !skips_q && !rst;
    small_sum_q <= crc32c_q;
  end

  fb_common_fifo_bram #(
      .Width(32),
      .Depth(Depth)
  ) u_sums (
      .clk,
      .rst,
      .s_valid(cfg_small ? small_q : sum_valid),
      .s_ready(),
      .s_data (cfg_small ? small_sum_q : sum),
      .m_valid(summed),
      .m_ready(leaves && !out.part.skipped),
      .m_data (sum_out),
      .level  ()
  );

  // Of each write without an answer, whether its part, or batch, ends with it; and what an earlier one
  // of the part was answered, if that was an error.
  logic asked, last_write, answers, answers_ready;
  logic [7:0] code_q, code_in;
  assign answers = s_axis_wrsp_tvalid && s_axis_wrsp_tready;
  assign code_in = code_q != ERR_OK ? code_q : s_axis_wrsp_tdata;

  fb_common_fifo #(
      .Width(1),
      .Depth(Writes)
  ) u_writes (
      .clk,
      .rst,
      .s_valid(moves && m_axis_wr_tlast),
      .s_ready(writes_room),
      .s_data (fill || ends),
      .m_valid(asked),
      .m_ready(answers),
      .m_data (last_write),
      .level  ()
  );

  // Answers are taken at once: behind them may be the answer to a page or an index block, without
  // which no part leaves.
  assign s_axis_wrsp_tready = asked && answers_ready;
  fb_common_fifo_bram #(
      .Width(8),
      .Depth(Depth)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(s_axis_wrsp_tvalid && asked && last_write),
      .s_ready(answers_ready),
      .s_data (code_in),
      .m_valid(answered),
      .m_ready(leaves && !out.part.skipped && !out.shares),
      .m_data (code_out),
      .level  ()
  );

  assign code = out.shares ? shared_q : code_out;
  assign known = out.part.skipped || (summed && (out.shares || answered));
  assign m_axis_part_tvalid = stored_valid && known;
  assign leaves = m_axis_part_tvalid && m_axis_part_tready;

  always_comb begin : describe
    m_axis_part_tdata = out.part;
    if (!out.part.skipped) begin
      m_axis_part_tdata.code   = code;
      m_axis_part_tdata.crc32c = sum_out;
    end
  end

  always_ff @(posedge clk) begin : join_answers
    if (answers) code_q <= last_write ? ERR_OK : code_in;
    if (leaves) shared_q <= code;
    if (push != leaves) waiting <= push ? waiting + 1'b1 : waiting - 1'b1;
    if (rst) begin
      code_q  <= ERR_OK;
      waiting <= '0;
    end
  end

`ifndef SYNTHESIS
  // A part begins only while there is room, and only this push adds parts.
  part_has_room :
  assert property (@(posedge clk) disable iff (rst) push |-> parts_room)
  else $error("fb_store_write (%m): no room for a part, %0d wait", waiting);

  restarts_at_rest :
  assert property (@(posedge clk) disable iff (rst) restart |-> !open && waiting == '0)
  else $error("fb_store_write (%m): restart while open=%0b, %0d wait", open, waiting);

  answers_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_wrsp_tvalid |-> asked)
  else $error("fb_store_write (%m): an answer, and nothing waits for it");

  one_layout :
  assert property (@(posedge clk) disable iff (rst) s_beat_tvalid |-> $onehot0(
      {strided, cfg_page, cfg_small}
  ))
  else
    $error("fb_store_write (%m): stride=%0d, page=%b, small=%b", cfg_stride, cfg_page, cfg_small);

  batch_is_a_write :
  assert property (@(posedge clk) disable iff (rst) cfg_small && s_beat_tvalid |-> batch <= span_t'(WriteBeats))
  else $error("fb_store_write (%m): a batch of %0d beats, a write has %0d", batch, WriteBeats);

  batch_is_kept :
  assert property (@(posedge clk) disable iff (rst) joins |-> s_extent_tvalid && room_q >= s_extent_tdata.span)
  else
    $error(
        "fb_store_write (%m): %0d beats into the %0d that a batch has", s_extent_tdata.span, room_q
    );
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + 1),
      .Name ("m_axis_wr")
  ) u_check_wr (
      .clk,
      .rst,
      .valid(m_axis_wr_tvalid),
      .ready(m_axis_wr_tready),
      .data ({m_axis_wr_tdata, m_axis_wr_tlast})
  );

  fb_axis_check #(
      .Width($bits(part_t)),
      .Name ("m_axis_part")
  ) u_check_part (
      .clk,
      .rst,
      .valid(m_axis_part_tvalid),
      .ready(m_axis_part_tready),
      .data (m_axis_part_tdata)
  );

endmodule

`default_nettype wire
