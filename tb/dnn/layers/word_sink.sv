// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// word_sink: compares words with those of a file, with pauses.
//
// `wrong` from the first word on that differs, is withdrawn or changes while it waits, or is one too
// many; then `number` is that of the word. `cycles` from the reset to the last word, `middle` to that
// in the middle.

`default_nettype none

module word_sink #(
    parameter int unsigned Width = 8,
    parameter int unsigned Words = 1,
    parameter File = ""
) (
    input wire       clk,
    input wire       rst,
    input wire [7:0] stall, // in how many of 256 cycles to pause

    input  wire              s_valid,
    output logic             s_ready,
    input  wire  [Width-1:0] s_data,

    output logic done,
    output logic wrong,
    output logic [31:0] number,
    output logic [31:0] cycles,
    output logic [31:0] middle
);

  logic [Width-1:0] words[Words];
  initial $readmemh(File, words);

  logic waits_q;
  logic [Width-1:0] data_q;
  assign done = number == 32'(Words);

  always_ff @(posedge clk) begin : compare
    s_ready <= 8'($urandom) >= stall;
    waits_q <= s_valid && !s_ready;
    data_q  <= s_data;
    if (waits_q && (!s_valid || s_data != data_q)) wrong <= 1'b1;
    if (s_valid && (done || s_data != words[number])) wrong <= 1'b1;
    if (!wrong && !done) begin
      cycles <= cycles + 1;
      if (s_valid && s_ready) number <= number + 1;
      if (s_valid && s_ready && number == 32'(Words / 2)) middle <= cycles + 1;
    end
    if (rst) begin
      {wrong, number, cycles, middle, waits_q} <= '0;
      s_ready <= stall == '0;
    end
  end

endmodule

`default_nettype wire
