// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_rom: constants of a network, from a file.
//
// What:        a word is read on the clock: block RAM with contents, up to 64 words LUT.
// Handshake:   none; `data` holds until the next cycle with `enable`.
// Latency:     1 cycle.
// Limits:      an address of Depth or more reads nothing that is known.

`default_nettype none

module fb_dnn_rom #(
    parameter int unsigned Width = 8,  // bits of a word
    parameter int unsigned Depth = 64,  // words
    parameter File = "",  // a word a line, in hexadecimal digits
    localparam int unsigned AddrBits = Depth > 1 ? $clog2(Depth) : 1
) (
    input  wire                 clk,
    input  wire                 enable,
    input  wire  [AddrBits-1:0] address,
    output logic [   Width-1:0] data
);

  if (Width < 1 || Depth < 1 || File == "") begin : gen_bad_size
    $fatal(
        1,
        "fb_dnn_rom (%m): Width=%0d and Depth=%0d must be 1 or more, File='%s' must be named",
        Width,
        Depth,
        File
    );
  end

  (* rom_style = (Depth > 64) ? "block" : "auto" *)
  logic [Width-1:0] store[Depth];
  initial $readmemh(File, store);

  always_ff @(posedge clk) if (enable) data <= store[address];

endmodule

`default_nettype wire
