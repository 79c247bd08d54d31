// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_frame_fifo: frames in block RAM between two clocks, each of them there whole or not at all.
//
// What:        beats are written as they come. With `s_end` the frame's fate is known: where it is
//              good and all of it found room its length goes into a FIFO, by which the reader learns
//              of it; else the write pointer goes back to where the frame began.
// Handshake:   s_*: no ready; what finds no room is lost with its whole frame, and `s_lost` says so
//              in the cycle of `s_end`. `s_end` comes with the last beat or after it.
//              m_*: valid/ready.
// Latency:     2 cycles of s_clk and 5 to 6 of m_clk from `s_end` to the first beat.
// Throughput:  one beat a cycle on both sides, frames of one beat too.
// Limits:      `level` counts beats, those of the frame being written as well, or frames as if each
//              had Beats / Frames of them, whichever is more, 2 cycles late: nothing is lost below
//              Beats - 2. What was read is noticed 1 cycle of m_clk and 4 of s_clk later. `s_lost`
//              follows `s_valid` and `s_end` within the cycle. 512-bit registers: the one in the
//              output of the block RAM.
// Does not implement: pause (compare `level`), more than 16383 bytes a frame.

`default_nettype none

module fb_net_frame_fifo
  import fb_spec_pkg::*;
#(
    parameter int unsigned Beats = 2048,  // 64-byte beats held, a power of two, 8 to 16384
    parameter int unsigned Frames = 1024,  // frames held, a power of two, 4 to 1024, at most Beats
    parameter int unsigned InfoBits = 1,  // what else is to be known of a frame, 1 or more
    localparam int unsigned AddrBits = $clog2(Beats)
) (
    input  wire                       s_clk,
    input  wire                       s_rst,
    input  wire                       s_valid,  // there is a beat
    input  wire  [USER_DATA_BITS-1:0] s_data,
    input  wire                       s_end,    // the frame ends, with this beat or the last one
    input  wire                       s_good,   // with s_end: it is wanted
    input  wire  [              13:0] s_bytes,  // with s_end: its length, in as many beats
    input  wire  [      InfoBits-1:0] s_info,   // with s_end
    output logic                      s_room,   // a beat and an end would find room
    output logic                      s_lost,   // with s_end: there was no room
    output logic [        AddrBits:0] level,    // how full it is, of Beats
    output logic [        AddrBits:0] s_taken,  // beats read, modulo twice its size

    input  wire                       m_clk,
    input  wire                       m_rst,
    output logic                      m_valid,
    input  wire                       m_ready,
    output logic [USER_DATA_BITS-1:0] m_data,
    output logic [               6:0] m_bytes,  // of this beat, 1 to 64
    output logic                      m_first,
    output logic                      m_last,
    output logic [      InfoBits-1:0] m_info    // of the frame, with every beat
);

  if (Beats < 8 || Beats > 16384 || (Beats & (Beats - 1)) != 0) begin : gen_bad_beats
    $fatal(1, "fb_net_frame_fifo (%m): Beats=%0d must be a power of two from 8 to 16384", Beats);
  end

  if (Frames > Beats) begin : gen_bad_frames
    $fatal(1, "fb_net_frame_fifo (%m): Frames=%0d must be at most Beats=%0d", Frames, Beats);
  end

  localparam logic [13:0] BEAT = 14'(USER_BEAT_BYTES);

  (* ram_style = "block" *)
  logic [USER_DATA_BITS-1:0] store[Beats];
  logic [InfoBits-1:0] infos[Frames];  // of frames, by their numbers
  logic [$clog2(Frames)-1:0] written_q, fetched_q;

  // -------------------------------------------------------------------------------------- writing
  logic [AddrBits:0] write_q, begin_q, read_seen, held, held_q, counted, counted_q;
  logic [$clog2(Frames):0] frames_held;
  logic lost_q, full, push, commit, length_ready;

  assign s_taken = read_seen;
  assign held = write_q - read_seen;
  assign counted = (AddrBits + 1)'(frames_held) << $clog2(Beats / Frames);
  assign full = held[AddrBits];
  assign push = s_valid && !full && !lost_q;
  assign s_lost = lost_q || (s_valid && full) || (s_end && !length_ready);
  assign commit = s_end && s_good && !s_lost;

  always_ff @(posedge s_clk) begin : write_store
    if (push) store[write_q[AddrBits-1:0]] <= s_data;
    if (commit) infos[written_q] <= s_info;
  end

  // What comes in this cycle still finds room in the next.
  always_ff @(posedge s_clk) begin : show
    held_q <= held;
    counted_q <= counted;
    level <= held_q > counted_q ? held_q : counted_q;
    s_room <= int'(held) < int'(Beats) - 1 && int'(frames_held) < int'(Frames) - 1;
    if (s_rst) {held_q, counted_q, level, s_room} <= '0;
  end

  always_ff @(posedge s_clk) begin : write_pointers
    if (commit) begin_q <= write_q + (AddrBits + 1)'(push);
    if (s_end && !commit) write_q <= begin_q;
    else if (push) write_q <= write_q + 1'b1;
    lost_q <= !s_end && (lost_q || (s_valid && full));
    if (commit) written_q <= written_q + 1'b1;
    if (s_rst) begin
      written_q <= '0;
      write_q <= '0;
      begin_q <= '0;
      lost_q <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------- between
  logic length_valid, length_pop;
  logic [13:0] length_bytes;

  fb_common_async #(
      .Width(14),
      .Depth(Frames)
  ) u_lengths (
      .s_clk,
      .s_rst,
      .s_valid(commit),
      .s_ready(length_ready),
      .s_data (s_bytes),
      .s_level(frames_held),
      .m_clk,
      .m_rst,
      .m_valid(length_valid),
      .m_ready(length_pop),
      .m_data (length_bytes)
  );

  logic [AddrBits:0] read_q;

  fb_common_gray_sync #(
      .Width(AddrBits + 1)
  ) u_read (
      .s_clk  (m_clk),
      .s_rst  (m_rst),
      .s_value(read_q),
      .m_clk  (s_clk),
      .m_rst  (s_rst),
      .m_value(read_seen)
  );

  // --------------------------------------------------------------------------------------- reading
  logic [13:0] left_q, left;  // bytes of the frame that are not fetched
  logic middle_q;  // a frame is being fetched
  logic fetch;

  assign left = middle_q ? left_q : length_bytes;
  assign fetch = length_valid && (!m_valid || m_ready);
  assign length_pop = fetch && left <= BEAT;

  always_ff @(posedge m_clk) begin : read_store
    if (fetch) begin
      m_data  <= store[read_q[AddrBits-1:0]];
      m_bytes <= left > BEAT ? 7'(BEAT) : 7'(left);
      m_first <= !middle_q;
      m_last  <= left <= BEAT;
      m_info  <= infos[fetched_q];
      left_q  <= left - BEAT;
    end
  end

  always_ff @(posedge m_clk) begin : read_pointers
    if (fetch) begin
      read_q   <= read_q + 1'b1;
      middle_q <= left > BEAT;
    end
    if (length_pop) fetched_q <= fetched_q + 1'b1;
    m_valid <= fetch || (m_valid && !m_ready);
    if (m_rst) begin
      read_q <= '0;
      fetched_q <= '0;
      middle_q <= 1'b0;
      m_valid <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  // The reader counts beats by the length alone.
  length_matches_beats :
  assert property (@(posedge s_clk) disable iff (s_rst)
                   commit |-> 14'(s_bytes + BEAT - 14'd1) >> 6 ==
                              14'((AddrBits + 1)'(write_q - begin_q)) + 14'(push))
  else $error("fb_net_frame_fifo (%m): %0d bytes in other than so many beats", s_bytes);
`endif

endmodule

`default_nettype wire
