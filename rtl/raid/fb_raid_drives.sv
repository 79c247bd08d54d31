// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_drives: what there is once for each of several drives: where its doorbells and its
// namespace are, and what became of its commands. In LUT RAM of eight rows a drive more costs next to
// nothing.
//
// Handshake:   a request (array_req) is held for one cycle and answered by an acknowledgement some
//              cycles later; no other comes meanwhile. Doorbells and namespace follow their index
//              in the same cycle.
// Latency:     2 cycles from a request to its answer, one more for each command that ends then.
// Throughput:  a command that is over in each cycle.
// Limits:      counters are cleared by the sweep after a restart, settings by nothing.
// Does not implement: doorbells and namespace of drive 0, which are where SNAcc's software looks for
//              them.

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
    // The same some cycles later, when no completion of the drive is under way any more.
    output logic [DRIVES_MOST-1:0] offline_late,

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

  localparam int unsigned Rows = DRIVES_MOST;
  localparam int unsigned Late = 4;  // cycles that a completion takes to its outcome, or more

  // The request, until it is answered.
  logic asked_q, write_q, layout_q, answer, writes, set;
  logic [DRIVE_BITS-1:0] row_q;
  logic [2:0] word_q;
  logic [63:0] wdata_q, wmask_q, setting, written;

  assign answer = asked_q && !over;
  assign writes = answer && write_q;
  assign set = writes && !layout_q && word_q < 3'd3;
  assign written = (wdata_q & wmask_q) | (setting & ~wmask_q);
  always_ff @(posedge clk) begin
    array_rd_ack <= answer && !write_q && !rst;
    array_wr_ack <= writes && !rst;
    if (array_req) begin
      write_q <= array_write;
      {layout_q, row_q, word_q} <= array_addr;
      wdata_q <= array_wdata;
      wmask_q <= array_wmask;
    end
    asked_q <= (array_req || (asked_q && !answer)) && !rst;
  end

  // Settings: a copy to be shown, and one of each for its user.
  fb_common_lutram #(
      .Width(64),
      .Depth(4 * Rows)
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
        .Depth(Rows)
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
      drives_m1 <= '0;
      strip_m1 <= 8'd15;
      region_sectors <= '0;
      parity <= 1'b0;
      offline_q <= '0;
    end
  end
  assign offline = offline_q[0];
  assign offline_late = offline_q[Late];
  assign degraded = parity && $onehot(offline);

  // What became of the commands of each drive.
  typedef struct packed {
    logic [31:0] commands;
    logic [31:0] failed;
    logic [39:0] sectors;
    logic [STAMP_BITS-1:0] longest;
  } tally_t;
  tally_t tally, counted;
  always_comb begin
    counted = tally;
    counted.commands = tally.commands + 1'b1;
    if (over_failed) counted.failed = tally.failed + 1'b1;
    else counted.sectors = tally.sectors + 40'(over_sectors);
    if (over_latency > tally.longest) counted.longest = over_latency;
  end
  fb_common_lutram #(
      .Width($bits(tally_t)),
      .Depth(Rows)
  ) u_tallies (
      .clk,
      .we(over || sweep),
      .waddr(sweep ? sweep_row : over_drive),
      .wdata(sweep ? '0 : counted),
      .raddr(over ? over_drive : row_q),
      .rdata(tally)
  );

  logic [Rows-1:0][SLOT_BITS-1:0] all_outstanding;
  logic [Rows-1:0] all_lost;
  assign all_outstanding = (Rows * SLOT_BITS)'(outstanding);
  assign all_lost = Rows'(lost);

  always_ff @(posedge clk) begin
    unique case (word_q)
      3'd2: array_data <= 64'(setting[31:0]);
      3'd3: array_data <= 64'({all_lost[row_q], offline[row_q], 1'b0, all_outstanding[row_q]});
      3'd4: array_data <= 64'(tally.commands);
      3'd5: array_data <= 64'(tally.sectors);
      3'd6: array_data <= 64'(tally.failed);
      3'd7: array_data <= 64'(tally.longest);
      default: array_data <= setting;
    endcase
    if (layout_q && word_q[0]) array_data <= 64'(region_sectors);
    else if (layout_q)
      array_data <= {31'd0, 9'(ParityPages), 7'd0, parity, strip_m1, 8'(drives_m1)};
  end

endmodule

`default_nettype wire
