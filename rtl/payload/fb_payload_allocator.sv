// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The payload buffer shared by writes (lower ring) and reads (upper ring).
//
// Each direction has a ring of its own, so a reader that does not take its data can never stop a
// writer, nor the other way round, and a design that feeds what it reads back into a write cannot
// lock up. The edge between the two follows demand: while one direction rests, the other has all
// but `ReservePages`; while both work, each has half. A direction that wakes up finds its reserve
// at once and the rest when the other ring has come round.
//
// Safe by construction: each ring stops at the farther of the wanted edge and the pages that the
// other one still holds.
//
// Ports: wr_* the lower ring, rd_* the upper one; see fb_payload_ring.

`default_nettype none

module fb_payload_allocator #(
    parameter int unsigned Pages = 1024,  // a power of two, 16 to 4096
    parameter int unsigned ReservePages = 64,  // pages that a resting direction keeps
    localparam int unsigned PageBits = $clog2(Pages),
    localparam int unsigned PtrBits = PageBits + 1
) (
    input wire clk,
    input wire rst,

    output logic                wr_offer_valid,
    output logic [PageBits-1:0] wr_offer_page,
    input  wire                 wr_offer_take,
    input  wire                 wr_open,
    output logic                wr_look_valid,
    output logic [PageBits-1:0] wr_look_page,
    input  wire                 wr_look_step,
    input  wire  [         8:0] wr_look_count,
    input  wire                 wr_free_step,
    input  wire  [         8:0] wr_free_count,
    output logic [ PtrBits-1:0] wr_held,

    output logic                rd_offer_valid,
    output logic [PageBits-1:0] rd_offer_page,
    input  wire                 rd_offer_take,
    input  wire                 rd_open,
    output logic                rd_look_valid,
    output logic [PageBits-1:0] rd_look_page,
    input  wire                 rd_look_step,
    input  wire  [         8:0] rd_look_count,
    input  wire                 rd_free_step,
    input  wire  [         8:0] rd_free_count,
    output logic [ PtrBits-1:0] rd_held
);

  if (Pages < 16 || Pages > 4096 || (Pages & (Pages - 1)) != 0) begin : gen_bad_pages
    $fatal(1, "fb_payload_allocator (%m): Pages=%0d must be a power of two from 16 to 4096", Pages);
  end
  if (ReservePages < 1 || ReservePages > Pages / 2) begin : gen_bad_reserve
    $fatal(1, "fb_payload_allocator (%m): ReservePages=%0d must be 1 to Pages/2", ReservePages);
  end

  logic wr_active_q, rd_active_q;
  always_ff @(posedge clk) begin
    wr_active_q <= wr_open || wr_held != '0;
    rd_active_q <= rd_open || rd_held != '0;
  end

  // The upper ring begins a lap where the edge should be, or where the lower one ended a cycle ago;
  // meanwhile the lower one has gone no further than it should have in both cycles.
  logic [PtrBits-1:0] wanted_d, wanted_q;  // where the edge should be
  logic [PtrBits-1:0] wr_extent, rd_extent, wr_edge_q, rd_edge_q;
  always_comb begin
    if (wr_active_q == rd_active_q) wanted_d = PtrBits'(Pages / 2);
    else if (wr_active_q) wanted_d = PtrBits'(Pages - ReservePages);
    else wanted_d = PtrBits'(ReservePages);
  end
  always_ff @(posedge clk) begin
    wanted_q  <= rst ? PtrBits'(Pages / 2) : wanted_d;
    wr_edge_q <= (wanted_d < wanted_q) ? wanted_d : wanted_q;
    rd_edge_q <= (wr_extent > wanted_q) ? wr_extent : wanted_q;
  end

  fb_payload_ring #(
      .Pages(Pages),
      .Upper(1'b0)
  ) u_wr (
      .clk,
      .rst,
      .edge_now(wr_edge_q),
      .other(rd_extent),
      .extent(wr_extent),
      .offer_valid(wr_offer_valid),
      .offer_page(wr_offer_page),
      .offer_take(wr_offer_take),
      .open(wr_open),
      .look_valid(wr_look_valid),
      .look_page(wr_look_page),
      .look_step(wr_look_step),
      .look_count(wr_look_count),
      .free_step(wr_free_step),
      .free_count(wr_free_count),
      .held(wr_held)
  );

  fb_payload_ring #(
      .Pages(Pages),
      .Upper(1'b1)
  ) u_rd (
      .clk,
      .rst,
      .edge_now(rd_edge_q),
      .other(wr_extent),
      .extent(rd_extent),
      .offer_valid(rd_offer_valid),
      .offer_page(rd_offer_page),
      .offer_take(rd_offer_take),
      .open(rd_open),
      .look_valid(rd_look_valid),
      .look_page(rd_look_page),
      .look_step(rd_look_step),
      .look_count(rd_look_count),
      .free_step(rd_free_step),
      .free_count(rd_free_count),
      .held(rd_held)
  );

`ifndef SYNTHESIS
  // The promise of this module.
  a_apart :
  assert property (@(posedge clk) disable iff (rst) wr_extent <= rd_extent)
  else $error("fb_payload_allocator (%m): the rings overlap");
`endif

endmodule

`default_nettype wire
