// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The stream side of the on-chip memory: puts and gets take turns at its one port.
//
// A beat that is put goes first. While something is to be got, `put_hold` keeps every second cycle
// free of puts. What is put has landed at once: the SSD's side of the memory sees it in the next
// cycle.
//
// Handshake: docs/reference/memories.md. Latency: none on the way in; a get is answered ReadLatency
// cycles after it was taken. Throughput: 64 bytes a cycle for both together.
//
// Does not implement: anything that keeps a word; the memory does.

`default_nettype none

module fb_buffer_port #(
    parameter int unsigned ReadLatency = 3,  // of the memory, cycles, 1 to 16
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    localparam int unsigned AddrBits = $clog2(fb_spec_pkg::BUFFER_PAGES) + UnitBits + 6
) (
    input wire clk,
    input wire restart, // answers under way are nobody's

    input  wire                 put_valid,
    input  wire  [AddrBits-1:0] put_addr,
    input  wire  [       511:0] put_data,
    input  wire                 put_end,
    output logic                put_hold,
    output logic                landed,

    input  wire                 get_valid,
    output logic                get_ready,
    input  wire  [AddrBits-1:0] get_addr,
    output logic                got_valid,
    output logic [       511:0] got_data,

    // Port A of the memory.
    output logic                a_en,
    output logic                a_we,
    output logic [AddrBits-1:0] a_addr,
    output logic [       511:0] a_wdata,
    input  wire  [       511:0] a_rdata
);

  if (ReadLatency < 1 || ReadLatency > 16) begin : gen_bad_latency
    $fatal(1, "fb_buffer_port (%m): ReadLatency=%0d must be from 1 to 16", ReadLatency);
  end

  logic hold_q;
  logic [ReadLatency-1:0] under_way_q;

  always_ff @(posedge clk) begin
    hold_q <= get_valid && !hold_q && !restart;
    under_way_q <= restart ? '0 : ReadLatency'({under_way_q, get_valid && get_ready});
  end

  assign put_hold = hold_q;
  assign get_ready = !put_valid;
  assign landed = put_end;
  assign got_valid = under_way_q[ReadLatency-1];
  assign got_data = a_rdata;

  assign a_en = put_valid || get_valid;
  assign a_we = put_valid;
  assign a_addr = put_valid ? put_addr : get_addr;
  assign a_wdata = put_data;

endmodule

`default_nettype wire
