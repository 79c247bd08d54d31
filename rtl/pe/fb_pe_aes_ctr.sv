// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_aes_ctr: encrypts objects with AES in counter mode; what it encrypts it also decrypts.
//
// What:        byte b of an object is XORed with byte b mod 16 of the encrypted counter block b / 16:
//              as a big-endian number of 128 bits, `extent.nonce` above b / 16 (NIST SP 800-38A,
//              6.5). So each packet is encrypted by itself, wherever in its object it begins. The key
//              is that of the slot `cfg[2:0]`, of 128 or 256 bits; the host sets it by s_axil, see
//              fb_pe_aes_csr. If that slot has no key, all bytes of the packet become 0, and
//              status[31:0] counts it. With `cfg[3]` set packets pass as they are.
// Handshake:   valid/ready; s_axis_object_tready comes from registers, and m_axis_object_tvalid too.
//              While a key is loaded or cleared no packet begins.
// Latency:     32 cycles with four lanes, 33 with two, 35 with one; a cycle more for a packet whose
//              offset is no multiple of 16, encrypted or not.
// Throughput:  16 bytes a cycle and lane, each beat taken as 64 bytes; and a cycle for each packet
//              whose offset is no multiple of 16.
// Limits:      objects of 2^64 bytes. Two objects with the same nonce and key have the same key
//              stream: nonces are not to come again while a key is used. 64 beats inside. 512-bit
//              registers: the 29 of four lanes, or as many of fewer bits, and one of 128 bits for each
//              lane fewer than five.
// Does not implement: authentication: a bit that flips on a drive flips in the plaintext.

