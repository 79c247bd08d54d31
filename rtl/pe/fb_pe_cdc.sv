// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_cdc: packets to an element with a clock of its own, or from it.
//
// What:        beats, and what stands beside each, through a FIFO between two clocks.
// Handshake:   valid/ready on both sides.
// Latency:     2 cycles of s_clk and 3 to 4 of m_clk.
// Throughput:  a beat a cycle of the slower clock.
// Limits:      16 beats. Both resets are held together for four cycles of the slower clock.
//              512-bit registers: none; LUT RAM.
// Does not implement: packets that are given up.

`default_nettype none

module fb_pe_cdc
  import fb_spec_pkg::*;
#(
    parameter int unsigned Bits = 512,  // of a beat
    parameter int unsigned Side = 1,  // bits beside it
    localparam int unsigned Bytes = Bits / 8
) (
    input  wire                        s_clk,
    input  wire                        s_rst,
    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [           Bits-1:0] s_axis_object_tdata,
    input  wire  [          Bytes-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire  [                1:0] s_axis_object_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_object_tid,
    input  wire  [           Side-1:0] s_side,

    input  wire                        m_clk,
    input  wire                        m_rst,
    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [           Bits-1:0] m_axis_object_tdata,
    output logic [          Bytes-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid,
    output logic [           Side-1:0] m_side
);

  fb_common_async #(
      .Width(Bits + Bytes + 3 + PACKET_TAG_BITS + Side),
      .Depth(16)
  ) u_beats (
      .s_clk,
      .s_rst,
      .s_valid(s_axis_object_tvalid),
      .s_ready(s_axis_object_tready),
      .s_data({
        s_side,
        s_axis_object_tid,
        s_axis_object_tuser,
        s_axis_object_tlast,
        s_axis_object_tkeep,
        s_axis_object_tdata
      }),
      .s_level(),
      .m_clk,
      .m_rst,
      .m_valid(m_axis_object_tvalid),
      .m_ready(m_axis_object_tready),
      .m_data({
        m_side,
        m_axis_object_tid,
        m_axis_object_tuser,
        m_axis_object_tlast,
        m_axis_object_tkeep,
        m_axis_object_tdata
      })
  );

endmodule

`default_nettype wire
