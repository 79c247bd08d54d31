// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_parse: what a frame is, from its first beat.
//
// What:        reads Ethernet, one VLAN tag, IPv4, IPv6, UDP, ICMP, ICMPv6, ARP and MAC control headers.
//              Whatever it says of addresses and ports is what the frame says: the checksums are
//              fb_net_filter's, and what a neighbour solicitation has in its second beat.
// Handshake:   no ready; `headers` and `pause` are those of the first beat that was there last.
// Latency:     1 cycle.
// Throughput:  a frame in every cycle.
// Limits:      destination is our address or broadcast, for UDP also one multicast group each of IPv4 and
//              IPv6, for pause also its own address. Settings change only while no frame is expected.
//              512-bit registers: none.
// Does not implement: two tags, options, extension headers, joining the group (IGMP, MLD), defending
//              our IPv6 address against a host that wants the same (RFC 4862 5.4).

`default_nettype none

module fb_net_parse
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
(
    input wire clk,

    input wire [ 47:0] cfg_mac,       // our addresses; cfg_ip6 in ::/16: none
    input wire [ 31:0] cfg_ip,
    input wire [127:0] cfg_ip6,
    input wire [ 31:0] cfg_group,     // multicast groups that are received as well
    input wire [127:0] cfg_group6,
    input wire [ 31:0] cfg_peer_ip,   // who receives what we send
    input wire [ 15:0] cfg_port,      // UDP port that is ours
    input wire         cfg_priority,  // priority pause counts, not pause
    input wire [  2:0] cfg_class,     // the class that we send in

    input wire                      s_valid,  // first beat of a frame
    input wire [USER_DATA_BITS-1:0] s_data,

    output headers_t headers,
    output pause_t   pause
);

  localparam logic [47:0] BROADCAST = '1;
  localparam logic [15:0] ARP_ETHERNET = 16'd1, ARP_SIZES = 16'h0604;
  localparam logic [15:0] ARP_REQUEST = 16'd1, ARP_REPLY = 16'd2;
  localparam logic [7:0] ECHO_REQUEST = 8'd8, ECHO_REQUEST_6 = 8'd128;
  localparam logic [15:0] SOLICITATION = {8'd135, 8'd0};  // type and code
  localparam logic [7:0] HOPS_OF_LINK = 8'd255;  // no router has passed it on (RFC 4861 7.1.1)
  localparam logic [3:0] MULTICAST = 4'he;  // the upper bits of all IPv4 groups ...
  localparam logic [24:0] MULTICAST_MAC = {24'h01005e, 1'b0};  // ... and of their MAC addresses
  localparam logic [7:0] MULTICAST_6 = 8'hff;  // the same of IPv6 (RFC 2464 7)
  localparam logic [15:0] MULTICAST_6_MAC = 16'h3333;
  // ::/16 has the unspecified address, loopback and those of IPv4 (RFC 4291 2.5): none is on a wire.
  localparam logic [15:0] UNUSED_6 = 16'h0000;
  // Who has an address is asked of a group that its last three bytes name (RFC 4291 2.7.1).
  localparam logic [103:0] SOLICITED = 104'hff02_0000_0000_0000_0000_0001_ff;
  localparam logic [7:0] IPV4_PLAIN = 8'h45;  // version 4, a header without options
  localparam logic [3:0] IPV6 = 4'd6;
  localparam logic [7:0] HOPS = 8'd0, ROUTING = 8'd43, FRAGMENT = 8'd44, OPTIONS = 8'd60;

  // What a field says by itself; a cycle later it is seen what they make together.
  typedef struct packed {
    logic raw, arp, ipv4, ipv6, mac_control;  // EtherType
    logic pause, priority_pause;  // opcode
  } fields_t;

  // The same of IP, IPv4 or IPv6.
  typedef struct packed {
    logic plain;  // a header of its version, without options
    logic whole, first;  // no fragment, none but the first
    logic udp, icmp;  // what follows it
    logic port, echo, solicit;
    logic [15:0] bytes, udp_bytes;
    logic [6:0] in_beat;
    logic unsummed;
  } ip_t;

  // What takes more levels to see.
  typedef struct packed {
    logic arp, arp_request, arp_reply, arp_ours, arp_peer;
    logic ip_ours, ip_group, ip6_ours, ip6_group, ip6_solicited, ip6_sender;
  } matches_t;

  // From the EtherType on.
  localparam int unsigned RestBytes = USER_BEAT_BYTES - 16;

  function automatic fields_t fields_of(input logic [8*RestBytes-1:0] rest);
    logic [USER_DATA_BITS-1:0] all;
    logic [15:0] ethertype, opcode;
    all = USER_DATA_BITS'(rest);
    ethertype = be16(all, 0);
    opcode = be16(all, 2);
    fields_of.raw = ethertype == ETHERTYPE_FOREBAY;
    fields_of.arp = ethertype == ETHERTYPE_ARP;
    fields_of.ipv4 = ethertype == ETHERTYPE_IPV4;
    fields_of.ipv6 = ethertype == ETHERTYPE_IPV6;
    fields_of.mac_control = ethertype == ETHERTYPE_MAC_CONTROL;
    fields_of.pause = opcode == PAUSE_OPCODE;
    fields_of.priority_pause = opcode == PAUSE_PRIORITY_OPCODE;
  endfunction

  function automatic ip_t ipv4_of(input logic [8*RestBytes-1:0] rest);
    logic [USER_DATA_BITS-1:0] all;
    all = USER_DATA_BITS'(rest);
    ipv4_of.plain = all[8*2+:8] == IPV4_PLAIN;
    ipv4_of.whole = (be16(all, 8) & 16'h3fff) == '0;  // no more fragments, no offset
    ipv4_of.first = (be16(all, 8) & 16'h1fff) == '0;  // no offset
    ipv4_of.udp = all[8*11+:8] == PROTOCOL_UDP;
    ipv4_of.icmp = all[8*11+:8] == PROTOCOL_ICMP;
    ipv4_of.port = be16(all, 24) == cfg_port;
    ipv4_of.echo = all[8*22+:8] == ECHO_REQUEST;
    ipv4_of.solicit = 1'b0;
    ipv4_of.bytes = be16(all, 4);
    ipv4_of.in_beat = at_most_a_beat(ipv4_of.bytes >= 16'(USER_BEAT_BYTES), all[8*5+:6]);
    ipv4_of.udp_bytes = be16(all, 26);
    ipv4_of.unsummed = be16(all, 28) == '0;
  endfunction

  function automatic ip_t ipv6_of(input logic [8*RestBytes-1:0] rest);
    logic [USER_DATA_BITS-1:0] all;
    logic [7:0] next;
    logic extended, fragment;
    all = USER_DATA_BITS'(rest);
    next = all[8*8+:8];
    extended = next inside {HOPS, ROUTING, OPTIONS};
    fragment = next == FRAGMENT;
    ipv6_of.plain = all[8*2+4+:4] == IPV6 && !extended;
    ipv6_of.whole = !fragment;
    ipv6_of.first = !fragment;
    ipv6_of.udp = next == PROTOCOL_UDP || extended || fragment;  // or can be
    ipv6_of.icmp = next == PROTOCOL_ICMPV6;
    ipv6_of.port = be16(all, 44) == cfg_port;
    ipv6_of.echo = all[8*42+:8] == ECHO_REQUEST_6;
    ipv6_of.solicit = be16(all, 42) == SOLICITATION && all[8*9+:8] == HOPS_OF_LINK;
    ipv6_of.bytes = be16(all, 6);
    ipv6_of.in_beat = at_most_a_beat(ipv6_of.bytes >= 16'(USER_BEAT_BYTES - IPV6_BYTES),
                                     all[8*7+:6] + 6'(IPV6_BYTES));
    ipv6_of.udp_bytes = be16(all, 46);
    ipv6_of.unsummed = 1'b0;  // which IPv6 forbids
  endfunction

  function automatic logic [6:0] at_most_a_beat(input logic all, input logic [5:0] bytes);
    return all ? 7'(USER_BEAT_BYTES) : 7'(bytes);
  endfunction

  function automatic matches_t matches_of(input logic [8*RestBytes-1:0] rest);
    logic [USER_DATA_BITS-1:0] all;
    logic node;  // the end of our address
    all = USER_DATA_BITS'(rest);
    matches_of.arp = be16(all, 2) == ARP_ETHERNET && be16(all, 4) == ETHERTYPE_IPV4 &&
        be16(all, 6) == ARP_SIZES;
    matches_of.arp_request = be16(all, 8) == ARP_REQUEST;
    matches_of.arp_reply = be16(all, 8) == ARP_REPLY;
    matches_of.arp_peer = {be16(all, 16), be16(all, 18)} == cfg_peer_ip;
    matches_of.arp_ours = {be16(all, 26), be16(all, 28)} == cfg_ip;
    matches_of.ip_ours = {be16(all, 18), be16(all, 20)} == cfg_ip;
    matches_of.ip_group = {be16(all, 18), be16(all, 20)} == cfg_group;
    matches_of.ip6_sender = be16(all, 10) != UNUSED_6 && all[8*10+:8] != MULTICAST_6;
    node = 24'(be128(all, 26)) == cfg_ip6[23:0];
    matches_of.ip6_ours = node && 104'(be128(all, 26) >> 24) == cfg_ip6[127:24];
    matches_of.ip6_group = be128(all, 26) == cfg_group6;
    matches_of.ip6_solicited = node && 104'(be128(all, 26) >> 24) == SOLICITED;
  endfunction

  // Fields are read as if there were a VLAN tag and as if there were none, while that is compared;
  // what is wide is chosen a cycle later.
  logic vlan, v6, vlan_q, ours_q, broadcast_q, pause_group_q, group_q;
  logic group6_q, solicited_q, has_ip6_q;
  logic [8*RestBytes-1:0] plain, behind;
  logic [47:0] destination;
  fields_t f;
  ip_t ip_q;
  matches_t tagged_q, plain_q, m;
  assign m = vlan_q ? tagged_q : plain_q;
  assign vlan = be16(s_data, 12) == ETHERTYPE_VLAN;
  assign v6 = vlan ? be16(s_data, 16) == ETHERTYPE_IPV6 : be16(s_data, 12) == ETHERTYPE_IPV6;
  assign plain = s_data[8*12+:8*RestBytes];
  assign behind = s_data[8*16+:8*RestBytes];
  assign destination = {be16(s_data, 0), be16(s_data, 2), be16(s_data, 4)};

  always_ff @(posedge clk) begin : keep
    if (s_valid) begin
      f <= vlan ? fields_of(behind) : fields_of(plain);
      if (v6) ip_q <= vlan ? ipv6_of(behind) : ipv6_of(plain);
      else ip_q <= vlan ? ipv4_of(behind) : ipv4_of(plain);
      tagged_q <= matches_of(behind);
      plain_q <= matches_of(plain);
      vlan_q <= vlan;
      ours_q <= destination == cfg_mac;
      broadcast_q <= destination == BROADCAST;
      pause_group_q <= destination == PAUSE_ADDRESS;
      // RFC 1112 6.4: 23 bits of the group stand in its MAC address.
      group_q <= cfg_group[31:28] == MULTICAST && destination == {MULTICAST_MAC, cfg_group[22:0]};
      group6_q <= cfg_group6[127:120] == MULTICAST_6 &&
          destination == {MULTICAST_6_MAC, cfg_group6[31:0]};
      solicited_q <= destination == {MULTICAST_6_MAC, SOLICITED[7:0], cfg_ip6[23:0]};
      has_ip6_q <= cfg_ip6[127:112] != UNUSED_6;
    end
  end

  logic known, to_us_6, ip, udp, echo, solicit, arp, mac_control;
  assign known = ours_q || broadcast_q;
  assign to_us_6 = f.ipv6 && has_ip6_q && ours_q && m.ip6_ours;
  assign ip = (f.ipv4 && ((known && m.ip_ours) || (group_q && m.ip_group))) || to_us_6 ||
      (f.ipv6 && group6_q && m.ip6_group);
  // Behind options, and in a later fragment, nobody knows where the port is, or if.
  assign udp = ip && ip_q.udp && (!ip_q.plain || !ip_q.first || ip_q.port);
  assign echo = ip && !group_q && !group6_q && ip_q.icmp && ip_q.echo && (f.ipv4 || m.ip6_sender);
  assign solicit = ip_q.icmp && ip_q.solicit && ip_q.plain && m.ip6_sender && has_ip6_q &&
      (to_us_6 || (f.ipv6 && solicited_q && m.ip6_solicited));
  // A control frame has no tag (802.3 31.4.1); priority pause goes to the group address only
  // (802.3 annex 31D), which no bridge passes on: nobody further away can silence us by it.
  assign arp = known && f.arp && m.arp && m.arp_ours;
  assign mac_control = !vlan_q && f.mac_control &&
      ((pause_group_q && (f.pause || f.priority_pause)) || (ours_q && f.pause));

  always_comb begin : read_headers
    headers = '{
        kind: KIND_ALIEN,
        vlan: vlan_q,
        ipv6: f.ipv6,
        icmp: ip_q.icmp,
        ip: udp || echo || solicit,
        ip_bad: !ip_q.plain,
        fragment: !ip_q.whole,
        ip_bytes: ip_q.bytes,
        ip_in_beat: ip_q.in_beat,
        udp_bytes: ip_q.udp_bytes,
        unsummed: ip_q.unsummed
    };
    unique case (1'b1)
      known && f.raw: headers.kind = KIND_RAW;
      arp && m.arp_request: headers.kind = KIND_ARP;
      arp && ours_q && m.arp_reply && m.arp_peer: headers.kind = KIND_ANSWER;
      udp: headers.kind = KIND_UDP;
      echo: headers.kind = KIND_ECHO;
      solicit: headers.kind = KIND_SOLICIT;
      mac_control: headers.kind = KIND_PAUSE;
      default: headers.kind = KIND_ALIEN;
    endcase
  end

  // Control frames have no tag.
  always_ff @(posedge clk) begin : read_pause
    if (s_valid) begin
      pause <= '{valid: be16(s_data, 14) == PAUSE_OPCODE, quanta: be16(s_data, 16)};
      if (cfg_priority) begin
        pause.valid  <= be16(s_data, 14) == PAUSE_PRIORITY_OPCODE && plain[8*5+cfg_class];
        pause.quanta <= be16(USER_DATA_BITS'(plain >> {cfg_class, 4'd0}), 6);
      end
    end
  end

endmodule

`default_nettype wire
