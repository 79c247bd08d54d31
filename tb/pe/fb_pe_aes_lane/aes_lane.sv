// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// aes_lane: two lanes that share the keys of fb_pe_aes_keys, for their test.

`default_nettype none

module aes_lane
  import fb_pe_aes_pkg::*;
(
    input wire clk,
    input wire rst,

    input  wire  [SLOT_BITS-1:0] slot,
    input  wire                  word_valid,
    input  wire  [          2:0] word_index,
    input  wire  [         31:0] word,
    input  wire                  load,
    input  wire                  load_256,
    input  wire                  clear,
    output logic                 loadable,
    output logic                 busy,
    output logic [    SLOTS-1:0] key_set,
    output logic [    SLOTS-1:0] key_256,

    input  wire  [SLOT_BITS-1:0] block_slot,
    input  wire  [        127:0] block_0,
    input  wire  [        127:0] block_1,
    output logic [        127:0] encrypted_0,
    output logic [        127:0] encrypted_1
);

  block_t [ROUNDS:0] round_key;
  logic goes_past;

  fb_pe_aes_keys u_keys (.*);

  fb_pe_aes_lane u_lane_0 (
      .clk,
      .round_key,
      .goes_past,
      .block(block_0),
      .encrypted(encrypted_0)
  );

  fb_pe_aes_lane u_lane_1 (
      .clk,
      .round_key,
      .goes_past,
      .block(block_1),
      .encrypted(encrypted_1)
  );

endmodule

`default_nettype wire
