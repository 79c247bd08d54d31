// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Buses that the test alone drives.

`default_nettype none

module fb_axi_if_tb (
    input wire clk,
    input wire rst
);

  fb_axi_if axi (.*);
  fb_axil_if axil (.*);

endmodule

`default_nettype wire
