// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_divide: the number of a chunk, divided by a number of drives.
//
// What:        the page number is divided bit by bit, the highest first, and the division stops where
//              the page in the chunk begins: a quotient bit takes the place of the bit it comes from,
//              so nothing is shifted by the chunk's size. The rest is left over from the chunk alone.
// Handshake:   `start` takes `page` in its cycle; `quotient` and `rest` stand, once `busy` has
//              fallen, until the next start. A start meanwhile begins anew.
// Latency:     8 cycles, the one of `start` among them.
// Throughput:  a division in 8 cycles.
// Does not implement: division by anything else than 1 to 8.

`default_nettype none

module fb_nvme_divide
  import fb_nvme_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire [DRIVE_BITS-1:0] divisor_m1,
    input wire [           7:0] strip_m1,    // pages - 1 of the chunk, a power of two - 1

    input  wire                    start,
    input  wire  [SECTOR_BITS-4:0] page,
    output logic                   busy,
    output logic [SECTOR_BITS-4:0] quotient,  // the page in the chunk below it
    output logic [ DRIVE_BITS-1:0] rest
);

  localparam int unsigned StepBits = 6;  // of the page number, a cycle
  localparam int unsigned Steps = 8;
  localparam int unsigned Width = Steps * StepBits;  // the page number has three bits less

  logic [Width-1:0] work_q, work, shifted;
  logic [DRIVE_BITS-1:0] rest_q, next_rest;
  logic [2:0] step_q, step;

  assign work = start ? Width'(page) : work_q;
  assign step = start ? '0 : step_q;

  // Bits of this step that say which page of the chunk it is: they stay as they are.
  logic [StepBits-1:0] keep;
  always_comb begin
    unique case (step)
      3'd6: keep = StepBits'(strip_m1[7:6]);
      3'd7: keep = strip_m1[5:0];
      default: keep = '0;
    endcase
  end

  always_comb begin : divide
    automatic logic [DRIVE_BITS:0] digit;
    shifted   = work << StepBits;
    next_rest = start ? '0 : rest_q;
    for (int i = int'(StepBits) - 1; i >= 0; i--) begin
      digit = {next_rest, work[int'(Width-StepBits)+i]};
      if (keep[i]) begin
        shifted[i] = digit[0];
      end else begin
        shifted[i] = digit > {1'b0, divisor_m1};
        next_rest  = DRIVE_BITS'(shifted[i] ? digit - divisor_m1 - 1'b1 : digit);
      end
    end
  end

  always_ff @(posedge clk) begin
    if (start || step_q != '0) begin
      work_q <= shifted;
      rest_q <= next_rest;
      step_q <= step + 1'b1;
    end
    if (rst) step_q <= '0;
  end

  assign busy = step_q != '0;
  assign quotient = work_q[SECTOR_BITS-4:0];
  assign rest = rest_q;

endmodule

`default_nettype wire
