// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Submission: commands get an identifier, a place in the submission queue, and a line in the
// ledger. What the SSD will read there is not stored: an entry is formed when it is fetched, from
// the place's identifier and the identifier's descriptor.
//
// An identifier is free again when its command completes, whatever became of older ones; the order
// of the user's transactions lives in the rings of pages and in the ledger alone.
//
// Order of service: retries, a flush that a transaction waits for, then writes and reads in turn.
// Handshake: `*_ready` rises in the cycle in which a command is taken. Rejected commands only pass
// to the ledger.
// Latency: one cycle from the command to `sq_tail`, two from `fetch_slot` to `fetch_sqe`.
// Throughput: one command a cycle.
//
// Does not implement: queues in memory; the queue window (fb_nvme_queue) serves the entries.

`default_nettype none

module fb_nvme_issue
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,  // places in the submission queue, a power of two
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter bit InHost = 1'b0,  // the buffer is in host memory, in pieces
    localparam int unsigned TagBits = $clog2(QueueDepth)
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

    input  wire                  flush_valid,
    output logic                 flush_ready,
    input  wire  [PAGE_BITS-1:0] flush_page,

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

    output logic [SLOT_BITS-1:0] sq_tail,
    output logic [SLOT_BITS-1:0] outstanding,
    output logic                 busy,         // chunks may grow

    input wire [9:0] fetch_slot,
    output logic [DATA_BITS-1:0] fetch_sqe,

    // For counters and trace, a cycle later.
    output logic                 issued,
    output logic                 issued_retry,
    output op_e                  issued_op,
    output logic [ TAG_BITS-1:0] issued_tag,
    output logic [SLOT_BITS-1:0] issued_slot,
    output logic                 rejected,
    output logic [CODE_BITS-1:0] rejected_code
);

  if (QueueDepth < 2 || QueueDepth > 1024 || (QueueDepth & (QueueDepth - 1)) != 0)
  begin : gen_bad_depth
    $fatal(
        1, "fb_nvme_issue (%m): QueueDepth=%0d must be a power of two from 2 to 1024", QueueDepth
    );
  end

  logic [SLOT_BITS-1:0] tail_q, outstanding_q;
  logic turn_q;  // 1: it is the reads' turn
  logic open_q;  // one more command may be outstanding

  // Free identifiers, and identifiers to be used once more.
  logic tag_valid, retry_valid, tag_take, retry_take;
  logic [TagBits-1:0] free_tag, retry_tag, tag;

  logic back_q;
  logic [TagBits-1:0] back_tag_q;
  always_ff @(posedge clk) begin
    back_q <= !rst && (sweep ? 11'(sweep_index) < 11'(QueueDepth) : finish && !finish_retry);
    back_tag_q <= sweep ? TagBits'(sweep_index) : TagBits'(lookup_tag);
  end

  fb_common_fifo #(
      .Width(TagBits),
      .Depth(QueueDepth),
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
      .Width(TagBits),
      .Depth(QueueDepth),
      .OutputRegister(1'b1)
  ) u_retry (
      .clk,
      .rst,
      .s_valid(finish && finish_retry),
      .s_ready(),
      .s_data (TagBits'(lookup_tag)),
      .m_valid(retry_valid),
      .m_ready(retry_take),
      .m_data (retry_tag),
      .level  ()
  );

  // Who is served in this cycle. Rejected commands need no identifier, but wait for one all the
  // same: what decides is in registers. open_q excludes halted_q.
  logic halted_q;  // a cycle late: one more command does no harm
  always_ff @(posedge clk) halted_q <= halted && !rst;

  logic may, pick_rd, retry_go, flush_go, wr_go, rd_go, go;
  assign may = (open_q && tag_valid && !retry_valid) || halted_q;
  assign pick_rd = rd_valid && (turn_q || !wr_valid);
  assign retry_go = open_q && retry_valid;
  assign flush_go = may && flush_valid;
  assign wr_go = may && !flush_valid && wr_valid && !pick_rd;
  assign rd_go = may && !flush_valid && pick_rd;
  assign wr_ready = wr_go;
  assign rd_ready = rd_go;
  assign flush_ready = flush_go;
  assign retry_take = retry_go;

  command_t command;
  assign command = pick_rd ? rd_command : wr_command;

  logic goes_out;  // a place in the queue is used
  assign tag_take = open_q && tag_valid && !retry_valid &&
      (flush_valid || (pick_rd ? !rd_command.reject : wr_valid && !wr_command.reject));
  assign goes_out = tag_take || retry_go;
  assign tag = retry_valid ? retry_tag : free_tag;  // while there is a retry no other tag is used
  assign go = wr_go || rd_go;

  // Whether there is room for one more command, and for one after that.
  logic room_one, room_two;
  assign room_one = outstanding_q + SLOT_BITS'(1) < cfg.queue_entries;
  assign room_two = outstanding_q + SLOT_BITS'(2) < cfg.queue_entries;
  always_ff @(posedge clk) begin
    if (rst) begin
      tail_q <= '0;
      outstanding_q <= '0;
      open_q <= 1'b0;
      turn_q <= 1'b0;
    end else begin
      if (goes_out) tail_q <= (tail_q + 1'b1 == cfg.queue_entries) ? '0 : tail_q + 1'b1;
      outstanding_q <= outstanding_q + SLOT_BITS'(goes_out) - SLOT_BITS'(finish);
      open_q <= !sweep && !halted && (goes_out ? room_two : room_one);
      if (wr_go) turn_q <= 1'b1;
      else if (rd_go) turn_q <= 1'b0;
    end
  end
  assign sq_tail = tail_q;
  assign outstanding = outstanding_q;
  always_ff @(posedge clk) busy <= outstanding_q >= SLOT_BITS'(cfg.busy_commands);

  // A command that meets a halted queue is rejected like one that breaks a rule.
  logic turned_away, reject_q;
  logic [7:0] extra_pages;
  assign turned_away = halted_q && !command.reject;
  assign extra_pages = command.loose ? 8'd0 : command.size[SIZE_BITS-1:12];
  // What is chosen here is written into the wide tables one cycle later: nobody looks there sooner.
  always_ff @(posedge clk) begin
    ledger_we <= go && !rst;
    reject_q <= go && command.reject && !rst;
    ledger_wr_side <= wr_go;
    ledger_page <= command.page;
    ledger_entry <= '{
        flush: command.flush && !turned_away,
        loose: command.loose,
        reject: command.reject || turned_away,
        last: command.last,
        size: turned_away ? {command.size[SIZE_BITS-1:12], 4'd0, ERR_HALTED} : command.size
    };
  end
  assign rejected = reject_q && rejected_code != ERR_OK;
  assign rejected_code = ledger_entry.size[CODE_BITS-1:0];

  // Descriptors. A flush has no data: its page only says what waits for it.
  descriptor_t descriptor;
  assign descriptor = '{
          op: flush_valid ? OP_FLUSH : pick_rd ? OP_READ : OP_WRITE,
          fua: command.fua && !pick_rd,
          loose: command.loose && pick_rd && !flush_valid,
          page: flush_valid ? flush_page : command.page,
          size: {extra_pages, command.size[11:9]},
          sector: flush_valid ? '0 : command.sector
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
      .Depth(QueueDepth)
  ) u_slots (
      .clk,
      .we(goes_out),
      .waddr(TagBits'(tail_q)),
      .wdata(tag),
      .raddr(TagBits'(fetch_slot)),
      .rdata(fetch_tag)
  );
  fb_common_ram #(
      .Width($bits(descriptor_t)),
      .Depth(QueueDepth)
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
      .Depth(QueueDepth)
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
      .Depth(QueueDepth)
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
      .Depth(QueueDepth)
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
      .Depth(QueueDepth)
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
      .Depth(QueueDepth)
  ) u_back_at_tag (
      .clk,
      .we(finish || sweep),
      .waddr(sweep ? TagBits'(sweep_index) : TagBits'(lookup_tag)),
      .wdata(!sweep && out_bit),
      .raddr(tag),
      .rdata(back_at_tag)
  );
  assign lookup_in_use = (out_bit != back_bit);

  // How often a command was tried again; it shares the rhythm of u_out.
  logic [3:0] retries_at_tag;
  fb_common_ram #(
      .Width(4),
      .Depth(QueueDepth)
  ) u_retries (
      .clk,
      .we(goes_out),
      .waddr(tag),
      .wdata(retry_go ? retries_at_tag + 1'b1 : 4'd0),
      .raddr(tag),
      .rdata(retries_at_tag)
  );
  fb_common_ram #(
      .Width(4),
      .Depth(QueueDepth)
  ) u_lookup_retries (
      .clk,
      .we(goes_out),
      .waddr(tag),
      .wdata(retry_go ? retries_at_tag + 1'b1 : 4'd0),
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

  logic is_data, is_long, has_list;  // more than one page, more than two
  logic [31:0] dword0;
  logic [63:0] prp1, prp2, slba;
  assign is_data  = (sqe_q.op != OP_FLUSH);
  assign dword0   = {16'(sqe_tag_q), 8'd0, 6'd0, sqe_q.op};
  assign is_long  = is_data && sqe_q.size[SIZE_BITS-1:12] != '0;
  assign has_list = sqe_q.size[SIZE_BITS-1:12] != 8'd1;
  logic [63:0] unit_address;  // of the command's first page
  assign prp1 = is_data ? unit_address : '0;
  if (UnitBits == 0) begin : gen_pages
    // PRP 2 is the second page, or the list that starts at it: bit 22 of the data window shows
    // every page as the list of its successors.
    logic [PAGE_BITS-1:0] second_page;
    assign unit_address = cfg.data_window | (64'(sqe_q.page) << 12);
    assign second_page = sqe_q.page + 1'b1;
    assign prp2 = is_long ? cfg.data_window | {41'd0, has_list, second_page, 12'd0} : '0;
  end else begin : gen_units
    // A command begins with a unit: its second page is in it, and its list is that of the unit.
    assign prp2 = !is_long ? '0 : has_list ? cfg.prp_lists | (64'(sqe_q.page) << 12) :
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
    end else begin : gen_window
      assign unit_address = cfg.data_window | (64'(sqe_q.page) << (12 + UnitBits));
    end
  end
  assign slba = cfg.block_4k ? 64'(sqe_q.sector >> 3) : 64'(sqe_q.sector);

  if (!InHost) begin : gen_no_pieces
    logic unused;
    assign unused = &{1'b0, piece_we, piece_index, piece_address, 1'b0};
  end

  always_comb begin
    fetch_sqe = '0;
    fetch_sqe[31:0] = dword0;
    fetch_sqe[63:32] = cfg.nsid;
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
    issued_slot <= tail_q;
  end

endmodule

`default_nettype wire
