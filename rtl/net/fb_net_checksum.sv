// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_checksum: the ones' complement sum of 16-bit words (RFC 1071) over a frame, 64 bytes a cycle.
//
// What:        adds the bytes that `s_keep` names, each at its place in a word, and a seed.
// Handshake:   no ready. `m_valid` is high for a cycle for each `s_last`.
// Latency:     4 cycles from `s_last` to `m_valid`.
// Throughput:  64 bytes a cycle; a frame of one beat in every cycle.
// Limits:      a frame has at most 2^15 beats. Words are in wire order: byte 0 is the upper half.
//              512-bit registers: none; keep that is constant 0 takes its adders away.
// Does not implement: the complement. Over data with a right checksum the sum is 0xffff: `m_right`.

`default_nettype none

module fb_net_checksum
  import fb_spec_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire                       s_valid,
    input wire                       s_first,
    input wire                       s_last,
    input wire [ USER_DATA_BITS-1:0] s_data,
    input wire [USER_BEAT_BYTES-1:0] s_keep,
    input wire [               16:0] s_seed,   // with s_first: added to the sum

    output logic        m_valid,
    output logic [15:0] m_sum,
    output logic        m_right   // it is 0xffff
);

  localparam int unsigned Groups = USER_BEAT_BYTES / 8;  // of four words

  // The sum of words in the other byte order is the sum in the other byte order (RFC 1071, 2 (B)):
  // words are added as they lie, and the sum is turned.
  logic [17:0] group_q[Groups];
  logic [21:0] beat_q, beat;
  logic [31:0] total_q, total;
  logic [16:0] once_q, seed_q;
  logic [2:0] valid_q, last_q;
  logic [ 1:0] first_q;
  logic [15:0] folded;

  always_comb begin : add_groups
    beat = '0;
    for (int g = 0; g < int'(Groups); g++) beat += 22'(group_q[g]);
  end

  assign total   = 32'(beat_q) + (first_q[1] ? '0 : total_q);
  assign folded  = once_q[15:0] + 16'(once_q[16]);
  assign m_sum   = {folded[7:0], folded[15:8]};
  // With a carry or without: no adder is waited for.
  assign m_right = once_q[15:1] == '1 && once_q[16] != once_q[0];

  logic [USER_DATA_BITS-1:0] kept;
  always_comb begin : mask
    for (int i = 0; i < int'(USER_BEAT_BYTES); i++) kept[8*i+:8] = s_data[8*i+:8] & {8{s_keep[i]}};
  end

  always_ff @(posedge clk) begin : add
    for (int g = 0; g < int'(Groups); g++) begin
      group_q[g] <= 18'(kept[64*g+:16]) + 18'(kept[64*g+16+:16]) + 18'(kept[64*g+32+:16]) +
          18'(kept[64*g+48+:16]);
    end
    seed_q <= s_first ? {s_seed[16], s_seed[7:0], s_seed[15:8]} : '0;
    // The carry of the seed's upper half, in the words' order, is a one in the upper byte.
    beat_q <= beat + 22'(seed_q[15:0]) + (seed_q[16] ? 22'h100 : '0);
    if (valid_q[1]) total_q <= total;
    once_q <= 17'(total_q[15:0]) + 17'(total_q[31:16]);
  end

  always_ff @(posedge clk) begin : steps
    valid_q <= {valid_q[1:0], s_valid && !rst};
    first_q <= {first_q[0], s_first};
    last_q  <= {last_q[1:0], s_last};
    m_valid <= valid_q[2] && last_q[2];
    if (rst) begin
      valid_q <= '0;
      m_valid <= 1'b0;
    end
  end

endmodule

`default_nettype wire
