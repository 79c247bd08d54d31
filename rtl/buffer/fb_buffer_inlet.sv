// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_buffer_inlet: what the SSD writes into the buffer, as bursts and their words.
//
// What:        writes that go on where the last one ended become one burst, up to the end of their
//              page (fb_buffer_gather); data and strobes wait in a FIFO in block RAM.
// Handshake:   writes as fb_bar_target makes them; bursts and words each have valid and take.
// Latency:     2 cycles from the last beat of a burst to `burst_valid`; a pause of IdleCycles ends
//              one.
// Throughput:  64 B a cycle.
// Does not implement: reads.

`default_nettype none

module fb_buffer_inlet #(
    parameter int unsigned WordBits = 21,  // address of a 64-byte word of the payload
    parameter int unsigned FifoBeats = 512,  // beats that wait
    parameter int unsigned Bursts = 64,  // bursts that wait
    parameter int unsigned IdleCycles = 16  // a pause of the SSD that ends a burst
) (
    input wire clk,
    input wire rst,

    input  wire                 bar_write_valid,
    output logic                bar_write_ready,
    input  wire  [WordBits-1:0] bar_write_addr,
    input  wire  [       511:0] bar_write_data,
    input  wire  [        63:0] bar_write_strb,

    // The burst that grows, and an end to it.
    output logic                open,
    output logic [WordBits-1:0] open_addr,
    output logic                begins,
    input  wire                 flush,

    output logic                    burst_valid,
    input  wire                     burst_take,
    output logic [    WordBits-1:0] burst_addr,
    output logic [             5:0] burst_count_m1,
    output logic [$clog2(Bursts):0] bursts,

    output logic         word_valid,
    input  wire          word_take,
    output logic [511:0] word_data,
    output logic [ 63:0] word_strb
);

  localparam int unsigned LevelBits = $clog2(FifoBeats) + 1;
  localparam int unsigned BurstBits = $clog2(Bursts) + 1;

  logic room_q, take, fifo_ready, burst_end, burst_empty;
  logic [LevelBits-1:0] level;

  always_ff @(posedge clk)
    room_q <= level < LevelBits'(FifoBeats - 4) && bursts < BurstBits'(Bursts - 4);
  assign bar_write_ready = room_q;
  assign take = bar_write_valid && room_q;

  fb_buffer_gather #(
      .AddrBits(WordBits),
      .Depth(Bursts),
      .IdleCycles(IdleCycles)
  ) u_gather (
      .clk,
      .rst,
      .s_valid(take),
      .s_addr(bar_write_addr),
      .s_end(1'b0),
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

  fb_common_deep #(
      .Width(576),
      .Depth(FifoBeats)
  ) u_words (
      .clk,
      .rst,
      .s_valid(take),
      .s_ready(fifo_ready),
      .s_data ({bar_write_strb, bar_write_data}),
      .m_valid(word_valid),
      .m_ready(word_take),
      .m_data ({word_strb, word_data}),
      .level
  );

  // There are no marks.
  logic unused;
  assign unused = &{1'b0, burst_end, burst_empty, fifo_ready, 1'b0};

endmodule

`default_nettype wire