`default_nettype none

module fb_pe_aes_ctr
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
  import fb_pe_aes_pkg::*;
#(
    parameter int unsigned Lanes = 4  // blocks of 16 bytes encrypted a cycle: 1, 2 or 4
) (
    input  wire         clk,
    input  wire         rst,
    input  wire  [63:0] cfg,    // slot and flag; in a pipeline 0: the key of slot 0
    output logic [63:0] status, // see fb_pe_aes_ctr.toml

    input wire s_axis_object_tvalid,
    output logic s_axis_object_tready,
    input wire [USER_DATA_BITS-1:0] s_axis_object_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input wire s_axis_object_tlast,
    input wire [1:0] s_axis_object_tuser,
    input wire [PACKET_TAG_BITS-1:0] s_axis_object_tid,
    input wire extent_t extent,  // of the packet whose beat is there

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid,

    // Keys: see fb_pe_aes_csr.
    input  wire         s_axil_awvalid,
    output logic        s_axil_awready,
    input  wire  [11:0] s_axil_awaddr,
    input  wire         s_axil_wvalid,
    output logic        s_axil_wready,
    input  wire  [31:0] s_axil_wdata,
    input  wire  [ 3:0] s_axil_wstrb,
    output logic        s_axil_bvalid,
    input  wire         s_axil_bready,
    output logic [ 1:0] s_axil_bresp,
    input  wire         s_axil_arvalid,
    output logic        s_axil_arready,
    input  wire  [11:0] s_axil_araddr,
    output logic        s_axil_rvalid,
    input  wire         s_axil_rready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp
);

  if (!(Lanes inside {1, 2, 4})) begin : gen_bad_lanes
    $fatal(1, "fb_pe_aes_ctr (%m): Lanes=%0d must be 1, 2 or 4", Lanes);
  end

  localparam int unsigned BlockBits = $bits(block_t);
  localparam int unsigned BeatBlocks = USER_DATA_BITS / BlockBits;
  localparam int unsigned Groups = BeatBlocks / Lanes;  // of blocks that are encrypted together
  localparam int unsigned Past = BeatBlocks + 1 - Lanes;  // blocks kept of groups before
  localparam int unsigned NumberBits = 60;  // of a block in its object
  localparam int unsigned Inside = 64;  // beats, more than the latency

  // ------------------------------------------------------------------------------------------- keys
  logic hold, idle;
  logic [SLOT_BITS-1:0] slot, slot_q, block_slot_q;
  logic word_valid, load, load_256, clear, loadable, busy;
  logic [ 2:0] word_index;
  logic [31:0] word;
  logic [SLOTS-1:0] key_set, key_256;
  block_t [ROUNDS:0] round_key;
  logic goes_past;

  fb_axil_if #(
      .AddrBits(12),
      .DataBits(32)
  ) s_axil (
      .clk,
      .rst
  );

  assign s_axil.awvalid = s_axil_awvalid;
  assign s_axil.awaddr  = s_axil_awaddr;
  assign s_axil.wvalid  = s_axil_wvalid;
  assign s_axil.wdata   = s_axil_wdata;
  assign s_axil.wstrb   = s_axil_wstrb;
  assign s_axil.bready  = s_axil_bready;
  assign s_axil.arvalid = s_axil_arvalid;
  assign s_axil.araddr  = s_axil_araddr;
  assign s_axil.rready  = s_axil_rready;
  assign s_axil_awready = s_axil.awready;
  assign s_axil_wready  = s_axil.wready;
  assign s_axil_bvalid  = s_axil.bvalid;
  assign s_axil_bresp   = s_axil.bresp;
  assign s_axil_arready = s_axil.arready;
  assign s_axil_rvalid  = s_axil.rvalid;
  assign s_axil_rdata   = s_axil.rdata;
  assign s_axil_rresp   = s_axil.rresp;

  fb_pe_aes_csr u_csr (
      .clk,
      .rst,
      .s_axil,
      .hold,
      .idle,
      .slot,
      .word_valid,
      .word_index,
      .word,
      .load,
      .load_256,
      .clear,
      .loadable,
      .busy,
      .key_set,
      .key_256
  );

  fb_pe_aes_keys u_keys (
      .clk,
      .rst,
      .slot,
      .word_valid,
      .word_index,
      .word,
      .load,
      .load_256,
      .clear,
      .loadable,
      .busy,
      .key_set,
      .key_256,
      .block_slot(block_slot_q),
      .round_key,
      .goes_past
  );

  // -------------------------------------------------------------------------------------- beats come
  // The groups of blocks of a beat enter the lanes in the cycles after it was taken; the next beat is
  // taken with the last of them. In front of a packet that begins within a block comes a group of
  // which only the last lane counts: its block is the fifth that the first beat needs.
  typedef logic [NumberBits-1:0] number_t;

  logic takes, first, room, encrypts, keyless;
  logic open_q;  // the packet has begun
  logic [2:0] left_q;  // groups of the beat that was taken
  logic [3:0] skew_q;  // by how many bytes the beat begins behind the window's second byte
  number_t number_q;  // of the next block
  logic [63:0] nonce_q;
  logic [31:0] keyless_q;  // packets
  logic [$clog2(Inside):0] level;

  assign s_axis_object_tready = room && left_q[2:1] == '0 && (open_q || !hold);
  assign takes = s_axis_object_tvalid && s_axis_object_tready;
  assign first = takes && !open_q;
  assign encrypts = !cfg[3];
  assign keyless = !key_set[cfg[SLOT_BITS-1:0]];
  assign idle = level == '0 && !open_q;
  assign status = 64'(keyless_q);

  // The number of the block that is up to four behind another: one adder serves all lanes.
  localparam int unsigned LowBits = 2;
  logic [NumberBits-LowBits-1:0] above;  // the upper bits, and one more
  assign above = number_q[NumberBits-1:LowBits] + 1'b1;

  function automatic number_t behind(input number_t number,
                                     input logic [NumberBits-LowBits-1:0] raised,
                                     input logic [LowBits:0] distance);
    logic [LowBits:0] low;
    low = {1'b0, number[LowBits-1:0]} + distance;
    behind = {low[LowBits] ? raised : number[NumberBits-1:LowBits], low[LowBits-1:0]};
  endfunction

  logic extra;  // the group is the one in front
  assign extra = left_q > 3'(Groups);

  always_ff @(posedge clk) begin : take
    if (left_q != '0) begin
      left_q   <= left_q - 1'b1;
      number_q <= behind(number_q, above, extra ? 3'd1 : 3'(Lanes));
    end
    if (takes) begin
      open_q <= !s_axis_object_tlast;
      left_q <= 3'(Groups);
      slot_q <= cfg[SLOT_BITS-1:0];
    end
    if (first) begin
      if (extent.offset[3:0] != '0) left_q <= 3'(Groups + 1);
      skew_q   <= extent.offset[3:0] - 1'b1;
      number_q <= extent.offset[63:4];
      nonce_q  <= extent.nonce;
      if (encrypts && keyless && !(&keyless_q)) keyless_q <= keyless_q + 1'b1;
    end
    if (rst) {open_q, left_q, keyless_q} <= '0;
  end

  // ------------------------------------------------------------------------------------- encryption
  // What accompanies a group from the register in front of the lanes to that behind.
  logic [LANE_LATENCY:0] group_q, whole_q;  // there is a group, and it is the last one of a beat
  logic [LANE_LATENCY:0][3:0] skews_q;
  logic [63:0] block_nonce_q;
  block_t [Lanes-1:0] encrypted;

  always_ff @(posedge clk) begin : accompany
    group_q <= {group_q[LANE_LATENCY-1:0], left_q != '0};
    whole_q <= {whole_q[LANE_LATENCY-1:0], left_q == 3'd1};
    skews_q <= {skews_q[LANE_LATENCY-1:0], skew_q};
    block_nonce_q <= nonce_q;
    block_slot_q <= slot_q;
    if (rst) {group_q, whole_q} <= '0;
  end

  for (genvar i = 0; i < Lanes; i++) begin : gen_lanes
    number_t number_of_q;
    logic [BlockBits-1:0] count;
    block_t block;

    assign count = {block_nonce_q, 64'(number_of_q)};
    assign block = {<<8{count}};

    always_ff @(posedge clk) begin : count_blocks
      number_of_q <= behind(number_q, above, extra ? '0 : 3'(i));
    end

    fb_pe_aes_lane u_lane (
        .clk,
        .round_key,
        .goes_past,
        .block,
        .encrypted(encrypted[i])
    );
  end

  // A beat's keystream lies in five blocks: from the second byte of the first on, or later.
  block_t [Past-1:0] past_q;
  block_t [BeatBlocks:0] window;
  logic [$bits(window)-1:0] stream;

  assign window = {encrypted, past_q};

  always_comb begin : shift
    stream = window >> 8;
    for (int i = 0; i < 4; i++) if (skews_q[LANE_LATENCY][i]) stream = stream >> (8 << i);
  end

  always_ff @(posedge clk) begin : keep
    if (group_q[LANE_LATENCY]) past_q <= window[BeatBlocks:Lanes];
  end

  // -------------------------------------------------------------------------------------- beats leave
  // Beats wait here for their keystreams, and these until their beats leave: there is room for the
  // keystream of each beat that has been taken.
  typedef struct packed {
    logic hides;  // no key: nothing of the bytes leaves
    logic passes;  // as it is
    logic [PACKET_TAG_BITS-1:0] tid;
    logic [1:0] user;
    logic last;
    logic [USER_BEAT_BYTES-1:0] keep;
    logic [USER_DATA_BITS-1:0] data;
  } beat_t;

  beat_t beat;
  logic beat_leaves, beat_valid, stream_ready;
  logic [USER_DATA_BITS-1:0] stream_of_beat;

  assign beat_leaves = m_axis_object_tvalid && m_axis_object_tready;

  fb_common_fifo #(
      .Width($bits(beat_t)),
      .Depth(Inside)
  ) u_beats (
      .clk,
      .rst,
      .clear(1'b0),
      .s_valid(takes),
      .s_ready(room),
      .s_data({
        encrypts && keyless,
        !encrypts,
        s_axis_object_tid,
        s_axis_object_tuser,
        s_axis_object_tlast,
        s_axis_object_tkeep,
        s_axis_object_tdata
      }),
      .m_valid(beat_valid),
      .m_ready(beat_leaves),
      .m_data(beat),
      .level
  );

  fb_common_fifo #(
      .Width(USER_DATA_BITS),
      .Depth(Inside)
  ) u_streams (
      .clk,
      .rst,
      .clear  (1'b0),
      .s_valid(whole_q[LANE_LATENCY]),
      .s_ready(stream_ready),
      .s_data (stream[USER_DATA_BITS-1:0]),
      .m_valid(m_axis_object_tvalid),
      .m_ready(m_axis_object_tready),
      .m_data (stream_of_beat),
      .level  ()
  );

  assign m_axis_object_tdata = (beat.hides ? '0 : beat.data) ^
      (beat.hides || beat.passes ? '0 : stream_of_beat);
  assign m_axis_object_tkeep = beat.keep;
  assign m_axis_object_tlast = beat.last;
  assign m_axis_object_tuser = beat.user;
  assign m_axis_object_tid = beat.tid;

  // Of the settings slot and flag count, of the extent its place and nonce.
  logic unused;
  assign unused = &{1'b0, cfg, extent, stream, beat_valid, stream_ready};

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

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin : watch
    stream_of_a_beat :
    assert (rst || !m_axis_object_tvalid || beat_valid)
    else $error("fb_pe_aes_ctr (%m): there is a keystream, and no beat");
    room_for_stream :
    assert (rst || !whole_q[LANE_LATENCY] || stream_ready)
    else $error("fb_pe_aes_ctr (%m): a keystream finds no room");
  end
`endif

endmodule

`default_nettype wire
