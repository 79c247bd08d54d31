// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_sqe: submission queue entries, formed when the SSD reads them.
//
// What:        a queue is not stored. The place table knows which command is at a place of which
//              drive's queue, and a descriptor what it asks for; the 64 bytes of the entry follow
//              from these (NVMe Base 2.0c, figure 87; NVM Command Set 1.0c, 3.2.4 and 3.2.6).
//              PRP 1 is the command's first page, PRP 2 the second page or a list that
//              fb_bar_prp computes.
// Latency:     two cycles from `fetch_slot` to `fetch_sqe`; an entry can be read two cycles after
//              `submitted`, and the doorbell that tells the SSD of it takes longer.
// Throughput:  one submission and one entry a cycle.
// Does not implement: metadata, scatter-gather lists, fused commands.

`default_nettype none

module fb_nvme_sqe
  import fb_nvme_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,  // places in a submission queue, a power of two
    parameter int unsigned Drives = 1,  // 1 to 8; with QueueDepth at most 1024 places in all
    parameter int unsigned Pages = 1024,  // units of the buffer, a power of two
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter bit InHost = 1'b0,  // the buffer is in host memory, in segments
    parameter bit ListsInside = 1'b1,  // the data window shows its pages as PRP lists, too
    parameter bit ListPerCommand = 1'b0,  // else there is a PRP list for each unit
    localparam int unsigned TagBits = $clog2(Drives * QueueDepth),
    localparam int unsigned UnitIndexBits = $clog2(Pages),
    localparam int unsigned PlaceBits = UnitIndexBits + (ListsInside ? 0 : 1)
) (
    input wire clk,

    input wire cfg_t cfg,
    input wire segment_we,  // where a segment of host memory lies
    input wire [4:0] segment_index,
    input wire [63:0] segment_address,

    input wire submitted_t submitted,

    input  wire  [DRIVE_BITS-1:0] fetch_drive,
    input  wire  [           9:0] fetch_slot,
    output logic [ DATA_BITS-1:0] fetch_sqe,
    output logic [  TAG_BITS-1:0] fetched_tag,   // with fetch_sqe: whose it is,
    output logic [ PlaceBits-1:0] fetched_unit,  // and its first unit; in DRAM writes below reads
    output logic [DRIVE_BITS-1:0] nsid_drive,    // whose namespace the entry needs
    input  wire  [          31:0] nsid
);

  localparam int unsigned SlotBits = $clog2(QueueDepth);
  localparam int unsigned ListBit = fb_bar_pkg::chip_bits(Pages);  // selects lists, not payload

  // A command, with what its entry needs of it.
  typedef struct packed {
    descriptor_t descriptor;
    logic has_data, has_prp2, has_list;  // more than no, one, two pages
    logic [UnitIndexBits-1:0] second_unit;  // that of the second page, on the chip
  } entry_t;

  logic [TagBits-1:0] place, tag_q, sqe_tag_q;
  logic [7:0] more_pages;
  entry_t entry, entry_q;
  descriptor_t sqe_q;
  (* ram_style = "distributed" *)
  logic [TagBits-1:0] places[1<<TagBits];
  (* ram_style = "distributed" *)
  logic [$bits(entry_t)-1:0] entries[1<<TagBits];
  assign place = TagBits'({submitted.descriptor.drive, SlotBits'(submitted.slot)});
  assign more_pages = submitted.descriptor.size[SIZE_BITS-1:12];
  assign entry = '{
          descriptor: submitted.descriptor,
          has_data: submitted.descriptor.op != OP_FLUSH,
          has_prp2: submitted.descriptor.op != OP_FLUSH && more_pages != '0,
          has_list: more_pages > 8'd1,
          second_unit: UnitIndexBits'(submitted.descriptor.page) + 1'b1
      };
  always_ff @(posedge clk) begin
    if (submitted.valid) places[place] <= TagBits'(submitted.tag);
    if (submitted.valid && !submitted.retry) entries[TagBits'(submitted.tag)] <= entry;
    tag_q <= places[TagBits'({fetch_drive, SlotBits'(fetch_slot)})];
    sqe_tag_q <= tag_q;
    entry_q <= entries[tag_q];
  end
  assign sqe_q = entry_q.descriptor;

  assign fetched_tag = TAG_BITS'(sqe_tag_q);
  // On the chip a unit is the same for both directions: the upper half falls away.
  assign fetched_unit = PlaceBits'({sqe_q.op == OP_READ, UnitIndexBits'(sqe_q.page)});
  assign nsid_drive = sqe_q.drive;

  logic [63:0] first_page, prp2;
  if (ListsInside) begin : gen_pages
    // The list that starts at the second page: the upper half of the data window shows each page as
    // the list of its successors.
    assign first_page = cfg.data_window | 64'({fetched_unit, 12'd0});
    assign prp2 = !entry_q.has_prp2 ? '0 :
        cfg.data_window | (64'(entry_q.has_list) << ListBit) | 64'({entry_q.second_unit, 12'd0});
  end else begin : gen_units
    // A command begins with a unit: its second page is in it, and its list is that of the unit.
    logic unused;
    logic [PlaceBits-1:0] list;
    assign unused = &{1'b0, entry_q.second_unit, 1'b0};
    assign list = ListPerCommand ? PlaceBits'(sqe_tag_q) : fetched_unit;
    assign prp2 = !entry_q.has_prp2 ? '0 : entry_q.has_list ? cfg.prp_lists | (64'(list) << 12) :
        first_page | 64'h1000;
    if (InHost) begin : gen_segments
      fb_payload_host_map u_segment (
          .clk,
          .we(segment_we),
          .index(segment_index),
          .base(segment_address),
          .page({fetched_unit, {UnitBits{1'b0}}}),
          .address(first_page)
      );
    end else begin : gen_halves
      assign first_page = (fetched_unit[PlaceBits-1] ? cfg.data_read : cfg.data_write) |
          (64'(fetched_unit[UnitIndexBits-1:0]) << (12 + UnitBits));
    end
  end

  if (!InHost) begin : gen_no_segments
    logic unused;
    assign unused = &{1'b0, segment_we, segment_index, segment_address, 1'b0};
  end

  always_comb begin
    fetch_sqe = '0;
    fetch_sqe[31:0] = {16'(sqe_tag_q), 14'd0, sqe_q.op};
    fetch_sqe[63:32] = nsid;
    fetch_sqe[8*32+:64] = prp2;
    if (entry_q.has_data) begin
      fetch_sqe[6*32+:64]  = first_page;
      fetch_sqe[10*32+:64] = cfg.block_4k ? 64'(sqe_q.sector >> 3) : 64'(sqe_q.sector);
      fetch_sqe[12*32+:16] = cfg.block_4k ? 16'(sqe_q.size >> 3) : 16'(sqe_q.size);
      fetch_sqe[12*32+30]  = sqe_q.fua;
    end
  end

endmodule

`default_nettype wire
