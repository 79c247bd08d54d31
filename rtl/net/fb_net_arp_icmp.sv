// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_arp_icmp: ARP and ping answered by turning the request round.
//
// What:        everything that differs between request and answer stands in the first beat: addresses
//              change places, the type changes, and ICMP's checksum by the difference (RFC 1624). The
//              rest goes through a memory until the verdict is there.
// Handshake:   frames as fb_net_filter has them; the answer by valid/ready, without a gap once begun.
// Latency:     as fb_net_frame_fifo, which is the memory; both of its clocks are this one.
// Throughput:  a beat in every cycle.
// Limits:      64 beats of requests, 15 requests: a flood is answered in part. ICMP's own checksum is
//              not checked: a wrong one stays wrong, for who asked to see. 512-bit registers: one, the
//              memory's.
// Does not implement: other ICMP types, ARP requests of our own.

`default_nettype none

module fb_net_arp_icmp
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire [47:0] cfg_mac,  // our address

    input wire                                s_valid,
    input wire                                s_first,
    input wire                                s_last,
    input wire           [USER_DATA_BITS-1:0] s_data,
    input wire headers_t                      s_headers,
    input wire           [               3:0] s_arrival,  // with s_last
    input wire           [              13:0] s_bytes,    // with s_last

    output logic                       m_axis_answer_tvalid,
    input  wire                        m_axis_answer_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_answer_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_answer_tkeep,
    output logic                       m_axis_answer_tlast,

    output logic unanswered  // for one cycle: a request found no room
);

  localparam int unsigned Beats = 64;
  localparam int unsigned Requests = 16;
  localparam int unsigned Bits = USER_DATA_BITS;
  localparam int unsigned RestBits = Bits - 8 * (ETHERNET_BYTES + VLAN_BYTES);
  localparam logic [15:0] ARP_REPLY = 16'h0002;

  // -------------------------------------------------------------------------------- turning it round
  // What follows the EtherType, without and with a tag.
  logic [RestBits-1:0] rest, turned;
  logic [47:0] mac;
  logic [15:0] checksum;
  logic [16:0] corrected;
  logic [Bits-1:0] beat;

  assign mac = 48'(from_wire(512'(cfg_mac), 6));
  assign rest = s_headers.vlan ? s_data[Bits-1-:RestBits] : s_data[8*ETHERNET_BYTES+:RestBits];
  assign checksum = {rest[8*22+:8], rest[8*23+:8]};
  // From type 8 to type 0 is 0x0800 less in the sum, so that much more in its complement.
  assign corrected = 17'(checksum) + 17'h0800;

  always_comb begin : turn
    automatic logic [15:0] folded = corrected[15:0] + 16'(corrected[16]);
    turned = rest;
    if (s_headers.kind == KIND_ARP) begin
      turned[8*6+:16]  = {ARP_REPLY[7:0], ARP_REPLY[15:8]};
      turned[8*8+:48]  = mac;  // from us, as the owner of the address asked for
      turned[8*14+:32] = rest[8*24+:32];
      turned[8*18+:80] = rest[8*8+:80];  // to who asked
    end else begin
      turned[8*12+:32] = rest[8*16+:32];
      turned[8*16+:32] = rest[8*12+:32];
      turned[8*20+:8]  = '0;
      turned[8*22+:16] = {folded[7:0], folded[15:8]};
    end
    beat = s_data;
    if (s_first) begin
      beat[0+:48]  = s_data[48+:48];
      beat[48+:48] = mac;
      if (s_headers.vlan) beat[Bits-1-:RestBits] = turned;
      else beat[8*ETHERNET_BYTES+:RestBits] = turned;
    end
  end

  // --------------------------------------------------------------------------------------- keeping it
  logic asks, lost;
  logic [6:0] bytes;

  assign asks = s_valid && (s_headers.kind == KIND_ARP || s_headers.kind == KIND_ECHO);
  assign unanswered = asks && s_last && s_arrival == ARRIVAL_REQUEST && lost;

  fb_net_frame_fifo #(
      .Beats (Beats),
      .Frames(Requests)
  ) u_frame_fifo (
      .s_clk  (clk),
      .s_rst  (rst),
      .s_valid(asks),
      .s_data (beat),
      .s_end  (asks && s_last),
      .s_good (s_arrival == ARRIVAL_REQUEST),
      .s_bytes(s_bytes),
      .s_info (1'b0),
      .s_room (),
      .s_lost (lost),
      .s_taken(),
      .level  (),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_valid(m_axis_answer_tvalid),
      .m_ready(m_axis_answer_tready),
      .m_data (m_axis_answer_tdata),
      .m_bytes(bytes),
      .m_first(),
      .m_last (m_axis_answer_tlast),
      .m_info ()
  );

  assign m_axis_answer_tkeep = keep_of(bytes);

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 1),
      .Name ("m_axis_answer")
  ) u_check_answer (
      .clk,
      .rst,
      .valid(m_axis_answer_tvalid),
      .ready(m_axis_answer_tready),
      .data ({m_axis_answer_tdata, m_axis_answer_tkeep, m_axis_answer_tlast})
  );

endmodule

`default_nettype wire
