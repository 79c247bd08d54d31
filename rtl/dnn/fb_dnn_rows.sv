// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_rows: rows of small images wait until they are whole, and leave in order.
//
// What:        each stream has places for two rows. A row that is complete leaves as words of four
//              pixels, in the order in which rows were completed; between them words that begin an
//              image or end a packet.
// Handshake:   pixels without; before a row ends its `pending` is to be low. Words valid/ready; one is
//              given when no row of before it is under way.
// Latency:     5 cycles from a row's end to its first word.
// Throughput:  four pixels a cycle.
// Limits:      512-bit registers: none.
// Does not implement: room for more rows.

`default_nettype none

module fb_dnn_rows
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224,
    parameter int unsigned Streams = 1,
    localparam int unsigned StreamBits = $clog2(Streams) + 32'(Streams == 1),
    localparam int unsigned WordBits = 8 * 3 * LANES
) (
    input wire clk,
    input wire rst,

    input wire [StreamBits-1:0] stream,  // of what comes in

    input wire [LANES-1:0]                 s_valid,    // of each bank
    input wire [LANES-1:0][PLACE_BITS-1:0] s_place,
    input wire                             s_half,
    input wire [LANES-1:0][2:0][7:0]       s_pixel,
    input wire                             s_row_ends,

    // The last pixels of a row are on their way; rows of this stream that have not left.
    input  wire        claim,
    input  wire        claim_half,
    output logic [1:0] pending,

    input  wire                 word_valid,
    output logic                word_ready,
    input  wire kind_e          word_kind,
    input  wire  [WordBits-1:0] word,

    output logic                m_valid,
    input  wire                 m_ready,
    output kind_e               m_kind,
    output logic [WordBits-1:0] m_data
);

  localparam int unsigned Last = Size / LANES - 1;
  localparam int unsigned Jobs = 16;
  localparam int unsigned Words = 8;
  typedef logic [StreamBits:0] row_t;  // stream and half

  // ---------------------------------------------------------------------------------------- jobs
  // What is to leave next: a row, or a word.
  logic job_valid, job_done, job_room;
  kind_e job_kind;
  logic [WordBits-1:0] job_word;
  row_t row;
  assign row = job_word[StreamBits:0];
  assign word_ready = job_room && !s_row_ends;

  fb_common_fifo #(
      .Width(2 + WordBits),
      .Depth(Jobs)
  ) u_jobs (
      .clk,
      .rst,
      .s_valid(word_valid || s_row_ends),
      .s_ready(job_room),
      .s_data (s_row_ends ? {IMAGE_PIXELS, WordBits'({stream, s_half})} : {word_kind, word}),
      .m_valid(job_valid),
      .m_ready(job_done),
      .m_data ({job_kind, job_word}),
      .level  ()
  );

  // ---------------------------------------------------------------------------------------- rows
  logic [PLACE_BITS-1:0] place_q;
  logic read;
  logic [1:0] read_q;
  logic [WordBits-1:0] pixels;
  logic [$clog2(Words):0] level;
  logic room;

  for (genvar b = 0; b < int'(LANES); b++) begin : gen_banks
    fb_common_table #(
        .Width(24),
        .Depth(1 << (StreamBits + 1 + PLACE_BITS))
    ) u_pixels (
        .clk,
        .we(s_valid[b]),
        .waddr({stream, s_half, s_place[b]}),
        .wdata(s_pixel[b]),
        .raddr({row, place_q}),
        .rdata(pixels[24*b+:24])
    );
  end

  assign room = level + ($clog2(Words) + 1)'(read_q[0]) + ($clog2(Words) + 1)'(read_q[1])
      < ($clog2(Words) + 1)'(Words);
  assign read = job_valid && job_kind == IMAGE_PIXELS && room;
  assign job_done = job_kind == IMAGE_PIXELS ? read && place_q == PLACE_BITS'(Last) :
      job_valid && room && read_q == '0;

  logic [(1<<(StreamBits+1))-1:0] pending_q;
  assign pending = {pending_q[{stream, 1'b1}], pending_q[{stream, 1'b0}]};

  always_ff @(posedge clk) begin : follow
    if (read) place_q <= job_done ? '0 : place_q + 1'b1;
    read_q <= {read_q[0], read};
    // The row has left its place when it was read; what comes into it takes longer than that.
    if (read && job_done) pending_q[row] <= 1'b0;
    if (claim) pending_q[{stream, claim_half}] <= 1'b1;
    if (rst) {place_q, read_q, pending_q} <= '0;
  end

  fb_common_fifo #(
      .Width(2 + WordBits),
      .Depth(Words)
  ) u_words (
      .clk,
      .rst,
      .s_valid(read_q[1] || (job_done && job_kind != IMAGE_PIXELS)),
      .s_ready(),
      .s_data (read_q[1] ? {IMAGE_PIXELS, pixels} : {job_kind, job_word}),
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
