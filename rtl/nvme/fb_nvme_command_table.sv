// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_command_table: what is known of each outstanding command, by its identifier.
//
// What:        a line is written when a command is submitted, and read when its completion comes.
//              A retry keeps its line, so its latency counts from the first submission.
// Handshake:   none; `finish` is a pulse about `lookup_tag`.
// Latency:     a lookup answers in the cycle in which it is asked; a line is there one cycle after
//              `submitted`.
// Throughput:  one submission and one lookup a cycle.
// Limits:      an identifier is submitted again only after it was finished.
// Does not implement: the pool of free identifiers (fb_nvme_submit); entries (fb_nvme_sqe).

`default_nettype none

module fb_nvme_command_table
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Tags = 64,  // identifiers, 2 to 1024
    localparam int unsigned TagBits = $clog2(Tags)
) (
    input wire                 clk,
    input wire                 sweep,       // after reset: no identifier is in use
    input wire [PAGE_BITS-1:0] sweep_index,

    input wire submitted_t                  submitted,
    input wire             [STAMP_BITS-1:0] now,

    input  wire     [TAG_BITS-1:0] lookup_tag,
    output lookup_t                lookup,
    input  wire                    finish,       // the command is over, or
    input  wire                    finish_retry  // to be submitted once more
);

  if (Tags < 2 || Tags > 1024) begin : gen_bad_tags
    $fatal(1, "fb_nvme_command_table (%m): Tags=%0d must be from 2 to 1024", Tags);
  end

  logic [TagBits-1:0] tag, submitted_at, looked_up, finished_at;
  assign tag = TagBits'(submitted.tag);
  assign submitted_at = sweep ? TagBits'(sweep_index) : tag;
  assign looked_up = TagBits'(lookup_tag);
  assign finished_at = sweep ? TagBits'(sweep_index) : looked_up;

  (* ram_style = "distributed" *)
  logic [$bits(descriptor_t)+STAMP_BITS-1:0] commands[1<<TagBits];
  (* ram_style = "distributed" *)
  logic [3:0] retries[1<<TagBits];
  // In use = submitted once more often than finished, modulo 2: each side toggles a bit of its own,
  // so that both can act in the same cycle on memories with one write port.
  (* ram_style = "distributed" *)
  logic submitted_bit[1<<TagBits], finished_bit[1<<TagBits];

  assign {lookup.descriptor, lookup.stamp} = commands[looked_up];
  assign lookup.retries = retries[looked_up];
  assign lookup.in_use = submitted_bit[looked_up] != finished_bit[looked_up];
  always_ff @(posedge clk) begin
    if (submitted.valid && !submitted.retry) commands[tag] <= {submitted.descriptor, now};
    if (submitted.valid || sweep) submitted_bit[submitted_at] <= !sweep && !finished_bit[tag];
    if (finish || sweep) begin
      finished_bit[finished_at] <= !sweep && submitted_bit[looked_up];
      retries[finished_at] <= (finish_retry && !sweep) ? lookup.retries + 1'b1 : '0;
    end
  end

`ifndef SYNTHESIS
  a_finish_in_use :
  assert property (@(posedge clk) disable iff (sweep) finish |-> lookup.in_use)
  else $error("fb_nvme_command_table (%m): identifier %0d finished, not in use", lookup_tag);
`endif

endmodule

`default_nettype wire
