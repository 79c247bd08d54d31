// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_uart: sends characters on a serial line: 8 data bits, no parity, one stop bit.
//
// What:        512 characters wait in LUT RAM. A console never keeps the sequencer waiting: a
//              character that comes while they are full is lost, and pulses `dropped`.
// Handshake:   s_valid takes a character in every cycle in which it is high.
// Latency:     2 cycles from a character to its start bit.
// Throughput:  a character in 10 * ClocksPerBit + 1 cycles.
// Limits:      a reset cuts the character under way: the line is idle from the next cycle on, and
//              the receiver may see a character that is none.
// Does not implement: receiving, parity, flow control.

`default_nettype none

module fb_boot_uart #(
    parameter int unsigned ClocksPerBit = 2170  // cycles of a bit, 2 to 2^24
) (
    input wire clk,
    input wire rst,

    input  wire        s_valid,
    input  wire  [7:0] s_data,
    output logic       dropped,  // pulse: a character was lost
    output logic       txd       // 1 when idle
);

  if (ClocksPerBit < 2 || ClocksPerBit > 1 << 24) begin : gen_bad_clocks
    $fatal(1, "fb_boot_uart (%m): ClocksPerBit=%0d must be from 2 to 2^24", ClocksPerBit);
  end

  localparam int unsigned ClockBits = $clog2(ClocksPerBit);
  localparam logic [3:0] FrameBits = 4'd10;

  logic ready, waits, idle;
  logic [7:0] character;

  fb_common_fifo #(
      .Width(8),
      .Depth(512)
  ) u_characters (
      .clk,
      .rst,
      .s_valid,
      .s_ready(ready),
      .s_data,
      .m_valid(waits),
      .m_ready(idle),
      .m_data (character),
      .level  ()
  );

  always_ff @(posedge clk) dropped <= s_valid && !ready && !rst;

  // The line is the lowest bit; ones come in from above, so that it ends idle.
  logic [ClockBits-1:0] clocks_q;  // left of a bit
  logic [9:0] frame_q;  // stop bit, data, start bit
  logic [3:0] left_q;  // bits of the frame

  assign idle = left_q == '0;
  assign txd  = frame_q[0];

  always_ff @(posedge clk) begin : send
    clocks_q <= clocks_q - 1'b1;
    if (idle || clocks_q == '0) clocks_q <= ClockBits'(ClocksPerBit - 1);
    if (!idle && clocks_q == '0) begin
      frame_q <= {1'b1, frame_q[9:1]};
      left_q  <= left_q - 1'b1;
    end
    if (idle && waits) begin
      frame_q <= {1'b1, character, 1'b0};
      left_q  <= FrameBits;
    end
    if (rst) begin
      frame_q <= '1;
      left_q  <= '0;
    end
  end

endmodule

`default_nettype wire
