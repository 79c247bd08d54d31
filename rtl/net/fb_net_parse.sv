// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_parse: what a frame is, from its first beat.
//
// What:        reads Ethernet, one VLAN tag, IPv4, UDP, ICMP, ARP and MAC control headers. Whatever
//              it says of addresses and ports is what the frame says: the checksums are
//              fb_net_filter's.
// Handshake:   no ready; `headers` and `pause` are those of the first beat that was there last.
// Latency:     1 cycle.
// Throughput:  a frame in every cycle.
// Limits:      destination is our address or broadcast, for pause also its own address. Settings
//              change only while no frame is expected. 512-bit registers: none.
// Does not implement: two tags, IPv6, IPv4 options, multicast groups.

`default_nettype none

module fb_net_parse
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
(
    input wire clk,

    input wire [47:0] cfg_mac,       // our addresses
    input wire [31:0] cfg_ip,
    input wire [15:0] cfg_port,      // UDP port that is ours
    input wire        cfg_priority,  // priority pause counts, not pause
    input wire [ 2:0] cfg_class,     // the class that we send in

    input wire                      s_valid,  // first beat of a frame
    input wire [USER_DATA_BITS-1:0] s_data,

    output headers_t headers,
    output pause_t   pause
);

  localparam logic [47:0] BROADCAST = '1;
  localparam logic [15:0] ARP_ETHERNET = 16'd1, ARP_SIZES = 16'h0604, ARP_REQUEST = 16'd1;
  localparam logic [7:0] ECHO_REQUEST = 8'd8;
  localparam logic [7:0] IPV4_PLAIN = 8'h45;  // version 4, a header without options

  // The beat without tag, from the EtherType on.
  localparam int unsigned RestBytes = USER_BEAT_BYTES - 16;
  logic vlan;
  logic [8*RestBytes-1:0] rest;
  assign vlan = be16(s_data, 12) == ETHERTYPE_VLAN;
  assign rest = vlan ? s_data[8*16+:8*RestBytes] : s_data[8*12+:8*RestBytes];

  function automatic logic [15:0] at(input int unsigned byte_at);
    return be16(USER_DATA_BITS'(rest), byte_at);
  endfunction

  logic [47:0] destination;
  logic [15:0] ethertype, opcode;
  logic ours, known, arp, ip, portless, udp, echo, mac_control;
  headers_t found;
  pause_t   asked;

  assign destination = {be16(s_data, 0), be16(s_data, 2), be16(s_data, 4)};
  assign ethertype = at(0);
  assign opcode = at(2);
  assign ours = destination == cfg_mac;
  assign known = ours || destination == BROADCAST;
  assign arp = known && ethertype == ETHERTYPE_ARP && at(
      2
  ) == ARP_ETHERNET && at(
      4
  ) == ETHERTYPE_IPV4 && at(
      6
  ) == ARP_SIZES && at(
      8
  ) == ARP_REQUEST && {at(
      26
  ), at(
      28
  )} == cfg_ip;
  assign ip = known && ethertype == ETHERTYPE_IPV4 && {at(18), at(20)} == cfg_ip;
  // Behind options, and in a later fragment, nobody knows where the port is, or if.
  assign portless = rest[8*2+:8] != IPV4_PLAIN || (at(8) & 16'h1fff) != '0;
  assign udp = ip && rest[8*11+:8] == PROTOCOL_UDP && (portless || at(24) == cfg_port);
  assign echo = ip && rest[8*11+:8] == PROTOCOL_ICMP && rest[8*22+:8] == ECHO_REQUEST;
  // A control frame has no tag (802.3 31.4.1); priority pause goes to the group address only
  // (802.3 annex 31D), which no bridge passes on: nobody further away can silence us by it.
  assign mac_control = !vlan && ethertype == ETHERTYPE_MAC_CONTROL &&
      (destination == PAUSE_ADDRESS || (ours && opcode == PAUSE_OPCODE));

  always_comb begin : read_headers
    found = '{
        kind: KIND_ALIEN,
        vlan: vlan,
        ip: 1'b0,
        ip_bad: rest[8*2+:8] != IPV4_PLAIN,
        fragment: (at(8) & 16'h3fff) != '0,  // more fragments, or an offset
        ip_bytes: at(4),
        udp_bytes: at(26),
        unsummed: at(28) == '0
    };
    unique case (1'b1)
      known && ethertype == ETHERTYPE_FOREBAY: found.kind = KIND_RAW;
      arp: found.kind = KIND_ARP;
      udp: found.kind = KIND_UDP;
      echo: found.kind = KIND_ECHO;
      mac_control && (opcode == PAUSE_OPCODE || opcode == PAUSE_PRIORITY_OPCODE):
      found.kind = KIND_PAUSE;
      default: found.kind = KIND_ALIEN;
    endcase
    found.ip = found.kind == KIND_UDP || found.kind == KIND_ECHO;
  end

  always_comb begin : read_pause
    asked = '{valid: opcode == PAUSE_OPCODE && !cfg_priority, quanta: at(4)};
    if (cfg_priority) begin
      asked.valid  = opcode == PAUSE_PRIORITY_OPCODE && rest[8*5+cfg_class];
      asked.quanta = be16(USER_DATA_BITS'(rest >> {cfg_class, 4'd0}), 6);
    end
  end

  always_ff @(posedge clk) begin : keep
    if (s_valid) begin
      headers <= found;
      pause   <= asked;
    end
  end

endmodule

`default_nettype wire
