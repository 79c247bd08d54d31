// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_buffer_window: the SSD's way into the payload memory, and the PRP lists it finds there.
//
// What:        AXI4 target in front of memory port B. The lower half of the addresses is the
//              buffer. The upper half holds one PRP list a page, computed while it is read: eight
//              bytes at {1, page p, 8 * n} are data_window + (p + n) * 4096, going round the window
//              (NVMe Base 2.0c 4.1.1), since a command's pages are neighbours in the ring.
// Handshake:   AXI4, INCR bursts of any size; narrow beats get the whole 64 B word. Writes and
//              reads are served independently, each in order, identifiers echoed.
// Latency:     ReadLatency + 2 cycles from the AR to the first R handshake when idle; a W beat is
//              in memory 2 cycles after its handshake, the same cycle in which B is offered.
// Throughput:  64 B a cycle when one direction is active, bursts back to back without gaps. When
//              both are, they take turns cycle by cycle.
// Limits:      FIXED, WRAP and sizes above 64 B, and writes to the PRP lists or past the last page,
//              get SLVERR and have no effect. A burst never leaves its 4 KiB page. Every output
//              comes from registers
//              or from LUT RAM read through registers; no path from an input to an output.
//              One 512-bit register (the W beat). AWLEN ends a write burst; WLAST is only checked.
// Does not implement: exclusive access, reordering by identifier, PRP lists across their page.

