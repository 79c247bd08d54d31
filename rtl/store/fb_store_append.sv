// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_append: each extent to the next free place of a region, and a row that says where it is.
//
// What:        puts an address in front of each packet, which makes a write of the streamer of it,
//              each at a multiple of 4 KiB; a long one is several writes, behind each other, so that
//              others have their turn between them. With `cfg_page` a page is left free in front of it. With
//              `cfg_fill` its last page is filled up as a tar file wants it. With a stride extents
//              begin at multiples of it, and end there. A packet that meets the region's end is cut:
//              the rest is a write and a row of its own, at the region's beginning. Without `cfg_ring`
//              the end is the end, and what finds no room is skipped; so is in front of the end what
//              may need more than is left, by `cfg_room`. A row leaves when the
//              streamer has answered, so that it is never ahead of its data.
// Handshake:   valid/ready. `m_axis_wr_*` follows `s_axis_object_*` within the cycle.
// Latency:     1 cycle from the first beat to its address, 2 to itself, then none.
// Throughput:  64 bytes a cycle, and two cycles for each write; with `cfg_fill` the cycles of the beats
//              that fill up a page.
// Limits:      `restart` only while `open` is low and `waiting` is 0; else settings are steady.
//              An extent has less than 4 GiB: a longer one is cut.
//              One extent more than Depth may wait for its answer, it rests in the register of the
//              memory; and Writes writes, if that is less. 512-bit registers: that one.
// Does not implement: pages (fb_store_header); the index; several extents in a page.

