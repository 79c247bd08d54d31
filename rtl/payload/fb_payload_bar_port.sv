// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_bar_port: the BAR's side of a memory on the chip: reads and writes take turns at its one port.
//
// Handshake:   requests as fb_bar_target makes them. A write goes first; a read that waited has the
//              next cycle. Port B as fb_payload_ram has it.
// Latency:     none; a word comes ReadLatency cycles after its read was taken.
// Throughput:  64 B a cycle for both together.
// Does not implement: anything that keeps a word; the memory does.

`default_nettype none

module fb_payload_bar_port #(
    parameter int unsigned AddrBits = 16  // of a 64-byte word
) (
    input wire clk,
    input wire rst,

    fb_bar_memory_if.memory bar_memory,

    output logic                b_en,
    output logic [        63:0] b_we,
    output logic [AddrBits-1:0] b_addr,
    output logic [       511:0] b_wdata,
    input  wire  [       511:0] b_rdata
);

  logic read_first_q, writes;
  always_ff @(posedge clk) read_first_q <= bar_memory.read_valid && !bar_memory.read_ready && !rst;

  assign writes = bar_memory.write_valid && !read_first_q;
  assign bar_memory.write_ready = !read_first_q;
  assign bar_memory.read_ready = !writes;
  assign bar_memory.read_word = b_rdata;
  assign bar_memory.read_error = 1'b0;

  assign b_en = writes || bar_memory.read_valid;
  assign b_we = writes ? bar_memory.write_strb : '0;
  assign b_addr = AddrBits'(writes ? bar_memory.write_addr : bar_memory.read_addr);
  assign b_wdata = bar_memory.write_data;

endmodule

`default_nettype wire
