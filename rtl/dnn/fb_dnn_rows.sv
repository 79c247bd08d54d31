// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_rows: rows of small images wait until they are whole, and leave in order.
//
// What:        each stream has places for the sums of two rows. A row that is complete leaves as words
//              of four pixels, the means, in the order in which rows were completed; between them words
//              of other kinds.
// Handshake:   sums without; before a row begins to end its `pending` is to be low. Words valid/ready.
// Latency:     9 cycles from a row's end to its first word.
// Throughput:  two pixels a cycle.
// Limits:      512-bit registers: none.
// Does not implement: room for more rows.

`default_nettype none

module fb_dnn_rows
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224,  // pixels of a side of the small image, 32 to 256
    parameter int unsigned Streams = 1,  // 1, 2 or 4
    localparam int unsigned StreamBits = $clog2(Streams) + 32'(Streams == 1),
    localparam int unsigned WordBits = 8 * 3 * LANES
) (
    input wire clk,
    input wire rst,

    // Of what comes in, steady while it does.
    input wire [StreamBits-1:0] stream,
    input wire scale_t scale,

    input wire [LANES-1:0]                               s_valid,    // of each bank
    input wire [LANES-1:0][PLACE_BITS-1:0]               s_place,
    input wire                                           s_half,
    input wire [LANES-1:0][           2:0][SUM_BITS-1:0] s_sum,
    input wire                                           s_row_ends,

    // The last pixels of a row are on their way; rows of this stream that have not left.
    input  wire        claim,
    input  wire        claim_half,
    output logic [1:0] pending,

    input  wire                       word_valid,
    output logic                      word_ready,
    input  wire kind_e                word_kind,
    input  wire        [WordBits-1:0] word,

    output logic                 m_valid,
    input  wire                  m_ready,
    output kind_e                m_kind,
    output logic  [WordBits-1:0] m_data
);

  localparam int unsigned Last = Size / LANES - 1;
  localparam int unsigned Jobs = 32;
  localparam int unsigned Words = 8;
  typedef logic [StreamBits:0] row_t;  // stream and half

  // ---------------------------------------------------------------------------------------- jobs
  // What is to leave next: a row, or a word.
  typedef struct packed {
    scale_t scale;
    row_t   row;
  } row_job_t;
  logic job_valid, job_done, job_room;
  logic [$clog2(Jobs):0] jobs;
  kind_e job_kind;
  logic [WordBits-1:0] job_word;
  row_job_t job;
  assign job = job_word[$bits(row_job_t)-1:0];
  // A row finds room whatever waits: there are at most two of each stream.
  assign word_ready = jobs < ($clog2(Jobs) + 1)'(Jobs - 2 * Streams) && !s_row_ends;

  fb_common_fifo #(
      .Width(2 + WordBits),
      .Depth(Jobs)
  ) u_jobs (
      .clk,
      .rst,
      .s_valid((word_valid && word_ready) || s_row_ends),
      .s_ready(job_room),
      .s_data (s_row_ends ? {IMAGE_PIXELS, WordBits'({scale, stream, s_half})} : {word_kind, word}),
      .m_valid(job_valid),
      .m_ready(job_done),
      .m_data ({job_kind, job_word}),
      .level  (jobs)
  );

  // ---------------------------------------------------------------------------------------- rows
  // Two pixels of a word a cycle: their sums are read, become means, and wait for one another.
  logic [PLACE_BITS-1:0] place_q;
  logic upper_q;  // pixels of the word are next
  scale_t scale_q;  // of what is on its way
  logic read, idle, room;
  logic [5:0] reads_q, uppers_q;  // on their way, the newest lowest
  logic [LANES-1:0][2:0][SUM_BITS-1:0] sums;
  logic [1:0][2:0][SUM_BITS-1:0] two_q;
  logic [1:0][2:0][7:0] means, lower_q;
  logic [$clog2(Words):0] level;

  for (genvar b = 0; b < int'(LANES); b++) begin : gen_banks
    fb_common_table #(
        .Width(3 * SUM_BITS),
        .Depth(1 << (StreamBits + 1 + PLACE_BITS))
    ) u_sums (
        .clk,
        .we(s_valid[b]),
        .waddr({stream, s_half, s_place[b]}),
        .wdata(s_sum[b]),
        .raddr({job.row, place_q}),
        .rdata(sums[b])
    );
  end
  for (genvar p = 0; p < 2; p++) begin : gen_means
    for (genvar c = 0; c < 3; c++) begin : gen_channels
      fb_dnn_mean u_mean (
          .clk,
          .valid(reads_q[2]),
          .scale(scale_q),
          .sum  (two_q[p][c]),
          .mean (means[p][c])
      );
    end
  end

  // A word's second half follows its first one; all that is on its way has room. A row begins when
  // nothing of the one before is on its way, whose scale may be another.
  assign room = level < ($clog2(Words) + 1)'(Words - 4);
  assign idle = reads_q == '0;
  assign read = job_valid && job_kind == IMAGE_PIXELS &&
      (upper_q || (room && (place_q != '0 || idle)));
  assign job_done = job_kind == IMAGE_PIXELS ? read && upper_q && place_q == PLACE_BITS'(Last) :
      job_valid && room && idle;

  logic [(1<<(StreamBits+1))-1:0] pending_q;
  assign pending = {pending_q[{stream, 1'b1}], pending_q[{stream, 1'b0}]};

  always_ff @(posedge clk) begin : follow
    reads_q  <= {reads_q[4:0], read};
    uppers_q <= {uppers_q[4:0], upper_q};
    if (read) begin
      upper_q <= !upper_q;
      if (upper_q) place_q <= job_done ? '0 : place_q + 1'b1;
    end
    if (idle) scale_q <= job.scale;
    two_q <= uppers_q[1] ? sums[3:2] : sums[1:0];
    if (reads_q[5] && !uppers_q[5]) lower_q <= means;
    // The row has left its place when it was read.
    if (read && job_done) pending_q[job.row] <= 1'b0;
    if (claim) pending_q[{stream, claim_half}] <= 1'b1;
    if (rst) {place_q, upper_q, reads_q, pending_q} <= '0;
  end

  fb_common_fifo #(
      .Width(2 + WordBits),
      .Depth(Words)
  ) u_words (
      .clk,
      .rst,
      .s_valid((reads_q[5] && uppers_q[5]) || (job_done && job_kind != IMAGE_PIXELS)),
      .s_ready(),
      .s_data (reads_q[5] ? {IMAGE_PIXELS, means, lower_q} : {job_kind, job_word}),
      .m_valid,
      .m_ready,
      .m_data ({m_kind, m_data}),
      .level
  );

`ifndef SYNTHESIS
  a_row_has_its_place :
  assert property (@(posedge clk) disable iff (rst) s_row_ends |-> pending[s_half] && job_room)
  else $error("fb_dnn_rows (%m): a row ends that was not announced, or in the place of another");
`endif

endmodule

`default_nettype wire
