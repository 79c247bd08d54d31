// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_pkg: what the modules of rtl/net tell each other of a frame.

`default_nettype none

package fb_net_pkg;

  // What a frame is, as far as its headers say.
  typedef enum logic [2:0] {
    KIND_ALIEN,  // for somebody else
    KIND_RAW,  // payload straight on Ethernet
    KIND_UDP,  // payload behind UDP
    KIND_ARP,  // a request for our address
    KIND_ECHO,  // an ICMP echo request
    KIND_PAUSE,  // pause, or priority pause
    KIND_ANSWER,  // the receiver of what we send answers our ARP request
    KIND_SOLICIT  // a neighbour solicitation of IPv6, which is a request too
  } kind_e;

  // The first beat's headers, read.
  typedef struct packed {
    kind_e kind;
    logic vlan;  // there is a VLAN tag
    logic ipv6;  // IPv6, else IPv4, where
    logic icmp;  // ICMP follows, of the same version
    logic ip;  // an IP header follows
    logic ip_bad;  // and it is none, or has options or extension headers
    logic fragment;
    logic [15:0] ip_bytes;  // its length: of IPv4 with that header, of IPv6 without it
    logic [6:0] ip_in_beat;  // its length with that header, at most 64
    logic [15:0] udp_bytes;  // length in the UDP header
    logic unsummed;  // the UDP checksum is 0: there is none
  } headers_t;

  // A time since 1970, in seconds and once more in ns, so that no module has to divide.
  typedef struct packed {
    logic [33:0] seconds;
    logic [63:0] ns;
  } time_t;

  // What a pause frame says.
  typedef struct packed {
    logic valid;
    logic [15:0] quanta;
  } pause_t;

  // The word at a byte of a beat, in wire order.
  function automatic logic [15:0] be16(input logic [511:0] data, input int unsigned at);
    return {data[8*at+:8], data[8*at+8+:8]};
  endfunction

  // The IPv6 address at a byte of a beat, its first byte the highest.
  function automatic logic [127:0] be128(input logic [511:0] data, input int unsigned at);
    for (int unsigned i = 0; i < 16; i++) be128[8*(15-i)+:8] = data[8*(at+i)+:8];
  endfunction

  // TKEEP of a beat with 0 to 64 bytes.
  function automatic logic [63:0] keep_of(input logic [6:0] bytes);
    return ~(64'hffff_ffff_ffff_ffff << bytes);
  endfunction

  // Bytes in a beat, of which TKEEP is all ones from bit 0 on: a half is full, or empty but for it.
  function automatic logic [6:0] bytes_of(input logic [63:0] keep);
    logic [63:0] rest;
    rest = keep;
    bytes_of = {keep[63], 6'd0};
    for (int half = 32; half > 0; half /= 2) begin
      if (rest[half-1] && !keep[63]) bytes_of |= 7'(half);
      rest = rest[half-1] ? rest >> half : rest;
    end
  endfunction

  // The beginning of a beat from a number of so many bytes, whose highest byte is the first one.
  function automatic logic [511:0] from_wire(input logic [511:0] number, input int unsigned bytes);
    logic [511:0] first;
    first = number << 8 * (64 - bytes);
    // All 64, whatever `bytes` is: a simulator unrolls that.
    for (int unsigned i = 0; i < 64; i++) from_wire[8*i+:8] = first[8*(63-i)+:8];
  endfunction

endpackage

`default_nettype wire
