// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_stream_scheduler: frames of several streams, each stream's together.
//
// What:        a ring in one memory for each stream. One stream at a time is let through, so that
//              frames which senders interleave become long extents. Between two frames it gives way
//              to one that has waited too long; else to one whose ring is half full, if its object
//              has ended or its own ring is empty; else to any other, if both is so. With `hurry`
//              that is enough, or a frame of no stream.
// Handshake:   valid/ready; `s_ready` comes from a register. `s_*` are datagrams as fb_net_frame_fifo has
//              them: whole, so that the rest of a frame that has begun always comes.
// Latency:     2 cycles into an empty memory, and ReadLatency.
// Throughput:  a beat in every cycle, a frame in every cycle; two cycles without a beat where one stream
//              hands over to another one.
// Limits:      a stream is late after `cfg_gather` to twice as many cycles. `cfg_stream` and
//              `cfg_streams` change only while no frame is there. 512-bit registers: the memory's.
// Does not implement: judging frames: what is of no stream goes through ring 0, with `m_ours` low.

`default_nettype none

module fb_net_stream_scheduler
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
#(
    parameter int unsigned Streams = 4,  // rings, a power of two, 2 to 16
    parameter int unsigned Beats = 16384,  // 64-byte beats of a ring, a power of two, 4 to 65536
    parameter int unsigned ReadLatency = 3,  // of the memory, in cycles, 1 to 16
    localparam int unsigned StreamBits = $clog2(Streams),
    localparam int unsigned AddrBits = $clog2(Beats)
) (
    input wire clk,
    input wire rst,

    input wire [15:0] cfg_stream,   // the first stream that is taken
    input wire [ 4:0] cfg_streams,  // how many are, from that one on; more than Streams: Streams
    input wire [31:0] cfg_gather,   // cycles after which one that waits is late; 0: none ever is
    input wire        hurry,        // nothing more comes: no ring waits for the rest of an object

    input  wire                             s_valid,
    output logic                            s_ready,
    input  wire        [USER_DATA_BITS-1:0] s_data,
    input  wire        [               6:0] s_bytes,
    input  wire                             s_first,
    input  wire                             s_last,
    input  wire                             s_raw,
    input  wire        [              13:0] s_frame,
    input  wire time_t                      s_time,

    output logic                       m_valid,
    input  wire                        m_ready,
    output logic  [USER_DATA_BITS-1:0] m_data,
    output logic  [               6:0] m_bytes,
    output logic                       m_first,
    output logic                       m_last,
    output logic                       m_raw,
    output logic  [              13:0] m_frame,
    output time_t                      m_time,
    output logic                       m_ours,   // the frame is of a stream that is taken ...
    output logic  [    StreamBits-1:0] m_stream, // ... of this one, counted from the first

    output logic [AddrBits+StreamBits:0] held,  // beats in rings, of streams that are taken
    output logic rests  // nothing is inside
);

  if (Streams < 2 || Streams > 16 || (Streams & (Streams - 1)) != 0) begin : gen_bad_streams
    $fatal(
        1, "fb_net_stream_scheduler (%m): Streams=%0d must be a power of two from 2 to 16", Streams
    );
  end
  if (Beats < 4 || Beats > 65536 || (Beats & (Beats - 1)) != 0) begin : gen_bad_beats
    $fatal(
        1, "fb_net_stream_scheduler (%m): Beats=%0d must be a power of two from 4 to 65536", Beats
    );
  end

  typedef struct packed {
    logic [StreamBits-1:0] stream;
    logic ours;
    logic first;
    logic last;
    logic raw;
    logic [13:0] frame;
    time_t time_;
    logic [6:0] bytes;
    logic [USER_DATA_BITS-1:0] data;
  } beat_t;

  // What comes behind a beat.
  typedef enum logic [1:0] {
    INSIDE,   // more of its frame
    GOES_ON,  // another frame of its object
    ENDS,     // another object
    FOREIGN   // as before: the frame is of no stream
  } behind_e;

  typedef struct packed {
    logic ours;
    behind_e behind;
  } mark_t;

  logic [Streams-1:0] full, half, one, waiting;  // of each ring
  logic [AddrBits-1:0] write_q[Streams], read_q[Streams];
  logic [AddrBits:0] level_q[Streams];

  always_comb begin : levels
    for (int i = 0; i < Streams; i++) begin
      full[i] = level_q[i][AddrBits];
      half[i] = |level_q[i][AddrBits:AddrBits-1];
      one[i]  = level_q[i] == (AddrBits + 1)'(1);
    end
  end

  // ----------------------------------------------------------------------------------------- into
  logic ours, ours_q, ends, ends_q, push;
  logic [StreamBits-1:0] ring, ring_q;
  behind_e behind;

  // From the first stream that is taken to the one behind the last, modulo 2^16.
  logic [4:0] taken;
  logic [15:0] behind_q;
  logic wraps_q, below, above;
  logic [StreamBits-1:0] index;
  assign taken = cfg_streams < 5'(Streams) ? cfg_streams : 5'(Streams);
  always_ff @(posedge clk) begin : settle
    {wraps_q, behind_q} <= {1'b0, cfg_stream} + 17'(taken);
  end

  // Differences: their carries are quicker than comparisons.
  assign below = $signed({1'b0, s_data[8*FRAMING_STREAM_AT+:16]} - {1'b0, cfg_stream}) < 0;
  assign above = $signed({1'b0, s_data[8*FRAMING_STREAM_AT+:16]} - {1'b0, behind_q}) >= 0;
  assign ours = s_first ? s_data[31:0] == FRAMING_MAGIC &&
      (wraps_q ? !below || !above : !below && !above) : ours_q;
  assign ends = s_first ? (s_data[8*FRAMING_FLAGS_AT+:4] & FRAMING_LAST) != '0 : ends_q;
  assign index = s_data[8*FRAMING_STREAM_AT+:StreamBits] - cfg_stream[StreamBits-1:0];
  assign ring = s_first ? (ours ? index : '0) : ring_q;
  assign push = s_valid && s_ready;

  always_comb begin : mark
    if (!s_last) behind = INSIDE;
    else if (!ours) behind = FOREIGN;
    else behind = ends ? ENDS : GOES_ON;
  end

  always_ff @(posedge clk) begin : follow_frame
    if (push) {ours_q, ends_q, ring_q} <= {ours, ends, ring};
  end

  // Only the ring that the frame at the input goes into can become full, so a frame that has begun
  // never waits for a ring of another stream. A full ring is due; the one that is let through gets
  // nothing more, and hands over when it is empty: no ring stays full while beats are taken.
  assign s_ready = full == '0;

  // --------------------------------------------------------------------------------------- memory
  logic [StreamBits-1:0] chosen_q;  // the stream that is let through
  logic [StreamBits+AddrBits-1:0] write_at, read_at;
  logic fetch, change, change_here, change_behind;
  logic known_q;  // `mark_q` is that of the next beat of the ring
  mark_t mark_q;
  logic moves;  // the memory's pipeline
  logic [ReadLatency-1:0] inside_q;  // beats in it
  beat_t s_beat, m_beat;

  assign s_beat = '{ring, ours, s_first, s_last, s_raw, s_frame, s_time, s_bytes, s_data};
  fb_net_ring_ram #(
      .Width($bits(beat_t)),
      .Words(Streams * Beats),
      .ReadLatency(ReadLatency)
  ) u_store (
      .clk,
      .we(push),
      .waddr(write_at),
      .wdata(s_beat),
      .move(moves),
      .raddr(read_at),
      .rdata(m_beat)
  );

  // Of the same places, read a cycle ahead: who comes next is decided while a beat is fetched.
  (* ram_style = "block" *)
  mark_t marks[Streams*Beats];

  assign moves = !m_valid || m_ready;
  assign fetch = known_q && moves;
  assign write_at = {ring, write_q[ring]};
  assign read_at = {chosen_q, read_q[chosen_q]};
  assign m_valid = inside_q[ReadLatency-1];
  assign {m_stream, m_ours, m_first, m_last, m_raw, m_frame, m_time, m_bytes, m_data} = m_beat;

  always_ff @(posedge clk) begin : memory
    if (push) marks[write_at] <= '{ours, behind};
    if (moves) inside_q <= ReadLatency'({inside_q, fetch});
    if (rst) inside_q <= '0;
    mark_q <= marks[{chosen_q, AddrBits'(read_q[chosen_q]+AddrBits'(fetch))}];
    known_q <= !rst && waiting[chosen_q] &&
        (fetch ? !change_behind && !one[chosen_q] : !change_here);
  end

  // ---------------------------------------------------------------------------------------- whose
  logic [Streams-1:0] others, may, seen_q, late_q;
  logic middle_q;  // its frame is not over
  logic open_q, behind_open;  // its object is not over, and behind the beat that may be fetched
  logic empty, tick;
  logic [31:0] clock_q;
  logic [StreamBits-1:0] next, next_q;
  logic someone_q, someone_half_q, someone_late_q;  // of the others

  function automatic logic gives_way(input logic open);
    return someone_late_q || (someone_half_q && (!open || empty)) ||
        (someone_q && (!open || hurry) && empty) ||
        (someone_q && hurry && mark_q.behind == FOREIGN);
  endfunction

  // A chosen stream sends at least one frame before it gives way. `fetch` is the last signal to
  // arrive, so both outcomes are computed and it selects one.
  always_comb begin : decide
    behind_open   = mark_q.behind inside {INSIDE, FOREIGN} ? open_q : mark_q.behind == GOES_ON;
    change_behind = mark_q.behind != INSIDE && gives_way(behind_open);
    change_here   = !middle_q && empty && gives_way(open_q);
    change        = fetch ? change_behind : change_here;
  end
  assign others = waiting & ~(Streams'(1) << chosen_q);
  assign empty  = !waiting[chosen_q];
  assign tick   = cfg_gather != '0 && clock_q >= cfg_gather;

  always_comb begin : choose
    may = others;
    if ((others & late_q) != '0) may = others & late_q;
    else if ((others & half) != '0) may = others & half;
    // The next one in turn: the nearest is looked at last.
    next = chosen_q;
    for (int i = Streams - 1; i > 0; i--) begin
      if (may[StreamBits'(32'(chosen_q)+i)]) next = StreamBits'(32'(chosen_q) + i);
    end
  end

  // The next stream is chosen from what the rings held a cycle ago. That is safe: in the cycle behind a
  // change nothing is fetched and the new stream has beats, so it does not change again.
  always_ff @(posedge clk) begin : look
    next_q <= next;
    someone_q <= others != '0 && !rst;
    someone_half_q <= (others & half) != '0 && !rst;
    someone_late_q <= (others & late_q) != '0 && !rst;
  end

  always_ff @(posedge clk) begin : turn
    if (change) chosen_q <= next_q;
    if (fetch) middle_q <= mark_q.behind == INSIDE;
    open_q  <= fetch ? behind_open && !change_behind : open_q && !change_here;
    // Late is who was there at a tick and had no turn up to the next one.
    clock_q <= tick ? '0 : clock_q + 1'b1;
    if (tick) begin
      seen_q <= others;
      late_q <= late_q | (seen_q & others);
    end
    // Who has the turn is none of the others, a cycle later as well.
    seen_q[chosen_q] <= 1'b0;
    late_q[chosen_q] <= 1'b0;
    if (rst) begin
      chosen_q <= '0;
      middle_q <= 1'b0;
      open_q   <= 1'b0;
      clock_q  <= '0;
      seen_q   <= '0;
      late_q   <= '0;
    end
  end

  logic came_q, went_q;  // a beat of a stream that is taken
  always_ff @(posedge clk) begin : pointers
    for (int i = 0; i < Streams; i++) begin
      if (push && ring == StreamBits'(i)) write_q[i] <= write_q[i] + 1'b1;
      if (fetch && chosen_q == StreamBits'(i)) read_q[i] <= read_q[i] + 1'b1;
      if ((push && ring == StreamBits'(i)) != (fetch && chosen_q == StreamBits'(i)))
        level_q[i] <= push && ring == StreamBits'(i) ? level_q[i] + 1'b1 : level_q[i] - 1'b1;
      if (push && ring == StreamBits'(i)) waiting[i] <= 1'b1;
      else if (fetch && chosen_q == StreamBits'(i) && one[i]) waiting[i] <= 1'b0;
      if (rst) {write_q[i], read_q[i], level_q[i], waiting[i]} <= '0;
    end
    {came_q, went_q} <= {push && ours, fetch && mark_q.ours};
    held <= held + (AddrBits + StreamBits + 1)'(came_q) - (AddrBits + StreamBits + 1)'(went_q);
    if (rst) {held, came_q, went_q} <= '0;
  end

  assign rests = waiting == '0 && inside_q == '0;

`ifndef SYNTHESIS
  full_has_its_turn :
  assert property (@(posedge clk) disable iff (rst) s_valid && !s_ready && empty |-> change)
  else
    $error(
        "fb_net_stream_scheduler (%m): a ring is full, and stream %0d, which has nothing, stays",
        chosen_q
    );
`endif

endmodule

`default_nettype wire
