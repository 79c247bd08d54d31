// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_widen: packets of an element that is narrower than the chain.
//
// What:        collects parts of `Bits` into beats of 64 bytes, the first bytes first. A packet's last
//              beat has as many as are left. TUSER is that of the last part.
// Handshake:   valid/ready; `s_axis_object_tready` follows `m_axis_object_tready` within the cycle.
// Latency:     1 cycle from a beat's last part.
// Throughput:  `Bits` a cycle.
// Limits:      512-bit registers: one.
// Does not implement: a bypass for 512 bits; then it is a register.

`default_nettype none

module fb_pe_widen
  import fb_spec_pkg::*;
#(
    parameter int unsigned Bits = 128,  // a power of two, 32 to 512
    localparam int unsigned Bytes = Bits / 8
) (
    input wire clk,
    input wire rst,

    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [           Bits-1:0] s_axis_object_tdata,
    input  wire  [          Bytes-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire  [                1:0] s_axis_object_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_object_tid,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid
);

  localparam int unsigned Parts = USER_DATA_BITS / Bits;

  if (Bits < 32 || Bits > USER_DATA_BITS || (Bits & (Bits - 1)) != 0) begin : gen_bad_bits
    $fatal(1, "fb_pe_widen (%m): Bits=%0d must be a power of two from 32 to 512", Bits);
  end

  logic [Parts-1:0] next_q;  // where the next part goes, one bit
  logic takes, ends;

  assign s_axis_object_tready = !m_axis_object_tvalid || m_axis_object_tready;
  assign takes = s_axis_object_tvalid && s_axis_object_tready;
  assign ends = s_axis_object_tlast || next_q[Parts-1];

  always_ff @(posedge clk) begin : collect
    if (m_axis_object_tready) m_axis_object_tvalid <= 1'b0;
    if (takes) begin
      for (int i = 0; i < Parts; i++) begin
        if (next_q[i]) m_axis_object_tdata[Bits*i+:Bits] <= s_axis_object_tdata;
        if (next_q[i]) m_axis_object_tkeep[Bytes*i+:Bytes] <= s_axis_object_tkeep;
        else if (next_q[0]) m_axis_object_tkeep[Bytes*i+:Bytes] <= '0;
      end
      m_axis_object_tlast <= s_axis_object_tlast;
      m_axis_object_tuser <= s_axis_object_tuser;
      m_axis_object_tid <= s_axis_object_tid;
      m_axis_object_tvalid <= ends;
      next_q <= ends ? Parts'(1) : Parts'({next_q, 1'b0});
    end
    if (rst) begin
      m_axis_object_tvalid <= 1'b0;
      next_q <= Parts'(1);
    end
  end

endmodule

`default_nettype wire
