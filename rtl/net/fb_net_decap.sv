// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_decap: the datagram alone, from byte 0 of a beat.
//
// What:        takes the headers in front of the datagram away, and what fills the frame behind it.
//              Of frames that carry no datagram nothing is left but their end. A frame that begins
//              with `cfg_whole` is its own datagram, unless it is damaged, too short, too long or a
//              pause.
// Handshake:   no ready. A beat leaves when the next one comes, the last one at once.
// Latency:     1 cycle from the last beat to `m_end`.
// Throughput:  a beat in every cycle, a frame in every cycle.
// Limits:      a datagram begins at byte 0, 14, 18, 42, 46, 62 or 66: seven inputs a bit. 512-bit
//              registers: one.
// Does not implement: datagrams elsewhere.

`default_nettype none

module fb_net_decap
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire cfg_whole,  // frames as they are, with s_first

    input wire                                s_valid,
    input wire                                s_first,
    input wire                                s_last,
    input wire           [USER_DATA_BITS-1:0] s_data,
    input wire           [               6:0] s_beat_bytes,
    input wire headers_t                      s_headers,
    input wire           [               3:0] s_arrival,     // with s_last
    input wire           [              13:0] s_bytes,       // of the frame, with s_last

    output logic m_valid,  // a beat of a datagram
    output logic [USER_DATA_BITS-1:0] m_data,
    output logic m_end,  // its frame ends
    output logic m_whole,  // a frame is here, or ends, that is taken as it is
    output logic m_raw,  // its length is the frame's, filling included
    output logic [3:0] m_arrival,  // with m_end
    output logic [13:0] m_bytes,  // of the datagram, with m_end
    output logic [13:0] m_frame  // of the frame, with m_end
);

  localparam int unsigned Bits = USER_DATA_BITS;
  localparam int unsigned Raw = ETHERNET_BYTES;
  localparam int unsigned Udp = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES;
  localparam int unsigned Udp6 = ETHERNET_BYTES + IPV6_BYTES + UDP_BYTES;
  localparam int unsigned Over = Udp6 + VLAN_BYTES - USER_BEAT_BYTES;  // in the second beat

  // Where a datagram begins.
  typedef enum logic [1:0] {
    FRAME,
    RAW,
    RAW_TAGGED,
    OVER
  } near_e;
  typedef enum logic [1:0] {
    NEAR,
    UDP,
    UDP_TAGGED,
    UDP_IPV6
  } far_e;

  logic valid_q, last_q, raw_q, whole_q, whole, raw, there;
  near_e near_q;
  far_e far_q;
  logic there_q;  // the datagram has bytes in the beat or behind it, and ...
  logic more_q;  // ... the beat has more than headers, if it is the last
  logic [Bits-1:0] data_q;
  logic [3:0] arrival_q;
  logic [13:0] frame_q;
  logic [13:0] bytes_q;  // of the datagram; what has more of them is too short, and refused
  logic [16:0]
      left_q, left;  // bytes of the datagram from the beat on, of raw ones more than enough
  /* verilator lint_off UNUSEDSIGNAL */
  logic [Bits+8*Udp6-1:0] pair;  // the lowest bytes are always headers
  /* verilator lint_on UNUSEDSIGNAL */

  // A frame is one or the other from its first beat to its last, whatever the setting does then.
  assign whole = s_first ? cfg_whole : whole_q;
  assign raw   = s_headers.kind == KIND_RAW || whole;

  // Bytes in front of a datagram: of IP and UDP, and of all. Those of tagged IPv6 fill the first beat
  // and go over into the second one.
  logic over;
  logic [16:0] datagram;  // its bytes
  logic [5:0] ip_head, counted;  // of both headers, and of what the length of IP counts of these
  logic [6:0] head;
  assign over = !raw && s_headers.ipv6 && s_headers.vlan;
  assign ip_head = s_headers.ipv6 ? 6'(IPV6_BYTES + UDP_BYTES) : 6'(IPV4_BYTES + UDP_BYTES);
  assign counted = s_headers.ipv6 ? 6'(UDP_BYTES) : 6'(IPV4_BYTES + UDP_BYTES);
  assign datagram = 17'(s_headers.ip_bytes) - 17'(counted);
  assign head = whole ? '0 :
      7'(Raw) + (raw ? '0 : 7'(ip_head)) + (s_headers.vlan ? 7'(VLAN_BYTES) : '0);

  always_comb begin : count
    there = left_q > 17'(USER_BEAT_BYTES);
    left  = left_q - 17'(USER_BEAT_BYTES);
    if (s_first) begin
      there = raw || (s_headers.kind == KIND_UDP && s_headers.ip_bytes > 16'(counted));
      left  = raw ? '1 : datagram;
      if (over) left = datagram + 17'(USER_BEAT_BYTES);
    end
    if (!there) left = '0;
    if (s_first && over) there = 1'b0;
  end

  // What is no frame that somebody sent to somebody.
  logic refused;
  assign refused = s_arrival == ARRIVAL_DAMAGED || s_arrival == ARRIVAL_RUNT ||
      s_arrival == ARRIVAL_GIANT || s_arrival == ARRIVAL_PAUSE;

  always_ff @(posedge clk) begin : hold
    if (s_valid) begin
      data_q <= s_data;
      last_q <= s_last;
      there_q <= there;
      more_q <= s_beat_bytes > (over ? 7'(Over) : head);
      whole_q <= whole;
      raw_q <= raw;
      near_q <= whole ? FRAME : !raw ? OVER : s_headers.vlan ? RAW_TAGGED : RAW;
      far_q <= raw || over ? NEAR : s_headers.ipv6 ? UDP_IPV6 : s_headers.vlan ? UDP_TAGGED : UDP;
      bytes_q <= raw ? s_bytes - 14'(head) : 14'(datagram);
      arrival_q <= whole && !refused ? ARRIVAL_DATAGRAM : s_arrival;
      frame_q <= s_bytes;
      left_q <= left;
    end
    // What is held leaves with the next beat, the last one in any case.
    valid_q <= !rst && (s_valid || (valid_q && !last_q));
  end

  assign pair = {s_data[8*Udp6-1:0], data_q};

  // A LUT of six inputs chooses among four; written as pairs of pairs, tools find that.
  function automatic logic [Bits-1:0] of_four(input logic [1:0] which, input logic [Bits-1:0] a,
                                              input logic [Bits-1:0] b, input logic [Bits-1:0] c,
                                              input logic [Bits-1:0] d);
    return which[1] ? (which[0] ? d : c) : (which[0] ? b : a);
  endfunction

  logic [Bits-1:0] near;
  assign near = of_four(
      near_q, pair[0+:Bits], pair[8*Raw+:Bits], pair[8*(Raw+VLAN_BYTES)+:Bits], pair[8*Over+:Bits]
  );
  assign m_data = of_four(
      far_q, near, pair[8*Udp+:Bits], pair[8*(Udp+VLAN_BYTES)+:Bits], pair[8*Udp6+:Bits]
  );

  assign m_valid = valid_q && there_q && (last_q ? more_q : s_valid);
  assign m_end = valid_q && last_q;
  assign m_whole = valid_q && whole_q;
  assign m_raw = raw_q;
  assign m_arrival = arrival_q;
  assign m_bytes = bytes_q;
  assign m_frame = frame_q;

endmodule

`default_nettype wire
