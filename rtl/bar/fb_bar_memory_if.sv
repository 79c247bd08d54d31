// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_bar_memory_if: what the BAR asks of the payload memory.
//
// Handshake:   requests as fb_bar_target makes them; a word and its error come as many cycles after the
//              read was taken as fb_bar is told. What is read next goes on in the same burst while
//              `read_stays`, or else begins at `next_addr`, if `next_valid`.

`default_nettype none

interface fb_bar_memory_if #(
    parameter int unsigned AddrBits = 16  // of a 64-byte word
);

  logic write_valid, write_ready, read_valid, read_ready, read_error, read_stays, next_valid;
  logic [AddrBits-1:0] write_addr, read_addr, next_addr;
  logic [511:0] write_data, read_word;
  logic [63:0] write_strb;

  modport bar(
      output write_valid, write_addr, write_data, write_strb,
      output read_valid, read_addr, read_stays, next_valid, next_addr,
      input write_ready, read_ready, read_word, read_error
  );

  modport memory(
      input write_valid, write_addr, write_data, write_strb,
      input read_valid, read_addr, read_stays, next_valid, next_addr,
      output write_ready, read_ready, read_word, read_error
  );

endinterface

`default_nettype wire
