// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_drives: what there is once for each of several drives: where its doorbells and its
// namespace are, and what became of its commands.
//
// All of it lies in LUT RAM of eight rows, so that a drive more costs next to nothing here.
//
// Handshake:   a request (array_req) is held for one cycle and answered by an acknowledgement
//              some cycles later; no other comes meanwhile. Addresses of doorbells and the namespace follow
//              their index in the same cycle.
// Latency:     2 cycles from a request to its answer, one more for each command that ends then.
// Throughput:  a command that is over in each cycle.
// Limits:      counters are cleared by the sweep after a restart, settings by nothing.
// Does not implement: the registers of drive 0's doorbells and namespace, which stand where SNAcc's
//              software looks for them.

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
  logic asked_q, write_q, layout_q, answer;
  logic [DRIVE_BITS-1:0] row_q;
  logic [2:0] word_q;
  logic [63:0] wdata_q, wmask_q, shown, written;
  logic is_setting;

  assign answer = asked_q && !over;
  assign is_setting = !layout_q && word_q < 3'd3;
  always_ff @(posedge clk) begin
    array_rd_ack <= answer && !write_q && !rst;
    array_wr_ack <= answer && write_q && !rst;
    if (array_req) begin
      write_q <= array_write;
      {layout_q, row_q, word_q} <= array_addr;
      wdata_q <= array_wdata;
      wmask_q <= array_wmask;
    end
    if (answer) asked_q <= 1'b0;
    if (array_req) asked_q <= 1'b1;
    if (rst) asked_q <= 1'b0;
  end

  // Settings: a copy for whoever needs them, and one to be shown.
  logic [63:0] setting;
  logic set;
  assign set = answer && write_q && is_setting;
  assign written = (wdata_q & wmask_q) | (setting & ~wmask_q);
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
  fb_common_lutram #(
      .Width(64),
      .Depth(Rows)
  ) u_sq_doorbells (
      .clk,
      .we(set && word_q == 3'd0),
      .waddr(row_q),
      .wdata(written),
      .raddr(ring_drive),
      .rdata(sq_doorbell)
  );
  fb_common_lutram #(
      .Width(64),
      .Depth(Rows)
  ) u_cq_doorbells (
      .clk,
      .we(set && word_q == 3'd1),
      .waddr(row_q),
      .wdata(written),
      .raddr(ring_drive),
      .rdata(cq_doorbell)
  );
  fb_common_lutram #(
      .Width(32),
      .Depth(Rows)
  ) u_namespaces (
      .clk,
      .we(set && word_q == 3'd2),
      .waddr(row_q),
      .wdata(written[31:0]),
      .raddr(nsid_drive),
      .rdata(nsid)
  );

  logic [DRIVE_BITS-1:0] drives_m1_q;
  logic [7:0] strip_m1_q;
  logic [SECTOR_BITS-1:0] region_q;
  logic parity_q;
  always_ff @(posedge clk) begin
    if (answer && write_q && layout_q && word_q[0]) begin
      region_q <= SECTOR_BITS'((wdata_q & wmask_q) | (64'(region_q) & ~wmask_q));
    end else if (answer && write_q && layout_q) begin
      if (wmask_q[0]) drives_m1_q <= wdata_q[DRIVE_BITS-1:0];
      if (wmask_q[8]) strip_m1_q <= wdata_q[15:8];
      if (wmask_q[16]) parity_q <= wdata_q[16] && ParityPages > 0;
    end
    if (rst) begin
      drives_m1_q <= '0;
      strip_m1_q  <= 8'd15;
      region_q    <= '0;
      parity_q    <= 1'b0;
    end
  end
  assign drives_m1 = drives_m1_q;
  assign strip_m1  = strip_m1_q;
  assign parity    = parity_q;
  assign region_sectors = region_q;

  logic [Late:0][DRIVES_MOST-1:0] offline_q;
  always_ff @(posedge clk) begin
    offline_q[Late:1] <= offline_q[Late-1:0];
    if (answer && write_q && !layout_q && word_q == 3'd3 && wmask_q[12])
      offline_q[0][row_q] <= wdata_q[12];
    if (rst) offline_q <= '0;
  end
  assign offline = offline_q[0];
  assign degraded = parity_q && $onehot(offline_q[0]);
  assign offline_late = offline_q[Late];

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
  always_comb begin
    all_outstanding = '0;
    all_outstanding[Drives-1:0] = outstanding;
    all_lost = Rows'(lost);
  end

  always_comb begin
    unique case (word_q)
      3'd2: shown = 64'(setting[31:0]);
      3'd3: shown = 64'({all_lost[row_q], offline[row_q], 1'b0, all_outstanding[row_q]});
      3'd4: shown = 64'(tally.commands);
      3'd5: shown = 64'(tally.sectors);
      3'd6: shown = 64'(tally.failed);
      3'd7: shown = 64'(tally.longest);
      default: shown = setting;
    endcase
    if (layout_q && word_q[0]) shown = 64'(region_q);
    else if (layout_q)
      shown = {31'd0, 9'(ParityPages), 7'd0, parity_q, strip_m1_q, 8'(drives_m1_q)};
  end
  always_ff @(posedge clk) array_data <= shown;

endmodule

`default_nettype wire
