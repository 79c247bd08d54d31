// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_allocator: the payload buffer, shared by writes and reads.
//
// What:        each direction has a ring of units, called pages here, so that a reader that does not take
//              its data never stops a writer, nor the other way round, and a design that feeds what it
//              reads back into a write cannot lock up. The lower ring, of writes, lives in pages
//              [0, edge), the upper one, of reads, in [edge, Pages). The edge follows demand: while
//              one direction rests, the other has all but `ReservePages`; while both work, each has
//              half. A direction that wakes up finds its reserve at once, and the rest when the other
//              ring has come round. Each ring stops at the farther of the wanted edge and the pages
//              that the other one still holds.
//              In a ring `head` is the next page on offer, `look` the oldest command that has not been
//              retired, `tail` the oldest page that is not free. A pointer keeps to the stretch on
//              which it began its lap; only the head, when it comes round, begins the next lap on the
//              stretch that the edge then leaves. Pages of one command must be neighbours, so a command
//              that meets the end of a lap is cut there by its builder, which sees that the next page on
//              offer is not the successor of the last.
// Handshake:   `offer_valid` and `offer_page` are registers and stay until `take`, except that an idle
//              ring (nothing held, no command open) withdraws an offer that the moved edge made
//              unfit. `look_step` and `free_step` move a pointer by a number of pages, within one lap.
// Latency:     a freed page is on offer two cycles later. Throughput: one page a cycle.
// Does not implement: any knowledge of commands.

