// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A ring of pages with three pointers, in a part of the buffer whose one edge can move.
//
//   head   the next page on offer
//   look   the oldest command that has not been retired
//   tail   the oldest page that is not free
//
// The lower ring lives in pages [0, Edge) and the upper one in [Edge, Pages), where `edge_now` may
// change at any time: a pointer on its way keeps to the stretch on which it began its lap, and
// only the head, when it comes round, begins the next lap on the new stretch. Pages of one command
// must be neighbours, so a command that meets the end of a lap is cut there by its builder, which
// sees that the next page on offer is not the successor of the last.
//
// Handshake: `offer_valid` and `offer_page` are registers and stay until `take`, except that an
// idle ring (nothing held, no command open) withdraws an offer that the moved edge made unfit.
// `look_step` and `free_step` move a pointer by a number of pages, all within one lap.
// Latency: a freed page is on offer two cycles later. Throughput: one page a cycle.
//
// Does not implement: any knowledge of commands, or of the other ring beyond its extent.

`default_nettype none

module fb_payload_ring #(
    parameter int unsigned Pages = 1024,  // pages of the whole buffer, a power of two
    parameter bit Upper = 1'b0,  // which side of the edge this ring lives on
    localparam int unsigned PageBits = $clog2(Pages),
    localparam int unsigned PtrBits = PageBits + 1
) (
    input wire clk,
    input wire rst,

    input  wire  [PtrBits-1:0] edge_now,  // where the next lap ends (lower) or begins (upper)
    input  wire  [PtrBits-1:0] other,     // extent of the other ring, below which a lower lap stays
    output logic [PtrBits-1:0] extent,    // outermost page held: what the other ring may not use

    output logic                offer_valid,
    output logic [PageBits-1:0] offer_page,
    input  wire                 offer_take,
    input  wire                 open,         // a command is being built: keep the offer

    output logic                look_valid,
    output logic [PageBits-1:0] look_page,
    input  wire                 look_step,
    input  wire  [         8:0] look_count,  // pages, 1..256

    input wire free_step,
    input wire [8:0] free_count,  // pages, 1..256

    output logic [PtrBits-1:0] held  // pages taken and not freed
);

  logic [PtrBits-1:0] head_q, look_q, tail_q;  // pages, Pages itself at the end of an upper lap
  logic [PtrBits-1:0] lap_end_q, lap_start_q;  // where the head last turned, and to where
  logic look_behind_q, tail_behind_q;  // the head is one lap ahead of that pointer
  logic offer_valid_q;
  logic [PageBits-1:0] offer_page_q;
  logic [PtrBits-1:0] held_q, held_d, freed;
  logic none_q;  // held_q was 0 in the cycle before, and nothing was taken
  logic unfit_q;  // the offer is not where an idle ring would begin

  // The stretch on which the head is now or, when it turns, will be: from `restart` to where `below` ends.
  logic [PtrBits-1:0] restart;
  logic below, begins;  // the head is on it; it has a page
  assign restart = Upper ? edge_now : '0;
  if (Upper) begin : gen_upper
    assign below  = head_q < PtrBits'(Pages);
    assign begins = edge_now < PtrBits'(Pages);
    logic unused;
    assign unused = &{1'b0, other, 1'b0};
  end else begin : gen_lower
    assign below  = head_q < edge_now && head_q < other;
    assign begins = edge_now != '0 && other != '0;
  end

  logic room, turn, idle, withdraw, refill, look_turns, tail_turns;
  assign room = below && (!tail_behind_q || head_q < tail_q);
  assign turn = !below && !tail_behind_q && !look_behind_q;
  assign idle = none_q && !open;  // a command that takes a page is open
  assign withdraw = idle && (unfit_q || !offer_valid_q);
  assign refill = !offer_valid_q || offer_take;
  assign freed = free_step ? PtrBits'(free_count) : '0;
  assign held_d = held_q + PtrBits'(offer_take) - freed;
  assign look_turns = look_behind_q && look_q == lap_end_q;
  assign tail_turns = tail_behind_q && tail_q == lap_end_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      offer_valid_q <= 1'b0;
      look_behind_q <= 1'b0;
      tail_behind_q <= 1'b0;
      head_q <= restart;
      look_q <= restart;
      tail_q <= restart;
      held_q <= '0;
      none_q <= 1'b1;
      unfit_q <= 1'b0;
    end else begin
      unfit_q <= PtrBits'(offer_page_q) != restart;  // a cycle late does no harm
      held_q  <= held_d;
      none_q  <= held_q == '0 && !offer_take;  // nor does this

      // A pointer at the end of its lap goes to where the next one began; the tail may step meanwhile.
      look_q  <= look_turns ? lap_start_q : look_q + (look_step ? PtrBits'(look_count) : '0);
      tail_q  <= tail_turns ? lap_start_q + freed : tail_q + freed;
      if (look_turns) look_behind_q <= 1'b0;
      if (tail_turns) tail_behind_q <= 1'b0;

      if (withdraw) begin
        // Begin afresh where the edge is now, with the first page on offer.
        offer_valid_q <= begins;
        offer_page_q <= PageBits'(restart);
        head_q <= restart + PtrBits'(begins);
        look_q <= restart;
        tail_q <= restart;
        look_behind_q <= 1'b0;
        tail_behind_q <= 1'b0;
      end else begin
        if (refill) begin
          offer_valid_q <= room;
          offer_page_q  <= PageBits'(head_q);
          if (room) head_q <= head_q + 1'b1;
        end
        if (turn) begin
          head_q <= restart;
          lap_start_q <= restart;
          lap_end_q <= head_q;
          look_behind_q <= 1'b1;
          tail_behind_q <= 1'b1;
        end
      end
    end
  end

  assign offer_valid = offer_valid_q;
  assign offer_page = offer_page_q;
  assign look_page = PageBits'(look_q);
  assign look_valid = !look_turns;
  assign held = held_q;

  // The lower ring reaches up to `extent` (exclusive), the upper one down to it (inclusive). What
  // the upper one takes shows at once, what it gives back a cycle later.
  if (Upper) begin : gen_upper_extent
    logic [PtrBits-1:0] extent_q;
    always_ff @(posedge clk) begin
      if (rst) extent_q <= restart;
      else if (withdraw || turn) extent_q <= (restart < extent_q) ? restart : extent_q;
      else extent_q <= (tail_behind_q && lap_start_q < tail_q) ? lap_start_q : tail_q;
    end
    assign extent = extent_q;
  end else begin : gen_lower_extent
    assign extent = tail_behind_q ? lap_end_q : head_q;
  end

`ifndef SYNTHESIS
  a_take_offered :
  assert property (@(posedge clk) disable iff (rst) offer_take |-> offer_valid)
  else $error("fb_payload_ring (%m): a page was taken that was not on offer");
  a_free_held :
  assert property (@(posedge clk) disable iff (rst) free_step |-> held_q >= PtrBits'(free_count))
  else $error("fb_payload_ring (%m): more pages freed than held");
  a_look_in_lap :
  assert property (@(posedge clk) disable iff (rst) look_step |-> look_valid)
  else $error("fb_payload_ring (%m): the look pointer moved while it was turning");
`endif

endmodule

`default_nettype wire
