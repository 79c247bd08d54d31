// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_map: from a place in the array to a drive and a place on it.
//
// What:        chunks go round the drives, so with c the number of the chunk, the drive is c mod N
//              and the chunk on it c div N (fb_raid_divide). Where each drive has a region of the
//              array to itself, a region is taken off in each of these cycles while there is one.
// Handshake:   valid/ready; a command moves in a cycle in which both are high. It must not cross the
//              end of a chunk.
// Latency:     26 cycles.
// Throughput:  a command in 25 cycles: 12 million a second at 300 MHz.
// Does not implement: commands that lie on several drives (fb_nvme_write_split and fb_nvme_read_split cut them).

`default_nettype none

module fb_raid_map
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

  command_t command_q;
  logic busy_q, load, dividing, leaves;
  logic [SECTOR_BITS-4:0] page;
  logic [ DRIVE_BITS-1:0] drive;

  // What is left when whole regions are taken off, and how many there were. What lies behind the
  // last one is refused, and stays with it.
  logic [SECTOR_BITS-1:0] left_q;
  logic [ DRIVE_BITS-1:0] regions_q;
  logic [  SECTOR_BITS:0] less;
  assign less = {1'b0, left_q} - {1'b0, cfg.region_sectors};

  assign busy = busy_q || m_valid;
  // A command that waits for its drive's queue holds up the next one.
  assign leaves = busy_q && !dividing && !m_valid;
  assign s_ready = !busy_q || leaves;
  assign load = s_valid && s_ready;

  fb_raid_divide u_divide (
      .clk,
      .rst,
      .divisor_m1(cfg.drives_m1),
      .strip_m1(cfg.strip_m1),
      .start(load),
      .page(s_command.sector[SECTOR_BITS-1:3]),
      .busy(dividing),
      .quotient(page),
      .rest(drive)
  );

  always_ff @(posedge clk) begin
    if (load) begin
      command_q <= s_command;
      left_q <= s_command.sector;
      regions_q <= '0;
    end else if (dividing && !less[SECTOR_BITS] && regions_q != cfg.drives_m1) begin
      left_q <= less[SECTOR_BITS-1:0];
      regions_q <= regions_q + 1'b1;
    end
    // What waits for its turn at its drive's queue is in a register.
    if (leaves) begin
      m_command <= command_q;
      m_command.drive <= (cfg.region_sectors == '0) ? drive : regions_q;
      m_command.sector <= (cfg.region_sectors == '0) ? {page, command_q.sector[2:0]} : left_q;
    end
    busy_q  <= (load || (busy_q && !leaves)) && !rst;
    m_valid <= (leaves || (m_valid && !m_ready)) && !rst;
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