`default_nettype none

module fb_buffer_window #(
    parameter int unsigned Pages = 1024,  // units of the buffer, a power of two, 16 to 1024
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit, 0 to 2
    parameter int unsigned AxiIdBits = 4,  // bits of AXI identifiers, 1 or more
    parameter int unsigned ReadLatency = 3,  // of memory port B in cycles, 1 to 8
    // The window is as large as for the largest buffer, whatever stands behind it.
    localparam int unsigned PageBits = $clog2(fb_spec_pkg::BUFFER_PAGES) + UnitBits,
    localparam int unsigned WordBits = $clog2(Pages) + UnitBits + 6,
    localparam int unsigned WindowBits = PageBits + 13
) (
    input wire clk,
    input wire rst,

    input wire [63:0] data_window,  // bus address of this window, aligned to its size

    input  wire  [ AxiIdBits-1:0] s_axi_data_awid,
    input  wire  [WindowBits-1:0] s_axi_data_awaddr,
    input  wire  [           7:0] s_axi_data_awlen,
    input  wire  [           2:0] s_axi_data_awsize,
    input  wire  [           1:0] s_axi_data_awburst,
    input  wire                   s_axi_data_awvalid,
    output logic                  s_axi_data_awready,
    input  wire  [         511:0] s_axi_data_wdata,
    input  wire  [          63:0] s_axi_data_wstrb,
    input  wire                   s_axi_data_wlast,
    input  wire                   s_axi_data_wvalid,
    output logic                  s_axi_data_wready,
    output logic [ AxiIdBits-1:0] s_axi_data_bid,
    output logic [           1:0] s_axi_data_bresp,
    output logic                  s_axi_data_bvalid,
    input  wire                   s_axi_data_bready,
    input  wire  [ AxiIdBits-1:0] s_axi_data_arid,
    input  wire  [WindowBits-1:0] s_axi_data_araddr,
    input  wire  [           7:0] s_axi_data_arlen,
    input  wire  [           2:0] s_axi_data_arsize,
    input  wire  [           1:0] s_axi_data_arburst,
    input  wire                   s_axi_data_arvalid,
    output logic                  s_axi_data_arready,
    output logic [ AxiIdBits-1:0] s_axi_data_rid,
    output logic [         511:0] s_axi_data_rdata,
    output logic [           1:0] s_axi_data_rresp,
    output logic                  s_axi_data_rlast,
    output logic                  s_axi_data_rvalid,
    input  wire                   s_axi_data_rready,

    output logic                b_en,
    output logic [        63:0] b_we,
    output logic [WordBits-1:0] b_addr,
    output logic [       511:0] b_wdata,
    input  wire  [       511:0] b_rdata
);

  if (Pages < 16 || Pages > 1024 || (Pages & (Pages - 1)) != 0) begin : gen_bad_pages
    $fatal(1, "fb_buffer_window (%m): Pages=%0d must be a power of two from 16 to 1024", Pages);
  end
  if (UnitBits > 2) begin : gen_bad_unit
    $fatal(1, "fb_buffer_window (%m): UnitBits=%0d must be from 0 to 2", UnitBits);
  end
  if (ReadLatency < 1 || ReadLatency > 8) begin : gen_bad_latency
    $fatal(1, "fb_buffer_window (%m): ReadLatency=%0d must be from 1 to 8", ReadLatency);
  end

  // Deeper than the way of a read through the memory, and no dearer in LUT RAM than less.
  localparam int unsigned ReadDepth = 16;
  localparam int unsigned ReadLevelBits = $clog2(ReadDepth) + 1;
  localparam int unsigned AnswerDepth = 16;
  localparam logic [1:0] RESP_OKAY = 2'b00;
  localparam logic [1:0] RESP_SLVERR = 2'b10;

  // What a read beat needs besides the word from memory. `rows` are the page numbers of its PRP
  // entries without their low three bits: before and after the carry out of these.
  typedef struct packed {
    logic [AxiIdBits-1:0] id;
    logic last;
    logic error;
    logic list;
    logic [2:0] column;
    logic [1:0][PageBits-4:0] rows;
  } read_beat_t;

  logic read_turn_q, read_turn_d;  // port B belongs to the read side in this cycle
  logic write_turn_q, write_turn_d;  // port B takes the stored W beat in this cycle

  // ------------------------------------------------------------------------------ address channels
  logic read_valid, read_next, read_last, read_error;
  logic [ AxiIdBits-1:0] read_id;
  logic [WindowBits-1:0] read_addr;
  logic write_valid, write_next, write_last, write_error;
  logic [ AxiIdBits-1:0] write_id;
  logic [WindowBits-1:0] write_addr;

  fb_common_burst #(
      .IdBits  (AxiIdBits),
      .AddrBits(WindowBits),
      .MaxSize (6)
  ) u_read_burst (
      .clk,
      .rst,
      .s_valid(s_axi_data_arvalid),
      .s_ready(s_axi_data_arready),
      .s_id(s_axi_data_arid),
      .s_addr(s_axi_data_araddr),
      .s_len(s_axi_data_arlen),
      .s_size(s_axi_data_arsize),
      .s_burst(s_axi_data_arburst),
      .m_valid(read_valid),
      .m_valid_next(read_next),
      .m_step(read_turn_q),
      .m_id(read_id),
      .m_addr(read_addr),
      .m_last(read_last),
      .m_error(read_error),
      .wait_valid(),
      .wait_addr()
  );

  fb_common_burst #(
      .IdBits  (AxiIdBits),
      .AddrBits(WindowBits),
      .MaxSize (6)
  ) u_write_burst (
      .clk,
      .rst,
      .s_valid(s_axi_data_awvalid),
      .s_ready(s_axi_data_awready),
      .s_id(s_axi_data_awid),
      .s_addr(s_axi_data_awaddr),
      .s_len(s_axi_data_awlen),
      .s_size(s_axi_data_awsize),
      .s_burst(s_axi_data_awburst),
      .m_valid(write_valid),
      .m_valid_next(write_next),
      .m_step(write_turn_q),
      .m_id(write_id),
      .m_addr(write_addr),
      .m_last(write_last),
      .m_error(write_error),
      .wait_valid(),
      .wait_addr()
  );

  // ------------------------------------------------------------------------------------- W and B
  logic [511:0] beat_data_q;
  logic [ 63:0] beat_strb_q;
  logic beat_last_q, beat_valid_q, beat_valid_d;
  logic beat_take, answer_room, write_refused;

  // The beat leaves in the cycle that was promised to it, so the next one may come in just then.
  assign s_axi_data_wready = !beat_valid_q || write_turn_q;
  assign beat_take = s_axi_data_wvalid && s_axi_data_wready;
  assign beat_valid_d = beat_take || (beat_valid_q && !write_turn_q);
  assign write_refused = write_error || write_addr[WindowBits-1:WordBits+6] != '0;

  always_ff @(posedge clk) begin : hold_beat
    if (beat_take) begin
      beat_data_q <= s_axi_data_wdata;
      beat_strb_q <= s_axi_data_wstrb;
      beat_last_q <= s_axi_data_wlast;
    end
    beat_valid_q <= beat_valid_d && !rst;
  end

  logic [$clog2(AnswerDepth):0] answer_level;
  logic answer_ready, answer_error;

  fb_common_fifo #(
      .Width(AxiIdBits + 1),
      .Depth(AnswerDepth)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(write_turn_q && write_last),
      .s_ready(answer_ready),
      .s_data ({write_id, write_refused}),
      .m_valid(s_axi_data_bvalid),
      .m_ready(s_axi_data_bready),
      .m_data ({s_axi_data_bid, answer_error}),
      .level  (answer_level)
  );

  assign s_axi_data_bresp = answer_error ? RESP_SLVERR : RESP_OKAY;
  // One place is kept for the answer that may be on its way in while the next turn is decided.
  assign answer_room = answer_level < ($clog2(AnswerDepth) + 1)'(AnswerDepth - 1);

  // ------------------------------------------------------------------------------ turns at port B
  logic [ReadLevelBits-1:0] in_flight_q;  // read beats between port B and the R handshake
  logic read_wants, write_wants, read_room;

  assign read_room   = in_flight_q < ReadLevelBits'(ReadDepth - 1);
  assign read_wants  = read_next && read_room;
  assign write_wants = write_next && beat_valid_d && answer_room;

  // Turns are given one cycle ahead: then wready is known from registers, and the memory's address
  // needs no more than one multiplexer behind them.
  always_comb begin : turns
    write_turn_d = write_wants && !(read_wants && write_turn_q);
    read_turn_d  = read_wants && !write_turn_d;
  end

  always_ff @(posedge clk) begin : hold_turns
    read_turn_q  <= read_turn_d && !rst;
    write_turn_q <= write_turn_d && !rst;
  end

  assign b_en = read_turn_q || (write_turn_q && !write_refused);
  assign b_we = write_turn_q ? beat_strb_q : '0;
  assign b_addr = write_turn_q ? write_addr[WordBits+5:6] : read_addr[WordBits+5:6];
  assign b_wdata = beat_data_q;

  // ------------------------------------------------------------------------------------------- R
  logic [ReadLatency-1:0] arriving_q;  // a read is on its way through the memory
  logic read_done;
  read_beat_t read_issue, read_beat;
  logic [511:0] read_word;
  logic beats_ready, words_ready, beats_valid;
  logic [$clog2(ReadDepth):0] beats_level, words_level;

  always_comb begin : describe_read
    read_issue.id = read_id;
    read_issue.last = read_last;
    read_issue.error = read_error;
    read_issue.list = read_addr[WindowBits-1];
    read_issue.column = read_addr[14:12];
    read_issue.rows[0] = read_addr[WindowBits-2:15] + (PageBits - 3)'(read_addr[11:6]);
    read_issue.rows[1] = read_issue.rows[0] + 1'b1;
  end

  always_ff @(posedge clk) begin : follow_reads
    arriving_q  <= ReadLatency'({arriving_q, read_turn_q});
    in_flight_q <= in_flight_q + ReadLevelBits'(read_turn_q) - ReadLevelBits'(read_done);
    if (rst) begin
      arriving_q  <= '0;
      in_flight_q <= '0;
    end
  end

  fb_common_fifo #(
      .Width($bits(read_beat_t)),
      .Depth(ReadDepth)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(read_turn_q),
      .s_ready(beats_ready),
      .s_data (read_issue),
      .m_valid(beats_valid),
      .m_ready(read_done),
      .m_data (read_beat),
      .level  (beats_level)
  );

  fb_common_fifo #(
      .Width(512),
      .Depth(ReadDepth)
  ) u_words (
      .clk,
      .rst,
      .s_valid(arriving_q[ReadLatency-1]),
      .s_ready(words_ready),
      .s_data (b_rdata),
      .m_valid(s_axi_data_rvalid),
      .m_ready(s_axi_data_rready),
      .m_data (read_word),
      .level  (words_level)
  );

  assign read_done = s_axi_data_rvalid && s_axi_data_rready;
  assign s_axi_data_rid = read_beat.id;
  assign s_axi_data_rlast = read_beat.last;
  assign s_axi_data_rresp = read_beat.error ? RESP_SLVERR : RESP_OKAY;

  always_comb begin : list_or_word
    s_axi_data_rdata = read_word;
    if (read_beat.list) begin
      for (int i = 0; i < 8; i++) begin
        s_axi_data_rdata[64*i+:64] = '0;
        s_axi_data_rdata[64*i+WindowBits+:64-WindowBits] = data_window[63:WindowBits];
        s_axi_data_rdata[64*i+15+:PageBits-3] = read_beat.rows[(4'(read_beat.column)+4'(i))>4'd7];
        s_axi_data_rdata[64*i+12+:3] = read_beat.column + 3'(i);
      end
    end
  end

  // What nothing here asks about: the FIFOs never refuse, since their users count.
  logic unused;
  assign unused = &{1'b0, answer_ready, beats_ready, words_ready, beats_valid, beats_level,
                    words_level, beat_last_q, read_valid, write_valid,
                    write_addr[5:0], read_addr[5:0],
                    data_window[WindowBits-1:0], 1'b0};

`ifndef SYNTHESIS
  fifos_have_room :
  assert property (@(posedge clk) disable iff (rst)
                   (!(read_turn_q && !beats_ready)) &&
                   (!(arriving_q[ReadLatency-1] && !words_ready)) &&
                   (!(write_turn_q && write_last && !answer_ready)))
  else $error("fb_buffer_window (%m): a FIFO overflows");

  beats_before_words :
  assert property (@(posedge clk) disable iff (rst) s_axi_data_rvalid |-> beats_valid)
  else $error("fb_buffer_window (%m): a word without its description");

  wlast_matches_awlen :
  assert property (@(posedge clk) disable iff (rst) write_turn_q |-> beat_last_q == write_last)
  else $error("fb_buffer_window (%m): WLAST does not match AWLEN");

  turns_have_work :
  assert property (@(posedge clk) disable iff (rst)
                   !(read_turn_q && write_turn_q) && (!read_turn_q || read_valid) &&
                   (!write_turn_q || (write_valid && beat_valid_q)))
  else $error("fb_buffer_window (%m): a turn at port B without a beat, or two turns at once");
