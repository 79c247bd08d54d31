// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_rom: the program of a sequencer, in one block RAM.
//
// Handshake:   none; `data` is the word at the `addr` of the cycle before.
// Latency:     1 cycle.
// Limits:      1,024 words.

`default_nettype none

module fb_boot_rom #(
    parameter logic [31:0] Program[1024]  // as `forebay seq` assembles it
) (
    input  wire         clk,
    input  wire  [ 9:0] addr,
    output logic [31:0] data
);

  (* rom_style = "block" *)
  logic [31:0] store[1024];

  initial begin : load
    for (int i = 0; i < 1024; i++) store[i] = Program[i];
  end

  always_ff @(posedge clk) data <= store[addr];

endmodule

`default_nettype wire
