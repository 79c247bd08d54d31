// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_prefetch: pages of the buffer in DRAM, at hand before the SSD asks for them.
//
// What:        serves the SSD's reads of the buffer from a few pages in block RAM. A page that is not
//              there is fetched as a whole; the first beat that the SSD takes of a page has the pages
//              after it fetched, in the order of the write ring: the rest of the command, as far as it
//              is committed, then the first pages of the next committed unit.
// Handshake:   reads as fb_bar_target asks for them, which also tells what will be read next. Pages
//              are asked for by `fetch_*`, and their beats come in that order by `fill_*`, always
//              taken. `committed_*` says that a page was written: its copy is dropped.
// Latency:     2 cycles from a read that is taken to its word.
// Throughput:  64 B a cycle, without gaps between bursts.
// Limits:      a beat that the memory has refused is an error whenever it is read. Reads of a page
//              while it is written return old or new data.
// Does not implement: writes.

`default_nettype none

module fb_payload_prefetch
  import fb_payload_pkg::*;
#(
    parameter int unsigned UnitBits = fb_spec_pkg::DRAM_UNIT_SHIFT,  // log2 of the pages of a unit
    parameter int unsigned Lines = 8,  // pages at hand, a power of two, 4 to 16
    parameter int unsigned AheadPages = 2  // pages fetched ahead, 1 to Lines - 2
) (
    input wire clk,
    input wire rst,

    input wire bar_read_valid,
    output logic bar_read_ready,
    input wire word_addr_t bar_read_addr,
    output logic [511:0] bar_read_word,
    output logic bar_read_error,
    input wire bar_read_stays,  // what is read next goes on in this page,
    input wire bar_next_valid,  // or else, if there is anything,
    input wire [DRAM_PAGE_BITS-1:0] bar_next_page,  // begins here

    output logic                      fetch_valid,
    input  wire                       fetch_ready,
    output logic [DRAM_PAGE_BITS-1:0] fetch_page,
    input  wire                       fill_valid,
    input  wire  [             511:0] fill_data,
    input  wire                       fill_error,

    input wire                      committed_valid,
    input wire [DRAM_PAGE_BITS-1:0] committed_page
);

  if (Lines < 4 || Lines > 16 || (Lines & (Lines - 1)) != 0) begin : gen_bad_lines
    $fatal(1, "fb_payload_prefetch (%m): Lines=%0d must be a power of two from 4 to 16", Lines);
  end
  if (AheadPages < 1 || AheadPages > Lines - 2) begin : gen_bad_ahead
    $fatal(1, "fb_payload_prefetch (%m): AheadPages=%0d must be from 1 to Lines - 2", AheadPages);
  end

  localparam int unsigned LineBits = $clog2(Lines);
  localparam int unsigned SideBits = DRAM_PAGE_BITS - UnitBits - 1;  // unit of one direction

  typedef struct packed {
    logic                read;  // in the half for reads
    logic [SideBits-1:0] unit;
    logic [UnitBits-1:0] page;
  } page_t;

  // ------------------------------------------------------------------------------------- the pages
  page_t tag_q[Lines];
  logic [Lines-1:0] valid_q, full_q;  // may be used; has all its beats
  logic [LineBits-1:0] alloc_q, fill_q;  // the next to be given away; the one that is being filled
  logic fetch_room;  // one more may be asked for
  logic [LineBits:0] filling_q;  // given away and not full
  logic [5:0] beats_q, before_q;  // beats of the one that is being filled, and one fewer
  page_t want_page_q;  // what the SSD will ask for next, if want_q:
  logic want_q, want_due_q, want_looked_q, want_there_q;  // to be looked up, was, and was found
  logic want_due, want_looked, touched_q, resolved;
  logic dropped_q;  // a page is committed: its copy is dropped
  logic aside_q;  // it, or the page that is wanted, is looked up in place of the page that is read
  page_t aside_page_q, given_page;
  logic touch, may_give, give, give_want, miss_q, last_fill;
  assign last_fill = fill_valid && beats_q == '1;

  // Two pages are compared with the tags in each cycle: the next one to be read, so that it is known
  // when its turn comes; and one that was committed, or else the one that is wanted, or else the page
  // that is read, where it is not known yet. A known page stays known until its line is given away,
  // so a burst that began before its page was committed may read on in the old copy.
  typedef struct packed {
    logic                known;
    logic                hit;
    logic                ready;  // and known, and the line has the beat
    logic [LineBits-1:0] line;
  } place_t;
  // Of the page that is read: whether its burst goes on is known late, so both are made ready.
  place_t place, goes_on, goes_on_q, ends, ends_q;
  place_t found, found_next;  // of the page that is read, or aside_page_q; of the next page
  logic went_on_q, looks_want;  // the comparison is that of the page that is wanted
  logic [Lines-1:0] match;

  // The line has the beat after the one that is read, if its page does.
  function automatic logic has_next(input logic [LineBits-1:0] line);
    return full_q[line] || (fill_q == line && bar_read_addr.word < before_q);
  endfunction

  function automatic logic [Lines-1:0] lines_of(input page_t page);
    for (int unsigned i = 0; i < Lines; i++) lines_of[i] = valid_q[i] && tag_q[i] == page;
  endfunction

  // Whether a line that is being filled has the beat is looked at a cycle later.
  function automatic place_t place_in(input logic [Lines-1:0] lines);
    place_in = '0;
    for (int unsigned i = 0; i < Lines; i++)
    if (lines[i])
      place_in |= place_t'{known: 1'b0, hit: 1'b1, ready: full_q[i], line: LineBits'(i)};
  endfunction

  assign looks_want = want_due_q && !dropped_q;
  always_comb begin : look_up
    match = lines_of(aside_q ? aside_page_q : bar_read_addr.page);
    found = place_in(match);
    found_next = place_in(lines_of(bar_next_page));
  end

  assign place = went_on_q ? goes_on_q : ends_q;
  always_comb begin : what_is_next
    {goes_on, ends} = {found, found_next};
    // What is given away may be it, or take its line.
    goes_on.known = !aside_q && !give;
    ends.known = bar_next_valid && !dropped_q && !give;
    if (place.known) begin
      goes_on = place;
      goes_on.known = !give || (place.hit && place.line != alloc_q);
      goes_on.ready = place.hit && (went_on_q ? has_next(goes_on_q.line) : has_next(ends_q.line));
    end
    goes_on.ready &= goes_on.known;
    ends.ready &= ends.known;
  end
  always_ff @(posedge clk) begin : what_is_read
    went_on_q <= bar_read_stays;
    {goes_on_q, ends_q} <= {goes_on, ends};
    if (rst) {goes_on_q, ends_q} <= '0;
  end
  assign bar_read_ready = place.ready;

  // A line is given to what the SSD waits for, or else to what it will ask for next; a cycle late,
  // since what is given meanwhile may be what is missed.
  always_ff @(posedge clk) begin : misses
    dropped_q <= committed_valid;
    aside_page_q <= committed_valid ? committed_page : want_page_q;
    miss_q <= bar_read_valid && place.known && !place.hit && !give && !rst;
    if (looks_want) want_there_q <= found.hit;
    want_due_q <= want_due;
    aside_q <= committed_valid || want_due;
    want_looked_q <= want_looked;
  end
  assign want_looked = (looks_want || want_looked_q) && !dropped_q && !touched_q && !give &&
      !resolved;
  assign want_due = want_q && !touched_q && !resolved && !want_looked && !rst;
  assign may_give = fetch_room && filling_q < (LineBits + 1)'(Lines / 2);
  assign give_want = may_give && !miss_q && want_q && want_looked_q && !want_there_q;
  assign give = (may_give && miss_q) || give_want;
  assign given_page = miss_q ? bar_read_addr.page : want_page_q;

  // One page may wait behind the one that is asked for: a reader that pauses would lose its turn.
  fb_common_fifo #(
      .Width(DRAM_PAGE_BITS),
      .Depth(2)
  ) u_fetches (
      .clk,
      .rst,
      .s_valid(give),
      .s_ready(fetch_room),
      .s_data (given_page),
      .m_valid(fetch_valid),
      .m_ready(fetch_ready),
      .m_data (fetch_page),
      .level  ()
  );

  always_ff @(posedge clk) begin : lines
    if (give) begin
      tag_q[alloc_q] <= given_page;
      alloc_q <= alloc_q + 1'b1;
    end
    for (int unsigned i = 0; i < Lines; i++) begin
      if (dropped_q && match[i]) valid_q[i] <= 1'b0;
      if (give && alloc_q == LineBits'(i)) {valid_q[i], full_q[i]} <= 2'b10;
      if (last_fill && fill_q == LineBits'(i)) full_q[i] <= 1'b1;
    end
    if (fill_valid) {before_q, beats_q} <= last_fill ? '0 : {beats_q, beats_q + 6'd1};
    if (last_fill) fill_q <= fill_q + 1'b1;
    filling_q <= filling_q + (LineBits + 1)'(give) - (LineBits + 1)'(last_fill);
    if (rst) {valid_q, alloc_q, fill_q, filling_q, beats_q, before_q} <= '0;
  end

  fb_common_table #(
      .Width(513),
      .Depth(Lines * 64)
  ) u_store (
      .clk,
      .we(fill_valid),
      .waddr({fill_q, beats_q}),
      .wdata({fill_error, fill_data}),
      .raddr({place.line, bar_read_addr.word}),
      .rdata({bar_read_error, bar_read_word})
  );

  // ------------------------------------------------------------------------------ what comes after
  // How far each unit of the write ring is committed, which one was last, and which one ended the
  // ring's lap, if it has. The two units that share an entry are half of the units apart: where more
  // wait for the SSD, a page of a command may be fetched that the command does not have.
  localparam int unsigned EntryBits = SideBits - 1;
  page_t touched_page_q, committed;
  logic [$clog2(AheadPages+1)-1:0] ahead_q, want_ahead_q;  // pages beyond what the SSD has touched
  logic [UnitBits-1:0] committed_last;
  logic [SideBits-1:0] newest_q, lap_end_q;
  logic write_committed, unit_goes_on;

  assign committed = committed_page;
  assign write_committed = committed_valid && !committed.read;
  assign unit_goes_on = touched_page_q.page < committed_last;
  assign touch = bar_read_valid && bar_read_ready && bar_read_addr.word == '0;
  assign resolved = want_q && want_looked_q && (want_there_q || give_want);

  fb_common_lutram #(
      .Width(UnitBits),
      .Depth(1 << EntryBits)
  ) u_committed (
      .clk,
      .we(write_committed),
      .waddr(committed.unit[EntryBits-1:0]),
      .wdata(committed.page),
      .raddr(touched_page_q.unit[EntryBits-1:0]),
      .rdata(committed_last)
  );

  always_ff @(posedge clk) begin : ahead
    if (write_committed) begin
      newest_q <= committed.unit;
      if (committed.unit < newest_q) lap_end_q <= newest_q;
      else if (committed.unit > lap_end_q) lap_end_q <= '1;
    end
    touched_q <= touch || (resolved && want_ahead_q != ($bits(ahead_q))'(AheadPages));
    touched_page_q <= touch ? bar_read_addr.page : want_page_q;
    ahead_q <= touch ? '0 : want_ahead_q;
    if (touched_q) begin
      want_q <= !touched_page_q.read && (unit_goes_on || touched_page_q.unit != newest_q);
      want_page_q.read <= 1'b0;
      if (unit_goes_on) want_page_q.unit <= touched_page_q.unit;
      else want_page_q.unit <= touched_page_q.unit == lap_end_q ? '0 : touched_page_q.unit + 1'b1;
      want_page_q.page <= unit_goes_on ? touched_page_q.page + 1'b1 : '0;
      want_ahead_q <= ahead_q + 1'b1;
    end else if (resolved) begin
      want_q <= 1'b0;
    end
    if (rst) {touched_q, want_q, lap_end_q} <= {2'b00, {SideBits{1'b1}}};
  end

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_fill_was_asked :
      assert (!fill_valid || filling_q != '0)
      else $error("fb_payload_prefetch (%m): a beat that nobody asked for");
      a_one_copy :
      assert ($onehot0(match))
      else $error("fb_payload_prefetch (%m): lines %b hold the same page", match);
    end
  end
`endif

endmodule

`default_nettype wire
