// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_pkg: what the modules of rtl/store tell each other.

`default_nettype none

package fb_store_pkg;
  import fb_spec_pkg::*;

  // The same with what the extent table adds when the extent comes: its tag, a number so long that a
  // result may name it as late as it likes, and the time.
  typedef struct packed {
    logic [PACKET_TAG_BITS-1:0] tag;
    logic [33:0] seconds;  // since 1970, so that no module has to divide
    logic [63:0] time_;  // the same in ns
    logic [PACKET_HEAD_BITS-1:0] head;
  } tagged_t;

  // What the page in front of an extent says of it (forebay_spec::store::page::Facts).
  typedef struct packed {
    logic [15:0] stream;
    logic [63:0] object;
    logic [63:0] offset;  // where in the object the extent begins, in bytes
    logic [31:0] length;  // bytes of payload
    logic whole;  // a whole object
    logic [31:0] missing;  // frames that are missing before it; all ones: or more
    logic [63:0] sequence_;  // number of its first frame
    logic [7:0] sender;  // the sender's session
    logic [63:0] time_;  // when it began, ns since 1970
    logic [33:0] seconds;  // the same in seconds, so that no module has to divide
    logic [31:0] crc32c;  // of the payload
    logic has_result;  // class and score count
    logic [15:0] class_;
    logic [31:0] score;  // an IEEE single
  } facts_t;

  // What is known of an extent's part that begins `done` bytes behind its beginning. The magic in its
  // header was checked by the network side.
  function automatic facts_t facts_of(input tagged_t extent, input logic [63:0] done);
    logic first, unused;
    logic [63:0] missing;
    logic [PACKET_HEAD_BITS-1:0] head;
    head = extent.head;
    unused = &{1'b0, head[8*FRAMING_FLAGS_AT-1:0], extent.tag};
    first = (head[8*FRAMING_FLAGS_AT+:8] & 8'(FRAMING_FIRST)) != '0;
    missing = head[8*FRAMING_BYTES+:64];
    facts_of = '0;
    facts_of.stream = head[8*FRAMING_STREAM_AT+:16];
    facts_of.object = head[8*FRAMING_OBJECT_AT+:64];
    facts_of.offset = (first ? '0 : head[8*FRAMING_PLACE_AT+:64]) + done;
    facts_of.missing = done != '0 ? '0 : missing[63:32] != '0 ? '1 : missing[31:0];
    facts_of.sequence_ = head[8*FRAMING_SEQUENCE_AT+:64];
    facts_of.sender = head[8*FRAMING_SESSION_AT+:8];
    facts_of.time_ = extent.time_;
    facts_of.seconds = extent.seconds;
  endfunction

  // A row of the index (forebay_spec::store::index::Row); what of it is no column is for the page.
  typedef struct packed {
    logic [PACKET_TAG_BITS-1:0] tag;  // of the extent
    logic [15:0] flags;
    logic [63:0] address;
    facts_t facts;
  } row_t;

  // What became of an object, from a processing element.
  typedef struct packed {
    logic unjudged;  // nothing: class and score mean nothing
    logic [15:0] class_;
    logic [31:0] score;  // an IEEE single
  } result_t;

endpackage

`default_nettype wire
