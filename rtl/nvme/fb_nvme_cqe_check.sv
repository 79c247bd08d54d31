// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Completion: what the SSD posts is checked before it changes anything.
//
// An entry must lie at the head of its drive's completion queue and carry the phase of this lap; its
// identifier must be in use there. An entry that fails is counted by its cause and otherwise ignored.
// An error whose status allows it (DNR clear) sends the command once more, up to the limit, while its
// data is still in the buffer; any other result is noted at the command's first page, for
// fb_nvme_reorder to find. Nothing is heard of a drive that is offline.
//
// The submission queue head of an entry decides nothing: commands in flight are counted, so there is
// always room for one more, and an SSD of several cores may post an older head after a newer one.
// One that is no place of the queue is counted.
//
// Handshake: `cqe_valid`/`cqe_ready`. Latency: three cycles to the noted result.
// Throughput: an entry every three cycles.
// Does not implement: order; that is fb_nvme_reorder's.

`default_nettype none

module fb_nvme_cqe_check
  import fb_spec_pkg::*;
  import fb_bar_pkg::completion_t;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,  // of each drive's queues
    parameter int unsigned Drives = 1,  // 1 to 8
    localparam int unsigned Tags = Drives * QueueDepth  // identifiers 0 to Tags - 1 exist
) (
    input wire clk,
    input wire rst,
    input wire sweep,  // no queue exists yet
    input wire halted, // whatever still arrives comes too late

    input wire cfg_t cfg,

    input  wire              cqe_valid,
    output logic             cqe_ready,
    input  wire completion_t cqe,

    output logic         [  TAG_BITS-1:0] lookup_tag,
    input  wire lookup_t                  lookup,
    output logic                          finish,        // over or to be retried
    output logic                          finish_retry,
    input  wire          [STAMP_BITS-1:0] now,

    output logic [Drives-1:0][SLOT_BITS-1:0] cq_head,

    // The result, noted at the command's first page.
    output logic                            result_valid,
    output logic            [PAGE_BITS-1:0] result_page,
    output command_result_t                 result,
    // Reads that may be delivered early, and whether there is room to say so.
    input  wire                             early_ready,
    output logic                            early_valid,

    output seen_t seen
);

  localparam int unsigned IndexBits = (Drives > 1) ? $clog2(Drives) : 1;

  logic [Drives-1:0] phase_q;

  // Stage 1: the entry is held until it is dealt with, beside where its drive's head is: the entry
  // before it has moved that by now.
  logic held_q, valid_q, phase_here_q;
  logic [SLOT_BITS-1:0] head_here_q;
  completion_t cqe_q;
  always_ff @(posedge clk) begin
    held_q <= cqe_valid && cqe_ready && !sweep && !halted && !rst &&
        !(Drives > 1 && cfg.offline[cqe.drive]);
    if (cqe_ready) begin
      cqe_q <= cqe;
      head_here_q <= cq_head[IndexBits'(cqe.drive)];
      phase_here_q <= phase_q[IndexBits'(cqe.drive)];
    end
  end
  assign cqe_ready  = !held_q && !valid_q;
  assign lookup_tag = cqe_q.cid[TAG_BITS-1:0];

  // Stage 2: compare and look up. The identifier stays looked up while stage 3 acts on it.
  logic at_head, known, error;
  logic at_head_q, known_q, head_known_q, error_q;
  descriptor_t descriptor_q;
  logic [STAMP_BITS-1:0] now_q, stamp_q;
  assign at_head = (SLOT_BITS'(cqe_q.slot) == head_here_q) && (cqe_q.phase == phase_here_q);
  assign known = lookup.in_use && cqe_q.cid < 16'(Tags) &&
      (Drives == 1 || lookup.descriptor.drive == cqe_q.drive);
  assign error = (cqe_q.status[10:0] != '0);
  always_ff @(posedge clk) begin
    valid_q <= held_q && !rst;
    at_head_q <= at_head;
    known_q <= known;
    head_known_q <= cqe_q.sq_head < 16'(cfg.queue_entries);
    finish <= held_q && !rst && at_head && known;
    finish_retry <= error && !cqe_q.status[STATUS_BITS-1] && lookup.retries < cfg.retry_limit;
    error_q <= error;
    descriptor_q <= lookup.descriptor;
    now_q <= now;
    stamp_q <= lookup.stamp;
  end

  // Stage 3: act. A place of the queue is used up, whatever stands in it.
  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < Drives; i++) begin
      if (valid_q && at_head_q && (Drives == 1 || cqe_q.drive == DRIVE_BITS'(i))) begin
        if (cq_head[i] + 1'b1 == cfg.queue_entries) phase_q[i] <= !phase_q[i];
        cq_head[i] <= (cq_head[i] + 1'b1 == cfg.queue_entries) ? '0 : cq_head[i] + 1'b1;
      end
    end
    if (rst) begin
      cq_head <= '0;
      phase_q <= '1;
    end
  end

  assign result_valid = finish && !finish_retry;
  assign result_page = descriptor_q.page;
  assign early_valid = result_valid && descriptor_q.early && early_ready;
  assign result = '{early_valid ? DONE_EARLY : DONE, error_q, status_code(cqe_q.status)};
  assign seen = '{
          completed: finish,
          failed: result_valid && error_q,
          rogue_phase: valid_q && !at_head_q,
          rogue_cid: valid_q && at_head_q && !known_q,
          rogue_head: finish && !head_known_q,
          write: descriptor_q.op != OP_READ,
          drive: cqe_q.drive,
          cid: cqe_q.cid,
          head: cqe_q.sq_head[12:0],
          status: cqe_q.status,
          latency: now_q - stamp_q,
          sectors: (descriptor_q.op == OP_FLUSH) ? '0 : 12'(descriptor_q.size) + 1'b1,
          sector: descriptor_q.sector
      };

endmodule

`default_nettype wire
