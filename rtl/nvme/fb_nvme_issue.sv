// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Submission: commands get an identifier, a place in the submission queue, and a line in the
// ledger. What the SSD will read there is not stored: an entry is formed when it is fetched, from
// the place's identifier and the identifier's descriptor.
//
// An identifier is free again when its command completes, whatever became of older ones; the order
// of the user's transactions lives in the rings of pages and in the ledger alone.
//
// Each drive has a queue of its own, and all share one pool of identifiers. A command that is to be
// retried keeps its place in the count of its drive, so that there is always room for it.
//
// Order of service: retries, a flush that a transaction waits for, then writes and reads in turn,
// except those whose drive has no room.
// Handshake: `*_ready` rises in the cycle in which a command is taken. Rejected commands only pass
// to the ledger.
// Latency: one cycle from the command to `sq_tail`, two from `fetch_slot` to `fetch_sqe`.
// Throughput: one command a cycle.
//
// Does not implement: queues in memory; fb_bar_submission serves the entries.

`default_nettype none

module fb_nvme_issue
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,  // places in a submission queue, a power of two
    parameter int unsigned Drives = 1,  // 1 to 8; with QueueDepth at most 1024 places in all
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter bit InHost = 1'b0,  // the buffer is in host memory, in pieces
    parameter bit ListsInside = 1'b1,  // the data window shows its pages as PRP lists, too
    parameter bit ListPerCommand = 1'b0,  // else there is a PRP list for each unit
    localparam int unsigned Tags = Drives * QueueDepth,
    localparam int unsigned TagBits = $clog2(Tags)
) (
    input wire       clk,
    input wire       rst,
    input wire       sweep,       // after reset: fills the pool of identifiers
    input wire [9:0] sweep_index,

    input wire cfg_t cfg,
    input wire piece_we,  // where a piece lies
    input wire [4:0] piece_index,
    input wire [63:0] piece_address,
    input wire halted,  // hand out no more; commands are answered by retirement

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

    // The ledger's write port, and how many commands wait there to be retired.
    output logic                    ledger_we,
    output logic                    ledger_wr_side,  // 1 = write ring, 0 = read ring
    output logic    [PAGE_BITS-1:0] ledger_page,
    output ledger_t                 ledger_entry,

    // Identifiers: taken here, looked up, ended or retried by fb_nvme_complete.
    input wire [TAG_BITS-1:0] lookup_tag,
    output logic lookup_in_use,
    output descriptor_t lookup_descriptor,
    output logic [STAMP_BITS-1:0] lookup_stamp,
    output logic [3:0] lookup_retries,
    input wire finish,  // lookup_tag's command is over, or to be retried
    input wire finish_retry,
    input wire [STAMP_BITS-1:0] now,

    output logic [Drives-1:0][SLOT_BITS-1:0] sq_tail,
    output logic [Drives-1:0][SLOT_BITS-1:0] drive_outstanding,
    output logic [SLOT_BITS-1:0] outstanding,  // at all drives
    output logic busy,  // chunks may grow

    input wire [DRIVE_BITS-1:0] fetch_drive,
    input wire [9:0] fetch_slot,
    output logic [DATA_BITS-1:0] fetch_sqe,
    output logic [TAG_BITS-1:0] fetched_tag,  // with fetch_sqe: whose it is, and its first unit
    output logic [PAGE_BITS-1:0] fetched_page,
    output logic [DRIVE_BITS-1:0] nsid_drive,  // whose namespace the entry needs
    input wire [31:0] nsid,

    // For counters and trace, a cycle later.
    output logic                  issued,
    output logic                  issued_retry,
    output op_e                   issued_op,
    output logic [  TAG_BITS-1:0] issued_tag,
    output logic [DRIVE_BITS-1:0] issued_drive,
    output logic [ SLOT_BITS-1:0] issued_slot,
    output logic                  rejected,
    output logic [ CODE_BITS-1:0] rejected_code
);

  if (QueueDepth < 2 || QueueDepth > 1024 || (QueueDepth & (QueueDepth - 1)) != 0)
  begin : gen_bad_depth
    $fatal(
        1, "fb_nvme_issue (%m): QueueDepth=%0d must be a power of two from 2 to 1024", QueueDepth
    );
  end
  if (Drives < 1 || Drives > 8 || Tags > 1024) begin : gen_bad_drives
    $fatal(
        1,
        "fb_nvme_issue (%m): Drives=%0d must be from 1 to 8, and with QueueDepth=%0d at most 1024",
        Drives,
        QueueDepth
    );
  end

  localparam int unsigned IndexBits = (Drives > 1) ? $clog2(Drives) : 1;
  localparam int unsigned PlaceBits = $clog2(QueueDepth);

  logic [Drives-1:0][SLOT_BITS-1:0] tail_q, outstanding_q;
  logic turn_q;  // 1: it is the reads' turn
  logic [Drives-1:0] open_q;  // one more command may be outstanding there

  // Free identifiers, and identifiers to be used once more.
  logic tag_valid, retry_valid, tag_take, retry_take;
  logic [TagBits-1:0] free_tag, retry_tag, tag;
  logic [DRIVE_BITS-1:0] retry_drive, drive;
  logic [3:0] retry_count;

  logic back_q;
  logic [TagBits-1:0] back_tag_q;
  always_ff @(posedge clk) begin
    back_q <= !rst && (sweep ? 11'(sweep_index) < 11'(Tags) : finish && !finish_retry);
    back_tag_q <= sweep ? TagBits'(sweep_index) : TagBits'(lookup_tag);
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
      .Width(DRIVE_BITS + 4 + TagBits),
      .Depth(1 << TagBits),
      .OutputRegister(1'b1)
  ) u_retry (
      .clk,
      .rst,
      .s_valid(finish && finish_retry),
      .s_ready(),
      .s_data ({lookup_descriptor.drive, lookup_retries + 1'b1, TagBits'(lookup_tag)}),
      .m_valid(retry_valid),
      .m_ready(retry_take),
      .m_data ({retry_drive, retry_count, retry_tag}),
      .level  ()
  );

  // Who is served in this cycle. Rejected commands need no identifier, but wait for one all the
  // same: what decides is in registers. open_q excludes halted_q.
  logic halted_q;  // a cycle late: one more command does no harm
  always_ff @(posedge clk) halted_q <= halted && !rst;

  // With one drive, room is asked of nobody in particular.
  logic wr_open, rd_open, flush_open, wr_here, rd_here, flush_here, tag_free;
  logic wr_away, rd_away, flush_away, retry_away;  // to a drive that is offline nothing goes
  assign wr_open = open_q[IndexBits'(wr_command.drive)];
  assign rd_open = open_q[IndexBits'(rd_command.drive)];
  assign flush_open = open_q[IndexBits'(flush_drive)];
  assign wr_here = wr_valid && (Drives == 1 || wr_open || halted_q);
  assign rd_here = rd_valid && (Drives == 1 || rd_open || halted_q);
  assign flush_here = flush_valid && (Drives == 1 || flush_open || halted_q);
  assign tag_free = tag_valid && !retry_valid;
  assign wr_away = Drives > 1 && cfg.offline[wr_command.drive];
  assign rd_away = Drives > 1 && cfg.offline[rd_command.drive];
  assign flush_away = Drives > 1 && cfg.offline[flush_drive];
  assign retry_away = Drives > 1 && cfg.offline[retry_drive];

  logic pick_rd, retry_go, flush_go, wr_go, rd_go, go;
  assign pick_rd = rd_here && (turn_q || !wr_here);
  assign retry_go = retry_valid && !halted_q;
  assign flush_go = flush_here && ((flush_open && tag_free) || halted_q);
  assign wr_go = !flush_here && wr_here && !pick_rd && ((wr_open && tag_free) || halted_q);
  assign rd_go = !flush_here && pick_rd && ((rd_open && tag_free) || halted_q);
  assign wr_ready = wr_go;
  assign rd_ready = rd_go;
  assign flush_ready = flush_go;
  assign retry_take = retry_go;

  command_t command;
  assign command = pick_rd ? rd_command : wr_command;

  // A place in a queue is used, and at which drive. What each of the four would do is known before it
  // is known who is served. An identifier to be used once more at a drive that is offline is forgotten.
  logic goes_out;
  logic [Drives-1:0] wr_takes, rd_takes, flush_takes, takes, goes;
  logic wr_take, rd_take, flush_take, retry_goes;
  assign wr_take = tag_free && !wr_away && wr_here && wr_open && !wr_command.reject;
  assign rd_take = tag_free && !rd_away && rd_open && !rd_command.reject;
  assign flush_take = tag_free && !flush_away && flush_open;
  assign retry_goes = retry_go && !retry_away;
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
  assign goes_out = tag_take || retry_goes;
  // While there is a retry no other identifier is used.
  assign tag = retry_valid ? retry_tag : free_tag;
  assign drive = (Drives == 1) ? '0 : retry_valid ? retry_drive : flush_here ? flush_drive : command.drive;
  assign go = wr_go || rd_go;

  logic give_back;  // a place in the count of its drive is free
  assign give_back = finish && !finish_retry;

  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < Drives; i++) begin
      automatic logic ends = Drives == 1 || lookup_descriptor.drive == DRIVE_BITS'(i);
      if (goes[i]) tail_q[i] <= (tail_q[i] + 1'b1 == cfg.queue_entries) ? '0 : tail_q[i] + 1'b1;
      outstanding_q[i] <= outstanding_q[i] + SLOT_BITS'(takes[i]) - SLOT_BITS'(give_back && ends);
      // Whether there is room for one more command, and for one after that.
      // A drive that is offline takes everything, and nothing comes of it.
      open_q[i] <= !sweep && !halted && (takes[i] ?
          outstanding_q[i] + SLOT_BITS'(2) < cfg.queue_entries :
          outstanding_q[i] + SLOT_BITS'(1) < cfg.queue_entries);
      if (Drives > 1 && cfg.offline[i]) open_q[i] <= !sweep && !halted;
    end
    if (wr_go) turn_q <= 1'b1;
    else if (rd_go) turn_q <= 1'b0;
    if (rst) begin
      tail_q <= '0;
      outstanding_q <= '0;
      open_q <= '0;
      turn_q <= 1'b0;
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

  // A command that meets a halted queue or a drive that is offline is rejected like one that breaks a
  // rule. A write to the one drive that parity stands for has nothing to do there, and is well.
  logic away, spared, turned_away, reject_q;
  logic [7:0] extra_pages;
  logic [CODE_BITS-1:0] verdict;
  assign away = Drives > 1 && cfg.offline[command.drive];
  assign spared = away && cfg.degraded && wr_go && !halted_q;
  assign turned_away = command.reject ? halted_q && command.flush : halted_q || away;
  assign verdict = spared ? ERR_OK : away ? ERR_OFFLINE : ERR_HALTED;
  assign extra_pages = command.unordered ? 8'd0 : command.size[SIZE_BITS-1:12];
  // What is chosen here is written into the wide tables one cycle later: nobody looks there sooner.
  always_ff @(posedge clk) begin
    ledger_we <= go && !rst;
    reject_q <= go && command.reject && !rst;
    ledger_wr_side <= wr_go;
    ledger_page <= command.page;
    ledger_entry <= '{
        drive: command.drive,
        flush: command.flush && (!turned_away || spared),
        unordered: command.unordered,
        reject: command.reject || turned_away,
        last: command.last,
        size: turned_away ? {command.size[SIZE_BITS-1:12], 4'd0, verdict} : command.size
    };
  end
  assign rejected = reject_q && rejected_code != ERR_OK;
  assign rejected_code = ledger_entry.size[CODE_BITS-1:0];

  // Descriptors. A flush has no data: its page only says what waits for it.
  descriptor_t descriptor;
  assign descriptor = '{
          drive: flush_here ? flush_drive : command.drive,
          op: flush_here ? OP_FLUSH : pick_rd ? OP_READ : OP_WRITE,
          fua: command.fua && !pick_rd,
          loose: command.loose && pick_rd && !flush_here,
          page: flush_here ? flush_page : command.page,
          size: {extra_pages, command.size[11:9]},
          sector: flush_here ? '0 : command.sector
      };

  logic describe_q;
  logic [TagBits-1:0] describe_tag_q;
  descriptor_t descriptor_q;
  always_ff @(posedge clk) begin
    describe_q <= goes_out && !retry_go && !rst;
    describe_tag_q <= tag;
    descriptor_q <= descriptor;
  end

  descriptor_t fetched;
  logic [TagBits-1:0] fetch_tag, fetch_tag_q;
  fb_common_ram #(
      .Width(TagBits),
      .Depth(1 << TagBits)
  ) u_slots (
      .clk,
      .we(goes_out),
      .waddr(TagBits'({drive, PlaceBits'(tail_q[IndexBits'(drive)])})),
      .wdata(tag),
      .raddr(TagBits'({fetch_drive, PlaceBits'(fetch_slot)})),
      .rdata(fetch_tag)
  );
  fb_common_ram #(
      .Width($bits(descriptor_t)),
      .Depth(1 << TagBits)
  ) u_fetch (
      .clk,
      .we(describe_q),
      .waddr(describe_tag_q),
      .wdata(descriptor_q),
      .raddr(fetch_tag_q),
      .rdata(fetched)
  );
  fb_common_ram #(
      .Width($bits(descriptor_t)),
      .Depth(1 << TagBits)
  ) u_lookup (
      .clk,
      .we(describe_q),
      .waddr(describe_tag_q),
      .wdata(descriptor_q),
      .raddr(TagBits'(lookup_tag)),
      .rdata(lookup_descriptor)
  );
  fb_common_ram #(
      .Width(STAMP_BITS),
      .Depth(1 << TagBits)
  ) u_stamps (
      .clk,
      .we(describe_q),
      .waddr(describe_tag_q),
      .wdata(now),
      .raddr(TagBits'(lookup_tag)),
      .rdata(lookup_stamp)
  );

  // In use = handed out once more often than given back, modulo 2: each side toggles a bit of its
  // own, so that both can act in the same cycle on memories with one write port.
  logic out_bit, back_bit, back_at_tag;
  fb_common_ram #(
      .Width(1),
      .Depth(1 << TagBits)
  ) u_out (
      .clk,
      .we(goes_out || sweep),
      .waddr(sweep ? TagBits'(sweep_index) : tag),
      .wdata(!sweep && !back_at_tag),
      .raddr(TagBits'(lookup_tag)),
      .rdata(out_bit)
  );
  fb_common_ram #(
      .Width(1),
      .Depth(1 << TagBits)
  ) u_back (
      .clk,
      .we(finish || sweep),
      .waddr(sweep ? TagBits'(sweep_index) : TagBits'(lookup_tag)),
      .wdata(!sweep && out_bit),
      .raddr(TagBits'(lookup_tag)),
      .rdata(back_bit)
  );
  fb_common_ram #(
      .Width(1),
      .Depth(1 << TagBits)
  ) u_back_at_tag (
      .clk,
      .we(finish || sweep),
      .waddr(sweep ? TagBits'(sweep_index) : TagBits'(lookup_tag)),
      .wdata(!sweep && out_bit),
      .raddr(tag),
      .rdata(back_at_tag)
  );
  assign lookup_in_use = (out_bit != back_bit);

  // How often a command was tried again.
  fb_common_ram #(
      .Width(4),
      .Depth(1 << TagBits)
  ) u_retries (
      .clk,
      .we(goes_out),
      .waddr(tag),
      .wdata(retry_go ? retry_count : 4'd0),
      .raddr(TagBits'(lookup_tag)),
      .rdata(lookup_retries)
  );

  // The submission queue entry (NVMe Base 2.0c, figure 87; NVM Command Set 1.0c, 3.2.4 and 3.2.6).
  descriptor_t sqe_q;
  logic [TagBits-1:0] sqe_tag_q;
  always_ff @(posedge clk) begin
    fetch_tag_q <= fetch_tag;
    sqe_tag_q <= fetch_tag_q;
    sqe_q <= fetched;
  end

  assign nsid_drive = sqe_q.drive;

  logic is_data, is_long, has_list;  // more than one page, more than two
  logic [31:0] dword0;
  logic [63:0] prp1, prp2, slba;
  assign is_data  = (sqe_q.op != OP_FLUSH);
  assign dword0   = {16'(sqe_tag_q), 8'd0, 6'd0, sqe_q.op};
  assign is_long  = is_data && sqe_q.size[SIZE_BITS-1:12] != '0;
  assign has_list = sqe_q.size[SIZE_BITS-1:12] != 8'd1;
  logic [63:0] unit_address;  // of the command's first page
  assign prp1 = is_data ? unit_address : '0;
  if (ListsInside) begin : gen_pages
    // PRP 2 is the second page, or the list that starts at it: the upper half of the data window
    // shows every page as the list of its successors.
    logic [PAGE_BITS+UnitBits-1:0] second_page;
    assign unit_address = cfg.data_window | (64'(sqe_q.page) << (12 + UnitBits));
    assign second_page = ((PAGE_BITS + UnitBits)'(sqe_q.page) << UnitBits) + 1'b1;
    assign prp2 = is_long ? cfg.data_window | 64'({has_list, second_page, 12'd0}) : '0;
  end else begin : gen_units
    // A command begins with a unit: its second page is in it, and its list is that of the unit.
    logic [TAG_BITS-1:0] list;
    assign list = ListPerCommand ? TAG_BITS'(sqe_tag_q) : TAG_BITS'(sqe_q.page);
    assign prp2 = !is_long ? '0 : has_list ? cfg.prp_lists | (64'(list) << 12) :
        unit_address | 64'h1000;
    if (InHost) begin : gen_pieces
      fb_buffer_piece u_piece (
          .clk,
          .we(piece_we),
          .index(piece_index),
          .base(piece_address),
          .page({sqe_q.page, {UnitBits{1'b0}}}),
          .address(unit_address)
      );
    end else begin : gen_halves
      assign unit_address = (sqe_q.page[PAGE_BITS-1] ? cfg.data_read : cfg.data_write) |
          (64'(sqe_q.page[PAGE_BITS-2:0]) << (12 + UnitBits));
    end
  end
  assign slba = cfg.block_4k ? 64'(sqe_q.sector >> 3) : 64'(sqe_q.sector);

  if (!InHost) begin : gen_no_pieces
    logic unused;
    assign unused = &{1'b0, piece_we, piece_index, piece_address, 1'b0};
  end

  assign fetched_tag  = TAG_BITS'(sqe_tag_q);
  assign fetched_page = sqe_q.page;

  always_comb begin
    fetch_sqe = '0;
    fetch_sqe[31:0] = dword0;
    fetch_sqe[63:32] = nsid;
    fetch_sqe[6*32+:64] = prp1;
    fetch_sqe[8*32+:64] = prp2;
    if (is_data) begin
      fetch_sqe[10*32+:64] = slba;
      fetch_sqe[12*32+:16] = cfg.block_4k ? 16'(sqe_q.size >> 3) : 16'(sqe_q.size);
      fetch_sqe[12*32+30]  = sqe_q.fua;
    end
  end

  always_ff @(posedge clk) begin
    issued <= goes_out && !rst;
    issued_retry <= retry_go;
    issued_op <= descriptor.op;
    issued_tag <= TAG_BITS'(tag);
    issued_drive <= drive;
    issued_slot <= tail_q[IndexBits'(drive)];
  end

endmodule

`default_nettype wire
