// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_drives: what there is once for each of several drives: where its doorbells and its
// namespace are, and what became of its commands. In LUT RAM of eight rows a drive more costs next to
// nothing.
//
// Handshake:   a request (array_req) lasts one cycle, and no other comes before it is acknowledged.
//              Doorbells and namespace follow their index in the same cycle.
// Latency:     3 cycles from a request to its answer, 4 where a command is counted meanwhile.
// Throughput:  a command that is over in every second cycle: its counts are read, then written.
// Limits:      counters are cleared by the sweep after a restart, settings by nothing.
// Does not implement: doorbells and namespace of drive 0 (fb_nvme_regs, where SNAcc has them).

`default_nettype none

module fb_raid_drives
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Drives = 2,  // 2 to 8
    parameter int unsigned ParityPages = 0  // of the longest chunk with parity; 0: none
) (
    input wire clk,
    input wire rst,
    input wire sweep,
    input wire [DRIVE_BITS-1:0] sweep_row,

    // Settings.
    output logic [ DRIVE_BITS-1:0] drives_m1,
    output logic [            7:0] strip_m1,
    output logic [SECTOR_BITS-1:0] region_sectors,
    output logic                   parity,
    output logic                   degraded,        // with it, one drive and no other is offline
    output logic [DRIVES_MOST-1:0] offline,
    output logic [DRIVES_MOST-1:0] offline_late,    // when no completion is under way any more

    input  wire  [DRIVE_BITS-1:0] ring_drive,
    output logic [          63:0] sq_doorbell,
    output logic [          63:0] cq_doorbell,
    input  wire  [DRIVE_BITS-1:0] nsid_drive,
    output logic [          31:0] nsid,

    // Status.
    input wire [Drives-1:0][SLOT_BITS-1:0] outstanding,
    input wire [Drives-1:0] lost,

    // A command that is over.
    input wire                  over,
    input wire [DRIVE_BITS-1:0] over_drive,
    input wire                  over_failed,
    input wire [STAMP_BITS-1:0] over_latency,
    input wire [ SIZE_BITS-9:0] over_sectors,

    // Registers.
    input  wire         array_req,
    input  wire         array_write,
    input  wire  [ 6:0] array_addr,    // words: {layout, drive, register}
    input  wire  [63:0] array_wdata,
    input  wire  [63:0] array_wmask,
    output logic        array_rd_ack,
    output logic        array_wr_ack,
    output logic [63:0] array_data
);

  if (Drives < 2 || Drives > 8) begin : gen_bad_drives
    $fatal(1, "fb_raid_drives (%m): Drives=%0d must be from 2 to 8", Drives);
  end

  localparam int unsigned Late = 4;  // cycles that a completion takes to its outcome, or more

  // What became of the commands of a drive.
  typedef struct packed {
    logic [31:0] commands;
    logic [31:0] failed;
    logic [39:0] sectors;
    logic [STAMP_BITS-1:0] longest;
  } tally_t;
  tally_t tally, tally_q, counted;

  // The request, until it is answered; the command that is over, until it is counted.
  logic asked_q, write_q, layout_q, answer_q, writes, set, over_q, counts_q, failed_q;
  logic [DRIVE_BITS-1:0] row_q, drive_q;
  logic [STAMP_BITS-1:0] latency_q;
  logic [SIZE_BITS-9:0] sectors_q;
  logic [2:0] word_q;
  logic [63:0] wdata_q, wmask_q, setting, written;

  assign writes = answer_q && write_q;
  assign set = writes && !layout_q && word_q < 3'd3;
  assign written = (wdata_q & wmask_q) | (setting & ~wmask_q);
  always_ff @(posedge clk) begin
    array_rd_ack <= answer_q && !write_q && !rst;
    array_wr_ack <= writes && !rst;
    if (array_req) begin
      {write_q, layout_q, row_q, word_q} <= {array_write, array_addr};
      {wdata_q, wmask_q} <= {array_wdata, array_wmask};
    end
    asked_q <= (array_req || (asked_q && over_q)) && !rst;
    answer_q <= asked_q && !over_q && !rst;
    {counts_q, over_q} <= rst ? '0 : {over_q, over};
    if (over) {failed_q, drive_q, latency_q} <= {over_failed, over_drive, over_latency};
    if (over) sectors_q <= over_sectors;
    tally_q <= tally;
  end

  // Settings: a copy to be shown, and one of each for its user.
  fb_common_lutram #(
      .Width(64),
      .Depth(4 * DRIVES_MOST)
  ) u_settings (
      .clk,
      .we(set),
      .waddr({word_q[1:0], row_q}),
      .wdata(written),
      .raddr({word_q[1:0], row_q}),
      .rdata(setting)
  );
  logic [2:0][63:0] copies;
  for (genvar i = 0; i < 3; i++) begin : gen_copies
    fb_common_lutram #(
        .Width(64),
        .Depth(DRIVES_MOST)
    ) u_copy (
        .clk,
        .we(set && word_q == 3'(i)),
        .waddr(row_q),
        .wdata(written),
        .raddr(i == 2 ? nsid_drive : ring_drive),
        .rdata(copies[i])
    );
  end
  assign {sq_doorbell, cq_doorbell, nsid} = {copies[0], copies[1], copies[2][31:0]};

  logic [Late:0][DRIVES_MOST-1:0] offline_q;
  always_ff @(posedge clk) begin
    if (writes && layout_q && word_q[0]) begin
      region_sectors <= SECTOR_BITS'((wdata_q & wmask_q) | (64'(region_sectors) & ~wmask_q));
    end else if (writes && layout_q) begin
      if (wmask_q[0]) drives_m1 <= wdata_q[DRIVE_BITS-1:0];
      if (wmask_q[8]) strip_m1 <= wdata_q[15:8];
      if (wmask_q[16]) parity <= wdata_q[16] && ParityPages > 0;
    end
    offline_q[Late:1] <= offline_q[Late-1:0];
    if (writes && !layout_q && word_q == 3'd3 && wmask_q[12]) offline_q[0][row_q] <= wdata_q[12];
    if (rst) begin
      {drives_m1, region_sectors, parity, offline_q} <= '0;
      strip_m1 <= 8'd15;
    end
  end
  assign {offline_late, offline} = {offline_q[Late], offline_q[0]};
  assign degraded = parity && $onehot(offline);

  always_comb begin
    counted = tally_q;
    counted.commands = tally_q.commands + 1'b1;
    if (failed_q) counted.failed = tally_q.failed + 1'b1;
    else counted.sectors = tally_q.sectors + 40'(sectors_q);
    if (latency_q > tally_q.longest) counted.longest = latency_q;
  end
  fb_common_lutram #(
      .Width($bits(tally_t)),
      .Depth(DRIVES_MOST)
  ) u_tallies (
      .clk,
      .we(counts_q || sweep),
      .waddr(sweep ? sweep_row : drive_q),
      .wdata(sweep ? '0 : counted),
      .raddr(over_q ? drive_q : row_q),
      .rdata(tally)
  );

  logic [DRIVES_MOST-1:0][SLOT_BITS-1:0] all_outstanding;
  logic [DRIVES_MOST-1:0] all_lost;
  assign all_outstanding = (DRIVES_MOST * SLOT_BITS)'(outstanding);
  assign all_lost = DRIVES_MOST'(lost);

  always_ff @(posedge clk) begin
    unique case (word_q)
      3'd2: array_data <= 64'(setting[31:0]);
      3'd3: array_data <= 64'({all_lost[row_q], offline[row_q], 1'b0, all_outstanding[row_q]});
      3'd4: array_data <= 64'(tally_q.commands);
      3'd5: array_data <= 64'(tally_q.sectors);
      3'd6: array_data <= 64'(tally_q.failed);
      3'd7: array_data <= 64'(tally_q.longest);
      default: array_data <= setting;
    endcase
    if (layout_q && word_q[0]) array_data <= 64'(region_sectors);
    else if (layout_q)
      array_data <= {31'd0, 9'(ParityPages), 7'd0, parity, strip_m1, 8'(drives_m1)};
  end

`ifndef SYNTHESIS
  a_counted_one_by_one :
  assert property (@(posedge clk) disable iff (rst) over |-> !over_q)
  else $error("fb_raid_drives (%m): drive %0d: over a cycle after drive %0d", over_drive, drive_q);
`endif

endmodule

`default_nettype wire
