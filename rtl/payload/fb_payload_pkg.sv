// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What the parts of a payload memory in DRAM, on the board or the host's, say to each other. A *word*
// is 64 bytes, a beat of AXI.

`default_nettype none

package fb_payload_pkg;

  // Index of a page and of a word; the highest bit is set in the half for reads.
  localparam int unsigned DRAM_PAGE_BITS = $clog2(fb_spec_pkg::DRAM_WINDOW_BYTES) - 12;
  localparam int unsigned DRAM_WORD_BITS = DRAM_PAGE_BITS + 6;

  typedef struct packed {
    logic [DRAM_PAGE_BITS-1:0] page;
    logic [5:0]                word;
  } word_addr_t;

  // Words of one page to be read.
  typedef struct packed {
    word_addr_t addr;
    logic [5:0] count_m1;
  } request_t;

  // Words of one page to be written.
  typedef struct packed {
    logic       empty;     // there are none: it only bears the mark
    logic       mark;      // ends a write request
    word_addr_t addr;
    logic [5:0] count_m1;
  } burst_t;

  // A burst to which words may still come.
  typedef struct packed {
    logic       open;    // there is one,
    word_addr_t addr;    // which begins here
    logic       begins;  // a new one began in this cycle
  } growing_t;

endpackage

`default_nettype wire
