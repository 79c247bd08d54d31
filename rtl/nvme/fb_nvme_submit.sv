// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_submit: an identifier and a place in a submission queue for each command.
//
// What:        a command gets an identifier and the next place in its drive's submission queue, and
//              is announced to those who keep it: fb_nvme_command_table what a completion is
//              compared with, fb_nvme_sqe what the SSD reads, fb_nvme_doorbell the new tail. An
//              identifier is free again when its command completes, whatever became of older ones.
//              Each drive has a queue of its own, and all share one pool of identifiers. A command
//              that is to be retried keeps its place in the count of its drive, so there is always
//              room for it.
// Order:       retries, a flush that a transaction waits for, then the user's commands as they come.
// Handshake:   `*_ready` rises in the cycle in which a command is taken; `open` says which drives
//              have room for one. A flush that meets a halted queue or an offline drive goes nowhere.
// Latency:     one cycle from a command to `sq_tail` and `submitted`.
// Throughput:  one command a cycle.
// Does not implement: queues in memory; fb_bar_sq serves the entries.

`default_nettype none

module fb_nvme_submit
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,  // places in a submission queue, a power of two
    parameter int unsigned Drives = 1,  // 1 to 8; with QueueDepth at most 1024 places in all
    localparam int unsigned Tags = Drives * QueueDepth,
    localparam int unsigned TagBits = $clog2(Tags)
) (
    input wire                 clk,
    input wire                 rst,
    input wire                 sweep,       // after reset: fills the pool of identifiers
    input wire [PAGE_BITS-1:0] sweep_index,

    input wire cfg_t cfg,
    input wire       halted, // submit no more

    input  wire                           valid,
    output logic                          ready,
    input  wire descriptor_t              command,
    output logic             [Drives-1:0] open,

    input  wire                   flush_valid,
    output logic                  flush_ready,
    input  wire  [ PAGE_BITS-1:0] flush_page,
    input  wire  [DRIVE_BITS-1:0] flush_drive,

    // From fb_nvme_cqe_check: a command is over, or to be submitted once more.
    input wire                  finish,
    input wire                  finish_retry,
    input wire [  TAG_BITS-1:0] finish_tag,
    input wire [DRIVE_BITS-1:0] finish_drive,

    output submitted_t                                submitted,
    output logic       [   Drives-1:0][SLOT_BITS-1:0] sq_tail,
    output logic       [   Drives-1:0][SLOT_BITS-1:0] drive_outstanding,
    output logic       [SLOT_BITS-1:0]                outstanding,        // at all drives
    output logic                                      busy                // write commands may grow
);

  if (QueueDepth < 2 || QueueDepth > 1024 || (QueueDepth & (QueueDepth - 1)) != 0)
  begin : gen_bad_depth
    $fatal(1, "fb_nvme_submit (%m): QueueDepth=%0d must be a power of two, 2 to 1024", QueueDepth);
  end
  if (Drives < 1 || Drives > 8 || Tags > 1024) begin : gen_bad_drives
    $fatal(1, "fb_nvme_submit (%m): Drives=%0d must be 1 to 8, Tags at most 1024", Drives);
  end

  localparam int unsigned IndexBits = (Drives > 1) ? $clog2(Drives) : 1;

  // Free identifiers, and those to be submitted once more.
  logic tag_valid, retry_valid, tag_take, retry_take;
  logic [TagBits-1:0] free_tag, retry_tag;
  logic [DRIVE_BITS-1:0] retry_drive;

  logic give_back, back_q;  // an identifier, and a place in the count of its drive
  logic [TagBits-1:0] back_tag_q;
  assign give_back = finish && !finish_retry;
  always_ff @(posedge clk) begin
    back_q <= !rst && (sweep ? int'(sweep_index) < Tags : give_back);
    back_tag_q <= sweep ? TagBits'(sweep_index) : TagBits'(finish_tag);
  end

  fb_common_fifo #(
      .Width(TagBits),
      .Depth(1 << TagBits),
      .OutputRegister(1'b1)
  ) u_free (
      .clk,
      .rst,
      .s_valid(back_q),
      .s_ready(),
      .s_data (back_tag_q),
      .m_valid(tag_valid),
      .m_ready(tag_take),
      .m_data (free_tag),
      .level  ()
  );

  fb_common_fifo #(
      .Width(DRIVE_BITS + TagBits),
      .Depth(1 << TagBits),
      .OutputRegister(1'b1)
  ) u_retry (
      .clk,
      .rst,
      .s_valid(finish && finish_retry),
      .s_ready(),
      .s_data ({finish_drive, TagBits'(finish_tag)}),
      .m_valid(retry_valid),
      .m_ready(retry_take),
      .m_data ({retry_drive, retry_tag}),
      .level  ()
  );

  // Who is served in this cycle; what decides is in registers. `open`, that one more
  // command may be outstanding there, excludes halted_q.
  logic halted_q;  // a cycle late: one more command does no harm
  always_ff @(posedge clk) halted_q <= halted && !rst;
  logic flush_open, tag_free, retry_goes, flush_here;
  assign tag_free = tag_valid && !retry_valid;
  assign retry_take = retry_valid && !halted_q;
  assign flush_open = open[IndexBits'(flush_drive)];
  // With one drive its room is looked at last.
  assign flush_here = flush_valid && (Drives == 1 || flush_open || halted_q);
  assign flush_ready = flush_here && ((flush_open && tag_free) || halted_q);
  assign ready = !flush_here && tag_free && open[IndexBits'(command.drive)];

  // A place in a queue is used, and at which drive. No flush and no retry goes to a drive that is
  // offline: the identifier of the retry is forgotten.
  logic [Drives-1:0] takes, goes;
  assign tag_take = flush_here ?
      flush_open && tag_free && !(Drives > 1 && cfg.offline[flush_drive]) : valid && ready;
  assign retry_goes = retry_take && !(Drives > 1 && cfg.offline[retry_drive]);
  always_comb begin
    for (int unsigned i = 0; i < Drives; i++) begin
      takes[i] = tag_take &&
          (Drives == 1 || (flush_here ? flush_drive : command.drive) == DRIVE_BITS'(i));
      goes[i] = takes[i] || (retry_goes && (Drives == 1 || retry_drive == DRIVE_BITS'(i)));
    end
  end

  // Tails, and commands that are outstanding: of a queue's entries one stays free.
  logic [SLOT_BITS-1:0] last_q, last_but_one_q;  // index of its last entry
  always_ff @(posedge clk) begin
    last_q <= cfg.queue_entries - 1'b1;
    last_but_one_q <= cfg.queue_entries - SLOT_BITS'(2);
    for (int unsigned i = 0; i < Drives; i++) begin
      automatic logic ends = Drives == 1 || finish_drive == DRIVE_BITS'(i);
      if (goes[i]) sq_tail[i] <= (sq_tail[i] == last_q) ? '0 : sq_tail[i] + 1'b1;
      // Both events come late: they choose between two sums, and go through no adder.
      if (takes[i] != (give_back && ends))
        drive_outstanding[i] <= takes[i] ? drive_outstanding[i] + 1'b1 :
            drive_outstanding[i] - 1'b1;
      // Whether there is room for one more command, and for one after that.
      // A drive that is offline takes everything, and nothing comes of it.
      open[i] <= !sweep && !halted && (takes[i] ?
          drive_outstanding[i] < last_but_one_q : drive_outstanding[i] < last_q);
      if (Drives > 1 && cfg.offline[i]) open[i] <= !sweep && !halted;
    end
    if (rst) {sq_tail, drive_outstanding, open} <= '0;
  end
  always_ff @(posedge clk) busy <= outstanding >= SLOT_BITS'(cfg.busy_commands);

  if (Drives == 1) begin : gen_one
    assign outstanding = drive_outstanding;
  end else begin : gen_many
    always_ff @(posedge clk)
      outstanding <= rst ? '0 : outstanding + SLOT_BITS'(tag_take) - SLOT_BITS'(give_back);
  end

  // What is chosen here is announced one cycle later: nobody needs to know sooner. While there is a
  // retry no other identifier is used.
  logic [DRIVE_BITS-1:0] drive;
  assign drive = (Drives == 1) ? '0 : retry_valid ? retry_drive :
      flush_here ? flush_drive : command.drive;
  always_ff @(posedge clk) begin
    submitted.valid <= (tag_take || retry_goes) && !rst;
    submitted.retry <= retry_take;
    submitted.tag <= TAG_BITS'(retry_valid ? retry_tag : free_tag);
    submitted.slot <= sq_tail[IndexBits'(drive)];
    submitted.descriptor <= command;
    submitted.descriptor.drive <= drive;
    if (flush_here) begin
      // It has no data: its page only says what waits for it.
      submitted.descriptor.op <= OP_FLUSH;
      submitted.descriptor.early <= 1'b0;
      submitted.descriptor.page <= flush_page;
      submitted.descriptor.sector <= '0;
    end
  end

endmodule

`default_nettype wire
