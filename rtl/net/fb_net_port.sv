// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_port: the network side whole, between a 100G MAC and the core.
//
// What:        receive and send paths, pause both ways, answers, counters by cause, registers
//              (regs/net.rdl). The drawing and the rules stand in docs/reference/net.md.
// Handshake:   AXI4-Stream; from the MAC without TREADY. AXI4-Lite, 64 bit, one access at a time.
// Latency:     as its parts.
// Throughput:  a beat in every cycle on each stream.
// Clocks:      the MAC's two may differ; all but fb_net_mac_rx works in that of sending. `rst` resets
//              everything. `rst_rx` and `rst_tx` are the MAC's own: frames that they cut end as damaged,
//              or are dropped, what has come before goes on, and nothing but pause is forgotten.
// Limits:      `rst` is held for four cycles of clk_tx and clk, which run meanwhile; clk_rx may stand
//              still. `rst`, `rst_rx` and `rst_tx` come from flip-flops. Settings but packets cross to clk_tx as they are: they are written while nothing is received or sent, and timing
//              constraints leave their paths out.
// Does not implement: the MAC.

`default_nettype none

module fb_net_port
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
#(
    parameter int unsigned ReceiveBeats = 2048,  // memory for frames received, in 64 bytes, a power of
                                                 // two, 256 to 16384
    parameter int unsigned SendBeats = 512,  // for frames to be sent, the same
    parameter int unsigned AskEvery = 322_265_625,  // cycles of clk_tx between ARP requests
    parameter int unsigned Streams = 4,  // streams received at once, a power of two, 2 to 16
    parameter int unsigned StreamBeats = 16384  // memory of each of them, in 64 bytes, a power of
                                                // two, 4 to 32768
) (
    input wire clk_rx,
    input wire rst_rx,

    input wire                       s_axis_mac_tvalid,
    input wire [ USER_DATA_BITS-1:0] s_axis_mac_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_mac_tkeep,
    input wire                       s_axis_mac_tlast,
    input wire                       s_axis_mac_tuser,   // with TLAST: damaged

    input wire clk_tx,
    input wire rst_tx,
    input wire [79:0] time_of_day,  // of IEEE 1588: seconds since 1970, below them 32 bits of ns

    output logic                       m_axis_mac_tvalid,
    input  wire                        m_axis_mac_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_mac_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_mac_tkeep,
    output logic                       m_axis_mac_tlast,
    output logic                       m_axis_mac_tuser,

    input wire        clk,
    input wire        rst,
    input wire [63:0] now_ns,      // time since 1970, ...
    input wire [33:0] now_seconds, // ... and once more

    // Received: extents, and a word of each.
    output logic                        m_axis_object_tvalid,
    input  wire                         m_axis_object_tready,
    output logic [  USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [ USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                        m_axis_object_tlast,
    output logic [                 1:0] m_axis_object_tuser,   // with TLAST: PACKET_*
    output logic                        m_axis_head_tvalid,
    input  wire                         m_axis_head_tready,
    output logic [PACKET_HEAD_BITS-1:0] m_axis_head_tdata,

    // To be sent: objects, and number and length of each.
    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire                        s_axis_head_tvalid,
    output logic                       s_axis_head_tready,
    input  wire  [              127:0] s_axis_head_tdata,

    // Control registers.
    input  wire  [11:0] s_axil_net_awaddr,
    input  wire  [ 2:0] s_axil_net_awprot,
    input  wire         s_axil_net_awvalid,
    output logic        s_axil_net_awready,
    input  wire  [63:0] s_axil_net_wdata,
    input  wire  [ 7:0] s_axil_net_wstrb,
    input  wire         s_axil_net_wvalid,
    output logic        s_axil_net_wready,
    output logic [ 1:0] s_axil_net_bresp,
    output logic        s_axil_net_bvalid,
    input  wire         s_axil_net_bready,
    input  wire  [11:0] s_axil_net_araddr,
    input  wire  [ 2:0] s_axil_net_arprot,
    input  wire         s_axil_net_arvalid,
    output logic        s_axil_net_arready,
    output logic [63:0] s_axil_net_rdata,
    output logic [ 1:0] s_axil_net_rresp,
    output logic        s_axil_net_rvalid,
    input  wire         s_axil_net_rready
);

  if (ReceiveBeats < 256) begin : gen_bad_beats
    $fatal(
        1,
        "fb_net_port (%m): ReceiveBeats=%0d must hold a frame of 9000 bytes: 256 or more",
        ReceiveBeats
    );
  end

  localparam int unsigned LevelBits = $clog2(ReceiveBeats) + 1;
  localparam logic [7:0] PAYLOAD_MOST = 8'd139;  // beats of payload in a frame of 9000 bytes

  // ------------------------------------------------------------------------------------ registers
  fb_net_csr_pkg::net__in_t  in;
  fb_net_csr_pkg::net__out_t out;

  fb_net_csr u_csr (
      .clk,
      .rst,
      .s_axil_awready(s_axil_net_awready),
      .s_axil_awvalid(s_axil_net_awvalid),
      .s_axil_awaddr(s_axil_net_awaddr),
      .s_axil_awprot(s_axil_net_awprot),
      .s_axil_wready(s_axil_net_wready),
      .s_axil_wvalid(s_axil_net_wvalid),
      .s_axil_wdata(s_axil_net_wdata),
      .s_axil_wstrb(s_axil_net_wstrb),
      .s_axil_bready(s_axil_net_bready),
      .s_axil_bvalid(s_axil_net_bvalid),
      .s_axil_bresp(s_axil_net_bresp),
      .s_axil_arready(s_axil_net_arready),
      .s_axil_arvalid(s_axil_net_arvalid),
      .s_axil_araddr(s_axil_net_araddr),
      .s_axil_arprot(s_axil_net_arprot),
      .s_axil_rready(s_axil_net_rready),
      .s_axil_rvalid(s_axil_net_rvalid),
      .s_axil_rdata(s_axil_net_rdata),
      .s_axil_rresp(s_axil_net_rresp),
      .hwif_in(in),
      .hwif_out(out)
  );

  // --------------------------------------------------------------------------------------- resets
  logic clk_mac, rst_mac, rst_rx_side, rst_rx_mac, rst_rx_core, link_down;
  assign clk_mac = clk_tx;

  fb_common_reset u_reset_mac (
      .clk(clk_mac),
      .rst_async(rst),
      .rst(rst_mac)
  );

  fb_common_reset u_reset_rx (
      .clk(clk_rx),
      .rst_async(rst),
      .rst(rst_rx_side)
  );

  // Logic that reads from clk_rx leaves reset after the clk_rx side has: that clock may have stopped.
  (* async_reg = "true" *) logic mac_meta_q, mac_seen_q;  // in clk_mac
  (* async_reg = "true" *) logic core_meta_q, core_seen_q;  // in clk
  assign rst_rx_mac  = rst_mac || mac_seen_q;
  assign rst_rx_core = rst || core_seen_q;

  always_ff @(posedge clk_mac) begin : see_in_mac
    {mac_seen_q, mac_meta_q} <= {mac_meta_q, rst_rx_side};
  end

  always_ff @(posedge clk) begin : see_in_core
    {core_seen_q, core_meta_q} <= {core_meta_q, rst_rx_side};
  end

  fb_common_reset u_link_down (
      .clk(clk_mac),
      .rst_async(rst_rx),
      .rst(link_down)
  );

  // -------------------------------------------------------------------------------------- receive
  logic mac_valid, mac_last, mac_damaged, cut, lost;
  logic [ USER_DATA_BITS-1:0] mac_data;
  logic [USER_BEAT_BYTES-1:0] mac_keep;

  fb_net_mac_rx u_mac_rx (
      .clk_rx,
      .rst_rx(rst_rx_side),
      .rst_link(rst_rx),
      .s_axis_mac_tvalid,
      .s_axis_mac_tdata,
      .s_axis_mac_tkeep,
      .s_axis_mac_tlast,
      .s_axis_mac_tuser,
      .cut,
      .lost,
      .clk(clk_mac),
      .rst(rst_rx_mac),
      .m_axis_mac_tvalid(mac_valid),
      .m_axis_mac_tdata(mac_data),
      .m_axis_mac_tkeep(mac_keep),
      .m_axis_mac_tlast(mac_last),
      .m_axis_mac_tuser(mac_damaged)
  );

  time_t now;
  logic of_day, of_day_seen;  // that is the time of day of IEEE 1588
  logic [33:0] shown;

  fb_net_clock u_clock (
      .clk(clk_mac),
      .rst(rst_mac),
      .cfg_ieee1588(out.clock.ieee1588.value),
      .time_of_day,
      .clk_core(clk),
      .rst_core(rst),
      .core({now_seconds, now_ns}),
      .now,
      .of_day
  );

  fb_common_value_cdc #(
      .Width(35)
  ) u_shown (
      .s_clk  (clk_mac),
      .s_rst  (rst_mac),
      .s_value({of_day, now.seconds}),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_value({of_day_seen, shown})
  );

  logic frame_valid, frame_first, frame_last, arrived, placed;
  logic [USER_DATA_BITS-1:0] frame_data;
  headers_t frame_headers;
  pause_t pause;
  logic [15:0] frame_source_sum;
  logic [3:0] frame_arrival, arrival, place;
  logic [13:0] frame_bytes, arrived_bytes, placed_bytes;
  logic [LevelBits-1:0] level, taken;
  logic packets_open;
  logic [$clog2(Streams * StreamBeats):0] held;

  logic [127:0] cfg_ip6;
  assign cfg_ip6 = {out.ip6_high.high.value, out.ip6_low.low.value};

  fb_net_receive #(
      .Beats(ReceiveBeats),
      .Frames(ReceiveBeats > 2048 ? 1024 : ReceiveBeats / 2),
      .Streams(Streams),
      .StreamBeats(StreamBeats)
  ) u_receive (
      .clk_mac,
      .rst_mac,
      .cfg_mac(out.address.mac.value),
      .cfg_ip(out.filter.ip.value),
      .cfg_ip6,
      .cfg_group(out.group.ip.value),
      .cfg_group6({out.group6_high.high.value, out.group6_low.low.value}),
      .cfg_peer_ip(out.send.ip.value),
      .cfg_port(out.filter.port.value),
      .cfg_stream(out.filter.stream.value),
      .cfg_streams(out.streams.count.value),
      .cfg_gather(out.gather.cycles.value),
      .cfg_idle(out.idle.cycles.value),
      .cfg_giant(out.limit.frame.value),
      .cfg_priority(out.pause_control.by_class.value),
      .cfg_class(out.pause_control.which.value),
      .now,
      .cfg_packets(out.packets.enable.value),
      .cfg_pages(out.packets.pages.value),
      .cfg_align(out.packets.alignment.value),
      .cfg_wait(out.packets.wait_cycles.value),
      .s_axis_mac_tvalid(mac_valid),
      .s_axis_mac_tdata(mac_data),
      .s_axis_mac_tkeep(mac_keep),
      .s_axis_mac_tlast(mac_last),
      .s_axis_mac_tuser(mac_damaged),
      .m_frame_valid(frame_valid),
      .m_frame_first(frame_first),
      .m_frame_last(frame_last),
      .m_frame_data(frame_data),
      .m_frame_beat_bytes(),
      .m_frame_headers(frame_headers),
      .m_frame_source_sum(frame_source_sum),
      .m_frame_arrival(frame_arrival),
      .m_frame_bytes(frame_bytes),
      .pause,
      .level,
      .taken,
      .arrived,
      .arrival,
      .arrived_bytes,
      .clk,
      .rst,
      .packets_open,
      .m_axis_object_tvalid,
      .m_axis_object_tready,
      .m_axis_object_tdata,
      .m_axis_object_tkeep,
      .m_axis_object_tlast,
      .m_axis_object_tuser,
      .m_axis_head_tvalid,
      .m_axis_head_tready,
      .m_axis_head_tdata,
      .placed,
      .place,
      .placed_bytes,
      .held
  );

  // ------------------------------------------------------------------------------------- transmit
  logic pause_valid, pause_ready, answer_valid, answer_ready, answer_last;
  logic data_valid, data_ready, data_last, silent, quantum, storm, xoff, xon, ended, unanswered;
  logic [USER_DATA_BITS-1:0] pause_data, answer_data, data_data;
  logic [USER_BEAT_BYTES-1:0] pause_keep, answer_keep, data_keep;

  // A link that comes up again starts without pause in either direction.
  fb_net_pause_in u_pause_in (
      .clk(clk_mac),
      .rst(rst_mac || rst_tx || link_down),
      .cfg_watchdog(out.pause_control.watchdog.value),
      .pause,
      .silent,
      .quantum,
      .storm
  );

  fb_net_pause_out #(
      .LevelBits(LevelBits)
  ) u_pause_out (
      .clk(clk_mac),
      .rst(rst_mac || rst_tx || link_down),
      .cfg_enable(out.pause_control.ask.value),
      .cfg_mac(out.address.mac.value),
      .cfg_priority(out.pause_control.by_class.value),
      .cfg_class(out.pause_control.which.value),
      .cfg_xoff(out.pause.xoff.value),
      .cfg_xon(out.pause.xon.value),
      .cfg_quanta(out.pause.quanta.value),
      .cfg_refresh(out.pause.refresh.value),
      .cfg_limit(out.pause_limit.quanta.value),
      .level,
      .taken,
      .m_axis_pause_tvalid(pause_valid),
      .m_axis_pause_tready(pause_ready),
      .m_axis_pause_tdata(pause_data),
      .m_axis_pause_tkeep(pause_keep),
      .sent_xoff(xoff),
      .sent_xon(xon),
      .ended
  );

  fb_net_arp_icmp u_arp_icmp (
      .clk(clk_mac),
      .rst(rst_mac),
      .cfg_mac(out.address.mac.value),
      .cfg_ip6,
      .s_valid(frame_valid),
      .s_first(frame_first),
      .s_last(frame_last),
      .s_data(frame_data),
      .s_headers(frame_headers),
      .s_source_sum(frame_source_sum),
      .s_arrival(frame_arrival),
      .s_bytes(frame_bytes),
      .m_axis_answer_tvalid(answer_valid),
      .m_axis_answer_tready(answer_ready),
      .m_axis_answer_tdata(answer_data),
      .m_axis_answer_tkeep(answer_keep),
      .m_axis_answer_tlast(answer_last),
      .unanswered
  );

  logic ask_valid, ask_ready, resolved, resolved_seen;
  logic [ USER_DATA_BITS-1:0] ask_data;
  logic [USER_BEAT_BYTES-1:0] ask_keep;
  logic [47:0] peer_mac, peer_mac_seen;

  fb_net_resolve #(
      .Every(AskEvery)
  ) u_resolve (
      .clk(clk_mac),
      .rst(rst_mac),
      .cfg_ask(out.resolve.ask.value),
      .cfg_mac(out.address.mac.value),
      .cfg_ip(out.filter.ip.value),
      .cfg_peer_ip(out.send.ip.value),
      .s_valid(frame_valid),
      .s_first(frame_first),
      .s_last(frame_last),
      .s_data(frame_data),
      .s_headers(frame_headers),
      .s_arrival(frame_arrival),
      .m_axis_ask_tvalid(ask_valid),
      .m_axis_ask_tready(ask_ready),
      .m_axis_ask_tdata(ask_data),
      .m_axis_ask_tkeep(ask_keep),
      .known(resolved),
      .mac(peer_mac)
  );

  fb_common_value_cdc #(
      .Width(49)
  ) u_resolved (
      .s_clk  (clk_mac),
      .s_rst  (rst_mac),
      .s_value({resolved, peer_mac}),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_value({resolved_seen, peer_mac_seen})
  );

  // No object begins to go to an address that is not known yet.
  logic may_send;
  assign may_send = resolved_seen || !out.resolve.ask.value;

  fb_net_send #(
      .Beats(SendBeats)
  ) u_send (
      .clk,
      .rst,
      .cfg_mac(out.address.mac.value),
      .cfg_ip(out.filter.ip.value),
      .cfg_port(out.filter.port.value),
      .cfg_peer_mac(out.resolve.ask.value ? peer_mac_seen : out.peer.mac.value),
      .cfg_peer_ip(out.send.ip.value),
      .cfg_peer_port(out.peer.port.value),
      .cfg_stream(out.filter.stream.value),
      .cfg_epoch(out.epoch.sent.value),
      .cfg_payload({
        out.send.payload.value > PAYLOAD_MOST ? PAYLOAD_MOST : out.send.payload.value, 6'd0
      }),
      .s_axis_head_tvalid(s_axis_head_tvalid && may_send),
      .s_axis_head_tready,
      .s_axis_head_tdata,
      .s_axis_object_tvalid,
      .s_axis_object_tready,
      .s_axis_object_tdata,
      .s_axis_object_tkeep,
      .s_axis_object_tlast,
      .clk_mac,
      .rst_mac,
      .cfg_rate(out.send.rate.value),
      .m_axis_data_tvalid(data_valid),
      .m_axis_data_tready(data_ready),
      .m_axis_data_tdata(data_data),
      .m_axis_data_tkeep(data_keep),
      .m_axis_data_tlast(data_last)
  );

  fb_net_tx_mux u_tx_mux (
      .clk(clk_mac),
      .rst(rst_mac),
      .rst_link(rst_tx),
      .silent,
      .s_axis_pause_tvalid(pause_valid),
      .s_axis_pause_tready(pause_ready),
      .s_axis_pause_tdata(pause_data),
      .s_axis_pause_tkeep(pause_keep),
      .s_axis_answer_tvalid(answer_valid),
      .s_axis_answer_tready(answer_ready),
      .s_axis_answer_tdata(answer_data),
      .s_axis_answer_tkeep(answer_keep),
      .s_axis_answer_tlast(answer_last),
      .s_axis_ask_tvalid(ask_valid),
      .s_axis_ask_tready(ask_ready),
      .s_axis_ask_tdata(ask_data),
      .s_axis_ask_tkeep(ask_keep),
      .s_axis_data_tvalid(data_valid),
      .s_axis_data_tready(data_ready),
      .s_axis_data_tdata(data_data),
      .s_axis_data_tkeep(data_keep),
      .s_axis_data_tlast(data_last),
      .m_axis_mac_tvalid,
      .m_axis_mac_tready,
      .m_axis_mac_tdata,
      .m_axis_mac_tkeep,
      .m_axis_mac_tlast,
      .m_axis_mac_tuser
  );

  // ------------------------------------------------------------------------------------- counters
  logic event_valid, event_ready;
  logic [ 3:0] event_cause;
  logic [13:0] event_bytes;
  logic [63:0] cycles_q;

  // Frames come at most every second cycle; they cannot fill this while the core's clock runs.
  fb_common_async #(
      .Width(18),
      .Depth(32)
  ) u_arrivals_cross (
      .s_clk  (clk_mac),
      .s_rst  (rst_mac),
      .s_valid(arrived),
      .s_ready(event_ready),
      .s_data ({arrival, arrived_bytes}),
      .s_level(),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_valid(event_valid),
      .m_ready(1'b1),
      .m_data ({event_cause, event_bytes})
  );

  fb_net_statistics u_arrivals (
      .clk,
      .rst,
      .now(cycles_q),
      .s_valid(event_valid),
      .s_cause(event_cause),
      .s_bytes(event_bytes),
      .req(out.arrivals.req && !out.arrivals.req_is_wr),
      .addr(out.arrivals.addr[8:3]),
      .ack(in.arrivals.rd_ack),
      .data(in.arrivals.rd_data)
  );

  logic placed_q;
  logic [3:0] place_q;
  logic [13:0] placed_bytes_q;
  always_ff @(posedge clk) begin : note_place
    placed_q <= placed && !rst;
    {place_q, placed_bytes_q} <= {place, placed_bytes};
  end

  fb_net_statistics u_places (
      .clk,
      .rst,
      .now(cycles_q),
      .s_valid(placed_q),
      .s_cause(place_q),
      .s_bytes(placed_bytes_q),
      .req(out.places.req && !out.places.req_is_wr),
      .addr(out.places.addr[8:3]),
      .ack(in.places.rd_ack),
      .data(in.places.rd_data)
  );

  // What happens in the MAC's clock without a frame of its own.
  localparam int unsigned Counts = 6;
  logic [Counts-1:0] pulses;
  logic [31:0] counts[Counts];
  assign pulses = {ended, unanswered, storm, quantum, xon, xoff};
  for (genvar i = 0; i < Counts; i++) begin : gen_counts
    fb_net_count_cdc u_count_cdc (
        .s_clk  (clk_mac),
        .s_rst  (rst_mac),
        .s_pulse(pulses[i]),
        .m_clk  (clk),
        .m_rst  (rst),
        .m_count(counts[i])
    );
  end

  // And in that of receiving: frames that a reset has cut, and that found no room.
  logic [31:0] cuts, losses;

  fb_net_count_cdc u_cuts (
      .s_clk  (clk_rx),
      .s_rst  (rst_rx_side),
      .s_pulse(cut),
      .m_clk  (clk),
      .m_rst  (rst_rx_core),
      .m_count(cuts)
  );

  fb_net_count_cdc u_losses (
      .s_clk  (clk_rx),
      .s_rst  (rst_rx_side),
      .s_pulse(lost),
      .m_clk  (clk),
      .m_rst  (rst_rx_core),
      .m_count(losses)
  );

  // The level crosses as often as it can, and the highest one with it.
  logic [LevelBits-1:0] most_q, seen_level, seen_most, level_q, core_most_q;
  logic seen;

  fb_common_async #(
      .Width(2 * LevelBits),
      .Depth(4)
  ) u_level_cross (
      .s_clk  (clk_mac),
      .s_rst  (rst_mac),
      .s_valid(1'b1),
      .s_ready(),
      .s_data ({most_q, level}),
      .s_level(),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_valid(seen),
      .m_ready(1'b1),
      .m_data ({seen_most, seen_level})
  );

  always_ff @(posedge clk_mac) begin : follow_level
    if (level > most_q) most_q <= level;
    if (rst_mac) most_q <= '0;
  end

  always_ff @(posedge clk) begin : show_level
    if (seen) {core_most_q, level_q} <= {seen_most, seen_level};
    cycles_q <= cycles_q + 1'b1;
    if (rst) begin
      cycles_q <= '0;
      {core_most_q, level_q} <= '0;
    end
  end

  assign in.parameters.receive_beats.next = 16'(ReceiveBeats);
  assign in.parameters.send_beats.next = 16'(SendBeats);
  assign in.parameters.streams.next = 8'(Streams);
  assign in.parameters.stream_beats.next = 16'(StreamBeats);
  assign in.gather.held.next = 32'(held);
  assign in.memory.held.next = 16'(level_q);
  assign in.memory.most.next = 16'(core_most_q);
  assign in.pause_sent.xoff.next = counts[0];
  assign in.pause_sent.xon.next = counts[1];
  assign in.pause_obeyed.quanta.next = counts[2];
  assign in.pause_obeyed.storms.next = counts[3];
  assign in.unanswered.requests.next = counts[4];
  assign in.pause_limit.ended.next = counts[5];
  assign in.link.cut.next = cuts;
  assign in.link.lost.next = losses;
  assign in.cycles.cycles.next = cycles_q;
  assign in.clock.seconds.next = of_day_seen == out.clock.ieee1588.value ? shown : '0;
  assign in.resolve.known.next = resolved_seen;
  assign in.resolve.mac.next = peer_mac_seen;
  assign in.packets.open.next = packets_open;
  assign in.arrivals.wr_ack = 1'b0;  // the register block refuses writes to statistics
  assign in.places.wr_ack = 1'b0;

`ifndef SYNTHESIS
  every_arrival_counts :
  assert property (@(posedge clk_mac) disable iff (rst_mac) arrived |-> event_ready)
  else $error("fb_net_port (%m): an arrival finds no room on its way to the statistics");
`endif

endmodule

`default_nettype wire
