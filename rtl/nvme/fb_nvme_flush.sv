// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_flush: the flush that the oldest write waits for, at each drive of the array in turn.
//
// What:        `start` asks fb_nvme_submit for a flush of the first drive; when that is completed,
//              another `start` asks for the next; `finish` ends it. fb_nvme_reorder decides whether a
//              flush is wanted, and what its result means.
// Handshake:   `start`, `finish` are pulses; `valid`/`ready` to fb_nvme_submit.
// Latency:     one cycle from `start` to `valid`.
// Does not implement: flushes of several drives at once.

`default_nettype none

module fb_nvme_flush
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Drives = 1  // 1 to 8
) (
    input wire clk,
    input wire rst,

    input wire [DRIVE_BITS-1:0] drives_m1,
    input wire start,
    input wire finish,

    output logic busy,  // from the first start to the finish
    output logic last,  // the drive is the last one

    output logic                  valid,
    input  wire                   ready,
    output logic [DRIVE_BITS-1:0] drive
);

  logic busy_q, valid_q;
  always_ff @(posedge clk) begin
    busy_q  <= (busy_q || start) && !finish && !rst;
    valid_q <= (start || (valid_q && !ready)) && !rst;
  end
  assign busy  = busy_q;
  assign valid = valid_q;

  if (Drives == 1) begin : gen_one
    logic unused;
    assign unused = &{1'b0, drives_m1, 1'b0};
    assign drive  = '0;
    assign last   = 1'b1;
  end else begin : gen_many
    logic [DRIVE_BITS-1:0] drive_q;
    always_ff @(posedge clk) if (start) drive_q <= busy ? drive_q + 1'b1 : '0;
    assign drive = drive_q;
    assign last  = drive_q == drives_m1;
  end

endmodule

`default_nettype wire
