// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_check_result: the one checker of results; each processing element that makes some carries one.
//
// What:        a packet that ends an object has one result, which names it by its TID and comes behind
//              its last beat on the way in; others have none. Results come in any order; valid and
//              payload hold.
// Handshake:   watches only; drives nothing.
// Limits:      simulation and formal only: the module is empty in synthesis. A PE that gives a result
//              more than `Patience` cycles behind its packet's end, owes one and has given none for so
//              long, or owes one of 1024 packets before, is stopped.
// Does not implement: a look at what the results are.

`default_nettype none

module fb_pe_check_result
  import fb_spec_pkg::*;
#(
    parameter int unsigned ResultBits = 48,    // of a result
    parameter int unsigned Patience   = 65536  // cycles from a packet's end to a result; 0: any
) (
    input wire clk,
    input wire rst,

    input wire                       in_valid,
    input wire                       in_ready,
    input wire                       in_last,
    input wire [                1:0] in_user,
    input wire [PACKET_TAG_BITS-1:0] in_tid,

    input wire                       valid,
    input wire                       ready,
    input wire [     ResultBits-1:0] data,
    input wire                       user,
    input wire [PACKET_TAG_BITS-1:0] tid
);

  fb_axis_check #(
      .Width(1 + ResultBits + PACKET_TAG_BITS),
      .Name ("m_axis_result")
  ) u_result (
      .clk,
      .rst,
      .valid,
      .ready,
      .data({tid, user, data})
  );

`ifndef SYNTHESIS
  localparam int unsigned Most = 1024;
  localparam int unsigned PlaceBits = $clog2(Most);

  logic [Most-1:0] owes_q;  // by the lowest bits of the tag
  logic [PACKET_TAG_BITS-1:0] tags_q[Most];
  logic [31:0] owed_q;  // how many
  logic [31:0] silent_q;  // cycles without a result
  logic [31:0] now_q, since_q[Most];  // when the packet ended
  logic [PlaceBits-1:0] in_place, place;
  logic ends, given, owed, forgets;

  assign in_place = in_tid[PlaceBits-1:0];
  assign place = tid[PlaceBits-1:0];
  assign ends = in_valid && in_ready && in_last && (in_user & PACKET_ENDS_OBJECT) != '0;
  assign given = valid && ready;
  assign owed = owes_q[place] && tags_q[place] == tid;
  assign forgets = ends && owes_q[in_place] && !(given && owed && place == in_place);

  always_ff @(posedge clk) begin : watch
    if (given && owed) owes_q[place] <= 1'b0;
    if (ends) begin
      owes_q[in_place]  <= 1'b1;
      tags_q[in_place]  <= in_tid;
      since_q[in_place] <= now_q;
    end
    owed_q <= owed_q + 32'(ends && !forgets) - 32'(given && owed);
    now_q <= now_q + 32'd1;
    silent_q <= rst || owed_q == '0 || valid ? '0 : silent_q + 32'd1;
    if (rst) {owes_q, owed_q, now_q} <= '0;
    if (!rst) begin
      result_due :
      assert (!valid || owed)
      else $error("fb_pe_check_result (%m): a result of tag %0d, which has none to come", tid);
      result_comes :
      assert (Patience == 0 || (silent_q < Patience && !forgets))
      else $error("fb_pe_check_result (%m): %0d packets have no result", owed_q);
      result_in_time :
      assert (Patience == 0 || !(valid && owed) || now_q - since_q[place] <= Patience)
      else
        $error("fb_pe_check_result (%m): tag %0d waited %0d cycles", tid, now_q - since_q[place]);
    end
  end
`endif

endmodule

`default_nettype wire
