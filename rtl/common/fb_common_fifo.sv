// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_fifo: first-word fall-through FIFO in LUT RAM.
//
// What:        one write port, one read port, one clock. The store is memory with an asynchronous
//              read, so a wide FIFO costs LUT RAM and only its pointers are flip-flops. With
//              OutputRegister the oldest word moves on into flip-flops, for narrow words that have
//              far to go.
// Handshake:   valid/ready on both sides; a word moves in a cycle in which both are high. `clear`
//              forgets all words but one that is on offer, so that m_valid does not fall.
// Latency:     1 cycle from a write into the empty FIFO to m_valid, 2 with the register; `level`
//              counts a word from the next cycle on.
// Throughput:  one word a cycle; full and read in the same cycle does not accept a word (s_ready
//              comes from registers alone). With the register and a Depth of 2, two words in three
//              cycles.
// Limits:      no combinational path from any input to any output. Only pointers are reset. While
//              m_valid is low m_data means nothing, and changes.
// Does not implement: two clocks, packet drop, almost-full flags (compare `level` instead).

`default_nettype none

module fb_common_fifo #(
    parameter int unsigned Width = 8,  // bits of a word, 1 or more
    parameter int unsigned Depth = 16,  // words, a power of two, 2 to 1024
    parameter bit OutputRegister = 1'b0,  // m_data comes from flip-flops
    localparam int unsigned AddrBits = $clog2(Depth)
) (
    input wire clk,
    input wire rst,
    input wire clear = 1'b0,

    input  wire              s_valid,
    output logic             s_ready,
    input  wire  [Width-1:0] s_data,

    output logic             m_valid,
    input  wire              m_ready,
    output logic [Width-1:0] m_data,

    output logic [AddrBits:0] level  // words held, 0 to Depth
);

  if (Depth < 2 || Depth > 1024 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "fb_common_fifo (%m): Depth=%0d must be a power of two from 2 to 1024", Depth);
  end
  if (Width < 1) begin : gen_bad_width
    $fatal(1, "fb_common_fifo (%m): Width=%0d must be at least 1", Width);
  end

  localparam logic [AddrBits:0] One = 1, Two = 2;

  (* ram_style = "distributed" *)
  logic [Width-1:0] store[Depth];

  logic [AddrBits-1:0] write_q, read_q;
  logic [AddrBits:0] level_q;
  logic valid_q;
  logic push, pop;
  logic store_pop;  // a word leaves the store

  assign push = s_valid && s_ready;
  assign pop = m_valid && m_ready;

  // The level is exactly Depth when its top bit is set: Depth is a power of two.
  assign s_ready = !level_q[AddrBits];
  assign m_valid = valid_q;
  assign level = level_q;

  if (OutputRegister) begin : gen_register
    logic [Width-1:0] oldest_q;
    logic more_q;  // there are words in the store
    assign store_pop = more_q && (!valid_q || m_ready);
    assign m_data = oldest_q;
    always_ff @(posedge clk) begin : oldest
      if (!valid_q || m_ready) oldest_q <= store[read_q];
      valid_q <= (store_pop && !clear) || (valid_q && !m_ready);
      more_q  <= push || (more_q && !store_pop) || level_q > Two || (level_q == Two && !valid_q);
      if (rst) valid_q <= 1'b0;
      if (rst || clear) more_q <= 1'b0;
    end
  end else begin : gen_store
    assign store_pop = pop;
    assign m_data = store[read_q];
    always_ff @(posedge clk) begin : oldest
      valid_q <= level_q > One || push || (level_q == One && !pop);
      if (clear) valid_q <= valid_q && !m_ready;
      if (rst) valid_q <= 1'b0;
    end
  end

  // What is not valid is written as well, and written over: s_valid leads to no wide enable.
  always_ff @(posedge clk) begin : write_store
    if (s_ready) store[write_q] <= s_data;
  end

  always_ff @(posedge clk) begin : pointers
    if (push) write_q <= write_q + 1'b1;
    if (store_pop) read_q <= read_q + 1'b1;
    if (push != pop) level_q <= push ? level_q + One : level_q - One;
    if (clear) begin
      write_q <= OutputRegister ? read_q : read_q + AddrBits'(valid_q);
      if (OutputRegister) read_q <= read_q;
      level_q <= (AddrBits + 1)'(valid_q && !m_ready);
    end
    if (rst) begin
      write_q <= '0;
      read_q  <= '0;
      level_q <= '0;
    end
  end

`ifndef SYNTHESIS
  // Of registers alone, so immediate: a simulator would sample them for a concurrent one.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      level_matches_pointers :
      assert (AddrBits'(level_q) ==
              AddrBits'(write_q - read_q) + AddrBits'(OutputRegister && valid_q))
      else $error("fb_common_fifo (%m): level %0d, write %0d, read %0d", level_q, write_q, read_q);
      level_in_range :
      assert (level_q <= (AddrBits + 1)'(Depth))
      else $error("fb_common_fifo (%m): level %0d exceeds Depth=%0d", level_q, Depth);
    end
  end
`endif

endmodule

`default_nettype wire
