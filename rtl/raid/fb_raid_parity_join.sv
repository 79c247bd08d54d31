// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_parity_join: one packet for each of the user's reads, from those of its pieces.
//
// What:        pieces follow each other without TLAST between them. Those that a missing chunk is the
//              sum of are added up, and only the last of them is sent on, as the sum of all. The first
//              piece that fails ends the user's read with its error; those behind it are swallowed.
//              Without parity packets go through as they are.
// Handshake:   AXI4-Stream; TREADY follows the user's within the cycle. TVALID never falls before
//              TREADY, not even by a restart. `piece` is there before the first beat of its packet.
// Latency:     one cycle. Throughput: 64 bytes a cycle, of the pieces as they come.
// 512-bit registers: the output, and that of the memory of the sum.
// Does not implement: pieces of other drives at the same time.

`default_nettype none

module fb_raid_parity_join
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Beats = 1024  // of the longest chunk, a power of two
) (
    input wire clk,
    input wire rst,     // of the whole streamer
    input wire restart, // a new life of the queue: forget everything but a read half sent
    input wire parity,  // the array has it

    input  wire         piece_valid,
    output logic        piece_ready,
    input  wire piece_t piece,

    fb_axis_if.target s_axis_rd,
    fb_axis_if.initiator m_axis_rd
);

  logic swallow_q;  // the user's read has ended with an error
  logic owed_q;  // it was cut in two by a restart: its end comes from here
  logic late_q;  // and so was a piece: its end is still to come, and of no use
  logic inside_q, inside_piece_q;

  // The user's next beat, behind the one that is on offer; a beat moves on this side, on the user's.
  logic next_valid, next_ready, next_last, take, give;
  assign next_ready = !m_axis_rd.tvalid || m_axis_rd.tready;
  assign take = s_axis_rd.tvalid && s_axis_rd.tready;
  assign give = next_valid && next_ready;

  // What the beat on offer is for.
  logic known, adds, shown, sum_ready;
  assign known = s_axis_rd.tvalid && !late_q && !owed_q && (!parity || piece_valid) && sum_ready;
  assign adds = parity && piece.sum && !swallow_q;
  assign shown = !parity || (!swallow_q && (piece.shown || s_axis_rd.tuser));
  assign s_axis_rd.tready = late_q || (known && (!shown || next_ready));
  assign piece_ready = take && !late_q && s_axis_rd.tlast;

  logic [DATA_BITS-1:0] sum;
  fb_raid_xor #(
      .Beats(Beats)
  ) u_sum (
      .clk,
      .rst  (rst || restart),
      .first(!adds || piece.first || s_axis_rd.tuser),
      .step (take && !late_q && adds),
      .last (s_axis_rd.tlast),
      .data (s_axis_rd.tdata),
      .ready(sum_ready),
      .beat (),
      .sum
  );

  assign next_valid = (known && shown) || owed_q;
  assign next_last  = (s_axis_rd.tlast && (!parity || piece.last || s_axis_rd.tuser)) || owed_q;
  always_ff @(posedge clk) begin
    m_axis_rd.tvalid <= (next_valid || !next_ready) && !rst;
    if (next_ready) begin
      m_axis_rd.tdata <= owed_q ? DATA_BITS'(ERR_HALTED) : sum;
      m_axis_rd.tkeep <= s_axis_rd.tkeep & {DATA_BITS / 8{!owed_q}};
      m_axis_rd.tuser <= s_axis_rd.tuser || owed_q;
      m_axis_rd.tlast <= next_last;
    end
    // What ends a read that was cut has its tag, that of the last beat.
    if (give && !owed_q) m_axis_rd.tid <= parity ? piece.tag : s_axis_rd.tid;
  end

  always_ff @(posedge clk) begin
    if (take) inside_piece_q <= !s_axis_rd.tlast;
    if (give) inside_q <= !next_last;
    if (take && s_axis_rd.tlast && parity && !late_q)
      swallow_q <= !piece.last && (swallow_q || s_axis_rd.tuser);
    if (restart) swallow_q <= 1'b0;
    owed_q <= restart ? (give ? !next_last : inside_q) : owed_q && !give;
    // A beat that is on offer here stays so.
    if (restart) late_q <= take ? !s_axis_rd.tlast : s_axis_rd.tvalid || inside_piece_q;
    else late_q <= late_q && !take;
    if (rst) {swallow_q, owed_q, late_q, inside_q, inside_piece_q} <= '0;
  end

`ifndef SYNTHESIS
  a_piece_known :
  assert property (@(posedge clk) disable iff (rst || restart)
                   parity && s_axis_rd.tvalid && !late_q |-> piece_valid)
  else $error("fb_raid_parity_join (%m): a beat of a piece that nobody has asked for");
`endif

endmodule

`default_nettype wire
