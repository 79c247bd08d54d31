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
  logic [15:0] opcode;
  assign destination = {be16(s_data, 0), be16(s_data, 2), be16(s_data, 4)};
  assign opcode = at(2);

  // What a field says by itself; a cycle later it is seen what they make together.
  typedef struct packed {
    logic vlan;
    logic ours, broadcast, pause_group;  // destination
    logic raw, arp, ipv4, mac_control;  // EtherType
    logic pause, priority_pause;  // opcode
    logic arp_request, arp_ours;
    logic ip_ours, ip_plain, whole, first, is_udp, icmp, port, echo;
    logic [15:0] ip_bytes, udp_bytes;
    logic unsummed;
  } fields_t;

  fields_t fields, f;
  pause_t asked;

  always_comb begin : compare
    fields = '{
        vlan: vlan,
        ours: destination == cfg_mac,
        broadcast: destination == BROADCAST,
        pause_group: destination == PAUSE_ADDRESS,
        raw: at(0) == ETHERTYPE_FOREBAY,
        arp: at(0) == ETHERTYPE_ARP,
        ipv4: at(0) == ETHERTYPE_IPV4,
        mac_control: at(0) == ETHERTYPE_MAC_CONTROL,
        pause: opcode == PAUSE_OPCODE,
        priority_pause: opcode == PAUSE_PRIORITY_OPCODE,
        arp_request: {
        at(2)
        ,
        at(4)
        ,
        at(6)
        ,
        at(8)
        } == {
        ARP_ETHERNET
        ,
        ETHERTYPE_IPV4
        ,
        ARP_SIZES
        ,
        ARP_REQUEST
        },
        arp_ours: {at(26), at(28)} == cfg_ip,
        ip_ours: {at(18), at(20)} == cfg_ip,
        ip_plain: rest[8*2+:8] == IPV4_PLAIN,
        whole: (at(8) & 16'h3fff) == '0,  // no more fragments, no offset
        first: (at(8) & 16'h1fff) == '0,  // no offset
        is_udp: rest[8*11+:8] == PROTOCOL_UDP,
        icmp: rest[8*11+:8] == PROTOCOL_ICMP,
        port: at(24) == cfg_port,
        echo: rest[8*22+:8] == ECHO_REQUEST,
        ip_bytes: at(4),
        udp_bytes: at(26),
        unsummed: at(28) == '0
    };
  end

  logic known, ip, udp, echo, mac_control;
  assign known = f.ours || f.broadcast;
  assign ip = known && f.ipv4 && f.ip_ours;
  // Behind options, and in a later fragment, nobody knows where the port is, or if.
  assign udp = ip && f.is_udp && (!f.ip_plain || !f.first || f.port);
  assign echo = ip && f.icmp && f.echo;
  // A control frame has no tag (802.3 31.4.1); priority pause goes to the group address only
  // (802.3 annex 31D), which no bridge passes on: nobody further away can silence us by it.
  assign mac_control = !f.vlan && f.mac_control &&
      ((f.pause_group && (f.pause || f.priority_pause)) || (f.ours && f.pause));

  always_comb begin : read_headers
    headers = '{
        kind: KIND_ALIEN,
        vlan: f.vlan,
        ip: udp || echo,
        ip_bad: !f.ip_plain,
        fragment: !f.whole,
        ip_bytes: f.ip_bytes,
        udp_bytes: f.udp_bytes,
        unsummed: f.unsummed
    };
    unique case (1'b1)
      known && f.raw: headers.kind = KIND_RAW;
      known && f.arp && f.arp_request && f.arp_ours: headers.kind = KIND_ARP;
      udp: headers.kind = KIND_UDP;
      echo: headers.kind = KIND_ECHO;
      mac_control: headers.kind = KIND_PAUSE;
      default: headers.kind = KIND_ALIEN;
    endcase
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
      f <= fields;
      pause <= asked;
    end
  end

endmodule

`default_nettype wire