`endif

  fb_axis_check #(
      .Width(AxiIdBits + WindowBits + 13),
      .Name ("s_axi_data AW")
  ) u_check_aw (
      .clk,
      .rst,
      .valid(s_axi_data_awvalid),
      .ready(s_axi_data_awready),
      .data({
        s_axi_data_awid, s_axi_data_awaddr, s_axi_data_awlen, s_axi_data_awsize, s_axi_data_awburst
      })
  );

  fb_axis_check #(
      .Width(577),
      .Name ("s_axi_data W")
  ) u_check_w (
      .clk,
      .rst,
      .valid(s_axi_data_wvalid),
      .ready(s_axi_data_wready),
      .data ({s_axi_data_wdata, s_axi_data_wstrb, s_axi_data_wlast})
  );

  fb_axis_check #(
      .Width(AxiIdBits + 2),
      .Name ("s_axi_data B")
  ) u_check_b (
      .clk,
      .rst,
      .valid(s_axi_data_bvalid),
      .ready(s_axi_data_bready),
      .data ({s_axi_data_bid, s_axi_data_bresp})
  );

  fb_axis_check #(
      .Width(AxiIdBits + WindowBits + 13),
      .Name ("s_axi_data AR")
  ) u_check_ar (
      .clk,
      .rst,
      .valid(s_axi_data_arvalid),
      .ready(s_axi_data_arready),
      .data({
        s_axi_data_arid, s_axi_data_araddr, s_axi_data_arlen, s_axi_data_arsize, s_axi_data_arburst
      })
  );

  fb_axis_check #(
      .Width(AxiIdBits + 515),
      .Name ("s_axi_data R")
  ) u_check_r (
      .clk,
      .rst,
      .valid(s_axi_data_rvalid),
      .ready(s_axi_data_rready),
      .data ({s_axi_data_rid, s_axi_data_rdata, s_axi_data_rresp, s_axi_data_rlast})
  );

endmodule

`default_nettype wire
