// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_onchip: the payload buffer on the chip, with the interface of those in DRAM.
//
// What:        a memory of two ports (fb_payload_ram). The streams' requests take turns at one,
//              the SSD's at the other (fb_payload_bar_port).
// Handshake:   docs/reference/memories.md; the SSD's side as fb_bar_target has it. A beat to be
//              written goes first; while one is to be read, `put_hold` keeps every second cycle
//              free.
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

    // The streams' side.
    input  wire                 restart,       // answers under way are nobody's
    output logic                quiet,
    input  wire                 put_valid,
    input  wire  [WordBits-1:0] put_addr,
    input  wire  [       511:0] put_data,
    input  wire                 put_end,
    output logic                put_hold,
    output logic                landed,
    output logic                landed_error,
    input  wire                 get_valid,
    output logic                get_ready,
    input  wire  [WordBits-1:0] get_addr,
    input  wire                 get_first,
    input  wire  [         6:0] get_count,
    output logic                got_valid,
    output logic                got_error,
    output logic [       511:0] got_data,
    output logic [         1:0] memory_errors,

    // The SSD's side.
    fb_bar_memory_if.memory bar_memory
);

  // --------------------------------------------------------------------------- the streams' port
  logic hold_q, a_en;
  logic [WordBits-1:0] a_addr;
  logic [ReadLatency-1:0] under_way_q;

  always_ff @(posedge clk) begin
    hold_q <= get_valid && !hold_q && !restart;
    under_way_q <= restart ? '0 : ReadLatency'({under_way_q, get_valid && get_ready});
  end

  assign put_hold = hold_q;
  assign get_ready = !put_valid;
  assign landed = put_end;
  assign got_valid = under_way_q[ReadLatency-1];
  assign a_en = put_valid || get_valid;
  assign a_addr = put_valid ? put_addr : get_addr;

  // ------------------------------------------------------------------------------- the SSD's port
  logic b_en;
  logic [63:0] b_we;
  logic [WordBits-1:0] b_addr;
  logic [511:0] b_wdata, b_rdata;

  fb_payload_bar_port #(.AddrBits(WordBits)) u_bar (.*);

  fb_payload_ram #(
      .Pages(Pages),
      .ReadLatency(ReadLatency)
  ) u_buffer (
      .a_we(put_valid),
      .a_wdata(put_data),
      .a_rdata(got_data),
      .*
  );

  // It refuses nothing, has nothing to fetch ahead, and nothing waits in it.
  assign {quiet, landed_error, got_error, memory_errors} = {1'b1, 4'd0};
  logic unused;
  assign unused = &{1'b0, get_first, get_count, 1'b0};

endmodule

`default_nettype wire
