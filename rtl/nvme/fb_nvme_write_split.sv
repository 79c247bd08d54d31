// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Write path, first half: from the user's stream into the buffer, cut into commands.
//
// A transaction is one packet: beat 0 carries the byte address, then come the data. Data go into
// pages of the write ring as they arrive. A command leaves for the SSD
//   - at the end of the transaction, so that a short one is never held back;
//   - when a chunk has been gathered and the SSD has little to do, so that it is soon kept busy;
//   - when it has the greatest size that the drive takes;
//   - when the next page on offer is not its neighbour, or it holds all pages there are;
//   - at the end of a chunk of the array, where there are several drives.
// The tail is padded with zeros up to the logical block. A transaction that breaks the rules is
// taken to its end; from where it broke them on, its commands are marked rejected. One of beat 0
// alone that asks for a flush is a flush and nothing else: its address does not count. A fence goes
// with the first command. A command is offered only once the memory says that its data are
// committed; `mem_end` goes there with or after its last beat.
//
// Handshake: AXI4-Stream; TREADY depends on registers only and falls while there is no page, no
// room for a command, or `hold` lends the memory port to the read path.
// Latency: a beat is in memory two cycles after its handshake; the command of the last beat is
// offered three cycles after it.
// Throughput: 64 bytes a cycle, none lost between transactions. One 512-bit register.
// Does not implement: anything that needs to know what became of a command.

