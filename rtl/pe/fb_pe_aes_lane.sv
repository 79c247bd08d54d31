// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_aes_lane: encrypts a block of 16 bytes a cycle with AES.
//
// What:        a pipeline of the 14 rounds that a key of 256 bits asks for. With a key of 128 bits the
//              first four pass the block on as it is, and the other ten are its rounds. The round keys
//              come from fb_pe_aes_keys, which is told the slot of each block that enters; several
//              lanes share one.
// Handshake:   none: a block in every cycle, and nothing stops it. Who asks keeps room for the answer,
//              and knows by the latency which block it is.
// Latency:     15 cycles (LANE_LATENCY), whatever the key.
// Throughput:  16 bytes a cycle.
// Limits:      512-bit registers: the 15 of 128 bits are as many bits as 3.75.
// Does not implement: decryption, for which counter mode has no use.

`default_nettype none

module fb_pe_aes_lane
  import fb_pe_aes_pkg::*;
(
    input wire clk,

    input wire block_t [ROUNDS:0] round_key,    // of the block in that round
    input wire         [ROUNDS:0] round_passes,

    input  wire block_t block,
    output block_t      encrypted
);

  block_t [ROUNDS:0] state_q;  // behind each round; 0: behind the first key
  assign encrypted = state_q[ROUNDS];

  always_ff @(posedge clk) begin : rounds
    state_q[0] <= block ^ round_key[0];
    for (int r = 1; r < int'(ROUNDS); r++) begin
      state_q[r] <= mix_columns(sub_shift(state_q[r-1])) ^ round_key[r];
      if (r <= int'(SKIPPED) && round_passes[r]) state_q[r] <= state_q[r-1];
    end
    state_q[ROUNDS] <= sub_shift(state_q[ROUNDS-1]) ^ round_key[ROUNDS];
  end

  // Only the first rounds are ever passed.
  logic unused;
  assign unused = &{1'b0, round_passes};

endmodule

`default_nettype wire
