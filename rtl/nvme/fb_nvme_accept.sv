// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_accept: the user's commands one by one, and which of them a drive will see.
//
// What:        writes and reads in turn. Each is announced to fb_nvme_reorder, which keeps the user's
//              order, and goes on to its drive unless it broke a rule, the queue has halted, or the
//              drive is offline: then the announcement alone says what the user is told.
// Order:       a write with a fence waits until all earlier writes are answered, and so do those
//              behind it; reads pass it.
// Handshake:   `*_ready` rises in the cycle in which a command is taken: its drive has `m_ready`, or
//              the queue has halted.
// Latency:     none to `m_valid`; one cycle to `reorder_valid`.
// Throughput:  one command a cycle.
// Does not implement: a choice by drive (fb_raid_queues).

`default_nettype none

module fb_nvme_accept
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Drives = 1  // 1 to 8
) (
    input wire clk,
    input wire rst,

    input wire cfg_t cfg,
    input wire       halted, // fb_nvme_reorder answers all commands

    input  wire           wr_valid,
    output logic          wr_ready,
    input  wire command_t wr_command,
    input  wire           rd_valid,
    output logic          rd_ready,
    input  wire command_t rd_command,
    input  wire           writes_empty, // fb_nvme_reorder has answered all writes that it knows

    output logic                     reorder_valid,
    output logic                     reorder_write,
    output logic     [PAGE_BITS-1:0] reorder_page,
    output reorder_t                 reorder_entry,
    output logic                     rejected,       // with it: the command broke a rule
    output logic     [CODE_BITS-1:0] rejected_code,

    output logic                     m_valid,
    input  wire         [Drives-1:0] m_ready,      // of each drive
    output descriptor_t              m_descriptor
);

  localparam int unsigned IndexBits = (Drives > 1) ? $clog2(Drives) : 1;

  logic halted_q;  // a cycle late: one more command does no harm
  always_ff @(posedge clk) halted_q <= halted && !rst;

  logic writes_q;  // a write is not answered, that of the last cycle included
  logic turn_q;  // 1: it is the reads' turn
  logic wr_open, rd_open, wr_here, rd_here, pick_rd, go;

  // With one drive its room is looked at last.
  assign wr_open = m_ready[IndexBits'(wr_command.drive)] || halted_q;
  assign rd_open = m_ready[IndexBits'(rd_command.drive)] || halted_q;
  assign wr_here = wr_valid && !(wr_command.fence && writes_q) && (Drives == 1 || wr_open);
  assign rd_here = rd_valid && (Drives == 1 || rd_open);
  assign pick_rd = rd_here && (turn_q || !wr_here);
  assign wr_ready = wr_here && wr_open && !(rd_here && turn_q);
  assign rd_ready = rd_open && pick_rd;
  assign go = wr_ready || rd_ready;
  always_ff @(posedge clk) begin
    writes_q <= wr_ready || !writes_empty;
    if (go) turn_q <= wr_ready;
    if (rst) turn_q <= 1'b0;
  end

  command_t command;
  assign command = pick_rd ? rd_command : wr_command;

  // A command that meets a halted queue or a drive that is offline is rejected like one that breaks a
  // rule. A write to the one drive that parity stands for has nothing to do there, and is well.
  logic offline, covered, turned_away, reject_q;
  logic [CODE_BITS-1:0] verdict;
  assign offline = Drives > 1 && cfg.offline[command.drive];
  assign covered = offline && cfg.degraded && !pick_rd && !halted_q;
  assign turned_away = command.reject ? halted_q && command.flush : halted_q || offline;
  assign verdict = covered ? ERR_OK : offline ? ERR_OFFLINE : ERR_HALTED;
  always_ff @(posedge clk) begin
    reorder_valid <= go && !rst;
    reorder_write <= wr_ready;
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

  assign m_valid = go && !command.reject && !halted_q && !offline;
  assign m_descriptor = '{
          drive: (Drives == 1) ? '0 : command.drive,
          op: pick_rd ? OP_READ : OP_WRITE,
          fua: command.fua && !pick_rd,
          early: command.early && pick_rd,
          page: command.page,
          size: {command.unordered ? 8'd0 : command.size[SIZE_BITS-1:12], command.size[11:9]},
          sector: command.sector
      };

endmodule

`default_nettype wire
