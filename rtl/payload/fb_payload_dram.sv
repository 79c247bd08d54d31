// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_dram: the payload buffer in on-board DRAM, 64 MiB for each direction.
//
// What:        four requesters share one AXI4 master: write and read requests of the streams, writes
//              and reads of the SSD by the BAR. Writes of both become bursts
//              (fb_payload_write_combiner), the SSD's reads are served from pages fetched ahead
//              (fb_payload_prefetch). With one channel fb_payload_scheduler decides when the bus turns
//              around; with several, reads and writes go at once.
// Handshake:   the streams' side as in docs/reference/memories.md, with whole pages announced; the
//              SSD's as fb_bar_target has it, words after 2 cycles; AXI4 at the memory, INCR of
//              64-byte beats, one identifier, so that answers come in order.
// Order:       a write request is committed when the memory has answered it. A write of the SSD is
//              answered when it is accepted; a read request waits until all of the SSD's writes accepted
//              before it are in memory, but for a burst to another page that still grows.
// Throughput:  64 B a cycle each way at the memory's side, and at each other side.
// Errors:      what the memory refuses is an error of its request: of a write with `committed`, of a
//              read with the beat. A write of the SSD has been answered before: it spoils its unit, of
//              which the next read request fails.
// Does not implement: ECC, more than one identifier.

