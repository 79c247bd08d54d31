// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_fifo_bram: first-word fall-through FIFO in block RAM, for wide words in great number.
//
// What:        as fb_common_fifo, with a store that is read on the clock. The oldest word rests in
//              the output register that block RAM has, so the width costs no flip-flops.
// Handshake:   valid/ready on both sides; a word moves in a cycle in which both are high. `clear`
//              forgets all words but one that is on offer, so that m_valid does not fall.
// Latency:     2 cycles from a write into the empty FIFO to m_valid.
// Throughput:  one word a cycle.
// Limits:      no path from an input to an output. Only pointers are reset.
// Does not implement: two clocks, packet drop.

`default_nettype none

module fb_common_fifo_bram #(
    parameter int unsigned Width = 512,  // bits of a word, 1 or more
    parameter int unsigned Depth = 512,  // words in the store, a power of two, 4 to 65536
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

    output logic [AddrBits:0] level  // words in the store, the one on offer not counted
);

  if (Depth < 4 || Depth > 65536 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "fb_common_fifo_bram (%m): Depth=%0d must be a power of two from 4 to 65536", Depth);
  end
  if (Width < 1) begin : gen_bad_width
    $fatal(1, "fb_common_fifo_bram (%m): Width=%0d must be at least 1", Width);
  end

  // A word is not read while it is written: the ports need no bypass.
  (* ram_style = "block", no_rw_check *)
  logic [Width-1:0] store[Depth];
  logic [Width-1:0] oldest_q;
  logic [AddrBits-1:0] write_q, read_q;
  logic [AddrBits:0] level_q;
  logic valid_q, push, fetch;

  assign s_ready = !level_q[AddrBits];
  assign m_valid = valid_q;
  assign m_data = oldest_q;
  assign level = level_q;
  assign push = s_valid && s_ready;
  assign fetch = level_q != '0 && (!valid_q || m_ready);

  always_ff @(posedge clk) begin : memory
    if (s_ready) store[write_q] <= s_data;  // only a pointer knows whether it was valid
    if (fetch) oldest_q <= store[read_q];
  end

  always_ff @(posedge clk) begin : pointers
    if (push) write_q <= write_q + 1'b1;
    if (fetch) read_q <= read_q + 1'b1;
    if (push != fetch) level_q <= push ? level_q + 1'b1 : level_q - 1'b1;
    valid_q <= (fetch && !clear) || (valid_q && !m_ready);
    if (rst || clear) begin
      write_q <= '0;
      read_q  <= '0;
      level_q <= '0;
    end
    if (rst) valid_q <= 1'b0;
  end

`ifndef SYNTHESIS
  // Of registers alone, so immediate: a simulator would sample them for a concurrent one.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      level_matches_pointers :
      assert (AddrBits'(level_q) == AddrBits'(write_q - read_q))
      else
        $error(
            "fb_common_fifo_bram (%m): level %0d, write %0d, read %0d", level_q, write_q, read_q
        );
    end
  end
`endif

endmodule

`default_nettype wire
