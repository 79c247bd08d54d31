// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_shrink: images become small ones.
//
// What:        of an object that is a PGM or PPM file, a PPM file of Size x Size pixels: each is the mean
//              of the area that it covers. An object may come in several packets, between those of
//              other streams; with each go the rows that it completes, or one byte where it completes
//              none. Of what is no image that fits, or not all of one, `misfits` counts the ends; that
//              of a whole object in one packet is flagged PACKET_PART.
// Handshake:   valid/ready.
// Latency:     that of fb_dnn_shrink, and two cycles.
// Throughput:  that of fb_dnn_shrink; out of it 6 bytes a cycle.
// Limits:      see fb_dnn_shrink. 512-bit registers: one more.
// Does not implement: other formats; objects that are no images.

`default_nettype none

module fb_pe_shrink
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
  import fb_dnn_pkg::*;
#(
    parameter int unsigned Size = 224,
    parameter int unsigned Streams = 4
) (
    input  wire         clk,
    input  wire         rst,
    input  wire  [63:0] cfg,
    output logic [63:0] status, // see fb_pe_shrink.toml

    input  wire                                s_axis_object_tvalid,
    output logic                               s_axis_object_tready,
    input  wire          [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire          [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                                s_axis_object_tlast,
    input  wire          [                1:0] s_axis_object_tuser,
    input  wire          [PACKET_TAG_BITS-1:0] s_axis_object_tid,
    input  wire extent_t                       extent,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid
);

  // In units of 4 bytes: a word of four pixels, the header of a file, a beat.
  localparam int unsigned WordUnits = 3;
  localparam int unsigned HeaderUnits = 2 * WordUnits;
  localparam int unsigned BeatUnits = USER_BEAT_BYTES / 4;

  // "P6", and the size twice; spaces fill it up.
  function automatic logic [8*4*HeaderUnits-1:0] header_of();
    logic [23:0] digits;
    digits = {8'("0" + Size % 10), 8'("0" + Size / 10 % 10), 8'("0" + Size / 100)};
    header_of = {"\n", "552", "    ", digits, "    ", digits, "    ", "6P"};
  endfunction
  localparam logic [8*4*HeaderUnits-1:0] Header = header_of();

  logic word_valid, word_ready;
  kind_e word_kind;
  logic [8*4*WordUnits-1:0] word;

  fb_dnn_shrink #(
      .Size(Size),
      .Streams(Streams)
  ) u_shrink (
      .clk,
      .rst,
      .s_axis_object_tvalid,
      .s_axis_object_tready,
      .s_axis_object_tdata,
      .s_axis_object_tkeep,
      .s_axis_object_tlast,
      .s_axis_object_tuser,
      .s_axis_object_tid,
      .extent,
      .m_valid(word_valid),
      .m_ready(word_ready),
      .m_kind (word_kind),
      .m_data (word)
  );

  // ---------------------------------------------------------------------------------------- beats
  // A beat leaves when it is known whether the packet goes on behind it.
  logic [BeatUnits+WordUnits-2:0][31:0] units_q;
  logic [$clog2(BeatUnits+WordUnits)-1:0] filled_q;
  logic empty_q;  // nothing of it has come yet
  logic full, ends, complete, object_ends;

  assign full = filled_q >= $bits(filled_q)'(BeatUnits);
  assign ends = word_kind == PACKET_ENDS && filled_q <= $bits(filled_q)'(BeatUnits);
  assign complete = word[0];
  assign object_ends = (word[2:1] & PACKET_ENDS_OBJECT) != '0;

  assign m_axis_object_tvalid = word_valid && (full || word_kind == PACKET_ENDS);
  assign m_axis_object_tlast = ends;
  always_comb begin : form
    for (int i = 0; i < int'(BeatUnits); i++) begin
      m_axis_object_tdata[32*i+:32] = units_q[i];
      m_axis_object_tkeep[4*i+:4]   = full || i < int'(filled_q) ? '1 : '0;
    end
    if (empty_q) m_axis_object_tkeep[0] = 1'b1;
    m_axis_object_tuser = '0;
    if (ends) begin
      m_axis_object_tuser = word[2:1];
      if (empty_q || (object_ends && !complete)) begin
        m_axis_object_tuser = m_axis_object_tuser | PACKET_PART;
      end
    end
  end
  assign word_ready = m_axis_object_tvalid ? ends && m_axis_object_tready : 1'b1;

  always_ff @(posedge clk) begin : fill
    if (word_valid && word_ready) begin
      unique case (word_kind)
        PACKET_BEGINS: begin
          m_axis_object_tid <= word[PACKET_TAG_BITS-1:0];
          units_q[0] <= '0;
          empty_q <= 1'b1;
        end
        IMAGE_BEGINS: begin
          filled_q <= $bits(filled_q)'(HeaderUnits);
          units_q[HeaderUnits-1:0] <= Header;
          empty_q <= 1'b0;
        end
        IMAGE_PIXELS: begin
          filled_q <= filled_q + $bits(filled_q)'(WordUnits);
          for (int i = 0; i < int'(BeatUnits + WordUnits) - 1; i++) begin
            for (int w = 0; w < int'(WordUnits); w++) begin
              if (int'(filled_q) + w == i) units_q[i] <= word[32*w+:32];
            end
          end
          empty_q <= 1'b0;
        end
        default: filled_q <= '0;
      endcase
    end else if (m_axis_object_tvalid && m_axis_object_tready) begin
      filled_q <= filled_q - $bits(filled_q)'(BeatUnits);
      for (int i = 0; i < int'(WordUnits) - 1; i++) units_q[i] <= units_q[int'(BeatUnits)+i];
    end
    if (rst) filled_q <= '0;
  end

  logic [31:0] misfits_q, empties_q;
  always_ff @(posedge clk) begin : count
    if (word_valid && word_ready && word_kind == PACKET_ENDS) begin
      misfits_q <= misfits_q + 32'(object_ends && !complete);
      empties_q <= empties_q + 32'(empty_q);
    end
    if (rst) {misfits_q, empties_q} <= '0;
  end
  assign status = {empties_q, misfits_q};

  // There are no settings.
  logic unused;
  assign unused = &{1'b0, cfg};

  fb_pe_check u_check (
      .clk,
      .rst,
      .in_valid (s_axis_object_tvalid),
      .in_ready (s_axis_object_tready),
      .in_last  (s_axis_object_tlast),
      .in_user  (s_axis_object_tuser),
      .in_tid   (s_axis_object_tid),
      .out_valid(m_axis_object_tvalid),
      .out_ready(m_axis_object_tready),
      .out_data (m_axis_object_tdata),
      .out_keep (m_axis_object_tkeep),
      .out_last (m_axis_object_tlast),
      .out_user (m_axis_object_tuser),
      .out_tid  (m_axis_object_tid)
  );

endmodule

`default_nettype wire
