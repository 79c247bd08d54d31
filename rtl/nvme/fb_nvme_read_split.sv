// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Read path, first half: from the user's read commands to commands for the SSD.
//
// A read is cut into commands of CommandPages, so that the first can be delivered while the others
// are still on their way, and where the next page on offer is not the neighbour of the last; with
// several drives first of all at the end of each chunk of the array. An unordered read that crosses
// one is two commands, which are delivered in order, with its tag. Where no page is on offer a
// command waits for one, unless it holds all there are. Pages are taken from the read ring before a
// command is issued: data that the SSD returns always has a place.
//
// Handshake: AXI4-Stream, one beat a command; TREADY depends on registers only.
// Latency: two cycles from the handshake to the first page, three a unit after that, and one for
// each further page of a unit. Throughput: a read of one page every three cycles.
// Does not implement: unordered reads of more than 4096 bytes.

`default_nettype none

module fb_nvme_read_split
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    // Most of a command, 1 to 256: a unit, and no less than 32 KiB.
    parameter int unsigned CommandPages = (UnitBits > 3) ? 1 << UnitBits : 8,
    parameter int unsigned CommandDepth = 32,  // commands that may wait for a place in the queue
    parameter bit Array = 1'b0  // no command crosses the end of a chunk of the array
) (
    input wire clk,
    input wire rst,  // also holds while the streamer is disabled

    input wire cfg_t               cfg,
    input wire       [PAGE_BITS:0] held, // pages taken and not yet free again

    fb_axis_if.target s_axis_rdcmd,  // 256 bits: the upper half of the beat is reserved

    input  wire                  offer_valid,
    input  wire  [PAGE_BITS-1:0] offer_page,
    output logic                 offer_take,
    output logic                 open,

    output logic     command_valid,
    input  wire      command_ready,
    output command_t command
);

  if (CommandPages < 1 || CommandPages > 256) begin : gen_bad_pages
    $fatal(1, "fb_nvme_read_split (%m): CommandPages=%0d must be from 1 to 256", CommandPages);
  end

  localparam logic [8:0] UnitMask = 9'((1 << UnitBits) - 1);
  localparam int unsigned LeftBits = SECTOR_BITS - 3;  // pages that a read may span

  typedef enum logic [1:0] {
    IDLE,
    CHECK,  // the command, or with Array what is left of it
    TAKE,   // a page
    REJECT  // the answer to a command that breaks a rule
  } state_e;

  state_e state_q;
  logic ready_q, accept;
  logic [SECTOR_BITS+8:0] address_q, size_q;  // bytes - 1
  logic unordered_q;
  logic early_q;  // unordered, and one command: it may be delivered before older ones
  logic [READ_TAG_BITS-1:0] tag_q;
  logic zero_q;
  logic [SECTOR_BITS-1:0] room_q;
  logic above_q;  // it begins or reaches behind every namespace
  logic long_q;  // it has more than a page
  logic [CODE_BITS-1:0] code_q;

  logic [SECTOR_BITS-1:0] sector_q;
  logic [LeftBits-1:0] left, left_q;  // pages after the next one
  logic final_q;  // there are none
  logic [8:0] pages_q;  // pages in the open command
  logic building_q;  // there is an open command
  logic full_q;  // it has its size
  logic alone_q;  // it holds all pages of the ring
  logic checked_q;  // it was CHECK
  logic whole_q;  // these pages are all that is left of the read
  logic [2:0] tail_q;  // or else the sectors - 1 in the last of them
  logic [PAGE_BITS-1:0] next_page_q, first_page_q;

  assign s_axis_rdcmd.tready = ready_q;
  assign accept = s_axis_rdcmd.tvalid && ready_q;

  // In TAKE: extend the open command by the page on offer, or send it off.
  // The ring hears of a page that is taken a cycle later. Whether the next one joins the open
  // command is known a cycle after it is on offer.
  logic extend, flush_open, reject, push, fifo_ready;
  logic [$clog2(CommandDepth):0] waiting;
  logic known_q, joins_q, parts_q, in_unit;  // the next page lies in the unit of the last one
  assign in_unit = (pages_q & UnitMask) != '0;
  always_ff @(posedge clk) begin
    known_q <= !offer_take && !push && !rst;
    offer_take <= ((extend && !in_unit) || reject) && !rst;
    joins_q <= offer_valid && offer_page == next_page_q;
    parts_q <= offer_valid ? offer_page != next_page_q : alone_q;
  end
  assign extend = (state_q == TAKE) && fifo_ready && !full_q && !offer_take &&
      (in_unit || (building_q ? known_q && joins_q : offer_valid));
  assign flush_open = (state_q == TAKE) && fifo_ready && building_q && !offer_take &&
      (full_q || (!in_unit && known_q && parts_q));
  assign reject = (state_q == REJECT) && fifo_ready && offer_valid && !offer_take;
  assign push = (extend && final_q) || flush_open || reject;
  assign open = (state_q != IDLE) || offer_take || waiting != '0;

  command_t built;
  always_comb begin
    built = '{
        sector: sector_q,
        page: building_q ? first_page_q : offer_page,
        early: early_q,
        unordered: unordered_q,
        reject: reject,
        last: reject || (extend && whole_q),
        default: '0
    };
    built.size = extend ? {pages_q[7:0], whole_q ? size_q[11:0] : {tail_q, 9'h1ff}} :
        {8'(pages_q - 1'b1), 12'hfff};
    if (unordered_q) built.size[SIZE_BITS-1:12] = tag_q;
    if (reject) built.size = {unordered_q ? tag_q : 8'd0, 4'd0, code_q};
  end

  // Sectors up to the end of the chunk - 1, and whether all that is left lies before it.
  logic [10:0] ahead_m1;
  logic fits;
  assign ahead_m1 = Array ? ~address_q[19:9] & {cfg.strip_m1, 3'b111} : '0;
  assign left = fits ? size_q[12+:LeftBits] : LeftBits'(ahead_m1[10:3]);
  assign fits = !Array || size_q[9+:SECTOR_BITS] <= SECTOR_BITS'(ahead_m1);

  logic [CODE_BITS-1:0] code_now;
  always_comb begin
    if (zero_q) code_now = ERR_ZERO_LENGTH;
    else if (address_q[8:0] != '0 || (cfg.block_4k && address_q[11:9] != '0))
      code_now = ERR_MISALIGNED;
    else if (above_q || size_q[9+:SECTOR_BITS] >= room_q) code_now = ERR_OUT_OF_RANGE;
    else if (unordered_q && long_q) code_now = ERR_TOO_LONG;
    else code_now = ERR_OK;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q <= IDLE;
      {ready_q, building_q, full_q} <= '0;
    end else begin
      ready_q <= (state_q == IDLE && !accept) || (extend && final_q && whole_q) || reject;
      unique case (state_q)
        IDLE:   if (accept) state_q <= CHECK;
        CHECK:  state_q <= (code_now != ERR_OK) ? REJECT : TAKE;
        TAKE:   if (extend && final_q) state_q <= whole_q ? IDLE : CHECK;
        REJECT: if (reject) state_q <= IDLE;
      endcase
      if (push) {building_q, full_q} <= '0;
      else if (extend) begin
        building_q <= 1'b1;
        full_q <= (pages_q == 9'(CommandPages - 1) || pages_q == 9'(cfg.transfer_m1));
      end
    end
  end

  always_ff @(posedge clk) begin
    if (accept) begin
      address_q <= s_axis_rdcmd.tdata[SECTOR_BITS+8:0];
      size_q <= s_axis_rdcmd.tdata[64+:SECTOR_BITS+9] - 1'b1;
      zero_q <= s_axis_rdcmd.tdata[127:64] == '0;
      room_q <= cfg.namespace_sectors - s_axis_rdcmd.tdata[9+:SECTOR_BITS];
      above_q <= |{s_axis_rdcmd.tdata[63:9+SECTOR_BITS], s_axis_rdcmd.tdata[127:73+SECTOR_BITS]} ||
          s_axis_rdcmd.tdata[9+:SECTOR_BITS] > cfg.namespace_sectors;
      long_q <= |s_axis_rdcmd.tdata[127:77] ||
          (s_axis_rdcmd.tdata[76] && |s_axis_rdcmd.tdata[75:64]);
      unordered_q <= s_axis_rdcmd.tdata[128];
      early_q <= s_axis_rdcmd.tdata[128];
      tag_q <= s_axis_rdcmd.tdata[136+:READ_TAG_BITS];
    end
    alone_q   <= (held == (PAGE_BITS + 1)'(pages_q >> UnitBits));
    // The part behind the end of the chunk is computed in the cycle after CHECK, before its own CHECK.
    checked_q <= state_q == CHECK;
    if (checked_q && !whole_q) begin
      address_q[9+:SECTOR_BITS] <= address_q[9+:SECTOR_BITS] + SECTOR_BITS'(ahead_m1) + 1'b1;
      size_q[9+:SECTOR_BITS] <= size_q[9+:SECTOR_BITS] - SECTOR_BITS'(ahead_m1) - 1'b1;
    end
    if (state_q == CHECK) begin
      code_q   <= code_now;
      sector_q <= address_q[9+:SECTOR_BITS];
      left_q   <= left;
      final_q  <= left == '0;
      tail_q   <= ahead_m1[2:0];
      whole_q  <= fits;
      pages_q  <= '0;
      if (!fits) early_q <= 1'b0;
    end else if (extend) begin
      if (!building_q) first_page_q <= offer_page;
      if (!in_unit) next_page_q <= offer_page + 1'b1;
      pages_q <= pages_q + 1'b1;
      left_q  <= left_q - 1'b1;
      final_q <= (left_q == LeftBits'(1));
    end else if (flush_open) begin
      sector_q <= sector_q + (SECTOR_BITS'(pages_q) << 3);
      pages_q  <= '0;
    end
  end

  fb_common_fifo #(
      .Width($bits(command_t)),
      .Depth(CommandDepth),
      .OutputRegister(1'b1)
  ) u_commands (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(fifo_ready),
      .s_data (built),
      .m_valid(command_valid),
      .m_ready(command_ready),
      .m_data (command),
      .level  (waiting)
  );

endmodule

`default_nettype wire
