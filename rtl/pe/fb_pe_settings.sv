// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_settings: the settings of an element, by the stream that a packet is of.
//
// What:        gives the settings of streams whose number ends with the same four bits: those that were
//              set for them, else `cfg`. They count from their upper half on, so that the two halves
//              change at once.
// Handshake:   none.
// Latency:     0 cycles from the stream; 1 from a write.
// Throughput:  a stream in every cycle.
// Limits:      16 settings. Those of a stream are steady while its packets are inside.
//              512-bit registers: none.
// Does not implement: reading them back.

`default_nettype none

module fb_pe_settings
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire setting_write_t write,

    input  wire  [63:0] cfg,
    input  wire  [15:0] stream,
    output logic [63:0] settings
);

  localparam int unsigned PlaceBits = $clog2(ELEMENTS_STREAMS);

  logic [31:0] lower_q;  // of the settings whose upper half comes next
  logic sets;
  logic [ELEMENTS_STREAMS-1:0] known_q;
  logic [PlaceBits-1:0] place;
  logic [63:0] found;
  logic unused;

  assign place = stream[PlaceBits-1:0];
  assign unused = &{1'b0, stream[15:PlaceBits]};
  assign sets = write.valid && write.upper;
  assign settings = known_q[place] ? found : cfg;

  always_ff @(posedge clk) begin : keep
    if (write.valid && !write.upper) lower_q <= write.word;
    if (sets) known_q[write.stream] <= 1'b1;
    if (rst) known_q <= '0;
  end

  fb_common_lutram #(
      .Width(64),
      .Depth(ELEMENTS_STREAMS)
  ) u_settings (
      .clk,
      .we   (sets),
      .waddr(write.stream),
      .wdata({write.word, lower_q}),
      .raddr(place),
      .rdata(found)
  );

endmodule

`default_nettype wire
