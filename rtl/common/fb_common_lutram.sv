// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_lutram: LUT RAM with one write port and one asynchronous read port.
//
// What:        a small table, written on the clock, read in the same cycle as the address.
// Handshake:   none. `we` high writes `wdata` at `waddr` at the end of the cycle.
// Latency:     write to read 1 cycle (a read of the address being written sees the old word);
//              read 0 cycles: raddr to rdata is combinational.
// Throughput:  one write and one read a cycle.
// Limits:      contents are not reset; they start as zero in simulation and, on FPGAs, in
//              hardware after configuration. Who needs them cleared later sweeps them.
// Does not implement: byte strobes, a second read port (instantiate it twice).

`default_nettype none

module fb_common_lutram #(
    parameter int unsigned Width = 8,  // bits of a word, 1 or more
    parameter int unsigned Depth = 64,  // words, 2 or more; any number
    localparam int unsigned AddrBits = $clog2(Depth)
) (
    input wire clk,

    input wire                we,
    input wire [AddrBits-1:0] waddr,
    input wire [   Width-1:0] wdata,

    input  wire  [AddrBits-1:0] raddr,
    output logic [   Width-1:0] rdata
);

  if (Depth < 2) begin : gen_bad_depth
    $fatal(1, "fb_common_lutram (%m): Depth=%0d must be at least 2", Depth);
  end
  if (Width < 1) begin : gen_bad_width
    $fatal(1, "fb_common_lutram (%m): Width=%0d must be at least 1", Width);
  end

  (* ram_style = "distributed" *)
  logic [Width-1:0] store[Depth];

  initial begin : clear_store
    for (int i = 0; i < Depth; i++) store[i] = '0;
  end

  assign rdata = store[raddr];

  always_ff @(posedge clk) begin : write_store
    if (we) store[waddr] <= wdata;
  end

`ifndef SYNTHESIS
  write_in_range :
  assert property (@(posedge clk) we |-> int'(waddr) < Depth)
  else $error("fb_common_lutram (%m): waddr %0d, Depth=%0d", waddr, Depth);
`endif

endmodule

`default_nettype wire