`default_nettype none

module fb_store_append
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
#(
    parameter int unsigned Depth = 512,  // extents without an answer, a power of two, 4 to 4096
    parameter int unsigned Writes = 512,  // without an answer, a power of two, 2 to 1024
    parameter int unsigned MaxBeats = (1 << 26) - 64,  // of an extent, a multiple of 64
    parameter int unsigned WriteBeats = 16384  // of a write: 1 MiB; a multiple of 64
) (
    input wire clk,
    input wire rst,

    input wire                 restart,     // begin the region anew
    input wire                 cfg_enable,  // take extents
    input wire                 cfg_ring,    // behind the region's end comes its beginning
    input wire                 cfg_page,    // leave a page in front of each extent
    input wire                 cfg_fill,    // fill up the last page of each extent; no stride then
    input wire [31:PAGE_SHIFT] cfg_room,    // what an extent may need at most; 0: any room will do
    input wire [31:PAGE_SHIFT] cfg_stride,  // from an extent to the next; 0: as they come
    input wire [63:PAGE_SHIFT] cfg_base,    // first byte of the region
    input wire [63:PAGE_SHIFT] cfg_bytes,   // its size

    // Extents, and a word of each: as fb_store_pkg has it.
    input wire s_axis_head_tvalid,
    output logic s_axis_head_tready,
    input wire tagged_t s_axis_head_tdata,
    input wire s_axis_object_tvalid,
    output logic s_axis_object_tready,
    input wire [USER_DATA_BITS-1:0] s_axis_object_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input wire s_axis_object_tlast,
    input wire s_axis_object_tuser,  // with TLAST: not a whole object

    // Writes of the streamer, and its answers to them.
    output logic                       m_axis_wr_tvalid,
    input  wire                        m_axis_wr_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_wr_tkeep,
    output logic                       m_axis_wr_tlast,
    input  wire                        s_axis_wrsp_tvalid,
    output logic                       s_axis_wrsp_tready,
    input  wire  [                7:0] s_axis_wrsp_tdata,

    // Rows of the index.
    output logic m_axis_row_tvalid,
    input  wire  m_axis_row_tready,
    output row_t m_axis_row_tdata,

    output logic        open,     // an extent has begun and not ended
    output logic [15:0] waiting,  // extents without an answer
    output logic [63:0] position  // where in the region the next one begins
);

  localparam int unsigned BeatShift = $clog2(USER_BEAT_BYTES);
  localparam int unsigned BeatBits = 64 - BeatShift;
  localparam int unsigned PageShift = PAGE_SHIFT - BeatShift;
  localparam int unsigned PageBeats = PAGE_BYTES / USER_BEAT_BYTES;
  localparam int unsigned SpanBits = 32 - BeatShift;

  if (MaxBeats < PageBeats || MaxBeats % PageBeats != 0 || (MaxBeats >> SpanBits) != 0) begin : gen_bad
    $fatal(
        1,
        "fb_store_append (%m): MaxBeats=%0d must be a multiple of %0d below 2^%0d",
        MaxBeats,
        PageBeats,
        SpanBits
    );
  end
  if (WriteBeats < PageBeats || WriteBeats % PageBeats != 0 || WriteBeats > MaxBeats) begin : gen_bad_write
    $fatal(
        1,
        "fb_store_append (%m): WriteBeats=%0d must be a multiple of %0d up to %0d",
        WriteBeats,
        PageBeats,
        MaxBeats
    );
  end

  typedef enum logic [2:0] {
    REST,
    ADDRESS,
    DATA,
    FILL,
    SKIP
  } state_e;

  // What is known of an extent when its last beat has passed.
  typedef struct packed {
    logic [PACKET_TAG_BITS-1:0] tag;
    logic cut, skipped;
    logic [63:0] address;
    facts_t facts;
  } extent_t;

  state_e state_q;
  logic [BeatBits-1:0] left_q;  // beats from here to the region's end
  logic [BeatBits-1:0] at_q, start_q;  // address of the next beat, of the row, in beats
  logic [SpanBits-1:0] span_q;  // beats that the row may still have
  logic [SpanBits-1:0] beats_q;  // of the row or what is skipped, so far
  logic [$clog2(WriteBeats+1)-1:0] write_q;  // beats that the write may still have
  logic [63:0] done_q;  // bytes of the extent that earlier rows have
  logic over_q;  // the extent has met the end of its stride
  logic [2:0] block_q;  // in the page: the last 512 bytes that have payload

  logic begins, takes, ends, write_ends, writes_room, cut, full, none, room, strided, page_ends;
  logic [31:0] bytes;
  logic [BeatBits-1:0] front, rest, begin_at, begin_left;
  logic [BeatBits-1:0] need, needs;  // beats that an extent may take at least
  logic wraps;  // where they have no room they begin anew
  extent_t extent, extent_out;

  // ---------------------------------------------------------------------------------------- places
  assign strided = cfg_stride != '0;
  assign front = cfg_page ? BeatBits'(PageBeats) : '0;
  assign rest = cfg_room != '0 ? BeatBits'({cfg_room, PageShift'(0)}) : BeatBits'(PageBeats);
  assign full = left_q < need;
  assign none = over_q || (full && !wraps);
  assign begin_at = full ? {cfg_base, PageShift'(0)} : at_q;
  assign begin_left = full ? {cfg_bytes, PageShift'(0)} : left_q;

  // Of settings alone, which the first extent finds a cycle old.
  assign needs = strided ? BeatBits'({cfg_stride, PageShift'(0)}) : front + rest;
  always_ff @(posedge clk) begin : settle
    need  <= needs;
    wraps <= cfg_ring && {cfg_bytes, PageShift'(0)} >= needs;
  end

  // Beats of a write that begins where so many are left.
  function automatic logic [SpanBits-1:0] span_of(input logic [BeatBits-1:0] left);
    return left > BeatBits'(MaxBeats) ? SpanBits'(MaxBeats) : SpanBits'(left);
  endfunction

  // The beat behind, if the write ends with this one: the next page, or the next stride.
  function automatic logic [BeatBits-1:0] behind(input logic [BeatBits-1:0] beat);
    return strided ? start_q + need : (beat | BeatBits'(PageBeats - 1)) + 1'b1;
  endfunction

  // ----------------------------------------------------------------------------------------- beats
  assign begins = room && s_axis_head_tvalid &&
      ((cfg_enable && s_axis_object_tvalid) || done_q != '0);
  assign ends = s_axis_object_tlast || span_q == SpanBits'(1);
  assign write_ends = ends || write_q == 1;
  assign cut = !s_axis_object_tlast;
  assign takes = s_axis_object_tvalid && s_axis_object_tready;
  assign page_ends = at_q[PageShift-1:0] == '1;

  assign s_axis_object_tready = state_q == SKIP || (state_q == DATA && m_axis_wr_tready);
  assign s_axis_head_tready = takes && s_axis_object_tlast;

  assign m_axis_wr_tvalid = (state_q == ADDRESS && writes_room) || (state_q == DATA && s_axis_object_tvalid) ||
      state_q == FILL;
  assign m_axis_wr_tlast = (state_q == DATA && write_ends && (!cfg_fill || page_ends)) ||
      (state_q == FILL && page_ends);

  always_comb begin : compose
    for (int i = 0; i < USER_BEAT_BYTES; i++) begin
      m_axis_wr_tdata[8*i+:8] = s_axis_object_tdata[8*i+:8] & {8{s_axis_object_tkeep[i]}};
    end
    m_axis_wr_tkeep = cfg_fill ? '1 : s_axis_object_tkeep;
    if (state_q == FILL) begin
      m_axis_wr_tdata = at_q[PageShift-1-:3] == block_q ? '0 :
          fb_store_rom_pkg::FILLER[{at_q[2:0], 3'b0}+:8];
    end
    if (state_q == ADDRESS) begin
      m_axis_wr_tdata = '0;
      m_axis_wr_tdata[USER_ADDRESS_LSB+:64] = {at_q, BeatShift'(0)};
    end
    if (state_q != DATA) m_axis_wr_tkeep = '1;
  end

  always_ff @(posedge clk) begin : follow
    unique case (state_q)
      REST:
      if (begins) begin
        state_q <= none ? SKIP : ADDRESS;
        beats_q <= '0;
        span_q  <= SpanBits'(MaxBeats);
        if (!none) begin
          at_q   <= begin_at + front;
          left_q <= begin_left - front;
        end
      end
      ADDRESS:
      if (m_axis_wr_tready && writes_room) begin
        state_q <= DATA;
        write_q <= ($clog2(WriteBeats + 1))'(WriteBeats);
        if (beats_q == '0) begin
          start_q <= at_q;
          span_q  <= span_of(strided ? need : left_q);
        end
      end
      FILL:
      if (m_axis_wr_tready) begin
        at_q   <= at_q + 1'b1;
        left_q <= left_q - 1'b1;
        if (page_ends) state_q <= REST;
      end
      default:
      if (takes) begin
        beats_q <= beats_q + 1'b1;
        span_q  <= span_q - 1'b1;
        write_q <= write_q - 1'b1;
        block_q <= at_q[PageShift-1-:3];
        if (state_q == DATA) begin
          at_q   <= at_q + 1'b1;
          left_q <= left_q - 1'b1;
          if (ends && !cfg_fill) begin
            at_q   <= behind(at_q);
            left_q <= left_q - (behind(at_q) - at_q);
          end
        end
        if (ends) begin
          state_q <= state_q == DATA && cfg_fill && !page_ends ? FILL : REST;
          done_q  <= cut ? done_q + 64'(bytes) : '0;
          over_q  <= cut && (over_q || (strided && state_q == DATA));
        end else if (write_ends && state_q == DATA) begin
          state_q <= ADDRESS;
        end
      end
    endcase
    if (restart || rst) begin
      at_q   <= {cfg_base, PageShift'(0)};
      left_q <= {cfg_bytes, PageShift'(0)};
    end
    if (rst) begin
      state_q <= REST;
      done_q  <= '0;
      over_q  <= 1'b0;
    end
  end

  assign open = state_q != REST || done_q != '0;
  assign position = {cfg_bytes, PAGE_SHIFT'(0)} - {left_q, BeatShift'(0)};

  // ------------------------------------------------------------------------------------------ rows
  logic push, out_valid, out_ready, sum_valid, sum_there, skipped, answered;
  logic [7:0] code;
  logic [31:0] sum, sum_out;

  assign bytes = {beats_q, BeatShift'(0)} + 32'($countones(s_axis_object_tkeep));
  assign push  = takes && ends;

  always_comb begin : conclude
    extent.tag = s_axis_head_tdata.tag;
    extent.cut = cut;
    extent.skipped = state_q == SKIP;
    extent.address = state_q == SKIP ? '0 : {start_q, BeatShift'(0)};
    extent.facts = facts_of(s_axis_head_tdata, done_q);
    extent.facts.whole = !cut && !s_axis_object_tuser && done_q == '0;
    extent.facts.length = bytes;
  end

  fb_common_fifo_bram #(
      .Width($bits(extent_t)),
      .Depth(Depth)
  ) u_extents (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(room),
      .s_data (extent),
      .m_valid(out_valid),
      .m_ready(out_ready),
      .m_data (extent_out),
      .level  ()
  );

  fb_store_crc32c u_crc (
      .clk,
      .rst,
      .valid(takes && state_q == DATA),
      .data (s_axis_object_tdata),
      .keep (s_axis_object_tkeep),
      .last (ends),
      .sum_valid,
      .sum
  );

  fb_common_fifo_bram #(
      .Width(32),
      .Depth(Depth)
  ) u_sums (
      .clk,
      .rst,
      .s_valid(sum_valid),
      .s_ready(),
      .s_data (sum),
      .m_valid(sum_there),
      .m_ready(out_ready && !skipped),
      .m_data (sum_out),
      .level  ()
  );

  // Of each write without an answer, whether its row ends with it; and what an earlier one of the row
  // was answered, if that was an error.
  logic wrote, row_ends, asked, answers;
  logic [7:0] code_q, code_in;
  assign wrote   = m_axis_wr_tvalid && m_axis_wr_tready && m_axis_wr_tlast;
  assign answers = s_axis_wrsp_tvalid && s_axis_wrsp_tready;
  assign code_in = code_q != ERR_OK ? code_q : s_axis_wrsp_tdata;

  fb_common_fifo #(
      .Width(1),
      .Depth(Writes)
  ) u_writes (
      .clk,
      .rst,
      .s_valid(wrote),
      .s_ready(writes_room),
      .s_data (state_q == FILL || ends),
      .m_valid(asked),
      .m_ready(answers),
      .m_data (row_ends),
      .level  ()
  );

  always_ff @(posedge clk) begin : join_answers
    if (answers) code_q <= row_ends ? ERR_OK : code_in;
    if (rst) code_q <= ERR_OK;
  end

  // Answers are taken at once: that of somebody else, for whom rows here wait, may be behind them.
  logic answers_ready;
  assign s_axis_wrsp_tready = asked && answers_ready;
  fb_common_fifo_bram #(
      .Width(8),
      .Depth(Depth)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(s_axis_wrsp_tvalid && asked && row_ends),
      .s_ready(answers_ready),
      .s_data (code_in),
      .m_valid(answered),
      .m_ready(out_ready && !skipped),
      .m_data (code),
      .level  ()
  );

  assign skipped = extent_out.skipped;
  assign m_axis_row_tvalid = out_valid && (skipped || (answered && sum_there));
  assign out_ready = m_axis_row_tvalid && m_axis_row_tready;

  always_comb begin : describe
    m_axis_row_tdata.tag = extent_out.tag;
    m_axis_row_tdata.address = extent_out.address;
    m_axis_row_tdata.flags = ROW_COUNTS | (extent_out.facts.whole ? ROW_WHOLE : '0) |
        (extent_out.cut ? ROW_CUT : '0) | (skipped ? ROW_SKIPPED : '0);
    if (!skipped && code != ERR_OK) begin
      m_axis_row_tdata.flags |= ROW_FAILED | 16'(code) << ROW_CODE_LSB;
    end
    m_axis_row_tdata.facts = extent_out.facts;
    m_axis_row_tdata.facts.crc32c = skipped ? '0 : sum_out;
  end

  always_ff @(posedge clk) begin : count
    if (push != out_ready) waiting <= push ? waiting + 1'b1 : waiting - 1'b1;
    if (rst) waiting <= '0;
  end

`ifndef SYNTHESIS
  // There was room when the extent began, and nobody else puts rows in.
  row_has_room :
  assert property (@(posedge clk) disable iff (rst) push |-> room)
  else $error("fb_store_append (%m): no room for a row, %0d wait", waiting);

  restarts_at_rest :
  assert property (@(posedge clk) disable iff (rst) restart |-> !open && waiting == '0)
  else $error("fb_store_append (%m): restart while open=%0b, %0d wait", open, waiting);

  answers_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_wrsp_tvalid |-> asked)
  else $error("fb_store_append (%m): an answer, and nothing waits for it");

  page_or_stride :
  assert property (@(posedge clk) disable iff (rst) cfg_enable |-> !((cfg_page || cfg_fill) && strided))
  else $error("fb_store_append (%m): a page in front of each extent, and a stride");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 1),
      .Name ("m_axis_wr")
  ) u_check_wr (
      .clk,
      .rst,
      .valid(m_axis_wr_tvalid),
      .ready(m_axis_wr_tready),
      .data ({m_axis_wr_tdata, m_axis_wr_tkeep, m_axis_wr_tlast})
  );

  fb_axis_check #(
      .Width($bits(row_t)),
      .Name ("m_axis_row")
  ) u_check_row (
      .clk,
      .rst,
      .valid(m_axis_row_tvalid),
      .ready(m_axis_row_tready),
      .data (m_axis_row_tdata)
  );

endmodule

`default_nettype wire
