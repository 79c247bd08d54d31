// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_pkg: what processing elements know of a packet from its first beat on.

`default_nettype none

package fb_pe_pkg;
  import fb_spec_pkg::*;

  // Packets between the entry and the end of the chain, at most: as many are known there.
  localparam int unsigned INSIDE = 32;

  // The extent that a packet is.
  typedef struct packed {
    logic        back;    // it is read to be sent; else it was received, and is stored
    logic [15:0] stream;
    logic [31:0] epoch;   // which run of the sender
    logic [63:0] object;
    logic [63:0] offset;  // where in the object it begins, in bytes; 0: the object begins with it
    logic [63:0] size;    // bytes of the whole object where it begins and the sender knows; else 0
    logic [63:0] time_;   // when the extent began, ns since 1970
    logic [63:0] nonce;   // a number that no byte at this offset of another object has
  } extent_t;

  // Which object an extent is of.
  typedef struct packed {
    logic [15:0] stream;
    logic [31:0] epoch;
    logic [63:0] object;
  } object_t;

  // To the registers of an element, over AXI4-Lite: reads and writes have the same address ...
  typedef struct packed {
    logic [$clog2(ELEMENTS_WINDOW_BYTES)-1:0] addr;
    logic [31:0] wdata;
    logic [3:0] wstrb;
    logic awvalid, wvalid, bready, arvalid, rready;
  } axil_request_t;

  // ... and back.
  typedef struct packed {
    logic awready, wready, bvalid, arready, rvalid;
    logic [1:0] bresp, rresp;
    logic [31:0] rdata;
  } axil_response_t;

  // For one cycle: a half of an element's settings for streams whose number ends with these bits.
  typedef struct packed {
    logic valid;
    logic upper;
    logic [$clog2(ELEMENTS_STREAMS)-1:0] stream;
    logic [31:0] word;
  } setting_write_t;

  // The extent of the word that announces it.
  function automatic extent_t extent_of(input logic [PACKET_HEAD_BITS-1:0] head,
                                        input logic [63:0] nonce);
    logic first, unused;
    logic [63:0] place;
    unused = &{1'b0, head};
    first = (head[8*FRAMING_FLAGS_AT+:8] & 8'(FRAMING_FIRST)) != '0;
    place = head[8*FRAMING_PLACE_AT+:64];
    extent_of.back = 1'b0;
    extent_of.stream = head[8*FRAMING_STREAM_AT+:16];
    extent_of.epoch = head[8*FRAMING_EPOCH_AT+:32];
    extent_of.object = head[8*FRAMING_OBJECT_AT+:64];
    extent_of.offset = first ? '0 : place;
    extent_of.size = first ? place : '0;
    extent_of.time_ = head[8*PACKET_NS_AT+:64];
    extent_of.nonce = nonce;
  endfunction

endpackage

`default_nettype wire
