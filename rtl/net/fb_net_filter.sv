// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_filter: one verdict for each frame, at line rate.
//
// What:        passes every beat on, and with the last one says what is to become of the frame:
//              fb_net_parse reads what it is, fb_net_checksum its checksums, here its length is counted
//              and held against what the headers say.
// Handshake:   no ready on either side: a MAC cannot be stopped. Between the beats of a frame may be
//              idle cycles.
// Latency:     7 cycles.
// Throughput:  a beat in every cycle, a frame in every cycle.
// Limits:      TKEEP is contiguous. What follows a reset is taken for the beginning of a frame.
//              512-bit registers: three, and a delay line of four in SRL.
// Does not implement: the check sequence; the MAC checks it and says so by TUSER.

`default_nettype none

module fb_net_filter
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire [ 47:0] cfg_mac,       // our addresses; cfg_ip6 in ::/16: none
    input wire [ 31:0] cfg_ip,
    input wire [127:0] cfg_ip6,
    input wire [ 31:0] cfg_group,     // multicast groups that are received as well
    input wire [127:0] cfg_group6,
    input wire [ 31:0] cfg_peer_ip,   // who receives what we send
    input wire [ 15:0] cfg_port,      // UDP port that is ours
    input wire [ 13:0] cfg_giant,     // bytes of the longest frame, at most 16382
    input wire         cfg_priority,  // priority pause counts, not pause
    input wire [  2:0] cfg_class,     // the class that we send in

    input wire                       s_axis_mac_tvalid,
    input wire [ USER_DATA_BITS-1:0] s_axis_mac_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_mac_tkeep,
    input wire                       s_axis_mac_tlast,
    input wire                       s_axis_mac_tuser,   // with TLAST: damaged

    // The frame, and what is known of it with every beat ...
    output logic                          m_valid,
    output logic                          m_first,
    output logic                          m_last,
    output logic     [USER_DATA_BITS-1:0] m_data,
    output logic     [               6:0] m_beat_bytes,  // of this beat, 1 to 64
    output headers_t                      m_headers,
    // ... with the first one: of a neighbour solicitation the sum of its source address ...
    output logic     [              15:0] m_source_sum,
    // ... with the last one.
    output logic     [               3:0] m_arrival,     // ARRIVAL_*, never overflow
    output logic     [              13:0] m_bytes,       // of the frame, at most 16383

    output pause_t pause  // for one cycle, of a good frame
);

  localparam int unsigned Delay = 5;  // from the masked beat to the verdict
  localparam int unsigned Framed = UDP_BYTES + FRAMING_BYTES;

  typedef struct packed {
    logic first, last, damaged;
    logic [6:0] bytes;
  } beat_t;

  // ------------------------------------------------------------------------- 1: the beat, its kind
  logic first_q;  // the next beat is the first of its frame
  logic valid_1q;
  beat_t beat_1q;
  logic [USER_DATA_BITS-1:0] data_1q;
  headers_t headers_1;
  pause_t pause_1;

  fb_net_parse u_parse (
      .clk,
      .cfg_mac,
      .cfg_ip,
      .cfg_ip6,
      .cfg_group,
      .cfg_group6,
      .cfg_peer_ip,
      .cfg_port,
      .cfg_priority,
      .cfg_class,
      .s_valid(s_axis_mac_tvalid && first_q),
      .s_data (s_axis_mac_tdata),
      .headers(headers_1),
      .pause  (pause_1)
  );

  always_ff @(posedge clk) begin : take
    data_1q <= s_axis_mac_tdata;
    beat_1q <= '{
        first: first_q,
        last: s_axis_mac_tlast,
        damaged: s_axis_mac_tuser,
        bytes: bytes_of(s_axis_mac_tkeep)
    };
    valid_1q <= s_axis_mac_tvalid && !rst;
    if (s_axis_mac_tvalid) first_q <= s_axis_mac_tlast;
    if (rst) first_q <= 1'b1;
  end

  // ------------------------------------------- 2: what of the beat is summed, how long the frame is
  logic valid_2q;
  beat_t beat_2q;
  logic [USER_DATA_BITS-1:0] data_2q;
  headers_t headers_2q;
  pause_t pause_2q;
  logic [USER_BEAT_BYTES-1:0] keep_2q, ip_keep_2q;
  logic [16:0] seed_2q;  // length and protocol, which are summed as well
  logic [13:0] bytes_2q, bytes;  // of the frame so far, saturated
  logic [14:0] more;
  logic [16:0] end_2q, end_1;  // bytes of the frame up to the end of the IP datagram
  logic [16:0] left_q, left;  // of these, bytes behind the beat, and with it
  logic left_long_q;  // they are 64 or more
  logic odd_2q;  // lengths in the headers do not agree
  logic short_2q;  // the datagram has no room for a header of ICMP or UDP
  logic [5:0] head;  // bytes that the IP header's length does not count, to the end of that header
  logic [4:0] ip_head;  // bytes of that header, if it does

  assign head = 6'(ETHERNET_BYTES) + (headers_1.vlan ? 6'(VLAN_BYTES) : '0) +
      (headers_1.ipv6 ? 6'(IPV6_BYTES) : '0);
  assign ip_head = headers_1.ipv6 ? '0 : 5'(IPV4_BYTES);
  assign end_1 = 17'(headers_1.ip_bytes) + 17'(head);
  assign left = beat_1q.first ? end_1 : left_q;
  assign more = 15'(beat_1q.first ? '0 : bytes_2q) + 15'(beat_1q.bytes);
  assign bytes = more[14] ? '1 : more[13:0];

  // Bytes of UDP's sum, which begins with the addresses in the IP header (RFC 768, RFC 8200 8.1). Its
  // length counts from that header's beginning: nothing is added up before it is compared.
  localparam int unsigned Addresses = 12, Addresses6 = 8, AddressBytes6 = 16;
  logic [USER_BEAT_BYTES-1:0] keep, of_datagram;
  always_comb begin : choose_bytes
    of_datagram = keep_of(headers_1.ip_in_beat);
    of_datagram = of_datagram >> Addresses6 << Addresses6;
    if (!headers_1.ipv6) of_datagram = of_datagram >> Addresses << Addresses;
    keep = keep_of({left_long_q, left_q[5:0]});
    if (beat_1q.first) begin
      keep = of_datagram << ETHERNET_BYTES;
      if (headers_1.vlan) keep = of_datagram << (ETHERNET_BYTES + VLAN_BYTES);
    end
    keep &= keep_of(beat_1q.bytes);
  end

  // Bytes of the IPv4 header, and of an IPv6 header's source address, without a VLAN tag before it.
  localparam logic [USER_BEAT_BYTES-1:0] Ipv4Keep =
      ((64'd1 << IPV4_BYTES) - 1'b1) << ETHERNET_BYTES;
  localparam logic [USER_BEAT_BYTES-1:0] SourceKeep =
      ((64'd1 << AddressBytes6) - 1'b1) << (ETHERNET_BYTES + Addresses6);
  logic [USER_BEAT_BYTES-1:0] ip_keep;
  assign ip_keep = headers_1.ipv6 ? SourceKeep : Ipv4Keep;

  // What stands behind the first beat in IPv6: UDP's checksum behind a VLAN tag, and the address that
  // a solicitation asks for, whose first two bytes are in the first beat if there is no tag.
  localparam int unsigned SumAt = ETHERNET_BYTES + IPV6_BYTES + 6;
  logic second_q;  // the next beat is the second one of its frame
  logic zero_2q;  // UDP's checksum is 0
  logic ours_2q;  // our address is asked for, as far as it has come
  logic plain_ours, tagged_ours;
  assign plain_ours  = 112'(be128(data_1q, 0) >> 16) == cfg_ip6[111:0];
  assign tagged_ours = be128(data_1q, 2) == cfg_ip6;

  always_ff @(posedge clk) begin : mask
    valid_2q <= valid_1q && !rst;
    if (valid_1q) begin
      data_2q <= data_1q;
      beat_2q <= beat_1q;
      headers_2q <= headers_1;
      pause_2q <= pause_1;
      bytes_2q <= bytes;
      end_2q <= end_1;
      odd_2q <= headers_1.udp_bytes != headers_1.ip_bytes - 16'(ip_head) ||
          headers_1.ip_bytes <= 16'(ip_head) + 16'(Framed);
      short_2q <= headers_1.ip_bytes < 16'(ip_head) + 16'(UDP_BYTES);
      seed_2q <= 17'(headers_1.ip_bytes) - 17'(ip_head) +
          17'(headers_1.icmp ? PROTOCOL_ICMPV6 : PROTOCOL_UDP);
      left_q <= left[16:6] != '0 ? left - 17'(USER_BEAT_BYTES) : '0;
      left_long_q <= left[16:7] != '0;
      keep_2q <= keep;
      ip_keep_2q <= headers_1.vlan ? ip_keep << VLAN_BYTES : ip_keep;
    end
  end

  always_ff @(posedge clk) begin : look_behind
    if (valid_1q) begin
      second_q <= beat_1q.first;
      if (beat_1q.first) begin
        zero_2q <= !headers_1.vlan && be16(data_1q, SumAt) == '0;
        ours_2q <= headers_1.vlan || be16(data_1q, USER_BEAT_BYTES - 2) == cfg_ip6[127:112];
      end else if (second_q) begin
        if (headers_1.vlan) zero_2q <= be16(data_1q, 0) == '0;
        ours_2q <= ours_2q && (headers_1.vlan ? tagged_ours : plain_ours);
      end
    end
  end

  // ------------------------------------------------------------------ 3 to 6: sums; the beat waits
  logic ip_summed, udp_summed, ip_right, udp_right;
  logic [15:0] ip_sum;

  fb_net_checksum u_ip_sum (
      .clk,
      .rst,
      .s_valid(valid_2q && beat_2q.first),
      .s_first(1'b1),
      .s_last (1'b1),
      .s_data (data_2q),
      .s_keep (ip_keep_2q),
      .s_seed ('0),
      .m_valid(ip_summed),
      .m_sum  (ip_sum),
      .m_right(ip_right)
  );

  fb_net_checksum u_udp_sum (
      .clk,
      .rst,
      .s_valid(valid_2q),
      .s_first(beat_2q.first),
      .s_last (beat_2q.last),
      .s_data (data_2q),
      .s_keep (keep_2q),
      .s_seed (seed_2q),
      .m_valid(udp_summed),
      .m_sum  (),
      .m_right(udp_right)
  );

  typedef struct packed {
    beat_t beat;
    headers_t headers;
    pause_t pause;
    logic [13:0] bytes;
    logic wrong_length;  // datagram and frame, or its headers, do not agree
    logic zero, ours;  // as zero_2q and ours_2q
    logic [USER_DATA_BITS-1:0] data;
  } word_t;

  word_t line_q[Delay-1];
  word_t word_2, word_5, word_6;
  logic [Delay-2:0] valid_q;

  logic cut, wrong_length;
  assign cut = 17'(bytes_2q) < end_2q;
  assign wrong_length = (headers_2q.ip && cut) || (headers_2q.kind == KIND_UDP && odd_2q) ||
      (headers_2q.kind == KIND_ECHO && short_2q) ||
      (headers_2q.kind == KIND_SOLICIT && !headers_2q.ip_in_beat[6]);

  always_comb begin : gather
    word_2 = '{
        beat: beat_2q,
        headers: headers_2q,
        pause: pause_2q,
        bytes: bytes_2q,
        wrong_length: wrong_length,
        zero: zero_2q,
        ours: ours_2q,
        data: data_2q
    };
  end
  assign word_5 = line_q[Delay-3];
  assign word_6 = line_q[Delay-2];

  headers_t h5, h6;
  assign h5 = word_5.headers;
  assign h6 = word_6.headers;

  // Neither of the two steps of the verdict looks at all of a word.
  logic unused;
  assign unused = &{1'b0, word_5, word_6, h5, h6};

  always_ff @(posedge clk) begin : delay_line
    line_q[0] <= word_2;
    for (int i = 1; i < int'(Delay) - 1; i++) line_q[i] <= line_q[i-1];
    valid_q <= {valid_q[Delay-3:0], valid_2q};
    if (rst) valid_q <= '0;
  end

  // -------------------------------------------------------------------------------- 7: the verdict
  // What the sums do not decide is judged a cycle before them: what comes before the IPv4 header's
  // sum, and what comes behind it.
  logic [3:0] early, early_q, late, late_q, arrival;
  logic ip_wrong_q, ip_wrong;

  always_comb begin : judge_early
    early = ARRIVAL_DATAGRAM;
    if (word_5.beat.damaged) early = ARRIVAL_DAMAGED;
    else if (word_5.bytes < 14'(FRAME_LEAST_BYTES)) early = ARRIVAL_RUNT;
    else if (word_5.bytes > cfg_giant || word_5.bytes == '1) early = ARRIVAL_GIANT;
    else if (h5.kind == KIND_ALIEN || (h5.kind == KIND_SOLICIT && !word_5.ours))
      early = ARRIVAL_ALIEN;
    else if (h5.kind == KIND_PAUSE) early = ARRIVAL_PAUSE;
    else if (h5.kind == KIND_ARP || h5.kind == KIND_ANSWER) early = ARRIVAL_REQUEST;
    else if (h5.ip && h5.ip_bad) early = ARRIVAL_IP_HEADER;
    late = ARRIVAL_DATAGRAM;
    if (h5.ip && h5.fragment) late = ARRIVAL_FRAGMENT;
    else if (word_5.wrong_length) late = ARRIVAL_LENGTH;
    else if (h5.kind == KIND_ECHO) late = ARRIVAL_REQUEST;
    else if (h5.kind == KIND_UDP && h5.ipv6 && word_5.zero) late = ARRIVAL_UDP_CHECKSUM;
  end

  // The IPv4 header's sum comes with the first beat, the verdict with the last.
  assign ip_wrong = ip_summed ? !ip_right : ip_wrong_q;

  logic summed;
  assign summed = (h6.kind == KIND_UDP && !h6.unsummed) || h6.kind == KIND_SOLICIT;

  always_comb begin : judge
    arrival = ARRIVAL_DATAGRAM;
    if (early_q != ARRIVAL_DATAGRAM) arrival = early_q;
    else if (h6.ip && !h6.ipv6 && ip_wrong) arrival = ARRIVAL_IP_CHECKSUM;
    else if (late_q != ARRIVAL_DATAGRAM) arrival = late_q;
    else if (summed && !udp_right) arrival = ARRIVAL_UDP_CHECKSUM;
    else if (h6.kind == KIND_SOLICIT) arrival = ARRIVAL_REQUEST;
  end

  always_ff @(posedge clk) begin : pass_on
    m_valid <= valid_q[Delay-2] && !rst;
    m_first <= word_6.beat.first;
    m_last <= word_6.beat.last;
    m_data <= word_6.data;
    m_beat_bytes <= word_6.beat.bytes;
    m_headers <= word_6.headers;
    m_source_sum <= ip_sum;
    m_arrival <= arrival;
    m_bytes <= word_6.bytes;
    {early_q, late_q} <= {early, late};
    pause <= word_6.pause;
    pause.valid <= valid_q[Delay-2] && word_6.beat.last && early_q == ARRIVAL_PAUSE &&
        word_6.pause.valid && !rst;
    ip_wrong_q <= ip_wrong;
  end

`ifndef SYNTHESIS
  // The sum of a frame is there when its last beat is. Immediate: a simulator would sample whole beats
  // for a concurrent one.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      sum_in_time :
      assert (!(valid_q[Delay-2] && word_6.beat.last) || udp_summed)
      else $error("fb_net_filter (%m): the verdict comes without its sum");
    end
  end
`endif

endmodule

`default_nettype wire
