// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_parity_write: the parity of what is written, put between the user's chunks.
//
// What:        a row is a chunk of each drive but the last, which has the parity of the row. The address
//              of beat 0 is moved on by a chunk for each row before it, and after the last chunk of a
//              row follow as many beats of parity. A transaction is whole rows: one that ends inside a
//              row is filled up with zeros, and the address of one that begins inside is passed on with
//              an odd byte, which fb_nvme_write_split answers as misaligned. What breaks another of its
//              rules is passed on as it is, for the same reason, and gets no parity from there on.
// Handshake:   AXI4-Stream; TREADY is the other side's, and does not depend on TVALID. Beat 0 waits
//              until its address is known.
// Latency:     26 cycles for beat 0, none for the data. Throughput: 64 bytes a cycle, parity included.
// 512-bit registers: none but the output of the memory of the parity.
// Does not implement: writes of a part of a row.

`default_nettype none

module fb_raid_parity_write
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Beats = 1024  // of the longest chunk, a power of two
) (
    input wire clk,
    input wire rst,  // of the whole streamer
    input wire restart,  // a new life of the queue: forget everything but a packet half taken
    input wire cfg_t cfg,

    fb_axis_if.target s_axis_wr,
    fb_axis_if.initiator m_axis_wr,

    output logic busy  // a packet is half taken
);

  localparam int unsigned PageBits = SECTOR_BITS - 3;
  localparam int unsigned BeatBits = $clog2(Beats);

  typedef enum logic [1:0] {
    ADDRESS,  // beat 0 is next
    DATA,
    PAD,      // zeros up to the end of the row
    PARITY
  } state_e;

  state_e state_q;
  logic   pass_q;  // what is left of the packet gets no parity
  logic   tail_q;  // the user's last beat is in
  logic row_begins_q, asked_q, dividing, start;
  logic [DRIVE_BITS-1:0] chunk_q, rest;  // of the row
  logic [PageBits-1:0] page, quotient;
  assign page  = s_axis_wr.tdata[12+:PageBits];
  assign start = state_q == ADDRESS && cfg.parity && s_axis_wr.tvalid && !asked_q && !restart;
  fb_raid_divide u_divide (
      .clk,
      .rst(rst || restart),
      .divisor_m1(DRIVE_BITS'(cfg.drives_m1 - 1'b1)),
      .strip_m1(cfg.strip_m1),
      .start,
      .page,
      .busy(dividing),
      .quotient,
      .rest
  );

  logic [PageBits:0] moved;
  logic midway;  // inside a row
  logic above;  // behind whatever can be divided: out of range, and nothing else
  assign moved = {1'b0, page} + {1'b0, quotient & ~PageBits'(cfg.strip_m1)};
  assign above = |s_axis_wr.tdata[63:12+PageBits] && s_axis_wr.tdata[11:0] == '0;
  assign midway = rest != '0 || (quotient[7:0] & cfg.strip_m1) != '0 || s_axis_wr.tdata[11:0] != '0;

  logic through, inserts, moves;  // the user's beats go on; others come between; a beat goes on
  assign through = state_q == DATA ||
      (state_q == ADDRESS && !restart && (!cfg.parity || (asked_q && !dividing)));
  assign inserts = state_q == PAD || state_q == PARITY;
  assign moves = m_axis_wr.tvalid && m_axis_wr.tready;
  assign m_axis_wr.tvalid = (through && s_axis_wr.tvalid) || inserts;
  assign s_axis_wr.tready = through && m_axis_wr.tready;

  // A beat of the user's that is not to be a part of the row.
  logic alien;
  assign alien = state_q == DATA && (pass_q || keep_bad(
      s_axis_wr.tlast, s_axis_wr.tkeep
  ) || (row_begins_q && s_axis_wr.tlast && !s_axis_wr.tkeep[0]));

  logic step, chunk_end;
  logic [BeatBits-1:0] beat;
  logic [DATA_BITS-1:0] data, sum;
  assign step = moves && (inserts || (state_q == DATA && !alien));
  assign chunk_end = beat == BeatBits'({cfg.strip_m1, 6'h3f});
  always_comb begin
    for (int unsigned i = 0; i < DATA_BITS / 8; i++)
    data[8*i+:8] = s_axis_wr.tdata[8*i+:8] & {8{state_q == DATA && s_axis_wr.tkeep[i]}};
  end

  fb_raid_xor #(
      .Beats(Beats)
  ) u_sum (
      .clk,
      .rst  (rst || (state_q == ADDRESS)),
      .first(chunk_q == '0),
      .step,
      .last (chunk_end),
      .data,
      .ready(),
      .beat,
      .sum
  );

  always_comb begin
    m_axis_wr.tdata = (state_q == PARITY) ? sum : data;
    m_axis_wr.tkeep = '1;
    m_axis_wr.tlast = state_q == PARITY && tail_q && chunk_end;
    if (state_q == ADDRESS || alien) begin
      m_axis_wr.tkeep = s_axis_wr.tkeep;
      m_axis_wr.tlast = s_axis_wr.tlast;
    end
    if (state_q == ADDRESS) begin
      m_axis_wr.tdata = s_axis_wr.tdata;
      if (cfg.parity) begin
        m_axis_wr.tdata[12+:PageBits+1] = moved | {s_axis_wr.tdata[12+PageBits], PageBits'(0)};
        m_axis_wr.tdata[0] = s_axis_wr.tdata[0] | (midway && !above);
      end
    end
  end

  always_ff @(posedge clk) begin
    asked_q <= (start || (asked_q && !moves && !restart)) && !rst;
    if (moves) begin
      row_begins_q <= state_q == ADDRESS || (state_q == PARITY && chunk_end);
      unique case (state_q)
        ADDRESS: begin
          state_q <= s_axis_wr.tlast ? ADDRESS : DATA;
          pass_q  <= !cfg.parity || midway;
          tail_q  <= 1'b0;
          chunk_q <= '0;
        end
        DATA, PAD:
        if (alien) begin
          pass_q <= 1'b1;
          if (s_axis_wr.tlast) state_q <= ADDRESS;
        end else begin
          if (state_q == DATA && s_axis_wr.tlast) begin
            tail_q  <= 1'b1;
            state_q <= PAD;
          end
          if (chunk_end) chunk_q <= chunk_q + 1'b1;
          if (chunk_end && chunk_q == cfg.drives_m1 - 1'b1) state_q <= PARITY;
        end
        PARITY:
        if (chunk_end) begin
          chunk_q <= '0;
          state_q <= tail_q ? ADDRESS : DATA;
        end
      endcase
    end
    // A packet that was cut in two by a restart is taken to its end.
    if (restart && state_q != ADDRESS) pass_q <= 1'b1;
    if (rst) state_q <= ADDRESS;
  end
  assign busy = state_q != ADDRESS;

endmodule

`default_nettype wire
