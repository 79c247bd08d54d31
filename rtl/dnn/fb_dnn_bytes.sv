// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_bytes: takes any number of bytes from beats of 64.
//
// What:        two beats lie here, and how far the first one has been taken. What is left over at a
//              packet's end is given back to the next packet of that stream.
// Handshake:   beats valid/ready. `load` begins a packet with the bytes that were left over. A group of
//              63 bytes at most or a few, no more than `available`, leave in each cycle, none while
//              `moving`; `pass` throws away what is here and comes.
// Latency:     `window` has them two cycles later, the first one lowest.
// Throughput:  63 bytes a cycle.
// Limits:      512-bit registers: four.
// Does not implement: gaps: a beat with bytes missing before the packet's last one.

`default_nettype none

module fb_dnn_bytes
  import fb_spec_pkg::*;
  import fb_dnn_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire            load,
    input wire [1:0][7:0] carry,       // the earlier byte lower
    input wire [1:0]      carry_bytes, // 0 to 2

    input  wire                       s_valid,
    output logic                      s_ready,
    input  wire  [USER_DATA_BITS-1:0] s_data,
    input  wire  [               6:0] s_bytes,
    input  wire                       s_last,

    // A group of bytes or a few, both known before it is decided which.
    input  wire        takes,
    input  wire  [5:0] group_bytes,
    input  wire        takes_few,
    input  wire  [1:0] few,
    input  wire        pass,
    output logic [7:0] available,
    output logic       moving,       // the next beat comes to the front: nothing can be taken
    output logic       ended,        // all of the packet is here

    output logic [8*GROUP_BYTES-1:0] window
);

  // The beat in front, of which `at_q` bytes were taken, and the one behind it. All but a packet's last
  // beat are full, so the front one is where another follows.
  logic [USER_DATA_BITS-1:0] front_q, back_q;
  logic [6:0] at_q, next_at;
  logic [7:0] left_group, left_few, left, left_with_beat;  // behind what is taken
  logic back_valid_q, moves, accept;

  assign next_at = takes ? at_q + 7'(group_bytes) : takes_few ? at_q + 7'(few) : at_q;
  // Each outcome is known before it is decided what is taken, and whether a beat comes.
  assign left_group = available - 8'(group_bytes);
  assign left_few = available - 8'(few);
  assign left = takes ? left_group : takes_few ? left_few : available;
  assign left_with_beat = takes ? left_group + 8'(s_bytes) :
      takes_few ? left_few + 8'(s_bytes) : available + 8'(s_bytes);
  assign moves = back_valid_q && next_at[6];
  assign moving = at_q[6];
  assign s_ready = !ended && !load && (!back_valid_q || moves || pass);
  assign accept = s_valid && s_ready;

  always_ff @(posedge clk) begin : move
    at_q <= next_at;
    available <= accept ? left_with_beat : left;
    if (moves) begin
      front_q <= back_q;
      at_q[6] <= 1'b0;
      back_valid_q <= 1'b0;
    end
    if (accept) begin
      back_q <= s_data;
      back_valid_q <= 1'b1;
      ended <= s_last;
    end
    if (pass) begin
      available <= '0;
      back_valid_q <= 1'b0;
    end
    if (load) begin
      front_q[USER_DATA_BITS-1-:16] <= carry_bytes[0] ? {carry[0], 8'd0} : carry;
      at_q <= 7'(USER_BEAT_BYTES) - 7'(carry_bytes);
      available <= 8'(carry_bytes);
      {back_valid_q, ended} <= '0;
    end
    if (rst) {back_valid_q, ended} <= {1'b0, 1'b1};
  end

  // ------------------------------------------------------------------------------------- window
  // Shifted by sixteens of bytes, then by fours, then by single ones: a choice of four each.
  localparam int unsigned Coarse = 8 * (GROUP_BYTES + 15);
  localparam int unsigned Fine = 8 * (GROUP_BYTES + 3);
  localparam int unsigned Both = 3 * 128 + Coarse;
  logic [Both-1:0] both;
  logic [Coarse-1:0] coarse, coarse_q;
  logic [Fine-1:0] fine;
  logic [3:0] fine_q;
  assign both = {back_q[Both-USER_DATA_BITS-1:0], front_q};

  always_comb begin : choose
    coarse = at_q[5] ? (at_q[4] ? both[384+:Coarse] : both[256+:Coarse]) :
        at_q[4] ? both[128+:Coarse] : both[0+:Coarse];
    fine = fine_q[3] ? (fine_q[2] ? coarse_q[96+:Fine] : coarse_q[64+:Fine]) :
        fine_q[2] ? coarse_q[32+:Fine] : coarse_q[0+:Fine];
  end

  always_ff @(posedge clk) begin : shift
    if (takes || takes_few) {coarse_q, fine_q} <= {coarse, at_q[3:0]};
    window <= (8 * GROUP_BYTES)'(fine >> {fine_q[1:0], 3'd0});
  end

`ifndef SYNTHESIS
  only_what_is_there :
  assert property (@(posedge clk) disable iff (rst)
                   takes || takes_few |-> left <= available && !moving)
  else $error("fb_dnn_bytes (%m): more than the %0d bytes that are there are taken", available);
`endif

endmodule

`default_nettype wire
