// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_prefetch: pages of the buffer in DRAM, at hand before the SSD asks for them.
//
// What:        serves the SSD's reads of the buffer from a few pages in block RAM. A page that
//              is not there is fetched as a whole; the first beat that the SSD takes of a page has
//              the pages after it fetched, in the order of the write ring: the rest of the command,
//              as far as it is committed, then the first pages of the next committed unit.
// Handshake:   reads as fb_bar_target asks for them, which also tells what will be read next. Pages
//              are asked for by `fetch_*`, and their beats come in that order by `fill_*`, always
//              taken. `committed_*` says that a page was written: its copy is dropped.
// Latency:     2 cycles from a read that is taken to its word.
// Throughput:  64 B a cycle, without gaps between bursts.
// Limits:      a beat that the memory has refused is an error whenever it is read. Reads of a page
//              while it is written return old or new data.
// Does not implement: writes.

`default_nettype none

module fb_payload_prefetch #(
    parameter int unsigned UnitBits = fb_spec_pkg::DRAM_UNIT_SHIFT,  // log2 of the pages of a unit
    parameter int unsigned Lines = 8,  // pages at hand, a power of two, 4 to 16
    parameter int unsigned AheadPages = 2,  // pages fetched ahead, 1 to Lines - 2
    localparam int unsigned PageBits = $clog2(fb_spec_pkg::DRAM_WINDOW_BYTES) - 12,
    localparam int unsigned WordBits = PageBits + 6
) (
    input wire clk,
    input wire rst,

    input  wire                 bar_read_valid,
    output logic                bar_read_ready,
    input  wire  [WordBits-1:0] bar_read_addr,
    output logic [       511:0] bar_read_word,
    output logic                bar_read_error,
    input  wire                 bar_read_stays,  // what is read next goes on in this page,
    input  wire                 bar_next_valid,  // or else, if there is anything,
    input  wire  [WordBits-1:0] bar_next_addr,   // begins here

    output logic                fetch_valid,
    input  wire                 fetch_ready,
    output logic [PageBits-1:0] fetch_page,
    input  wire                 fill_valid,
    input  wire  [       511:0] fill_data,
    input  wire                 fill_error,

    input wire                committed_valid,
    input wire [PageBits-1:0] committed_page
);

  if (Lines < 4 || Lines > 16 || (Lines & (Lines - 1)) != 0) begin : gen_bad_lines
    $fatal(1, "fb_payload_prefetch (%m): Lines=%0d must be a power of two from 4 to 16", Lines);
  end
  if (AheadPages < 1 || AheadPages > Lines - 2) begin : gen_bad_ahead
    $fatal(1, "fb_payload_prefetch (%m): AheadPages=%0d must be from 1 to Lines - 2", AheadPages);
  end

  localparam int unsigned LineBits = $clog2(Lines);
  localparam int unsigned SideBits = PageBits - UnitBits - 1;  // index of a unit of one direction

  logic [PageBits-1:0] read_page, next_page;
  assign read_page = bar_read_addr[WordBits-1:6];
  assign next_page = bar_next_addr[WordBits-1:6];

  // ------------------------------------------------------------------------------------- the pages
  logic [PageBits-1:0] tag_q[Lines];
  logic [Lines-1:0] valid_q, full_q;  // may be used; has all its beats
  logic [LineBits-1:0] alloc_q, fill_q;  // the next to be given away; the one that is being filled
  logic [LineBits:0] filling_q;  // given away and not full
  logic [6:0] beats_q;  // of the one that is being filled
  logic fetch_room;  // one more may be asked for
  logic want_q, touched_q, resolved;
  logic [PageBits-1:0] want_page_q;
  logic want_due_q, want_looked_q, want_there_q;  // that is to be looked up, was, and was found
  logic want_due, want_looked;
  logic dropped_q;  // a page is committed: its copy is dropped
  logic aside_q;  // it, or the page that is wanted, is looked up
  logic [PageBits-1:0] aside_page_q;  // that page, or else the one that is wanted
  logic go, touch, give, miss_q, give_miss, give_want, last_fill;
  assign last_fill = fill_valid && beats_q == 7'd63;

  // One page is compared with the tags in each cycle: one that was committed, or else the one that is
  // wanted, or else the next page to be read, so that it is known when its turn comes; or the page
  // that is read, where it is not known yet. A known page stays known until its line is given away,
  // so a burst that began before its page was committed may read on in the old copy.
  typedef struct packed {
    logic                hit;
    logic                ready;  // the line has the beat, or all
    logic [LineBits-1:0] line;
  } place_t;
  place_t place_q, stays, found;  // of the page that is read; what was looked up
  logic known_q;
  logic looks, looks_want;  // the comparison is that for reading, that of the page that is wanted
  logic [PageBits-1:0] look_page;
  logic [5:0] look_beat;
  logic [Lines-1:0] match;

  function automatic logic has_beat(input logic [LineBits-1:0] line, input logic [6:0] beat);
    return full_q[line] || (fill_q == line && beat < beats_q);
  endfunction

  assign looks_want = want_due_q && !dropped_q;
  assign looks = !aside_q;
  assign look_page = !looks ? aside_page_q : known_q ? next_page : read_page;
  assign look_beat = known_q ? bar_next_addr[5:0] : bar_read_addr[5:0];
  always_comb begin : look_up
    found = '0;
    for (int unsigned i = 0; i < Lines; i++) begin
      match[i] = valid_q[i] && tag_q[i] == look_page;
      if (match[i])
        found |= place_t'{
            hit: 1'b1,
            ready: has_beat(LineBits'(i), {1'b0, look_beat}),
            line: LineBits'(i)
        };
    end
    stays = place_q;
    // The page goes on with the beat after this one.
    stays.ready = place_q.hit && has_beat(place_q.line, bar_read_addr[5:0] + 7'd1);
  end

  always_ff @(posedge clk) begin : what_is_read
    place_q <= (known_q && bar_read_stays) ? stays : found;
    if (!known_q) known_q <= bar_read_stays && looks;
    else if (!bar_read_stays) known_q <= bar_next_valid && looks;
    // What is given away may be that page, or take its line.
    if ((give_miss || give_want) && !(known_q && bar_read_stays && place_q.hit &&
        place_q.line != alloc_q))
      known_q <= 1'b0;
    if (rst) known_q <= 1'b0;
  end
  assign bar_read_ready = known_q && place_q.ready;
  assign go = bar_read_valid && bar_read_ready;

  // A line is given to what the SSD waits for, or else to what it will ask for next; a cycle late,
  // since what is given meanwhile may be what is missed.
  always_ff @(posedge clk) begin : misses
    dropped_q <= committed_valid;
    aside_page_q <= committed_valid ? committed_page : want_page_q;
    miss_q <= bar_read_valid && known_q && !place_q.hit && !give_miss && !give_want && !rst;
    if (looks_want) want_there_q <= found.hit;
    want_due_q <= want_due;
    aside_q <= committed_valid || want_due;
    want_looked_q <= want_looked;
  end
  assign want_looked = (looks_want || want_looked_q) && !dropped_q && !touched_q && !give_miss &&
      !give_want && !resolved;
  assign want_due = want_q && !touched_q && !resolved && !want_looked && !rst;
  assign give = fetch_room && filling_q < (LineBits + 1)'(Lines / 2);
  assign give_miss = give && miss_q;
  assign give_want = give && !miss_q && want_q && want_looked_q && !want_there_q;

  // One page may wait behind the one that is asked for: a reader that pauses would lose its turn.
  fb_common_fifo #(
      .Width(PageBits),
      .Depth(2)
  ) u_fetches (
      .clk,
      .rst,
      .s_valid(give_miss || give_want),
      .s_ready(fetch_room),
      .s_data (give_miss ? read_page : want_page_q),
      .m_valid(fetch_valid),
      .m_ready(fetch_ready),
      .m_data (fetch_page),
      .level  ()
  );

  always_ff @(posedge clk) begin : lines
    if (give_miss || give_want) begin
      tag_q[alloc_q] <= give_miss ? read_page : want_page_q;
      alloc_q <= alloc_q + 1'b1;
    end
    for (int unsigned i = 0; i < Lines; i++) begin
      if (dropped_q && match[i]) valid_q[i] <= 1'b0;
      if ((give_miss || give_want) && alloc_q == LineBits'(i)) begin
        valid_q[i] <= 1'b1;
        full_q[i]  <= 1'b0;
      end
      if (last_fill && fill_q == LineBits'(i)) full_q[i] <= 1'b1;
    end
    if (fill_valid) beats_q <= last_fill ? '0 : beats_q + 1'b1;
    if (last_fill) fill_q <= fill_q + 1'b1;
    filling_q <= filling_q + (LineBits + 1)'(give_miss || give_want) - (LineBits + 1)'(last_fill);
    if (rst) begin
      valid_q <= '0;
      alloc_q <= '0;
      fill_q <= '0;
      filling_q <= '0;
      beats_q <= '0;
    end
  end

  (* ram_style = "block" *)
  logic [512:0] store  [Lines*64];
  logic [512:0] word_q;
  always_ff @(posedge clk) begin : memory
    if (fill_valid) store[{fill_q, beats_q[5:0]}] <= {fill_error, fill_data};
    word_q <= store[{place_q.line, bar_read_addr[5:0]}];
    {bar_read_error, bar_read_word} <= word_q;  // the output register of the block RAM
  end

  // ------------------------------------------------------------------------------ what comes after
  // How far each unit of the write ring is committed, which one was last, and which one ended the
  // ring's lap, if it has. The two units that share an entry are half of the units apart: where more
  // wait for the SSD, a page of a command may be fetched that the command does not have.
  localparam int unsigned EntryBits = SideBits - 1;
  logic [PageBits-1:0] touched_page_q;
  logic [$clog2(AheadPages+1)-1:0] ahead_q, want_ahead_q;  // pages beyond what the SSD has touched
  logic [UnitBits-1:0] committed_last;
  logic [SideBits-1:0] newest_q, lap_end_q, touched_unit, committed_unit;
  logic goes_on;

  assign touched_unit = touched_page_q[PageBits-2:UnitBits];
  assign committed_unit = committed_page[PageBits-2:UnitBits];
  assign goes_on = touched_page_q[UnitBits-1:0] < committed_last;
  assign touch = go && bar_read_addr[5:0] == '0;
  assign resolved = want_q && want_looked_q && (want_there_q || give_want);

  fb_common_lutram #(
      .Width(UnitBits),
      .Depth(1 << EntryBits)
  ) u_committed (
      .clk,
      .we(committed_valid && !committed_page[PageBits-1]),
      .waddr(committed_unit[EntryBits-1:0]),
      .wdata(committed_page[UnitBits-1:0]),
      .raddr(touched_unit[EntryBits-1:0]),
      .rdata(committed_last)
  );

  always_ff @(posedge clk) begin : ahead
    if (committed_valid && !committed_page[PageBits-1]) begin
      newest_q <= committed_unit;
      if (committed_unit < newest_q) lap_end_q <= newest_q;
      else if (committed_unit > lap_end_q) lap_end_q <= '1;
    end
    touched_q <= 1'b0;
    if (touch) begin
      touched_q <= 1'b1;
      touched_page_q <= read_page;
      ahead_q <= '0;
    end else if (resolved && want_ahead_q != ($bits(ahead_q))'(AheadPages)) begin
      touched_q <= 1'b1;
      touched_page_q <= want_page_q;
      ahead_q <= want_ahead_q;
    end
    if (touched_q) begin
      want_q <= !touched_page_q[PageBits-1] && (goes_on || touched_unit != newest_q);
      want_page_q <= {
        1'b0,
        goes_on ? touched_unit : (touched_unit == lap_end_q) ? '0 : touched_unit + 1'b1,
        goes_on ? touched_page_q[UnitBits-1:0] + 1'b1 : {UnitBits{1'b0}}
      };
      want_ahead_q <= ahead_q + 1'b1;
    end else if (resolved) begin
      want_q <= 1'b0;
    end
    if (rst) begin
      touched_q <= 1'b0;
      want_q <= 1'b0;
      lap_end_q <= '1;
    end
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
      else $error("fb_payload_prefetch (%m): page %0h is there twice", look_page);
    end
  end
`endif

endmodule

`default_nettype wire
