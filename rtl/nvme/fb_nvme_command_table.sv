// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_command_table: what is known of each outstanding command, by its identifier.
//
// What:        a line is written when a command is submitted, and read when its completion comes:
//              whether the identifier is in use, what was asked, since when, and how many retries
//              there were. A retry keeps its line, so its latency counts from the first submission.
// Handshake:   none; `submitted`, `finish` are pulses. `finish` is about `lookup_tag`.
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

    input wire                               submitted,
    input wire                               submitted_retry,
    input wire              [  TAG_BITS-1:0] submitted_tag,
    input wire descriptor_t                  submitted_descriptor,
    input wire              [STAMP_BITS-1:0] now,

    input  wire         [  TAG_BITS-1:0] lookup_tag,
    output logic                         lookup_in_use,
    output descriptor_t                  lookup_descriptor,
    output logic        [STAMP_BITS-1:0] lookup_stamp,
    output logic        [           3:0] lookup_retries,
    input  wire                          finish,             // the command is over, or
    input  wire                          finish_retry        // to be submitted once more
);

  if (Tags < 2 || Tags > 1024) begin : gen_bad_tags
    $fatal(1, "fb_nvme_command_table (%m): Tags=%0d must be from 2 to 1024", Tags);
  end

  logic [TagBits-1:0] tag, looked_up, swept;
  assign tag = TagBits'(submitted_tag);
  assign looked_up = TagBits'(lookup_tag);
  assign swept = TagBits'(sweep_index);

  fb_common_lutram #(
      .Width($bits(descriptor_t) + STAMP_BITS),
      .Depth(1 << TagBits)
  ) u_commands (
      .clk,
      .we(submitted && !submitted_retry),
      .waddr(tag),
      .wdata({submitted_descriptor, now}),
      .raddr(looked_up),
      .rdata({lookup_descriptor, lookup_stamp})
  );

  // In use = submitted once more often than finished, modulo 2: each side toggles a bit of its own,
  // so that both can act in the same cycle on memories with one write port.
  logic submitted_bit, finished_bit, finished_at_tag;
  fb_common_lutram #(
      .Width(1),
      .Depth(1 << TagBits)
  ) u_submitted (
      .clk,
      .we(submitted || sweep),
      .waddr(sweep ? swept : tag),
      .wdata(!sweep && !finished_at_tag),
      .raddr(looked_up),
      .rdata(submitted_bit)
  );
  fb_common_lutram #(
      .Width(1),
      .Depth(1 << TagBits)
  ) u_finished (
      .clk,
      .we(finish || sweep),
      .waddr(sweep ? swept : looked_up),
      .wdata(!sweep && submitted_bit),
      .raddr(looked_up),
      .rdata(finished_bit)
  );
  fb_common_lutram #(
      .Width(1),
      .Depth(1 << TagBits)
  ) u_finished_at_tag (
      .clk,
      .we(finish || sweep),
      .waddr(sweep ? swept : looked_up),
      .wdata(!sweep && submitted_bit),
      .raddr(tag),
      .rdata(finished_at_tag)
  );
  assign lookup_in_use = (submitted_bit != finished_bit);

  fb_common_lutram #(
      .Width(4),
      .Depth(1 << TagBits)
  ) u_retries (
      .clk,
      .we(finish || sweep),
      .waddr(sweep ? swept : looked_up),
      .wdata((finish_retry && !sweep) ? lookup_retries + 1'b1 : 4'd0),
      .raddr(looked_up),
      .rdata(lookup_retries)
  );

`ifndef SYNTHESIS
  a_finish_in_use :
  assert property (@(posedge clk) disable iff (sweep) finish |-> lookup_in_use)
  else $error("fb_nvme_command_table (%m): identifier %0d finished, not in use", lookup_tag);
`endif

endmodule

`default_nettype wire
