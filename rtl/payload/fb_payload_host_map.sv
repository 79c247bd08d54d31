// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_host_map: where a page of the payload lies in host memory.
//
// What:        the buffer is in segments of 4 MiB, sixteen for writes, then sixteen for reads, each with
//              an address of its own. Each user of addresses has such a table, and all are written.
// Handshake:   none: `we` sets a segment's address, of which bits 21:0 are not looked at.
// Latency:     `page` to `address` is combinational, through LUT RAM.
// Does not implement: a check that addresses have been set.

`default_nettype none

module fb_payload_host_map #(
    localparam int unsigned SegmentBits = 10,  // log2 of the pages of a segment
    localparam int unsigned PageBits = 5 + SegmentBits
) (
    input wire clk,

    input wire        we,
    input wire [ 4:0] index,  // writes below, reads from 16 on
    input wire [63:0] base,

    input  wire  [PageBits-1:0] page,
    output logic [        63:0] address
);

  logic [63:SegmentBits+12] segment;

  fb_common_lutram #(
      .Width(64 - 12 - SegmentBits),
      .Depth(32)
  ) u_segments (
      .clk,
      .we,
      .waddr(index),
      .wdata(base[63:SegmentBits+12]),
      .raddr(page[PageBits-1:SegmentBits]),
      .rdata(segment)
  );
  assign address = {segment, page[SegmentBits-1:0], 12'd0};

  logic unused;
  assign unused = &{1'b0, base[SegmentBits+11:0], 1'b0};

endmodule

`default_nettype wire