`default_nettype none

module fb_payload_dram
  import fb_payload_pkg::*;
#(
    parameter int unsigned UnitBits = fb_spec_pkg::DRAM_UNIT_SHIFT,  // log2 of the pages of a unit
    parameter int unsigned Channels = 1,  // of the memory behind the one master, 1 to 32
    parameter int unsigned FifoBeats = 512,  // beats that wait to be written, of either side
    parameter int unsigned Lines = 8,  // pages at hand for the SSD
    parameter int unsigned AheadPages = 2,  // of them fetched before the SSD asks
    parameter int unsigned WriteBatch = 4,  // bursts of writes in a row
    parameter int unsigned WritesUnder = 3  // bursts that the memory has not answered, 1 to 16
) (
    input wire clk,
    input wire rst,

    fb_payload_stream_if.memory streams,
    fb_bar_memory_if.memory bar_memory,  // the SSD's side
    fb_axi_if.write_initiator m_axi_write,
    fb_axi_if.read_initiator m_axi_read
);

  if (Channels < 1 || Channels > 32) begin : gen_bad_channels
    $fatal(1, "fb_payload_dram (%m): Channels=%0d must be from 1 to 32", Channels);
  end

  localparam int unsigned UserBursts = 64;  // of the streams that wait to be written, or are marks
  localparam int unsigned SsdBursts = 32;  // of the SSD that wait to be written
  localparam int unsigned Requests = 16;  // that wait to be requested
  // The SSD's bursts on their way to the memory: one that grows, those that wait, those that it has not
  // answered, and stages between.
  localparam int unsigned SsdUnder = SsdBursts + WritesUnder + 4;
  // Counts them so that a difference has a sign: of those on their way, or of those stored while
  // Requests of them are released, one a cycle.
  localparam int unsigned SeenBits = $clog2(SsdUnder + Requests) + 1;
  localparam int unsigned SideBits = DRAM_PAGE_BITS - UnitBits - 1;  // unit of one direction

  function automatic logic [63:0] memory_address(input logic [DRAM_WORD_BITS-1:0] word);
    logic [63:0] base;
    base = word[DRAM_WORD_BITS-1] ? streams.dram_read : streams.dram_write;
    return base | 64'({word[DRAM_WORD_BITS-2:0], 6'd0});
  endfunction

  // What the memory has answered.
  typedef struct packed {
    logic                      user;
    logic                      mark;
    logic [DRAM_PAGE_BITS-1:0] page;
  } written_t;

  written_t written, word_side;
  logic stored, stored_empty, stored_error, stored_ssd;
  logic loaded, loaded_last, loaded_error, loaded_fetch, loaded_bad;

  // ------------------------------------------------------------------------- what waits to be written
  logic may_read, may_write, read_goes, write_goes, read_waits, write_waits;
  logic user_rests, user_valid, user_take, user_word_valid, pick_user, word_take;
  burst_t user_burst;
  logic [$clog2(UserBursts):0] user_waits;
  logic [511:0] user_word;

  fb_payload_write_combiner #(
      .FifoBeats(FifoBeats),
      .Bursts(UserBursts)
  ) u_user_writes (
      .flush(streams.restart),
      .write_valid(streams.write_valid),
      .write_addr(streams.write_addr),
      .write_data(streams.write_data),
      .write_end(streams.write_end),
      .write_hold(streams.write_hold),
      .growing(),
      .rests(user_rests),
      .burst_valid(user_valid),
      .burst_take(user_take),
      .burst(user_burst),
      .bursts(user_waits),
      .word_valid(user_word_valid),
      .word_take(word_take && word_side.user),
      .word_data(user_word),
      .*
  );

  logic ssd_hold, ssd_flush, ssd_valid, ssd_word_valid;
  growing_t ssd_growing;
  burst_t ssd_burst;
  logic [$clog2(SsdBursts):0] ssd_waits;
  logic [511:0] ssd_word;
  logic [63:0] ssd_strb;

  // The SSD marks no ends: a pause ends a burst.
  assign bar_memory.write_ready = !ssd_hold;
  fb_payload_write_combiner #(
      .DataBits(576),
      .FifoBeats(FifoBeats),
      .Bursts(SsdBursts),
      .Spare(5),
      .IdleCycles(16)
  ) u_ssd_writes (
      .flush(ssd_flush),
      .write_valid(bar_memory.write_valid && !ssd_hold),
      .write_addr(bar_memory.write_addr),
      .write_data({bar_memory.write_strb, bar_memory.write_data}),
      .write_end(1'b0),
      .write_hold(ssd_hold),
      .growing(ssd_growing),
      .rests(),
      .burst_valid(ssd_valid),
      .burst_take(write_goes && !pick_user),
      .burst(ssd_burst),
      .bursts(ssd_waits),
      .word_valid(ssd_word_valid),
      .word_take(word_take && !word_side.user),
      .word_data({ssd_strb, ssd_word}),
      .*
  );

  // ----------------------------------------------------------------------------- reads of the SSD
  logic fetch_valid, fetch_take;
  logic [DRAM_PAGE_BITS-1:0] fetch_page;

  fb_payload_prefetch #(
      .UnitBits(UnitBits),
      .Lines(Lines),
      .AheadPages(AheadPages)
  ) u_ahead (
      .bar_read_valid(bar_memory.read_valid),
      .bar_read_ready(bar_memory.read_ready),
      .bar_read_addr(bar_memory.read_addr),
      .bar_read_word(bar_memory.read_word),
      .bar_read_error(bar_memory.read_error),
      .bar_read_stays(bar_memory.read_stays),
      .bar_next_valid(bar_memory.next_valid),
      .bar_next_page(bar_memory.next_addr[DRAM_WORD_BITS-1:6]),
      .fetch_ready(fetch_take),
      .fill_valid(loaded && loaded_fetch),
      .fill_data(streams.data),
      .fill_error(loaded_error),
      .committed_valid(stored && written.user && !stored_empty),
      .committed_page(written.page),
      .*
  );

  // --------------------------------------------------------------------------------- read requests
  // A request waits for the SSD's bursts before it, and then for its turn. The first wait ends as soon as
  // its last burst is stored, whether or not the turn has come: no count gets old.
  request_t request, ask;
  logic [SeenBits-1:0] seen_q, stored_q;  // the SSD's bursts: begun, and in memory
  logic [SeenBits-1:0] after, passed;
  logic request_push, request_same, requests_ready, after_valid, released;
  logic ask_valid, ask_take, ask_may;
  logic [4:0] ask_level;
  logic [4:0] released_q;  // those that wait for their turn alone
  logic ask_any_q;  // there are some

  assign request_same = ssd_growing.addr.page == request.addr.page;
  assign ssd_flush = request_push && ssd_growing.open && request_same;

  fb_common_fifo #(
      .Width($bits(request_t)),
      .Depth(Requests)
  ) u_requests (
      .clk,
      .rst,
      .s_valid(request_push),
      .s_ready(requests_ready),
      .s_data (request),
      .m_valid(ask_valid),
      .m_ready(ask_take),
      .m_data (ask),
      .level  (ask_level)
  );

  // Of those that wait for bursts: the last one. As many as there are requests have room.
  fb_common_fifo #(
      .Width(SeenBits),
      .Depth(Requests)
  ) u_afters (
      .clk,
      .rst,
      .s_valid(request_push),
      .s_ready(),
      .s_data (seen_q - SeenBits'(ssd_growing.open && !request_same)),
      .m_valid(after_valid),
      .m_ready(released),
      .m_data (after),
      .level  ()
  );

  // A cycle late, which a burst that is stored can be.
  assign passed   = stored_q - after;
  assign released = after_valid && !passed[SeenBits-1];
  always_ff @(posedge clk) begin
    // A request is looked at in the cycle after it was taken; one more may be taken then.
    streams.read_ready <= ask_level < 5'(Requests - 2);
    request_push <= streams.read_valid && streams.read_ready && streams.read_first && !rst;
    request <= '{addr: streams.read_addr, count_m1: 6'(streams.read_count - 7'd1)};
    released_q <= rst ? '0 : released_q + 5'(released) - 5'(ask_take);
    ask_any_q <= (released || released_q > 5'(ask_take)) && !rst;
  end

  // ------------------------------------------------------------------------------------------ turns
  assign read_waits  = fetch_valid || ask_may;
  assign write_waits = user_valid || ssd_valid;

  if (Channels == 1) begin : gen_turns
    logic [6:0] waiting;
    logic [4:0] writes;  // that wait, two cycles ago
    always_ff @(posedge clk) begin
      waiting <= 7'(user_waits) + 7'(ssd_waits);
      writes  <= (waiting > 7'd16) ? 5'd16 : 5'(waiting);
    end
    fb_payload_scheduler #(.WriteBatch(WriteBatch)) u_turns (.*);
  end else begin : gen_at_once
    assign {may_read, may_write} = '1;
  end

  // --------------------------------------------------------------------------- what is written
  logic last_user_q, user_taken_q, write_ready;
  burst_t burst;

  assign pick_user = user_valid && (!ssd_valid || !last_user_q);
  assign burst = pick_user ? user_burst : ssd_burst;
  assign write_goes = may_write && write_waits && write_ready;
  assign user_take = write_goes && pick_user;

  fb_axi_write_master #(
      .SideBits($bits(written_t)),
      .Under(WritesUnder)
  ) u_writer (
      .burst_valid(may_write && write_waits),
      .burst_ready(write_ready),
      .burst_addr(memory_address(burst.addr)),
      .burst_count_m1(burst.count_m1),
      .burst_empty(pick_user && user_burst.empty),
      .burst_side({pick_user, pick_user && user_burst.mark, burst.addr.page}),
      .word_valid(word_side.user ? user_word_valid : ssd_word_valid),
      .word_data(word_side.user ? user_word : ssd_word),
      .word_strb(word_side.user ? '1 : ssd_strb),
      .stored_side(written),
      .m_axi(m_axi_write),
      .*
  );

  logic user_bad_q;  // a burst of the command that is being stored has failed
  logic [4:0] user_under_q;  // a cycle late
  assign stored_ssd = stored && !written.user;
  assign streams.committed = stored && written.mark;
  assign streams.commit_error = user_bad_q || stored_error;
  always_ff @(posedge clk) begin : written_so_far
    if (write_goes) last_user_q <= pick_user;
    if (stored && written.user) user_bad_q <= !written.mark && (user_bad_q || stored_error);
    seen_q <= seen_q + SeenBits'(ssd_growing.begins);
    stored_q <= stored_q + SeenBits'(stored_ssd);
    user_taken_q <= user_take && !rst;
    user_under_q <= user_under_q + 5'(user_taken_q) - 5'(stored && written.user);
    if (rst || streams.restart) user_bad_q <= 1'b0;
    if (rst) {seen_q, stored_q, user_under_q} <= '0;
  end

  // Units of which something that the SSD wrote was not stored, until they are read, or a restart has
  // forgotten them all.
  logic spoils, unit_bad, request_bad, request_bad_q, forgets, forgotten;
  logic [  SideBits:0] forget_q;  // its top bit: all of them
  logic [SideBits-1:0] ask_unit;
  // Two cycles late, and read a cycle later; no request is looked at in these. Of requests one in two
  // cycles is taken at most.
  logic spoilt_we_q, spoilt_bad_q, settles_q, unit_was_bad;
  logic [SideBits-1:0] spoilt_q, spoilt_at_q;
  assign ask_unit = ask.addr.page[UnitBits+:SideBits];
  // What is read begins with a unit, or goes on in one.
  assign request_bad = unit_bad || (request_bad_q && ask.addr.page[UnitBits-1:0] != '0);
  assign forgotten = forget_q[SideBits];
  assign forgets = streams.restart && !forgotten && !ask_take;
  always_ff @(posedge clk) begin
    spoils <= stored_ssd && stored_error && !rst;
    spoilt_q <= written.page[UnitBits+:SideBits];
    spoilt_we_q <= spoils || ask_take || forgets;
    spoilt_at_q <= spoils ? spoilt_q : ask_take ? ask_unit : forget_q[SideBits-1:0];
    spoilt_bad_q <= spoils;
    settles_q <= spoilt_bad_q;
    unit_bad <= unit_was_bad;
    if (ask_take) request_bad_q <= request_bad;
    forget_q <= (rst || !streams.restart) ? '0 : forget_q + (SideBits + 1)'(forgets && !spoils);
  end

  fb_common_lutram #(
      .Width(1),
      .Depth(1 << SideBits)
  ) u_spoilt (
      .clk,
      .we(spoilt_we_q),
      .waddr(spoilt_at_q),
      .wdata(spoilt_bad_q),
      .raddr(ask_unit),
      .rdata(unit_was_bad)
  );

  // ------------------------------------------------------------------------------- what is read
  logic pick_fetch, last_fetch_q, read_ready;
  logic [4:0] requests_asked_q;

  assign ask_may = ask_any_q && !spoils && !spoilt_bad_q && !settles_q;
  assign pick_fetch = fetch_valid && (!ask_may || !last_fetch_q);
  assign read_goes = may_read && read_waits && read_ready;
  assign fetch_take = read_goes && pick_fetch;
  assign ask_take = read_goes && !pick_fetch;

  fb_axi_read_master #(
      .SideBits(2)
  ) u_reader (
      .ask_valid(may_read && read_waits),
      .ask_ready(read_ready),
      .ask_addr(memory_address(pick_fetch ? {fetch_page, 6'd0} : ask.addr)),
      .ask_count_m1(pick_fetch ? 6'd63 : ask.count_m1),
      .ask_side({pick_fetch, !pick_fetch && request_bad}),
      .loaded_side({loaded_fetch, loaded_bad}),
      .loaded_data(streams.data),
      .m_axi(m_axi_read),
      .*
  );
  assign streams.data_valid = loaded && !loaded_fetch;
  assign streams.data_error = loaded_error || loaded_bad;

  always_ff @(posedge clk) begin : read_so_far
    if (read_goes) last_fetch_q <= pick_fetch;
    requests_asked_q <= requests_asked_q + 5'(ask_take) - 5'(streams.data_valid && loaded_last);
    streams.errors <= {stored && stored_error, loaded && loaded_error};
    streams.quiet <= (forgotten || !streams.restart) && user_rests && !user_taken_q && user_under_q == '0 &&
        !ask_valid && !request_push && !(streams.read_valid && streams.read_ready) &&
        requests_asked_q == '0;
    if (rst) requests_asked_q <= '0;
  end

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_bursts_counted :
      assert (seen_q - stored_q <= SeenBits'(SsdUnder))
      else $error("fb_payload_dram (%m): more of the SSD's bursts under way than are counted");
      a_requests_have_room :
      assert (!request_push || requests_ready)
      else $error("fb_payload_dram (%m): a request without room for it");
      a_no_count_is_old :
      assert (!released || passed <= SeenBits'(Requests))
      else
        $error("fb_payload_dram (%m): a request was not released when its last burst was stored");
    end
  end
`endif

  logic unused;
  assign unused = &{1'b0, ssd_growing, burst, word_side, user_waits, ssd_waits, 1'b0};

endmodule

`default_nettype wire
