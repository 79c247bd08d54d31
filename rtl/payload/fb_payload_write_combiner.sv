// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_write_combiner: write requests, of the write stream or of the SSD, as bursts and their words.
//
// What:        fb_payload_coalescer for the addresses, a FIFO in block RAM for the data beside it.
// Handshake:   beats as in docs/reference/memories.md, always taken: four that are under way
//              when `write_hold` rises still find room. Bursts and words each have valid and take; the
//              words of a burst are there when it is.
// Latency:     2 cycles from the last beat of a burst to `burst_valid`.
// Throughput:  64 B a cycle.
// Does not implement: anything about where bursts go.

`default_nettype none

module fb_payload_write_combiner #(
    parameter int unsigned WordBits = 21,  // address of a 64-byte word
    parameter int unsigned DataBits = 512,  // of a beat, with its strobes where it has any
    parameter int unsigned FifoBeats = 512,  // beats that wait, 128 or more
    parameter int unsigned Bursts = 64,  // bursts that wait, a power of two
    parameter int unsigned Spare = 40,  // of these, for beats and marks that come after a hold
    parameter int unsigned IdleCycles = 0  // a pause that ends a burst; 0: none does
) (
    input wire clk,
    input wire rst,
    input wire flush, // close the burst that grows

    input  wire                 write_valid,
    input  wire  [WordBits-1:0] write_addr,
    input  wire  [DataBits-1:0] write_data,
    input  wire                 write_end,
    output logic                write_hold,

    output logic                open,       // a burst grows,
    output logic [WordBits-1:0] open_addr,  // which begins here
    output logic                begins,     // a new one began in this cycle
    output logic                rests,      // nothing is open or waits

    output logic                    burst_valid,
    input  wire                     burst_take,
    output logic [    WordBits-1:0] burst_addr,
    output logic [             5:0] burst_count_m1,
    output logic                    burst_end,
    output logic                    burst_empty,
    output logic [$clog2(Bursts):0] bursts,

    output logic                word_valid,
    input  wire                 word_take,
    output logic [DataBits-1:0] word_data
);

  if (FifoBeats < 128) begin : gen_bad_beats
    $fatal(1, "fb_payload_write_combiner (%m): FifoBeats=%0d must be 128 or more", FifoBeats);
  end
  if (Bursts <= Spare) begin : gen_bad_bursts
    $fatal(
        1, "fb_payload_write_combiner (%m): Bursts=%0d must be more than Spare=%0d", Bursts, Spare
    );
  end

  localparam int unsigned LevelBits = $clog2(FifoBeats) + 1;
  localparam int unsigned BurstBits = $clog2(Bursts) + 1;

  logic fifo_ready;
  logic [LevelBits-1:0] level;

  fb_payload_coalescer #(
      .AddrBits(WordBits),
      .Depth(Bursts),
      .IdleCycles(IdleCycles)
  ) u_gather (
      .clk,
      .rst,
      .s_valid(write_valid),
      .s_addr(write_addr),
      .s_end(write_end),
      .flush,
      .open,
      .open_addr,
      .begins,
      .m_valid(burst_valid),
      .m_ready(burst_take),
      .m_addr(burst_addr),
      .m_count_m1(burst_count_m1),
      .m_end(burst_end),
      .m_empty(burst_empty),
      .level(bursts)
  );

  fb_common_fifo_bram #(
      .Width(DataBits),
      .Depth(FifoBeats)
  ) u_words (
      .clk,
      .rst,
      .s_valid(write_valid),
      .s_ready(fifo_ready),
      .s_data (write_data),
      .m_valid(word_valid),
      .m_ready(word_take),
      .m_data (word_data),
      .level
  );

  always_ff @(posedge clk)
    write_hold <= level >= LevelBits'(FifoBeats - 8) || bursts >= BurstBits'(Bursts - Spare);
  assign rests = !open && !write_valid && !write_end && !burst_valid;

`ifndef SYNTHESIS
  // Immediate, since it looks at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_word_has_room :
      assert (!write_valid || fifo_ready)
      else $error("fb_payload_write_combiner (%m): a word without room for it");
    end
  end
`else
  logic unused_ready;
  assign unused_ready = fifo_ready;
`endif

endmodule

`default_nettype wire
