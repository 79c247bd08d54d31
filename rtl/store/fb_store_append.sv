// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_append: each extent to the next free place of a region, and a row that says where it is.
//
// What:        puts an address in front of each packet, which makes a write of the streamer of it,
//              each at a multiple of 4 KiB. A packet that meets the region's end is cut there: the
//              rest is a write and a row of its own, at the region's beginning. Without `cfg_ring`
//              the end is the end, and what finds no room is skipped. A row leaves when the
//              streamer has answered, so that it is never ahead of its data.
// Handshake:   valid/ready. `m_axis_wr_*` follows `s_axis_object_*` within the cycle.
// Latency:     1 cycle from the first beat to its address, 2 to itself, then none.
// Throughput:  64 bytes a cycle, and two cycles for each write.
// Limits:      `restart` only while `open` is low and `waiting` is 0; else settings are steady.
//              One extent more than Depth may wait for its answer: it rests in the register of the
//              memory. 512-bit registers: that one.
// Does not implement: blocks of rows (fb_store_journal); several extents in a page.

`default_nettype none

module fb_store_append
  import fb_spec_pkg::*;
#(
    parameter int unsigned Depth = 512,  // extents without an answer, a power of two, 4 to 4096
    localparam int unsigned HeadBits = 64 + 8 * FRAMING_BYTES,
    localparam int unsigned RowBits = 8 * JOURNAL_ROW_BYTES
) (
    input wire clk,
    input wire rst,

    input wire                 restart,     // begin the region anew
    input wire                 cfg_enable,  // take extents
    input wire                 cfg_ring,    // behind the region's end comes its beginning
    input wire [63:PAGE_SHIFT] cfg_base,    // first byte of the region
    input wire [63:PAGE_SHIFT] cfg_bytes,   // its size
    input wire [         47:0] now,         // cycles, for the rows

    // Extents, and a word of each: header of its first frame, above it the frames missing before.
    input  wire                        s_axis_head_tvalid,
    output logic                       s_axis_head_tready,
    input  wire  [       HeadBits-1:0] s_axis_head_tdata,
    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire                        s_axis_object_tuser,   // with TLAST: not a whole object

    // Writes of the streamer, and its answers to them.
    output logic                       m_axis_wr_tvalid,
    input  wire                        m_axis_wr_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_wr_tkeep,
    output logic                       m_axis_wr_tlast,
    input  wire                        s_axis_wrsp_tvalid,
    output logic                       s_axis_wrsp_tready,
    input  wire  [                7:0] s_axis_wrsp_tdata,

    // Rows of the journal.
    output logic               m_axis_row_tvalid,
    input  wire                m_axis_row_tready,
    output logic [RowBits-1:0] m_axis_row_tdata,

    output logic        open,     // an extent has begun and not ended
    output logic [15:0] waiting,  // extents without an answer
    output logic [63:0] position  // where in the region the next one begins
);

  localparam int unsigned BeatShift = $clog2(USER_BEAT_BYTES);
  localparam int unsigned BeatBits = 64 - BeatShift;
  localparam int unsigned PageShift = PAGE_SHIFT - BeatShift;
  localparam int unsigned PageBeats = PAGE_BYTES / USER_BEAT_BYTES;

  typedef enum logic [1:0] {
    REST,
    ADDRESS,
    DATA,
    SKIP
  } state_e;

  // A row but for the answer.
  typedef struct packed {
    logic [7:0] flags;
    logic [47:0] time_;
    logic [63:0] bytes;
    logic [63:0] address;
    logic [63:0] missing;
    logic [8*FRAMING_BYTES-1:0] header;
  } row_t;

  state_e state_q;
  logic [BeatBits-1:0] left_q;  // beats from here to the region's end
  logic [BeatBits-1:0] at_q, start_q;  // address of the next beat, of the write, in beats
  logic [BeatBits-1:0] beats_q;  // of the write or what is skipped, so far
  logic [63:0] done_q;  // bytes of the extent that earlier rows have
  logic [47:0] time_q;

  logic begins, takes, ends, cut, full, none, room;
  logic [63:0] bytes;
  row_t row, row_out;

  // ---------------------------------------------------------------------------------------- beats
  assign full = left_q == '0;
  assign none = full && !(cfg_ring && cfg_bytes != '0);
  assign begins = room && s_axis_head_tvalid &&
      ((cfg_enable && s_axis_object_tvalid) || done_q != '0);
  assign ends = s_axis_object_tlast || (state_q == DATA && left_q == BeatBits'(1));
  assign cut = !s_axis_object_tlast;
  assign takes = s_axis_object_tvalid && s_axis_object_tready;

  assign s_axis_object_tready = state_q == SKIP || (state_q == DATA && m_axis_wr_tready);
  assign s_axis_head_tready = takes && s_axis_object_tlast;

  assign m_axis_wr_tvalid = state_q == ADDRESS || (state_q == DATA && s_axis_object_tvalid);
  assign m_axis_wr_tlast = state_q == DATA && ends;

  always_comb begin : compose
    m_axis_wr_tdata = s_axis_object_tdata;
    m_axis_wr_tkeep = s_axis_object_tkeep;
    if (state_q == ADDRESS) begin
      m_axis_wr_tdata = '0;
      m_axis_wr_tdata[USER_ADDRESS_LSB+:64] = {at_q, BeatShift'(0)};
      m_axis_wr_tkeep = '1;
    end
  end

  // The beat behind, if the write ends with this one: the next page.
  function automatic logic [BeatBits-1:0] page_after(input logic [BeatBits-1:0] beat);
    return (beat | BeatBits'(PageBeats - 1)) + 1'b1;
  endfunction

  always_ff @(posedge clk) begin : follow
    unique case (state_q)
      REST:
      if (begins) begin
        state_q <= none ? SKIP : ADDRESS;
        beats_q <= '0;
        time_q  <= now;
        if (full && !none) begin
          at_q   <= {cfg_base, PageShift'(0)};
          left_q <= {cfg_bytes, PageShift'(0)};
        end
      end
      ADDRESS:
      if (m_axis_wr_tready) begin
        state_q <= DATA;
        start_q <= at_q;
      end
      default:
      if (takes) begin
        beats_q <= beats_q + 1'b1;
        if (state_q == DATA) begin
          at_q   <= ends ? page_after(at_q) : at_q + 1'b1;
          left_q <= ends ? (left_q - 1'b1) & ~BeatBits'(PageBeats - 1) : left_q - 1'b1;
        end
        if (ends) begin
          state_q <= REST;
          done_q  <= cut ? done_q + bytes : '0;
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
    end
  end

  assign open = state_q != REST || done_q != '0;
  assign position = {cfg_bytes, PAGE_SHIFT'(0)} - {left_q, BeatShift'(0)};

  // ----------------------------------------------------------------------------------------- rows
  logic first, push, out_valid, out_ready, skipped;
  logic [7:0] code;

  assign bytes = {beats_q, BeatShift'(0)} + 64'($countones(s_axis_object_tkeep));
  assign first = (s_axis_head_tdata[8*FRAMING_FLAGS_AT+:8] & 8'(FRAMING_FIRST)) != '0;
  assign push  = takes && ends;

  always_comb begin : describe
    row = '{
        flags:
        (
        !cut && !s_axis_object_tuser && done_q == '0 ? JOURNAL_WHOLE : '0
        ) | (
        cut ? JOURNAL_CUT : '0
        ) | (
        state_q == SKIP ? JOURNAL_SKIPPED : '0
        ),
        time_: time_q,
        bytes: bytes,
        address: state_q == SKIP ? '0 : {start_q, BeatShift'(0)},
        missing: done_q == '0 ? s_axis_head_tdata[8*FRAMING_BYTES+:64] : '0,
        header: s_axis_head_tdata[8*FRAMING_BYTES-1:0]
    };
    // What follows a cut is no beginning any more.
    if (done_q != '0) begin
      row.header[8*FRAMING_FLAGS_AT+:8] = row.header[8*FRAMING_FLAGS_AT+:8] & ~8'(FRAMING_FIRST);
      row.header[8*FRAMING_PLACE_AT+:64] = done_q +
          (first ? '0 : s_axis_head_tdata[8*FRAMING_PLACE_AT+:64]);
    end
  end

  fb_common_deep #(
      .Width($bits(row_t)),
      .Depth(Depth)
  ) u_rows (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(room),
      .s_data (row),
      .m_valid(out_valid),
      .m_ready(out_ready),
      .m_data (row_out),
      .level  ()
  );

  assign skipped = (row_out.flags & JOURNAL_SKIPPED) != '0;
  assign m_axis_row_tvalid = out_valid && (skipped || s_axis_wrsp_tvalid);
  assign s_axis_wrsp_tready = out_valid && !skipped && m_axis_row_tready;
  assign out_ready = m_axis_row_tvalid && m_axis_row_tready;
  assign code = skipped ? '0 : s_axis_wrsp_tdata;
  assign m_axis_row_tdata = {
    row_out.flags,
    code,
    row_out.time_,
    row_out.bytes,
    row_out.address,
    row_out.missing,
    row_out.header
  };

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
  assert property (@(posedge clk) disable iff (rst) s_axis_wrsp_tvalid |-> waiting != '0)
  else $error("fb_store_append (%m): an answer, and nothing waits for it");
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
      .Width(RowBits),
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
