// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_receive: from the MAC to objects.
//
// What:        filter and decap at line rate, the frame FIFO between the two clocks, stream scheduler
//              and reassembly, or packets, and realign behind it. What became of each frame is told twice,
//              once on each side: as an arrival, and for datagrams as a place. Whether a frame is
//              taken as it is is settled when its first beat leaves the filter, and goes with it;
//              realign is handed over between two frames when nothing of the other kind is left.
// Handshake:   as its parts. `m_frame_*` are frames and verdicts for fb_net_arp_icmp.
// Latency:     7 + 1 cycles of clk_mac, the crossing (fb_net_frame_fifo), 10 cycles of clk.
// Throughput:  a beat in every cycle on both sides.
// Limits:      both resets are held together for four cycles of the slower clock. Settings but
//              `cfg_packets` are stable before the resets end. 512-bit registers: 13.
// Does not implement: counters (fb_net_statistics), pause (fb_net_pause_out looks at `level`).

`default_nettype none

module fb_net_receive
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
#(
    parameter int unsigned Beats = 2048,  // 64-byte beats of memory, a power of two, 8 to 16384
    parameter int unsigned Frames = 1024,  // frames in it, a power of two, 4 to 1024, at most Beats
    parameter int unsigned Streams = 4,  // streams at once, a power of two, 2 to 16
    parameter int unsigned StreamBeats = 16384,  // 64-byte beats of a ring for each of them, a power
                                                 // of two, 4 to 65536
    localparam int unsigned LevelBits = $clog2(Beats) + 1,
    localparam int unsigned HeldBits = $clog2(Streams * StreamBeats) + 1
) (
    input wire clk_mac,
    input wire rst_mac,

    input wire time_t now,

    input wire [47:0] cfg_mac,  // our addresses; cfg_ip6 in ::/16: none
    input wire [31:0] cfg_ip,
    input wire [127:0] cfg_ip6,
    input wire [31:0] cfg_group,  // multicast groups that are received as well
    input wire [127:0] cfg_group6,
    input wire [31:0] cfg_peer_ip,  // who receives what we send
    input wire [15:0] cfg_port,  // UDP port that is ours
    input wire [15:0] cfg_stream,  // the first stream that is taken
    input wire [4:0] cfg_streams,  // how many are, from that one on
    input wire [31:0] cfg_gather,  // cycles of clk after which a stream that waits is late
    input wire [31:0] cfg_idle,  // cycles of clk without a frame that end an extent; 0: none do
    input wire [13:0] cfg_giant,  // bytes of the longest frame, at most 16382
    input wire cfg_priority,  // priority pause counts, not pause
    input wire [2:0] cfg_class,  // the class that we send in
    input wire cfg_packets,  // whole frames as a capture, and of its chunks ...
    input wire [7:0] cfg_pages,  // ... pages of 4 KiB
    input wire [2:0] cfg_align,  // ... of which it fills a multiple of 2^N
    input wire [31:0] cfg_wait,  // ... and cycles of clk after which one ends; 0: none does

    input wire                       s_axis_mac_tvalid,
    input wire [ USER_DATA_BITS-1:0] s_axis_mac_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_mac_tkeep,
    input wire                       s_axis_mac_tlast,
    input wire                       s_axis_mac_tuser,   // with TLAST: damaged

    // In clk_mac: what fb_net_arp_icmp and the pause modules want to know.
    output logic                          m_frame_valid,
    output logic                          m_frame_first,
    output logic                          m_frame_last,
    output logic     [USER_DATA_BITS-1:0] m_frame_data,
    output logic     [               6:0] m_frame_beat_bytes,
    output headers_t                      m_frame_headers,
    output logic     [              15:0] m_frame_source_sum,
    output logic     [               3:0] m_frame_arrival,
    output logic     [              13:0] m_frame_bytes,
    output pause_t                        pause,
    output logic     [     LevelBits-1:0] level,               // how full the memory is, of Beats
    output logic     [     LevelBits-1:0] taken,               // beats read of it, modulo 2 * Beats

    // In clk_mac: for one cycle, what became of a frame.
    output logic        arrived,
    output logic [ 3:0] arrival,       // ARRIVAL_*
    output logic [13:0] arrived_bytes,

    // In clk: objects, what is to be known of each extent, what became of a datagram.
    input wire clk,
    input wire rst,
    output logic packets_open,  // a chunk is open, or what was taken for one is not yet in it
    output logic m_axis_object_tvalid,
    input wire m_axis_object_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic m_axis_object_tlast,
    output logic [1:0] m_axis_object_tuser,
    output logic m_axis_head_tvalid,
    input wire m_axis_head_tready,
    output logic [PACKET_HEAD_BITS-1:0] m_axis_head_tdata,
    output logic placed,
    output logic [3:0] place,  // PLACE_*
    output logic [13:0] placed_bytes,
    output logic [HeldBits-1:0] held  // beats that wait for their stream's turn
);

  fb_net_filter u_filter (
      .clk(clk_mac),
      .rst(rst_mac),
      .cfg_mac,
      .cfg_ip,
      .cfg_ip6,
      .cfg_group,
      .cfg_group6,
      .cfg_peer_ip,
      .cfg_port,
      .cfg_giant,
      .cfg_priority,
      .cfg_class,
      .s_axis_mac_tvalid,
      .s_axis_mac_tdata,
      .s_axis_mac_tkeep,
      .s_axis_mac_tlast,
      .s_axis_mac_tuser,
      .m_valid(m_frame_valid),
      .m_first(m_frame_first),
      .m_last(m_frame_last),
      .m_data(m_frame_data),
      .m_beat_bytes(m_frame_beat_bytes),
      .m_headers(m_frame_headers),
      .m_source_sum(m_frame_source_sum),
      .m_arrival(m_frame_arrival),
      .m_bytes(m_frame_bytes),
      .pause
  );

  // ------------------------------------------------------------------ whole frames, from when on
  // The setting crosses by asking and answering: it changes over there only after the answer to the
  // last change has come. A low answer says that no whole frame is on its way to the memory.
  (* async_reg = "true" *) logic whole_meta_q, whole_q;  // in clk_mac
  (* async_reg = "true" *) logic taking_meta_q, taking_seen_q;  // in clk
  logic ask_q, answer_q;
  logic taking_late_q, taking_q;  // later: the count of written frames is never behind it
  logic decap_whole;

  always_ff @(posedge clk_mac) begin : cross_whole
    whole_meta_q <= !rst_mac && ask_q;
    whole_q <= !rst_mac && whole_meta_q;
    answer_q <= !rst_mac && (whole_q || decap_whole);
  end

  always_ff @(posedge clk) begin : cross_answer
    taking_meta_q <= !rst && answer_q;
    taking_seen_q <= !rst && taking_meta_q;
    taking_late_q <= !rst && taking_seen_q;
    taking_q <= !rst && taking_late_q;
    if (ask_q == taking_q) ask_q <= cfg_packets;
    if (rst) ask_q <= 1'b0;
  end

  logic decap_valid, decap_raw, lost;
  logic [USER_DATA_BITS-1:0] decap_data;
  logic [3:0] decap_arrival;
  logic [13:0] decap_bytes;

  fb_net_decap u_decap (
      .clk(clk_mac),
      .rst(rst_mac),
      .cfg_whole(whole_q),
      .s_valid(m_frame_valid),
      .s_first(m_frame_first),
      .s_last(m_frame_last),
      .s_data(m_frame_data),
      .s_beat_bytes(m_frame_beat_bytes),
      .s_headers(m_frame_headers),
      .s_arrival(m_frame_arrival),
      .s_bytes(m_frame_bytes),
      .m_valid(decap_valid),
      .m_data(decap_data),
      .m_end(arrived),
      .m_whole(decap_whole),
      .m_raw(decap_raw),
      .m_arrival(decap_arrival),
      .m_bytes(decap_bytes),
      .m_frame(arrived_bytes)
  );

  // Frames lost before the next one: it tells as many as fit, the one after it the rest.
  localparam int unsigned LostBits = 8;
  time_t came_q, fifo_time;  // when the frame's first beat left the filter
  logic [31:0] lost_q;
  logic [LostBits-1:0] lost_told, fifo_lost;
  logic wanted;

  assign wanted = arrived && decap_whole && decap_arrival == ARRIVAL_DATAGRAM;
  assign lost_told = lost_q > 32'(2 ** LostBits - 1) ? '1 : lost_q[LostBits-1:0];

  always_ff @(posedge clk_mac) begin : stamp
    if (m_frame_valid && m_frame_first) came_q <= now;
  end

  always_ff @(posedge clk_mac) begin : count_lost
    if (wanted && !lost) lost_q <= lost_q - 32'(lost_told);
    else if (wanted && lost_q != '1) lost_q <= lost_q + 1'b1;
    if (rst_mac || !(whole_q || decap_whole)) lost_q <= '0;
  end

  // Whole frames that went into the memory, and that came out of it, modulo their number.
  localparam int unsigned CountBits = $clog2(Frames) + 2;
  logic [CountBits-1:0] written_q, written, read_q;

  always_ff @(posedge clk_mac) begin : count_written
    if (wanted && !lost) written_q <= written_q + 1'b1;
    if (rst_mac) written_q <= '0;
  end

  fb_common_gray_sync #(
      .Width(CountBits)
  ) u_written (
      .s_clk  (clk_mac),
      .s_rst  (rst_mac),
      .s_value(written_q),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_value(written)
  );

  logic fifo_valid, fifo_ready, fifo_first, fifo_last, fifo_raw, fifo_whole, fifo_lossy;
  logic [USER_DATA_BITS-1:0] fifo_data;
  logic [6:0] fifo_bytes;
  logic [13:0] fifo_frame;

  assign arrival = decap_arrival == ARRIVAL_DATAGRAM && lost ? ARRIVAL_OVERFLOW : decap_arrival;

  fb_net_frame_fifo #(
      .Beats(Beats),
      .Frames(Frames),
      .InfoBits(17 + LostBits + $bits(time_t))
  ) u_frame_fifo (
      .s_clk  (clk_mac),
      .s_rst  (rst_mac),
      .s_valid(decap_valid),
      .s_data (decap_data),
      .s_end  (arrived),
      .s_good (decap_arrival == ARRIVAL_DATAGRAM),
      .s_bytes(decap_bytes),
      .s_info ({came_q, decap_whole, lost_told != '0, lost_told, decap_raw, arrived_bytes}),
      .s_room (),
      .s_lost (lost),
      .level,
      .s_taken(taken),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_valid(fifo_valid),
      .m_ready(fifo_ready),
      .m_data (fifo_data),
      .m_bytes(fifo_bytes),
      .m_first(fifo_first),
      .m_last (fifo_last),
      .m_info ({fifo_time, fifo_whole, fifo_lossy, fifo_lost, fifo_raw, fifo_frame})
  );

  // --------------------------------------------------------- objects, or whole frames as a capture
  logic packets;  // they have realign
  logic packets_valid, packets_ready, packets_begin, packets_end, packets_word;
  logic packets_placed, packets_chunk, packets_more, packets_active;
  logic [USER_DATA_BITS-1:0] packets_data;
  logic [6:0] packets_bytes;
  logic [PACKET_HEAD_BITS-1:0] packets_head, reassembly_head;
  logic reassembly_valid, reassembly_upper, reassembly_open, reassembly_close;
  logic reassembly_whole, reassembly_intact, reassembly_within, reassembly_word, reassembly_placed;
  logic [USER_DATA_BITS-1:0] reassembly_data;
  logic [6:0] reassembly_bytes;
  logic [3:0] reassembly_place;
  logic [13:0] reassembly_frame;
  logic scheduler_ready, scheduler_rests, realign_ready;
  logic turn_valid, turn_ready, turn_first, turn_last, turn_raw, turn_ours;
  logic [USER_DATA_BITS-1:0] turn_data;
  logic [6:0] turn_bytes;
  logic [13:0] turn_frame;
  time_t turn_time;
  logic [$clog2(Streams)-1:0] turn_stream;

  // What the header says of a beat is judged in one cycle, what becomes of it in the next.
  typedef struct packed {
    logic upper;
    logic open;
    logic close;
    logic whole;
    logic intact;
    logic [6:0] bytes;
    logic [USER_DATA_BITS-1:0] data;
  } beat_t;

  beat_t judged, beat;
  logic judged_ready, beat_valid, within_q;

  // What waits is of the other kind than what has realign: that is let go when it is empty. Packets
  // end their chunk then; scheduler and reassembly have nothing, and no word, that could end.
  always_ff @(posedge clk) begin : hand_over
    if (fifo_valid && fifo_whole && scheduler_rests) packets <= 1'b1;
    else if (fifo_valid && !fifo_whole && !packets_active) packets <= 1'b0;
    if (packets_placed) read_q <= read_q + 1'b1;
    if (rst) {packets, read_q} <= '0;
  end

  // Asked for, on the way to the memory, or in it.
  logic packets_left;
  assign packets_left = ask_q || taking_q || written != read_q;
  assign packets_open = packets_chunk || (!cfg_packets && (packets_left || packets_active));

  logic at_once_q;  // `cfg_gather` is 0: a stream that waits is late at once
  always_ff @(posedge clk) begin : look_ahead
    at_once_q <= cfg_gather == '0;
    packets_more <= !rst && (cfg_packets || packets_left) && !(fifo_valid && !fifo_whole);
  end

  fb_net_stream_scheduler #(
      .Streams(Streams),
      .Beats  (StreamBeats)
  ) u_stream_scheduler (
      .clk,
      .rst,
      .cfg_stream,
      .cfg_streams,
      .cfg_gather,
      .hurry   ((fifo_valid && fifo_whole) || at_once_q),
      .s_valid (fifo_valid && !fifo_whole && !packets),
      .s_ready (scheduler_ready),
      .s_data  (fifo_data),
      .s_bytes (fifo_bytes),
      .s_first (fifo_first),
      .s_last  (fifo_last),
      .s_raw   (fifo_raw),
      .s_frame (fifo_frame),
      .s_time  (fifo_time),
      .m_valid (turn_valid),
      .m_ready (turn_ready),
      .m_data  (turn_data),
      .m_bytes (turn_bytes),
      .m_first (turn_first),
      .m_last  (turn_last),
      .m_raw   (turn_raw),
      .m_frame (turn_frame),
      .m_time  (turn_time),
      .m_ours  (turn_ours),
      .m_stream(turn_stream),
      .held,
      .rests   (scheduler_rests)
  );

  fb_net_reassembly #(
      .Streams(Streams)
  ) u_reassembly (
      .clk,
      .rst,
      .cfg_idle,
      .forget(packets),
      .s_valid(turn_valid),
      .s_ready(turn_ready),
      .s_data(turn_data),
      .s_bytes(turn_bytes),
      .s_first(turn_first),
      .s_last(turn_last),
      .s_raw(turn_raw),
      .s_frame(turn_frame),
      .s_time(turn_time),
      .s_ours(turn_ours),
      .s_stream(turn_stream),
      .m_valid(reassembly_valid),
      .m_ready(judged_ready && !packets),
      .m_data(reassembly_data),
      .m_upper(reassembly_upper),
      .m_bytes(reassembly_bytes),
      .m_open(reassembly_open),
      .m_close(reassembly_close),
      .m_whole(reassembly_whole),
      .m_intact(reassembly_intact),
      .m_within(reassembly_within),
      .m_axis_head_tvalid(reassembly_word),
      .m_axis_head_tready,
      .m_axis_head_tdata(reassembly_head),
      .placed(reassembly_placed),
      .place(reassembly_place),
      .placed_bytes(reassembly_frame)
  );

  fb_net_packets #(
      .LostBits(LostBits)
  ) u_packets (
      .clk,
      .rst,
      .cfg_pages,
      .cfg_align,
      .cfg_wait,
      .more(packets_more),
      .open(packets_chunk),
      .active(packets_active),
      .s_valid(fifo_valid && fifo_whole && packets),
      .s_ready(packets_ready),
      .s_data(fifo_data),
      .s_bytes(fifo_bytes),
      .s_first(fifo_first),
      .s_last(fifo_last),
      .s_frame(fifo_frame),
      .s_time(fifo_time),
      .s_lossy(fifo_lossy),
      .s_lost(fifo_lost),
      .m_valid(packets_valid),
      .m_ready(judged_ready && packets),
      .m_data(packets_data),
      .m_bytes(packets_bytes),
      .m_open(packets_begin),
      .m_close(packets_end),
      .m_axis_head_tvalid(packets_word),
      .m_axis_head_tready(m_axis_head_tready && !reassembly_word),
      .m_axis_head_tdata(packets_head),
      .placed(packets_placed)
  );

  assign fifo_ready = fifo_whole ? packets && packets_ready : !packets && scheduler_ready;
  assign placed = packets_placed || reassembly_placed;
  assign place = packets_placed ? PLACE_DELIVERED : reassembly_place;
  assign placed_bytes = packets_placed ? fifo_frame : reassembly_frame;
  assign m_axis_head_tvalid = packets_word || reassembly_word;
  assign m_axis_head_tdata = reassembly_word ? reassembly_head : packets_head;

  always_comb begin : choose
    judged = '{
        reassembly_upper,
        reassembly_open,
        reassembly_close,
        reassembly_whole,
        reassembly_intact,
        reassembly_bytes,
        reassembly_data
    };
    if (packets) begin
      judged = '{1'b0, packets_begin, packets_end, 1'b1, 1'b1, packets_bytes, packets_data};
    end
  end

  fb_common_skid #(
      .Width($bits(beat_t))
  ) u_judged (
      .clk,
      .rst,
      .s_valid(packets ? packets_valid : reassembly_valid),
      .s_ready(judged_ready),
      .s_data (judged),
      .m_valid(beat_valid),
      .m_ready(realign_ready),
      .m_data (beat)
  );

  always_ff @(posedge clk) within_q <= packets || reassembly_within;

  fb_net_realign u_realign (
      .clk,
      .rst,
      .s_valid (beat_valid),
      .s_ready (realign_ready),
      .s_data  (beat.data),
      .s_upper (beat.upper),
      .s_bytes (beat.bytes),
      .s_open  (beat.open),
      .s_close (beat.close),
      .s_whole (beat.whole),
      .s_intact(beat.intact),
      .s_within(within_q),
      .m_axis_object_tvalid,
      .m_axis_object_tready,
      .m_axis_object_tdata,
      .m_axis_object_tkeep,
      .m_axis_object_tlast,
      .m_axis_object_tuser
  );

endmodule

`default_nettype wire
