// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_async: first-word fall-through FIFO in LUT RAM between two clocks.
//
// What:        a word is written with one clock and read with another; each side knows the other's
//              pointer by fb_common_gray_sync, late but never wrong.
// Handshake:   valid/ready on both sides; a word moves in a cycle in which both are high.
// Latency:     2 cycles of s_clk and 3 to 4 of m_clk from a write into the empty FIFO to m_valid.
// Throughput:  one word a cycle of the slower clock where Depth is 16 or more.
// Limits:      any two clocks. Both resets are held together for four cycles of the slower clock.
// Does not implement: a level for the reader, packet drop.

`default_nettype none

module fb_common_async #(
    parameter int unsigned Width = 8,  // bits of a word, 1 or more
    parameter int unsigned Depth = 16,  // words, a power of two, 4 to 1024
    localparam int unsigned AddrBits = $clog2(Depth)
) (
    input  wire               s_clk,
    input  wire               s_rst,
    input  wire               s_valid,
    output logic              s_ready,
    input  wire  [ Width-1:0] s_data,
    output logic [AddrBits:0] s_level,  // words held, or more: what was read is noticed late

    input  wire              m_clk,
    input  wire              m_rst,
    output logic             m_valid,
    input  wire              m_ready,
    output logic [Width-1:0] m_data
);

  if (Depth < 4 || Depth > 1024 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "fb_common_async (%m): Depth=%0d must be a power of two from 4 to 1024", Depth);
  end
  if (Width < 1) begin : gen_bad_width
    $fatal(1, "fb_common_async (%m): Width=%0d must be at least 1", Width);
  end

  (* ram_style = "distributed" *)
  logic [Width-1:0] store[Depth];

  // One bit more than an address: full and empty differ by it.
  logic [AddrBits:0] write_q, read_q, write_seen, read_seen;
  logic push, pop;

  // The level is exactly Depth when its top bit is set: Depth is a power of two.
  assign s_level = write_q - read_seen;
  assign s_ready = !s_level[AddrBits];
  assign m_valid = read_q != write_seen;
  assign m_data = store[read_q[AddrBits-1:0]];
  assign push = s_valid && s_ready;
  assign pop = m_valid && m_ready;

  fb_common_gray_sync #(
      .Width(AddrBits + 1)
  ) u_write (
      .s_clk,
      .s_rst,
      .s_value(write_q),
      .m_clk,
      .m_rst,
      .m_value(write_seen)
  );

  fb_common_gray_sync #(
      .Width(AddrBits + 1)
  ) u_read (
      .s_clk  (m_clk),
      .s_rst  (m_rst),
      .s_value(read_q),
      .m_clk  (s_clk),
      .m_rst  (s_rst),
      .m_value(read_seen)
  );

  always_ff @(posedge s_clk) begin : write_store
    if (push) store[write_q[AddrBits-1:0]] <= s_data;
    write_q <= s_rst ? '0 : write_q + (AddrBits + 1)'(push);
  end

  always_ff @(posedge m_clk) begin : read_store
    read_q <= m_rst ? '0 : read_q + (AddrBits + 1)'(pop);
  end

endmodule

`default_nettype wire
