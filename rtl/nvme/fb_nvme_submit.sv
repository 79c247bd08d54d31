// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_submit: which command goes to its drive next.
//
// What:        a command gets an identifier and the next place in its drive's submission queue, and
//              is announced to those who keep it: fb_nvme_reorder its answer, fb_nvme_command_table
//              what a completion is compared with, fb_nvme_sqe what the SSD reads, fb_nvme_doorbell
//              the new tail. An identifier is free again when its command completes, whatever became
//              of older ones. Each drive has a queue of its own, and all share one pool of
//              identifiers. A command that is to be retried keeps its place in the count of its
//              drive, so there is always room for it.
// Order:       retries, a flush that a transaction waits for, then writes and reads in turn, except
//              those whose drive has no room. A write with a fence is left out until all earlier
//              writes are answered, and so are those behind it.
// Handshake:   `*_ready` rises in the cycle in which a command is taken. A rejected command, and one
//              that meets a halted queue or an offline drive, only passes to fb_nvme_reorder.
// Latency:     one cycle from a command to `sq_tail`, `submitted` and `reorder_valid`.
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
    input wire       clk,
    input wire       rst,
    input wire       sweep,       // after reset: fills the pool of identifiers
    input wire [9:0] sweep_index,

    input wire cfg_t cfg,
    input wire       halted, // submit no more; fb_nvme_reorder answers all commands

    input  wire           wr_valid,
    output logic          wr_ready,
    input  wire command_t wr_command,
    input  wire           rd_valid,
    output logic          rd_ready,
    input  wire command_t rd_command,

    input  wire                   flush_valid,
    output logic                  flush_ready,
    input  wire  [ PAGE_BITS-1:0] flush_page,
    input  wire  [DRIVE_BITS-1:0] flush_drive,

    input wire writes_empty,  // from fb_nvme_reorder: it has answered all writes that it knows

    // From fb_nvme_cqe_check: a command is over, or to be submitted once more.
    input wire                  finish,
    input wire                  finish_retry,
    input wire [  TAG_BITS-1:0] finish_tag,
    input wire [DRIVE_BITS-1:0] finish_drive,

    // To fb_nvme_reorder: a command of this side comes next.
    output logic                     reorder_valid,
    output logic                     reorder_write,
    output logic     [PAGE_BITS-1:0] reorder_page,
    output reorder_t                 reorder_entry,
    output logic                     rejected,       // with it: the command broke a rule
    output logic     [CODE_BITS-1:0] rejected_code,

    output logic submitted,
    output logic submitted_retry,  // it was before, too
    output logic [TAG_BITS-1:0] submitted_tag,
    output logic [SLOT_BITS-1:0] submitted_slot,
    output descriptor_t submitted_descriptor,  // of a retry: its drive
    output logic [Drives-1:0][SLOT_BITS-1:0] sq_tail,

    output logic [   Drives-1:0][SLOT_BITS-1:0] drive_outstanding,
    output logic [SLOT_BITS-1:0]                outstanding,        // at all drives
    output logic                                busy                // write commands may grow
);

  if (QueueDepth < 2 || QueueDepth > 1024 || (QueueDepth & (QueueDepth - 1)) != 0)
  begin : gen_bad_depth
    $fatal(
        1, "fb_nvme_submit (%m): QueueDepth=%0d must be a power of two from 2 to 1024", QueueDepth
    );
  end
  if (Drives < 1 || Drives > 8 || Tags > 1024) begin : gen_bad_drives
    $fatal(
        1,
        "fb_nvme_submit (%m): Drives=%0d must be from 1 to 8, and with QueueDepth=%0d at most 1024",
        Drives,
        QueueDepth
    );
  end

  localparam int unsigned IndexBits = (Drives > 1) ? $clog2(Drives) : 1;

  // Free identifiers, and those to be submitted once more.
  logic tag_valid, retry_valid, tag_take, retry_take;
  logic [TagBits-1:0] free_tag, retry_tag;
  logic [DRIVE_BITS-1:0] retry_drive;

  logic give_back;  // an identifier, and a place in the count of its drive
  logic back_q;
  logic [TagBits-1:0] back_tag_q;
  assign give_back = finish && !finish_retry;
  always_ff @(posedge clk) begin
    back_q <= !rst && (sweep ? 11'(sweep_index) < 11'(Tags) : give_back);
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

  // Who is served in this cycle. Rejected commands need no identifier, but wait for one all the
  // same: what decides is in registers. open_q excludes halted_q.
  logic [Drives-1:0] open_q;  // one more command may be outstanding there
  logic halted_q;  // a cycle late: one more command does no harm
  always_ff @(posedge clk) halted_q <= halted && !rst;

  logic writes_q;  // a write is not answered, that of the last cycle included

  // With one drive its room is looked at last.
  logic wr_open, rd_open, flush_open, wr_here, rd_here, flush_here, tag_free;
  assign wr_open = open_q[IndexBits'(wr_command.drive)];
  assign rd_open = open_q[IndexBits'(rd_command.drive)];
  assign flush_open = open_q[IndexBits'(flush_drive)];
  assign wr_here = wr_valid && !(wr_command.fence && writes_q) && (Drives == 1 || wr_open || halted_q);
  assign rd_here = rd_valid && (Drives == 1 || rd_open || halted_q);
  assign flush_here = flush_valid && (Drives == 1 || flush_open || halted_q);
  assign tag_free = tag_valid && !retry_valid;

  logic turn_q;  // 1: it is the reads' turn
  logic pick_rd, retry_go, flush_go, wr_go, rd_go, go;
  assign pick_rd = rd_here && (turn_q || !wr_here);
  assign retry_go = retry_valid && !halted_q;
  assign flush_go = flush_here && ((flush_open && tag_free) || halted_q);
  assign wr_go = !flush_here && wr_here && !pick_rd && ((wr_open && tag_free) || halted_q);
  assign rd_go = !flush_here && pick_rd && ((rd_open && tag_free) || halted_q);
  assign go = wr_go || rd_go;
  assign wr_ready = wr_go;
  assign rd_ready = rd_go;
  assign flush_ready = flush_go;
  assign retry_take = retry_go;
  always_ff @(posedge clk) begin
    writes_q <= wr_go || !writes_empty;
    if (wr_go) turn_q <= 1'b1;
    else if (rd_go) turn_q <= 1'b0;
    if (rst) turn_q <= 1'b0;
  end

  command_t command;
  assign command = pick_rd ? rd_command : wr_command;

  // A place in a queue is used, and at which drive. What each of the four would do is known before it
  // is known who is served. Nothing goes to a drive that is offline, and an identifier that is to be
  // retried there is forgotten.
  logic [Drives-1:0] wr_takes, rd_takes, flush_takes, takes, goes;
  logic wr_take, rd_take, flush_take, retry_goes;
  assign wr_take = tag_free && !(Drives > 1 && cfg.offline[wr_command.drive]) && wr_here && wr_open &&
      !wr_command.reject;
  assign rd_take = tag_free && !(Drives > 1 && cfg.offline[rd_command.drive]) && rd_open &&
      !rd_command.reject;
  assign flush_take = tag_free && !(Drives > 1 && cfg.offline[flush_drive]) && flush_open;
  assign retry_goes = retry_go && !(Drives > 1 && cfg.offline[retry_drive]);
  always_comb begin
    for (int unsigned i = 0; i < Drives; i++) begin
      wr_takes[i] = wr_take && (Drives == 1 || wr_command.drive == DRIVE_BITS'(i));
      rd_takes[i] = rd_take && (Drives == 1 || rd_command.drive == DRIVE_BITS'(i));
      flush_takes[i] = flush_take && (Drives == 1 || flush_drive == DRIVE_BITS'(i));
      goes[i] = takes[i] || (retry_goes && (Drives == 1 || retry_drive == DRIVE_BITS'(i)));
    end
  end
  assign takes = flush_here ? flush_takes : pick_rd ? rd_takes : wr_takes;
  assign tag_take = flush_here ? flush_take : pick_rd ? rd_take : wr_take;

  // Tails, and commands that are outstanding.
  logic [Drives-1:0][SLOT_BITS-1:0] tail_q, outstanding_q;
  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < Drives; i++) begin
      automatic logic ends = Drives == 1 || finish_drive == DRIVE_BITS'(i);
      if (goes[i]) tail_q[i] <= (tail_q[i] + 1'b1 == cfg.queue_entries) ? '0 : tail_q[i] + 1'b1;
      outstanding_q[i] <= outstanding_q[i] + SLOT_BITS'(takes[i]) - SLOT_BITS'(give_back && ends);
      // Whether there is room for one more command, and for one after that.
      // A drive that is offline takes everything, and nothing comes of it.
      open_q[i] <= !sweep && !halted && (takes[i] ?
          outstanding_q[i] + SLOT_BITS'(2) < cfg.queue_entries :
          outstanding_q[i] + SLOT_BITS'(1) < cfg.queue_entries);
      if (Drives > 1 && cfg.offline[i]) open_q[i] <= !sweep && !halted;
    end
    if (rst) begin
      tail_q <= '0;
      outstanding_q <= '0;
      open_q <= '0;
    end
  end
  assign sq_tail = tail_q;
  assign drive_outstanding = outstanding_q;
  always_ff @(posedge clk) busy <= outstanding >= SLOT_BITS'(cfg.busy_commands);

  if (Drives == 1) begin : gen_one
    assign outstanding = outstanding_q;
  end else begin : gen_many
    logic [SLOT_BITS-1:0] all_q;
    always_ff @(posedge clk)
      all_q <= rst ? '0 : all_q + SLOT_BITS'(tag_take) - SLOT_BITS'(give_back);
    assign outstanding = all_q;
  end

  // What is chosen here is announced one cycle later: nobody needs to know sooner. While there is a
  // retry no other identifier is used.
  logic [DRIVE_BITS-1:0] drive;
  assign drive = (Drives == 1) ? '0 : retry_valid ? retry_drive : flush_here ? flush_drive : command.drive;
  always_ff @(posedge clk) begin
    submitted <= (tag_take || retry_goes) && !rst;
    submitted_retry <= retry_go;
    submitted_tag <= TAG_BITS'(retry_valid ? retry_tag : free_tag);
    submitted_slot <= tail_q[IndexBits'(drive)];
    // A flush has no data: its page only says what waits for it.
    submitted_descriptor <= '{
        drive: drive,
        op: flush_here ? OP_FLUSH : pick_rd ? OP_READ : OP_WRITE,
        fua: command.fua && !pick_rd,
        early: command.early && pick_rd && !flush_here,
        page: flush_here ? flush_page : command.page,
        size: {command.unordered ? 8'd0 : command.size[SIZE_BITS-1:12], command.size[11:9]},
        sector: flush_here ? '0 : command.sector
    };
  end

  // A command that meets a halted queue or a drive that is offline is rejected like one that breaks a
  // rule. A write to the one drive that parity stands for has nothing to do there, and is well.
  logic offline, covered, turned_away, reject_q;
  logic [CODE_BITS-1:0] verdict;
  assign offline = Drives > 1 && cfg.offline[command.drive];
  assign covered = offline && cfg.degraded && wr_go && !halted_q;
  assign turned_away = command.reject ? halted_q && command.flush : halted_q || offline;
  assign verdict = covered ? ERR_OK : offline ? ERR_OFFLINE : ERR_HALTED;
  always_ff @(posedge clk) begin
    reorder_valid <= go && !rst;
    reorder_write <= wr_go;
    reorder_page <= command.page;
    reorder_entry <= '{
        drive: command.drive,
        flush: command.flush && (!turned_away || covered),
        unordered: command.unordered,
        reject: command.reject || turned_away,
        last: command.last,
        size: turned_away ? {command.size[SIZE_BITS-1:12], 4'd0, verdict} : command.size
    };
    reject_q <= go && command.reject && !rst;
  end
  assign rejected = reject_q && rejected_code != ERR_OK;
  assign rejected_code = reorder_entry.size[CODE_BITS-1:0];

endmodule

`default_nettype wire
