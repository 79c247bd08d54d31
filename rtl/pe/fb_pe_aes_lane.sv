// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_aes_lane: encrypts a block of 16 bytes a cycle with AES.
//
// What:        a pipeline of the 14 rounds that a key of 256 bits asks for. With a key of 128 bits a
//              block goes past the first four, in as many cycles: the other ten are its rounds. Round
//              keys come from fb_pe_aes_keys, which is told the slot of each block that enters; several
//              lanes share one.
// Handshake:   none: a block in every cycle, and nothing stops it. Who asks keeps room for the answer,
//              and knows by the latency which block it is.
// Latency:     29 cycles (LANE_LATENCY), whatever the key: two a round, the first of which is a table
//              of eight inputs for each bit.
// Throughput:  16 bytes a cycle.
// Limits:      29 registers of 128 bits, as many bits as 7.25 of 512.
// Does not implement: decryption, for which counter mode has no use.

`default_nettype none

module fb_pe_aes_lane
  import fb_pe_aes_pkg::*;
(
    input wire clk,

    input wire block_t [ROUNDS:0] round_key,  // of the block in that round
    input wire                    goes_past,  // the block at the end of the first four rounds does

    input  wire block_t block,
    output block_t      encrypted
);

  localparam int unsigned PastCycles = ROUND_CYCLES * SKIPPED - 1;

  block_t [ROUNDS:0] state_q;  // behind each round; 0: behind the first round key
  block_t [ROUNDS:1] shifted_q;  // in the middle of each round
  block_t [PastCycles-1:0] past_q;  // the way past the first four
  assign encrypted = state_q[ROUNDS];

  always_ff @(posedge clk) begin : rounds
    state_q[0] <= block ^ round_key[0];
    for (int r = 1; r <= int'(ROUNDS); r++) begin
      shifted_q[r] <= sub_shift(state_q[r-1]);
      state_q[r]   <= mix_columns(shifted_q[r]) ^ round_key[r];
    end
    state_q[ROUNDS] <= shifted_q[ROUNDS] ^ round_key[ROUNDS];
    past_q <= {past_q[PastCycles-2:0], state_q[0]};
    if (goes_past) state_q[SKIPPED] <= past_q[PastCycles-1];
  end

endmodule

`default_nettype wire
