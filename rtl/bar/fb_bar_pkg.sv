// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The map of the BAR: what an offset leads to.
//
// A region is an index into the map and into the request ports of fb_bar_target. A new one is an
// entry here and in the map of fb_bar, not a new AXI target.

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

  // Bytes from a drive's submission queue to its completion queue, for the deepest queues.
  function automatic int unsigned cq_offset(input int unsigned depth);
    return (depth > 64) ? depth * 64 : 4096;
  endfunction

  // log2 of the bytes that payload on the chip has in the BAR, and its lists behind it.
  function automatic int unsigned chip_bits(input int unsigned pages);
    return (pages > fb_spec_pkg::BUFFER_PAGES) ? $clog2(pages) + 12 :
        $clog2(fb_spec_pkg::BUFFER_BYTES);
  endfunction

  // Offset in the BAR of payload on the chip.
  function automatic int unsigned chip_base(input int unsigned pages);
    return (chip_bits(pages) > 23) ? 2 << chip_bits(pages) : fb_spec_pkg::BAR0_DATA;
  endfunction

  // log2 of the bytes of all drives' queues, and their offset in the BAR.
  function automatic int unsigned queue_bits(input int unsigned depth, input int unsigned drives);
    return $clog2(cq_offset(depth)) + 1 + $clog2(drives);
  endfunction

  function automatic int unsigned queue_base(input int unsigned depth, input int unsigned drives);
    return (queue_bits(depth, drives) > 16) ? fb_spec_pkg::BAR0_QUEUES_DEEP :
        fb_spec_pkg::BAR0_QUEUES;
  endfunction

  // A completion queue entry as the SSD wrote it (NVMe Base 2.0c, 3.3.3.2).
  typedef struct packed {
    logic [2:0]                          drive;    // whose queue
    logic [9:0]                          slot;     // where in it
    logic [15:0]                         cid;
    logic [15:0]                         sq_head;
    logic                                phase;
    logic [fb_spec_pkg::STATUS_BITS-1:0] status;
  } completion_t;

endpackage

`default_nettype wire
