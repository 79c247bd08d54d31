// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_ring_ram: the memory of rings, one write port, one read port, one clock, meant for UltraRAM.
//
// What:        a word is read into a pipeline, whose registers a synthesizer moves into the memory
//              blocks: the array's own, its output register, then one or more of the cascade.
// Handshake:   none. A word is written with `we`; the pipeline moves, and a word is read, with `move`.
// Latency:     ReadLatency cycles in which `move` is high. A write is seen from the next cycle on.
// Throughput:  a word a cycle each way.
// Limits:      a word that is written and read in the same cycle is the old one or the new one.
// Does not implement: reset of contents, byte strobes, a second port to write at (fb_payload_ram).

`default_nettype none

module fb_net_ring_ram #(
    parameter int unsigned Width = 512,  // bits of a word, 1 or more
    parameter int unsigned Words = 4096,  // a power of two, 2 or more
    parameter int unsigned ReadLatency = 3,  // cycles, 1 to 16
    localparam int unsigned AddrBits = $clog2(Words)
) (
    input wire clk,

    input wire                we,
    input wire [AddrBits-1:0] waddr,
    input wire [   Width-1:0] wdata,

    input  wire                 move,
    input  wire  [AddrBits-1:0] raddr,
    output logic [   Width-1:0] rdata
);

  if (ReadLatency < 1 || ReadLatency > 16) begin : gen_bad_latency
    $fatal(1, "fb_net_ring_ram (%m): ReadLatency=%0d must be from 1 to 16", ReadLatency);
  end

  (* ram_style = "ultra" *)
  logic [Width-1:0] store[Words];
  logic [Width-1:0] pipe_q[ReadLatency];

  assign rdata = pipe_q[ReadLatency-1];

  always_ff @(posedge clk) begin : memory
    if (we) store[waddr] <= wdata;
    if (move) pipe_q[0] <= store[raddr];
  end

  for (genvar i = 1; i < ReadLatency; i++) begin : gen_pipe
    always_ff @(posedge clk) if (move) pipe_q[i] <= pipe_q[i-1];
  end

endmodule

`default_nettype wire
