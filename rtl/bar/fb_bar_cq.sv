// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_bar_cq: where each SSD leaves its completion queue entries.
//
// What:        entry i of drive d stands at 2 * CqOffset * d + CqOffset + 16 * i. It leaves as a
//              completion once its Dword 3 is written (NVMe Base 2.0c 3.3.3.2). It may come in one
//              16 B write, in halves or in Dwords in ascending order, or up to four entries in one
//              beat.
// Handshake:   writes as fb_bar_target makes them; `cqe_valid` waits for `cqe_ready`.
// Latency:     3 cycles from the write to cqe_valid.
// Throughput:  a beat in two cycles, or in one more than it has entries.
// Limits:      the identifier of the submission queue in Dword 2 is not looked at: a drive has one
//              queue. Dword 3 counts only when all of its bytes are written at once. The queue head of
//              an entry in halves may be that of another drive, which has written to the same lane
//              meanwhile: fb_nvme_cqe_check only counts heads that are no place. What is written
//              elsewhere is refused, and pulses `stray`.
// Does not implement: judging a completion (fb_nvme_cqe_check does).

`default_nettype none

module fb_bar_cq
  import fb_bar_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,  // entries of a queue, 2 to 1024
    parameter int unsigned CqOffset = 4096,  // bytes, a power of two: max(4096, QueueDepth * 64)
    parameter int unsigned Drives = 1,  // 1 to 8
    localparam int unsigned PairBits = $clog2(CqOffset) + 1,  // of an address in a drive's queues
    localparam int unsigned AddrBits = PairBits + $clog2(Drives)
) (
    input wire clk,
    input wire rst,

    input  wire                 write_valid,
    output logic                write_ready,
    output logic                write_refused,
    input  wire  [AddrBits-1:0] write_addr,
    input  wire  [       511:0] write_data,
    input  wire  [        15:0] write_dwords,   // Dwords that are written whole
    input  wire  [        63:0] write_strb,

    output logic        cqe_valid,
    input  wire         cqe_ready,
    output completion_t cqe,

    output logic stray
);

  // ------------------------------------------------------------------------------- what is written
  // Of a beat only Dwords 2 and 3 of its four lanes are kept. The SQ head of a lane stays until it
  // is written again, so that Dword 3 may come in a later write.
  logic [3:0] open, fits;  // lanes whose Dword 3 is written; whose entry exists
  logic place, take;
  logic [2:0] drive;
  logic [PairBits-8:0] row;

  assign row   = write_addr[PairBits-2:6];
  assign drive = 3'({3'd0, write_addr} >> PairBits);
  // Completions have their places in the upper half of the pair, as many as the queue has.
  assign place = write_addr[PairBits-1] && 32'(drive) < Drives;
  always_comb
    for (int unsigned i = 0; i < 4; i++) begin
      open[i] = write_dwords[4*i+3];
      fits[i] = place && 32'({row, 2'(i)}) < QueueDepth;
    end
  assign write_refused = !place || (open & ~fits) != '0;
  assign take = write_valid && write_ready;

  // ----------------------------------------------------------------------- lanes leave, lowest first
  logic [3:0] open_q, open_d;
  logic [1:0] lane_q, lane_d;
  logic any_q;  // a lane is chosen
  logic ready_q;  // no lane is open, or one that leaves in this cycle
  logic [3:0] names_q;  // lanes whose new SQ head counts
  logic [3:0][15:0] head_q, new_head_q;
  logic [3:0][31:0] dword3_q;
  logic [2:0] drive_q;
  logic [PairBits-8:0] row_q;
  logic fifo_ready;
  logic [4:0] entries;
  completion_t entry;

  assign write_ready = ready_q;

  // The lane is chosen one cycle ahead, of a new beat in the cycle after it was taken.
  always_comb begin : next_open_lane
    open_d = open_q;
    if (any_q && fifo_ready) open_d[lane_q] = 1'b0;
    lane_d = 2'd3;
    for (int i = 3; i >= 0; i--) if (open_d[i]) lane_d = 2'(i);
  end

  always_ff @(posedge clk) begin : lanes
    // What is not valid is taken as well, and opens no lane.
    if (ready_q) begin
      for (int i = 0; i < 4; i++) begin
        new_head_q[i] <= write_data[128*i+64+:16];
        dword3_q[i]   <= write_data[128*i+96+:32];
      end
      drive_q <= drive;
      row_q   <= row;
    end
    for (int i = 0; i < 4; i++) begin
      names_q[i] <= take && place && (&write_strb[16*i+8+:2]);
      if (names_q[i]) head_q[i] <= new_head_q[i];
    end
    open_q  <= take ? open & fits : open_d;
    lane_q  <= lane_d;
    any_q   <= open_d != '0 && !take;
    // Nothing leads from the queue of entries to WREADY: one more may be given before its level is known.
    ready_q <= !take && (open_d == '0 || ((open_d & (open_d - 1'b1)) == '0 && entries < 5'd15));
    stray   <= take && write_refused && !rst;
    if (rst) begin
      open_q  <= '0;
      any_q   <= 1'b0;
      ready_q <= 1'b1;
    end
  end

  always_comb begin : describe
    entry.drive = drive_q;
    entry.slot = 10'({row_q, lane_q});
    entry.sq_head = head_q[lane_q];
    {entry.status, entry.phase, entry.cid} = dword3_q[lane_q];
  end

  fb_common_fifo #(
      .Width($bits(completion_t)),
      .Depth(16)
  ) u_entries (
      .clk,
      .rst,
      .s_valid(any_q),
      .s_ready(fifo_ready),
      .s_data (entry),
      .m_valid(cqe_valid),
      .m_ready(cqe_ready),
      .m_data (cqe),
      .level  (entries)
  );

  logic unused;
  assign unused = &{1'b0, write_addr[5:0], write_data, write_strb, write_dwords, 1'b0};

`ifndef SYNTHESIS
  a_lane_leaves :
  assert property (@(posedge clk) disable iff (rst) (ready_q && any_q) |-> fifo_ready)
  else $error("fb_bar_cq (%m): a beat may be taken while a lane cannot leave");
`endif

  fb_axis_check #(
      .Width($bits(completion_t)),
      .Name ("completion")
  ) u_check_cqe (
      .clk,
      .rst,
      .valid(cqe_valid),
      .ready(cqe_ready),
      .data (cqe)
  );

endmodule

`default_nettype wire