`default_nettype none

module fb_payload_allocator #(
    parameter int unsigned Pages = 1024,  // a power of two, 16 to 4096
    parameter int unsigned ReservePages = 64,  // pages that a resting direction keeps
    localparam int unsigned PageBits = $clog2(Pages),
    localparam int unsigned PtrBits = PageBits + 1
) (
    input wire clk,
    input wire rst,

    // Of each: 0 the ring of writes, the lower one; 1 that of reads, the upper one.
    output logic [1:0]               offer_valid,
    output logic [1:0][PageBits-1:0] offer_page,
    input  wire  [1:0]               offer_take,
    input  wire  [1:0]               open,         // a command is being built: keep the offer
    output logic [1:0]               look_valid,
    output logic [1:0][PageBits-1:0] look_page,
    input  wire  [1:0]               look_step,
    input  wire  [1:0][         8:0] look_count,   // pages, 1 to 256
    input  wire  [1:0]               free_step,
    input  wire  [1:0][         8:0] free_count,   // pages, 1 to 256
    output logic [1:0][ PtrBits-1:0] held          // pages taken and not freed
);

  if (Pages < 16 || Pages > 4096 || (Pages & (Pages - 1)) != 0) begin : gen_bad_pages
    $fatal(1, "fb_payload_allocator (%m): Pages=%0d must be a power of two from 16 to 4096", Pages);
  end
  if (ReservePages < 1 || ReservePages > Pages / 2) begin : gen_bad_reserve
    $fatal(1, "fb_payload_allocator (%m): ReservePages=%0d must be 1 to Pages/2", ReservePages);
  end

  logic [1:0] active_q;
  logic [1:0][PtrBits-1:0] edge_q;  // where the next lap ends (lower) or begins (upper)
  logic [1:0][PtrBits-1:0] extent;  // outermost page held: what the other ring may not use

  // The upper ring begins a lap where the edge should be, or where the lower one ended a cycle ago;
  // meanwhile the lower one has gone no further than it should have in both cycles.
  logic [PtrBits-1:0] wanted_d, wanted_q;  // where the edge should be
  assign wanted_d = (active_q[0] == active_q[1]) ? PtrBits'(Pages / 2) :
      PtrBits'(active_q[0] ? Pages - ReservePages : ReservePages);
  always_ff @(posedge clk) begin
    wanted_q  <= rst ? PtrBits'(Pages / 2) : wanted_d;
    edge_q[0] <= (wanted_d < wanted_q) ? wanted_d : wanted_q;
    edge_q[1] <= (extent[0] > wanted_q) ? extent[0] : wanted_q;
  end

  for (genvar r = 0; r < 2; r++) begin : gen_ring
    logic [PtrBits-1:0] head_q, look_q, tail_q;  // pages, Pages itself at the end of an upper lap
    logic [PtrBits-1:0] lap_end_q, lap_start_q;  // where the head last turned, and to where
    logic look_behind_q, tail_behind_q;  // the head is one lap ahead of that pointer
    logic none_q;  // held was 0 in the cycle before, and nothing was taken
    logic unfit_q;  // the offer is not where an idle ring would begin
    logic [PtrBits-1:0] freed;
    logic room, turn, withdraw, look_turns, tail_turns;
    // The stretch on which the head is now or, when it turns, will be: from `restart` to where `below` ends.
    logic [PtrBits-1:0] restart;
    logic below, begins;  // the head is on it; it has a page

    // The lower ring reaches up to `extent` (exclusive), the upper one down to it (inclusive). What
    // the upper one takes shows at once, what it gives back a cycle later.
    if (r == 0) begin : gen_lower
      assign restart = '0;
      assign below = head_q < edge_q[0] && head_q < extent[1];
      assign begins = edge_q[0] != '0 && extent[1] != '0;
      assign extent[0] = tail_behind_q ? lap_end_q : head_q;
    end else begin : gen_upper
      assign restart = edge_q[1];
      assign below   = head_q < PtrBits'(Pages);
      assign begins  = edge_q[1] < PtrBits'(Pages);
      logic [PtrBits-1:0] extent_q;
      always_ff @(posedge clk) begin
        if (rst) extent_q <= restart;
        else if (withdraw || turn) extent_q <= (restart < extent_q) ? restart : extent_q;
        else extent_q <= (tail_behind_q && lap_start_q < tail_q) ? lap_start_q : tail_q;
      end
      assign extent[1] = extent_q;
    end

    assign room = below && (!tail_behind_q || head_q < tail_q);
    assign turn = !below && !tail_behind_q && !look_behind_q;
    // Where no command that takes a page is open.
    assign withdraw = none_q && !open[r] && (unfit_q || !offer_valid[r]);
    assign freed = free_step[r] ? PtrBits'(free_count[r]) : '0;
    assign look_turns = look_behind_q && look_q == lap_end_q;
    assign tail_turns = tail_behind_q && tail_q == lap_end_q;

    always_ff @(posedge clk) begin
      active_q[r] <= open[r] || held[r] != '0;
      if (rst) begin
        {offer_valid[r], look_behind_q, tail_behind_q, unfit_q, held[r]} <= '0;
        {head_q, look_q, tail_q} <= {3{restart}};
        none_q <= 1'b1;
      end else begin
        unfit_q <= PtrBits'(offer_page[r]) != restart;  // a cycle late does no harm
        held[r] <= held[r] + PtrBits'(offer_take[r]) - freed;
        none_q <= held[r] == '0 && !offer_take[r];  // nor does this

        // A pointer at the end of its lap goes to where the next one began; the tail may step meanwhile.
        look_q <= look_turns ? lap_start_q : look_q + (look_step[r] ? PtrBits'(look_count[r]) : '0);
        tail_q <= (tail_turns ? lap_start_q : tail_q) + freed;
        if (look_turns) look_behind_q <= 1'b0;
        if (tail_turns) tail_behind_q <= 1'b0;

        if (withdraw) begin
          // Begin afresh where the edge is now, with the first page on offer.
          offer_valid[r] <= begins;
          offer_page[r] <= PageBits'(restart);
          head_q <= restart + PtrBits'(begins);
          {look_q, tail_q} <= {2{restart}};
          {look_behind_q, tail_behind_q} <= '0;
        end else begin
          if (!offer_valid[r] || offer_take[r]) begin
            offer_valid[r] <= room;
            offer_page[r]  <= PageBits'(head_q);
            if (room) head_q <= head_q + 1'b1;
          end
          if (turn) begin
            head_q <= restart;
            lap_start_q <= restart;
            lap_end_q <= head_q;
            {look_behind_q, tail_behind_q} <= '1;
          end
        end
      end
    end
    assign look_valid[r] = !look_turns;
    assign look_page[r]  = PageBits'(look_q);

`ifndef SYNTHESIS
    a_take_offered :
    assert property (@(posedge clk) disable iff (rst) offer_take[r] |-> offer_valid[r])
    else $error("fb_payload_allocator (%m): a page was taken that was not on offer");
    a_free_held :
    assert property (@(posedge clk) disable iff (rst) free_step[r] |-> held[r] >= freed)
    else $error("fb_payload_allocator (%m): more pages freed than held");
    a_look_in_lap :
    assert property (@(posedge clk) disable iff (rst) look_step[r] |-> !look_turns)
    else $error("fb_payload_allocator (%m): the look pointer moved while it was turning");
`endif
  end

`ifndef SYNTHESIS
  a_apart :
  assert property (@(posedge clk) disable iff (rst) extent[0] <= extent[1])
  else $error("fb_payload_allocator (%m): the rings overlap");
`endif

endmodule

`default_nettype wire
