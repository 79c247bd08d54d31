// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_stripe: from a place in the array to a drive and a place on it.
//
// What:        chunks go round the drives, so with c the number of the chunk, the drive is c mod N
//              and the chunk on it c div N. The page number in the array is divided by N bit by bit,
//              the highest first, and the division stops where the page in the chunk begins: a
//              quotient bit takes the place of the bit it comes from, so nothing is shifted by the
//              chunk's size, and the remainder is the drive.
// Handshake:   valid/ready; a command moves in a cycle in which both are high. It must not cross the
//              end of a chunk.
// Latency:     8 cycles.
// Throughput:  a command in 8 cycles, the time that the shortest one takes on its stream.
// Does not implement: commands that lie on several drives (fb_nvme_write and fb_nvme_read cut them).

`default_nettype none

module fb_nvme_stripe
  import fb_nvme_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire cfg_t cfg,

    input  wire           s_valid,
    output logic          s_ready,
    input  wire command_t s_command,
    output logic          m_valid,
    input  wire           m_ready,
    output command_t      m_command,

    output logic busy  // there is a command
);

  localparam int unsigned StepBits = 6;  // of the page number, a cycle
  localparam int unsigned Steps = 8;
  localparam int unsigned Width = Steps * StepBits;  // the page number has three bits less

  command_t command_q;
  logic [Width-1:0] work_q, work, shifted;
  logic [DRIVE_BITS-1:0] rest_q, rest;
  logic [2:0] step_q, step;
  logic busy_q, load;

  assign busy = busy_q;
  assign m_valid = busy_q && step_q == '0;
  assign s_ready = !busy_q || (m_valid && m_ready);
  assign load = s_valid && s_ready;
  assign work = load ? Width'(s_command.sector[SECTOR_BITS-1:3]) : work_q;
  assign step = load ? '0 : step_q;

  // Bits of this step that say which page of the chunk it is: they stay as they are.
  logic [StepBits-1:0] keep;
  always_comb begin
    unique case (step)
      3'd6: keep = StepBits'(cfg.strip_m1[7:6]);
      3'd7: keep = cfg.strip_m1[5:0];
      default: keep = '0;
    endcase
  end

  always_comb begin : divide
    automatic logic [DRIVE_BITS:0] digit;
    shifted = work << StepBits;
    rest = load ? '0 : rest_q;
    for (int i = int'(StepBits) - 1; i >= 0; i--) begin
      digit = {rest, work[int'(Width-StepBits)+i]};
      if (keep[i]) begin
        shifted[i] = digit[0];
      end else begin
        shifted[i] = digit > {1'b0, cfg.drives_m1};
        rest = DRIVE_BITS'(shifted[i] ? digit - cfg.drives_m1 - 1'b1 : digit);
      end
    end
  end

  always_ff @(posedge clk) begin
    if (load) command_q <= s_command;
    if (load || step_q != '0) begin
      work_q <= shifted;
      rest_q <= rest;
      step_q <= step + 1'b1;
    end
    if (load) busy_q <= 1'b1;
    else if (m_ready && m_valid) busy_q <= 1'b0;
    if (rst) begin
      busy_q <= 1'b0;
      step_q <= '0;
    end
  end

  always_comb begin
    m_command = command_q;
    m_command.drive = rest_q;
    m_command.sector = {work_q[SECTOR_BITS-4:0], command_q.sector[2:0]};
  end

  fb_axis_check #(
      .Width($bits(command_t)),
      .Name ("command")
  ) u_check (
      .clk,
      .rst,
      .valid(m_valid),
      .ready(m_ready),
      .data (m_command)
  );

endmodule

`default_nettype wire
