// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_statistics: frames, bytes and the time of the last one, by cause.
//
// What:        sixteen causes in LUT RAM, three words each; a cause that was not seen since reset
//              reads as zero. Reading the frames holds what belongs to them: the bytes and the time
//              read next are those of the same frames.
// Handshake:   an event in any cycle, no ready. `req` asks for a word, `ack` answers with it for one
//              cycle, once no event wants the memory; the next `req` comes after `ack`.
// Latency:     an event counts in the next cycle; 2 cycles from `req` to `ack`, and one more for
//              each event between.
// Limits:      counts are modulo 2^64.
// Does not implement: clearing by software.

`default_nettype none

module fb_net_statistics (
    input wire clk,
    input wire rst,

    input wire [63:0] now,

    input wire        s_valid,
    input wire [ 3:0] s_cause,
    input wire [13:0] s_bytes,

    input  wire         req,
    input  wire  [ 5:0] addr,  // four words a cause: frames, bytes, time, 0
    output logic        ack,
    output logic [63:0] data
);

  typedef struct packed {
    logic [63:0] last;
    logic [63:0] bytes;
    logic [63:0] frames;
  } row_t;

  logic [15:0] seen_q;
  logic asked_q;
  logic [5:0] addr_q;
  logic [3:0] cause;
  logic [63:0] held_bytes_q, held_last_q;
  row_t stored, row;

  assign cause = s_valid ? s_cause : addr_q[5:2];
  assign row   = seen_q[cause] ? stored : '0;

  fb_common_lutram #(
      .Width($bits(row_t)),
      .Depth(16)
  ) u_rows (
      .clk,
      .we   (s_valid),
      .waddr(s_cause),
      .wdata({now, row.bytes + 64'(s_bytes), row.frames + 64'd1}),
      .raddr(cause),
      .rdata(stored)
  );

  always_ff @(posedge clk) begin : answer
    if (s_valid) seen_q[s_cause] <= 1'b1;
    if (req) addr_q <= addr;
    asked_q <= req || (asked_q && s_valid);
    ack <= asked_q && !s_valid;
    if (asked_q && !s_valid && addr_q[1:0] == 2'd0)
      {held_bytes_q, held_last_q} <= {row.bytes, row.last};
    unique case (addr_q[1:0])
      2'd0: data <= row.frames;
      2'd1: data <= held_bytes_q;
      2'd2: data <= held_last_q;
      default: data <= '0;
    endcase
    if (rst) begin
      seen_q <= '0;
      asked_q <= 1'b0;
      ack <= 1'b0;
    end
  end

endmodule

`default_nettype wire
