// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_onchip: the payload buffer on the chip, with the interface of those in DRAM.
//
// What:        a memory of two ports (fb_payload_ram). The streams' requests take turns at one, the
//              SSD's at the other (fb_payload_bar_port).
// Handshake:   docs/reference/memories.md; the SSD's side as fb_bar_target has it. A beat to be written
//              goes first; while one is to be read, `write_hold` keeps every second cycle free.
// Order:       what is written is committed at once: the SSD's side sees it in the next cycle.
// Latency:     none on the way in; words ReadLatency cycles after their request.
// Throughput:  64 B a cycle for the streams, and for the SSD.
// Does not implement: anything that can fail, or is under way when the streams' side rests.

`default_nettype none

module fb_payload_onchip #(
    parameter int unsigned Pages = 1024,  // a power of two
    parameter int unsigned ReadLatency = 3,  // cycles, 2 to 16; fb_payload_ram says of what
    localparam int unsigned WordBits = $clog2(Pages) + 6
) (
    input wire clk,
    input wire rst,

    fb_payload_stream_if.memory streams,
    fb_bar_memory_if.memory bar_memory  // the SSD's side
);

  logic [ReadLatency-1:0] under_way_q;
  always_ff @(posedge clk) begin
    streams.write_hold <= streams.read_valid && !streams.write_hold && !streams.restart;
    under_way_q <= streams.restart ? '0 :
        ReadLatency'({under_way_q, streams.read_valid && streams.read_ready});
  end
  assign streams.read_ready = !streams.write_valid;
  assign streams.committed  = streams.write_end;
  assign streams.data_valid = under_way_q[ReadLatency-1];

  logic b_en;
  logic [63:0] b_we;
  logic [WordBits-1:0] b_addr;
  logic [511:0] b_wdata, b_rdata;

  fb_payload_bar_port #(.AddrBits(WordBits)) u_bar (.*);

  fb_payload_ram #(
      .Pages(Pages),
      .ReadLatency(ReadLatency)
  ) u_buffer (
      .a_en(streams.write_valid || streams.read_valid),
      .a_we(streams.write_valid),
      .a_addr(streams.write_valid ? streams.write_addr : streams.read_addr),
      .a_wdata(streams.write_data),
      .a_rdata(streams.data),
      .*
  );

  // It refuses nothing, has nothing to fetch ahead, and nothing waits in it.
  assign {streams.quiet, streams.commit_error, streams.data_error, streams.errors} = {1'b1, 4'd0};
  logic unused;
  assign unused = &{1'b0, streams.read_first, streams.read_count, 1'b0};

endmodule

`default_nettype wire
