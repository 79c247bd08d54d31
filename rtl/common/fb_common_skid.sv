// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_skid: register slices on a stream, to cut a long path between two modules.
//
// What:        passes words on in order. Each stage registers valid, data and ready, so that no path
//              leads through it in either direction; a second word waits in it when the receiver
//              stops.
// Handshake:   valid/ready on both sides; a word moves in a cycle in which both are high.
// Latency:     Stages cycles.
// Throughput:  one word a cycle.
// Limits:      two registers of Width bits a stage. Without stages the two sides are connected.
// Does not implement: a level.

`default_nettype none

module fb_common_skid #(
    parameter int unsigned Width  = 8,  // bits of a word, 1 or more
    parameter int unsigned Stages = 1   // register slices in a row, 0 to 4
) (
    input wire clk,
    input wire rst,

    input  wire              s_valid,
    output logic             s_ready,
    input  wire  [Width-1:0] s_data,

    output logic             m_valid,
    input  wire              m_ready,
    output logic [Width-1:0] m_data
);

  if (Width < 1) begin : gen_bad_width
    $fatal(1, "fb_common_skid (%m): Width=%0d must be at least 1", Width);
  end
  if (Stages > 4) begin : gen_bad_stages
    $fatal(1, "fb_common_skid (%m): Stages=%0d must be from 0 to 4", Stages);
  end

  // Between the stages, from the sender to the receiver.
  logic [Stages:0] valid, ready;
  logic [Stages:0][Width-1:0] data;

  assign valid[0] = s_valid;
  assign data[0] = s_data;
  assign s_ready = ready[0];
  assign m_valid = valid[Stages];
  assign m_data = data[Stages];
  assign ready[Stages] = m_ready;

  for (genvar i = 0; i < Stages; i++) begin : gen_stages
    logic valid_q, waits_q, moves;  // a word is on offer, another is behind it
    logic [Width-1:0] data_q, wait_q;

    assign valid[i+1] = valid_q;
    assign data[i+1] = data_q;
    assign ready[i] = !waits_q;
    assign moves = !valid_q || ready[i+1];

    always_ff @(posedge clk) begin : hold
      if (!waits_q) wait_q <= data[i];
      if (moves) data_q <= waits_q ? wait_q : data[i];
    end

    always_ff @(posedge clk) begin : valids
      if (moves) valid_q <= waits_q || valid[i];
      waits_q <= !moves && (waits_q || valid[i]);
      if (rst) begin
        valid_q <= 1'b0;
        waits_q <= 1'b0;
      end
    end
  end

  // Without stages.
  logic unused;
  assign unused = &{1'b0, clk, rst, 1'b0};

endmodule

`default_nettype wire
