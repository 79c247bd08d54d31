// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_shrink: images become small ones while they pass.
//
// What:        an object is a PGM or PPM file. Its pixels are averaged over areas, exactly: the image
//              becomes Size x Size, each pixel of three channels. Rows leave as soon as they are
//              complete. Objects may come in several packets, between those of other streams: what is
//              known of an image is kept by the lowest bits of its stream's number.
// Output:      for each packet PACKET_BEGINS, with its TID and above it its stream; IMAGE_BEGINS, when
//              the header has been read and fits; IMAGE_PIXELS, four pixels, the first one lowest, row
//              by row; PACKET_ENDS, in the lowest bit whether an image is complete (all of it came, and
//              nothing behind it), above it TUSER of the packet.
// Handshake:   valid/ready.
// Latency:     an image begins 3 cycles for each byte of its header after its first beat, and 65 to 69;
//              a row leaves 24 to 34 cycles after the beat that completes it.
// Throughput:  a cycle for 21 pixels of a line (63 of one channel), or for as many as four output pixels
//              at most end in; one more for each line. Of a packet the bytes behind the last whole
//              group come pixel by pixel, and 32 cycles go by between two packets. A row of the
//              small image takes Size / 2 + 6 cycles at least.
// Limits:      Size <= width, height <= 16383. 512-bit registers: six.
// Does not implement: enlarging, cropping, keeping the aspect ratio, two bytes a sample.

