// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The map of the BAR: what an offset leads to.
//
// A region is an index into the map and into the request ports of fb_bar_target. A new one is an
// entry here and in the streamer's map, not a new AXI target.

`default_nettype none

package fb_bar_pkg;

  localparam int unsigned PAYLOAD = 0;  // the buffer
  localparam int unsigned LISTS = 1;  // PRP lists, computed
  localparam int unsigned QUEUES = 2;  // submission queues are read, completion queues written
  localparam int unsigned REGISTERS = 3;  // control registers
  localparam int unsigned REGIONS = 4;

  // A power of two of bytes at a multiple of its size.
  typedef struct packed {
    logic [31:0] base;  // offset in the BAR
    logic [5:0] bits;  // log2 of its bytes, 12 or more
    logic writable;
  } aperture_t;

  typedef aperture_t [REGIONS-1:0] map_t;

  localparam aperture_t NOWHERE = '{base: '1, bits: 6'd12, writable: 1'b0};

endpackage

`default_nettype wire