`default_nettype none

module fb_nvme_write_split
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Pages = 1024,  // units of the buffer, a power of two
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter int unsigned CommandDepth = 32,  // commands that may wait for a place in the queue
    parameter bit Array = 1'b0,  // no command crosses the end of a chunk of the array
    localparam int unsigned AddrBits = $clog2(Pages) + UnitBits + BEAT_BITS
) (
    input wire clk,
    input wire rst,  // of the whole streamer
    input wire restart,  // a new life of the queue: forget everything but a packet half taken

    input wire cfg_t cfg,
    input wire [PAGE_BITS:0] held,  // pages taken and not yet free again
    input wire grow,  // the SSD is busy: a chunk may grow up to the transfer limit
    input wire hold,  // take no beat in this cycle

    fb_axis_if.target s_axis_wr,

    input  wire                  offer_valid,
    input  wire  [PAGE_BITS-1:0] offer_page,
    output logic                 offer_take,
    output logic                 open,         // a command is being built, or not yet committed

    output logic                 mem_we,
    output logic [ AddrBits-1:0] mem_addr,
    output logic [DATA_BITS-1:0] mem_wdata,
    output logic                 mem_end,      // what was written belongs to a complete command
    input  wire                  committed,    // pulse: the next command's data are in memory
    input  wire                  commit_error, // with it: not all of them

    output logic     command_valid,
    input  wire      command_ready,
    output command_t command
);

  localparam logic [7:0] UnitMask = 8'((1 << UnitBits) - 1);

  // A bit each, so that what waits for nothing but a state asks one register.
  typedef enum logic [3:0] {
    ADDRESS = 4'b0001,  // beat 0 is next
    DATA    = 4'b0010,
    PAD     = 4'b0100,  // zeros up to the end of the logical block
    CLOSE   = 4'b1000   // a transaction that ends without data of its own still needs an answer
  } state_e;

  state_e state_q;
  logic address, data, pad, closing;  // the state
  assign {closing, pad, data, address} = state_q;
  logic [BEAT_BITS-1:0] beat_q;  // next beat in the page
  logic [7:0] pages_q;  // full pages in the command
  logic page_begins_q, command_begins_q;  // beat_q is 0; so is pages_q
  logic page_last_q, sector_last_q;  // the next beat is the last of its page, of 512 bytes
  logic unit_begins_q;  // the next beat needs a new unit
  logic [PAGE_BITS-1:0] page_q, next_page_q, first_page_q;
  logic [13:0] before_q;  // page and beat of the last one stored
  logic [SECTOR_BITS-1:0] sector_q, room_q;  // of the command; sectors left in the namespace
  logic room_big_q, above_q;
  logic fua_q, flush_q;
  logic fence_q;  // the transaction has a fence, and this is its first command
  logic fresh_q;  // the address was taken one cycle ago
  logic empty_q;  // no data yet in this transaction
  logic [CODE_BITS-1:0] code_q;
  logic room_for_command_q;

  // Verdicts on where the command stands, one cycle old. A page takes 64 cycles and a sector eight,
  // and what is asked of them is asked at the end of one, so that they are never out of date; between
  // two pages they may come a cycle late.
  logic full_q, more_q, alone_q;  // full: the command ends with this page
  logic neighbour, spare;  // the page on offer is the next one; the SSD has become idle
  logic stay_q, leave_q;  // between two pages: take the one on offer, or leave without it
  logic past_q, before_past_q;  // this sector, the one before, lies beyond the namespace
  logic edge_q;  // this sector is the last of its chunk
  always_ff @(posedge clk) begin
    full_q  <= pages_q == cfg.transfer_m1 || (pages_q >= cfg.chunk_m1 && !grow);
    more_q  <= (pages_q > cfg.chunk_m1);
    alone_q <= (held == (PAGE_BITS + 1)'(pages_q >> UnitBits));
    stay_q  <= offer_valid && neighbour && !spare;
    leave_q <= (offer_valid ? !neighbour : alone_q) || spare;
    edge_q  <= Array && ((sector_q[10:0] + {pages_q, beat_q[5:3]}) | ~{cfg.strip_m1, 3'b111}) == '1;
    past_q  <= above_q || (!room_big_q && {pages_q, beat_q[5:3]} >= room_q[10:0]);
  end

  // Between two units of a command: whether it goes on into the page on offer. It leaves without
  // one where that page is not its neighbour, where it holds all pages there are, or where the SSD
  // has meanwhile become idle.
  logic leave;
  assign neighbour = (offer_page == next_page_q);
  assign spare = more_q && !grow;
  assign leave = data && unit_begins_q && !command_begins_q && room_for_command_q && leave_q;

  // What happens in this cycle.
  logic take_address, take_data, take_empty, pads, stores, page_here, data_ready;
  assign page_here = !unit_begins_q || (command_begins_q ? offer_valid : stay_q);
  assign data_ready = data && !restart && page_here && room_for_command_q && !hold;
  assign s_axis_wr.tready = (address && !restart) || data_ready;
  assign take_address = address && !restart && s_axis_wr.tvalid;
  assign take_empty = s_axis_wr.tlast && !s_axis_wr.tkeep[0];
  assign take_data = data_ready && s_axis_wr.tvalid;
  assign pads = pad && !hold;
  assign stores = (take_data && !take_empty) || pads;

  // A transaction ends with this beat or, where the last beat turns out to be empty, with the one
  // before; either way not before its logical block is full.
  logic ends, ends_before, data_ends, block_begin, block_end, cut, after_block;
  assign block_begin = cfg.block_4k ? page_begins_q : beat_q[2:0] == '0;
  assign block_end = cfg.block_4k ? page_last_q : sector_last_q;
  assign after_block = block_begin && !(command_begins_q && page_begins_q);
  assign ends = pads ? block_end : take_data && block_end && s_axis_wr.tlast && !take_empty;
  assign ends_before = take_data && take_empty && after_block;
  assign data_ends = take_empty ? after_block : block_end && s_axis_wr.tlast;  // if it is taken
  assign cut = (page_last_q && full_q) || (edge_q && sector_last_q);

  // What a beat gives cause for is known a cycle later, when a command is built, too.
  logic holed_q, hollow_q, misaligned_q, lone_q;
  always_ff @(posedge clk) begin
    holed_q <= take_data && keep_bad(s_axis_wr.tlast, s_axis_wr.tkeep);
    hollow_q <= take_data && take_empty && block_begin && empty_q;
    misaligned_q <= s_axis_wr.tdata[8:0] != '0 || (cfg.block_4k && s_axis_wr.tdata[11:9] != '0);
    lone_q <= s_axis_wr.tlast;  // an address alone
  end

  logic close, take_page;
  logic [PAGE_BITS-1:0] page_now;
  assign close = closing && offer_valid && room_for_command_q;
  assign take_page = (stores && unit_begins_q) || close;
  assign page_now = unit_begins_q ? offer_page : page_q;
  // The ring hears of it a cycle later: a command has eight beats, so there is time.
  always_ff @(posedge clk) offer_take <= take_page && !rst && !restart;

  // A command is complete with the beat of this cycle, and enters its queue in the next.
  logic push, push_q, fifo_ready, last_q, close_q, past_end_q;
  logic [13:0] length_q;  // beats - 1
  logic [PAGE_BITS-1:0] command_page_q;
  // What decides is the handshake; all else is known before it.
  assign push = (take_data && (data_ends || (cut && !take_empty))) || (pads && (cut || block_end)) ||
      leave || close;
  always_ff @(posedge clk) begin
    push_q <= push && !rst && !restart;
    last_q <= ends || ends_before || close;
    close_q <= close;
    length_q <= (ends_before || leave) ? before_q : {pages_q, beat_q};
    past_end_q <= (ends_before || leave) ? before_past_q : past_q;
    command_page_q <= command_begins_q ? page_now : first_page_q;
  end

  logic [CODE_BITS-1:0] code;
  command_t built;
  assign code = (code_q != ERR_OK) ? code_q : holed_q ? ERR_BAD_KEEP :
      (past_end_q && !close_q) ? ERR_OUT_OF_RANGE : ERR_OK;
  always_comb begin
    built = '{
        sector: sector_q,
        page: command_page_q,
        fua: fua_q,
        flush: flush_q && code == ERR_OK,
        fence: fence_q,
        reject: (code != ERR_OK) || close_q,
        last: last_q,
        size: {length_q, 6'h3f},
        default: '0
    };
    if (built.reject) built.size = {close_q ? 8'd0 : length_q[13:6], 4'd0, code};
  end

  always_ff @(posedge clk) begin
    // Bookkeeping of the command. A command has at least one block, eight beats, so that these
    // sums have eight cycles to settle before they are looked at.
    fresh_q <= take_address;
    room_big_q <= |room_q[SECTOR_BITS-1:11];
    if (take_address) begin
      sector_q <= s_axis_wr.tdata[9+:SECTOR_BITS];
      above_q  <= |s_axis_wr.tdata[63:9+SECTOR_BITS];
      fua_q    <= s_axis_wr.tdata[USER_WRITE_FUA_BIT];
      flush_q  <= s_axis_wr.tdata[USER_WRITE_FLUSH_BIT];
      fence_q  <= s_axis_wr.tdata[USER_WRITE_FENCE_BIT];
      empty_q  <= 1'b1;
    end else begin
      if (push_q) fence_q <= 1'b0;
      if (stores) empty_q <= 1'b0;
      if (fresh_q) begin
        above_q <= above_q || sector_q > cfg.namespace_sectors;
        room_q  <= cfg.namespace_sectors - sector_q;
      end else if (push_q) begin
        sector_q <= sector_q - ~SECTOR_BITS'(length_q[13:3]);  // + length + 1
        room_q   <= room_q + ~SECTOR_BITS'(length_q[13:3]);  // - length - 1
        if (past_end_q) above_q <= 1'b1;  // room_q has gone below zero
      end
    end
    if (stores) begin
      before_q <= {pages_q, beat_q};
      before_past_q <= past_q;
    end
    // These follow the offer until it is taken.
    if (unit_begins_q) page_q <= offer_page;
    if (unit_begins_q && command_begins_q) first_page_q <= offer_page;
    if (!unit_begins_q) next_page_q <= page_q + 1'b1;
  end

  always_ff @(posedge clk) begin
    if (rst || (restart && !data)) begin
      state_q <= ADDRESS;
      code_q  <= ERR_OK;
    end else if (restart) begin
      // A packet that was cut in two by a restart is taken to its end and answered with an error.
      code_q <= ERR_HALTED;
    end else begin
      if (fresh_q)
        code_q <= lone_q ? (flush_q ? ERR_OK : ERR_ZERO_LENGTH) :
            misaligned_q ? ERR_MISALIGNED : ERR_OK;
      else if (code_q == ERR_OK && holed_q) code_q <= ERR_BAD_KEEP;
      else if (code_q == ERR_OK && hollow_q) code_q <= ERR_ZERO_LENGTH;
      unique case (state_q)
        ADDRESS: if (take_address) state_q <= s_axis_wr.tlast ? CLOSE : DATA;
        DATA:
        if (take_data) begin
          if (data_ends) state_q <= ADDRESS;
          else if (take_empty && block_begin) state_q <= CLOSE;
          else if (s_axis_wr.tlast) state_q <= PAD;
        end
        PAD: if (pads && block_end) state_q <= ADDRESS;
        CLOSE: if (close) state_q <= ADDRESS;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (stores) begin
      beat_q <= beat_q + 1'b1;
      page_begins_q <= page_last_q;
      page_last_q <= beat_q == BEAT_BITS'(62);
      sector_last_q <= beat_q[2:0] == 3'd6;
      unit_begins_q <= page_last_q && (pages_q & UnitMask) == UnitMask;
      if (page_last_q) begin
        pages_q <= pages_q + 1'b1;
        command_begins_q <= 1'b0;
      end
    end
    if (rst || restart || push) begin
      {beat_q, pages_q, page_last_q, sector_last_q} <= '0;
      {page_begins_q, unit_begins_q, command_begins_q} <= '1;
    end
  end

  // The one 512-bit register: beats with the bytes after the end set to zero.
  always_ff @(posedge clk) begin
    mem_we   <= stores && !rst;
    mem_addr <= {$clog2(Pages)'(page_now), (UnitBits + BEAT_BITS)'({pages_q, beat_q})};
    for (int unsigned i = 0; i < DATA_BITS / 8; i++)
    mem_wdata[8*i+:8] <= s_axis_wr.tdata[8*i+:8] & {8{s_axis_wr.tkeep[i] && data}};
  end
  assign mem_end = push_q;

  // Commands in the queue whose data are committed. What the memory has refused goes no further.
  logic [$clog2(CommandDepth):0] waiting, committed_level;
  logic committed_any, committed_ready, lost, queued, leaves;
  command_t oldest;
  assign command_valid = queued && committed_any;
  assign leaves = command_valid && command_ready;
  assign open = !address || push_q || waiting != '0;
  always_comb begin
    command = oldest;
    if (lost && !oldest.reject) begin
      command.flush  = 1'b0;
      command.reject = 1'b1;
      command.size   = {oldest.size[SIZE_BITS-1:12], 4'd0, ERR_MEMORY};
    end
  end

  fb_common_fifo #(
      .Width(1),
      .Depth(CommandDepth)
  ) u_committed (
      .clk,
      .rst(rst || restart),
      .s_valid(committed),
      .s_ready(committed_ready),
      .s_data(commit_error),
      .m_valid(committed_any),
      .m_ready(leaves),
      .m_data(lost),
      .level(committed_level)
  );

  fb_common_fifo #(
      .Width($bits(command_t)),
      .Depth(CommandDepth),
      .OutputRegister(1'b1)
  ) u_commands (
      .clk,
      .rst(rst || restart),
      .s_valid(push_q),
      .s_ready(fifo_ready),
      .s_data(built),
      .m_valid(queued),
      .m_ready(leaves),
      .m_data(oldest),
      .level(waiting)
  );
  // One command may be on its way into the queue, and one be built before the level shows it.
  always_ff @(posedge clk) room_for_command_q <= int'(waiting) < CommandDepth - 2;
`ifndef SYNTHESIS
  a_push_room :
  assert property (@(posedge clk) disable iff (rst || restart) push_q |-> fifo_ready)
  else $error("fb_nvme_write_split (%m): a command was built without room for it");
  a_page_there :
  assert property (@(posedge clk) disable iff (rst || restart) take_page |-> offer_valid)
  else $error("fb_nvme_write_split (%m): a beat was stored without a page");
  a_committed_built :
  assert property (@(posedge clk) disable iff (rst || restart)
                   committed |-> committed_ready && (committed_level < waiting || push_q))
  else $error("fb_nvme_write_split (%m): data were committed that no command waits for");
`endif

endmodule

`default_nettype wire
