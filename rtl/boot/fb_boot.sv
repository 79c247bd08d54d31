// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot: brings drives up behind a PCIe root port, without a CPU.
//
// What:        a sequencer runs `Program` (rtl/boot/boot.seq), which finds functions, places BARs,
//              brings controllers up through the window of the admin queues, writes the registers of
//              streamer and recorder, and then watches. Its spaces are those of forebay-spec's `boot`.
//              What it says goes to a serial line, what it found to registers (regs/boot.rdl).
// Ports:       `m_axil_cfg` and `m_axil_mmio` lead to the root port's bridge, `m_axil_ctrl` to the
//              registers of streamer and recorder; drives reach `s_axi_admin` at AdminBase.
// Handshake:   as the modules within have it. `link_up` belongs to `clk`. While `hold` is high the
//              recorder takes nothing.
// Latency:     the program begins some 64 cycles after a reset where AutoStart is 1.
// Limits:      an AXI4-Lite access has TimeoutUs to be answered; after that its bus is left alone
//              until a reset.
// Does not implement: interrupts; hot plug of other functions than drives.

`default_nettype none

module fb_boot
  import fb_spec_pkg::*;
#(
    parameter logic [31:0] Program[1024],
    parameter int unsigned ClocksPerUs = 250,  // cycles of a microsecond
    parameter int unsigned ClocksPerBit = 2170,  // of the serial line: 115,200 baud at 250 MHz
    parameter int unsigned TimeoutUs = 60_000,  // of an access, above the bridge's own
    parameter logic [63:0] MmioOffset = '0,  // AXI address minus bus address, a multiple of 8
    parameter int unsigned CtrlAddrBits = 16,  // of `m_axil_ctrl`, 3 to 63
    parameter int unsigned AxiIdBits = 4,  // of `s_axi_admin`
    // See fb_boot_regs.
    parameter bit AutoStart = 1'b1,
    parameter bit Together = 1'b0,
    parameter bit AutoRecover = 1'b1,
    parameter bit Watch = 1'b1,
    parameter int unsigned ResetUs = 100_000,
    parameter logic [63:0] AdminBase = '0,
    parameter logic [63:0] QueueBase = '0,
    parameter logic [63:0] QueueStep = 64'h2000,
    parameter logic [63:0] DataBase = '0,
    parameter int unsigned CommandUs = 5_000_000,  // after which the streamer gives a command up
    parameter logic [63:0] RoomFirst = 64'hE000_0000,
    parameter logic [63:0] RoomEnd = 64'hF000_0000,
    parameter logic [63:0] RootBar = '0,
    parameter int unsigned Drives = 1,
    parameter int unsigned QueueEntries = 64
) (
    input wire clk,
    input wire rst,

    input  wire         link_up,
    output logic        perst_n,
    output logic        hold,
    output logic [63:0] media_bytes,
    output logic [ 7:0] block_shift,
    output logic        uart_txd,
    output logic [ 3:0] leds,         // link, ready, activity, error from bit 0 on

    fb_axil_if.target s_axil_boot,
    fb_axil_if.initiator m_axil_cfg,  // 28 bits of address, 32 of data
    fb_axil_if.initiator m_axil_mmio,  // 64, 32
    fb_axil_if.initiator m_axil_ctrl,  // CtrlAddrBits, 64
    fb_axi_if.target s_axi_admin
);

  if (CtrlAddrBits < 3 || CtrlAddrBits > 63) begin : gen_bad_ctrl
    $fatal(1, "fb_boot (%m): CtrlAddrBits=%0d must be from 3 to 63", CtrlAddrBits);
  end

  if (64'(CommandUs) * 64'(ClocksPerUs) >= 64'h1_0000_0000) begin : gen_bad_command
    $fatal(1, "fb_boot (%m): CommandUs=%0d must be below 2^32 cycles", CommandUs);
  end

  localparam int unsigned TimeoutCycles = ClocksPerUs * TimeoutUs;
  localparam int unsigned ActivityBits = $clog2(ClocksPerUs) + 15;  // 33 to 66 ms

  // ---------------------------------------------------------------------------------- sequencer
  logic go, running, ended;
  logic [7:0] code;
  logic [9:0] place, rom_addr;
  logic [31:0] rom_data;
  logic valid, ready, write, wide, answered, failed;
  logic [2:0] space;
  logic [63:0] addr, wdata, rdata;
  logic character_valid;
  logic [7:0] character;

  fb_boot_rom #(
      .Program(Program)
  ) u_rom (
      .clk,
      .addr(rom_addr),
      .data(rom_data)
  );

  fb_common_seq #(
      .ClocksPerUs(ClocksPerUs),
      .Spaces(SPACE_COUNT)
  ) u_seq (
      .clk,
      .rst,
      .go,
      .rom_addr,
      .rom_data,
      .m_valid(valid),
      .m_ready(ready),
      .m_write(write),
      .m_wide (wide),
      .m_space(space),
      .m_addr (addr),
      .m_wdata(wdata),
      .s_valid(answered),
      .s_error(failed),
      .s_rdata(rdata),
      .c_valid(character_valid),
      .c_ready(1'b1),
      .c_data (character),
      .running,
      .ended,
      .code,
      .place
  );

  // ------------------------------------------------------------------------------------- spaces
  // Of who serves them. The space stands from the request to the end of its answer.
  typedef enum logic [1:0] {
    BRIDGE,  // CFG, MMIO
    CTRL,
    ADMIN,
    REGS  // RAM, PORT
  } server_e;
  localparam int unsigned Servers = 4;

  server_e server;
  logic [Servers-1:0] readies, valids, errors;
  logic [Servers-1:0][63:0] data;

  always_comb begin : choose
    case (space)
      3'(SPACE_CFG), 3'(SPACE_MMIO): server = BRIDGE;
      3'(SPACE_CTL): server = CTRL;
      3'(SPACE_ADM): server = ADMIN;
      default: server = REGS;
    endcase
  end
  assign ready = readies[server];
  assign answered = valids != '0;
  assign failed = errors[server];
  assign rdata = data[server];

  logic bridge_hung, control_hung, dropped;

  fb_boot_access #(
      .MmioOffset(MmioOffset),
      .TimeoutCycles(TimeoutCycles)
  ) u_access (
      .clk,
      .rst,
      .link_up,
      .s_valid(valid && server == BRIDGE),
      .s_ready(readies[BRIDGE]),
      .s_write(write),
      .s_wide(wide),
      .s_mmio(space == 3'(SPACE_MMIO)),
      .s_addr(addr),
      .s_wdata(wdata),
      .m_valid(valids[BRIDGE]),
      .m_error(errors[BRIDGE]),
      .m_rdata(data[BRIDGE]),
      .hung(bridge_hung),
      .m_axil_cfg,
      .m_axil_mmio
  );

  fb_boot_axil #(
      .AddrBits(CtrlAddrBits),
      .DataBits(64),
      .TimeoutCycles(TimeoutCycles)
  ) u_ctrl (
      .clk,
      .rst,
      .s_valid(valid && server == CTRL),
      .s_ready(readies[CTRL]),
      .s_refuse(addr[63:CtrlAddrBits] != '0),
      .s_write(write),
      .s_wide(wide),
      .s_addr(addr[CtrlAddrBits-1:0]),
      .s_wdata(wdata),
      .m_valid(valids[CTRL]),
      .m_error(errors[CTRL]),
      .m_rdata(data[CTRL]),
      .hung(control_hung),
      .m_axil(m_axil_ctrl)
  );

  fb_boot_admin #(
      .AxiIdBits(AxiIdBits)
  ) u_admin (
      .clk,
      .rst,
      .s_axi_admin,
      .s_valid(valid && server == ADMIN),
      .s_ready(readies[ADMIN]),
      .s_write(write),
      .s_wide (wide),
      .s_addr (addr),
      .s_wdata(wdata),
      .m_valid(valids[ADMIN]),
      .m_error(errors[ADMIN]),
      .m_rdata(data[ADMIN])
  );

  fb_boot_regs #(
      .AutoStart(AutoStart),
      .Together(Together),
      .AutoRecover(AutoRecover),
      .Watch(Watch),
      .CommandCycles(CommandUs * ClocksPerUs),
      .ResetUs(ResetUs),
      .AdminBase(AdminBase),
      .QueueBase(QueueBase),
      .QueueStep(QueueStep),
      .DataBase(DataBase),
      .MmioOffset(MmioOffset),
      .RoomFirst(RoomFirst),
      .RoomEnd(RoomEnd),
      .RootBar(RootBar),
      .Drives(Drives),
      .QueueEntries(QueueEntries),
      .ActivityBits(ActivityBits)
  ) u_regs (
      .clk,
      .rst,
      .s_axil_boot,
      .go,
      .running,
      .ended,
      .code,
      .place,
      .activity(answered),
      .s_valid(valid && server == REGS),
      .s_ready(readies[REGS]),
      .s_write(write),
      .s_wide(wide),
      .s_ram(space == 3'(SPACE_RAM)),
      .s_addr(addr),
      .s_wdata(wdata),
      .m_valid(valids[REGS]),
      .m_error(errors[REGS]),
      .m_rdata(data[REGS]),
      .link_up,
      .bridge_hung,
      .control_hung,
      .dropped,
      .perst_n,
      .hold,
      .media_bytes,
      .block_shift,
      .leds
  );

  fb_boot_uart #(
      .ClocksPerBit(ClocksPerBit)
  ) u_uart (
      .clk,
      .rst,
      .s_valid(character_valid),
      .s_data(character),
      .dropped,
      .txd(uart_txd)
  );

endmodule

`default_nettype wire
