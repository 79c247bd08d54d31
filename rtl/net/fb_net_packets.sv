// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_packets: whole frames as blocks of a capture (pcapng), in chunks of whole units: pages or more.
//
// What:        puts 28 bytes in front of each frame and 4 or 20 behind it, which makes an Enhanced
//              Packet Block of it, with the frames that were lost before it as an option. Blocks make
//              a chunk; a chunk ends, by a block that readers pass over and that fills its last unit,
//              before the frame that would not fit into `cfg_pages`, `cfg_wait` cycles after it began,
//              or when `more` is low and no frame waits. A chunk is an extent: a word says its number,
//              the number of its first frame, and how many frames were lost since the chunk before it
//              began.
// Handshake:   valid/ready, but a header that waits gives way when its chunk must end. `m_axis_head` is
//              a stream of its own: the beat that begins a chunk waits until the word before has been
//              taken. While `active` is low nothing is here, and numbers begin anew.
// Latency:     1 cycle from a frame's first beat to itself, the header before it.
// Throughput:  a beat in every cycle. A frame takes one cycle more for its header: one of 64 bytes takes
//              two. Near the end of a chunk its length is compared first, which takes another cycle:
//              with 2 KiB left, and with 16 KiB for frames of 2 KiB and more. Padding and length at the
//              end of a frame's block take another cycle where they do not fit into the last beat. The
//              end of a chunk takes 1 to 65 in units of a page, N - 1 times 64 more in those of N.
// Limits:      a frame longer than a chunk makes a longer one. 512-bit registers: none.
// Does not implement: several interfaces, cutting frames off, the capture's first page.