`default_nettype none

module fb_dnn_shrink
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224,  // 32 to 256, a multiple of 4
    parameter int unsigned Streams = 4,  // whose images may be under way: 1, 2 or 4
    localparam int unsigned WordBits = 8 * 3 * LANES
) (
    input wire clk,
    input wire rst,

    input  wire                                s_axis_object_tvalid,
    output logic                               s_axis_object_tready,
    input  wire          [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire          [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                                s_axis_object_tlast,
    input  wire          [                1:0] s_axis_object_tuser,
    input  wire          [PACKET_TAG_BITS-1:0] s_axis_object_tid,
    input  wire extent_t                       extent,

    output logic                 m_valid,
    input  wire                  m_ready,
    output kind_e                m_kind,
    output logic  [WordBits-1:0] m_data
);

  if (Size < 32 || Size > 256 || Size % 4 != 0) begin : gen_bad_size
    $fatal(1, "fb_dnn_shrink (%m): Size=%0d must be 32 to 256, a multiple of 4", Size);
  end
  if (Streams != 1 && Streams != 2 && Streams != 4) begin : gen_bad_streams
    $fatal(1, "fb_dnn_shrink (%m): Streams=%0d must be 1, 2 or 4", Streams);
  end

  localparam int unsigned StreamBits = $clog2(Streams) + 32'(Streams == 1);
  localparam int unsigned OffsetBits = 36;
  localparam int unsigned Inside = 24;  // cycles from a group's choice to the end of its row

  // What is known of the image of a stream between its packets.
  typedef struct packed {
    object_t owner;
    logic good;  // all that has come is part of an image that fits
    logic begun;  // its header is read
    logic [OffsetBits-1:0] offset;  // of what is to come next
    header_t header;
    geometry_t geometry;
    walk_t walk;
    logic [1:0] carry_bytes;  // of a pixel that the packet's end cut in two
    logic [1:0][7:0] carry;
    logic [1:0][2:0][LINE_BITS-1:0] sums;
  } context_t;

  typedef enum logic [3:0] {
    ENTER,
    LOOK,
    LOAD,
    HEADER,
    GEOMETRY,
    WALK,
    PIXELS,
    PASS,
    SETTLE,
    LEAVE
  } state_e;

  state_e state_q;
  context_t now_q, kept;
  logic [StreamBits-1:0] stream, stream_q;
  logic [Streams-1:0] known_q;  // the stream has something kept since a reset
  logic [PACKET_TAG_BITS-1:0] tag_q;
  logic [1:0] user_q;
  logic [4:0] settled_q;

  object_t object;
  logic begins_q, goes_on_q;  // the object begins with this packet, or goes on where it ended
  assign stream = StreamBits'(extent.stream & 16'(Streams - 1));
  assign object = '{extent.stream, extent.epoch, extent.object};

  fb_common_lutram #(
      .Width($bits(context_t)),
      .Depth(1 << StreamBits)
  ) u_contexts (
      .clk,
      .we(state_q == LEAVE),
      .waddr(stream_q),
      .wdata(now_q),
      .raddr(stream),
      .rdata(kept)
  );

  // --------------------------------------------------------------------------------------- bytes
  logic [6:0] beat_bytes;
  logic accepts, moving, ended;
  logic takes, takes_few;
  logic [5:0] group_bytes;
  logic [1:0] few;
  logic [7:0] available;
  logic [8*GROUP_BYTES-1:0] window;
  logic bytes_ready, open;

  // All bytes up to the last one are there.
  logic [USER_BEAT_BYTES-1:0] ends_here;
  assign ends_here = s_axis_object_tkeep & ~(s_axis_object_tkeep >> 1);
  always_comb begin : count
    beat_bytes = '0;
    for (int i = 0; i < int'(USER_BEAT_BYTES); i++) begin
      if (ends_here[i]) begin
        beat_bytes = beat_bytes | 7'(i + 1);
      end
    end
  end
  assign open = state_q inside {HEADER, GEOMETRY, WALK, PIXELS, PASS};
  assign s_axis_object_tready = bytes_ready && open;
  assign accepts = s_axis_object_tvalid && s_axis_object_tready;

  fb_dnn_bytes u_bytes (
      .clk,
      .rst,
      .load(state_q == LOAD),
      .carry(now_q.carry),
      .carry_bytes(now_q.carry_bytes),
      .s_valid(s_axis_object_tvalid && open),
      .s_ready(bytes_ready),
      .s_data(s_axis_object_tdata),
      .s_bytes(beat_bytes),
      .s_last(s_axis_object_tlast),
      .takes,
      .group_bytes,
      .takes_few,
      .few,
      .pass(state_q == PASS),
      .available,
      .moving,
      .ended,
      .window
  );

  // -------------------------------------------------------------------------------------- header
  header_t header;
  geometry_t geometry;
  logic [1:0] reads_q;  // a byte is on its way through the window
  logic geometry_start_q, geometry_done, geometry_there_q, fits;

  fb_dnn_pnm u_pnm (
      .now  (now_q.header),
      .octet(window[7:0]),
      .next (header)
  );
  assign fits = now_q.header.width >= side_t'(Size) && now_q.header.height >= side_t'(Size);

  fb_dnn_geometry #(
      .Size(Size)
  ) u_geometry (
      .clk,
      .rst,
      .start (geometry_start_q),
      .width (now_q.header.width),
      .height(now_q.header.height),
      .grey  (now_q.header.grey),
      .done  (geometry_done),
      .geometry
  );

  // -------------------------------------------------------------------------------------- pixels
  logic [1:0] pending;
  logic takes_one, reads, keeps;  // a byte of the header; what is left of a pixel
  logic complete, exhausted;
  walk_t  walk;
  group_t group;

  fb_dnn_walk #(
      .Size(Size)
  ) u_walk (
      .clk,
      .rst,
      .load(state_q == WALK),
      .loaded(now_q.walk),
      .saved(walk),
      .steps(now_q.geometry.steps),
      .width(now_q.header.width),
      .height(now_q.header.height),
      .grey(now_q.header.grey),
      .most(now_q.geometry.group),
      .run(state_q == PIXELS && !moving),
      .available,
      .ended,
      .pending,
      .goes(takes),
      .goes_bytes(group_bytes),
      .goes_one(takes_one),
      .complete,
      .exhausted,
      .group
  );
  assign reads = state_q == HEADER && reads_q == '0 && !now_q.header.bad && !now_q.header.done &&
      !moving && available != '0;
  assign keeps = state_q == PIXELS && exhausted && !moving;
  assign takes_few = reads || takes_one || keeps;
  assign few = keeps ? available[1:0] : reads || now_q.header.grey ? 2'd1 : 2'd3;

  // --------------------------------------------------------------------------------------- means
  group_t group_q;  // until the window is there
  ends_t ends;
  logic [LANES-1:0][2:0][LINE_BITS-1:0] share;
  logic [1:0][2:0][LINE_BITS-1:0] sums;
  logic [LANES-1:0] sum_valid;
  logic [LANES-1:0][PLACE_BITS-1:0] sum_place;
  logic [LANES-1:0][2:0][SUM_BITS-1:0] sum;
  logic sum_half, row_ends, word_valid, word_ready;
  kind_e word_kind;
  logic [WordBits-1:0] word;

  always_ff @(posedge clk) begin : wait_for_window
    group_q <= group;
    if (rst) group_q.ends.valid <= 1'b0;
  end

  fb_dnn_columns #(
      .Size(Size)
  ) u_columns (
      .clk,
      .rst,
      .grey(now_q.header.grey),
      .load(state_q == LOAD),
      .loaded(now_q.sums),
      .saved(sums),
      .group(group_q),
      .window,
      .m_ends(ends),
      .m_share(share)
  );

  fb_dnn_lines #(
      .Size(Size),
      .Streams(Streams)
  ) u_lines (
      .clk,
      .rst,
      .stream(stream_q),
      .ends,
      .share,
      .m_valid(sum_valid),
      .m_place(sum_place),
      .m_half(sum_half),
      .m_sum(sum),
      .m_row_ends(row_ends)
  );

  assign word_valid = state_q inside {LOOK, LEAVE} || (state_q == GEOMETRY && geometry_there_q);
  always_comb begin : say
    {word_kind, word} = {IMAGE_BEGINS, WordBits'(0)};
    if (state_q == LOOK) {word_kind, word} = {PACKET_BEGINS, WordBits'({stream_q, tag_q})};
    if (state_q == LEAVE) begin
      {word_kind, word} = {PACKET_ENDS, WordBits'({user_q, now_q.good && now_q.begun && complete})};
    end
  end

  fb_dnn_rows #(
      .Size(Size),
      .Streams(Streams)
  ) u_rows (
      .clk,
      .rst,
      .stream(stream_q),
      .scale(now_q.geometry.scale),
      .s_valid(sum_valid),
      .s_place(sum_place),
      .s_half(sum_half),
      .s_sum(sum),
      .s_row_ends(row_ends),
      .claim(group.ends.valid && group.ends.line_ends && group.ends.row_ends),
      .claim_half(group.ends.half),
      .pending,
      .word_valid,
      .word_ready,
      .word_kind,
      .word,
      .m_valid,
      .m_ready,
      .m_kind,
      .m_data
  );

  // Of the extent only whose it is and where it begins.
  logic unused;
  assign unused = &{1'b0, extent};

  // -------------------------------------------------------------------------------------- states
  always_ff @(posedge clk) begin : follow
    geometry_start_q <= 1'b0;
    geometry_there_q <= state_q == GEOMETRY && !geometry_start_q && (geometry_there_q || geometry_done);
    if (accepts) begin
      now_q.offset <= now_q.offset + OffsetBits'(beat_bytes);
      if (s_axis_object_tlast) user_q <= s_axis_object_tuser;
    end
    unique case (state_q)
      ENTER:
      if (s_axis_object_tvalid) begin
        state_q <= LOOK;
        stream_q <= stream;
        tag_q <= s_axis_object_tid;
        now_q <= kept;
        begins_q <= extent.offset == '0;
        goes_on_q <= known_q[stream] && kept.owner == object &&
            OffsetBits'(extent.offset) == kept.offset && extent.offset[63:OffsetBits] == '0;
        known_q[stream] <= 1'b1;
      end
      LOOK:
      if (word_ready) begin
        state_q <= LOAD;
        now_q.owner <= object;
        now_q.offset <= OffsetBits'(extent.offset);
        if (begins_q || !goes_on_q) begin
          now_q.good <= begins_q;
          now_q.header <= '0;
          {now_q.begun, now_q.carry_bytes} <= '0;
        end
      end
      LOAD: state_q <= !now_q.good ? PASS : now_q.begun ? WALK : HEADER;
      HEADER: begin
        if (reads_q[1]) now_q.header <= header;
        if (reads_q == '0) begin
          if (now_q.header.bad || (now_q.header.done && !fits)) begin
            state_q <= PASS;
            now_q.good <= 1'b0;
          end else if (now_q.header.done) begin
            state_q <= GEOMETRY;
            geometry_start_q <= 1'b1;
          end else if (ended && available == '0) state_q <= SETTLE;
        end
      end
      GEOMETRY:
      if (geometry_there_q && word_ready) begin
        state_q <= WALK;
        now_q.begun <= 1'b1;
        now_q.geometry <= geometry;
        now_q.walk <= '{
            column: geometry.steps.column_first,
            line: geometry.line_first,
            default: '0
        };
      end
      WALK: state_q <= PIXELS;
      PIXELS:
      if (complete && available != '0) begin
        // There is more than the image.
        state_q <= PASS;
        now_q.good <= 1'b0;
      end else if (exhausted && (!moving || available == '0)) begin
        state_q <= SETTLE;
        now_q.carry_bytes <= available[1:0];
      end
      PASS: if (ended && available == '0) state_q <= SETTLE;
      SETTLE: if (settled_q == 5'(Inside)) state_q <= LEAVE;
      default: if (word_ready) state_q <= ENTER;
    endcase
    settled_q <= state_q == SETTLE ? settled_q + 1'b1 : '0;
    reads_q   <= {reads_q[0], reads};
    if (state_q == SETTLE && now_q.begun) begin
      {now_q.carry, now_q.sums, now_q.walk} <= {window[15:0], sums, walk};
    end
    if (rst) begin
      state_q <= ENTER;
      {known_q, reads_q} <= '0;
      geometry_start_q <= 1'b0;
    end
  end

endmodule

`default_nettype wire
