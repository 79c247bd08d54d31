// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_arp_icmp: ARP, ping and neighbour solicitations answered by turning the request round.
//
// What:        of ARP and ping everything that differs between request and answer stands in the first
//              beat: addresses change places, the type changes, and ICMP's checksum by the difference
//              (RFC 1624). A solicitation becomes an advertisement of two beats (RFC 4861 4.4): to the
//              sender from our address, which it asked for, and with our MAC address behind that; so
//              its checksum is the sum of what never changes and of the sender's address. All goes
//              through a memory until the verdict is there.
// Handshake:   frames as fb_net_filter has them; the answer by valid/ready, without a gap once begun.
// Latency:     as fb_net_frame_fifo, which is the memory; both of its clocks are this one.
// Throughput:  a beat in every cycle.
// Limits:      64 beats of requests, 15 requests: a flood is answered in part. The checksum of a ping is
//              not checked: a wrong one stays wrong, so that the sender sees it. An advertisement's
//              checksum follows changed settings 38 cycles later. 512-bit registers: one, the memory's.
// Does not implement: other types of ICMP, requests of our own.

`default_nettype none

module fb_net_arp_icmp
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire [ 47:0] cfg_mac,  // our addresses
    input wire [127:0] cfg_ip6,

    input wire                                s_valid,
    input wire                                s_first,
    input wire                                s_last,
    input wire           [USER_DATA_BITS-1:0] s_data,
    input wire headers_t                      s_headers,
    input wire           [              15:0] s_source_sum,  // with s_first, of a solicitation
    input wire           [               3:0] s_arrival,     // with s_last
    input wire           [              13:0] s_bytes,       // with s_last

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
  localparam logic [15:0] ECHO_LESS = 16'h0800;  // from type 8 to type 0
  localparam logic [15:0] ECHO_MORE = 16'h0100;  // from type 128 to type 129
  localparam logic [7:0] ECHO_REPLY_6 = 8'd129;
  localparam logic [15:0] ADVERTISEMENT = {8'd136, 8'd0};  // type and code
  localparam logic [15:0] FLAGS = 16'h6000;  // asked for, in place of what was known
  localparam logic [15:0] TARGET_MAC = 16'h0201;  // the option: its type, and 8 bytes
  localparam int unsigned AdvertisementBytes = 24 + 8;

  // ------------------------------------------------------------ what does not change in advertisements
  // A word a cycle, over and over: twice our IPv6 address, as sender and as what was asked for, the
  // MAC address, and the rest of it with what stands for the IPv6 header (RFC 8200 8.1).
  localparam int unsigned Words = 8 + 8 + 3;
  localparam logic [15:0] Rest = ADVERTISEMENT + FLAGS + TARGET_MAC + 16'(AdvertisementBytes) +
      16'(PROTOCOL_ICMPV6);
  logic [4:0] word_q;
  logic [15:0] word, ours_q;
  logic [16:0] sum_q;

  assign word = word_q[4] ? cfg_mac[16*word_q[1:0]+:16] : cfg_ip6[16*word_q[2:0]+:16];

  always_ff @(posedge clk) begin : add_ours
    word_q <= word_q == 5'(Words - 1) ? '0 : word_q + 1'b1;
    sum_q <= 17'(word_q == '0 ? Rest : sum_q[15:0]) + 17'(word) +
        17'(word_q == '0 ? 1'b0 : sum_q[16]);
    if (word_q == '0) ours_q <= sum_q[15:0] + 16'(sum_q[16]);
    if (rst) {word_q, sum_q} <= '0;
  end

  // -------------------------------------------------------------------------------- turning it round
  // What follows the EtherType, without and with a tag.
  typedef logic [RestBits-1:0] rest_t;
  rest_t plain, behind, rest;
  logic [47:0] mac;
  logic [15:0] checksum, more, carried, folded;
  logic [16:0] corrected;
  logic [Bits-1:0] beat;
  logic solicits, second_q;

  assign mac = 48'(from_wire(512'(cfg_mac), 6));
  assign plain = s_data[8*ETHERNET_BYTES+:RestBits];
  assign behind = s_data[Bits-1-:RestBits];
  assign rest = s_headers.vlan ? behind : plain;
  assign solicits = s_headers.kind == KIND_SOLICIT;

  // Ones' complement: the complement of a sum is the sum of complements.
  always_comb begin : correct
    checksum = be16(Bits'(rest), s_headers.ipv6 ? 42 : 22);
    more = s_headers.ipv6 ? ~ECHO_MORE : ECHO_LESS;
    if (solicits) {checksum, more} = {~s_source_sum, ~ours_q};
    // With a carry or without: no adder waits for the other.
    corrected = 17'(checksum) + 17'(more);
    carried = checksum + more + 1'b1;
    folded = corrected[16] ? carried : corrected[15:0];
  end

  function automatic rest_t arp_of(input rest_t asked);
    arp_of = asked;
    arp_of[8*6+:16] = {ARP_REPLY[7:0], ARP_REPLY[15:8]};
    arp_of[8*8+:48] = mac;  // from us, as the owner of the address asked for
    arp_of[8*14+:32] = asked[8*24+:32];
    arp_of[8*18+:80] = asked[8*8+:80];  // to who asked
  endfunction

  function automatic rest_t echo_of(input rest_t asked);
    echo_of = asked;
    echo_of[8*12+:32] = asked[8*16+:32];
    echo_of[8*16+:32] = asked[8*12+:32];
    echo_of[8*20+:8] = '0;
    echo_of[8*22+:16] = {folded[7:0], folded[15:8]};
  endfunction

  function automatic rest_t echo6_of(input rest_t asked);
    echo6_of = asked;
    echo6_of[8*8+:128] = 128'(from_wire(512'(cfg_ip6), 16));
    echo6_of[8*24+:128] = asked[8*8+:128];
    echo6_of[8*40+:8] = ECHO_REPLY_6;
    echo6_of[8*42+:16] = {folded[7:0], folded[15:8]};
  endfunction

  function automatic rest_t advertisement_of(input rest_t asked);
    advertisement_of = echo6_of(asked);
    advertisement_of[8*4+:16] = {8'(AdvertisementBytes), 8'd0};
    advertisement_of[8*40+:16] = {ADVERTISEMENT[7:0], ADVERTISEMENT[15:8]};
    advertisement_of[8*44+:16] = {FLAGS[7:0], FLAGS[15:8]};
  endfunction

  function automatic rest_t answer_of(input rest_t asked);
    if (s_headers.ipv6) return solicits ? advertisement_of(asked) : echo6_of(asked);
    return s_headers.kind == KIND_ARP ? arp_of(asked) : echo_of(asked);
  endfunction

  always_comb begin : turn
    beat = s_data;
    if (s_first) begin
      beat[0+:48]  = s_data[48+:48];
      beat[48+:48] = mac;
      if (s_headers.vlan) beat[Bits-1-:RestBits] = answer_of(behind);
      else beat[8*ETHERNET_BYTES+:RestBits] = answer_of(plain);
      if (solicits && !s_headers.vlan) beat[Bits-32+:16] = '0;  // the rest of the flags
    end else if (solicits && s_headers.vlan) begin
      beat[0+:16] = '0;
      beat[8*18+:64] = {mac, TARGET_MAC[7:0], TARGET_MAC[15:8]};
    end else if (solicits) begin
      beat[8*14+:64] = {mac, TARGET_MAC[7:0], TARGET_MAC[15:8]};
    end
  end

  // --------------------------------------------------------------------------------------- keeping it
  logic asks, lost;
  logic [ 6:0] bytes;
  logic [13:0] answer_bytes;

  assign asks = s_valid && (s_headers.kind == KIND_ARP || s_headers.kind == KIND_ECHO || solicits);
  assign answer_bytes = !solicits ? s_bytes :
      14'(ETHERNET_BYTES + IPV6_BYTES + AdvertisementBytes) + (s_headers.vlan ? 14'(VLAN_BYTES) : '0);

  always_ff @(posedge clk) if (s_valid) second_q <= s_first;
  assign unanswered = asks && s_last && s_arrival == ARRIVAL_REQUEST && lost;

  fb_net_frame_fifo #(
      .Beats (Beats),
      .Frames(Requests)
  ) u_frame_fifo (
      .s_clk  (clk),
      .s_rst  (rst),
      .s_valid(asks && (!solicits || s_first || second_q)),
      .s_data (beat),
      .s_end  (asks && s_last),
      .s_good (s_arrival == ARRIVAL_REQUEST),
      .s_bytes(answer_bytes),
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
