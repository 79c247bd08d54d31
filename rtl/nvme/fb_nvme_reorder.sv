// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_reorder: answers in the order of the user's commands, whatever the order of completions.
//
// What:        each ring of pages has a look pointer on its oldest command. The reorder table says
//              what that command is, the completion table what became of it; both are kept by its
//              first page. A write that is over frees its pages and, with the last command of the
//              transaction, is answered; a read is handed to fb_nvme_read_stream, which frees the
//              pages. Unordered reads come from a queue of their own as soon as they complete; when
//              their turn comes only their page is left to free. The first error is what the user is
//              told of a transaction; a failed read ends there. A write's flush goes to each drive
//              in turn. A command that stays open too long halts the queue or loses its
//              drive (fb_nvme_timeout): what is open then fails, except for writes that parity
//              stands for. With parity the first drive to fail a write is lost as well, and the
//              write stays open until software has called that drive offline.
// Handshake:   a response on offer stays until it is taken, also when a restart comes.
// Latency:     one cycle from a result to the response or delivery.
// Throughput:  a command every five cycles for each ring, the time it takes a pointer to move and its
//              next command to be read; the shortest command has eight beats.
// Does not implement: retries (fb_nvme_cqe_check).

`default_nettype none

module fb_nvme_reorder
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Pages = 1024,  // units of the buffer, a power of two
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter int unsigned Drives = 1,  // 1 to 8
    parameter int unsigned EarlyDepth = 64  // unordered reads that may wait for early delivery
) (
    input wire clk,
    input wire rst,  // of the whole streamer
    input wire restart,  // a new life of the queue: forget all but a response on offer
    input wire sweep,  // after it: clears the completion table
    input wire [PAGE_BITS-1:0] sweep_index,

    input wire cfg_t cfg,
    output logic halted,
    output logic timed_out,  // pulse
    output logic timed_out_write,
    output logic [DRIVE_BITS-1:0] timed_out_drive,
    output logic [Drives-1:0] lost,  // drives to be done without
    input wire [DRIVES_MOST-1:0] offline,  // drives that will complete nothing more

    // From fb_nvme_submit: the next command of a ring.
    input wire                           reorder_valid,
    input wire                           reorder_write,
    input wire           [PAGE_BITS-1:0] reorder_page,
    input wire reorder_t                 reorder_entry,

    // From fb_nvme_cqe_check: what became of a command.
    input  wire                                  result_valid,
    input  wire                  [PAGE_BITS-1:0] result_page,
    input  wire command_result_t                 result,
    input  wire                                  early_valid,   // with it: deliver the read early
    output logic                                 early_ready,

    input  wire                  wr_look_valid,
    input  wire  [PAGE_BITS-1:0] wr_look_page,
    output logic                 wr_retire,      // moves look and tail of the write ring
    input  wire                  rd_look_valid,
    input  wire  [PAGE_BITS-1:0] rd_look_page,
    output logic                 rd_retire,      // moves look of the read ring
    output logic [          8:0] retire_count,   // by this number of units

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

    output logic writes_empty,  // no write waits for its answer
    output logic empty  // no command does
);

  localparam int unsigned CountBits = PAGE_BITS + 1;
  localparam int unsigned IndexBits = $clog2(Pages);

  typedef struct packed {
    logic valid;
    logic write;
    logic early;
    logic [PAGE_BITS-1:0] page;
  } look_t;

  typedef struct packed {
    logic known;
    command_result_t result;
  } noted_t;

  // Which command is looked at: writes and reads in turn where both have one. Between the commands
  // of one ordered read nothing else may be delivered; otherwise reads in order and early ones are
  // looked at in turn.
  look_t next, asked_q, read_q, look_q;  // to be looked at; asked of the tables, half read, read
  logic rd_inside_q, early_last_q, early_there, wr_any, rd_any;
  logic act, act_write, act_read, act_early, act_flush;  // it is over, or asks for a flush
  logic [CountBits-1:0] wr_pending_q, rd_pending_q;
  logic [PAGE_BITS-1:0] early_page;
  assign wr_any = wr_pending_q != '0;
  assign rd_any = rd_pending_q != '0;
  always_comb begin
    next.write = wr_any && (!rd_any || !asked_q.write);
    next.early = !next.write && early_there && !rd_inside_q && !(early_last_q && rd_look_valid);
    next.valid = next.write ? wr_look_valid : next.early || rd_look_valid;
    next.page  = next.write ? wr_look_page : next.early ? early_page : rd_look_page;
  end
  always_ff @(posedge clk) begin
    asked_q <= next;
    if (restart) asked_q.write <= 1'b0;
    if (!next.write) early_last_q <= next.early;
  end

  reorder_t entry_q;
  command_result_t found_q, found;
  // What is written into the completion table, a cycle late: only registers lead to a block RAM.
  logic result_we_q;
  logic [IndexBits-1:0] written_page_q;
  command_result_t written_q;

  fb_common_table #(
      .Width($bits(reorder_t)),
      .Depth(Pages)
  ) u_reorder_table (
      .clk,
      .we(reorder_valid),
      .waddr(IndexBits'(reorder_page)),
      .wdata(reorder_entry),
      .raddr(IndexBits'(asked_q.page)),
      .rdata(entry_q)
  );
  fb_common_table #(
      .Width($bits(command_result_t)),
      .Depth(Pages)
  ) u_completion_table (
      .clk,
      .we(result_we_q),
      .waddr(written_page_q),
      .wdata(written_q),
      .raddr(IndexBits'(asked_q.page)),
      .rdata(found_q)
  );

  fb_common_fifo #(
      .Width(PAGE_BITS),
      .Depth(EarlyDepth),
      .OutputRegister(1'b1)
  ) u_early (
      .clk,
      .rst(restart),
      .s_valid(early_valid),
      .s_ready(early_ready),
      .s_data(result_page),
      .m_valid(early_there),
      .m_ready(act_early),
      .m_data(early_page),
      .level()
  );

  // What is read there, in two cycles; a result that comes meanwhile counts, and one that was not yet
  // in the table. Nothing that was read before a pointer had moved counts: after an act its side sees
  // nothing for four cycles.
  noted_t read_noted_q, look_noted_q;
  logic flush_busy_q, flush_last;  // the oldest write has asked for its flush; at the last drive
  logic flushing_q;  // it is looked at
  logic [2:0] wr_moves_q, rd_moves_q;

  // The result of this cycle, if it is of this page, or else the one that was.
  function automatic noted_t newer(input logic [PAGE_BITS-1:0] page, input noted_t old);
    return (result_valid && result_page == page) ? {1'b1, result} : old;
  endfunction

  always_ff @(posedge clk) begin
    read_q <= asked_q;
    // Until the table is cleared it says what became of the last life's commands.
    read_q.valid <= asked_q.valid && (asked_q.write ? wr_any : rd_any) && !restart && !sweep;
    read_noted_q <= newer(
        asked_q.page, {result_we_q && written_page_q == IndexBits'(asked_q.page), written_q}
    );
    look_q <= read_q;
    look_noted_q <= newer(read_q.page, read_noted_q);
    flushing_q <= read_q.write && flush_busy_q;

    wr_moves_q <= {wr_moves_q[1:0], act && look_q.write};
    rd_moves_q <= {rd_moves_q[1:0], act && !look_q.write};
    look_q.valid <= read_q.valid && !(act && look_q.write == read_q.write) &&
        (read_q.write ? wr_moves_q : rd_moves_q) == '0;
    if (restart) {look_q.valid, wr_moves_q, rd_moves_q} <= '0;
  end
  assign found = look_noted_q.known ? look_noted_q.result : found_q;

  // What became of it.
  logic open, over, rejected, gone, covered, refused, failed, bad;
  logic [DRIVE_BITS-1:0] drive;
  logic [ CODE_BITS-1:0] code;
  // A flush that was asked for has a result of its own, also where the command had none.
  assign rejected = entry_q.reject && !flushing_q;
  assign drive = (Drives > 1 && flushing_q) ? flush_drive : entry_q.drive;
  assign gone = Drives > 1 && offline[drive];
  assign open = !rejected && found.progress == OPEN;
  assign over = !((open || refused) && !halted && !gone) &&
      !(found.progress == DONE_EARLY && !look_q.early);
  // What the one drive that parity stands for has not done of a write is no loss. Where all are there,
  // a write that one refuses waits until that one is done without.
  assign covered = !rejected && gone && cfg.degraded && look_q.write;
  assign refused = Drives > 1 && !rejected && !open && found.error &&
      found.code != ERR_NOT_FETCHED && look_q.write && cfg.parity && offline == '0 &&
      (lost & ~(Drives'(1) << drive)) == '0;
  assign failed = !rejected && !covered && found.error;
  assign bad = rejected ? entry_q.size[CODE_BITS-1:0] != ERR_OK : failed;  // code is not ERR_OK
  assign code = rejected ? entry_q.size[CODE_BITS-1:0] : covered ? ERR_OK : found.code;

  logic [CODE_BITS-1:0] wr_code_q, wr_code;
  logic wr_broken_q;  // wr_code_q is an error
  logic response_ready, wants_flush;
  assign wr_code = wr_broken_q ? wr_code_q : code;
  assign wants_flush = entry_q.last && entry_q.flush && !(flushing_q && flush_last) &&
      !wr_broken_q && !failed;
  logic rd_broken_q;  // an earlier command of this read failed and has ended it
  logic looks;
  assign looks = look_q.valid && !result_valid;
  assign act_flush = looks && look_q.write && over && wants_flush;
  assign act_write = looks && look_q.write && over && !wants_flush &&
      (response_ready || !entry_q.last);
  assign act_early = looks && look_q.early && delivery_ready;
  assign act_read = looks && !look_q.write && !look_q.early && over && delivery_ready;
  // Any of these, without asking which.
  assign act = looks && (look_q.early || over) &&
      (look_q.write ? wants_flush || response_ready || !entry_q.last : delivery_ready);

  // The pointers move one cycle later.
  always_ff @(posedge clk) begin
    wr_retire <= act_write && !restart;
    rd_retire <= act_read && !restart;
    retire_count <= entry_q.unordered ? 9'd1 :
        {1'b0, entry_q.size[SIZE_BITS-1:12] >> UnitBits} + 9'd1;
  end

  assign delivery_valid = act_read || act_early;
  assign delivery = '{
          page: look_q.page,
          size: entry_q.unordered ? {8'd0, entry_q.size[11:0]} : entry_q.size,
          last: entry_q.last,
          fail: bad && !rd_broken_q,
          skip: rd_broken_q,
          sent: found.progress == DELIVERED,
          keep: look_q.early,
          code: code,
          tag: entry_q.unordered ? entry_q.size[12+:READ_TAG_BITS] : '0
      };

  always_ff @(posedge clk) begin
    // A command that is over is counted a cycle late, while its side sees nothing anyway.
    wr_pending_q <= wr_pending_q + CountBits'(reorder_valid && reorder_write) -
        CountBits'(wr_retire);
    rd_pending_q <= rd_pending_q + CountBits'(reorder_valid && !reorder_write) -
        CountBits'(rd_retire);
    if (act_write) begin
      wr_broken_q <= !entry_q.last && (wr_broken_q || bad);
      wr_code_q   <= wr_code;
    end
    if (act_read) begin
      rd_inside_q <= !entry_q.last;
      rd_broken_q <= (rd_broken_q || bad) && !entry_q.last;
    end
    if (restart) {wr_pending_q, rd_pending_q, wr_broken_q, rd_broken_q, rd_inside_q} <= '0;
  end
  assign writes_empty = !wr_any && !(reorder_valid && reorder_write);
  assign empty = !wr_any && !rd_any;

  // Results come from fb_nvme_cqe_check, and are cleared here, so that a free page is always OPEN. A
  // command that is never completed has timed out: that is the code of an open one.
  always_ff @(posedge clk) begin
    result_we_q <= result_valid || act || sweep;
    written_page_q <= IndexBits'(sweep ? sweep_index : result_valid ? result_page : look_q.page);
    written_q <= result_valid ? result : command_result_t'{
        progress: act_early ? DELIVERED : OPEN,
        error: !act_early,
        code: act_early ? ERR_OK : ERR_TIMEOUT
    };
  end

  // The flush that the oldest write waits for, at each drive in turn.
  assign flush_page = wr_look_page;
  assign flush_last = Drives == 1 || flush_drive == cfg.drives_m1;
  always_ff @(posedge clk) begin
    flush_busy_q <= (flush_busy_q || act_flush) && !act_write && !restart;
    flush_valid  <= (act_flush || (flush_valid && !flush_ready)) && !restart;
    if (act_flush) flush_drive <= (Drives > 1 && flush_busy_q) ? flush_drive + 1'b1 : '0;
  end

  fb_nvme_timeout #(
      .Drives(Drives)
  ) u_timeout (
      .clk,
      .rst(restart),
      .cycles(cfg.timeout),
      .look(look_q.valid && !look_q.early),
      .look_write(look_q.write),
      .look_open((open || refused) && !gone),
      .look_refused(refused),
      .look_drive(drive),
      .step(act),
      .step_write(look_q.write),
      .timed_out,
      .timed_out_write,
      .timed_out_drive,
      .lost,
      .halted
  );

  fb_common_fifo #(
      .Width(CODE_BITS),
      .Depth(32)
  ) u_responses (
      .clk,
      .rst,
      .clear  (restart),
      .s_valid(act_write && entry_q.last),
      .s_ready(response_ready),
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
