// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_buffer_dram: the payload buffer in on-board DRAM, 64 MiB for each direction.
//
// What:        four parties share one AXI4 master: puts and gets of the streams, the SSD's writes
//              and reads by the data window. Puts and the SSD's writes are gathered into bursts
//              (fb_buffer_gather), the SSD's reads are served from pages fetched ahead
//              (fb_buffer_ahead), and fb_buffer_turns decides when the bus turns around.
// Handshake:   the streams' side as in docs/modules/memories.md, with whole pages announced; AXI4
//              at the data window, INCR, identifiers echoed; AXI4 at the memory, INCR of 64-byte
//              beats, one identifier, so that answers come in order.
// Order:       a put has landed when the memory has answered it. A write of the SSD is answered
//              when it is accepted; a get waits until all of the SSD's writes that were accepted
//              before it are in memory, but for a burst to another page that still grows.
// Throughput:  64 B a cycle each way at the memory's side, and at each other side.
// Limits:      writes to the window that are refused (FIXED, WRAP, too wide, PRP lists) get SLVERR.
//              What the memory answers with an error is not told to anybody.
// Does not implement: ECC, more than one identifier.

`default_nettype none

module fb_buffer_dram #(
    parameter int unsigned UnitBits = fb_spec_pkg::DRAM_UNIT_SHIFT,  // log2 of the pages of a unit
    parameter int unsigned AxiIdBits = 4,  // of the data window
    parameter int unsigned FifoBeats = 512,  // beats that wait to be written, of either side
    parameter int unsigned Lines = 8,  // pages at hand for the SSD
    parameter int unsigned AheadPages = 2,  // of them fetched before the SSD asks
    parameter int unsigned WriteBatch = 4,  // bursts of writes in a row
    parameter int unsigned WritesUnder = 3,  // bursts that the memory has not answered, 1 to 16
    localparam int unsigned PageBits = $clog2(fb_spec_pkg::BUFFER_PAGES) + UnitBits,
    localparam int unsigned WordBits = PageBits + 6,
    localparam int unsigned WindowBits = PageBits + 13
) (
    input wire clk,
    input wire rst,

    // The streams' side.
    input  wire                 restart,
    output logic                quiet,
    input  wire                 put_valid,
    input  wire  [WordBits-1:0] put_addr,
    input  wire  [       511:0] put_data,
    input  wire                 put_end,
    output logic                put_hold,
    output logic                landed,
    input  wire                 get_valid,
    output logic                get_ready,
    input  wire  [WordBits-1:0] get_addr,
    input  wire                 get_first,
    input  wire  [         6:0] get_count,
    output logic                got_valid,
    output logic [       511:0] got_data,

    // Settings, stable while the streamer is enabled.
    input wire [63:0] data_window_base,
    input wire [63:0] dram_read,         // address of the read buffer, a multiple of its size
    input wire [63:0] dram_write,

    // Data window, PRP lists in its upper half.
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

    // The memory.
    output logic [  0:0] m_axi_dram_awid,
    output logic [ 63:0] m_axi_dram_awaddr,
    output logic [  7:0] m_axi_dram_awlen,
    output logic [  2:0] m_axi_dram_awsize,
    output logic [  1:0] m_axi_dram_awburst,
    output logic         m_axi_dram_awvalid,
    input  wire          m_axi_dram_awready,
    output logic [511:0] m_axi_dram_wdata,
    output logic [ 63:0] m_axi_dram_wstrb,
    output logic         m_axi_dram_wlast,
    output logic         m_axi_dram_wvalid,
    input  wire          m_axi_dram_wready,
    input  wire  [  0:0] m_axi_dram_bid,
    input  wire  [  1:0] m_axi_dram_bresp,
    input  wire          m_axi_dram_bvalid,
    output logic         m_axi_dram_bready,
    output logic [  0:0] m_axi_dram_arid,
    output logic [ 63:0] m_axi_dram_araddr,
    output logic [  7:0] m_axi_dram_arlen,
    output logic [  2:0] m_axi_dram_arsize,
    output logic [  1:0] m_axi_dram_arburst,
    output logic         m_axi_dram_arvalid,
    input  wire          m_axi_dram_arready,
    input  wire  [  0:0] m_axi_dram_rid,
    input  wire  [511:0] m_axi_dram_rdata,
    input  wire  [  1:0] m_axi_dram_rresp,
    input  wire          m_axi_dram_rlast,
    input  wire          m_axi_dram_rvalid,
    output logic         m_axi_dram_rready
);

  localparam int unsigned FifoBits = $clog2(FifoBeats);
  localparam int unsigned BurstDepth = 64;  // bursts that wait to be written, of either side
  localparam int unsigned BurstHold = 24;  // the rest is for marks without data
  localparam int unsigned AnswerDepth = 16;
  localparam int unsigned IdleCycles = 16;  // a pause of the SSD that ends a burst
  localparam int unsigned Under = 16;  // bursts of either kind that the memory may be asked for
  localparam int unsigned SeenBits = 8;  // counts the SSD's bursts, more than can be under way
  localparam logic [1:0] INCR = 2'b01;
  localparam logic [1:0] RESP_OKAY = 2'b00;
  localparam logic [1:0] RESP_SLVERR = 2'b10;

  function automatic logic [63:0] memory_address(input logic [WordBits-1:0] word);
    return (word[WordBits-1] ? dram_read : dram_write) | 64'({word[WordBits-2:0], 6'd0});
  endfunction

  // ------------------------------------------------------------------------------------------ puts
  logic put_open, put_begins, putb_valid, putb_take, putb_end, putb_empty, putw_valid, putw_take;
  logic put_fifo_ready;
  logic [WordBits-1:0] put_open_addr, putb_addr;
  logic [5:0] putb_count_m1;
  logic [$clog2(BurstDepth):0] putb_level;
  logic [511:0] putw_data;
  logic [FifoBits:0] putw_level;

  fb_buffer_gather #(
      .AddrBits(WordBits),
      .Depth(BurstDepth),
      .IdleCycles(0)
  ) u_puts (
      .clk,
      .rst,
      .s_valid(put_valid),
      .s_addr(put_addr),
      .s_end(put_end),
      .flush(restart),
      .open(put_open),
      .open_addr(put_open_addr),
      .begins(put_begins),
      .m_valid(putb_valid),
      .m_ready(putb_take),
      .m_addr(putb_addr),
      .m_count_m1(putb_count_m1),
      .m_end(putb_end),
      .m_empty(putb_empty),
      .level(putb_level)
  );

  fb_common_deep #(
      .Width(512),
      .Depth(FifoBeats)
  ) u_put_words (
      .clk,
      .rst,
      .s_valid(put_valid),
      .s_ready(put_fifo_ready),
      .s_data (put_data),
      .m_valid(putw_valid),
      .m_ready(putw_take),
      .m_data (putw_data),
      .level  (putw_level)
  );

  always_ff @(posedge clk)
    put_hold <= putw_level >= (FifoBits + 1)'(FifoBeats - 8) || putb_level >= ($clog2(
        BurstDepth
    ) + 1)'(BurstHold);

  // ---------------------------------------------------------------------------- writes of the SSD
  logic write_valid, write_next, write_last, write_error, write_refused, write_room_q;
  logic [ AxiIdBits-1:0] write_id;
  logic [WindowBits-1:0] write_addr;
  logic beat_take, ssd_valid, ssd_open, ssd_begins, ssd_flush, ssdb_valid, ssdb_take;
  logic ssdb_end, ssdb_empty, ssdw_valid, ssdw_take, ssd_fifo_ready, answer_ready, answer_error;
  logic [WordBits-1:0] ssd_open_addr, ssdb_addr;
  logic [5:0] ssdb_count_m1;
  logic [$clog2(BurstDepth):0] ssdb_level;
  logic [511:0] ssdw_data;
  logic [63:0] ssdw_strb;
  logic [FifoBits:0] ssdw_level;
  logic [$clog2(AnswerDepth):0] answer_level;

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
      .m_step(beat_take),
      .m_id(write_id),
      .m_addr(write_addr),
      .m_last(write_last),
      .m_error(write_error)
  );

  always_ff @(posedge clk)
    write_room_q <= ssdw_level < (FifoBits + 1)'(FifoBeats - 4) && ssdb_level < ($clog2(
        BurstDepth
    ) + 1)'(BurstHold);
  assign s_axi_data_wready = write_valid && write_room_q && answer_ready;
  assign beat_take = s_axi_data_wvalid && s_axi_data_wready;
  assign write_refused = write_error || write_addr[WindowBits-1];
  assign ssd_valid = beat_take && !write_refused;

  fb_buffer_gather #(
      .AddrBits(WordBits),
      .Depth(BurstDepth),
      .IdleCycles(IdleCycles)
  ) u_writes (
      .clk,
      .rst,
      .s_valid(ssd_valid),
      .s_addr(write_addr[WordBits+5:6]),
      .s_end(1'b0),
      .flush(ssd_flush),
      .open(ssd_open),
      .open_addr(ssd_open_addr),
      .begins(ssd_begins),
      .m_valid(ssdb_valid),
      .m_ready(ssdb_take),
      .m_addr(ssdb_addr),
      .m_count_m1(ssdb_count_m1),
      .m_end(ssdb_end),
      .m_empty(ssdb_empty),
      .level(ssdb_level)
  );

  fb_common_deep #(
      .Width(576),
      .Depth(FifoBeats)
  ) u_write_words (
      .clk,
      .rst,
      .s_valid(ssd_valid),
      .s_ready(ssd_fifo_ready),
      .s_data ({s_axi_data_wstrb, s_axi_data_wdata}),
      .m_valid(ssdw_valid),
      .m_ready(ssdw_take),
      .m_data ({ssdw_strb, ssdw_data}),
      .level  (ssdw_level)
  );

  fb_common_fifo #(
      .Width(AxiIdBits + 1),
      .Depth(AnswerDepth)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(beat_take && write_last),
      .s_ready(answer_ready),
      .s_data ({write_id, write_refused}),
      .m_valid(s_axi_data_bvalid),
      .m_ready(s_axi_data_bready),
      .m_data ({s_axi_data_bid, answer_error}),
      .level  (answer_level)
  );
  assign s_axi_data_bresp = answer_error ? RESP_SLVERR : RESP_OKAY;

  // ----------------------------------------------------------------------------- reads of the SSD
  logic fetch_valid, fetch_take, fill_valid;
  logic [PageBits-1:0] fetch_page, written_page;
  logic written_put;

  fb_buffer_ahead #(
      .UnitBits(UnitBits),
      .Lines(Lines),
      .AheadPages(AheadPages),
      .AxiIdBits(AxiIdBits)
  ) u_ahead (
      .clk,
      .rst,
      .data_window_base,
      .s_axi_data_arid,
      .s_axi_data_araddr,
      .s_axi_data_arlen,
      .s_axi_data_arsize,
      .s_axi_data_arburst,
      .s_axi_data_arvalid,
      .s_axi_data_arready,
      .s_axi_data_rid,
      .s_axi_data_rdata,
      .s_axi_data_rresp,
      .s_axi_data_rlast,
      .s_axi_data_rvalid,
      .s_axi_data_rready,
      .fetch_valid,
      .fetch_ready(fetch_take),
      .fetch_page,
      .fill_valid,
      .fill_data(m_axi_dram_rdata),
      .landed_valid(written_put),
      .landed_page(written_page)
  );

  // ------------------------------------------------------------------------------------------ gets
  // Each bears how many bursts of the SSD have to be in memory before it.
  typedef struct packed {
    logic [SeenBits-1:0] after;
    logic [WordBits-1:0] addr;
    logic [5:0]          count_m1;
  } get_t;

  logic [SeenBits-1:0] seen_q, stored_q;  // the SSD's bursts: begun, and in memory
  logic get_push, get_same, ask_valid, ask_take, ask_may, get_fifo_ready, written_ssd;
  logic [4:0] ask_level;
  get_t get_in, ask;

  assign get_ready = get_fifo_ready;
  assign get_push = get_valid && get_ready && get_first;
  assign get_same = ssd_open_addr[WordBits-1:6] == get_addr[WordBits-1:6];
  assign get_in = '{
          after: seen_q - SeenBits'(ssd_open && !get_same),
          addr: get_addr,
          count_m1: 6'(get_count - 7'd1)
      };
  assign ssd_flush = get_push && ssd_open && get_same;

  fb_common_fifo #(
      .Width($bits(get_t)),
      .Depth(16)
  ) u_gets (
      .clk,
      .rst,
      .s_valid(get_push),
      .s_ready(get_fifo_ready),
      .s_data (get_in),
      .m_valid(ask_valid),
      .m_ready(ask_take),
      .m_data (ask),
      .level  (ask_level)
  );

  // Whether all bursts before it are stored; a cycle late, which a burst that is stored can be.
  logic [SeenBits-1:0] ahead_of;
  assign ahead_of = stored_q - ask.after;
  assign ask_may  = ask_valid && !ahead_of[SeenBits-1];

  // ------------------------------------------------------------------------------------------ turns
  logic may_read, may_write, read_goes, write_goes, read_waits, write_waits;
  logic [6:0] waiting;
  assign waiting = 7'(putb_level) + 7'(ssdb_level);
  assign read_waits = fetch_valid || ask_may;
  assign write_waits = putb_valid || ssdb_valid;

  fb_buffer_turns #(
      .WriteBatch(WriteBatch)
  ) u_turns (
      .clk,
      .rst,
      .read_waits,
      .write_waits,
      .writes((waiting > 7'd16) ? 5'd16 : 5'(waiting)),
      .read_goes,
      .write_goes,
      .may_read,
      .may_write
  );

  // ---------------------------------------------------------------------------------- AW, W and B
  typedef struct packed {
    logic                put;
    logic                mark;
    logic                empty;
    logic [PageBits-1:0] page;
  } written_t;

  logic aw_valid_q, w_busy_q, from_put_q, pick_put, w_goes, w_last, under_ready, under_valid;
  logic under_pop, last_put_q;
  logic [63:0] aw_addr_q;
  logic [5:0] aw_len_q, w_left_q;
  logic [$clog2(Under):0] under_level;
  written_t under_in, under;

  // What the memory has not done yet, a read has to wait for.
  logic under_room;
  assign under_room = under_level < ($clog2(Under) + 1)'(WritesUnder);
  assign pick_put = putb_valid && (!ssdb_valid || !last_put_q);
  assign write_goes = may_write && write_waits && under_room && under_ready && !aw_valid_q &&
      (!w_busy_q || (w_goes && w_last));
  assign putb_take = write_goes && pick_put;
  assign ssdb_take = write_goes && !pick_put;
  assign under_in = '{
          put: pick_put,
          mark: pick_put && putb_end,
          empty: pick_put && putb_empty,
          page: pick_put ? putb_addr[WordBits-1:6] : ssdb_addr[WordBits-1:6]
      };

  always_ff @(posedge clk) begin : address_writes
    if (write_goes) begin
      aw_addr_q  <= memory_address(pick_put ? putb_addr : ssdb_addr);
      aw_len_q   <= pick_put ? putb_count_m1 : ssdb_count_m1;
      last_put_q <= pick_put;
    end
    if (write_goes && !under_in.empty) begin
      w_left_q   <= pick_put ? putb_count_m1 : ssdb_count_m1;
      from_put_q <= pick_put;
    end else if (w_goes) begin
      w_left_q <= w_left_q - 1'b1;
    end
    aw_valid_q <= (write_goes && !under_in.empty) || (aw_valid_q && !m_axi_dram_awready);
    w_busy_q   <= (write_goes && !under_in.empty) || (w_busy_q && !(w_goes && w_last));
    if (rst) begin
      aw_valid_q <= 1'b0;
      w_busy_q   <= 1'b0;
    end
  end

  assign w_last = w_left_q == '0;
  assign w_goes = m_axi_dram_wvalid && m_axi_dram_wready;
  assign putw_take = w_goes && from_put_q;
  assign ssdw_take = w_goes && !from_put_q;
  assign m_axi_dram_wvalid = w_busy_q && (from_put_q ? putw_valid : ssdw_valid);
  assign m_axi_dram_wdata = from_put_q ? putw_data : ssdw_data;
  assign m_axi_dram_wstrb = from_put_q ? '1 : ssdw_strb;
  assign m_axi_dram_wlast = w_last;
  assign m_axi_dram_awvalid = aw_valid_q;
  assign m_axi_dram_awaddr = aw_addr_q;
  assign m_axi_dram_awlen = {2'd0, aw_len_q};
  assign m_axi_dram_awid = '0;
  assign m_axi_dram_awsize = 3'd6;
  assign m_axi_dram_awburst = INCR;

  // What the memory has been given, in order; an empty burst has landed when its turn comes.
  fb_common_fifo #(
      .Width($bits(written_t)),
      .Depth(Under)
  ) u_under (
      .clk,
      .rst,
      .s_valid(write_goes),
      .s_ready(under_ready),
      .s_data (under_in),
      .m_valid(under_valid),
      .m_ready(under_pop),
      .m_data (under),
      .level  (under_level)
  );
  assign m_axi_dram_bready = under_valid && !under.empty;
  assign under_pop = under_valid && (under.empty || m_axi_dram_bvalid);

  logic [$clog2(Under):0] puts_under_q;
  always_ff @(posedge clk) begin : written
    landed <= under_pop && under.put && under.mark && !rst;
    written_put <= under_pop && under.put && !under.empty && !rst;
    written_ssd <= under_pop && !under.put && !rst;
    written_page <= under.page;
    seen_q <= seen_q + SeenBits'(ssd_begins);
    stored_q <= stored_q + SeenBits'(written_ssd);
    puts_under_q <= puts_under_q + ($bits(
        puts_under_q
    ))'(putb_take) - ($bits(
        puts_under_q
    ))'(under_pop && under.put);
    if (rst) begin
      seen_q <= '0;
      stored_q <= '0;
      puts_under_q <= '0;
    end
  end

  // ------------------------------------------------------------------------------------- AR and R
  logic ar_valid_q, pick_fetch, last_fetch_q, asked_ready, asked_valid, asked_fetch, r_last;
  logic [63:0] ar_addr_q;
  logic [ 5:0] ar_len_q;
  logic [$clog2(Under):0] asked_level, gets_asked_q;

  assign pick_fetch = fetch_valid && (!ask_may || !last_fetch_q);
  assign read_goes  = may_read && read_waits && asked_ready && (!ar_valid_q || m_axi_dram_arready);
  assign fetch_take = read_goes && pick_fetch;
  assign ask_take   = read_goes && !pick_fetch;

  always_ff @(posedge clk) begin : address_reads
    if (read_goes) begin
      ar_addr_q <= memory_address(pick_fetch ? {fetch_page, 6'd0} : ask.addr);
      ar_len_q <= pick_fetch ? 6'd63 : ask.count_m1;
      last_fetch_q <= pick_fetch;
    end
    ar_valid_q <= read_goes || (ar_valid_q && !m_axi_dram_arready);
    gets_asked_q <= gets_asked_q + ($bits(
        gets_asked_q
    ))'(ask_take) - ($bits(
        gets_asked_q
    ))'(r_last && !asked_fetch);
    if (rst) begin
      ar_valid_q   <= 1'b0;
      gets_asked_q <= '0;
    end
  end

  fb_common_fifo #(
      .Width(1),
      .Depth(Under)
  ) u_asked (
      .clk,
      .rst,
      .s_valid(read_goes),
      .s_ready(asked_ready),
      .s_data (pick_fetch),
      .m_valid(asked_valid),
      .m_ready(r_last),
      .m_data (asked_fetch),
      .level  (asked_level)
  );
  assign r_last = m_axi_dram_rvalid && m_axi_dram_rready && m_axi_dram_rlast;
  assign m_axi_dram_arvalid = ar_valid_q;
  assign m_axi_dram_araddr = ar_addr_q;
  assign m_axi_dram_arlen = {2'd0, ar_len_q};
  assign m_axi_dram_arid = '0;
  assign m_axi_dram_arsize = 3'd6;
  assign m_axi_dram_arburst = INCR;
  // Whoever asked has room.
  assign m_axi_dram_rready = asked_valid;
  assign fill_valid = m_axi_dram_rvalid && asked_valid && asked_fetch;
  assign got_valid = m_axi_dram_rvalid && asked_valid && !asked_fetch;
  assign got_data = m_axi_dram_rdata;

  always_ff @(posedge clk)
    quiet <= !put_open && !put_valid && !put_end && !putb_valid && puts_under_q == '0 &&
        !ask_valid && !get_push && gets_asked_q == '0 && !landed;

  // What nothing here asks about.
  logic unused;
  assign unused = &{1'b0, put_fifo_ready, ssd_fifo_ready, put_begins, put_open_addr, write_next,
                    ssdb_end, ssdb_empty, answer_level, ask_level, asked_level,
                    ssd_open_addr[5:0], s_axi_data_wlast, write_addr[5:0], m_axi_dram_bid,
                    m_axi_dram_bresp, m_axi_dram_rid, m_axi_dram_rresp, 1'b0};

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_words_have_room :
      assert ((!put_valid || put_fifo_ready) && (!ssd_valid || ssd_fifo_ready))
      else $error("fb_buffer_dram (%m): a word without room for it");
      a_answer_was_asked :
      assert ((!m_axi_dram_rvalid || asked_valid) && (!m_axi_dram_bvalid || under_valid))
      else $error("fb_buffer_dram (%m): the memory answers what was not asked");
      a_wlast_matches_awlen :
      assert (!beat_take || s_axi_data_wlast == write_last)
      else $error("fb_buffer_dram (%m): WLAST does not match AWLEN");
    end
  end
`endif

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
      .Width(72),
      .Name ("m_axi_dram AW")
  ) u_check_aw (
      .clk,
      .rst,
      .valid(m_axi_dram_awvalid),
      .ready(m_axi_dram_awready),
      .data ({m_axi_dram_awaddr, m_axi_dram_awlen})
  );

  fb_axis_check #(
      .Width(577),
      .Name ("m_axi_dram W")
  ) u_check_w (
      .clk,
      .rst,
      .valid(m_axi_dram_wvalid),
      .ready(m_axi_dram_wready),
      .data ({m_axi_dram_wdata, m_axi_dram_wstrb, m_axi_dram_wlast})
  );

  fb_axis_check #(
      .Width(72),
      .Name ("m_axi_dram AR")
  ) u_check_ar (
      .clk,
      .rst,
      .valid(m_axi_dram_arvalid),
      .ready(m_axi_dram_arready),
      .data ({m_axi_dram_araddr, m_axi_dram_arlen})
  );

endmodule

`default_nettype wire