`default_nettype none

module fb_net_packets
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
#(
    parameter int unsigned LostBits = 8  // of what a frame says was lost before it, 1 to 32
) (
    input wire clk,
    input wire rst,

    input wire [7:0] cfg_pages,  // of a chunk; 0 is taken as 1
    input wire [2:0] cfg_align,  // pages of a unit, a power of two
    input wire [31:0] cfg_wait,  // cycles after which a chunk ends; 0: it waits until it is full
    input wire more,  // frames can still come
    output logic open,  // a chunk has begun and not ended
    output logic active,  // frames can still come, or something of them is here

    // Whole frames, as fb_net_frame_fifo has them.
    input wire s_valid,
    output logic s_ready,
    input wire [USER_DATA_BITS-1:0] s_data,
    input wire [6:0] s_bytes,
    input wire s_first,
    input wire s_last,
    input wire [13:0] s_frame,  // bytes of the frame
    input wire time_t s_time,  // when it came
    input wire [LostBits-1:0] s_lost,  // frames lost before it, that none before it told
    input wire s_lossy,  // there are some

    // Bytes of chunks, as fb_net_realign takes them.
    output logic                      m_valid,
    input  wire                       m_ready,
    output logic [USER_DATA_BITS-1:0] m_data,
    output logic [               6:0] m_bytes,
    output logic                      m_open,   // the beat begins a chunk
    output logic                      m_close,  // the beat ends it

    // One word a chunk, in the form of fb_net_reassembly's.
    output logic                        m_axis_head_tvalid,
    input  wire                         m_axis_head_tready,
    output logic [PACKET_HEAD_BITS-1:0] m_axis_head_tdata,

    output logic placed  // for one cycle, with the last beat of each frame
);

  localparam int unsigned Words = USER_BEAT_BYTES / 4;
  localparam int unsigned WordBits = $clog2(Words) + 1;

  typedef enum logic [1:0] {
    HEADER,  // of the next frame, if there is one
    FRAME,
    TAIL,
    PADDING
  } state_e;

  state_e state_q;
  logic moves, first_q;
  assign moves = m_valid && m_ready;

  // ------------------------------------------------------------------------------- lengths, in words
  localparam logic [15:0] LEAST = 16'(PCAPNG_PADDING_LEAST / 4);

  logic [12:0] block, block_q;  // of a frame's block, options included
  logic lossy_q;
  logic [18:0] room_q, room, whole;  // left in the chunk besides the least padding, and all of it
  logic [1:0][18:0] most_q;  // of a frame that fits there, without the option and with it
  logic all_fit_q, short_fit_q;  // frames of any length do, of 2047 bytes and less
  logic at_once;  // this one does
  logic checked_q, fits_q;  // it was looked at for a cycle, and fits
  localparam int unsigned UnitBits = 10 + 7;  // of the longest unit
  localparam int unsigned LeftBits = UnitBits + 1;
  logic [  UnitBits:0] unit;  // words of it
  logic [UnitBits-1:0] below;  // bits of a place in it
  logic [UnitBits-1:0] used_q, free_q;  // in the last unit, and free there: a cycle old
  logic [LeftBits-1:0] padding, left_q, padding_q;
  logic closes_q;  // what is left ends with the next beat
  logic fits, due, waited_q;

  assign block = 13'((16'(s_frame) + 16'd3) >> 2) + 13'(PCAPNG_PACKET_BYTES / 4) +
      (s_lossy ? 13'(PCAPNG_LOST_BYTES / 4) : '0);
  function automatic logic [18:0] most_of(input logic [18:0] words, input int unsigned other_bytes);
    return words > 19'(other_bytes / 4) ? words - 19'(other_bytes / 4) : '0;
  endfunction

  always_ff @(posedge clk) begin : settle
    unit <= LeftBits'(1024) << cfg_align;
    below <= ~(UnitBits'('1) << 10 << cfg_align);
    free_q <= -used_q & below;
    whole <= {1'b0, cfg_pages == '0 ? 8'd1 : cfg_pages, 10'd0} - 19'(LEAST);
    // There before the next frame is: each takes two cycles.
    most_q <= {
      most_of(room_q, PCAPNG_PACKET_BYTES + PCAPNG_LOST_BYTES), most_of(room_q, PCAPNG_PACKET_BYTES)
    };
    all_fit_q <= room_q >= 19'((PCAPNG_PACKET_BYTES + PCAPNG_LOST_BYTES + 16384) / 4);
    short_fit_q <= room_q >= 19'((PCAPNG_PACKET_BYTES + PCAPNG_LOST_BYTES + 2048) / 4);
  end
  assign room = open ? room_q : whole;
  assign at_once = !open || all_fit_q || (short_fit_q && s_frame[13:11] == '0);
  assign fits = at_once || (checked_q && fits_q);
  assign padding = LeftBits'(free_q) + (free_q < UnitBits'(LEAST) ? unit : '0);

  // ----------------------------------------------------------------------------------------- beats
  logic begins, ends_here, head_free;
  logic busy_q;  // what came before `more` fell is not yet through
  logic [WordBits-1:0] words;  // of the frame in this beat
  logic [8*PCAPNG_LOST_BYTES-1:0] option;
  logic [31:0] total, filled;  // bytes of the block, or of the one that fills up
  logic [LostBits-1:0] lost_q;

  assign active = more || busy_q;
  assign due = open && (waited_q || (s_valid ? checked_q && !fits : !more));
  assign head_free = open || !m_axis_head_tvalid || m_axis_head_tready;
  // For a frame that fits, `due` is `open && waited_q`; its other terms would make the path longer.
  assign begins = state_q == HEADER && s_valid && fits && !(open && waited_q) && head_free;
  assign words = WordBits'((8'(s_bytes) + 8'd3) >> 2);
  assign ends_here = !lossy_q && words < WordBits'(Words);
  assign total = {17'd0, block_q, 2'd0};
  assign filled = 32'({padding_q, 2'd0});
  // Code, length, 64 bits, and the end of all options.
  assign option = {32'd0, 64'(lost_q), 16'd8, PCAPNG_LOST_OPTION};

  assign s_ready = state_q == FRAME && m_ready;
  assign placed = s_valid && s_ready && s_last;
  assign m_open = state_q == HEADER && !open;
  assign m_close = state_q == PADDING && closes_q;

  always_comb begin : compose
    m_valid = 1'b1;
    m_data  = '0;
    m_bytes = 7'(USER_BEAT_BYTES);
    unique case (state_q)
      HEADER: begin
        m_valid = begins;
        m_bytes = 7'(PCAPNG_PACKET_BYTES - 4);
        m_data[32*0+:32] = PCAPNG_PACKET;
        m_data[32*1+:32] = {17'd0, block, 2'd0};
        m_data[32*3+:32] = s_time.ns[63:32];
        m_data[32*4+:32] = s_time.ns[31:0];
        m_data[32*5+:32] = 32'(s_frame);
        m_data[32*6+:32] = 32'(s_frame);
      end
      FRAME: begin
        m_valid = s_valid;
        m_bytes = 7'({words + WordBits'(s_last && ends_here), 2'd0});
        for (int i = 0; i < int'(USER_BEAT_BYTES); i++) begin
          if (7'(i) < s_bytes) m_data[8*i+:8] = s_data[8*i+:8];
          else if (s_last && WordBits'(i / 4) == words) m_data[8*i+:8] = total[8*(i%4)+:8];
        end
      end
      TAIL: begin
        m_bytes = lossy_q ? 7'(PCAPNG_LOST_BYTES + 4) : 7'd4;
        m_data[31:0] = total;
        if (lossy_q) m_data[32*5-1:0] = {total, option};
      end
      default: begin
        if (m_close) m_bytes = {left_q[WordBits-1:0], 2'd0};
        for (int i = 0; i < int'(Words); i++) begin
          if (first_q && i == 0) m_data[32*i+:32] = PCAPNG_PADDING;
          else if ((first_q && i == 1) || (closes_q && WordBits'(i + 1) == left_q[WordBits-1:0]))
            m_data[32*i+:32] = filled;
        end
      end
    endcase
  end

  // -------------------------------------------------------------------------------------- sequence
  logic [31:0] age_q;

  always_ff @(posedge clk) begin : look
    // A difference and its sign are a carry chain; a comparison is LUTs.
    fits_q <= $signed(22'({most_q[s_lossy], 2'd0}) - 22'(s_frame)) >= 0;
    checked_q <= state_q == HEADER && s_valid && !moves && !rst;
  end

  always_ff @(posedge clk) begin : follow
    unique case (state_q)
      HEADER: begin
        left_q <= padding;
        closes_q <= padding <= LeftBits'(Words);
        padding_q <= padding;
        first_q <= 1'b1;
        if (due) state_q <= PADDING;
        if (moves) begin  // `begins` excludes `due`
          state_q <= FRAME;
          block_q <= block;
          lossy_q <= s_lossy;
          lost_q  <= s_lost;
          used_q  <= (open ? used_q : '0) + UnitBits'(block);
          room_q  <= room > 19'(block) ? room - 19'(block) : '0;
          open    <= 1'b1;
        end
      end
      FRAME: if (moves && s_last) state_q <= ends_here ? HEADER : TAIL;
      TAIL:  if (moves) state_q <= HEADER;
      default:
      if (moves) begin
        first_q  <= 1'b0;
        left_q   <= left_q - LeftBits'(Words);
        closes_q <= left_q <= LeftBits'(2 * Words);
        if (m_close) begin
          state_q <= HEADER;
          open <= 1'b0;
        end
      end
    endcase
    busy_q <= active && (s_valid || open || state_q != HEADER || m_axis_head_tvalid);
    age_q <= open ? age_q + 1'b1 : '0;
    waited_q <= open && (waited_q || (cfg_wait != '0 && age_q >= cfg_wait));
    if (rst) begin
      state_q <= HEADER;
      open <= 1'b0;
      busy_q <= 1'b0;
      waited_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------- the word
  logic [63:0] chunk_q;  // number of the next one
  logic [31:0] frame_q;
  logic [47:0] lost_since_q, lost;  // frames, since the last chunk began

  assign lost = lost_since_q + 48'(s_lost);

  always_ff @(posedge clk) begin : count
    if (moves && state_q == HEADER) begin
      frame_q <= frame_q + 1'b1;
      lost_since_q <= open ? lost : '0;
    end
    if (moves && m_open) chunk_q <= chunk_q + 1'b1;
    if (rst || !active) begin
      chunk_q <= '0;
      frame_q <= '0;
      lost_since_q <= '0;
    end
  end

  always_ff @(posedge clk) begin : head
    if (moves && m_open) begin
      m_axis_head_tdata <= '0;
      m_axis_head_tdata[8*FRAMING_BYTES+:64] <= 64'(lost);
      m_axis_head_tdata[8*PACKET_NS_AT+:64] <= s_time.ns;
      m_axis_head_tdata[8*PACKET_SECONDS_AT+:34] <= s_time.seconds;
      m_axis_head_tdata[31:0] <= FRAMING_MAGIC;
      m_axis_head_tdata[8*FRAMING_FLAGS_AT+:8] <= {
        4'(FRAMING_VERSION), 4'(FRAMING_FIRST | FRAMING_LAST)
      };
      m_axis_head_tdata[8*FRAMING_SEQUENCE_AT+:32] <= frame_q;
      m_axis_head_tdata[8*FRAMING_OBJECT_AT+:64] <= chunk_q;
    end
    m_axis_head_tvalid <= !rst && ((moves && m_open) ||
                                   (m_axis_head_tvalid && !m_axis_head_tready));
  end

`ifndef SYNTHESIS
  frame_from_its_beginning :
  assert property (@(posedge clk) disable iff (rst) begins |-> s_first)
  else $error("fb_net_packets (%m): a block begins in the middle of a frame");
`endif

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
