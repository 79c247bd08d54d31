// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_replay: finds objects in the index by number, and orders them to be read.
//
// What:        reads blocks of the index from the SSD, one behind the other, and goes through their
//              rows: a row of the stream that is wanted, with a number from `first` to `last`, becomes
//              an order for fb_store_fetch. While the rows of a block are gone through the next one is
//              read, in front of the objects. It ends behind `count` blocks, or with the first one
//              that is not the one that is due: session, number and CRC32C say so.
// Handshake:   valid/ready. `go` is heeded while `busy` is low.
// Latency:     142 cycles and a read of the SSD from `go` to the first row; a row in 9 cycles.
// Throughput:  a block in 577 cycles.
// Limits:      one stream at a time; rows that are no whole object on the SSD, within the region for
//              data, are counted and passed over. Rows that newer data of a ring lie on are not known
//              here: software begins behind them. 512-bit registers: one, the block RAM's.
// Does not implement: a search in less than all blocks.

`default_nettype none

module fb_store_replay
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
  import fb_store_rom_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire cfg_ring,  // behind the index's last block comes its first
    input wire [ALIGN_BITS-1:0] cfg_align,  // pages from a block to the next, a power of two
    input wire [63:PAGE_SHIFT] cfg_index_base,  // first byte of the region for blocks
    input wire [63:PAGE_SHIFT] cfg_index_bytes,  // its size
    input wire [63:PAGE_SHIFT] cfg_data_base,  // the same for data
    input wire [63:PAGE_SHIFT] cfg_data_bytes,
    input wire [63:0] cfg_session,  // first eight bytes of the recording's, the first one lowest

    input wire        go,
    input wire        stop,        // order nothing more
    input wire [63:0] first,       // numbers of objects
    input wire [63:0] last,
    input wire [15:0] stream,
    input wire [31:0] from_block,  // number of the first block
    input wire [31:0] from_page,   // page of the region that it lies in
    input wire [31:0] count,       // blocks

    // Reads of the streamer.
    output logic                      m_axis_rdcmd_tvalid,
    input  wire                       m_axis_rdcmd_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_rdcmd_tdata,
    input  wire                       s_axis_rd_tvalid,
    output logic                      s_axis_rd_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_rd_tdata,
    input  wire                       s_axis_rd_tlast,
    input  wire                       s_axis_rd_tuser,      // with TLAST: the read failed

    // Beats of a block for its checksum, with zeros in the place of that, and this.
    output logic                      crc_valid,
    input  wire                       crc_ready,
    output logic [USER_DATA_BITS-1:0] crc_data,
    output logic                      crc_last,
    input  wire                       sum_valid,
    input  wire  [              31:0] sum,

    // Orders, as fb_store_fetch takes them.
    output logic                         order_valid,
    input  wire                          order_ready,
    output logic [                 63:0] order_address,
    output logic [                 63:0] order_bytes,
    output logic [                 63:0] order_object,
    output logic [PACKET_NONCE_BITS-1:0] order_nonce,    // 0: the index has none

    output logic        busy,
    output logic [31:0] ordered,  // objects, since `go`
    output logic [31:0] passed,   // rows with such a number that cannot be ordered
    output logic [31:0] blocks    // that were the ones that were due
);

  localparam int unsigned BeatBits = PAGE_SHIFT - $clog2(USER_BEAT_BYTES);
  localparam int unsigned RowBits = $clog2(INDEX_ROWS);
  localparam int unsigned PageBits = 64 - PAGE_SHIFT;
  localparam int unsigned HeadBeat = INDEX_CRC_AT / USER_BEAT_BYTES;  // the one with the sum

  // ----------------------------------------------------------------------------------------- reading
  typedef enum logic [1:0] {
    REST,
    ASK,
    TAKE,
    JUDGE  // its sum is not there yet
  } read_e;

  read_e read_q;
  logic side_q;  // half of the memory that is filled
  logic scan_side_q;  // half that is gone through
  logic [1:0] full_q;  // halves with a block to be gone through
  logic [31:0] left_q, number_q;  // blocks to be read; the number that is due
  logic [PageBits-1:0] page_q, next_q;  // of this block; of the next one, a cycle late
  logic ends_q;  // the next one would lie behind the region
  logic [BeatBits-1:0] beat_q;
  logic [31:0] due_sum_q;  // as the block says
  logic [RowBits:0] rows_q;  // the same
  logic [1:0][RowBits:0] counts_q;  // rows of the blocks in both halves
  logic due_q;  // session and number are right, and it came whole
  logic moves, at_head, good, begins, emptied, stops_q;

  assign begins = go && !busy;
  assign m_axis_rdcmd_tvalid = read_q == ASK;
  assign s_axis_rd_tready = read_q == TAKE && crc_ready;
  assign moves = s_axis_rd_tvalid && s_axis_rd_tready;
  assign at_head = beat_q == BeatBits'(HeadBeat);
  assign good = due_q && sum == due_sum_q && !stops_q;

  always_comb begin : command
    m_axis_rdcmd_tdata = '0;
    m_axis_rdcmd_tdata[USER_ADDRESS_LSB+:64] = {cfg_index_base + page_q, PAGE_SHIFT'(0)};
    m_axis_rdcmd_tdata[USER_READ_LENGTH_LSB+:64] = 64'(PAGE_BYTES);
    crc_data = s_axis_rd_tdata;
    if (at_head) crc_data[8*(INDEX_CRC_AT%USER_BEAT_BYTES)+:32] = '0;
  end

  assign crc_valid = read_q == TAKE && s_axis_rd_tvalid;
  assign crc_last  = s_axis_rd_tlast;

  always_ff @(posedge clk) begin : read
    unique case (read_q)
      REST:
      if (stops_q) left_q <= '0;
      else if (left_q != '0 && !full_q[side_q]) read_q <= ASK;
      ASK:
      if (m_axis_rdcmd_tready) begin
        read_q <= TAKE;
        beat_q <= '0;
        due_q  <= 1'b1;
      end
      TAKE:
      if (moves) begin
        beat_q <= beat_q + 1'b1;
        if (beat_q == BeatBits'(INDEX_COUNT_AT / USER_BEAT_BYTES)) begin
          rows_q <= s_axis_rd_tdata[8*(INDEX_COUNT_AT%USER_BEAT_BYTES)+:RowBits+1];
        end
        if (at_head) begin
          due_sum_q <= s_axis_rd_tdata[8*(INDEX_CRC_AT%USER_BEAT_BYTES)+:32];
          if (s_axis_rd_tdata[8*(INDEX_SESSION_AT%USER_BEAT_BYTES)+:64] != cfg_session ||
              s_axis_rd_tdata[8*(INDEX_NUMBER_AT%USER_BEAT_BYTES)+:32] != number_q) begin
            due_q <= 1'b0;
          end
        end
        if (s_axis_rd_tlast) begin
          read_q <= JUDGE;
          if (s_axis_rd_tuser || beat_q != '1) due_q <= 1'b0;
        end
      end
      default:
      if (sum_valid) begin
        read_q <= REST;
        left_q <= good ? left_q - 1'b1 : '0;
        if (good) begin
          full_q[side_q] <= 1'b1;
          counts_q[side_q] <= rows_q;
          side_q <= !side_q;
          number_q <= number_q + 1'b1;
          blocks <= blocks + 1'b1;
          page_q <= next_q;
          if (ends_q) begin
            page_q <= '0;
            if (!cfg_ring) left_q <= '0;
          end
        end
      end
    endcase
    if (emptied) full_q[scan_side_q] <= 1'b0;
    if (begins) begin
      left_q   <= PageBits'(from_page) < cfg_index_bytes ? count : '0;
      number_q <= from_block;
      page_q   <= PageBits'(from_page);
      blocks   <= '0;
    end
    next_q  <= page_q + (PageBits'(1) << cfg_align);
    ends_q  <= next_q == cfg_index_bytes;
    stops_q <= busy && (stops_q || stop);
    if (rst) begin
      read_q <= REST;
      left_q <= '0;
      full_q <= '0;
      side_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------ memory
  logic [USER_DATA_BITS-1:0] beat;
  logic [PAGE_SHIFT-1:0] place;
  logic [$clog2(USER_BEAT_BYTES)-1:0] place_q;  // in its beat

  (* ram_style = "block" *)
  logic [USER_DATA_BITS-1:0] store[2<<BeatBits];

  always_ff @(posedge clk) begin : memory
    if (moves) store[{side_q, beat_q}] <= s_axis_rd_tdata;
    beat <= store[{scan_side_q, place[PAGE_SHIFT-1-:BeatBits]}];
    place_q <= place[$clog2(USER_BEAT_BYTES)-1:0];
  end

  // -------------------------------------------------------------------------------------------- rows
  // A column of a row in each cycle, and then what becomes of it.
  typedef enum logic [3:0] {
    FLAGS,
    STREAM,
    OBJECT,
    ADDRESS,
    LENGTH,
    LAST_COLUMN,
    REGION,
    DECIDE,
    ORDER
  } scan_e;

  scan_e scan_q;
  logic scans_q;
  logic [RowBits-1:0] row_q;
  logic [15:0] flags_q, stream_q;
  logic [63:0] object_q, address_q;
  logic [64:0] end_q, data_end_q;
  logic [31:0] length_q;
  logic [PACKET_NONCE_BITS-1:0] nonce_q;
  logic wanted_q, whole_q;  // it has such a number; it can be ordered
  logic [63:0] value;
  logic orders, next;

  function automatic logic [PAGE_SHIFT-1:0] at(input logic [PAGE_SHIFT-1:0] column,
                                               input logic [3:0] bytes);
    return column + PAGE_SHIFT'(bytes) * PAGE_SHIFT'(row_q);
  endfunction

  always_comb begin : choose
    unique case (scan_q)
      FLAGS:   place = at(PAGE_SHIFT'(INDEX_FLAGS_AT), 4'd2);
      STREAM:  place = at(PAGE_SHIFT'(INDEX_STREAM_AT), 4'd2);
      OBJECT:  place = at(PAGE_SHIFT'(INDEX_OBJECT_AT), 4'd8);
      ADDRESS: place = at(PAGE_SHIFT'(INDEX_ADDRESS_AT), 4'd8);
      LENGTH:  place = at(PAGE_SHIFT'(INDEX_LENGTH_AT), 4'd4);
      default: place = at(PAGE_SHIFT'(INDEX_NONCE_AT), 4'd8);
    endcase
    // What was asked for in the cycle before.
    value = beat[64*place_q[$high(place_q):3]+:64] >> {place_q[2:0], 3'b0};
  end

  assign order_valid = scan_q == ORDER;
  assign order_address = address_q;
  assign order_bytes = 64'(length_q);
  assign order_object = object_q;
  assign order_nonce = HAS_NONCE ? nonce_q : '0;
  assign orders = wanted_q && whole_q && end_q <= data_end_q && !stops_q;
  assign next = (scan_q == DECIDE && !orders) || (scan_q == ORDER && order_ready);
  assign emptied = next && (row_q == '1 || stops_q);

  always_ff @(posedge clk) begin : scan
    if (!scans_q) scans_q <= full_q[scan_side_q];
    else begin
      unique case (scan_q)
        STREAM: flags_q <= value[15:0];
        OBJECT: stream_q <= value[15:0];
        ADDRESS: object_q <= value;
        LENGTH: address_q <= value;
        LAST_COLUMN: length_q <= value[31:0];
        REGION: begin
          nonce_q <= value;
          end_q <= 65'(address_q) + 65'(length_q);
          wanted_q <= (RowBits + 1)'(row_q) < counts_q[scan_side_q] &&
              (flags_q & ROW_COUNTS) != '0 && stream_q == stream && object_q >= first &&
              object_q <= last;
          whole_q <= (flags_q & (ROW_WHOLE | ROW_SKIPPED | ROW_FAILED)) == ROW_WHOLE &&
              length_q != '0 && address_q >= {cfg_data_base, PAGE_SHIFT'(0)};
        end
        default: ;
      endcase
      if (scan_q != DECIDE && scan_q != ORDER) scan_q <= scan_e'(scan_q + 1'b1);
      if (scan_q == DECIDE) begin
        if (next) begin
          if (wanted_q && !stops_q) passed <= passed + 1'b1;
        end else scan_q <= ORDER;
      end
      if (next) begin
        scan_q <= FLAGS;
        row_q  <= row_q + 1'b1;
        if (scan_q == ORDER) ordered <= ordered + 1'b1;
      end
      if (emptied) begin
        row_q <= '0;
        scans_q <= 1'b0;
        scan_side_q <= !scan_side_q;
      end
    end
    data_end_q <= 65'({cfg_data_base, PAGE_SHIFT'(0)}) + 65'({cfg_data_bytes, PAGE_SHIFT'(0)});
    if (begins) {ordered, passed} <= '0;
    if (rst) begin
      scans_q <= 1'b0;
      scan_q <= FLAGS;
      row_q <= '0;
      scan_side_q <= 1'b0;
    end
  end

  assign busy = left_q != '0 || read_q != REST || full_q != '0;

endmodule

`default_nettype wire
