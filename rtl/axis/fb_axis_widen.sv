// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axis_widen: beats of fewer bytes as beats of 64 bytes.
//
// What:        collects parts of `Bits` into beats, the first bytes first. A packet's last beat has as
//              many as are left. TUSER and TID are those of the last part.
// Handshake:   AXI4-Stream; `s_axis_tready` follows `m_axis_tready` within the cycle. A stream without
//              packets has TLAST 0.
// Latency:     1 cycle from a beat's last part; with 512 bits none.
// Throughput:  `Bits` a cycle.
// Limits:      512-bit registers: one; with 512 bits these are wires.
// Does not implement: widths that are no power of two.

`default_nettype none

module fb_axis_widen
  import fb_spec_pkg::*;
#(
    parameter int unsigned Bits = 128,  // a power of two, 32 to 512
    parameter int unsigned UserBits = 1,  // of TUSER, 1 or more
    parameter int unsigned TagBits = 8,  // of TID, 1 or more
    localparam int unsigned Bytes = Bits / 8
) (
    input wire clk,
    input wire rst,

    input  wire                 s_axis_tvalid,
    output logic                s_axis_tready,
    input  wire  [    Bits-1:0] s_axis_tdata,
    input  wire  [   Bytes-1:0] s_axis_tkeep,
    input  wire                 s_axis_tlast,
    input  wire  [UserBits-1:0] s_axis_tuser,
    input  wire  [ TagBits-1:0] s_axis_tid,

    output logic                       m_axis_tvalid,
    input  wire                        m_axis_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_tkeep,
    output logic                       m_axis_tlast,
    output logic [       UserBits-1:0] m_axis_tuser,
    output logic [        TagBits-1:0] m_axis_tid
);

  localparam int unsigned Parts = USER_DATA_BITS / Bits;

  if (Bits < 32 || Bits > USER_DATA_BITS || (Bits & (Bits - 1)) != 0) begin : gen_bad_bits
    $fatal(1, "fb_axis_widen (%m): Bits=%0d must be a power of two from 32 to 512", Bits);
  end

  if (Parts == 1) begin : gen_wires
    assign m_axis_tvalid = s_axis_tvalid;
    assign s_axis_tready = m_axis_tready;
    assign m_axis_tdata = s_axis_tdata;
    assign m_axis_tkeep = s_axis_tkeep;
    assign m_axis_tlast = s_axis_tlast;
    assign m_axis_tuser = s_axis_tuser;
    assign m_axis_tid = s_axis_tid;
  end else begin : gen_parts
    logic [Parts-1:0] next_q;  // where the next part goes, one bit
    logic takes, ends;

    assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
    assign takes = s_axis_tvalid && s_axis_tready;
    assign ends = s_axis_tlast || next_q[Parts-1];

    always_ff @(posedge clk) begin : collect
      if (m_axis_tready) m_axis_tvalid <= 1'b0;
      if (takes) begin
        for (int i = 0; i < Parts; i++) begin
          if (next_q[i]) m_axis_tdata[Bits*i+:Bits] <= s_axis_tdata;
          if (next_q[i]) m_axis_tkeep[Bytes*i+:Bytes] <= s_axis_tkeep;
          else if (next_q[0]) m_axis_tkeep[Bytes*i+:Bytes] <= '0;
        end
        m_axis_tlast <= s_axis_tlast;
        m_axis_tuser <= s_axis_tuser;
        m_axis_tid <= s_axis_tid;
        m_axis_tvalid <= ends;
        next_q <= ends ? Parts'(1) : Parts'({next_q, 1'b0});
      end
      if (rst) begin
        m_axis_tvalid <= 1'b0;
        next_q <= Parts'(1);
      end
    end
  end

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 1 + UserBits + TagBits),
      .Name ("m_axis")
  ) u_check (
      .clk,
      .rst,
      .valid(m_axis_tvalid),
      .ready(m_axis_tready),
      .data ({m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser, m_axis_tid})
  );

endmodule

`default_nettype wire
