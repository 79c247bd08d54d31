// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_journal: rows into blocks of 4 KiB, each a write of the streamer.
//
// What:        keeps rows until a block is full, the oldest of them has waited long enough (since
//              it came or the block before was finished), or `sync` found them. A block goes to
//              the next place of a region: at its end to the beginning with `cfg_ring`, else its
//              rows are lost, and counted.
// Handshake:   valid/ready.
// Latency:     a row is in memory 2 cycles after it was taken; a block takes 65 cycles.
// Throughput:  63 rows in 66 cycles.
// Limits:      `restart` only while `busy` is low and `rows` is 0; settings are steady otherwise.
//              512-bit registers: one, the block RAM's.
// Does not implement: a check sum.

`default_nettype none

module fb_store_journal
  import fb_spec_pkg::*;
#(
    parameter int unsigned Depth = 512,  // rows that may wait, a power of two, 128 to 4096
    localparam int unsigned RowBits = 8 * JOURNAL_ROW_BYTES
) (
    input wire clk,
    input wire rst,

    input wire restart,  // begin the region anew
    input wire cfg_ring,  // behind the region's end comes its beginning
    input wire cfg_flush,  // a flush of the SSD after each block
    input wire [31:0] cfg_wait,  // cycles that a row waits for more; 0: until there are enough
    input wire [63:PAGE_SHIFT] cfg_base,  // first byte of the region
    input wire [63:PAGE_SHIFT] cfg_bytes,  // its size
    input wire [63:0] cfg_recording,
    input wire sync,  // write the rows that there are

    input  wire                s_axis_row_tvalid,
    output logic               s_axis_row_tready,
    input  wire  [RowBits-1:0] s_axis_row_tdata,

    // Writes of the streamer, and its answers to them.
    output logic                       m_axis_wr_tvalid,
    input  wire                        m_axis_wr_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_wr_tkeep,
    output logic                       m_axis_wr_tlast,
    input  wire                        s_axis_wrsp_tvalid,
    output logic                       s_axis_wrsp_tready,
    input  wire  [                7:0] s_axis_wrsp_tdata,

    output logic        busy,    // a sync goes on, or a block has no answer
    output logic [15:0] rows,    // that wait
    output logic [31:0] blocks,  // begun since `restart`
    output logic [31:0] failed,  // that the streamer answered with an error
    output logic [63:0] lost     // rows that found no room
);

  if (Depth < 128) begin : gen_bad_depth
    $fatal(1, "fb_store_journal (%m): Depth=%0d must hold two blocks: 128 or more", Depth);
  end

  localparam int unsigned IndexBits = $clog2(JOURNAL_ROWS + 1);
  localparam int unsigned PageBits = 64 - PAGE_SHIFT;

  typedef enum logic [2:0] {
    REST,
    ADDRESS,
    HEAD,
    ROWS,
    LOSE
  } state_e;

  state_e state_q;
  logic [PageBits-1:0] at_q, left_q;  // page of the next block; pages from there to the end
  logic [IndexBits-1:0] count_q, index_q;  // rows of the block; places for rows behind this one
  logic [31:0] waited_q;
  logic [15:0] owed_q, owed;  // rows that `sync` found, those that are out again not counted
  logic [15:0] unanswered_q;

  logic row_valid, row_ready, moves, full, none, due;
  logic [RowBits-1:0] row;
  logic [USER_DATA_BITS-1:0] head;
  logic [$clog2(Depth):0] level;
  logic [IndexBits-1:0] count;

  fb_common_deep #(
      .Width(RowBits),
      .Depth(Depth)
  ) u_rows (
      .clk,
      .rst,
      .s_valid(s_axis_row_tvalid),
      .s_ready(s_axis_row_tready),
      .s_data (s_axis_row_tdata),
      .m_valid(row_valid),
      .m_ready(row_ready),
      .m_data (row),
      .level
  );

  assign rows = 16'(level) + 16'(row_valid);
  assign count = rows < 16'(JOURNAL_ROWS) ? IndexBits'(rows) : IndexBits'(JOURNAL_ROWS);
  assign due = rows != '0 && (rows >= 16'(JOURNAL_ROWS) || owed_q != '0 ||
                              (cfg_wait != '0 && waited_q >= cfg_wait));
  assign full = left_q == '0;
  assign none = full && !(cfg_ring && cfg_bytes != '0);

  // What comes behind a `sync` is none of its business: it would never end, and the region would
  // fill with blocks of a row or two, while short extents come.
  assign owed = sync ? rows : owed_q;

  // ---------------------------------------------------------------------------------------- beats
  always_comb begin : compose_head
    head = '0;
    head[31:0] = JOURNAL_MAGIC;
    head[8*JOURNAL_ROWS_AT+:16] = 16'(count_q);
    head[8*JOURNAL_RECORDING_AT+:64] = cfg_recording;
    head[8*JOURNAL_NUMBER_AT+:64] = 64'(blocks);
  end

  always_comb begin : compose
    unique case (state_q)
      ADDRESS: begin
        m_axis_wr_tdata = '0;
        m_axis_wr_tdata[USER_ADDRESS_LSB+:64] = {at_q, PAGE_SHIFT'(0)};
        m_axis_wr_tdata[USER_WRITE_FLUSH_BIT] = cfg_flush;
      end
      HEAD: m_axis_wr_tdata = head;
      default: m_axis_wr_tdata = count_q != '0 ? row : '0;
    endcase
  end

  // Rows were counted while they were there, but each takes a cycle to come out of the memory.
  assign m_axis_wr_tvalid = state_q == ADDRESS || state_q == HEAD ||
      (state_q == ROWS && (row_valid || count_q == '0));
  assign m_axis_wr_tkeep = '1;
  assign m_axis_wr_tlast = state_q == ROWS && index_q == '0;
  assign moves = m_axis_wr_tvalid && m_axis_wr_tready;
  assign row_ready = count_q != '0 && (state_q == LOSE || (state_q == ROWS && m_axis_wr_tready));

  always_ff @(posedge clk) begin : follow
    waited_q <= rows == '0 || state_q != REST ? '0 : waited_q + 32'(waited_q < cfg_wait);
    owed_q   <= owed - 16'(owed != '0 && row_valid && row_ready);
    unique case (state_q)
      REST:
      if (due) begin
        state_q <= none ? LOSE : ADDRESS;
        count_q <= count;
        if (full && !none) begin
          at_q   <= cfg_base;
          left_q <= cfg_bytes;
        end
      end
      ADDRESS:
      if (moves) begin
        state_q <= HEAD;
        at_q <= at_q + 1'b1;
        left_q <= left_q - 1'b1;
      end
      HEAD:
      if (moves) begin
        state_q <= ROWS;
        index_q <= IndexBits'(JOURNAL_ROWS - 1);
        blocks  <= blocks + 1'b1;
      end
      ROWS:
      if (moves) begin
        if (count_q != '0) count_q <= count_q - 1'b1;
        index_q <= index_q - 1'b1;
        if (m_axis_wr_tlast) state_q <= REST;
      end
      default:
      if (count_q == '0) begin
        state_q <= REST;
      end else if (row_valid) begin
        count_q <= count_q - 1'b1;
        lost <= lost + 1'b1;
      end
    endcase
    if (s_axis_wrsp_tvalid && s_axis_wrsp_tdata != ERR_OK) failed <= failed + 1'b1;
    unanswered_q <= unanswered_q + 16'(moves && state_q == ADDRESS) - 16'(s_axis_wrsp_tvalid);
    if (restart || rst) begin
      at_q   <= cfg_base;
      left_q <= cfg_bytes;
      blocks <= '0;
      failed <= '0;
      lost   <= '0;
    end
    if (rst) begin
      state_q <= REST;
      owed_q <= '0;
      unanswered_q <= '0;
    end
  end

  assign s_axis_wrsp_tready = 1'b1;
  assign busy = owed_q != '0 || state_q != REST || unanswered_q != '0;

`ifndef SYNTHESIS
  restarts_at_rest :
  assert property (@(posedge clk) disable iff (rst) restart |-> !busy && rows == '0)
  else $error("fb_store_journal (%m): restart while busy=%0b, %0d rows wait", busy, rows);

  answers_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_wrsp_tvalid |-> unanswered_q != '0)
  else $error("fb_store_journal (%m): an answer, and no block waits for it");
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

endmodule

`default_nettype wire
