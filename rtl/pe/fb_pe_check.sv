// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_check: the one checker of processing elements; each carries one, and a chain one a stage.
//
// What:        watches what goes into a PE and what comes out of it. Of packets: one comes out for
//              each that went in, in order, and not before that one's end, with the TID that it had.
//              TUSER may say that the packet is a part where it was none; else it stays.
//              Of beats: TKEEP is all ones before the last one, and there one or more from bit 0;
//              TUSER stands with TLAST; valid and payload hold. A packet that is inside as a whole
//              goes on without another one coming.
// Handshake:   watches only; drives nothing.
// Limits:      simulation and formal only: the module is empty in synthesis. A PE that has 1024
//              packets inside, or has one and no beat comes out for `Patience` cycles, is held to
//              swallow them.
// Does not implement: a look at what the bytes are.

`default_nettype none

module fb_pe_check
  import fb_spec_pkg::*;
#(
    parameter int unsigned Patience = 65536,  // cycles from a packet's end to a beat
    parameter int unsigned Bits = USER_DATA_BITS  // of a beat
) (
    input wire clk,
    input wire rst,

    input wire in_valid,
    input wire in_ready,
    input wire in_last,
    input wire [1:0] in_user,
    input wire [PACKET_TAG_BITS-1:0] in_tid,

    input wire                       out_valid,
    input wire                       out_ready,
    input wire [           Bits-1:0] out_data,
    input wire [         Bits/8-1:0] out_keep,
    input wire                       out_last,
    input wire [                1:0] out_user,
    input wire [PACKET_TAG_BITS-1:0] out_tid
);

  fb_axis_check #(
      .Width(Bits + Bits / 8 + 3 + PACKET_TAG_BITS),
      .Name ("m_axis_object")
  ) u_out (
      .clk,
      .rst,
      .valid(out_valid),
      .ready(out_ready),
      .data ({out_data, out_keep, out_last, out_user, out_tid})
  );

`ifndef SYNTHESIS
  localparam int unsigned Most = 1024;
  localparam int unsigned PlaceBits = $clog2(Most);

  logic [31:0] came_q, gone_q;  // packets whose end went in, and came out; modulo 2^32
  typedef struct packed {
    logic [1:0] user;
    logic [PACKET_TAG_BITS-1:0] tid;
  } packet_t;
  packet_t inside_q[Most], due;
  logic [31:0] silent_q;  // cycles without a beat
  logic begins_q;  // the next beat begins a packet
  logic [PACKET_TAG_BITS-1:0] tid_q;  // of the last one
  logic enters, leaves, empty;

  assign enters = in_valid && in_ready && in_last;
  assign leaves = out_valid && out_ready && out_last;
  assign empty = came_q == gone_q;
  // An element of wires has the end of a packet on both sides in the same cycle.
  assign due = empty ? '{in_user, in_tid} : inside_q[gone_q[PlaceBits-1:0]];

  always_ff @(posedge clk) begin : follow
    if (enters) begin
      inside_q[came_q[PlaceBits-1:0]] <= '{in_user, in_tid};
      came_q <= came_q + 32'd1;
    end
    if (leaves) gone_q <= gone_q + 32'd1;
    if (out_valid && out_ready) {begins_q, tid_q} <= {out_last, out_tid};
    silent_q <= rst || empty || out_valid ? '0 : silent_q + 32'd1;
    if (rst) begin
      came_q   <= '0;
      gone_q   <= '0;
      begins_q <= 1'b1;
    end
  end

  always_ff @(posedge clk) begin : watch
    if (!rst && leaves) begin
      packet_due :
      assert (!empty || enters)
      else $error("fb_pe_check (%m): a packet ends that has not ended on its way in");
      user_kept :
      assert ((out_user | PACKET_PART) == (due.user | PACKET_PART) && out_user >= due.user)
      else $error("fb_pe_check (%m): TUSER of the packet is %b, and was %b", out_user, due.user);
      tid_kept :
      assert (out_tid == due.tid)
      else $error("fb_pe_check (%m): TID of the packet is %0d, and was %0d", out_tid, due.tid);
    end
    if (!rst && out_valid) begin
      tid_steady :
      assert (begins_q || out_tid == tid_q)
      else $error("fb_pe_check (%m): TID changes from %0d to %0d in a packet", tid_q, out_tid);
      keep_exact :
      assert (out_last ? out_keep[0] && (out_keep & (out_keep + 1'b1)) == '0 : &out_keep)
      else $error("fb_pe_check (%m): TKEEP is %x with TLAST %b", out_keep, out_last);
      user_with_last :
      assert (out_last || out_user == '0)
      else $error("fb_pe_check (%m): TUSER without TLAST");
    end
    goes_on :
    assert (rst || silent_q < Patience)
    else $error("fb_pe_check (%m): a packet is inside, and no beat comes out");
    none_swallowed :
    assert (rst || came_q - gone_q < Most)
    else $error("fb_pe_check (%m): %0d packets went in since one came out", Most);
  end
`endif

endmodule

`default_nettype wire
