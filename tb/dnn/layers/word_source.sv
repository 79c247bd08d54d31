// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// word_source: words of a file, with pauses. What is not valid is noise.

`default_nettype none

module word_source #(
    parameter int unsigned Width = 8,
    parameter int unsigned Words = 1,
    parameter File = ""
) (
    input wire       clk,
    input wire       rst,
    input wire [7:0] idle, // in how many of 256 cycles to pause

    output logic             m_valid,
    input  wire              m_ready,
    output logic [Width-1:0] m_data
);

  logic [Width-1:0] words[Words];
  initial $readmemh(File, words);

  int unsigned next_q;
  logic offers;
  assign offers = next_q < Words && 8'($urandom) >= idle;

  function automatic logic [Width-1:0] noise();
    for (int at = 0; at < int'(Width); at++) noise[at] = 1'($urandom);
  endfunction

  always_ff @(posedge clk) begin : offer
    if (!m_valid || m_ready) begin
      m_valid <= offers;
      m_data  <= offers ? words[next_q] : noise();
      if (offers) next_q <= next_q + 1;
    end
    if (rst) {m_valid, next_q} <= '0;
  end

endmodule

`default_nettype wire
