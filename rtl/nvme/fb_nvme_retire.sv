// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Retirement: commands end in the order in which the user gave them, whatever the order in which
// the SSD completed them.
//
// Each ring of pages has a look hand on its oldest command. The ledger says what that command is,
// the outcome what became of it; both are kept by its first page. When a write is over, its pages
// are free and, with the last command of the transaction, the user gets a token. When a read is
// over it is handed to delivery, which frees the pages. Unordered reads come from a queue of their
// own as soon as they complete; when their turn comes only their page is left to free.
//
// A transaction fails as a whole: the first error is what the user is told; a failed read ends
// there. A flush goes to each drive of the array, one after the other.
//
// A command that stays open at the look hand for `timeout` cycles halts the queue: from then on what
// is open fails, and so do new commands, until the streamer is disabled. An SSD that has lost one
// command cannot be trusted with the pages of the others. With several drives it is called lost
// first: software has as long again to keep it from the bus and to call it offline; then its own
// commands fail, and those of the others go on. Its writes are well where parity stands for them.
//
// Handshake: tokens and deliveries are AXI4-Stream-like. Latency: one cycle from a noted outcome
// to the token or delivery. Throughput: a command every four cycles for each ring, the time it
// takes a hand to move and its next command to be read; the shortest one has eight beats.
//
// Does not implement: retries (fb_nvme_complete).

