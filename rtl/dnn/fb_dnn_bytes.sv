// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_bytes: takes any number of bytes from beats of 64.
//
// What:        two beats lie here, and how far the first one has been taken. What is left over at a
//              packet's end is given back to the next packet of that stream.
// Handshake:   beats valid/ready. `load` begins a packet with the bytes that were left over; `take`
//              bytes, at most 63 and no more than `available`, leave in each cycle, none while
//              `moving`; `pass` throws beats away.
// Latency:     `window` has them two cycles later, the first one lowest.
// Throughput:  63 bytes a cycle.
// Limits:      512-bit registers: four.
// Does not implement: bytes that are left over with `pass`.

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

    input  wire  [5:0] take,
    input  wire        pass,
    output logic [7:0] available,
    output logic       moving,     // the next beat comes to the front: nothing can be taken
    output logic       ended,      // all of the packet is here
    output logic [1:0][7:0] front,     // the next two bytes

    output logic [8*GROUP_BYTES-1:0] window
);

  // The beat in front, whose first `at_q` bytes were taken, and the one behind it.
  logic [USER_DATA_BITS-1:0] front_q, back_q;
  logic [6:0] at_q, next_at, front_bytes_q, back_bytes_q;
  logic back_valid_q, moves, accept, ended_q;

  assign next_at = at_q + 7'(take);
  assign moves = back_valid_q && (next_at >= front_bytes_q || pass);
  assign moving = at_q == front_bytes_q;
  assign available = 8'(front_bytes_q - at_q) + (back_valid_q ? 8'(back_bytes_q) : 8'd0);
  assign ended = ended_q;
  assign s_ready = !ended_q && !load && (!back_valid_q || moves);
  assign accept = s_valid && s_ready;

  always_ff @(posedge clk) begin : move
    at_q <= pass ? front_bytes_q : next_at;
    if (moves) begin
      back_valid_q <= 1'b0;
      if (!pass) begin
        front_q <= back_q;
        front_bytes_q <= back_bytes_q;
        at_q <= next_at - front_bytes_q;
      end
    end
    if (accept) begin
      back_q <= s_data;
      back_bytes_q <= s_bytes;
      back_valid_q <= 1'b1;
      ended_q <= s_last;
    end
    if (load) begin
      front_q[USER_DATA_BITS-1-:16] <= carry_bytes[0] ? {carry[0], 8'd0} : carry;
      front_bytes_q <= 7'(USER_BEAT_BYTES);
      at_q <= 7'(USER_BEAT_BYTES) - 7'(carry_bytes);
      {back_valid_q, ended_q} <= '0;
    end
    if (rst) {back_valid_q, ended_q} <= {1'b0, 1'b1};
  end

  // ------------------------------------------------------------------------------------- window
  // Shifted by whole sixteens of bytes, then by the rest.
  localparam int unsigned Coarse = 8 * (GROUP_BYTES + 15);
  logic [2*USER_DATA_BITS-1:0] both;
  logic [Coarse-1:0] coarse, coarse_q;
  logic [3:0] fine_q;
  assign both = {back_q, front_q};
  assign front = 16'(both >> {at_q[5:0], 3'd0});

  always_comb begin : choose
    unique case (at_q[5:4])
      2'd0: coarse = both[0+:Coarse];
      2'd1: coarse = both[128+:Coarse];
      2'd2: coarse = both[256+:Coarse];
      default: coarse = both[384+:Coarse];
    endcase
  end

  always_ff @(posedge clk) begin : shift
    if (take != '0) {coarse_q, fine_q} <= {coarse, at_q[3:0]};
    window <= (8 * GROUP_BYTES)'(coarse_q >> {fine_q, 3'd0});
  end

`ifndef SYNTHESIS
  only_what_is_there :
  assert property (@(posedge clk) disable iff (rst) take != '0 |-> 8'(take) <= available && !moving)
  else $error("fb_dnn_bytes (%m): %0d bytes are taken, %0d are there", take, available);
`endif

endmodule

`default_nettype wire
