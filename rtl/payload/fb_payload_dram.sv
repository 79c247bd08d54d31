// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_dram: the payload buffer in on-board DRAM, 64 MiB for each direction.
//
// What:        four requesters share one AXI4 master: write and read requests of the streams (puts
//              and gets), writes and reads of the SSD by the BAR. Writes of both are coalesced into
//              bursts (fb_payload_write_combiner), the SSD's reads are served from pages fetched ahead
//              (fb_payload_prefetch). With one channel fb_payload_scheduler decides when the bus turns around;
//              with several, reads and writes go at once.
// Handshake:   the streams' side as in docs/reference/memories.md, with whole pages announced; the
//              SSD's as fb_bar_target has it, words after 2 cycles; AXI4 at the memory, INCR of
//              64-byte beats, one identifier, so that answers come in order.
// Order:       a put is committed (`landed`) when the memory has answered it. A write of the SSD is
//              answered when it is accepted; a get waits until all of the SSD's writes that were
//              accepted before it are in memory, but for a burst to another page that still grows.
// Throughput:  64 B a cycle each way at the memory's side, and at each other side.
// Errors:      what the memory refuses is an error of the request that it concerns: of a put with
//              `landed`, of a read of the SSD or a get with the beat. A write of the SSD has been
//              answered before: it spoils its unit, of which the next get fails.
// Does not implement: ECC, more than one identifier.

