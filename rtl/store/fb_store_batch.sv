// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_batch: small extents behind each other, each with a tar header, as one long extent.
//
// What:        keeps an extent in a memory until its length and check sum are known, has its header
//              made by fb_store_header, and sends header, payload and zeros up to a multiple of 512 bytes.
//              So it goes on until the next extent has no room in the batch, the batch has waited long
//              enough, its rows have no room, or `cfg_enable` is low and nothing more is inside. For
//              fb_store_append the batch is one extent; its row becomes the rows of all that are in
//              it. Without `cfg_small` extents and rows go through within the cycle.
// Handshake:   valid/ready.
// Latency:     an extent's last beat to its header's first: 10 cycles for the check sum and 140 for
//              the characters; the header takes 64 more.
// Throughput:  64 bytes a cycle, but an extent in 167 cycles, which its header takes: 27 bytes a cycle
//              for 4 KiB and their header. What comes meanwhile waits in the memory.
// Limits:      an extent of more than Beats - 8 beats, or of more than a batch holds behind a header,
//              is cut. Settings are steady while `open` is high or `waiting` is not 0.
//              512-bit registers: two, the memory's and that of fb_store_header.
// Does not implement: places (fb_store_append); what fills up a batch's last page.

`default_nettype none

module fb_store_batch
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
#(
    parameter int unsigned Beats  = 1024,  // of the memory, a power of two, 64 to 4096
    parameter int unsigned Inside = 64,    // extents in the memory, a power of two, 4 to 4096
    parameter int unsigned Depth  = 512    // extents without an answer, a power of two, 4 to 4096
) (
    input wire clk,
    input wire rst,

    input wire                 cfg_small,     // make batches
    input wire                 cfg_enable,    // take extents
    input wire [31:PAGE_SHIFT] cfg_batch,     // most bytes of a batch, a page or more
    input wire [         31:0] cfg_wait,      // cycles from a batch's beginning to its end; 0: any
    input wire [        127:0] cfg_session,   // byte 0 of the UUID lowest
    input wire [         31:0] cfg_extension, // of file names, first character lowest

    // Extents, and a word of each; batches.
    input wire s_axis_head_tvalid,
    output logic s_axis_head_tready,
    input wire tagged_t s_axis_head_tdata,
    input wire s_axis_object_tvalid,
    output logic s_axis_object_tready,
    input wire [USER_DATA_BITS-1:0] s_axis_object_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input wire s_axis_object_tlast,
    input wire s_axis_object_tuser,  // with TLAST: not a whole object
    output logic m_axis_head_tvalid,
    input wire m_axis_head_tready,
    output tagged_t m_axis_head_tdata,
    output logic m_axis_object_tvalid,
    input wire m_axis_object_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic m_axis_object_tlast,
    output logic m_axis_object_tuser,

    // Rows of batches; rows of extents.
    input  wire  s_axis_row_tvalid,
    output logic s_axis_row_tready,
    input  row_t s_axis_row_tdata,
    output logic m_axis_row_tvalid,
    input  wire  m_axis_row_tready,
    output row_t m_axis_row_tdata,

    output logic        open,    // an extent has begun and not ended
    output logic [15:0] waiting  // extents without a row
);

  localparam int unsigned BeatShift = $clog2(USER_BEAT_BYTES);
  localparam int unsigned PageShift = PAGE_SHIFT - BeatShift;
  localparam int unsigned BlockShift = 9 - BeatShift;  // a header; what is padded is a multiple
  localparam int unsigned BlockBeats = 1 << BlockShift;
  localparam int unsigned SpanBits = 32 - BeatShift;  // beats of a batch

  if (Beats < 64 || Beats > 4096 || (Beats & (Beats - 1)) != 0) begin : gen_bad
    $fatal(1, "fb_store_batch (%m): Beats=%0d must be a power of two from 64 to 4096", Beats);
  end

  typedef logic [SpanBits-1:0] span_t;

  // What is known of an extent when its last beat is in the memory.
  typedef struct packed {
    logic [PACKET_TAG_BITS-1:0] tag;
    logic cut;
    facts_t facts;
  } extent_t;

  // The same when it is sent, and where in its batch its payload begins.
  typedef struct packed {
    logic [SpanBits-1:0] place;
    extent_t extent;
  } sent_t;

  span_t batch, most;
  assign batch = {cfg_batch, PageShift'(0)};
  assign most  = (batch > span_t'(Beats) ? span_t'(Beats) : batch) - span_t'(BlockBeats);

  // ------------------------------------------------------------------------------------- taking
  logic taking_q;
  span_t beats_q;  // of the extent so far
  logic [63:0] done_q;  // bytes of it that earlier rows have
  logic begins, takes, ends, cut, room, store_ready;
  logic [31:0] bytes;
  logic [USER_DATA_BITS-1:0] masked;
  extent_t extent;

  assign begins = cfg_small && !taking_q && room && s_axis_head_tvalid &&
      s_axis_object_tvalid && (cfg_enable || done_q != '0);
  assign takes = taking_q && s_axis_object_tvalid && store_ready;
  assign ends = s_axis_object_tlast || beats_q == most - 1'b1;
  assign cut = !s_axis_object_tlast;
  assign bytes = {beats_q, BeatShift'(0)} + 32'($countones(s_axis_object_tkeep));

  always_comb begin : describe
    for (int i = 0; i < USER_BEAT_BYTES; i++) begin
      masked[8*i+:8] = s_axis_object_tdata[8*i+:8] & {8{s_axis_object_tkeep[i]}};
    end
    extent.tag = s_axis_head_tdata.tag;
    extent.cut = cut;
    extent.facts = facts_of(s_axis_head_tdata, done_q);
    extent.facts.whole = !cut && !s_axis_object_tuser && done_q == '0;
    extent.facts.length = bytes;
  end

  always_ff @(posedge clk) begin : take
    if (begins) begin
      taking_q <= 1'b1;
      beats_q  <= '0;
    end
    if (takes) begin
      beats_q <= beats_q + 1'b1;
      if (ends) begin
        taking_q <= 1'b0;
        done_q   <= cut ? done_q + 64'(bytes) : '0;
      end
    end
    if (rst) begin
      taking_q <= 1'b0;
      done_q   <= '0;
    end
  end

  logic stored, store_take;
  logic [USER_DATA_BITS-1:0] beat;
  fb_common_fifo_bram #(
      .Width(USER_DATA_BITS),
      .Depth(Beats)
  ) u_store (
      .clk,
      .rst,
      .s_valid(taking_q && s_axis_object_tvalid),
      .s_ready(store_ready),
      .s_data (masked),
      .m_valid(stored),
      .m_ready(store_take),
      .m_data (beat),
      .level  ()
  );

  // ------------------------------------------------------------------------------------- headers
  logic held, summed, sum_valid, described, made_ready, made_valid, starts;
  logic [31:0] sum, sum_out;
  extent_t next_out, next, made;

  fb_common_fifo_bram #(
      .Width($bits(extent_t)),
      .Depth(Inside)
  ) u_extents (
      .clk,
      .rst,
      .s_valid(takes && ends),
      .s_ready(room),
      .s_data (extent),
      .m_valid(held),
      .m_ready(described),
      .m_data (next_out),
      .level  ()
  );

  fb_store_crc32c u_crc (
      .clk,
      .rst,
      .valid(takes),
      .data (s_axis_object_tdata),
      .keep (s_axis_object_tkeep),
      .last (ends),
      .sum_valid,
      .sum
  );

  fb_common_fifo_bram #(
      .Width(32),
      .Depth(Inside)
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

  always_comb begin : complete
    next = next_out;
    next.facts.crc32c = sum_out;
  end

  logic header_valid, header_ready, header_last;
  logic [USER_DATA_BITS-1:0] header;
  fb_store_header #(
      .Small(1'b1)
  ) u_header (
      .clk,
      .rst,
      .cfg_session,
      .cfg_extension,
      .s_facts_tvalid(held && summed && made_ready),
      .s_facts_tready(described),
      .s_facts_tdata(next.facts),
      .m_axis_page_tvalid(header_valid),
      .m_axis_page_tready(header_ready),
      .m_axis_page_tdata(header),
      .m_axis_page_tkeep(),
      .m_axis_page_tlast(header_last)
  );

  // Extents whose header is made, up to the moment in which it is sent.
  fb_common_fifo #(
      .Width($bits(extent_t)),
      .Depth(4)
  ) u_made (
      .clk,
      .rst,
      .s_valid(described),
      .s_ready(made_ready),
      .s_data (next),
      .m_valid(made_valid),
      .m_ready(starts),
      .m_data (made),
      .level  ()
  );

  // ------------------------------------------------------------------------------------- sending
  typedef enum logic [1:0] {
    REST,
    HEADER,
    DATA
  } state_e;

  state_e state_q;
  span_t used_q;  // beats of the batch, up to the end of the extent that is sent
  span_t have_q;  // beats of payload that are left
  span_t left_q;  // the same with the zeros behind them
  logic [31:0] waited_q;
  logic decided_q, last_q;  // whether the extent is the last of its batch
  logic [15:0] ahead_q;  // extents that have begun and are not sent
  logic sends, over, drained, rows_ready, extent_ends;
  span_t payload, span;

  assign payload = span_t'((33'(made.facts.length) + 33'(USER_BEAT_BYTES - 1)) >> BeatShift);
  assign span = (payload + span_t'(BlockBeats - 1)) & ~span_t'(BlockBeats - 1);
  assign over = cfg_wait != '0 && waited_q >= cfg_wait;
  assign drained = !cfg_enable && ahead_q == '0 && done_q == '0;
  assign extent_ends = state_q == DATA && left_q == span_t'(1);
  assign starts = made_valid && rows_ready &&
      (state_q == REST || (extent_ends && sends && !last_q));

  assign sends = m_axis_object_tvalid && m_axis_object_tready;
  assign header_ready = state_q == HEADER && m_axis_object_tready;
  assign store_take = state_q == DATA && sends && have_q != '0;

  always_ff @(posedge clk) begin : send
    waited_q <= waited_q + 32'(!over);
    if (state_q == HEADER && sends && header_last) state_q <= DATA;
    if (state_q == DATA && sends) begin
      left_q <= left_q - 1'b1;
      if (have_q != '0) have_q <= have_q - 1'b1;
      if (extent_ends) state_q <= REST;
    end
    if (extent_ends && !decided_q && (made_valid || !rows_ready || over || drained)) begin
      decided_q <= 1'b1;
      last_q <= !(made_valid && rows_ready && !over) || batch - used_q < span + span_t'(BlockBeats);
    end
    if (starts) begin
      state_q <= HEADER;
      have_q <= payload;
      left_q <= span;
      decided_q <= 1'b0;
      used_q <= (state_q == REST ? '0 : used_q) + span_t'(BlockBeats) + span;
      if (state_q == REST) waited_q <= '0;
    end
    if (begins != starts) ahead_q <= begins ? ahead_q + 1'b1 : ahead_q - 1'b1;
    if (rst) begin
      state_q   <= REST;
      decided_q <= 1'b0;
      ahead_q   <= '0;
    end
  end

  always_comb begin : offer
    s_axis_head_tready = takes && s_axis_object_tlast;
    s_axis_object_tready = takes;
    m_axis_head_tvalid = 1'b1;
    m_axis_head_tdata = '0;
    m_axis_object_tkeep = '1;
    m_axis_object_tuser = 1'b0;
    m_axis_object_tlast = extent_ends && last_q;
    m_axis_object_tvalid = state_q == DATA && (stored || have_q == '0) &&
        (!extent_ends || decided_q);
    m_axis_object_tdata = have_q != '0 ? beat : '0;
    if (state_q == HEADER) begin
      m_axis_object_tvalid = header_valid;
      m_axis_object_tdata  = header;
    end
    if (!cfg_small) begin
      s_axis_head_tready   = m_axis_head_tready;
      s_axis_object_tready = m_axis_object_tready;
      m_axis_head_tvalid   = s_axis_head_tvalid;
      m_axis_head_tdata    = s_axis_head_tdata;
      m_axis_object_tvalid = s_axis_object_tvalid;
      m_axis_object_tdata  = s_axis_object_tdata;
      m_axis_object_tkeep  = s_axis_object_tkeep;
      m_axis_object_tlast  = s_axis_object_tlast;
      m_axis_object_tuser  = s_axis_object_tuser;
    end
  end

  // ---------------------------------------------------------------------------------------- rows
  localparam logic [15:0] FATE = ROW_SKIPPED | ROW_FAILED | 16'('hff << ROW_CODE_LSB);

  logic sent_valid, end_valid, out_last, skipped, leaves;
  sent_t out;
  span_t place;
  assign place = (state_q == REST ? '0 : used_q) + span_t'(BlockBeats);

  fb_common_fifo_bram #(
      .Width($bits(sent_t)),
      .Depth(Depth)
  ) u_rows (
      .clk,
      .rst,
      .s_valid(starts),
      .s_ready(rows_ready),
      .s_data ({place, made}),
      .m_valid(sent_valid),
      .m_ready(leaves),
      .m_data (out),
      .level  ()
  );

  fb_common_fifo_bram #(
      .Width(1),
      .Depth(Depth)
  ) u_ends (
      .clk,
      .rst,
      .s_valid(extent_ends && sends),
      .s_ready(),
      .s_data (last_q),
      .m_valid(end_valid),
      .m_ready(leaves),
      .m_data (out_last),
      .level  ()
  );

  assign skipped = (s_axis_row_tdata.flags & ROW_SKIPPED) != '0;
  assign leaves  = cfg_small && m_axis_row_tvalid && m_axis_row_tready;

  always_comb begin : hand_on
    m_axis_row_tvalid = s_axis_row_tvalid;
    m_axis_row_tdata  = s_axis_row_tdata;
    s_axis_row_tready = m_axis_row_tready;
    if (cfg_small) begin
      m_axis_row_tvalid = s_axis_row_tvalid && sent_valid && end_valid;
      s_axis_row_tready = leaves && out_last;
      m_axis_row_tdata.flags = ROW_COUNTS | (s_axis_row_tdata.flags & FATE) |
          (out.extent.facts.whole ? ROW_WHOLE : '0) | (out.extent.cut ? ROW_CUT : '0);
      m_axis_row_tdata.tag = out.extent.tag;
      m_axis_row_tdata.facts = out.extent.facts;
      if (skipped) m_axis_row_tdata.facts.crc32c = '0;
      else m_axis_row_tdata.address = s_axis_row_tdata.address + 64'({out.place, BeatShift'(0)});
    end
  end

  always_ff @(posedge clk) begin : count
    if (begins != leaves) waiting <= begins ? waiting + 1'b1 : waiting - 1'b1;
    if (rst) waiting <= '0;
  end
  assign open = taking_q || done_q != '0;

`ifndef SYNTHESIS
  row_has_extents :
  assert property (@(posedge clk) disable iff (rst) cfg_small && s_axis_row_tvalid |-> waiting != '0)
  else $error("fb_store_batch (%m): a row of a batch, and no extent waits for it");

  batch_is_kept :
  assert property (@(posedge clk) disable iff (rst) state_q != REST |-> used_q <= batch)
  else $error("fb_store_batch (%m): %0d beats in a batch of %0d", used_q, batch);
`endif

  // What waits to go through when `cfg_small` becomes high goes into the memory.
  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 1),
      .Name ("m_axis_object")
  ) u_check_object (
      .clk,
      .rst,
      .valid(cfg_small && m_axis_object_tvalid),
      .ready(m_axis_object_tready),
      .data ({m_axis_object_tdata, m_axis_object_tkeep, m_axis_object_tlast})
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
