// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_pkg: what the modules of rtl/store tell each other.

`default_nettype none

package fb_store_pkg;

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
    logic [33:0] seconds;  // the same in seconds: nobody divides
    logic [31:0] crc32c;  // of the payload
    logic has_result;  // class and score count
    logic [15:0] class_;
    logic [31:0] score;  // an IEEE single
  } facts_t;

  // A row of the index (forebay_spec::store::index::Row); what of it is no column is for the page.
  typedef struct packed {
    logic [15:0] flags;
    logic [63:0] address;
    facts_t facts;
  } row_t;

  // What became of an object, from a processing element.
  typedef struct packed {
    logic [31:0] score;   // an IEEE single
    logic [15:0] class_;
    logic [15:0] stream;
    logic [63:0] object;
  } result_t;

endpackage

`default_nettype wire
