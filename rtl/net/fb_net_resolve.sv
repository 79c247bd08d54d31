// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_resolve: the MAC address of the receiver of what we send, asked for by ARP (RFC 826).
//
// What:        while `cfg_ask` is high a request is sent at once, and then one in every `Every` cycles
//              until an answer comes; after that one in every 32 times as many, so that a receiver that
//              was replaced is found. Of answers the one that comes while we wait is believed, if its
//              MAC address is that of one station.
// Handshake:   frames as fb_net_filter has them; the request by valid/ready, a beat.
// Latency:     2 cycles from the end of an answer to `known`, 3 from `cfg_ask` to a request.
// Throughput:  a frame in every cycle.
// Limits:      `cfg_ask` comes from another clock; the other settings are stable while it is high.
//              512-bit registers: none.
// Does not implement: several receivers, routers (give the router's address).

`default_nettype none

module fb_net_resolve
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
#(
    parameter int unsigned Every = 322_265_625  // cycles, 2 or more: 1 s (RFC 1122 2.3.2.1)
) (
    input wire clk,
    input wire rst,

    input wire        cfg_ask,
    input wire [47:0] cfg_mac,     // our addresses
    input wire [31:0] cfg_ip,
    input wire [31:0] cfg_peer_ip, // of whom we ask

    input wire                                s_valid,
    input wire                                s_first,
    input wire                                s_last,
    input wire           [USER_DATA_BITS-1:0] s_data,
    input wire headers_t                      s_headers,
    input wire           [               3:0] s_arrival,  // with s_last

    output logic                       m_axis_ask_tvalid,
    input  wire                        m_axis_ask_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_ask_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_ask_tkeep,

    output logic        known,
    output logic [47:0] mac
);

  localparam logic [15:0] ARP_ETHERNET = 16'd1, ARP_SIZES = 16'h0604, ARP_REQUEST = 16'd1;
  localparam int unsigned RequestBytes = ETHERNET_BYTES + 28;
  localparam int unsigned SenderAt = ETHERNET_BYTES + 8;  // in an answer without a tag
  localparam int unsigned Rarely = 32;

  if (Every < 2) begin : gen_bad_every
    $fatal(1, "fb_net_resolve (%m): Every=%0d must be 2 or more", Every);
  end

  // -------------------------------------------------------------------------------------- requests
  (* async_reg = "true" *) logic ask_meta_q, ask_q;
  logic [$clog2(Every)-1:0] cycles_q;
  logic [$clog2(Rarely)-1:0] times_q;
  logic waits_q;  // for an answer
  logic [47:0] mac_q;  // of the request
  logic [31:0] ip_q, peer_ip_q;
  logic due;

  assign due = ask_q && cycles_q == '0 && (!known || times_q == '0);
  assign m_axis_ask_tkeep = keep_of(7'(FRAME_LEAST_BYTES));
  assign m_axis_ask_tdata = from_wire(
      512'({
        48'hffff_ffff_ffff,
        mac_q,
        ETHERTYPE_ARP,
        ARP_ETHERNET,
        ETHERTYPE_IPV4,
        ARP_SIZES,
        ARP_REQUEST,
        mac_q,
        ip_q,
        48'd0,
        peer_ip_q
      }),
      RequestBytes
  );

  // --------------------------------------------------------------------------------------- answers
  logic [47:0] sender, sender_q;
  logic answers, one_q, is_one;

  // The highest byte is the first one; its lowest bit is that of groups.
  for (genvar i = 0; i < 6; i++) begin : gen_sender
    assign sender[8*(5-i)+:8] = s_headers.vlan ?
        s_data[8*(SenderAt+int'(VLAN_BYTES)+i)+:8] : s_data[8*(SenderAt+i)+:8];
  end
  assign answers = s_valid && s_last && s_headers.kind == KIND_ANSWER &&
      s_arrival == ARRIVAL_REQUEST;
  assign is_one = sender != '0 && !sender[40];

  logic believed_q;

  always_ff @(posedge clk) begin : follow
    {ask_q, ask_meta_q} <= {ask_meta_q, cfg_ask};
    if (s_valid && s_first) {sender_q, one_q} <= {sender, is_one};
    believed_q <= answers && waits_q && (s_first ? is_one : one_q);
    if (believed_q) begin
      known   <= 1'b1;
      mac     <= sender_q;
      waits_q <= 1'b0;
    end
    if (due && (!m_axis_ask_tvalid || m_axis_ask_tready)) begin
      {mac_q, ip_q, peer_ip_q} <= {cfg_mac, cfg_ip, cfg_peer_ip};
    end
    m_axis_ask_tvalid <= due || (m_axis_ask_tvalid && !m_axis_ask_tready);
    cycles_q <= cycles_q == '0 ? ($clog2(Every))'(Every - 1) : cycles_q - 1'b1;
    if (cycles_q == '0) times_q <= times_q - 1'b1;
    if (due) waits_q <= 1'b1;
    if (believed_q && !due) times_q <= '1;
    if (rst || !ask_q) {known, waits_q, believed_q, cycles_q, times_q} <= '0;
    if (rst) m_axis_ask_tvalid <= 1'b0;
  end

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES),
      .Name ("m_axis_ask")
  ) u_check_ask (
      .clk,
      .rst,
      .valid(m_axis_ask_tvalid),
      .ready(m_axis_ask_tready),
      .data ({m_axis_ask_tdata, m_axis_ask_tkeep})
  );

endmodule

`default_nettype wire
