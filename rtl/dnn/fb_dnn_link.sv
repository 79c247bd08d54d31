// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_link: the FIFO between two layers, and words of another size on each side.
//
// What:        a FIFO, in block RAM above 64 words; as wide as the wider of both sides, so that each
//              may be as quick as it is.
// Handshake:   valid/ready; no path from an input to an output.
// Latency:     1 to 4 cycles.
// Throughput:  a word a cycle on each side.

`default_nettype none

module fb_dnn_link #(
    parameter int unsigned From = 4,  // values of 8 bits that come at a time
    parameter int unsigned To = 1,  // that leave at a time
    parameter int unsigned Wide = 4,  // that are kept together, a multiple of both
    parameter int unsigned Depth = 16  // words of Wide values, a power of two, 2 to 65536
) (
    input wire clk,
    input wire rst,

    input  wire                  s_valid,
    output logic                 s_ready,
    input  wire  [From-1:0][7:0] s_data,

    output logic               m_valid,
    input  wire                m_ready,
    output logic [To-1:0][7:0] m_data
);

  logic made_valid, made_ready, kept_valid, kept_ready;
  logic [Wide-1:0][7:0] made, kept;

  fb_dnn_lanes #(
      .From(From),
      .To  (Wide)
  ) u_made (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data,
      .m_valid(made_valid),
      .m_ready(made_ready),
      .m_data (made)
  );

  if (Depth > 64) begin : gen_block
    fb_common_fifo_bram #(
        .Width(Wide * 8),
        .Depth(Depth)
    ) u_fifo (
        .clk,
        .rst,
        .s_valid(made_valid),
        .s_ready(made_ready),
        .s_data (made),
        .m_valid(kept_valid),
        .m_ready(kept_ready),
        .m_data (kept),
        .level  ()
    );
  end else begin : gen_lut
    fb_common_fifo #(
        .Width(Wide * 8),
        .Depth(Depth)
    ) u_fifo (
        .clk,
        .rst,
        .s_valid(made_valid),
        .s_ready(made_ready),
        .s_data (made),
        .m_valid(kept_valid),
        .m_ready(kept_ready),
        .m_data (kept),
        .level  ()
    );
  end

  fb_dnn_lanes #(
      .From(Wide),
      .To  (To)
  ) u_taken (
      .clk,
      .rst,
      .s_valid(kept_valid),
      .s_ready(kept_ready),
      .s_data (kept),
      .m_valid,
      .m_ready,
      .m_data
  );

endmodule

`default_nettype wire
