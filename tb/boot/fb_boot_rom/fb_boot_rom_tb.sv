// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_rom_tb: fb_boot_rom with a program in which each word is another.

`default_nettype none

module fb_boot_rom_tb (
    input  wire         clk,
    input  wire  [ 9:0] addr,
    output logic [31:0] data
);

  typedef logic [31:0] program_t[1024];

  function automatic program_t different();
    for (int unsigned i = 0; i < 1024; i++) different[i] = 32'h9E37_79B1 * (i + 1);
  endfunction

  localparam logic [31:0] Program[1024] = different();

  fb_boot_rom #(.Program(Program)) u_dut (.*);

endmodule

`default_nettype wire
