// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_pkg: what the modules of rtl/store tell each other.

`default_nettype none

package fb_store_pkg;
  import fb_spec_pkg::*;
  import fb_store_rom_pkg::RESULT_BITS;
  import fb_store_rom_pkg::NONCE_BITS;

  // What is known of an extent from its beginning on: the word that announces it.
  typedef struct packed {
    logic [NONCE_BITS-1:0] nonce;
    logic [PACKET_HEAD_BITS-1:0] head;
  } metadata_t;

  // A beat of an extent on its way to the SSD; bytes behind its end are zero.
  typedef struct packed {
    logic broken;  // with `last`: not a whole object
    logic cut;     // with `last`: the extent goes on as another one
    logic last;
    logic [6:0] bytes;
    logic [USER_DATA_BITS-1:0] data;
  } beat_t;

  // What of an extent lies in one place, or found none. Most extents are one part.
  typedef struct packed {
    logic        whole;    // nothing of the object is missing in it
    logic        cut;      // another part follows
    logic        skipped;
    logic [7:0]  code;     // of the streamer, once it has answered
    logic [63:0] address;
    logic [63:0] done;     // bytes of the extent in earlier parts
    logic [31:0] length;
    logic [31:0] crc32c;
  } part_t;

  // Beats that a batch or a part has.
  localparam int unsigned SPAN_BITS = 32 - $clog2(USER_BEAT_BYTES);
  localparam int unsigned ALIGN_BITS = 3;  // of an alignment: pages, as a power of two
  localparam int unsigned HEADER_BEATS = 512 / USER_BEAT_BYTES;  // of a tar file; all is in such blocks
  typedef logic [SPAN_BITS-1:0] span_t;

  // A small extent that is in the memory whole, and whose header is made.
  typedef struct packed {
    span_t span;  // what it takes in a batch: header, payload, zeros
    logic [31:0] crc32c;
  } small_t;

  // What the page in front of an extent says of it (forebay_spec::store::page::Facts).
  typedef struct packed {
    logic [15:0] stream;
    logic [63:0] object;
    logic [63:0] offset;  // where in the object the extent begins, in bytes
    logic [31:0] length;  // bytes of payload
    logic whole;  // a whole object
    logic [31:0] missing;  // frames that are missing before it; all ones: or more
    logic [31:0] sequence_;  // number of its first frame
    logic [31:0] epoch;  // which run of the sender
    logic [63:0] time_;  // when it began, ns since 1970
    logic [33:0] seconds;  // the same in seconds, so that no module has to divide
    logic [31:0] crc32c;  // of the payload
    logic [NONCE_BITS-1:0] nonce;  // 0: there is none
    logic [31:0] received;  // bytes that came from the network; 0 where another part follows
    logic has_result;  // `result` counts
    logic [RESULT_BITS-1:0] result;  // its columns, the first one lowest
  } facts_t;

  // What a part is, with what is known of its extent. The magic in its header was checked by the
  // network side.
  function automatic facts_t facts_of(input metadata_t extent, input part_t part);
    logic first, unused;
    logic [63:0] missing;
    logic [PACKET_HEAD_BITS-1:0] head;
    head = extent.head;
    unused = &{1'b0, head, part};
    first = (head[8*FRAMING_FLAGS_AT+:8] & 8'(FRAMING_FIRST)) != '0;
    missing = head[8*FRAMING_BYTES+:64];
    facts_of = '0;
    facts_of.stream = head[8*FRAMING_STREAM_AT+:16];
    facts_of.object = head[8*FRAMING_OBJECT_AT+:64];
    facts_of.offset = (first ? '0 : head[8*FRAMING_PLACE_AT+:64]) + part.done;
    facts_of.length = part.length;
    facts_of.whole = part.whole;
    facts_of.missing = part.done != '0 ? '0 : missing[63:32] != '0 ? '1 : missing[31:0];
    facts_of.sequence_ = head[8*FRAMING_SEQUENCE_AT+:32];
    facts_of.epoch = head[8*FRAMING_EPOCH_AT+:32];
    facts_of.time_ = head[8*PACKET_NS_AT+:64];
    facts_of.seconds = head[8*PACKET_SECONDS_AT+:34];
    facts_of.crc32c = part.crc32c;
    facts_of.nonce = extent.nonce;
  endfunction

  // A row of the index (forebay_spec::store::index::Row); what of it is no column is for the page.
  typedef struct packed {
    logic [15:0] flags;
    logic [63:0] address;
    facts_t facts;
  } row_t;

  // The row of a part, without a result.
  function automatic row_t row_of(input metadata_t extent, input part_t part);
    row_of.flags = ROW_COUNTS | (part.whole ? ROW_WHOLE : '0) | (part.cut ? ROW_CUT : '0) |
        (part.skipped ? ROW_SKIPPED : '0);
    if (part.code != ERR_OK) row_of.flags |= ROW_FAILED | 16'(part.code) << ROW_CODE_LSB;
    row_of.address = part.address;
    row_of.facts   = facts_of(extent, part);
  endfunction

  // Beats of so many bytes, up to the end of a block.
  function automatic span_t blocks_of(input logic [31:0] bytes);
    return span_t'((33'(bytes) + 33'd511) >> 9) << $clog2(HEADER_BEATS);
  endfunction

  // Bytes that TKEEP has, which are without holes: the places of its end, of which one is set.
  function automatic logic [6:0] bytes_of(input logic [USER_BEAT_BYTES-1:0] keep);
    bytes_of = {keep[USER_BEAT_BYTES-1], 6'd0};
    for (int k = 0; k < 6; k++)
    for (int at = (1 << k) - 1; at + (1 << k) < USER_BEAT_BYTES; at += 2 << k)
    bytes_of[k] = bytes_of[k] || (keep[at] && !keep[at+(1<<k)]);
  endfunction

  // What became of an object, from a processing element.
  typedef struct packed {
    logic unjudged;  // nothing: the columns mean nothing
    logic [RESULT_BITS-1:0] columns;
  } result_t;

endpackage

`default_nettype wire
