// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_xor: chunks laid upon each other, beat by beat, by exclusive or.
//
// What:        a cursor goes through the beats of a chunk, again and again. `sum` is the beat offered
//              and what lies at the cursor; a step leaves it there. In the `first` round nothing lies
//              there yet. The beat at the cursor is read ahead, so that it is at hand in time.
// Handshake:   `step` only while `ready`; `last` with it ends the round.
// Latency:     `sum` follows `data` in the same cycle.
// Throughput:  a beat a cycle; a round of one beat takes two.
// 512-bit registers: none but the output that block RAM has.
// Does not implement: rounds of different lengths, which nobody has.

`default_nettype none

module fb_raid_xor
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Beats = 1024,  // of the longest chunk, a power of two, 64 to 16384
    localparam int unsigned AddrBits = $clog2(Beats)
) (
    input wire clk,
    input wire rst,  // the cursor is at the first beat

    input  wire                  first,
    input  wire                  step,
    input  wire                  last,
    input  wire  [DATA_BITS-1:0] data,
    output logic                 ready,
    output logic [ AddrBits-1:0] beat,   // where the cursor is
    output logic [DATA_BITS-1:0] sum
);

  if (Beats < 64 || Beats > 16384 || (Beats & (Beats - 1)) != 0) begin : gen_bad_beats
    $fatal(1, "fb_raid_xor (%m): Beats=%0d must be a power of two from 64 to 16384", Beats);
  end

  (* ram_style = "block" *)
  logic [DATA_BITS-1:0] store[Beats];
  logic [DATA_BITS-1:0] stored_q;
  logic [AddrBits-1:0] next_beat;

  assign next_beat = rst ? '0 : !step ? beat : last ? '0 : beat + 1'b1;
  assign sum = data ^ (first ? '0 : stored_q);

  always_ff @(posedge clk) begin
    if (step) store[beat] <= sum;
    stored_q <= store[next_beat];
    beat <= next_beat;
    // What is written in this cycle is not yet what is read.
    ready <= !(step && next_beat == beat);
  end

`ifndef SYNTHESIS
  a_step_ready :
  assert property (@(posedge clk) disable iff (rst) step |-> ready)
  else $error("fb_raid_xor (%m): a step onto a beat that was not read yet");
  a_in_chunk :
  assert property (@(posedge clk) disable iff (rst) step && beat == '1 |-> last)
  else $error("fb_raid_xor (%m): a chunk of more than Beats=%0d beats", Beats);
`endif

endmodule

`default_nettype wire
