// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// word_watch: compares words that pass inside a module with those of a file.

`default_nettype none

module word_watch #(
    parameter int unsigned Width = 8,
    parameter int unsigned Words = 1,
    parameter File = "",
    parameter Name = ""
) (
    input wire clk,
    input wire rst,
    input wire passes,
    input wire [Width-1:0] data
);

  logic [Width-1:0] words[Words];
  initial $readmemh(File, words);

  int unsigned number_q;

  always_ff @(posedge clk) begin : compare
    if (passes) begin
      number_q <= number_q + 1;
      if (number_q >= Words || data != words[number_q])
        $fatal(1, "%s: word %0d is %h, not as due", Name, number_q, data);
    end
    if (rst) number_q <= '0;
  end

  final begin : all_came
    if (number_q != Words) $error("%s: %0d of %0d words", Name, number_q, Words);
  end

endmodule

`default_nettype wire
