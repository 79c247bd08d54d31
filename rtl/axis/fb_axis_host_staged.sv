// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A host port with its staging memory, and the window through which software reaches that: all that
// takes the user's place at a streamer (docs/reference/host-port.md). Latency, throughput and limits:
// fb_axis_host and fb_bar_target.
//
// Handshake: AXI4 (identifiers are echoed, answers stay in order), AXI4-Lite, AXI4-Stream; one clock.
// Does not implement: clock crossing; streams for a user beside the host.

`default_nettype none

module fb_axis_host_staged
  import fb_bar_pkg::*;
#(
    parameter int unsigned Pages = 64,  // of both staging halves, a power of two, 16 to 1024
    parameter int unsigned ReadLatency = 3,  // of the staging memory, cycles, 2 to 16
    parameter int unsigned AxiIdBits = 4,  // of the window
    localparam int unsigned HostAddrBits = $clog2(fb_spec_pkg::BUFFER_BYTES)
) (
    input wire clk,
    input wire rst,

    // To the streamer, and from it.
    fb_axis_if.initiator m_axis_wr,
    fb_axis_if.target s_axis_wrsp,
    fb_axis_if.initiator m_axis_rdcmd,
    fb_axis_if.target s_axis_rd,

    // Staging window of the host port: 4 MiB, of which Pages are there.
    fb_axi_if.target s_axi_host,

    // Control registers of the host port.
    fb_axil_if.target s_axil_host
);

  localparam int unsigned WordBits = $clog2(Pages) + 6;
  localparam aperture_t Staging = '{base: '0, bits: 6'(WordBits + 6), writable: 1'b1};
  localparam map_t Map = '{PAYLOAD: Staging, default: NOWHERE};

  logic a_en, a_we, b_en;
  logic [WordBits-1:0] a_addr, b_addr;
  logic [63:0] b_we;
  logic [511:0] a_wdata, a_rdata, b_wdata, b_rdata;

  fb_axis_host #(
      .Pages(Pages),
      .ReadLatency(ReadLatency)
  ) u_port (
      .mem_en(a_en),
      .mem_we(a_we),
      .mem_addr(a_addr),
      .mem_wdata(a_wdata),
      .mem_rdata(a_rdata),
      .*
  );

  fb_payload_ram #(
      .Pages(Pages),
      .ReadLatency(ReadLatency)
  ) u_staging (
      .*
  );

  // The window has one region.
  logic [REGIONS-1:0] write_valid, read_valid;
  logic [HostAddrBits-1:0] write_addr, read_addr, next_addr;
  fb_bar_memory_if #(.AddrBits(WordBits)) bar_memory ();

  fb_bar_target #(
      .AddrBits(HostAddrBits),
      .AxiIdBits(AxiIdBits),
      .Latency(ReadLatency),
      .Map(Map)
  ) u_window (
      .s_axi_bar(s_axi_host),
      .write_ready({REGIONS{bar_memory.write_ready}}),
      .write_refused('0),
      .write_data(bar_memory.write_data),
      .write_strb(bar_memory.write_strb),
      .write_dwords(),
      .read_ready({REGIONS{bar_memory.read_ready}}),
      .read_word({REGIONS{bar_memory.read_word}}),
      .read_error({REGIONS{bar_memory.read_error}}),
      .read_stays(bar_memory.read_stays),
      .next_valid(bar_memory.next_valid),
      .*
  );

  assign bar_memory.write_valid = write_valid[PAYLOAD];
  assign bar_memory.write_addr  = write_addr[6+:WordBits];
  assign bar_memory.read_valid  = read_valid[PAYLOAD];
  assign bar_memory.read_addr   = read_addr[6+:WordBits];
  assign bar_memory.next_addr   = next_addr[6+:WordBits];

  fb_payload_bar_port #(.AddrBits(WordBits)) u_side (.*);

  logic unused;
  assign unused = &{1'b0, write_valid, read_valid, write_addr, read_addr, next_addr, 1'b0};

endmodule

`default_nettype wire