`default_nettype none

module fb_nvme_retire
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Pages = 1024,  // units of the buffer, a power of two
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter int unsigned Drives = 1,  // 1 to 8
    parameter int unsigned LooseDepth = 64  // unordered reads that may wait for delivery
) (
    input wire       clk,
    input wire       rst,
    input wire       sweep,       // after reset: clears the outcomes
    input wire [9:0] sweep_index,

    input wire cfg_t cfg,
    output logic halted,
    output logic timed_out,  // pulse
    output logic timed_out_write,
    output logic [DRIVE_BITS-1:0] timed_out_drive,
    output logic [Drives-1:0] lost,  // drives with a command that has timed out
    input wire [DRIVES_MOST-1:0] offline,  // drives that will complete nothing more

    input wire                          ledger_we,
    input wire                          ledger_wr_side,
    input wire          [PAGE_BITS-1:0] ledger_page,
    input wire ledger_t                 ledger_entry,

    input  wire                           note_valid,
    input  wire           [PAGE_BITS-1:0] note_page,
    input  wire outcome_t                 note,
    input  wire                           loose_valid,
    output logic                          loose_ready,

    input  wire                  wr_look_valid,
    input  wire  [PAGE_BITS-1:0] wr_look_page,
    output logic                 wr_retire,      // moves look and tail of the write ring
    input  wire                  rd_look_valid,
    input  wire  [PAGE_BITS-1:0] rd_look_page,
    output logic                 rd_retire,      // moves look of the read ring
    output logic [          8:0] retire_count,   // by so many pages

    output logic                  flush_valid,
    input  wire                   flush_ready,
    output logic [ PAGE_BITS-1:0] flush_page,
    output logic [DRIVE_BITS-1:0] flush_drive,

    output logic                 m_axis_wrsp_tvalid,
    input  wire                  m_axis_wrsp_tready,
    output logic [CODE_BITS-1:0] m_axis_wrsp_tdata,

    output logic      delivery_valid,
    input  wire       delivery_ready,
    output delivery_t delivery,

    output logic empty  // nothing waits to be retired
);

  localparam int unsigned CountBits = PAGE_BITS + 1;

  // Which command is looked at: writes and reads in turn where both have one. Between the commands
  // of one ordered read nothing else may be delivered; otherwise reads in order and out of order
  // are looked at in turn.
  logic rd_inside_q, loose_last_q;
  logic [CountBits-1:0] wr_pending_q, rd_pending_q;
  logic loose_there, loose_pop;
  logic [PAGE_BITS-1:0] loose_page;
  logic wr_any, rd_any;
  assign wr_any = wr_pending_q != '0;
  assign rd_any = rd_pending_q != '0;

  logic side, side_q;  // 1 = write
  logic loose, loose_q, there_q;
  logic [PAGE_BITS-1:0] page_q;
  assign side  = wr_any && (!rd_any || !side_q);
  assign loose = !side && loose_there && !rd_inside_q && !(loose_last_q && rd_look_valid);
  always_ff @(posedge clk) begin
    side_q  <= side && !rst;
    loose_q <= loose;
    there_q <= side ? wr_look_valid : loose || rd_look_valid;
    page_q  <= side ? wr_look_page : loose ? loose_page : rd_look_page;
    if (!side) loose_last_q <= loose;
  end

  ledger_t entry;
  outcome_t outcome, outcome_in;
  logic outcome_we;
  logic [PAGE_BITS-1:0] outcome_page;

  fb_common_ram #(
      .Width($bits(ledger_t)),
      .Depth(Pages)
  ) u_ledger (
      .clk,
      .we(ledger_we),
      .waddr($clog2(Pages)'(ledger_page)),
      .wdata(ledger_entry),
      .raddr($clog2(Pages)'(page_q)),
      .rdata(entry)
  );
  fb_common_ram #(
      .Width($bits(outcome_t)),
      .Depth(Pages)
  ) u_outcomes (
      .clk,
      .we(outcome_we),
      .waddr($clog2(Pages)'(outcome_page)),
      .wdata(outcome_in),
      .raddr($clog2(Pages)'(page_q)),
      .rdata(outcome)
  );

  fb_common_fifo #(
      .Width(PAGE_BITS),
      .Depth(LooseDepth),
      .OutputRegister(1'b1)
  ) u_loose (
      .clk,
      .rst,
      .s_valid(loose_valid),
      .s_ready(loose_ready),
      .s_data (note_page),
      .m_valid(loose_there),
      .m_ready(loose_pop),
      .m_data (loose_page),
      .level  ()
  );

  // What is read there; an outcome that is noted meanwhile counts. Nothing that was read before a
  // hand had moved counts: after an act its side sees nothing for three cycles.
  logic look_q, look_side_q, look_loose_q;
  typedef enum logic [1:0] {
    NO_FLUSH,
    ASK_FLUSH,
    AWAIT_FLUSH
  } flush_e;
  flush_e flush_q;
  logic flushing_q;  // the write looked at has asked for its flush
  logic [DRIVE_BITS-1:0] flush_drive_q;
  logic flushed;  // at the last drive
  logic [PAGE_BITS-1:0] look_page_q;
  ledger_t entry_q;
  outcome_t outcome_q;
  logic act, act_write, act_read, act_loose, act_flush;
  logic [1:0] wr_moves_q, rd_moves_q;
  logic halted_q;

  always_ff @(posedge clk) begin
    wr_moves_q <= rst ? '0 : {wr_moves_q[0], act && look_side_q};
    rd_moves_q <= rst ? '0 : {rd_moves_q[0], act && !look_side_q};
    look_q <= there_q && (side_q ? wr_any && wr_moves_q == '0 : rd_any && rd_moves_q == '0) &&
        !(act && look_side_q == side_q);
    if (rst) look_q <= 1'b0;
    look_side_q <= side_q;
    look_loose_q <= loose_q;
    flushing_q <= side_q && flush_q != NO_FLUSH;
    look_page_q <= page_q;
    entry_q <= entry;
    outcome_q <= (note_valid && note_page == page_q) ? note : outcome;
  end

  // What became of it.
  logic open, over, rejected, gone, spared, failed;
  logic [DRIVE_BITS-1:0] drive;
  logic [ CODE_BITS-1:0] code;
  // A flush that was asked for has an outcome of its own, also where the command had none.
  assign rejected = entry_q.reject && !flushing_q;
  assign drive = (Drives > 1 && flushing_q) ? flush_drive : entry_q.drive;
  assign gone = Drives > 1 && offline[drive];
  assign open = !rejected && outcome_q.progress == OPEN;
  assign over = !(open && !halted_q && !gone) && !(outcome_q.progress == DONE_SOON && !look_loose_q);
  // What the one drive that parity stands for has not done of a write is no loss.
  assign spared = open && gone && cfg.degraded && look_side_q;
  assign failed = !rejected && !spared && outcome_q.error;
  assign code = rejected ? entry_q.size[CODE_BITS-1:0] : spared ? ERR_OK : outcome_q.code;

  // Writes.
  logic [CODE_BITS-1:0] wr_code_q, wr_code;
  logic wr_broken_q;  // wr_code_q is an error
  logic token_ready, wants_flush;
  assign wr_code = wr_broken_q ? wr_code_q : code;
  assign wants_flush = entry_q.last && entry_q.flush && !(flushing_q && flushed) &&
      !wr_broken_q && !failed;
  assign act_flush = look_q && look_side_q && over && !note_valid && wants_flush;
  assign act_write = look_q && look_side_q && over && !note_valid && !wants_flush &&
      (token_ready || !entry_q.last);

  // Reads.
  logic rd_broken_q;  // an earlier command of this transaction failed and has ended it
  assign act_loose = look_q && look_loose_q && !note_valid && delivery_ready;
  assign act_read = look_q && !look_side_q && !look_loose_q && over && !note_valid &&
      delivery_ready;
  // Any of these, without asking which.
  assign act = look_q && !note_valid && (look_loose_q || over) &&
      (look_side_q ? wants_flush || token_ready || !entry_q.last : delivery_ready);
  assign loose_pop = act_loose;

  // The hands move one cycle later.
  always_ff @(posedge clk) begin
    wr_retire <= act_write && !rst;
    rd_retire <= act_read && !rst;
    retire_count <= entry_q.unordered ? 9'd1 : {1'b0, entry_q.size[SIZE_BITS-1:12] >> UnitBits} + 9'd1;
  end

  logic delivered;
  assign delivered = outcome_q.progress == DELIVERED;
  assign delivery_valid = act_read || act_loose;
  assign delivery = '{
          page: look_page_q,
          size: entry_q.unordered ? {8'd0, entry_q.size[11:0]} : entry_q.size,
          last: entry_q.last,
          fail: code != ERR_OK && !rd_broken_q,
          mute: rd_broken_q,
          sent: delivered,
          keep: look_loose_q,
          code: code,
          tag: entry_q.unordered ? entry_q.size[12+:READ_TAG_BITS] : '0
      };

  always_ff @(posedge clk) begin
    if (rst) begin
      wr_pending_q <= '0;
      rd_pending_q <= '0;
      flush_q <= NO_FLUSH;
      wr_broken_q <= 1'b0;
      rd_broken_q <= 1'b0;
      rd_inside_q <= 1'b0;
    end else begin
      wr_pending_q <= wr_pending_q + CountBits'(ledger_we && ledger_wr_side) -
          CountBits'(act_write);
      rd_pending_q <= rd_pending_q + CountBits'(ledger_we && !ledger_wr_side) -
          CountBits'(act_read);
      if (act_write) begin
        wr_broken_q <= !entry_q.last && (wr_broken_q || code != ERR_OK);
        flush_q <= NO_FLUSH;
      end else if (act_flush) begin
        flush_q <= ASK_FLUSH;
      end else if (flush_valid && flush_ready) begin
        flush_q <= AWAIT_FLUSH;
      end
      if (act_flush) flush_drive_q <= flushing_q ? flush_drive_q + 1'b1 : '0;
      if (act_read) begin
        rd_inside_q <= !entry_q.last;
        rd_broken_q <= (rd_broken_q || code != ERR_OK) && !entry_q.last;
      end
    end
  end
  always_ff @(posedge clk) if (act_write) wr_code_q <= wr_code;
  assign flush_valid = (flush_q == ASK_FLUSH);
  assign flush_page = wr_look_page;
  assign flush_drive = (Drives > 1) ? flush_drive_q : '0;
  assign flushed = Drives == 1 || flush_drive_q == cfg.drives_m1;
  assign empty = !wr_any && !rd_any;

  // Outcomes: noted by completion, cleared here, so that a free page is always OPEN.
  always_comb begin
    outcome_we   = note_valid || act || sweep;
    outcome_page = sweep ? sweep_index : note_valid ? note_page : look_page_q;
    outcome_in   = note;
    if (!note_valid) begin
      outcome_in.progress = act_loose ? DELIVERED : OPEN;
      outcome_in.error = !act_loose;
      outcome_in.code = act_loose ? ERR_OK : ERR_TIMEOUT;
    end
  end

  // Time-out of the oldest command of each ring.
  logic [31:0] wr_timer_q, rd_timer_q;
  logic wr_over_q, rd_over_q, timed_q;
  logic wr_expired, rd_expired, halt;
  logic wr_waits_q, rd_waits_q;  // what was last seen at the look hand was open
  logic [DRIVE_BITS-1:0] wr_drive_q, rd_drive_q;  // and it was this drive's
  always_ff @(posedge clk) begin
    if (rst) begin
      wr_waits_q <= 1'b0;
      rd_waits_q <= 1'b0;
      halted_q   <= 1'b0;
    end else begin
      if (act && look_side_q) wr_waits_q <= act_flush;
      else if (look_q && look_side_q) wr_waits_q <= open;
      if (act && !look_side_q) rd_waits_q <= 1'b0;
      else if (look_q && !look_side_q && !look_loose_q) rd_waits_q <= open;
      if (halt) halted_q <= 1'b1;
    end
    if (!wr_waits_q || timed_out || act_write || act_flush) wr_timer_q <= cfg.timeout;
    else wr_timer_q <= wr_timer_q - 1'b1;
    if (!rd_waits_q || timed_out || act_read) rd_timer_q <= cfg.timeout;
    else rd_timer_q <= rd_timer_q - 1'b1;
    if (look_q && look_side_q) wr_drive_q <= drive;
    if (look_q && !look_side_q) rd_drive_q <= drive;
    // A cycle late: what was waited for may just have come.
    wr_over_q <= wr_timer_q == '0 && timed_q;
    rd_over_q <= rd_timer_q == '0 && timed_q;
    timed_q   <= cfg.timeout != '0;
  end
  assign wr_expired = wr_waits_q && wr_over_q && !halted_q;
  assign rd_expired = rd_waits_q && rd_over_q && !halted_q;
  assign timed_out = wr_expired || rd_expired;
  assign timed_out_write = wr_expired;
  assign timed_out_drive = wr_expired ? wr_drive_q : rd_drive_q;
  assign halted = halted_q;

  if (Drives == 1) begin : gen_one
    assign lost = halted_q;
    assign halt = timed_out;
  end else begin : gen_many
    // A drive that is lost and not offline one time-out later halts the queue after all. Both timers
    // begin anew, so that it is not halted by the other ring at once.
    localparam int unsigned IndexBits = $clog2(Drives);
    logic [Drives-1:0] lost_q;
    always_ff @(posedge clk) begin
      if (timed_out) lost_q[IndexBits'(timed_out_drive)] <= 1'b1;
      if (rst) lost_q <= '0;
    end
    assign lost = lost_q;
    assign halt = timed_out && lost_q[IndexBits'(timed_out_drive)];
  end

  fb_common_fifo #(
      .Width(CODE_BITS),
      .Depth(32)
  ) u_tokens (
      .clk,
      .rst,
      .s_valid(act_write && entry_q.last),
      .s_ready(token_ready),
      .s_data (wr_code),
      .m_valid(m_axis_wrsp_tvalid),
      .m_ready(m_axis_wrsp_tready),
      .m_data (m_axis_wrsp_tdata),
      .level  ()
  );

  fb_axis_check #(
      .Width(CODE_BITS),
      .Name ("m_axis_wrsp")
  ) u_check (
      .clk,
      .rst,
      .valid(m_axis_wrsp_tvalid),
      .ready(m_axis_wrsp_tready),
      .data (m_axis_wrsp_tdata)
  );

endmodule

`default_nettype wire
