// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_bar: the whole BAR of the streamer. One AXI4 target, its map, and what is behind each region.
//
//   s_axi_bar -> target -> PAYLOAD:   `payload`, the memory
//                       -> LISTS:     PRP lists, computed
//                       -> QUEUES:    submission queues, read: `fetch_*`
//                                     completion queues, written: `cqe_*`
//                       -> REGISTERS: `m_axil`, also by the door `s_axil_ctrl`
//
// Handshake:   AXI4, AXI4-Lite; `fetch_valid` is a pulse, answered two cycles later; `cqe_valid` waits
//              for `cqe_ready`.
// Order, latency, throughput and limits: fb_bar_target, and the module behind each region.
//
// Does not implement: storing anything; payload, queues and registers are outside.

`default_nettype none

module fb_bar
  import fb_spec_pkg::*;
  import fb_bar_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,  // most entries of the queues, 2 to 1024, power of two
    parameter int unsigned Drives = 1,  // 1 to 8
    parameter int unsigned PageBits = 10,  // log2 of the 4 KiB pages of the payload
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter logic [63:0] Identity = IDENTITY_ONCHIP,  // says where the payload is
    parameter bit ListPerCommand = 1'b0,  // PRP lists are found by command, else by unit
    parameter int unsigned AxiIdBits = 4,
    parameter int unsigned Latency = 2,  // cycles from a read to its word, 2 to 16
    localparam int unsigned UnitIndexBits = PageBits - UnitBits
) (
    input wire clk,
    input wire rst,

    fb_axi_if.target s_axi_bar,
    fb_axil_if.target s_axil_ctrl,
    fb_axil_if.initiator m_axil,
    fb_bar_memory_if.bar payload,

    // Where the payload lies, as fb_bar_prp has it.
    input wire [63:0] data_window,
    input wire [63:0] data_write,
    input wire [63:0] data_read,
    input wire        segment_we,
    input wire [ 4:0] segment_index,
    input wire [63:0] segment_address,

    // An entry of a submission queue; its command and unit.
    output logic                     fetch_valid,
    output logic [              2:0] fetch_drive,
    output logic [              9:0] fetch_slot,
    input  wire  [            511:0] fetch_sqe,
    input  wire  [              9:0] fetched_tag,
    input  wire  [UnitIndexBits-1:0] fetched_unit,

    // An entry of a completion queue.
    output logic        cqe_valid,
    input  wire         cqe_ready,
    output completion_t cqe,
    output logic        stray       // pulse: something was written elsewhere in the queues
);

  localparam bit OnChip = Identity == IDENTITY_ONCHIP;
  localparam bit OnBoard = Identity == IDENTITY_ONBOARD;
  localparam bit InHost = Identity == IDENTITY_HOST;
  localparam int unsigned AddrBits = $clog2(OnBoard ? BAR0_BYTES_DRAM : BAR0_BYTES);
  localparam int unsigned WordBits = PageBits + 6;  // of the payload
  localparam int unsigned CqOffset = cq_offset(QueueDepth);
  localparam int unsigned QueueBits = queue_bits(QueueDepth, Drives);
  localparam int unsigned ChipBits = chip_bits(1 << PageBits);
  localparam int unsigned ChipBase = chip_base(1 << PageBits);
  localparam int unsigned DramListBits = ListPerCommand ? 18 : $clog2(PRP_LISTS_BYTES);
  localparam int unsigned ListBits = OnChip ? 12 + PageBits : DramListBits;
  localparam aperture_t Payload = '{
      base: 32'(OnChip ? ChipBase : BAR0_DATA_DRAM),
      bits: 6'(PageBits + 12),
      writable: 1'b1
  };
  localparam map_t Map = '{
      PAYLOAD: InHost ? NOWHERE : Payload,
      LISTS: '{
          base: 32'(OnChip ? ChipBase + (1 << ChipBits) : BAR0_PRP_LISTS),
          bits: 6'(OnChip ? ChipBits : DramListBits),
          writable: 1'b0
      },
      QUEUES: '{base: 32'(queue_base(QueueDepth, Drives)), bits: 6'(QueueBits), writable: 1'b1},
      REGISTERS: '{base: 32'(BAR0_CONTROL), bits: 6'd12, writable: 1'b1}
  };

  logic [REGIONS-1:0] write_valid, write_ready, write_refused, read_valid, read_ready, read_error;
  logic [REGIONS-1:0][511:0] read_word;
  logic [AddrBits-1:0] write_addr, read_addr, next_addr;
  logic [511:0] write_data;
  logic [ 63:0] write_strb;
  logic [ 15:0] write_dwords;

  fb_bar_target #(
      .AddrBits(AddrBits),
      .AxiIdBits(AxiIdBits),
      .Latency(Latency),
      .Map(Map)
  ) u_target (
      .read_stays(payload.read_stays),
      .next_valid(payload.next_valid),
      .*
  );

  assign payload.write_valid = write_valid[PAYLOAD];
  assign payload.write_addr = WordBits'(write_addr >> 6);
  assign payload.write_data = write_data;
  assign payload.write_strb = write_strb;
  assign write_ready[PAYLOAD] = payload.write_ready;
  assign write_refused[PAYLOAD] = 1'b0;
  assign payload.read_valid = read_valid[PAYLOAD];
  assign payload.read_addr = WordBits'(read_addr >> 6);
  assign payload.next_addr = WordBits'(next_addr >> 6);
  assign read_ready[PAYLOAD] = payload.read_ready;
  assign read_word[PAYLOAD] = payload.read_word;
  assign read_error[PAYLOAD] = payload.read_error;

  // The entry that is asked for comes two cycles later.
  logic [1:0] fetched_q;
  always_ff @(posedge clk) fetched_q <= {fetched_q[0], fetch_valid};

  fb_bar_prp #(
      .PageBits(PageBits),
      .UnitBits(UnitBits),
      .OnChip(OnChip),
      .PerCommand(ListPerCommand),
      .InHost(InHost),
      .Latency(Latency)
  ) u_lists (
      .fetched  (fetched_q[1]),
      .read_addr(read_addr[ListBits-1:0]),
      .read_word(read_word[LISTS]),
      .*
  );
  assign write_ready[LISTS] = 1'b1;
  assign write_refused[LISTS] = 1'b1;
  assign read_ready[LISTS] = 1'b1;
  assign read_error[LISTS] = 1'b0;

  fb_bar_sq #(
      .QueueDepth(QueueDepth),
      .CqOffset(CqOffset),
      .Drives(Drives),
      .Latency(Latency)
  ) u_submission (
      .read_valid(read_valid[QUEUES]),
      .read_addr (read_addr[QueueBits-1:0]),
      .read_word (read_word[QUEUES]),
      .read_error(read_error[QUEUES]),
      .*
  );
  assign read_ready[QUEUES] = 1'b1;

  fb_bar_cq #(
      .QueueDepth(QueueDepth),
      .CqOffset(CqOffset),
      .Drives(Drives)
  ) u_completion (
      .write_valid(write_valid[QUEUES]),
      .write_ready(write_ready[QUEUES]),
      .write_refused(write_refused[QUEUES]),
      .write_addr(write_addr[QueueBits-1:0]),
      .*
  );

  fb_bar_registers #(
      .Latency(Latency)
  ) u_registers (
      .write_valid(write_valid[REGISTERS]),
      .write_ready(write_ready[REGISTERS]),
      .write_refused(write_refused[REGISTERS]),
      .write_addr(write_addr[11:0]),
      .read_valid(read_valid[REGISTERS]),
      .read_ready(read_ready[REGISTERS]),
      .read_addr(read_addr[11:0]),
      .read_word(read_word[REGISTERS]),
      .read_error(read_error[REGISTERS]),
      .*
  );

  // A region looks at the low bits of an address.
  logic unused;
  assign unused = &{1'b0, write_addr, read_addr, next_addr, 1'b0};

endmodule

`default_nettype wire
