// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axis_arbiter: one packet after the other, from several sources.
//
// What:        chooses between packets, never within one. The first sources go before all others, in
//              their order; those from `Fair` on take turns. A source without `may_begin` begins no
//              packet, and goes on with one that it has begun.
// Handshake:   valid/ready; each side follows the other within the cycle.
// Latency:     none; with `Ahead` the choice has a cycle of its own before each packet, so that no path
//              leads from one source's valid through the choice to another's ready.
// Throughput:  a beat a cycle; with `Ahead` but one for each packet.
// Limits:      512-bit registers: none.
// Does not implement: shares; packets that wait are not counted.

`default_nettype none

module fb_axis_arbiter #(
    parameter int unsigned Sources = 2,  // 2 to 4
    parameter int unsigned Width = 512,  // bits of a beat but TLAST
    parameter int unsigned Fair = Sources,  // the first source that takes turns
    parameter bit Ahead = 1'b0,  // the choice has a cycle of its own
    localparam int unsigned Bits = $clog2(Sources)
) (
    input wire clk,
    input wire rst,

    input  wire  [Sources-1:0]            may_begin,
    input  wire  [Sources-1:0]            s_valid,
    output logic [Sources-1:0]            s_ready,
    input  wire  [Sources-1:0][Width-1:0] s_data,
    input  wire  [Sources-1:0]            s_last,

    output logic             m_valid,
    input  wire              m_ready,
    output logic [Width-1:0] m_data,
    output logic             m_last,
    output logic             begins,   // for one cycle: a packet was chosen
    output logic [ Bits-1:0] source    // whose it is, then and until its end
);

  if (Sources < 2 || Sources > 4) begin : gen_bad_sources
    $fatal(1, "fb_axis_arbiter (%m): Sources=%0d must be 2 to 4", Sources);
  end

  logic open_q;  // a packet was chosen, and has not ended
  logic [Bits-1:0] chosen_q, chosen;
  logic [Bits-1:0] went_q;  // who went last of those that take turns
  logic [Sources-1:0] wants, first;  // first: of those that want, who go before all others
  logic goes;  // a beat may pass
  logic [Bits-1:0] going;  // the source of that beat

  assign wants  = s_valid & may_begin;
  assign first  = wants & Sources'((1 << Fair) - 1);
  assign begins = !open_q && wants != '0;
  assign source = open_q ? chosen_q : chosen;
  // With `Ahead` nothing passes in the cycle of the choice, and no beat waits for that.
  assign goes   = open_q || (begins && !Ahead);
  assign going  = Ahead ? chosen_q : source;

  fb_common_turn #(
      .Sources(Sources)
  ) u_turn (
      .wants,
      .last(first != '0 ? '1 : went_q),
      .next(chosen)
  );

  always_comb begin : pass
    m_valid = goes && s_valid[going];
    m_data = s_data[going];
    m_last = s_last[going];
    s_ready = '0;
    s_ready[going] = goes && m_ready;
  end

  always_ff @(posedge clk) begin : take_turns
    if (begins) chosen_q <= chosen;
    if (begins && int'(chosen) >= int'(Fair)) went_q <= chosen;
    open_q <= (open_q || begins) && !(m_valid && m_ready && m_last);
    if (rst) {open_q, went_q} <= '0;
  end

endmodule

`default_nettype wire
