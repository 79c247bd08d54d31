// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_index: rows into blocks of an Arrow stream, each a page of the SSD.
//
// What:        puts each row into columns, until a block is full, the oldest of its rows has waited long
//              enough, or `sync` found them; the block says how many it has. It goes to the next
//              multiple of the alignment in a region: at its end to the beginning with `cfg_ring`, else
//              its rows are lost, and counted.
// Flushes:     with `cfg_flush` a block is written when all data of its rows are known to be on the SSD,
//              and counted when it is there itself. As databases do it, one flush serves all blocks that
//              are full: they form a group, whose last write has a flush of its own, and that one is
//              also for the data of the blocks that have filled meanwhile.
// Errors:      if one of a group is refused, each is written again in its place, alone, up to Tries
//              times; then it is given up, and its rows are lost, and counted. So are those of a group if
//              the flush for their data has failed as often. What is given up keeps its number and
//              place: a reader may find it missing, or torn.
// Handshake:   valid/ready.
// Latency:     a row is in its columns after 15 cycles with a score and a class; a block takes 142 cycles
//              to the checksum, two answers of the SSD, and 66 cycles to be written.
// Throughput:  a row in as many cycles as it has slices, 12, and one more, while up to Blocks - 1 blocks
//              wait for answers.
// Limits:      `restart` only while `busy` is low and `rows` is 0; settings are steady otherwise.
//              512-bit registers: one, the block RAM's.
// Does not implement: the first page of the stream and its end, which the host writes.

