// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Read path, second half: from the buffer to the user's stream.
//
// Deliveries come in order from fb_nvme_reorder and leave as beats. TKEEP is exact on the last beat
// of a read. A failed read ends with one beat without data: TLAST, TUSER, TKEEP zero, and the error
// code in TDATA[7:0]. Where the memory has lost a beat, that one is the end: what comes before is
// good, and what comes after is discarded.
//
// Beats are requested one by one, and their answers come in order, however late: each has a place in
// a FIFO. With the first beat of a page the memory is told how many of it will follow; with
// WholePages, all of these have a place then. Of a read that failed one beat of each unit is
// requested, and discarded: so the memory forgets whatever it holds against these units.
//
// A unit is freed when the answer to its last beat is here: until then the memory may still have to
// read it, and a freed unit is soon overwritten.
//
// Handshake: `delivery_valid`/`delivery_ready`; AXI4-Stream out, whose TVALID never falls before
// TREADY, not even by a restart.
// Latency: that of the memory + 3 cycles from a delivery to its first beat; + 4 with WholePages.
// Throughput: 64 bytes a cycle, none lost between deliveries; no 512-bit registers.
// Limits: answers of at most FifoDepth, and 64, units are awaited.
// Does not implement: any choice of what comes next.

`default_nettype none

module fb_nvme_read_stream
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Pages = 1024,  // units of the buffer, a power of two
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    // Beats, a power of two: more than the cycles that the memory takes + 2, to lose none.
    parameter int unsigned FifoDepth = 16,
    parameter bit WholePages = 1'b0,  // begin a page only with room for all of its beats
    localparam int unsigned AddrBits = $clog2(Pages) + UnitBits + BEAT_BITS
) (
    input wire clk,
    input wire rst,     // of the whole streamer
    input wire restart, // a new life of the queue: forget everything but a read half sent

    input  wire            delivery_valid,
    output logic           delivery_ready,
    input  wire delivery_t delivery,

    output logic free_step,  // the oldest unit is free

    output logic                 read_valid,
    input  wire                  read_ready,
    output logic [ AddrBits-1:0] read_addr,
    output logic                 read_first,  // of a page: read_count - 1 more will be asked for
    output logic [  BEAT_BITS:0] read_count,
    input  wire                  data_valid,
    input  wire                  data_error,  // the beat is not what was stored
    input  wire  [DATA_BITS-1:0] data,

    fb_axis_if.initiator m_axis_rd,

    output logic empty  // nothing under way
);

  localparam int unsigned LutDepth = 128;  // deeper FIFOs are in block RAM
  localparam int unsigned PageBeats = 1 << BEAT_BITS;
  if (WholePages && FifoDepth < PageBeats) begin : gen_bad_depth
    $fatal(1, "fb_nvme_read_stream (%m): FifoDepth=%0d must hold a page, 64 beats", FifoDepth);
  end
  if (UnitBits > 8) begin : gen_bad_unit
    $fatal(1, "fb_nvme_read_stream (%m): UnitBits=%0d must be at most 8", UnitBits);
  end

  localparam int unsigned CreditBits = $clog2(FifoDepth) + 1;
  localparam int unsigned BeatsBits = SIZE_BITS - 6;  // index of a beat in a command
  localparam int unsigned UnitBeatBits = UnitBits + BEAT_BITS;
  localparam int unsigned FreeDepth = (FifoDepth < PageBeats) ? FifoDepth : PageBeats;

  // What goes with a beat besides its data.
  typedef struct packed {
    logic                     last;
    logic                     fail;
    logic                     skip;  // goes no further
    logic [5:0]               top;   // index of the last valid byte
    logic [READ_TAG_BITS-1:0] tag;
    logic [CODE_BITS-1:0]     code;
  } side_t;

  logic job_valid, job_done;
  logic [2:0] jobs;
  delivery_t job;
  logic [BeatsBits-1:0] beats_m1, job_beats_m1;  // beats to be requested - 1
  logic job_single, job_pair;  // one, two beats
  assign beats_m1 = (delivery.fail || delivery.skip) ?
      BeatsBits'(delivery.size[SIZE_BITS-1:UnitBits+12]) : delivery.size[SIZE_BITS-1:6];
  fb_common_fifo #(
      .Width($bits(delivery_t) + 2),
      .Depth(4),
      .OutputRegister(1'b1)
  ) u_jobs (
      .clk,
      .rst(restart),
      .s_valid(delivery_valid),
      .s_ready(delivery_ready),
      .s_data({beats_m1 == '0, beats_m1 == BeatsBits'(1), delivery}),
      .m_valid(job_valid),
      .m_ready(job_done),
      .m_data({job_single, job_pair, job}),
      .level(jobs)
  );

  logic [BeatsBits-1:0] beat_q, left_q;  // this one; beats after it, if it is not the first
  logic first_q, final_q;  // of the command: this beat is the first, one after it is the last
  logic [CreditBits-1:0] credits_q;  // places in the output FIFO not spoken for
  logic beat_valid;  // a beat is at its output
  logic send, skims, final_beat, final_page, give, pop, room;
  logic free_ready_q;  // a unit that ends may be noted
  assign room = !WholePages ? credits_q != '0 :
      beat_q[BEAT_BITS-1:0] != '0 || credits_q >= CreditBits'(PageBeats);
  assign read_valid = job_valid && !job.sent && room && free_ready_q;
  assign send = read_valid && read_ready;
  assign skims = job.fail || job.skip;  // the first beat of each unit
  assign job_beats_m1 = skims ? BeatsBits'(job.size[SIZE_BITS-1:UnitBits+12]) :
      job.size[SIZE_BITS-1:6];
  assign final_beat = first_q ? job_single : final_q;
  assign job_done = job_valid && (job.sent ? free_ready_q : send && final_beat);

  assign read_addr = {
    $clog2(Pages)'(job.page) + $clog2(Pages)'(beat_q[SIZE_BITS-7:6] >> UnitBits),
    UnitBeatBits'(beat_q)
  };
  assign final_page = beat_q[SIZE_BITS-7:6] == job.size[SIZE_BITS-1:12];
  assign read_first = beat_q[BEAT_BITS-1:0] == '0;
  assign read_count = skims ? (BEAT_BITS + 1)'(1) :
      final_page ? {1'b0, job.size[11:6]} + 1'b1 : (BEAT_BITS + 1)'(PageBeats);

  // After how many more answers a unit is free; it is put here as its last beat is requested.
  typedef struct packed {
    logic                  keep;
    logic [UnitBeatBits:0] answers;
  } free_t;

  logic unit_ends, free_valid, free_due, free_push_q;
  logic [$clog2(FreeDepth):0] free_level;
  free_t free_q, oldest;
  assign unit_ends = send && (skims || final_beat || beat_q[UnitBeatBits-1:0] == '1);
  // One may be on its way into the queue, and one be pushed before the level shows it.
  always_ff @(posedge clk) begin
    free_push_q <= (unit_ends || (job_done && job.sent)) && !restart;
    free_q.keep <= job.keep;
    free_q.answers <= job.sent ? '0 : {1'b0, beat_q[UnitBeatBits-1:0]} + 1'b1;
    free_ready_q <= int'(free_level) < FreeDepth - 2;
  end

  fb_common_fifo #(
      .Width($bits(free_t)),
      .Depth(FreeDepth),
      .OutputRegister(1'b1)
  ) u_frees (
      .clk,
      .rst(restart),
      .s_valid(free_push_q),
      .s_ready(),
      .s_data(free_q),
      .m_valid(free_valid),
      .m_ready(free_due),
      .m_data(oldest),
      .level(free_level)
  );

  // Answers that no entry has used yet. The oldest entry leaves in the cycle after its last answer,
  // so there are never more than those of a unit, and one for each entry that left meanwhile.
  logic [UnitBeatBits+1:0] answers_q;
  assign free_due = free_valid && answers_q >= {1'b0, oldest.answers};
  always_ff @(posedge clk) begin
    answers_q <= answers_q + (UnitBeatBits + 2)'(data_valid) -
        (free_due ? {1'b0, oldest.answers} : '0);
    if (restart) answers_q <= '0;
    free_step <= free_due && !oldest.keep && !restart;
  end

  // A beat that is on offer when a restart comes stays on offer. A read that is cut in two by it gets an
  // end, before anything else is sent: a beat that the memory is not asked for.
  logic inside_q, cut_q, abort_q;
  logic [READ_TAG_BITS-1:0] cut_tag_q;
  always_ff @(posedge clk) begin
    if (m_axis_rd.tvalid) cut_tag_q <= m_axis_rd.tid;
    if (rst) inside_q <= 1'b0;
    else if (give) inside_q <= !m_axis_rd.tlast;
    cut_q   <= restart && (m_axis_rd.tvalid ? !m_axis_rd.tlast : inside_q) && !rst;
    abort_q <= cut_q && !restart && !rst;
  end

  always_ff @(posedge clk) begin
    if (send) begin
      beat_q  <= final_beat ? '0 : beat_q + BeatsBits'(skims ? 1 << UnitBeatBits : 1);
      left_q  <= (first_q ? job_beats_m1 : left_q) - 1'b1;
      first_q <= final_beat;
      final_q <= first_q ? job_pair : left_q == BeatsBits'(1);
    end
    credits_q <= credits_q - CreditBits'(send || abort_q) + CreditBits'(pop);
    if (restart) begin
      beat_q <= '0;
      first_q <= 1'b1;
      credits_q <= CreditBits'(FifoDepth) - CreditBits'(beat_valid && !pop);
    end
  end

  // Beside the memory.
  side_t side, out_side;
  assign side = '{
          last: abort_q || job.fail || (job.last && final_beat),
          fail: abort_q || job.fail,
          skip: !abort_q && (job.skip || (job.fail && beat_q != '0)),
          top: (job.last && final_beat) ? job.size[5:0] : 6'h3f,
          tag: abort_q ? cut_tag_q : job.tag,
          code: abort_q ? ERR_HALTED : job.code
      };

  logic [DATA_BITS-1:0] out_word;
  logic out_lost, fail;
  logic ended_q;  // the read has ended with a beat that the memory has lost
  logic stale_q;  // the beat on offer was there before the restart, and nothing behind it
  logic word_there, side_there, lost_there, fifo_rst;
  assign beat_valid = word_there && side_there && lost_there;
  assign fifo_rst   = rst || (restart && !beat_valid);

  if (FifoDepth <= LutDepth) begin : gen_lut
    fb_common_fifo #(
        .Width(DATA_BITS),
        .Depth(FifoDepth)
    ) u_words (
        .clk,
        .rst(fifo_rst),
        .clear(restart),
        .s_valid(data_valid || abort_q),
        .s_ready(),
        .s_data(data),
        .m_valid(word_there),
        .m_ready(pop),
        .m_data(out_word),
        .level()
    );
  end else begin : gen_block
    fb_common_fifo_bram #(
        .Width(DATA_BITS),
        .Depth(FifoDepth)
    ) u_words (
        .clk,
        .rst(fifo_rst),
        .clear(restart),
        .s_valid(data_valid || abort_q),
        .s_ready(),
        .s_data(data),
        .m_valid(word_there),
        .m_ready(pop),
        .m_data(out_word),
        .level()
    );
  end

  // What decides about a beat comes from flip-flops.
  fb_common_fifo #(
      .Width($bits(side_t)),
      .Depth(FifoDepth),
      .OutputRegister(1'b1)
  ) u_sides (
      .clk,
      .rst(fifo_rst),
      .clear(restart),
      .s_valid(send || abort_q),
      .s_ready(),
      .s_data(side),
      .m_valid(side_there),
      .m_ready(pop),
      .m_data(out_side),
      .level()
  );
  fb_common_fifo #(
      .Width(1),
      .Depth(FifoDepth),
      .OutputRegister(WholePages)
  ) u_lost (
      .clk,
      .rst(fifo_rst),
      .clear(restart),
      .s_valid(data_valid || abort_q),
      .s_ready(),
      .s_data(data_error),
      .m_valid(lost_there),
      .m_ready(pop),
      .m_data(out_lost),
      .level()
  );

  assign m_axis_rd.tvalid = beat_valid && !ended_q && !out_side.skip;
  assign give = m_axis_rd.tvalid && m_axis_rd.tready;
  assign pop = give || (beat_valid && (ended_q || out_side.skip));

  assign fail = out_side.fail || out_lost;
  always_ff @(posedge clk) begin
    if (pop && !out_side.skip) ended_q <= !out_side.last && (ended_q || out_lost) && !stale_q;
    if (restart) ended_q <= 1'b0;
    stale_q <= (restart ? beat_valid : stale_q) && !pop && !rst;
  end
  // Only the low byte ever carries a code.
  assign m_axis_rd.tdata = {
    out_word[DATA_BITS-1:CODE_BITS],
    out_side.fail ? out_side.code : fail ? ERR_MEMORY : out_word[CODE_BITS-1:0]
  };

  always_comb begin
    for (int unsigned i = 0; i < DATA_BITS / 8; i++)
    m_axis_rd.tkeep[i] = !fail && (6'(i) <= out_side.top);
  end
  assign m_axis_rd.tlast = out_side.last || out_lost;
  assign m_axis_rd.tuser = fail;
  assign m_axis_rd.tid = out_side.tag;
  assign empty = jobs == '0 && !abort_q && !free_push_q && free_level == '0 && !free_step &&
      credits_q == CreditBits'(FifoDepth);

endmodule

`default_nettype wire
