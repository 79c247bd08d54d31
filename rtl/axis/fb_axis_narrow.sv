// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axis_narrow: beats of 64 bytes as beats of fewer bytes.
//
// What:        takes a beat and gives it out in parts of `Bits`, the first bytes first. Parts without a
//              byte in TKEEP are left out, but for the first. TLAST and TUSER stand with the last part,
//              TID on all.
// Handshake:   AXI4-Stream; `s_axis_tready` follows `m_axis_tready` within the cycle. A beat without TKEEP
//              is one part, with the lower bits of TDATA: so a failed read keeps its code.
// Latency:     1 cycle; with 512 bits none.
// Throughput:  `Bits` a cycle.
// Limits:      TUSER is looked at with TLAST only. 512-bit registers: one; with 512 bits these are wires.
// Does not implement: widths that are no power of two.

`default_nettype none

module fb_axis_narrow
  import fb_spec_pkg::*;
#(
    parameter int unsigned Bits = 128,  // a power of two, 32 to 512
    parameter int unsigned UserBits = 1,  // of TUSER, 1 or more
    parameter int unsigned TagBits = 8,  // of TID, 1 or more
    localparam int unsigned Bytes = Bits / 8
) (
    input wire clk,
    input wire rst,

    input  wire                        s_axis_tvalid,
    output logic                       s_axis_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_tkeep,
    input  wire                        s_axis_tlast,
    input  wire  [       UserBits-1:0] s_axis_tuser,
    input  wire  [        TagBits-1:0] s_axis_tid,

    output logic                m_axis_tvalid,
    input  wire                 m_axis_tready,
    output logic [    Bits-1:0] m_axis_tdata,
    output logic [   Bytes-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic [UserBits-1:0] m_axis_tuser,
    output logic [ TagBits-1:0] m_axis_tid
);

  if (Bits < 32 || Bits > USER_DATA_BITS || (Bits & (Bits - 1)) != 0) begin : gen_bad_bits
    $fatal(1, "fb_axis_narrow (%m): Bits=%0d must be a power of two from 32 to 512", Bits);
  end

  if (Bits == USER_DATA_BITS) begin : gen_wires
    assign m_axis_tvalid = s_axis_tvalid;
    assign s_axis_tready = m_axis_tready;
    assign m_axis_tdata = s_axis_tdata;
    assign m_axis_tkeep = s_axis_tkeep;
    assign m_axis_tlast = s_axis_tlast;
    assign m_axis_tuser = s_axis_tuser;
    assign m_axis_tid = s_axis_tid;
  end else begin : gen_parts
    // What has gone out is shifted out; behind it come zeros.
    logic [USER_DATA_BITS-1:0] data_q;
    logic [USER_BEAT_BYTES-1:0] keep_q;
    logic last_q;
    logic [UserBits-1:0] user_q;
    logic [USER_BEAT_BYTES-1:0] rest;  // bytes behind the part
    logic ends;

    assign rest = keep_q >> Bytes;
    assign ends = !rest[0];
    assign m_axis_tdata = data_q[Bits-1:0];
    assign m_axis_tkeep = keep_q[Bytes-1:0];
    assign m_axis_tlast = last_q && ends;
    assign m_axis_tuser = m_axis_tlast ? user_q : '0;
    assign s_axis_tready = !m_axis_tvalid || (m_axis_tready && ends);

    always_ff @(posedge clk) begin : hold
      if (m_axis_tready) begin
        data_q <= data_q >> Bits;
        keep_q <= rest;
      end
      if (s_axis_tready) begin
        data_q <= s_axis_tdata;
        keep_q <= s_axis_tkeep;
        last_q <= s_axis_tlast;
        user_q <= s_axis_tuser;
        m_axis_tid <= s_axis_tid;
        m_axis_tvalid <= s_axis_tvalid;
      end
      if (rst) m_axis_tvalid <= 1'b0;
    end
  end

  fb_axis_check #(
      .Width(Bits + Bytes + 1 + UserBits + TagBits),
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