`default_nettype none

module fb_store_index
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
  import fb_store_rom_pkg::*;
#(
    parameter int unsigned Blocks = 8,  // in the memory, a power of two, 2 to 16
    parameter int unsigned Tries  = 3   // of a flush, and of a block alone, 1 to 7
) (
    input wire clk,
    input wire rst,

    input wire restart,  // begin the region anew
    input wire cfg_ring,  // behind the region's end comes its beginning
    input wire cfg_flush,  // flush the SSD before blocks, and after them
    input wire [31:0] cfg_wait,  // cycles that a row waits for more; 0: until there are enough
    input wire [ALIGN_BITS-1:0] cfg_align,  // pages of the alignment, a power of two
    input wire [63:PAGE_SHIFT] cfg_base,  // first byte of the region
    input wire [63:PAGE_SHIFT] cfg_bytes,  // its size
    input wire [63:0] cfg_session,  // first eight bytes of the recording's, the first one lowest
    input wire sync,  // write the rows that there are
    input wire pressing,  // write them as soon as no block is on its way

    input  wire  s_axis_row_tvalid,
    output logic s_axis_row_tready,
    input  row_t s_axis_row_tdata,

    // Beats of a block for its checksum, and this.
    output logic                      crc_valid,
    input  wire                       crc_ready,
    output logic [USER_DATA_BITS-1:0] crc_data,
    output logic                      crc_last,
    input  wire                       sum_valid,
    input  wire  [              31:0] sum,

    // Writes of the streamer, whole beats, and its answers to them.
    output logic                      m_axis_wr_tvalid,
    input  wire                       m_axis_wr_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic                      m_axis_wr_tlast,
    input  wire                       s_axis_wrsp_tvalid,
    output logic                      s_axis_wrsp_tready,
    input  wire  [               7:0] s_axis_wrsp_tdata,

    // The page behind the newest extent whose row is on the SSD, or lost.
    output logic [63:PAGE_SHIFT] durable,
    output logic                 any_durable,

    output logic        busy,     // a sync goes on, or a block is on its way
    output logic [15:0] rows,     // that are in no block yet
    output logic [31:0] blocks,   // since `restart`, those given up among them
    output logic [31:0] failed,   // given up
    output logic [63:0] lost,     // rows that found no room, or whose block was given up
    output logic        no_room,  // for one cycle: rows found none
    output logic        gave_up   // ... a block was given up
);

  localparam int unsigned PageBits = 64 - PAGE_SHIFT;
  localparam int unsigned BeatBits = PAGE_SHIFT - $clog2(USER_BEAT_BYTES);
  localparam int unsigned RowBits = $clog2(INDEX_ROWS);
  localparam int unsigned HeadBeats = INDEX_COLUMNS_AT / USER_BEAT_BYTES;
  localparam int unsigned HeadWords = USER_BEAT_BYTES / 8;
  localparam int unsigned SliceBits = $clog2(INDEX_SLICES);
  localparam int unsigned SlotBits = $clog2(Blocks);

  if (Blocks < 2 || Blocks > 16 || (Blocks & (Blocks - 1)) != 0) begin : gen_bad_blocks
    $fatal(1, "fb_store_index (%m): Blocks=%0d must be a power of two from 2 to 16", Blocks);
  end
  if (Tries < 1 || Tries > 7) begin : gen_bad_tries
    $fatal(1, "fb_store_index (%m): Tries=%0d must be from 1 to 7", Tries);
  end

  typedef logic [SlotBits:0] count_t;  // of blocks
  typedef logic [63:PAGE_SHIFT] page_t;

  // Full blocks are a ring; the one that fills is behind them.
  logic [SlotBits-1:0] oldest_q, filling;
  count_t full_q;
  assign filling = oldest_q + full_q[SlotBits-1:0];

  // ----------------------------------------------------------------------------------------- filling
  // One slice of one row a cycle. Behind the last row columns have what they had before.
  typedef enum logic [1:0] {
    TAKE,
    SLICE,
    FULL
  } fill_e;

  fill_e fill_q;
  logic [SliceBits-1:0] slice_q;
  logic [RowBits:0] count_q;  // rows in it
  logic [RowBits:0] nulls_q;  // of them those without a result
  logic [63:0] valid_q, valid;  // the others, a bit each
  logic [RowBits-1:0] row_q;  // the one being written
  logic [31:0] waited_q;
  logic owed_q;  // `sync` found rows here

  logic hand_over, due, has_result;
  page_t end_q;  // behind the newest extent that has come
  logic  any_end_q;
  assign due = count_q != '0 && (owed_q || (pressing && full_q == '0) ||
      (cfg_wait != '0 && waited_q >= cfg_wait));
  assign s_axis_row_tready = fill_q == SLICE && slice_q == '0;
  assign has_result = (s_axis_row_tdata.flags & ROW_RESULT) != '0;
  assign valid = valid_q | 64'(has_result) << row_q;

  // A row in the order of INDEX_SLICE, and the slice of it: where it lies, how long it is, how far from
  // that of the next row.
  localparam int unsigned NumberBits = 480;  // of a row's numbers in front of its result
  logic [64+RESULT_BITS+NumberBits-1:0] bits;
  logic [63:0] slice, chosen_q, value_q;
  logic [1:0] size, size_q;
  logic [6:0] stride, stride_q;
  logic [PAGE_SHIFT-1:0] first, first_q, place;
  logic [RowBits-1:0] place_row_q;
  logic [USER_BEAT_BYTES-1:0] lanes_q;
  logic [BeatBits-1:0] line_q;
  logic [$clog2(USER_BEAT_BYTES)-1:0] offset_q;
  logic [1:0] writes_q;  // a slice on its way into the memory

  assign bits = {
    valid,
    s_axis_row_tdata.facts.result,
    s_axis_row_tdata.flags,
    s_axis_row_tdata.facts.stream,
    s_axis_row_tdata.facts.received,
    s_axis_row_tdata.facts.missing,
    s_axis_row_tdata.facts.crc32c,
    s_axis_row_tdata.facts.length,
    64'(s_axis_row_tdata.facts.nonce),
    s_axis_row_tdata.facts.time_,
    s_axis_row_tdata.address,
    s_axis_row_tdata.facts.offset,
    s_axis_row_tdata.facts.object
  };

  always_comb begin : choose
    {slice, size, stride, first} = '0;
    for (int unsigned at = 0; at < INDEX_SLICES; at++) begin
      if (slice_q == SliceBits'(at)) begin
        slice = 64'(bits >> INDEX_SLICE[at][30:21]);
        {size, stride, first} = INDEX_SLICE[at][20:0];
      end
    end
    place = first_q;
    for (int at = 0; at < 7; at++) if (stride_q[at]) place += PAGE_SHIFT'(place_row_q) << at;
  end

  // The page behind an extent.
  function automatic page_t end_of(input logic [63:0] address, input logic [31:0] length);
    return page_t'((address + 64'(length) + 64'(PAGE_BYTES - 1)) >> PAGE_SHIFT);
  endfunction

  // A cycle later its place, then the slice repeated all over a beat, and in which bytes it counts.
  always_ff @(posedge clk) begin : place_slice
    {chosen_q, size_q, stride_q, first_q, place_row_q} <= {slice, size, stride, first, row_q};
    unique case (size_q)
      2'd0: {value_q, lanes_q} <= {{8{chosen_q[7:0]}}, USER_BEAT_BYTES'('h1)};
      2'd1: {value_q, lanes_q} <= {{4{chosen_q[15:0]}}, USER_BEAT_BYTES'('h3)};
      2'd2: {value_q, lanes_q} <= {{2{chosen_q[31:0]}}, USER_BEAT_BYTES'('hf)};
      default: {value_q, lanes_q} <= {chosen_q, USER_BEAT_BYTES'('hff)};
    endcase
    {line_q, offset_q} <= place;
    writes_q <= {writes_q[0], fill_q == SLICE};
  end

  always_ff @(posedge clk) begin : fill
    waited_q <= count_q == '0 ? '0 : waited_q + 32'(waited_q < cfg_wait);
    unique case (fill_q)
      TAKE:
      if (due) begin
        fill_q <= FULL;
      end else if (s_axis_row_tvalid) begin
        fill_q  <= SLICE;
        slice_q <= SliceBits'(INDEX_SLICES - 1);
        row_q   <= RowBits'(count_q);
        count_q <= count_q + 1'b1;
      end
      SLICE: begin
        slice_q <= slice_q - 1'b1;
        if (s_axis_row_tready) begin
          fill_q  <= count_q == (RowBits + 1)'(INDEX_ROWS) ? FULL : TAKE;
          valid_q <= valid;
          if (s_axis_row_tdata.address != '0)
            {any_end_q, end_q} <= {
              1'b1, end_of(s_axis_row_tdata.address, s_axis_row_tdata.facts.length)
            };
          nulls_q <= nulls_q + (RowBits + 1)'(!has_result);
        end
      end
      default:
      if (hand_over) begin
        fill_q <= TAKE;
        owed_q <= 1'b0;
        {count_q, nulls_q, valid_q} <= '0;
      end
    endcase
    if (sync && rows != '0 && !hand_over) owed_q <= 1'b1;
    if (restart) any_end_q <= 1'b0;
    if (rst) begin
      fill_q <= TAKE;
      owed_q <= 1'b0;
      {count_q, nulls_q, valid_q, any_end_q} <= '0;
    end
  end

  // ----------------------------------------------------------------------------------------- memory
  logic [ USER_DATA_BITS-1:0] beat;
  logic [USER_BEAT_BYTES-1:0] lanes;
  logic [BeatBits-1:0] read_q, read;
  logic [SlotBits-1:0] sending;
  assign lanes = writes_q[1] ? lanes_q << offset_q : '0;

  (* ram_style = "block" *)
  logic [USER_DATA_BITS-1:0] store[Blocks<<BeatBits];

  always_ff @(posedge clk) begin : memory
    for (int i = 0; i < USER_BEAT_BYTES; i++) begin
      if (lanes[i]) store[{filling, line_q}][8*i+:8] <= value_q[8*(i%8)+:8];
    end
    beat <= store[{sending, read}];
  end

  // ---------------------------------------------------------------------------------------- sending
  typedef enum logic [2:0] {
    REST,
    SUM,      // over a block, before its beat with the sum can leave
    AWAIT,    // the sum, and the answer to the flush
    ADDRESS,
    BLOCK,
    ANSWERS   // of the whole group
  } send_e;

  send_e send_q;
  logic [PageBits-1:0] at_q, left_q;  // page of the oldest block; pages from there to the end
  // Pages of a block, and of the group; where the block that is sent goes. A cycle late.
  logic [PageBits-1:0] unit_q, span_q, place_q;
  logic [PAGE_SHIFT+(1<<ALIGN_BITS)-1:0] body_q;  // bytes of a block from its columns on
  logic [Blocks-1:0][RowBits:0] rows_q, null_rows_q;  // of each full block
  logic any_end, any_last_q;
  page_t last_end, last_end_q;  // of the block that is sent, or lost, and of the last one that was
  count_t group_q;  // full blocks that go out together
  count_t sent_q;  // of these, those that have gone
  count_t flushed_q;  // full blocks whose data a flush was asked for
  count_t alone_q;  // blocks of a group that was refused: each goes alone, its data are flushed
  count_t losing_q;  // blocks whose data are not known to be on the SSD
  logic [2:0] tries_q;  // of the flush, or of the oldest block alone
  logic flush_q, awaited_q;  // a flush before the group is to be sent; its answer is awaited
  count_t unanswered_q;  // blocks of the group
  logic   bad_q;  // an answer was an error
  logic   again_q;  // behind the region's end comes its beginning
  logic ends_q, few_q;  // `left_q` is 0, or less than Blocks; a cycle late
  logic settled_q;  // `left_q` has not changed since
  logic [PageBits-1:0] step;  // pages of the blocks that leave and have a place
  logic summed_q, ends, none, lose, counts_lost, last_try, give_up, moves, steps, last, last_block;
  logic leaves, keeps;  // the oldest ones leave the memory; they have a place
  count_t candidates, group, places, going, leaving, placed;
  logic [31:0] sum_q;
  logic [RowBits:0] oldest_rows;
  logic [USER_DATA_BITS-1:0] composed;

  assign ends = ends_q;
  assign none = ends && !again_q;
  assign hand_over = fill_q == FULL && writes_q == '0 && full_q != count_t'(Blocks - 1);
  assign last = read_q == '1;
  assign last_block = sent_q + 1'b1 == group_q;
  assign sending = oldest_q + sent_q[SlotBits-1:0];
  assign oldest_rows = rows_q[oldest_q];

  // The next group.
  assign places = count_t'(left_q >> cfg_align);
  assign candidates = flushed_q != '0 ? flushed_q : full_q;
  assign group = alone_q != '0 ? count_t'(1) : few_q && places < candidates ? places : candidates;

  // Blocks that leave the memory, and those of them that have a place.
  assign lose = settled_q && full_q != '0 && (none || (losing_q != '0 && !ends));
  assign last_try = tries_q == 3'(Tries - 1);
  assign give_up = bad_q && alone_q != '0 && last_try;
  assign leaves = lose || (send_q == ANSWERS && unanswered_q == '0 && (!bad_q || give_up));
  assign keeps = leaves && !(lose && none);
  assign going = lose ? count_t'(1) : group_q;
  assign leaving = leaves ? going : '0;
  assign counts_lost = lose || (bad_q && leaving != '0);
  assign placed = keeps ? going : '0;
  assign step = keeps ? (lose ? unit_q : span_q) : '0;

  fb_common_lutram #(
      .Width($bits(page_t) + 1),
      .Depth(Blocks)
  ) u_ends (
      .clk,
      .we(hand_over),
      .waddr(filling),
      .wdata({any_end_q, end_q}),
      .raddr(sending),
      .rdata({any_end, last_end})
  );

  // The beat that is looked at comes out of the memory a cycle after it was asked for.
  assign steps = send_q == SUM ? crc_ready : send_q == BLOCK && moves;
  assign read  = read_q + BeatBits'(steps);

  always_comb begin : compose
    composed = beat;
    if (read_q < BeatBits'(HeadBeats)) begin
      composed = INDEX_HEAD[HeadWords*32'(read_q)+:HeadWords];
    end
    for (int unsigned i = 0; i < INDEX_WORDS; i++) begin
      if (read_q == BeatBits'(32'(INDEX_WORD[i][15:8]) / HeadWords)) begin
        composed[64*(32'(INDEX_WORD[i][15:8])%HeadWords)+:64] = INDEX_WORD[i][7] ?
            64'(null_rows_q[sending]) : 64'(INDEX_WORD[i][6:0]) * 64'(rows_q[sending]);
      end
    end
    if (read_q == BeatBits'(INDEX_BODY_AT / USER_BEAT_BYTES)) begin
      composed[8*(INDEX_BODY_AT%USER_BEAT_BYTES)+:64] = 64'(body_q);
    end
    if (read_q == BeatBits'(HeadBeats - 1)) begin
      composed[8*(INDEX_SESSION_AT%USER_BEAT_BYTES)+:64] = cfg_session;
      composed[8*(INDEX_NUMBER_AT%USER_BEAT_BYTES)+:32] = blocks + 32'(sent_q);
      composed[8*(INDEX_CRC_AT%USER_BEAT_BYTES)+:32] = send_q == SUM ? '0 : sum_q;
    end
  end

  assign crc_valid = send_q == SUM;
  assign crc_data  = composed;
  assign crc_last  = last;

  always_comb begin : offer
    m_axis_wr_tvalid = flush_q || send_q == ADDRESS || send_q == BLOCK;
    m_axis_wr_tlast  = flush_q || (send_q == BLOCK && last);
    m_axis_wr_tdata  = composed;
    if (flush_q || send_q == ADDRESS) begin
      m_axis_wr_tdata = '0;
      m_axis_wr_tdata[USER_ADDRESS_LSB+:64] = flush_q ? '0 : {place_q, PAGE_SHIFT'(0)};
      m_axis_wr_tdata[USER_WRITE_FLUSH_BIT] = cfg_flush && (flush_q || last_block);
    end
  end
  assign moves = m_axis_wr_tvalid && m_axis_wr_tready;

  always_ff @(posedge clk) begin : send
    again_q <= cfg_ring && cfg_bytes != '0;
    ends_q  <= left_q == '0;
    few_q   <= left_q < PageBits'(Blocks) << cfg_align;
    body_q  <= ($bits(body_q)'(PAGE_BYTES) << cfg_align) - $bits(body_q)'(INDEX_COLUMNS_AT);
    if (moves) flush_q <= 1'b0;
    if (sum_valid) {summed_q, sum_q} <= {1'b1, sum};
    if (s_axis_wrsp_tvalid) begin
      awaited_q <= 1'b0;
      bad_q <= bad_q || s_axis_wrsp_tdata != ERR_OK;
      if (!awaited_q) unanswered_q <= unanswered_q - 1'b1;
    end
    if (moves && cfg_flush && (flush_q || (send_q == ADDRESS && last_block))) flushed_q <= full_q;
    if (hand_over) {rows_q[filling], null_rows_q[filling]} <= {count_q, nulls_q};
    read_q <= read;
    if (send_q == ADDRESS || lose) {any_last_q, last_end_q} <= {any_end, last_end};
    // Nothing waits for what has lost its row.
    if (leaving != '0)
      {any_durable, durable} <= lose ? {any_end, last_end} : {any_last_q, last_end_q};

    // A block that is given up keeps its place; one without room has none.
    at_q <= at_q + step;
    left_q <= left_q - step;
    unit_q <= PageBits'(1) << cfg_align;
    span_q <= PageBits'(group_q) << cfg_align;
    place_q <= at_q + (PageBits'(sent_q) << cfg_align);
    blocks <= blocks + 32'(placed);
    if (counts_lost) begin
      lost   <= lost + 64'(oldest_rows);
      failed <= failed + 32'(placed != '0);
    end
    no_room <= counts_lost && placed == '0;
    gave_up <= counts_lost && placed != '0;

    unique case (send_q)
      REST: begin
        sent_q <= '0;
        read_q <= '0;
        summed_q <= 1'b0;
        bad_q <= 1'b0;
        group_q <= group;
        settled_q <= 1'b1;
        if (settled_q && full_q != '0 && !lose) begin
          settled_q <= 1'b0;
          if (ends) begin
            {at_q, left_q} <= {cfg_base, cfg_bytes};
          end else begin
            send_q <= SUM;
            {flush_q, awaited_q} <= {2{cfg_flush && flushed_q == '0 && alone_q == '0}};
          end
        end
        if (lose) begin
          flushed_q <= '0;
          if (losing_q != '0) losing_q <= losing_q - 1'b1;
          if (!none) settled_q <= 1'b0;
        end
      end
      SUM: begin
        if (steps && last) send_q <= AWAIT;
      end
      AWAIT:
      if (summed_q && !awaited_q) begin
        send_q <= ADDRESS;
        // What is not known to be on the SSD gets no row.
        if (bad_q && sent_q == '0) begin
          send_q <= REST;
          flushed_q <= '0;
          tries_q <= last_try ? '0 : tries_q + 1'b1;
          if (last_try) losing_q <= group_q;
        end else begin
          tries_q <= alone_q != '0 ? tries_q : '0;
        end
      end
      ADDRESS:
      if (moves) begin
        send_q <= BLOCK;
        unanswered_q <= unanswered_q + count_t'(!s_axis_wrsp_tvalid);
      end
      BLOCK:
      if (moves) begin
        if (last) begin
          summed_q <= 1'b0;
          sent_q   <= sent_q + 1'b1;
          send_q   <= last_block ? ANSWERS : SUM;
        end
      end
      default:
      if (unanswered_q == '0) begin
        send_q <= REST;
        if (leaving != '0) begin
          flushed_q <= bad_q || !cfg_flush ? '0 : flushed_q - leaving;
          tries_q   <= '0;
          if (alone_q != '0) alone_q <= alone_q - 1'b1;
        end else begin
          flushed_q <= '0;
          if (alone_q == '0) alone_q <= group_q;
          else tries_q <= tries_q + 1'b1;
        end
      end
    endcase

    oldest_q <= oldest_q + leaving[SlotBits-1:0];
    full_q   <= full_q - leaving + count_t'(hand_over);
    if (restart || rst) begin
      {at_q, left_q} <= {cfg_base, cfg_bytes};
      settled_q <= 1'b0;
      blocks <= '0;
      failed <= '0;
      lost <= '0;
      any_durable <= 1'b0;
    end
    if (rst) begin
      send_q <= REST;
      flush_q <= 1'b0;
      awaited_q <= 1'b0;
      {no_room, gave_up} <= '0;
      {oldest_q, full_q, flushed_q, alone_q, losing_q, unanswered_q, tries_q} <= '0;
    end
  end

  assign s_axis_wrsp_tready = 1'b1;
  assign busy = owed_q || fill_q == FULL || full_q != '0;
  assign rows = 16'(count_q);

`ifndef SYNTHESIS
  restarts_at_rest :
  assert property (@(posedge clk) disable iff (rst) restart |-> !busy && rows == '0)
  else $error("fb_store_index (%m): restart while busy=%0b, %0d rows wait", busy, rows);

  flushed_are_full :
  assert property (@(posedge clk) disable iff (rst) flushed_q <= full_q && losing_q <= full_q)
  else
    $error(
        "fb_store_index (%m): %0d blocks full, %0d flushed, %0d to be lost",
        full_q,
        flushed_q,
        losing_q
    );

  answers_are_awaited :
  assert property (@(posedge clk) disable iff (rst)
                   s_axis_wrsp_tvalid |-> (awaited_q && !flush_q) || unanswered_q != '0)
  else $error("fb_store_index (%m): an answer, and nothing waits for it");
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

endmodule

`default_nettype wire
