// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_table: a table with one write port and one read port on the clock.
//
// What:        block RAM and a register behind it, so that its slow output leads nowhere but there; up
//              to 64 words LUT RAM.
// Handshake:   none. `we` high writes `wdata` at `waddr` at the end of the cycle.
// Latency:     read 2 cycles. What is read while it is written is undefined; simulation inverts it.
// Throughput:  one write and one read a cycle.
// Limits:      contents are not reset; they start as zero in simulation and, on FPGAs, in
//              hardware after configuration. Who needs them cleared later sweeps them.
// Does not implement: a read in the same cycle (fb_common_lutram).

`default_nettype none

module fb_common_table #(
    parameter int unsigned Width = 8,  // bits of a word, 1 or more
    parameter int unsigned Depth = 64,  // words, a power of two, 2 or more
    localparam int unsigned AddrBits = $clog2(Depth)
) (
    input wire clk,

    input wire                we,
    input wire [AddrBits-1:0] waddr,
    input wire [   Width-1:0] wdata,

    input  wire  [AddrBits-1:0] raddr,
    output logic [   Width-1:0] rdata
);

  if (Width < 1 || Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_bad_size
    $fatal(
        1, "fb_common_table (%m): Width=%0d must be 1 or more, Depth=%0d 2^n, n > 0", Width, Depth
    );
  end

  (* ram_style = (Depth > 64) ? "block" : "distributed", no_rw_check *)
  logic [Width-1:0] store  [Depth];
  logic [Width-1:0] read_q;

  initial begin : clear_store
    for (int i = 0; i < Depth; i++) store[i] = '0;
  end

  always_ff @(posedge clk) begin : memory
    if (we) store[waddr] <= wdata;
    read_q <= store[raddr];
`ifndef SYNTHESIS
    if (we && waddr == raddr) read_q <= ~store[raddr];
`endif
    rdata <= read_q;
  end

endmodule

`default_nettype wire
