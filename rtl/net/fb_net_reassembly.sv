// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_reassembly: which frame follows which.
//
// What:        reads the header in front of each payload, takes the frames that are due or further
//              in their stream, refuses the others, and says where an extent begins and ends: at the
//              latest when a frame of another stream is taken, or none was taken for `cfg_idle`
//              cycles. The rule is in docs/reference/net.md. The last 64 numbers of each stream are
//              remembered, so that a frame that comes late is told from one that comes twice; and the
//              old frame that was refused last: the stream goes on at the one that follows it.
// Handshake:   valid/ready; `m_*` follows `s_*`, but for a frame's first beat, which waits a cycle, in
//              which its header is looked at. `m_axis_head` is a stream of its own: the first beat of a
//              frame that is taken waits until the word before has been taken.
// Latency:     1 cycle from a frame's first beat, 0 behind it; 2 to the head.
// Throughput:  a beat in every cycle, and one cycle for each frame.
// Limits:      one extent is open at a time. `forget` is high only while no frame is there.
//              512-bit registers: none.
// Does not implement: putting frames back into order.

`default_nettype none

module fb_net_reassembly
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
#(
    parameter int unsigned Streams = 4,  // streams told apart, a power of two, 2 to 16
    localparam int unsigned StreamBits = $clog2(Streams)
) (
    input wire clk,
    input wire rst,

    input wire [31:0] cfg_idle,  // cycles without a frame that end an extent; 0: none do
    input wire forget,  // another one has fb_net_realign: no extent is open any more

    // Datagrams, as fb_net_stream_scheduler has them.
    input  wire                             s_valid,
    output logic                            s_ready,
    input  wire        [USER_DATA_BITS-1:0] s_data,
    input  wire        [               6:0] s_bytes,
    input  wire                             s_first,
    input  wire                             s_last,
    input  wire                             s_raw,    // what goes past the object is filling
    input  wire        [              13:0] s_frame,  // bytes of the frame that brought it
    input  wire time_t                      s_time,   // when that came
    input  wire                             s_ours,   // it is of a stream that is taken ...
    input  wire        [    StreamBits-1:0] s_stream, // ... of this one

    // Payload, as fb_net_realign takes it.
    output logic                      m_valid,
    input  wire                       m_ready,
    output logic [USER_DATA_BITS-1:0] m_data,
    output logic                      m_upper,   // payload begins in the upper half of the beat
    output logic [               6:0] m_bytes,   // of payload in this beat
    output logic                      m_open,    // the beat begins an extent
    output logic                      m_close,   // the beat ends it
    output logic                      m_whole,   // with m_close: the extent is a whole object
    output logic                      m_intact,  // with m_close: nothing of its object is missing
    output logic                      m_within,  // an extent is open, as far as is known here

    // One word an extent: header of its first frame, with PACKET_GOES_ON among its flags where that is
    // so, above it the frames missing before, and when that frame came.
    output logic                        m_axis_head_tvalid,
    input  wire                         m_axis_head_tready,
    output logic [PACKET_HEAD_BITS-1:0] m_axis_head_tdata,

    // For one cycle, with the last beat of each frame.
    output logic        placed,
    output logic [ 3:0] place,        // PLACE_*
    output logic [13:0] placed_bytes  // of the frame
);

  localparam int unsigned HeaderBits = 8 * FRAMING_BYTES;
  localparam int unsigned Window = FRAMING_WINDOW;  // numbers remembered
  localparam int unsigned WindowBits = $clog2(Window);

  if (Streams < 2 || Streams > 16 || (Streams & (Streams - 1)) != 0) begin : gen_bad_streams
    $fatal(1, "fb_net_reassembly (%m): Streams=%0d must be a power of two from 2 to 16", Streams);
  end

  // -------------------------------------------------------------------------------------- header
  logic [HeaderBits-1:0] header;
  logic [3:0] flags;
  logic [31:0] epoch, sequence_number;
  logic [63:0] object, position;
  logic first, last, header_good;

  assign header = s_data[HeaderBits-1:0];
  assign flags = header[8*FRAMING_FLAGS_AT+:4];
  assign epoch = header[8*FRAMING_EPOCH_AT+:32];
  assign sequence_number = header[8*FRAMING_SEQUENCE_AT+:32];
  assign object = header[8*FRAMING_OBJECT_AT+:64];
  assign position = header[8*FRAMING_PLACE_AT+:64];
  assign first = (flags & FRAMING_FIRST) != '0;
  assign last = (flags & FRAMING_LAST) != '0;
  assign header_good = header[31:0] == FRAMING_MAGIC &&
      header[8*FRAMING_FLAGS_AT+4+:4] == FRAMING_VERSION &&
      (flags & ~(FRAMING_FIRST | FRAMING_LAST)) == '0 &&
      header[8*FRAMING_RESERVED_AT+:8] == '0 &&
      s_bytes > 7'(FRAMING_BYTES) && !(first && position == '0);

  logic taking;  // the frame's payload goes on
  logic moves;  // a beat is taken
  logic begins;  // the first one of a frame whose payload goes on

  // -------------------------------------------------------------------------------------- number
  // What is known of the frames of a stream.
  typedef struct packed {
    logic [31:0] epoch;
    logic [31:0] previous;  // the epoch before; or the same
    logic [31:0] due;
    logic [Window-1:0] taken;  // bit n: the frame of number due - 1 - n was taken
  } order_t;

  // What follows the old frame of a stream that was refused last.
  typedef struct packed {
    logic [31:0] epoch;
    logic [31:0] due;
  } again_t;

  logic [Streams-1:0] known_q;  // there was a frame
  logic [Streams-1:0] refused_q;  // an old one was refused, and none was taken since
  order_t order, order_next;
  again_t again, again_next;
  logic [31:0] ahead, behind;
  logic newer, anew, old, is_refused;
  logic [3:0] judged;

  // A header is looked at in one cycle, and what it says is done in the next.
  typedef struct packed {
    logic good;  // its header is
    logic ours;
    logic old;  // it is of the epoch before, or its number is behind all that are remembered ...
    logic twice;  // ... or was taken
    logic taken;
    logic anew;
    logic goes_on;
    logic here;  // the last frame taken was of its stream
    logic trims;  // it is one beat, and was filled up
    logic [31:0] ahead;
  } look_t;

  look_t seen_q;  // of the frame whose first beat is there
  logic  ready_q;  // it is known

  fb_common_lutram #(
      .Width($bits(order_t)),
      .Depth(Streams)
  ) u_orders (
      .clk,
      .we(begins),
      .waddr(s_stream),
      .wdata(order_next),
      .raddr(s_stream),
      .rdata(order)
  );

  fb_common_lutram #(
      .Width($bits(again_t)),
      .Depth(Streams)
  ) u_again (
      .clk,
      .we(is_refused),
      .waddr(s_stream),
      .wdata(again_next),
      .raddr(s_stream),
      .rdata(again)
  );

  assign ahead = sequence_number - order.due;
  assign behind = ~ahead;  // due - 1 - number
  assign newer = epoch != order.epoch && epoch != order.previous;
  assign old = epoch != order.epoch || (ahead[31] && behind >= Window);
  assign anew = !known_q[s_stream] || newer ||
      (old && refused_q[s_stream] && again == {epoch, sequence_number});
  assign order_next.epoch = epoch;
  assign order_next.previous =
      !known_q[s_stream] ? epoch : epoch == order.epoch ? order.previous : order.epoch;
  assign order_next.due = sequence_number + 1'b1;
  assign order_next.taken = seen_q.anew || seen_q.ahead >= Window - 1 ? Window'(1) :
      (order.taken << seen_q.ahead[WindowBits-1:0]) << 1 | Window'(1);
  assign again_next = '{epoch, sequence_number + 1'b1};

  always_comb begin : judge
    if (!seen_q.good) judged = PLACE_HEADER;
    else if (!seen_q.ours) judged = PLACE_STREAM;
    else if (seen_q.taken) judged = PLACE_DELIVERED;
    else if (seen_q.old) judged = PLACE_OLD;
    else if (seen_q.twice) judged = PLACE_DUPLICATE;
    else judged = PLACE_LATE;
  end

  // -------------------------------------------------------------------------------------- object
  // What is known of the object of a stream, whichever extents it comes in.
  typedef struct packed {
    logic [63:0] number;
    logic [63:0] next;     // the offset at which it goes on
    logic [63:0] left;     // bytes to come,
    logic        counted;  // where it has come from its first byte on without a gap
  } object_t;

  logic [Streams-1:0] unfinished_q;  // it has not ended
  object_t state, state_next;
  logic goes_on, counted, ends, ends_q, filled, trims;
  logic [63:0] left, offset, missing;
  logic [6:0] there;

  fb_common_lutram #(
      .Width($bits(object_t)),
      .Depth(Streams)
  ) u_objects (
      .clk,
      .we(moves && taking),
      .waddr(s_stream),
      .wdata(state_next),
      .raddr(s_stream),
      .rdata(state)
  );

  assign goes_on = unfinished_q[s_stream] && known_q[s_stream] && epoch == order.epoch &&
      sequence_number == order.due && !first &&
      object == state.number && position == state.next;
  assign missing = seen_q.anew ? '0 : 64'(seen_q.ahead);
  assign ends = s_first ? last : ends_q;
  assign counted = s_first ? first || (seen_q.goes_on && state.counted) : state.counted;
  assign left = s_first && first ? position : state.left;
  assign there = s_first ? s_bytes - 7'(FRAMING_BYTES) : s_bytes;
  // Only a frame of one beat can have been filled up to the least length.
  assign filled = s_raw && s_first && s_last && (first || (goes_on && state.counted)) &&
      left != '0 && left < 64'(there);
  assign trims = s_first && seen_q.trims;
  assign offset = s_first ? (first ? '0 : position) : state.next;
  assign state_next.number = s_first ? object : state.number;
  assign state_next.next = offset + 64'(m_bytes);
  assign state_next.left = left - 64'(m_bytes);
  assign state_next.counted = counted;

  // -------------------------------------------------------------------------------------- extent
  logic open_q;
  logic [StreamBits-1:0] open_stream_q;
  logic begun, begun_q;  // it begins with its object's first byte
  logic [31:0] idle_q;  // cycles without anything of a frame that is taken
  logic inside_q;  // the end of one is still to come
  logic rests;  // neither that nor a header that is not looked at yet is here
  logic opens;

  assign opens = !(seen_q.goes_on && open_q && seen_q.here);
  assign begun = s_first && opens ? first : begun_q;

  // ---------------------------------------------------------------------------------------- beats
  logic taking_q, head_free;

  assign taking = s_first ? seen_q.taken : taking_q;
  assign head_free = !m_axis_head_tvalid || !s_first;
  assign s_ready = (!s_first || ready_q) && (!taking || (m_ready && head_free));
  assign moves = s_valid && s_ready;
  assign begins = moves && s_first && taking;
  assign is_refused = moves && s_first && judged == PLACE_OLD;

  assign m_valid = s_valid && (!s_first || ready_q) && taking && head_free;
  assign m_data = s_data;
  assign m_upper = s_first;
  assign m_bytes = trims ? 7'(left) : there;
  assign m_open = s_first && opens;
  assign m_close = s_last && ends;
  assign m_intact = counted && left == 64'(m_bytes);
  assign m_whole = begun && m_intact;
  assign m_within = open_q;
  assign rests = !inside_q && (!s_valid || (s_first ? ready_q && !seen_q.taken : !taking_q));

  logic [3:0] judged_q;
  assign placed = moves && s_last;
  assign place = s_first ? judged : judged_q;
  assign placed_bytes = s_frame;

  always_ff @(posedge clk) begin : look
    seen_q <= '{
        header_good,
        s_ours,
        old,
        order.taken[behind[WindowBits-1:0]],
        header_good && s_ours && (anew || (!old && !ahead[31])),
        anew,
        goes_on,
        open_stream_q == s_stream,
        filled,
        ahead
    };
    ready_q <= s_valid && s_first && !moves && !rst;
  end

  always_ff @(posedge clk) begin : follow
    if (moves && s_first) begin
      taking_q <= taking;
      judged_q <= judged;
    end
    if (is_refused) refused_q[s_stream] <= 1'b1;
    if (begins) begin
      known_q[s_stream] <= 1'b1;
      refused_q[s_stream] <= 1'b0;
      ends_q <= last;
      open_stream_q <= s_stream;
    end
    if (moves) inside_q <= taking && !s_last;
    if (rests) idle_q <= idle_q + 1'b1;
    if (inside_q || !open_q || (moves && taking)) idle_q <= '0;
    if (moves && taking) begin
      begun_q <= begun;
      open_q <= !m_close;
      unfinished_q[s_stream] <= !m_close;
    end else if (forget || (cfg_idle != '0 && idle_q >= cfg_idle && rests)) begin
      open_q <= 1'b0;
    end
    if (rst) begin
      known_q <= '0;
      refused_q <= '0;
      unfinished_q <= '0;
      open_q <= 1'b0;
      inside_q <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin : head
    if (begins && opens) begin
      m_axis_head_tdata <= PACKET_HEAD_BITS'({s_time, missing, header});
      if (seen_q.goes_on) m_axis_head_tdata[8*FRAMING_FLAGS_AT+:4] <= flags | PACKET_GOES_ON;
    end
    m_axis_head_tvalid <= !rst && ((begins && opens) ||
                                   (m_axis_head_tvalid && !m_axis_head_tready));
  end

  fb_axis_check #(
      .Width(PACKET_HEAD_BITS),
      .Name ("m_axis_head")
  ) u_check_head (
      .clk,
      .rst,
      .valid(m_axis_head_tvalid),
      .ready(m_axis_head_tready),
      .data (m_axis_head_tdata)
  );

endmodule

`default_nettype wire
