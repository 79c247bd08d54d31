// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_bar_prp: where each SSD reads PRP lists, which are computed while they are read.
//
// What:        eight entries of a list are eight pages of the buffer that follow each other (NVMe
//              Base 2.0c 4.1.1). On the chip (OnChip) list p, at 4096 * p, begins with page p itself.
//              In DRAM there is a list for each unit, which begins with the unit's second page; or,
//              with PerCommand, for each command identifier: the list of the unit that the entry
//              named when it was last fetched.
//              Where a page lies say, on the chip, `data_window`; in host memory the segments; else
//              `data_write` and `data_read` for the lower and the upper half of the buffer.
// Handshake:   reads as fb_bar_target asks for them, always taken. `fetched` comes with the entry of
//              a command, before its list can be read.
// Latency:     Latency cycles from a read to its word.
// Throughput:  64 B a cycle.
// Does not implement: the end of a list; the SSD reads as many entries as it needs.

`default_nettype none

module fb_bar_prp #(
    parameter int unsigned PageBits = 10,  // log2 of the pages of the buffer
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter bit OnChip = 1'b1,
    parameter bit InHost = 1'b0,  // the buffer is in host memory
    parameter bit PerCommand = 1'b0,  // there is a list for each of 64 identifiers
    parameter int unsigned Latency = 3,  // cycles, 2 or more
    localparam int unsigned UnitIndexBits = PageBits - UnitBits,
    localparam int unsigned AddrBits = 12 + (OnChip ? PageBits : PerCommand ? 6 : UnitIndexBits)
) (
    input wire clk,

    input wire [63:0] data_window,  // a multiple of the buffer's size
    input wire [63:0] data_write,   // multiples of half of it
    input wire [63:0] data_read,

    input wire        segment_we,      // where a segment lies; index as fb_payload_host_map has it
    input wire [ 4:0] segment_index,
    input wire [63:0] segment_address,

    input wire                     fetched,
    input wire [              9:0] fetched_tag,
    input wire [UnitIndexBits-1:0] fetched_unit,

    input  wire  [AddrBits-1:0] read_addr,
    output logic [       511:0] read_word
);

  if (Latency < 2) begin : gen_bad_latency
    $fatal(1, "fb_bar_prp (%m): Latency=%0d must be 2 or more", Latency);
  end

  // A group is eight pages at a multiple of eight: entries come from one and the next of them.
  localparam int unsigned GroupBits = PageBits - 3;
  typedef struct packed {
    logic [GroupBits-1:0] group;
    logic [2:0] column;  // page of the first entry in its group
  } place_t;

  place_t asked, place_q[Latency];
  logic [7:0] wraps_q;  // entries that come from the next group
  logic [7:0][2:0] column_q;  // page of each entry in its group
  logic [GroupBits-1:0] group, next_q;
  logic [63:15] group_address, next_address;

  if (OnChip) begin : gen_pages
    assign asked.group  = read_addr[AddrBits-1:15] + GroupBits'(read_addr[11:6]);
    assign asked.column = read_addr[14:12];
  end else begin : gen_units
    logic [UnitIndexBits-1:0] unit;
    if (PerCommand) begin : gen_commands
      fb_common_lutram #(
          .Width(UnitIndexBits),
          .Depth(64)
      ) u_units (
          .clk,
          .we(fetched),
          .waddr(fetched_tag[5:0]),
          .wdata(fetched_unit),
          .raddr(read_addr[AddrBits-1:12]),
          .rdata(unit)
      );
    end else begin : gen_each
      assign unit = read_addr[AddrBits-1:12];
    end
    assign asked.group  = {unit, (UnitBits - 3)'(0)} + GroupBits'(read_addr[11:6]);
    assign asked.column = 3'd1;
  end

  always_ff @(posedge clk) begin : wait_for_others
    place_q[0] <= asked;
    for (int unsigned i = 1; i < Latency; i++) place_q[i] <= place_q[i-1];
    next_q <= place_q[Latency-2].group + 1'b1;
    for (int i = 0; i < 8; i++) {wraps_q[i], column_q[i]} <= 4'(place_q[Latency-2].column) + 4'(i);
  end
  assign group = place_q[Latency-1].group;

  if (InHost) begin : gen_segments
    logic [63:0] group_page, next_page;
    fb_payload_host_map u_segment (
        .clk,
        .we(segment_we),
        .index(segment_index),
        .base(segment_address),
        .page({group, 3'd0}),
        .address(group_page)
    );
    fb_payload_host_map u_next_segment (
        .clk,
        .we(segment_we),
        .index(segment_index),
        .base(segment_address),
        .page({next_q, 3'd0}),
        .address(next_page)
    );
    assign group_address = group_page[63:15];
    assign next_address  = next_page[63:15];
    logic unused;
    assign unused = &{1'b0, group_page[14:0], next_page[14:0], 1'b0};
  end else if (OnChip) begin : gen_window
    assign group_address = {data_window[63:PageBits+12], group};
    assign next_address  = {data_window[63:PageBits+12], next_q};
  end else begin : gen_halves
    function automatic logic [63:15] address_of(input logic [GroupBits-1:0] which);
      address_of = {
        which[GroupBits-1] ? data_read[63:PageBits+11] : data_write[63:PageBits+11],
        which[GroupBits-2:0]
      };
    endfunction
    assign group_address = address_of(group);
    assign next_address  = address_of(next_q);
  end

  always_comb
    for (int i = 0; i < 8; i++)
      read_word[64*i+:64] = {wraps_q[i] ? next_address : group_address, column_q[i], 12'd0};

  // Each kind of buffer looks at its own.
  logic unused_kinds;
  assign unused_kinds = &{1'b0, read_addr, data_window, data_write, data_read, segment_we,
                          segment_index, segment_address, fetched, fetched_tag, fetched_unit, 1'b0};

endmodule

`default_nettype wire
