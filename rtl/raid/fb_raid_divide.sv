// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_divide: the number of a chunk, divided by a number of drives.
//
// What:        the page number is divided bit by bit, the highest first, as far as the page in the chunk:
//              a quotient bit takes the place of the bit it comes from, so nothing is shifted by the
//              chunk's size. The rest is left over from the chunk alone.
// Handshake:   `start` takes `page` in its cycle; `quotient` and `rest` stand, once `busy` has
//              fallen, until the next start. A start meanwhile begins anew.
// Latency:     25 cycles, the one of `start` among them: two bits a cycle keep the path short.
// Throughput:  a division in 25 cycles.
// Does not implement: division by anything else than 1 to 8.

`default_nettype none

module fb_raid_divide
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

  localparam int unsigned StepBits = 2;  // of the page number, a cycle
  localparam int unsigned Steps = 24;
  localparam int unsigned Width = Steps * StepBits;  // the page number has three bits less

  logic [Width-1:0] work_q, shifted;
  logic [DRIVE_BITS-1:0] next_rest;
  logic [$clog2(Steps+1)-1:0] left_q;  // steps to go
  logic [StepBits-1:0] keep_q;  // bits of this step that say which page of the chunk it is

  always_comb begin : divide
    automatic logic [DRIVE_BITS:0] digit;
    shifted   = work_q << StepBits;
    next_rest = rest;
    for (int i = int'(StepBits) - 1; i >= 0; i--) begin
      digit = {next_rest, work_q[int'(Width-StepBits)+i]};
      if (keep_q[i]) begin
        shifted[i] = digit[0];
      end else begin
        shifted[i] = digit > {1'b0, divisor_m1};
        next_rest  = DRIVE_BITS'(shifted[i] ? digit - divisor_m1 - 1'b1 : digit);
      end
    end
  end

  always_ff @(posedge clk) begin
    unique case (left_q)
      5'd5: keep_q <= strip_m1[7:6];
      5'd4: keep_q <= strip_m1[5:4];
      5'd3: keep_q <= strip_m1[3:2];
      5'd2: keep_q <= strip_m1[1:0];
      default: keep_q <= '0;
    endcase
    if (start) begin
      work_q <= Width'(page);
      rest   <= '0;
      left_q <= 5'(Steps);
    end else if (busy) begin
      work_q <= shifted;
      rest   <= next_rest;
      left_q <= left_q - 1'b1;
    end
    if (start || rst) keep_q <= '0;
    if (rst) left_q <= '0;
  end

  assign busy = left_q != '0;
  assign quotient = work_q[SECTOR_BITS-4:0];

endmodule

`default_nettype wire
