// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_send: objects into frames with checksums, paced.
//
// What:        cuts a packet into UDP frames of `cfg_payload` bytes of payload, each with our header
//              in front. What is known only at a frame's end (lengths, last, checksum) goes beside it
//              through the memory, and into its first beat on the way out.
// Handshake:   valid/ready. One head word an object, held until the object's last byte is taken.
//              `m_axis_data` goes on in every cycle once it has begun a frame.
// Latency:     a frame is stored before it is sent: its beats and 7 cycles of clk, the crossing
//              (fb_net_frame_fifo).
// Throughput:  64 bytes of payload a cycle, but 7 to 8 cycles for each frame.
// Limits:      `cfg_payload` is a multiple of 64, 64 to 8896. Settings change only at rest.
//              512-bit registers: two, the memory's among them, and 10 bytes that go into the next beat.
// Does not implement: VLAN tags, raw frames, ARP for the peer's address.

`default_nettype none

module fb_net_send
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
#(
    parameter int unsigned Beats = 512  // 64-byte beats of memory, a power of two, 256 to 16384
) (
    input wire clk,
    input wire rst,

    input wire [47:0] cfg_mac,        // from
    input wire [31:0] cfg_ip,
    input wire [15:0] cfg_port,
    input wire [47:0] cfg_peer_mac,   // to
    input wire [31:0] cfg_peer_ip,
    input wire [15:0] cfg_peer_port,
    input wire [15:0] cfg_stream,
    input wire [31:0] cfg_epoch,
    input wire [13:0] cfg_payload,    // bytes of payload in a frame

    input  wire                        s_axis_head_tvalid,
    output logic                       s_axis_head_tready,
    input  wire  [              127:0] s_axis_head_tdata,     // object; above it its bytes
    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,

    input  wire                        clk_mac,
    input  wire                        rst_mac,
    input  wire  [               15:0] cfg_rate,            // 1/256 byte a cycle; 0: as it comes
    output logic                       m_axis_data_tvalid,
    input  wire                        m_axis_data_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_data_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_data_tkeep,
    output logic                       m_axis_data_tlast
);

  if (Beats < 256) begin : gen_bad_beats
    $fatal(1, "fb_net_send (%m): Beats=%0d must hold a frame of 9000 bytes: 256 or more", Beats);
  end

  localparam int unsigned Bits = USER_DATA_BITS;
  localparam int unsigned BeatBytes = USER_BEAT_BYTES;
  localparam int unsigned OuterBytes = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES;
  localparam int unsigned HeadBytes = OuterBytes + FRAMING_BYTES;
  localparam int unsigned Carry = HeadBytes - BeatBytes;  // bytes that a beat is late
  localparam logic [15:0] VERSION_IHL = 16'h4500, DONT_FRAGMENT = 16'h4000;
  localparam logic [7:0] TTL = 8'd64;

  // What is known at a frame's end.
  typedef struct packed {
    logic [7:0]  flags;
    logic [15:0] checksum;
    logic [13:0] bytes;
    logic [15:0] ip_checksum;
  } end_t;

  // -------------------------------------------------------------------------------------- cutting
  typedef enum logic [1:0] {
    HEAD,  // the first beat, all of it headers
    BODY,  // payload behind what the beat before had too much
    TAIL,  // what the last beat had too much
    SUM    // the checksum is on its way
  } state_e;

  state_e state_q;
  logic first_q, last_q;  // the frame begins, ends its object
  logic [31:0] sequence_q;
  logic [63:0] offset_q;
  logic [13:0] left_q;  // bytes of payload that still go into the frame
  logic [13:0] bytes_q;  // of the frame so far
  logic [8*Carry-1:0] carry_q;

  logic object_tvalid, object_tready, object_tlast;  // the payload, a cycle later
  logic [Bits-1:0] object_tdata;
  logic [BeatBytes-1:0] object_tkeep;
  logic [Carry-1:0] tail_q;  // bytes of the tail
  logic room, push, moves, fills, ends;
  logic spills;  // the beat has bytes that go into the next one
  logic [6:0] there;  // bytes in the beat
  logic [8*HeadBytes-1:0] head;
  logic [Bits-1:0] beat;
  logic [BeatBytes-1:0] keep;

  // Flags, lengths and checksums are 0 here and come in on the way out.
  assign head = {
    first_q ? s_axis_head_tdata[64+:64] : offset_q,
    s_axis_head_tdata[63:0],
    sequence_q,
    cfg_epoch,
    cfg_stream,
    16'd0,
    FRAMING_MAGIC,
    (8 * OuterBytes)'(from_wire(
        Bits'({
          cfg_peer_mac,
          cfg_mac,
          ETHERTYPE_IPV4,
          VERSION_IHL,
          32'd0,
          DONT_FRAGMENT,
          TTL,
          PROTOCOL_UDP,
          16'd0,
          cfg_ip,
          cfg_peer_ip,
          cfg_port,
          cfg_peer_port,
          32'd0
        }),
        OuterBytes
    ))
  };

  assign moves = object_tvalid && object_tready;
  assign fills = left_q <= 14'(BeatBytes);
  assign ends = object_tlast || fills;
  assign there = bytes_of(object_tkeep);
  assign spills = object_tkeep[BeatBytes-Carry];

  assign object_tready = state_q == BODY && room;
  assign s_axis_object_tready = !object_tvalid || object_tready;
  assign s_axis_head_tready = moves && object_tlast;
  assign push = room && (moves || state_q == TAIL || (state_q == HEAD && s_axis_head_tvalid));

  always_comb begin : compose
    beat = {object_tdata[Bits-8*Carry-1:0], carry_q};
    keep = {object_tkeep[BeatBytes-Carry-1:0], {Carry{1'b1}}};
    if (state_q == TAIL) keep = BeatBytes'(tail_q);
    if (state_q == HEAD) keep = '1 << (ETHERNET_BYTES + 12);
    if (state_q == HEAD) beat = head[Bits-1:0];
  end

  // ------------------------------------------------------------------------------------- checksum
  logic summed, summed_q, finish;
  logic [15:0] sum, sum_q;
  logic [7:0] flags;
  logic [15:0] udp_bytes;
  logic [17:0] known_q;
  logic [18:0] total;
  logic [16:0] folded;
  logic [15:0] checksum;
  logic none;
  logic [19:0] addresses_q;  // sum of what does not change in the IPv4 header
  logic [20:0] ip_total_q;
  logic [16:0] ip_folded;
  logic [15:0] ip_checksum;

  fb_net_checksum u_checksum (
      .clk,
      .rst,
      .s_valid(push),
      .s_first(state_q == HEAD),
      .s_last (state_q == TAIL || (moves && ends && !spills)),
      .s_data (beat),
      .s_keep (keep),
      .s_seed (17'(PROTOCOL_UDP)),
      .m_valid(summed),
      .m_sum  (sum),
      .m_right()
  );

  assign flags = {FRAMING_VERSION, 4'd0} | (first_q ? 8'(FRAMING_FIRST) : '0) |
      (last_q ? 8'(FRAMING_LAST) : '0);
  assign udp_bytes = 16'(bytes_q) - 16'(ETHERNET_BYTES + IPV4_BYTES);
  assign total = 19'(sum_q) + 19'(known_q);
  assign folded = 17'(total[15:0]) + 17'(total[18:16]);
  assign checksum = ~(folded[15:0] + 16'(folded[16]));
  assign none = folded[15:1] == '1 && folded[16] != folded[0];  // it is 0
  assign ip_folded = 17'(ip_total_q[15:0]) + 17'(ip_total_q[20:16]);
  assign ip_checksum = ~(ip_folded[15:0] + 16'(ip_folded[16]));
  assign finish = state_q == SUM && summed_q && room;

  always_ff @(posedge clk) begin : take
    if (s_axis_object_tready) begin
      object_tvalid <= s_axis_object_tvalid;
      object_tdata  <= s_axis_object_tdata;
      object_tkeep  <= s_axis_object_tkeep;
      object_tlast  <= s_axis_object_tlast;
    end
    if (rst) object_tvalid <= 1'b0;
  end

  always_ff @(posedge clk) begin : cut
    summed_q <= state_q == SUM && (summed_q || summed) && !finish;
    if (summed) sum_q <= sum;
    // There before the sum is. The length counts twice: in UDP's header, and in what stands for IPv4's
    // (RFC 768).
    known_q <= {1'b0, udp_bytes, 1'b0} + 18'({flags, 8'd0});
    ip_total_q <= 21'(addresses_q) + 21'(16'(bytes_q) - 16'(ETHERNET_BYTES));
    addresses_q <= 20'(VERSION_IHL) + 20'(DONT_FRAGMENT) + 20'({TTL, PROTOCOL_UDP}) +
        20'(cfg_ip[31:16]) + 20'(cfg_ip[15:0]) + 20'(cfg_peer_ip[31:16]) + 20'(cfg_peer_ip[15:0]);
    if (push) begin
      carry_q <= state_q == HEAD ? head[Bits+:8*Carry] : object_tdata[Bits-1-:8*Carry];
    end
    unique case (state_q)
      HEAD:
      if (push) begin
        state_q <= BODY;
        left_q  <= cfg_payload;
        bytes_q <= 14'(HeadBytes);
      end
      BODY:
      if (moves) begin
        left_q   <= left_q - 14'(BeatBytes);
        bytes_q  <= bytes_q + 14'(there);
        offset_q <= (first_q && bytes_q == 14'(HeadBytes) ? '0 : offset_q) + 64'(there);
        last_q   <= object_tlast;
        tail_q   <= object_tkeep[BeatBytes-1-:Carry];
        if (ends) state_q <= spills ? TAIL : SUM;
      end
      TAIL: if (push) state_q <= SUM;
      default:
      if (finish) begin
        state_q <= HEAD;
        first_q <= last_q;
        sequence_q <= sequence_q + 1'b1;
      end
    endcase
    if (rst) begin
      state_q <= HEAD;
      first_q <= 1'b1;
      sequence_q <= '0;
      summed_q <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------- the way
  logic out_valid, out_first, early, takes;
  logic [Bits-1:0] out_data;
  logic [6:0] out_bytes;
  end_t frame_end, out_end;

  assign frame_end = '{
          flags: flags,
          checksum: none ? '1 : checksum,  // 0 would say that there is none
          bytes: bytes_q,
          ip_checksum: ip_checksum
      };

  fb_net_frame_fifo #(
      .Beats(Beats),
      .Frames(Beats / 16),
      .InfoBits($bits(end_t))
  ) u_frame_fifo (
      .s_clk  (clk),
      .s_rst  (rst),
      .s_valid(push),
      .s_data (beat),
      .s_end  (finish),
      .s_good (1'b1),
      .s_bytes(bytes_q),
      .s_info (frame_end),
      .s_room (room),
      .s_lost (),
      .s_taken(),
      .level  (),
      .m_clk  (clk_mac),
      .m_rst  (rst_mac),
      .m_valid(out_valid),
      .m_ready(takes),
      .m_data (out_data),
      .m_bytes(out_bytes),
      .m_first(out_first),
      .m_last (m_axis_data_tlast),
      .m_info (out_end)
  );

  // ------------------------------------------------------------------------------------ the way out
  // Bytes on the wire, in 1/256, that were sent before their time; below 0 what a cycle paid too much.
  // A frame that takes less than the cycle in which it begins leaves nothing: there is no credit that
  // could add up and wrap.
  localparam int unsigned DebtBits = 24;
  logic signed [DebtBits-1:0] debt, debt_q, debt_behind;  // behind a frame that begins
  logic owes_q;  // it is not 0
  logic [15:0] ip_bytes, out_udp_bytes;

  assign early = out_first && owes_q;
  assign m_axis_data_tvalid = out_valid && !early;
  assign takes = m_axis_data_tready && !early;

  assign debt_behind = debt_q - DebtBits'(cfg_rate) +
      DebtBits'({out_end.bytes + 14'(FRAME_WIRE_BYTES), 8'd0});

  assign debt = m_axis_data_tvalid && m_axis_data_tready && out_first ?
      (debt_behind < 0 ? '0 : debt_behind) : owes_q ? debt_q - DebtBits'(cfg_rate) : debt_q;

  always_ff @(posedge clk_mac) begin : pace
    debt_q <= debt;
    owes_q <= debt > 0;
    if (rst_mac || cfg_rate == '0) {debt_q, owes_q} <= '0;
  end

  assign ip_bytes = 16'(out_end.bytes) - 16'(ETHERNET_BYTES);
  assign out_udp_bytes = ip_bytes - 16'(IPV4_BYTES);

  function automatic logic [15:0] swapped(input logic [15:0] word);
    return {word[7:0], word[15:8]};
  endfunction

  always_comb begin : complete
    m_axis_data_tdata = out_data;
    if (out_first) begin
      m_axis_data_tdata[8*(ETHERNET_BYTES+2)+:16] = swapped(ip_bytes);
      m_axis_data_tdata[8*(ETHERNET_BYTES+10)+:16] = swapped(out_end.ip_checksum);
      m_axis_data_tdata[8*(OuterBytes-4)+:16] = swapped(out_udp_bytes);
      m_axis_data_tdata[8*(OuterBytes-2)+:16] = swapped(out_end.checksum);
      m_axis_data_tdata[8*(OuterBytes+FRAMING_FLAGS_AT)+:8] = out_end.flags;
    end
    m_axis_data_tkeep = keep_of(out_bytes);
  end

  fb_axis_check #(
      .Width(Bits + BeatBytes + 1),
      .Name ("m_axis_data")
  ) u_check_data (
      .clk  (clk_mac),
      .rst  (rst_mac),
      .valid(m_axis_data_tvalid),
      .ready(m_axis_data_tready),
      .data ({m_axis_data_tdata, m_axis_data_tkeep, m_axis_data_tlast})
  );

endmodule

`default_nettype wire
