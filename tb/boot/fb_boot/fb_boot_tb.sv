// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_tb: fb_boot with its buses in place of pins.

`default_nettype none

module fb_boot_tb #(
    parameter int unsigned ClocksPerUs = 4,
    parameter int unsigned ClocksPerBit = 4,
    parameter int unsigned TimeoutUs = 50,
    parameter bit AutoStart = 1'b1,
    parameter bit AutoRecover = 1'b1,
    parameter int unsigned ResetUs = 100_000,
    parameter int unsigned Drives = 1
) (
    input wire clk,
    input wire rst,

    input  wire         link_up,
    output logic        perst_n,
    output logic        hold,
    output logic [63:0] media_bytes,
    output logic [ 7:0] block_shift,
    output logic        uart_txd,
    output logic [ 3:0] leds
);

  fb_axil_if s_axil_boot (.*);
  fb_axil_if #(
      .AddrBits(28),
      .DataBits(32)
  ) m_axil_cfg (
      .*
  );
  fb_axil_if #(
      .AddrBits(64),
      .DataBits(32)
  ) m_axil_mmio (
      .*
  );
  fb_axil_if #(.AddrBits(16)) m_axil_ctrl (.*);
  fb_axi_if s_axi_admin (.*);

  fb_boot #(
      .Program(fb_boot_rom_pkg::PROGRAM),
      .ClocksPerUs(ClocksPerUs),
      .ClocksPerBit(ClocksPerBit),
      .TimeoutUs(TimeoutUs),
      .MmioOffset(64'h2_0000_0000),
      .AutoStart(AutoStart),
      .AutoRecover(AutoRecover),
      .ResetUs(ResetUs),
      .AdminBase(64'h1234_8000),
      .Drives(Drives)
  ) u_dut (
      .*
  );

endmodule

`default_nettype wire
