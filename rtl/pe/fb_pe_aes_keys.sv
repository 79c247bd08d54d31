// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_aes_keys: eight AES keys, expanded, for the lanes that share them.
//
// What:        the words of a key are staged here, for one slot at a time: a word of another slot
//              forgets those before. `load` expands them into the slot's round keys and forgets them;
//              `clear` removes the slot's key, and its words where they are staged. Round keys are in
//              LUT RAM, one for each round: in a round stands the key of the block that is there. A
//              reset removes all keys, from the memory too.
// Handshake:   `word_valid`, `load` and `clear` are pulses while `busy` is low, `load` only while
//              `loadable` is high. No block of a slot may be in a lane while that slot changes.
// Latency:     a load keeps it busy for 51 cycles (128 bits) or 71 (256 bits), a clear not at all, a
//              reset for 8.
// Throughput:  the round keys of one block in each lane, every cycle.
// Limits:      key material leaves only as round keys, for lanes. 512-bit registers: none.
// Does not implement: keys of 192 bits.

`default_nettype none

module fb_pe_aes_keys
  import fb_pe_aes_pkg::*;
(
    input wire clk,
    input wire rst,

    input  wire  [SLOT_BITS-1:0] slot,        // that the next ones are about
    input  wire                  word_valid,
    input  wire  [          2:0] word_index,
    input  wire  [         31:0] word,        // its first byte lowest
    input  wire                  load,
    input  wire                  load_256,    // all eight words are the key; else the first four
    input  wire                  clear,
    output logic                 loadable,    // all words of such a key of this slot are staged
    output logic                 busy,
    output logic [    SLOTS-1:0] key_set,
    output logic [    SLOTS-1:0] key_256,

    input  wire    [SLOT_BITS-1:0] block_slot,   // of the blocks that enter the lanes
    output block_t [ROUNDS:0] round_key,  // of those that are in each round
    output logic goes_past  // see fb_pe_aes_lane
);

  localparam int unsigned Words = 8;  // of a key of 256 bits
  localparam int unsigned RowBits = $clog2(ROUNDS + 1);

  typedef enum logic [1:0] {
    Idle,
    Wipe,
    Expand
  } state_e;

  state_e state_q;
  word_t [Words-1:0] words_q;  // staged; while it expands those on which the next one depends
  logic [Words-1:0] staged_q;
  logic [SLOT_BITS-1:0] staged_slot_q;
  logic [SLOT_BITS-1:0] slot_q;  // that is wiped or expanded
  logic wide_q;  // it gets a key of 256 bits
  logic [RowBits-1:0] row_q;  // round keys before words_q[3:0]
  logic [2:0] column_q;  // 0: these are one; then its words are shifted out, 1 to 4
  logic [7:0] rcon_q;
  logic same_slot, row_whole, done;

  assign same_slot = slot == staged_slot_q;
  assign loadable = same_slot && &staged_q[3:0] && (!load_256 || &staged_q[7:4]);
  assign busy = state_q != Idle;
  assign row_whole = column_q == '0;
  assign done = row_whole && row_q == RowBits'(wide_q ? ROUNDS : ROUNDS - SKIPPED);

  // The next word (section 5.2): where it is the first of a round key, the word before is substituted
  // in a cycle of its own, and rotated but for every other round key of a long key.
  word_t newest_q, substituted_q, derived, next_word;
  logic rotates, shifts;
  assign rotates = !(wide_q && row_q[0]);
  assign derived = rotates ? rot_word(substituted_q) ^ 32'(rcon_q) : substituted_q;
  assign next_word = words_q[0] ^ (column_q == 3'd1 ? derived : newest_q);
  assign shifts = state_q == Expand && !row_whole;

  always_ff @(posedge clk) begin : stage
    if (word_valid) begin
      staged_slot_q <= slot;
      if (!same_slot) {words_q, staged_q} <= '0;
      words_q[word_index]  <= word;
      staged_q[word_index] <= 1'b1;
    end
    substituted_q <= sub_word(newest_q);
    if (state_q == Idle) newest_q <= load_256 ? words_q[7] : words_q[3];
    if (shifts) begin
      newest_q <= next_word;
      words_q  <= {next_word, words_q[Words-1:1]};
      if (!wide_q) words_q[3] <= next_word;
    end
    if ((state_q == Expand && done) || (clear && same_slot) || rst) {words_q, staged_q} <= '0;
  end

  always_ff @(posedge clk) begin : expand
    case (state_q)
      Idle: begin
        slot_q <= slot;
        wide_q <= load_256;
        {row_q, column_q, rcon_q} <= {RowBits'(0), 3'd0, 8'd1};
        if (load) state_q <= Expand;
        if (load || clear) key_set[slot] <= 1'b0;
      end
      Wipe: begin
        slot_q <= slot_q + 1'b1;
        if (&slot_q) state_q <= Idle;
      end
      default: begin
        column_q <= column_q[2] ? '0 : column_q + 1'b1;
        if (column_q[2]) begin
          row_q <= row_q + 1'b1;
          if (rotates) rcon_q <= times_x(rcon_q);
        end
        if (done) begin
          state_q <= Idle;
          key_set[slot_q] <= 1'b1;
          key_256[slot_q] <= wide_q;
        end
      end
    endcase
    if (rst) begin
      state_q <= Wipe;
      slot_q  <= '0;
      key_set <= '0;
      key_256 <= '0;
    end
  end

  // ----------------------------------------------------------------------------------------- memory
  // A slot is wiped before it is loaded: a short key has no use for four of the rows.
  logic wipes;
  logic [RowBits-1:0] row;  // the round that this round key is of
  logic [SLOT_BITS-1:0] write_slot;
  block_t write_key;

  assign wipes = state_q == Wipe || (state_q == Idle && (load || clear));
  assign row = wide_q || row_q == '0 ? row_q : row_q + RowBits'(SKIPPED);
  assign write_slot = state_q == Idle ? slot : slot_q;
  assign write_key = wipes ? '0 : words_q[3:0];

  localparam int unsigned Cycles = ROUND_CYCLES * ROUNDS;

  logic [Cycles:0][SLOT_BITS-1:0] slots;  // of the blocks that came N cycles ago
  logic [Cycles:1][SLOT_BITS-1:0] slots_q;
  assign slots = {slots_q, block_slot};

  always_ff @(posedge clk) begin : follow
    slots_q   <= slots[Cycles-1:0];
    goes_past <= !key_256[slots[ROUND_CYCLES*SKIPPED-1]];
  end

  for (genvar r = 0; r <= ROUNDS; r++) begin : gen_rounds
    fb_common_lutram #(
        .Width($bits(block_t)),
        .Depth(SLOTS)
    ) u_keys (
        .clk,
        .we(wipes || (state_q == Expand && row_whole && row == RowBits'(r))),
        .waddr(write_slot),
        .wdata(write_key),
        .raddr(slots[ROUND_CYCLES*r]),
        .rdata(round_key[r])
    );
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin : watch
    waits_while_busy :
    assert (rst || !busy || !(load || clear))
    else $error("fb_pe_aes_keys (%m): load or clear while busy");
    loads_whole_keys :
    assert (rst || !load || loadable)
    else $error("fb_pe_aes_keys (%m): load of slot %0d without all words of its key", slot);
  end
`endif

endmodule

`default_nettype wire