`default_nettype none

module fb_payload_dram #(
    parameter int unsigned UnitBits = fb_spec_pkg::DRAM_UNIT_SHIFT,  // log2 of the pages of a unit
    parameter int unsigned Channels = 1,  // of the memory behind the one master, 1 to 32
    parameter int unsigned FifoBeats = 512,  // beats that wait to be written, of either side
    parameter int unsigned Lines = 8,  // pages at hand for the SSD
    parameter int unsigned AheadPages = 2,  // of them fetched before the SSD asks
    parameter int unsigned WriteBatch = 4,  // bursts of writes in a row
    parameter int unsigned WritesUnder = 3,  // bursts that the memory has not answered, 1 to 16
    localparam int unsigned PageBits = $clog2(fb_spec_pkg::DRAM_WINDOW_BYTES) - 12,
    localparam int unsigned WordBits = PageBits + 6
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
    output logic                landed_error,  // with it: something of the command was not stored
    input  wire                 get_valid,
    output logic                get_ready,
    input  wire  [WordBits-1:0] get_addr,
    input  wire                 get_first,
    input  wire  [         6:0] get_count,
    output logic                got_valid,
    output logic                got_error,
    output logic [       511:0] got_data,
    output logic [         1:0] memory_errors, // pulses: a write, a read that the memory refused

    // Settings, stable while the streamer is enabled.
    input wire [63:0] dram_read,  // address of the read buffer, a multiple of its size
    input wire [63:0] dram_write,

    // The SSD's side.
    fb_bar_memory_if.memory bar_memory,

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

  if (Channels < 1 || Channels > 32) begin : gen_bad_channels
    $fatal(1, "fb_payload_dram (%m): Channels=%0d must be from 1 to 32", Channels);
  end

  localparam int unsigned PutBursts = 64;  // of the streams that wait to be written, or are marks
  localparam int unsigned SsdBursts = 32;  // of the SSD that wait to be written
  localparam int unsigned Gets = 16;  // that wait to be requested
  // The SSD's bursts on their way to the memory: one that grows, those that wait, those that it has not
  // answered, and stages between.
  localparam int unsigned SsdUnder = SsdBursts + WritesUnder + 4;
  // Counts them so that a difference has a sign: of those on their way, or of those stored while Gets
  // gets are released, one a cycle.
  localparam int unsigned SeenBits = $clog2(SsdUnder + Gets) + 1;
  localparam int unsigned SideBits = PageBits - UnitBits - 1;  // index of a unit of one direction

  function automatic logic [63:0] memory_address(input logic [WordBits-1:0] word);
    return (word[WordBits-1] ? dram_read : dram_write) | 64'({word[WordBits-2:0], 6'd0});
  endfunction

  // ------------------------------------------------------------------ what the memory has answered
  typedef struct packed {
    logic                put;
    logic                mark;
    logic [PageBits-1:0] page;
  } written_t;

  typedef struct packed {
    logic fetch;
    logic bad;
  } read_t;

  logic stored, stored_empty, stored_error, stored_put, stored_ssd;
  logic loaded, loaded_last, loaded_error;
  written_t written;
  read_t read;
  logic put_bad_q;  // a burst of the command that is being stored has failed

  // ------------------------------------------------------------------------- what waits to be written
  logic puts_rest, putb_valid, putb_take, putb_end, putb_empty, putw_valid, putw_take;
  logic [WordBits-1:0] putb_addr;
  logic [5:0] putb_count_m1;
  logic [$clog2(PutBursts):0] puts_wait;
  logic [511:0] putw_data;

  fb_payload_write_combiner #(
      .WordBits(WordBits),
      .FifoBeats(FifoBeats),
      .Bursts(PutBursts)
  ) u_puts (
      .clk,
      .rst,
      .flush(restart),
      .put_valid,
      .put_addr,
      .put_data,
      .put_end,
      .put_hold,
      .open(),
      .open_addr(),
      .begins(),
      .rests(puts_rest),
      .burst_valid(putb_valid),
      .burst_take(putb_take),
      .burst_addr(putb_addr),
      .burst_count_m1(putb_count_m1),
      .burst_end(putb_end),
      .burst_empty(putb_empty),
      .bursts(puts_wait),
      .word_valid(putw_valid),
      .word_take(putw_take),
      .word_data(putw_data)
  );

  logic ssd_hold, ssd_open, ssd_begins, ssd_flush;
  logic ssdb_valid, ssdb_take, ssdw_valid, ssdw_take;
  logic [WordBits-1:0] ssd_open_addr, ssdb_addr;
  logic [5:0] ssdb_count_m1;
  logic [$clog2(SsdBursts):0] ssd_waits;
  logic [511:0] ssdw_data;
  logic [63:0] ssdw_strb;

  // The SSD marks no ends: a pause ends a burst.
  assign bar_memory.write_ready = !ssd_hold;
  fb_payload_write_combiner #(
      .WordBits(WordBits),
      .DataBits(576),
      .FifoBeats(FifoBeats),
      .Bursts(SsdBursts),
      .Spare(4),
      .IdleCycles(16)
  ) u_ssd_writes (
      .clk,
      .rst,
      .flush(ssd_flush),
      .put_valid(bar_memory.write_valid && !ssd_hold),
      .put_addr(bar_memory.write_addr),
      .put_data({bar_memory.write_strb, bar_memory.write_data}),
      .put_end(1'b0),
      .put_hold(ssd_hold),
      .open(ssd_open),
      .open_addr(ssd_open_addr),
      .begins(ssd_begins),
      .rests(),
      .burst_valid(ssdb_valid),
      .burst_take(ssdb_take),
      .burst_addr(ssdb_addr),
      .burst_count_m1(ssdb_count_m1),
      .burst_end(),
      .burst_empty(),
      .bursts(ssd_waits),
      .word_valid(ssdw_valid),
      .word_take(ssdw_take),
      .word_data({ssdw_strb, ssdw_data})
  );

  // ----------------------------------------------------------------------------- reads of the SSD
  logic fetch_valid, fetch_take, fill_valid;
  logic [PageBits-1:0] fetch_page;

  fb_payload_prefetch #(
      .UnitBits(UnitBits),
      .Lines(Lines),
      .AheadPages(AheadPages)
  ) u_ahead (
      .clk,
      .rst,
      .bar_read_valid(bar_memory.read_valid),
      .bar_read_ready(bar_memory.read_ready),
      .bar_read_addr(bar_memory.read_addr),
      .bar_read_word(bar_memory.read_word),
      .bar_read_error(bar_memory.read_error),
      .bar_read_stays(bar_memory.read_stays),
      .bar_next_valid(bar_memory.next_valid),
      .bar_next_addr(bar_memory.next_addr),
      .fetch_valid,
      .fetch_ready(fetch_take),
      .fetch_page,
      .fill_valid,
      .fill_data(got_data),
      .fill_error(loaded_error),
      .landed_valid(stored_put),
      .landed_page(written.page)
  );

  // ------------------------------------------------------------------------------------------ gets
  // A get waits for the SSD's bursts before it, and then for its turn. The first wait ends as soon as
  // its last burst is stored, whether or not the turn has come: no count gets old.
  typedef struct packed {
    logic [WordBits-1:0] addr;
    logic [5:0]          count_m1;
  } get_t;

  logic [SeenBits-1:0] seen_q, stored_q;  // the SSD's bursts: begun, and in memory
  logic [SeenBits-1:0] get_after, after, passed;
  logic get_push, get_same, ask_valid, ask_take, ask_may, get_fifo_ready, after_valid, released;
  logic [4:0] ask_level;
  logic [4:0] released_q, released_d;  // gets that wait for their turn alone
  logic ask_any_q;  // there are some
  get_t ask;

  // A get is looked at in the cycle after it was taken; one more may be taken then.
  logic get_ready_q;
  get_t get;
  always_ff @(posedge clk) begin
    get_ready_q <= ask_level < 5'(Gets - 2);
    get_push <= get_valid && get_ready && get_first && !rst;
    get <= '{addr: get_addr, count_m1: 6'(get_count - 7'd1)};
  end
  assign get_ready = get_ready_q;
  assign get_same  = ssd_open_addr[WordBits-1:6] == get.addr[WordBits-1:6];
  assign get_after = seen_q - SeenBits'(ssd_open && !get_same);
  assign ssd_flush = get_push && ssd_open && get_same;

  fb_common_fifo #(
      .Width($bits(get_t)),
      .Depth(Gets)
  ) u_gets (
      .clk,
      .rst,
      .s_valid(get_push),
      .s_ready(get_fifo_ready),
      .s_data (get),
      .m_valid(ask_valid),
      .m_ready(ask_take),
      .m_data (ask),
      .level  (ask_level)
  );

  // Of those that wait for bursts: the last one. As many as there are gets have room.
  fb_common_fifo #(
      .Width(SeenBits),
      .Depth(Gets)
  ) u_afters (
      .clk,
      .rst,
      .s_valid(get_push),
      .s_ready(),
      .s_data (get_after),
      .m_valid(after_valid),
      .m_ready(released),
      .m_data (after),
      .level  ()
  );

  // A cycle late, which a burst that is stored can be.
  assign passed = stored_q - after;
  assign released = after_valid && !passed[SeenBits-1];
  assign released_d = released_q + 5'(released) - 5'(ask_take);
  always_ff @(posedge clk) begin
    released_q <= rst ? '0 : released_d;
    ask_any_q  <= released_d != '0 && !rst;
  end

  // ------------------------------------------------------------------------------------------ turns
  logic may_read, may_write, read_goes, write_goes, read_waits, write_waits;
  logic [6:0] waiting;
  logic [4:0] writes_q;  // that wait, two cycles ago
  always_ff @(posedge clk) begin
    waiting  <= 7'(puts_wait) + 7'(ssd_waits);
    writes_q <= (waiting > 7'd16) ? 5'd16 : 5'(waiting);
  end
  assign read_waits  = fetch_valid || ask_may;
  assign write_waits = putb_valid || ssdb_valid;

  if (Channels == 1) begin : gen_turns
    fb_payload_scheduler #(
        .WriteBatch(WriteBatch)
    ) u_turns (
        .clk,
        .rst,
        .read_waits,
        .write_waits,
        .writes(writes_q),
        .read_goes,
        .write_goes,
        .may_read,
        .may_write
    );
  end else begin : gen_at_once
    assign may_read  = 1'b1;
    assign may_write = 1'b1;
    logic unused_waiting;
    assign unused_waiting = &{1'b0, writes_q, 1'b0};
  end

  // --------------------------------------------------------------------------- what is written
  logic pick_put, last_put_q, write_ready, word_take;
  written_t word_side;

  assign pick_put   = putb_valid && (!ssdb_valid || !last_put_q);
  assign write_goes = may_write && write_waits && write_ready;
  assign putb_take  = write_goes && pick_put;
  assign ssdb_take  = write_goes && !pick_put;
  always_ff @(posedge clk) if (write_goes) last_put_q <= pick_put;

  fb_axi_write_master #(
      .SideBits($bits(written_t)),
      .Under(WritesUnder)
  ) u_writer (
      .clk,
      .rst,
      .burst_valid(may_write && write_waits),
      .burst_ready(write_ready),
      .burst_addr(memory_address(pick_put ? putb_addr : ssdb_addr)),
      .burst_count_m1(pick_put ? putb_count_m1 : ssdb_count_m1),
      .burst_empty(pick_put && putb_empty),
      .burst_side({
        pick_put, pick_put && putb_end, pick_put ? putb_addr[WordBits-1:6] : ssdb_addr[WordBits-1:6]
      }),
      .word_valid(word_side.put ? putw_valid : ssdw_valid),
      .word_take,
      .word_side,
      .word_data(word_side.put ? putw_data : ssdw_data),
      .word_strb(word_side.put ? '1 : ssdw_strb),
      .stored,
      .stored_empty,
      .stored_error,
      .stored_side(written),
      .m_axi_awid(m_axi_dram_awid),
      .m_axi_awaddr(m_axi_dram_awaddr),
      .m_axi_awlen(m_axi_dram_awlen),
      .m_axi_awsize(m_axi_dram_awsize),
      .m_axi_awburst(m_axi_dram_awburst),
      .m_axi_awvalid(m_axi_dram_awvalid),
      .m_axi_awready(m_axi_dram_awready),
      .m_axi_wdata(m_axi_dram_wdata),
      .m_axi_wstrb(m_axi_dram_wstrb),
      .m_axi_wlast(m_axi_dram_wlast),
      .m_axi_wvalid(m_axi_dram_wvalid),
      .m_axi_wready(m_axi_dram_wready),
      .m_axi_bid(m_axi_dram_bid),
      .m_axi_bresp(m_axi_dram_bresp),
      .m_axi_bvalid(m_axi_dram_bvalid),
      .m_axi_bready(m_axi_dram_bready)
  );
  assign putw_take = word_take && word_side.put;
  assign ssdw_take = word_take && !word_side.put;
  assign stored_put = stored && written.put && !stored_empty;
  assign stored_ssd = stored && !written.put;
  assign landed = stored && written.mark;
  assign landed_error = put_bad_q || stored_error;

  logic [4:0] puts_under_q;
  always_ff @(posedge clk) begin : written_so_far
    if (stored && written.put) put_bad_q <= !written.mark && (put_bad_q || stored_error);
    seen_q <= seen_q + SeenBits'(ssd_begins);
    stored_q <= stored_q + SeenBits'(stored_ssd);
    puts_under_q <= puts_under_q + 5'(putb_take) - 5'(stored && written.put);
    if (rst || restart) put_bad_q <= 1'b0;
    if (rst) begin
      seen_q <= '0;
      stored_q <= '0;
      puts_under_q <= '0;
    end
  end

  // Units of which something that the SSD wrote was not stored, until they are got, or a restart has
  // forgotten them all.
  logic spoils, get_begins, unit_bad, get_bad, get_bad_q, forgets, forgotten;
  logic [  SideBits:0] forget_q;  // its top bit: all of them
  logic [SideBits-1:0] ask_unit;
  // A cycle late, which is before the next get that waited for it.
  logic [SideBits-1:0] spoilt_q;
  always_ff @(posedge clk) begin
    spoils   <= stored_ssd && stored_error && !rst;
    spoilt_q <= written.page[UnitBits+:SideBits];
  end
  assign ask_unit = ask.addr[6+UnitBits+:SideBits];
  assign get_begins = ask.addr[6+:UnitBits] == '0;  // what is got begins with a unit
  assign get_bad = unit_bad || (get_bad_q && !get_begins);
  assign forgotten = forget_q[SideBits];
  assign forgets = restart && !forgotten && !ask_take;
  always_ff @(posedge clk) begin
    if (ask_take) get_bad_q <= get_bad;
    forget_q <= (rst || !restart) ? '0 : forget_q + (SideBits + 1)'(forgets && !spoils);
  end

  fb_common_lutram #(
      .Width(1),
      .Depth(1 << SideBits)
  ) u_spoilt (
      .clk,
      .we(spoils || ask_take || forgets),
      .waddr(spoils ? spoilt_q : ask_take ? ask_unit : forget_q[SideBits-1:0]),
      .wdata(spoils),
      .raddr(ask_unit),
      .rdata(unit_bad)
  );

  // ------------------------------------------------------------------------------- what is read
  logic pick_fetch, last_fetch_q, read_ready;
  logic [4:0] gets_asked_q;

  assign ask_may = ask_any_q && !spoils;
  assign pick_fetch = fetch_valid && (!ask_may || !last_fetch_q);
  assign read_goes = may_read && read_waits && read_ready;
  assign fetch_take = read_goes && pick_fetch;
  assign ask_take = read_goes && !pick_fetch;

  fb_axi_read_master #(
      .SideBits($bits(read_t))
  ) u_reader (
      .clk,
      .rst,
      .ask_valid(may_read && read_waits),
      .ask_ready(read_ready),
      .ask_addr(memory_address(pick_fetch ? {fetch_page, 6'd0} : ask.addr)),
      .ask_count_m1(pick_fetch ? 6'd63 : ask.count_m1),
      .ask_side({pick_fetch, !pick_fetch && get_bad}),
      .loaded,
      .loaded_last,
      .loaded_error,
      .loaded_side(read),
      .loaded_data(got_data),
      .m_axi_arid(m_axi_dram_arid),
      .m_axi_araddr(m_axi_dram_araddr),
      .m_axi_arlen(m_axi_dram_arlen),
      .m_axi_arsize(m_axi_dram_arsize),
      .m_axi_arburst(m_axi_dram_arburst),
      .m_axi_arvalid(m_axi_dram_arvalid),
      .m_axi_arready(m_axi_dram_arready),
      .m_axi_rid(m_axi_dram_rid),
      .m_axi_rdata(m_axi_dram_rdata),
      .m_axi_rresp(m_axi_dram_rresp),
      .m_axi_rlast(m_axi_dram_rlast),
      .m_axi_rvalid(m_axi_dram_rvalid),
      .m_axi_rready(m_axi_dram_rready)
  );
  assign fill_valid = loaded && read.fetch;
  assign got_valid  = loaded && !read.fetch;
  assign got_error  = loaded_error || read.bad;

  always_ff @(posedge clk) begin : read_so_far
    if (read_goes) last_fetch_q <= pick_fetch;
    gets_asked_q  <= gets_asked_q + 5'(ask_take) - 5'(got_valid && loaded_last);
    memory_errors <= {stored && stored_error, loaded && loaded_error};
    if (rst) gets_asked_q <= '0;
  end

  always_ff @(posedge clk)
    quiet <= (forgotten || !restart) && puts_rest && puts_under_q == '0 && !ask_valid && !get_push &&
        !(get_valid && get_ready) && gets_asked_q == '0;

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_bursts_counted :
      assert (seen_q - stored_q <= SeenBits'(SsdUnder))
      else $error("fb_payload_dram (%m): more of the SSD's bursts under way than are counted");
      a_gets_have_room :
      assert (!get_push || get_fifo_ready)
      else $error("fb_payload_dram (%m): a get without room for it");
      a_no_count_is_old :
      assert (!released || passed <= SeenBits'(Gets))
      else $error("fb_payload_dram (%m): a get was not released when its last burst was stored");
    end
  end
`endif

  logic unused;
  assign unused = &{1'b0, get_fifo_ready, ssd_open_addr[5:0], word_side.mark, word_side.page, 1'b0};

endmodule

`default_nettype wire
