// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_timeout: halts the queue when the oldest command is not completed in time.
//
// What:        each ring has a timer. It runs while the ring's oldest command is open, and begins
//              anew with each step. When it ends the command's drive is lost. An SSD that has lost
//              one command cannot be trusted with the pages of the others, so with one drive the
//              queue is halted at once, until a reset. With several drives software has as long
//              again to cut the drive off the bus and to call it offline; then its commands fail,
//              and those of the others go on. If it does not, the queue is halted after all. A drive
//              that has refused a command for which another can stand is lost at once.
// Latency:     a time-out is two cycles after the timer's end.
// Limits:      one number of cycles for all commands.
// Does not implement: what becomes of the commands (fb_nvme_reorder).

`default_nettype none

module fb_nvme_timeout
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Drives = 1  // 1 to 8
) (
    input wire clk,
    input wire rst,

    input wire [31:0] cycles,  // 0: never

    // The oldest command of a ring is open or not.
    input wire                  look,
    input wire                  look_write,
    input wire                  look_open,
    input wire                  look_refused,  // it is open because its drive must be done without
    input wire [DRIVE_BITS-1:0] look_drive,
    // A command of a ring is answered, or goes on to wait for a flush.
    input wire                  step,
    input wire                  step_write,

    output logic                  timed_out,        // pulse
    output logic                  timed_out_write,
    output logic [DRIVE_BITS-1:0] timed_out_drive,
    output logic [    Drives-1:0] lost,             // drives to be done without
    output logic                  halted
);

  // Of each ring, that of the writes in bit 1.
  logic [1:0] open_q, ended_q, expired;
  logic [1:0][31:0] timer_q;
  logic [1:0][DRIVE_BITS-1:0] drive_q;
  logic enabled_q, halt, refused;
  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < 2; i++) begin
      if (look && look_write == 1'(i)) begin
        open_q[i]  <= look_open;
        drive_q[i] <= look_drive;
      end
      if (rst || (step && step_write == 1'(i))) open_q[i] <= 1'b0;
      // Both begin anew: a lost drive does not halt the queue through the other ring at once.
      timer_q[i] <= (open_q[i] && !timed_out && !refused) ? timer_q[i] - 1'b1 : cycles;
      // A cycle late: what was waited for may just have come.
      ended_q[i] <= timer_q[i] == '0 && enabled_q && !refused;
    end
    enabled_q <= cycles != '0;
    halted <= (halted || halt) && !rst;
  end
  assign expired = halted ? '0 : open_q & ended_q;
  assign timed_out = |expired;
  assign timed_out_write = expired[1];
  assign timed_out_drive = drive_q[expired[1]];

  if (Drives == 1) begin : gen_one
    assign lost = halted;
    assign halt = timed_out;
    assign refused = look && look_refused;
  end else begin : gen_many
    localparam int unsigned IndexBits = $clog2(Drives);
    always_ff @(posedge clk) begin
      if (timed_out) lost[IndexBits'(timed_out_drive)] <= 1'b1;
      if (refused) lost[IndexBits'(look_drive)] <= 1'b1;
      if (rst) lost <= '0;
    end
    assign refused = look && look_refused && !lost[IndexBits'(look_drive)];
    assign halt = timed_out && lost[IndexBits'(timed_out_drive)];
  end

endmodule

`default_nettype wire
