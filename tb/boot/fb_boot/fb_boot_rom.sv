// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_rom of a bench: the program comes from a file, so that one model runs them all.

`default_nettype none

module fb_boot_rom #(
    /* verilator lint_off UNUSEDPARAM */
    parameter logic [31:0] Program[1024]
    /* verilator lint_on UNUSEDPARAM */
) (
    input  wire         clk,
    input  wire  [ 9:0] addr,
    output logic [31:0] data
);

  logic [31:0] store[1024];
  initial $readmemh("program.hex", store);

  always_ff @(posedge clk) data <= store[addr];

endmodule

`default_nettype wire
