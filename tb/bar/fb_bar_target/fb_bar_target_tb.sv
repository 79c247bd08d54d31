// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The target with a small map, which no parameter of a simulation can hold.

`default_nettype none

module fb_bar_target_tb
  import fb_bar_pkg::*;
#(
    parameter int unsigned AddrBits = 18,
    parameter int unsigned AxiIdBits = 4,
    parameter int unsigned Latency = 3,
    parameter bit Overlap = 1'b0  // two regions at one place
) (
    input wire clk,
    input wire rst,

    output logic [ REGIONS-1:0] write_valid,
    input  wire  [ REGIONS-1:0] write_ready,
    input  wire  [ REGIONS-1:0] write_refused,
    output logic [AddrBits-1:0] write_addr,
    output logic [       511:0] write_data,
    output logic [        63:0] write_strb,
    output logic [        15:0] write_dwords,   // Dwords that all strobes write

    output logic [ REGIONS-1:0]        read_valid,
    input  wire  [ REGIONS-1:0]        read_ready,
    output logic [AddrBits-1:0]        read_addr,
    input  wire  [ REGIONS-1:0][511:0] read_word,
    input  wire  [ REGIONS-1:0]        read_error,

    // What will be read next, for who looks ahead: the same burst, or else the one that waits.
    output logic                read_stays,
    output logic                next_valid,
    output logic [AddrBits-1:0] next_addr
);

  localparam map_t Map = '{
      PAYLOAD: '{base: 32'h1_0000, bits: 6'd16, writable: 1'b1},
      LISTS: '{base: Overlap ? 32'h1_0000 : 32'h2_0000, bits: 6'd13, writable: 1'b0},
      QUEUES: '{base: 32'h4000, bits: 6'd14, writable: 1'b1},
      REGISTERS: '{base: 32'h8000, bits: 6'd12, writable: 1'b1}
  };

  fb_axi_if #(
      .IdBits  (AxiIdBits),
      .AddrBits(AddrBits)
  ) s_axi_bar (
      .*
  );

  fb_bar_target #(
      .AddrBits(AddrBits),
      .AxiIdBits(AxiIdBits),
      .Latency(Latency),
      .Map(Map)
  ) u_target (
      .*
  );

endmodule

`default_nettype wire
