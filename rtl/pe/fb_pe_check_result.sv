// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_check_result: the one checker of results; each processing element that makes some carries one.
//
// What:        each packet has one result, in order, behind its last beat on the way in; valid and
//              payload hold.
// Handshake:   watches only; drives nothing.
// Limits:      simulation and formal only: the module is empty in synthesis. A PE that owes 1024
//              results, or has owed one and been silent for `Patience` cycles, is held to keep them.
// Does not implement: a look at what the results are.

`default_nettype none

module fb_pe_check_result #(
    parameter int unsigned Patience = 65536  // cycles from a packet's end to a result
) (
    input wire clk,
    input wire rst,

    input wire in_valid,
    input wire in_ready,
    input wire in_last,

    input wire        valid,
    input wire        ready,
    input wire [47:0] data
);

  fb_axis_check #(
      .Width(48),
      .Name ("m_axis_result")
  ) u_result (
      .clk,
      .rst,
      .valid,
      .ready,
      .data
  );

`ifndef SYNTHESIS
  localparam int unsigned Most = 1024;

  logic [31:0] owed_q;  // packets whose end went in, without a result
  logic [31:0] silent_q;  // cycles without a result
  logic ends, given;

  assign ends  = in_valid && in_ready && in_last;
  assign given = valid && ready;

  always_ff @(posedge clk) begin : watch
    if (ends != given) owed_q <= ends ? owed_q + 32'd1 : owed_q - 32'd1;
    silent_q <= rst || owed_q == '0 || valid ? '0 : silent_q + 32'd1;
    if (rst) owed_q <= '0;
    if (!rst) begin
      result_due :
      assert (!valid || owed_q != '0)
      else $error("fb_pe_check_result (%m): a result, and no packet has ended that has none");
      result_comes :
      assert (owed_q < Most && silent_q < Patience)
      else $error("fb_pe_check_result (%m): %0d packets have no result", owed_q);
    end
  end
`endif

endmodule

`default_nettype wire
