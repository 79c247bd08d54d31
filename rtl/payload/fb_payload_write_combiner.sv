// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_write_combiner: write requests, of the write stream or of the SSD, as bursts and their words.
//
// What:        a burst grows as long as the next beat is the next word of the same 4 KiB page. It is
//              closed by a beat that is not, by the end of its page, by `write_end`, by `flush`, or
//              when no beat has come for IdleCycles. Words pass by in order, through block RAM.
// Handshake:   beats as in docs/reference/memories.md, always taken: four that are under way when
//              `write_hold` rises still find room. `write_end` comes with a beat or after it, never in
//              two cycles in a row: the burst of that beat bears the mark; where it has gone already,
//              an empty burst does. Bursts and words each have valid and take; the words of a burst
//              are there when it is.
// Latency:     4 cycles from the last beat of a burst to `burst_valid`.
// Throughput:  64 B a cycle.
// Does not implement: anything about where bursts go.

`default_nettype none

module fb_payload_write_combiner
  import fb_payload_pkg::*;
#(
    parameter int unsigned DataBits = 512,  // of a beat, with its strobes where it has any
    parameter int unsigned FifoBeats = 512,  // beats that wait, 128 or more
    parameter int unsigned Bursts = 64,  // bursts that wait, a power of two
    parameter int unsigned Spare = 40,  // of these, for beats and marks that come after a hold
    parameter int unsigned IdleCycles = 0  // a pause that ends a burst; 0: none does
) (
    input wire clk,
    input wire rst,
    input wire flush, // close the burst that `growing` shows

    input  wire                            write_valid,
    input  wire word_addr_t                write_addr,
    input  wire             [DataBits-1:0] write_data,
    input  wire                            write_end,
    output logic                           write_hold,

    output growing_t growing,
    output logic     rests,    // nothing is open or waits

    output logic                      burst_valid,
    input  wire                       burst_take,
    output burst_t                    burst,
    output logic   [$clog2(Bursts):0] bursts,

    output logic                word_valid,
    input  wire                 word_take,
    output logic [DataBits-1:0] word_data
);

  if (FifoBeats < 128) begin : gen_bad_beats
    $fatal(1, "fb_payload_write_combiner (%m): FifoBeats=%0d must be 128 or more", FifoBeats);
  end
  if (Bursts <= Spare) begin : gen_bad_bursts
    $fatal(1, "fb_payload_write_combiner (%m): Bursts=%0d must exceed Spare=%0d", Bursts, Spare);
  end

  localparam int unsigned IdleBits = (IdleCycles > 1) ? $clog2(IdleCycles + 1) : 1;

  // A beat grows its burst a cycle after its word is stored.
  logic beat_q, end_q;
  logic follows_q;  // its word follows the last beat's in the same page
  word_addr_t addr_q, next_q;
  always_ff @(posedge clk) begin
    {beat_q, end_q} <= rst ? 2'b00 : {write_valid, write_end};
    addr_q <= write_addr;
    follows_q <= write_addr == next_q;
    if (write_valid) next_q <= {write_addr.page, write_addr.word + 6'd1};
  end

  request_t burst_q;
  burst_t   pushed;
  logic open_q, mark_q, done_q;
  logic [IdleBits-1:0] idle_q;
  logic [$clog2(FifoBeats):0] level;
  logic goes_on, alone, idle, push, bursts_ready, words_ready;

  // To the last word of a page its first one would follow; done_q is set then.
  assign goes_on = open_q && !done_q && follows_q;
  assign alone = end_q && !beat_q;
  assign idle = IdleCycles != 0 && idle_q == IdleBits'(IdleCycles);
  assign push = (open_q && (done_q || (beat_q && !goes_on))) || (alone && !open_q);

  // A mark that comes alone is that of the burst which leaves just now.
  assign pushed = {!open_q, !open_q || mark_q || alone, burst_q};

  always_ff @(posedge clk) begin : grow
    if (beat_q) begin
      burst_q.count_m1 <= goes_on ? burst_q.count_m1 + 1'b1 : '0;
      if (!goes_on) burst_q.addr <= addr_q;
    end
    if (beat_q || end_q) mark_q <= end_q;
    done_q <= end_q || flush || (beat_q ? addr_q.word == '1 : idle);
    open_q <= beat_q || (open_q && !push);
    idle_q <= beat_q ? '0 : idle_q + IdleBits'(!idle);
    write_hold <= int'(level) >= FifoBeats - 8 || int'(bursts) >= Bursts - Spare;
    if (rst) open_q <= 1'b0;
  end

  assign growing = '{open: open_q, addr: burst_q.addr, begins: beat_q && !goes_on};
  assign rests   = !write_valid && !write_end && !beat_q && !end_q && !open_q && bursts == '0;

  fb_common_fifo #(
      .Width($bits(burst_t)),
      .Depth(Bursts),
      .OutputRegister(1'b1)
  ) u_bursts (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(bursts_ready),
      .s_data (pushed),
      .m_valid(burst_valid),
      .m_ready(burst_take),
      .m_data (burst),
      .level  (bursts)
  );

  fb_common_fifo_bram #(
      .Width(DataBits),
      .Depth(FifoBeats)
  ) u_words (
      .clk,
      .rst,
      .s_valid(write_valid),
      .s_ready(words_ready),
      .s_data (write_data),
      .m_valid(word_valid),
      .m_ready(word_take),
      .m_data (word_data),
      .level
  );

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_bursts_have_room :
      assert (!push || bursts_ready)
      else $error("fb_payload_write_combiner (%m): a burst without room for it");
      a_one_mark_a_burst :
      assert (!(open_q && mark_q && alone))
      else $error("fb_payload_write_combiner (%m): a second mark for the same burst");
      a_word_has_room :
      assert (!write_valid || words_ready)
      else $error("fb_payload_write_combiner (%m): a word without room for it");
    end
  end
`endif

endmodule

`default_nettype wire
