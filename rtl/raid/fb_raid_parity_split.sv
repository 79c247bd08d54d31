// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_parity_split: a user's read, cut into what the drives of an array with parity can be asked.
//
// What:        each chunk of the read is a piece of its own, its address moved on by a chunk for each
//              row before it. A piece of the drive that is missing is asked of all others instead,
//              one after the other from the drive behind it on; fb_raid_parity_join is told what
//              each piece is. Whether a drive is missing is decided for each chunk anew.
//              A read that breaks a rule is passed on as one piece, which fb_nvme_read_split refuses
//              for the same reason. Unordered reads are read in order. While the array has no parity
//              commands go through as they are.
// Handshake:   AXI4-Stream, one beat a command; valid/ready for `piece`, which moves with its command.
// Latency:     56 cycles to the first piece, two more for each further one, and one for each row.
// Throughput:  so a read in 57 cycles: where reads are shorter than 57 beats, that is the limit.
// Does not implement: reading again what was under way when its drive went.

`default_nettype none

module fb_raid_parity_split
  import fb_nvme_pkg::*;
(
    input wire clk,
    input wire rst,  // also holds while the streamer is disabled
    input wire cfg_t cfg,

    fb_axis_if.target s_axis_rdcmd,
    fb_axis_if.initiator m_axis_rdcmd,

    output logic   piece_valid,
    input  wire    piece_ready,
    output piece_t piece,

    output logic busy
);

  localparam int unsigned PageBits = SECTOR_BITS - 3;
  localparam int unsigned InsideBits = 11;  // sector in the longest chunk
  localparam int unsigned AddressBits = SECTOR_BITS + 9;

  typedef enum logic [3:0] {
    IDLE,
    ADD,
    END,     // where the last byte lies
    JUDGE,   // whether there is such a place
    BEGIN,   // where the first one lies
    DECIDE,  // how the next chunk is read
    PIECE,
    AROUND,  // the pieces that a missing chunk is the sum of
    REFUSE
  } state_e;
  state_e state_q;

  // The command.
  logic accept, zero_q, above_q, unordered_q;
  logic [AddressBits-1:0] address_q;
  logic [SECTOR_BITS-1:0] end_q;  // sector of the last byte
  logic [55:0] end_sector;  // the same, where the address is a multiple of a sector
  logic [63:0] size_q;  // bytes - 1 that are left of it
  logic [READ_TAG_BITS-1:0] tag_q;
  assign accept = s_axis_rdcmd.tready && cfg.parity && s_axis_rdcmd.tvalid;
  assign end_sector = 56'(address_q[AddressBits-1:9]) + 56'(size_q[63:9]);

  // Where a byte lies: its page, and a chunk for each row before it.
  logic divides, start, dividing, asked_q, found;
  logic [PageBits-1:0] page, quotient;
  logic [DRIVE_BITS-1:0] rest;
  logic [PageBits:0] moved;
  assign divides = state_q == END || state_q == BEGIN;
  assign start = divides && !asked_q;
  assign found = asked_q && !dividing;
  assign page = (state_q == END) ? end_q[SECTOR_BITS-1:3] : address_q[AddressBits-1:12];
  assign moved = {1'b0, page} + {1'b0, quotient & ~PageBits'(cfg.strip_m1)};
  fb_raid_divide u_divide (
      .clk,
      .rst,
      .divisor_m1(DRIVE_BITS'(cfg.drives_m1 - 1'b1)),
      .strip_m1(cfg.strip_m1),
      .start,
      .page,
      .busy(dividing),
      .quotient,
      .rest
  );

  // The piece.
  logic [SECTOR_BITS-1:0] sector_q, next_sector;
  logic [DRIVE_BITS-1:0] drive_q, next_drive, hole_q;
  logic first_q, row_ends;
  logic fits;  // what is left ends in this chunk
  logic [InsideBits-1:0] chunk_mask, ahead_m1;  // sectors
  logic [InsideBits+DRIVE_BITS-1:0] row_back_q;  // from the last chunk of a row to its first
  assign chunk_mask = {cfg.strip_m1, 3'b111};
  assign ahead_m1 = ~sector_q[InsideBits-1:0] & chunk_mask;
  assign fits = size_q[63:9] <= 55'(ahead_m1);
  assign row_ends = drive_q == cfg.drives_m1;
  assign next_drive = row_ends ? '0 : drive_q + 1'b1;
  assign next_sector = sector_q + SECTOR_BITS'(chunk_mask) + 1'b1;
  always_ff @(posedge clk)
    row_back_q <= ((InsideBits + DRIVE_BITS)'(chunk_mask) + 1'b1) *
        (InsideBits + DRIVE_BITS)'(cfg.drives_m1);

  logic missing, here, moves, leaves;
  assign missing = cfg.degraded && cfg.offline[drive_q];
  assign here = state_q == PIECE || state_q == REFUSE || (state_q == AROUND && drive_q != hole_q);
  assign moves = here && m_axis_rdcmd.tready && piece_ready;
  // Next is what follows the chunk that was read.
  assign leaves = (state_q == PIECE && moves) || (state_q == AROUND && drive_q == hole_q);

  always_comb begin
    s_axis_rdcmd.tready = cfg.parity ? state_q == IDLE && !rst : m_axis_rdcmd.tready;
    m_axis_rdcmd.tvalid = cfg.parity ? here && piece_ready : s_axis_rdcmd.tvalid;
    m_axis_rdcmd.tkeep  = '1;
    m_axis_rdcmd.tlast  = 1'b1;
    m_axis_rdcmd.tdata  = '0;
    if (!cfg.parity) begin
      m_axis_rdcmd.tdata = s_axis_rdcmd.tdata;
    end else if (state_q == REFUSE) begin
      m_axis_rdcmd.tdata[11:0] = address_q[11:0];
      m_axis_rdcmd.tdata[63] = above_q;
      m_axis_rdcmd.tdata[64+:13] = zero_q ? '0 : 13'd4097;
      m_axis_rdcmd.tdata[128] = unordered_q;
    end else begin
      m_axis_rdcmd.tdata[9+:SECTOR_BITS] = sector_q;
      m_axis_rdcmd.tdata[64+:SIZE_BITS+1] =
          {1'b0, fits ? size_q[SIZE_BITS-1:0] : {ahead_m1, 9'h1ff}} + 1'b1;
    end
    piece_valid = here && m_axis_rdcmd.tready;
    piece.sum   = state_q == AROUND;
    piece.first = first_q;
    piece.shown = state_q != AROUND || next_drive == hole_q;
    piece.last  = state_q == REFUSE || (fits && piece.shown);
    piece.tag   = unordered_q ? tag_q : '0;
  end

  logic bad;
  assign bad = zero_q || above_q || address_q[8:0] != '0 ||
      (cfg.block_4k && address_q[11:9] != '0) || (unordered_q && size_q[63:12] != '0);

  always_ff @(posedge clk) begin
    asked_q <= divides;
    if (accept) begin
      address_q <= s_axis_rdcmd.tdata[AddressBits-1:0];
      size_q <= s_axis_rdcmd.tdata[127:64] - 1'b1;
      zero_q <= s_axis_rdcmd.tdata[127:64] == '0;
      above_q <= |s_axis_rdcmd.tdata[63:AddressBits];
      unordered_q <= s_axis_rdcmd.tdata[128];
      tag_q <= s_axis_rdcmd.tdata[136+:READ_TAG_BITS];
    end
    unique case (state_q)
      IDLE:   if (accept) state_q <= ADD;
      ADD: begin
        state_q <= END;
        end_q   <= end_sector[SECTOR_BITS-1:0];
        if (end_sector[55:SECTOR_BITS] != '0) above_q <= 1'b1;
      end
      END:
      if (found) begin
        state_q <= JUDGE;
        if ({moved, end_q[2:0]} >= {1'b0, cfg.namespace_sectors}) above_q <= 1'b1;
      end
      JUDGE:  state_q <= bad ? REFUSE : BEGIN;
      BEGIN:
      if (found) begin
        state_q  <= DECIDE;
        sector_q <= {moved[PageBits-1:0], address_q[11:9]};
        drive_q  <= rest;
      end
      DECIDE: begin
        if (row_ends || missing) begin
          sector_q <= next_sector;
          drive_q  <= next_drive;
        end
        if (!row_ends) state_q <= missing ? AROUND : PIECE;  // the last chunk is the parity
        hole_q  <= drive_q;
        first_q <= 1'b1;
      end
      AROUND:
      if (moves) begin
        first_q  <= 1'b0;
        sector_q <= row_ends ? sector_q - SECTOR_BITS'(row_back_q) : next_sector;
        drive_q  <= next_drive;
      end
      PIECE:  ;
      REFUSE: if (moves) state_q <= IDLE;
    endcase
    if (leaves) begin
      state_q <= fits ? IDLE : DECIDE;
      sector_q <= next_sector & ~SECTOR_BITS'(chunk_mask);
      drive_q <= next_drive;
      size_q[63:9] <= size_q[63:9] - 55'(ahead_m1) - 1'b1;
    end
    if (rst) state_q <= IDLE;
  end
  assign busy = state_q != IDLE;

  fb_axis_check #(
      .Width($bits(piece_t)),
      .Name ("part")
  ) u_check (
      .clk,
      .rst,
      .valid(piece_valid),
      .ready(piece_ready),
      .data (piece)
  );

endmodule

`default_nettype wire
