// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_images: small images that wait for a network, and objects that have none.
//
// What:        takes the words of fb_dnn_shrink. An image has a place from its first row on; it leaves
//              for the network when its object has ended with all of it, so a network never sees half an
//              image. Where no place is free, the image waits, or with `skip` it is not judged. An
//              object that ends without an image for the network is told at once.
// Handshake:   valid/ready on all streams.
// Latency:     3 cycles from an object's end to the first pixel of its image.
// Throughput:  a word a cycle in; a pixel a cycle out.
// Limits:      more places than streams, so that an image which has begun can end. A place whose image
//              never ends is taken again by the next one of its stream.

`default_nettype none

module fb_dnn_images
  import fb_spec_pkg::*;
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224,  // pixels of a side of an image
    parameter int unsigned Streams = 4,  // 1, 2 or 4
    parameter int unsigned Images = 6,  // places, Streams + 1 to 16
    localparam int unsigned WordBits = 8 * 3 * LANES
) (
    input wire clk,
    input wire rst,
    input wire skip,

    input  wire                  s_valid,
    output logic                 s_ready,
    input  wire kind_e           s_kind,
    input  wire  [ WordBits-1:0] s_data,

    output logic                       pixel_valid,
    input  wire                        pixel_ready,
    output logic [           2:0][7:0] pixel,
    // Of each image, with its first pixel or before: the tag of the packet that ended it.
    output logic                       image_valid,
    input  wire                        image_ready,
    output logic [PACKET_TAG_BITS-1:0] image_tag,

    // An object that is not judged has ended.
    output logic                       none_valid,
    input  wire                        none_ready,
    output logic [PACKET_TAG_BITS-1:0] none_tag,

    output logic [31:0] skipped,  // objects that were not judged for want of a place
    output logic [31:0] misfits   // for want of an image that fits, or of all of it
);

  localparam int unsigned StreamBits = Streams > 1 ? $clog2(Streams) : 1;
  localparam int unsigned Words = Size * Size / LANES;
  localparam int unsigned PlaceBits = $clog2(Images);
  localparam int unsigned CountBits = $clog2(Words + 1);
  localparam int unsigned AddrBits = $clog2(Images * Words);

  if (Images <= Streams || Images > 16) begin : gen_bad_images
    $fatal(1, "fb_dnn_images (%m): Images=%0d must be more than Streams=%0d, 16 at most", Images,
           Streams);
  end

  typedef logic [PlaceBits-1:0] place_t;
  typedef logic [CountBits-1:0] count_t;
  function automatic logic [AddrBits-1:0] address(input place_t place, input count_t count);
    return AddrBits'(place) * AddrBits'(Words) + AddrBits'(count);
  endfunction

  // ----------------------------------------------------------------------------------------- write
  logic [Images-1:0] free_q;
  logic [Streams-1:0] holds_q, skips_q;  // the stream has a place; its image has none
  place_t [Streams-1:0] place_q;
  count_t [Streams-1:0] count_q;  // words of its image that have come
  logic [StreamBits-1:0] stream_q;
  logic [PACKET_TAG_BITS-1:0] tag_q;
  place_t chosen;
  logic take, object_ends, complete, image_ends, none_ends, finds, waits;

  always_comb begin : choose
    chosen = '0;
    for (int i = int'(Images) - 1; i >= 0; i--) if (free_q[i]) chosen = place_t'(i);
  end
  assign {object_ends, complete} = {(s_data[2:1] & PACKET_ENDS_OBJECT) != '0, s_data[0]};
  assign image_ends = s_kind == PACKET_ENDS && object_ends && complete && holds_q[stream_q];
  assign none_ends = s_kind == PACKET_ENDS && object_ends && !image_ends;
  assign finds = holds_q[stream_q] || free_q != '0;
  assign waits = (s_kind == IMAGE_BEGINS && !finds && !skip) || (none_ends && none_valid);
  assign s_ready = !waits;
  assign take = s_valid && s_ready;

  // As many as there are places: there is room for each.
  logic whole_valid, whole_ready;
  place_t whole;
  logic [PACKET_TAG_BITS-1:0] whole_tag;
  fb_common_fifo #(
      .Width($bits(place_t) + PACKET_TAG_BITS),
      .Depth(16)
  ) u_whole (
      .clk,
      .rst,
      .s_valid(take && image_ends),
      .s_ready(),
      .s_data ({place_q[stream_q], tag_q}),
      .m_valid(whole_valid),
      .m_ready(whole_ready),
      .m_data ({whole, whole_tag}),
      .level  ()
  );

  logic freed;  // the last word of `whole` is read
  always_ff @(posedge clk) begin : follow
    if (none_ready) none_valid <= 1'b0;
    if (freed) free_q[whole] <= 1'b1;
    if (take) begin
      case (s_kind)
        PACKET_BEGINS: {stream_q, tag_q} <= s_data[StreamBits+PACKET_TAG_BITS-1:0];
        IMAGE_BEGINS: begin
          count_q[stream_q] <= '0;
          skips_q[stream_q] <= !finds;
          holds_q[stream_q] <= finds;
          if (!holds_q[stream_q] && finds) begin
            place_q[stream_q] <= chosen;
            free_q[chosen] <= 1'b0;
          end
        end
        IMAGE_PIXELS: count_q[stream_q] <= count_q[stream_q] + 1'b1;
        default:
        if (object_ends) begin
          {holds_q[stream_q], skips_q[stream_q]} <= '0;
          if (none_ends) begin
            none_valid <= 1'b1;
            none_tag   <= tag_q;
            if (holds_q[stream_q]) free_q[place_q[stream_q]] <= 1'b1;
            if (skips_q[stream_q] && complete) skipped <= skipped + 1;
            else misfits <= misfits + 1;
          end
        end
      endcase
    end
    if (rst) begin
      free_q <= '1;
      {holds_q, skips_q, none_valid, skipped, misfits} <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------ read
  (* ram_style = (Images * Words > 4096) ? "ultra" : "block", no_rw_check *)
  logic [WordBits-1:0] store[Images*Words];
  logic [WordBits-1:0] word_q;
  logic word_valid_q, word_ready, fetch, begins;
  count_t read_q;

  // The tag goes first.
  assign begins = read_q == '0;
  assign fetch = whole_valid && (!word_valid_q || word_ready) && !(begins && image_valid);
  assign freed = fetch && read_q == CountBits'(Words - 1);
  assign whole_ready = freed;

  always_ff @(posedge clk) begin : memory
    if (take && s_kind == IMAGE_PIXELS && holds_q[stream_q]) begin
      store[address(place_q[stream_q], count_q[stream_q])] <= s_data;
    end
    if (fetch) word_q <= store[address(whole, read_q)];
  end
  always_ff @(posedge clk) begin : fetch_words
    if (image_ready) image_valid <= 1'b0;
    if (!word_valid_q || word_ready) word_valid_q <= fetch;
    if (fetch) begin
      read_q <= freed ? '0 : read_q + 1'b1;
      if (begins) begin
        image_valid <= 1'b1;
        image_tag   <= whole_tag;
      end
    end
    if (rst) {image_valid, word_valid_q, read_q} <= '0;
  end

  fb_dnn_lanes #(
      .Width(24),
      .From (LANES),
      .To   (1)
  ) u_pixels (
      .clk,
      .rst,
      .s_valid(word_valid_q),
      .s_ready(word_ready),
      .s_data (word_q),
      .m_valid(pixel_valid),
      .m_ready(pixel_ready),
      .m_data (pixel)
  );

`ifndef SYNTHESIS
  pixels_have_room :
  assert property (@(posedge clk) disable iff (rst)
      take && s_kind == IMAGE_PIXELS && holds_q[stream_q] |-> int'(count_q[stream_q]) < Words)
  else $error("fb_dnn_images (%m): more pixels than an image has");
`endif

endmodule

`default_nettype wire
