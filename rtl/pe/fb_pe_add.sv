// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_add: adds a number to every 32-bit word.
//
// What:        words are little-endian and begin with their packet. `cfg[31:0]` is added to each,
//              modulo 2^32, if `cfg[32]` is set; else all passes as it is. Of a word that the
//              packet's end cuts off, the bytes that are there become those of the sum: as if it
//              were filled up with zeros, added to, and cut again. So adding the negative number
//              gives the packet back, whatever its length.
// Handshake:   valid/ready; `s_axis_object_tready` follows `m_axis_object_tready` within the cycle,
//              by one LUT.
// Latency:     1 cycle.
// Throughput:  64 bytes a cycle.
// Limits:      `cfg` is that of the packet whose beat goes in. 512-bit registers: one.
// Does not implement: other widths of words, saturation.

`default_nettype none

module fb_pe_add
  import fb_spec_pkg::*;
(
    input wire        clk,
    input wire        rst,
    input wire [63:0] cfg,  // see fb_pe_add.toml

    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
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

  localparam int unsigned WordBits = 32;
  localparam int unsigned Words = USER_DATA_BITS / WordBits;

  logic [WordBits-1:0] addend;

  assign addend = cfg[32] ? cfg[31:0] : '0;
  assign s_axis_object_tready = !m_axis_object_tvalid || m_axis_object_tready;

  // Bytes past a packet's end may hold anything. They lie above those that are there, and a carry
  // goes upwards only: the sum need not know where the end is.
  always_ff @(posedge clk) begin : add
    if (s_axis_object_tready) begin
      for (int i = 0; i < int'(Words); i++) begin
        m_axis_object_tdata[WordBits*i+:WordBits] <=
            s_axis_object_tdata[WordBits*i+:WordBits] + addend;
      end
      m_axis_object_tkeep  <= s_axis_object_tkeep;
      m_axis_object_tlast  <= s_axis_object_tlast;
      m_axis_object_tuser  <= s_axis_object_tuser;
      m_axis_object_tid    <= s_axis_object_tid;
      m_axis_object_tvalid <= s_axis_object_tvalid;
    end
    if (rst) m_axis_object_tvalid <= 1'b0;
  end

  fb_pe_check u_check (
      .clk,
      .rst,
      .in_valid (s_axis_object_tvalid),
      .in_ready (s_axis_object_tready),
      .in_last  (s_axis_object_tlast),
      .in_user  (s_axis_object_tuser),
      .in_tid   (s_axis_object_tid),
      .out_valid(m_axis_object_tvalid),
      .out_ready(m_axis_object_tready),
      .out_data (m_axis_object_tdata),
      .out_keep (m_axis_object_tkeep),
      .out_last (m_axis_object_tlast),
      .out_user (m_axis_object_tuser),
      .out_tid  (m_axis_object_tid)
  );

endmodule

`default_nettype wire
