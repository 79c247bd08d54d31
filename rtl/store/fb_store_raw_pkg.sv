// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw_pkg: what the modules of the raw recorder share.

`default_nettype none

package fb_store_raw_pkg;

  // The smallest chunk is the unit of all addresses: 16 KiB.
  localparam int unsigned UNIT_SHIFT = 14;
  localparam int unsigned BEAT_SHIFT = 6;
  localparam int unsigned GAP_RECORDS = 64;

  typedef logic [63:UNIT_SHIFT] unit_t;  // a byte address in units
  typedef logic [6:0] chunk_t;  // units of a chunk, up to 1 MiB, one bit set
  typedef logic [20-BEAT_SHIFT:0] beats_t;  // of a chunk
  typedef logic [63:BEAT_SHIFT] total_t;  // bytes in beats

  // Why a start is refused, as in the register `refused`.
  typedef struct packed {
    logic beyond;
    logic empty;
    logic max;
    logic start;
    logic chunk;
  } refusal_t;

  // Look at a range of addresses and the size of chunks.
  function automatic refusal_t refuse(input logic [63:0] start, input logic [63:0] max,
                                      input logic [31:0] chunk, input logic [63:0] media,
                                      input logic [7:0] block_shift);
    logic [31:0] below;
    below = chunk - 1'b1;
    refuse.chunk = (chunk & below) != '0 || chunk[31:21] != '0 || chunk[20:UNIT_SHIFT] == '0 ||
        block_shift > 8'(UNIT_SHIFT);
    refuse.start = (start[31:0] & below) != '0;
    refuse.max = (max[31:0] & below) != '0;
    refuse.empty = max <= start;
    refuse.beyond = max > media;
  endfunction

endpackage

`default_nettype wire
