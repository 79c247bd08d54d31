// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_access: accesses of the sequencer to what is behind the root port's bridge.
//
// What:        configuration space as ECAM by `m_axil_cfg`, memory by `m_axil_mmio`; see
//              fb_boot_axil. What the addresses cannot reach ends in error: from 256 MiB on in
//              configuration space, from 4 GiB on in memory, where no bridge has a window.
// Handshake:   requests as fb_common_seq makes them; one access at a time.
// Link:        while `link_up` is low, accesses beyond bus 0 end in error, since a bridge may never
//              recover from them. Bus 0 is the root port's own header. `link_up` belongs to `clk`, and
//              counts in the cycle before VALID.
// Latency:     as fb_boot_axil.
// Limits:      an access that is not answered in TimeoutCycles makes the bridge hung, for both ports
//              and until a reset. The time has to be longer than the bridge's own completion
//              time-out.
// Does not implement: root ports without ECAM; configuration of more than 256 buses.

`default_nettype none

module fb_boot_access #(
    parameter logic [63:0] MmioOffset = '0,  // AXI address minus bus address, a multiple of 8
    parameter int unsigned TimeoutCycles = 15_000_000  // 1 or more
) (
    input wire clk,
    input wire rst,
    input wire link_up,

    input  wire         s_valid,
    output logic        s_ready,
    input  wire         s_write,
    input  wire         s_wide,
    input  wire         s_mmio,   // memory, else configuration space
    input  wire  [63:0] s_addr,   // ECAM offset, or bus address
    input  wire  [63:0] s_wdata,

    output logic        m_valid,
    output logic        m_error,
    output logic [63:0] m_rdata,

    output logic hung,

    fb_axil_if.initiator m_axil_cfg,  // 28 bits of address, 32 of data
    fb_axil_if.initiator m_axil_mmio  // 64 bits of address, 32 of data
);

  if (MmioOffset[2:0] != '0) begin : gen_bad_offset
    $fatal(1, "fb_boot_access (%m): MmioOffset=%0h must be a multiple of 8", MmioOffset);
  end

  logic outside, beyond_bus_0;
  assign outside = s_addr[63:32] != '0 || (!s_mmio && s_addr[31:28] != '0);
  assign beyond_bus_0 = s_mmio || s_addr[27:20] != '0;

  // The address's top bit says which port, so that it is held as long as the address.
  fb_axil_if #(
      .AddrBits(33),
      .DataBits(32)
  ) axil (
      .clk,
      .rst
  );

  fb_boot_axil #(
      .AddrBits(33),
      .DataBits(32),
      .TimeoutCycles(TimeoutCycles)
  ) u_axil (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_refuse(outside || (beyond_bus_0 && !link_up)),
      .s_write,
      .s_wide,
      .s_addr  ({s_mmio, s_addr[31:0]}),
      .s_wdata,
      .m_valid,
      .m_error,
      .m_rdata,
      .hung,
      .m_axil  (axil)
  );

  logic mmio;
  logic [63:0] mmio_addr;
  assign mmio = axil.awaddr[32];
  assign mmio_addr = 64'(axil.awaddr[31:0]) + MmioOffset;

  assign m_axil_cfg.awaddr = axil.awaddr[27:0];
  assign m_axil_cfg.araddr = axil.awaddr[27:0];
  assign m_axil_cfg.awvalid = axil.awvalid && !mmio;
  assign m_axil_cfg.wvalid = axil.wvalid && !mmio;
  assign m_axil_cfg.arvalid = axil.arvalid && !mmio;

  assign m_axil_mmio.awaddr = mmio_addr;
  assign m_axil_mmio.araddr = mmio_addr;
  assign m_axil_mmio.awvalid = axil.awvalid && mmio;
  assign m_axil_mmio.wvalid = axil.wvalid && mmio;
  assign m_axil_mmio.arvalid = axil.arvalid && mmio;

  assign {m_axil_cfg.wdata, m_axil_cfg.wstrb} = {axil.wdata, axil.wstrb};
  assign {m_axil_mmio.wdata, m_axil_mmio.wstrb} = {axil.wdata, axil.wstrb};
  assign {m_axil_cfg.bready, m_axil_cfg.rready} = {axil.bready, axil.rready};
  assign {m_axil_mmio.bready, m_axil_mmio.rready} = {axil.bready, axil.rready};

  always_comb begin : choose
    {axil.awready, axil.wready, axil.arready} =
        mmio ? {m_axil_mmio.awready, m_axil_mmio.wready, m_axil_mmio.arready} :
        {m_axil_cfg.awready, m_axil_cfg.wready, m_axil_cfg.arready};
    {axil.bvalid, axil.bresp} = mmio ? {m_axil_mmio.bvalid, m_axil_mmio.bresp} :
        {m_axil_cfg.bvalid, m_axil_cfg.bresp};
    {axil.rvalid, axil.rresp, axil.rdata} =
        mmio ? {m_axil_mmio.rvalid, m_axil_mmio.rresp, m_axil_mmio.rdata} :
        {m_axil_cfg.rvalid, m_axil_cfg.rresp, m_axil_cfg.rdata};
  end

endmodule

`default_nettype wire
