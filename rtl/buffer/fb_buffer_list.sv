// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_buffer_list: 64 bytes of a PRP list, computed (NVMe Base 2.0c 4.1.1).
//
// What:        eight entries that name the eight pages after the first of an aligned group: the list
//              of a unit begins with its second page. All but the last are in the same group.
// Handshake:   none; combinational.
// Does not implement: the end of a list; the SSD reads as many entries as it needs.

`default_nettype none

module fb_buffer_list (
    input wire [63:15] group,      // address of a group of eight pages
    input wire [63:15] next_group, // and of the one after it

    output logic [511:0] entries
);

  always_comb begin
    for (int i = 0; i < 8; i++) begin
      entries[64*i+:64] = {(i == 7) ? next_group : group, 3'(i + 1), 12'd0};
    end
  end

endmodule

`default_nettype wire
