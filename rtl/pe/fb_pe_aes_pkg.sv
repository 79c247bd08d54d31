// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_aes_pkg: what the rounds of AES are made of; FIPS 197 has the names and the sections.

`default_nettype none

package fb_pe_aes_pkg;

  localparam int unsigned SLOTS = 8;  // keys that are held
  localparam int unsigned SLOT_BITS = $clog2(SLOTS);
  localparam int unsigned ROUNDS = 14;  // with a key of 256 bits
  localparam int unsigned SKIPPED = 4;  // of them, with a key of 128 bits
  localparam int unsigned ROUND_CYCLES = 2;  // of a block in fb_pe_aes_lane
  localparam int unsigned LANE_LATENCY = 1 + ROUND_CYCLES * ROUNDS;

  // The standard's byte 0 lowest: byte r + 4c is that of row r and column c (section 3.4). A word of
  // a key is a column.
  typedef logic [15:0][7:0] block_t;
  typedef logic [3:0][7:0] word_t;

  // Times x, modulo x^8 + x^4 + x^3 + x + 1 (section 4.2).
  function automatic logic [7:0] times_x(input logic [7:0] a);
    times_x = {a[6:0], 1'b0} ^ (a[7] ? 8'h1b : 8'h00);
  endfunction

  // Section 5.1.1: the inverse of each byte, transformed. x + 1 generates all bytes but 0: while
  // `power` runs through its powers, `inverse` runs through those of its inverse.
  function automatic logic [255:0][7:0] substitutes();
    logic [7:0] power, inverse;
    power = 8'd1;
    inverse = 8'd1;
    substitutes = '0;
    for (int i = 0; i < 255; i++) begin
      power   = power ^ times_x(power);
      inverse = inverse ^ (inverse << 1);
      inverse = inverse ^ (inverse << 2);
      inverse = inverse ^ (inverse << 4);
      if (inverse[7]) inverse = inverse ^ 8'h09;
      substitutes[power] = inverse ^ {inverse[6:0], inverse[7]} ^ {inverse[5:0], inverse[7:6]} ^
          {inverse[4:0], inverse[7:5]} ^ {inverse[3:0], inverse[7:4]} ^ 8'h63;
    end
    substitutes[0] = 8'h63;
  endfunction

  localparam logic [255:0][7:0] SBOX = substitutes();

  // SubBytes and ShiftRows: row r is rotated by r columns.
  function automatic block_t sub_shift(input block_t a);
    for (int c = 0; c < 4; c++) begin
      for (int r = 0; r < 4; r++) sub_shift[4*c+r] = SBOX[a[4*((c+r)%4)+r]];
    end
  endfunction

  // MixColumns: 2, 3, 1, 1 times the byte and those below it.
  function automatic block_t mix_columns(input block_t a);
    logic [7:0] b0, b1, b2, b3;
    for (int c = 0; c < 4; c++) begin
      for (int r = 0; r < 4; r++) begin
        b0 = a[4*c+r];
        b1 = a[4*c+(r+1)%4];
        b2 = a[4*c+(r+2)%4];
        b3 = a[4*c+(r+3)%4];
        mix_columns[4*c+r] = times_x(b0 ^ b1) ^ b1 ^ b2 ^ b3;
      end
    end
  endfunction

  // SubWord and RotWord of the key expansion (section 5.2).
  function automatic word_t sub_word(input word_t a);
    for (int i = 0; i < 4; i++) sub_word[i] = SBOX[a[i]];
  endfunction

  function automatic word_t rot_word(input word_t a);
    rot_word = {a[0], a[3:1]};
  endfunction

endpackage

`default_nettype wire
