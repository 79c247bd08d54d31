// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_narrow: packets for an element that is narrower than the chain.
//
// What:        takes a beat of 64 bytes and gives it out in parts of `Bits`, the first bytes first. TUSER
//              stands with the last part, TID on all.
// Handshake:   valid/ready; `s_axis_object_tready` follows `m_axis_object_tready` within the cycle.
// Latency:     1 cycle.
// Throughput:  `Bits` a cycle.
// Limits:      512-bit registers: one.
// Does not implement: a bypass for 512 bits; then it is a register.

`default_nettype none

module fb_pe_narrow
  import fb_spec_pkg::*;
#(
    parameter int unsigned Bits = 128,  // a power of two, 32 to 512
    localparam int unsigned Bytes = Bits / 8
) (
    input wire clk,
    input wire rst,

    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire  [                1:0] s_axis_object_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_object_tid,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [           Bits-1:0] m_axis_object_tdata,
    output logic [          Bytes-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid
);

  if (Bits < 32 || Bits > USER_DATA_BITS || (Bits & (Bits - 1)) != 0) begin : gen_bad_bits
    $fatal(1, "fb_pe_narrow (%m): Bits=%0d must be a power of two from 32 to 512", Bits);
  end

  // What has gone out is shifted out; behind it come zeros.
  logic [USER_DATA_BITS-1:0] data_q;
  logic [USER_BEAT_BYTES-1:0] keep_q;
  logic last_q;
  logic [1:0] user_q;
  logic [USER_BEAT_BYTES-1:0] rest;  // bytes behind the part
  logic ends;

  assign rest = keep_q >> Bytes;
  assign ends = !rest[0];
  assign m_axis_object_tdata = data_q[Bits-1:0];
  assign m_axis_object_tkeep = keep_q[Bytes-1:0];
  assign m_axis_object_tlast = last_q && ends;
  assign m_axis_object_tuser = m_axis_object_tlast ? user_q : '0;
  assign s_axis_object_tready = !m_axis_object_tvalid || (m_axis_object_tready && ends);

  always_ff @(posedge clk) begin : hold
    if (m_axis_object_tready) begin
      data_q <= data_q >> Bits;
      keep_q <= rest;
    end
    if (s_axis_object_tready) begin
      data_q <= s_axis_object_tdata;
      keep_q <= s_axis_object_tkeep;
      last_q <= s_axis_object_tlast;
      user_q <= s_axis_object_tuser;
      m_axis_object_tid <= s_axis_object_tid;
      m_axis_object_tvalid <= s_axis_object_tvalid;
    end
    if (rst) m_axis_object_tvalid <= 1'b0;
  end

endmodule

`default_nettype wire
