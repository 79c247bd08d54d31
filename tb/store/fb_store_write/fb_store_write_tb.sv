// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// All that an extent passes on its way to the streamer, as fb_store_recorder puts it together.

`default_nettype none

module fb_store_write_tb
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
#(
    parameter int unsigned Beats = 1024,
    parameter int unsigned Extents = 64,
    parameter int unsigned Depth = 512,
    parameter int unsigned Writes = 512,
    parameter int unsigned MaxBeats = (1 << 26) - 64,
    parameter int unsigned WriteBeats = 16384
) (
    input wire clk,
    input wire rst,

    input wire                  restart,
    input wire                  cfg_enable,
    input wire                  cfg_ring,
    input wire                  cfg_small,
    input wire                  cfg_page,
    input wire [ALIGN_BITS-1:0] cfg_align,
    input wire [ 31:PAGE_SHIFT] cfg_batch,
    input wire [          31:0] cfg_wait,
    input wire [ 31:PAGE_SHIFT] cfg_stride,
    input wire [ 63:PAGE_SHIFT] cfg_base,
    input wire [ 63:PAGE_SHIFT] cfg_bytes,
    input wire [ 63:PAGE_SHIFT] cfg_ahead,
    input wire [ 63:PAGE_SHIFT] durable,
    input wire                  any_durable,
    input wire [         127:0] cfg_session,
    input wire [          31:0] cfg_extension,

    input wire s_axis_head_tvalid,
    output logic s_axis_head_tready,
    input wire metadata_t s_axis_head_tdata,
    input wire s_axis_object_tvalid,
    output logic s_axis_object_tready,
    input wire [USER_DATA_BITS-1:0] s_axis_object_tdata,
    input wire [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input wire s_axis_object_tlast,
    input wire s_axis_object_tuser,

    output logic                      m_axis_wr_tvalid,
    input  wire                       m_axis_wr_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic                      m_axis_wr_tlast,
    input  wire                       s_axis_wrsp_tvalid,
    output logic                      s_axis_wrsp_tready,
    input  wire  [               7:0] s_axis_wrsp_tdata,

    output logic  m_axis_part_tvalid,
    input  wire   m_axis_part_tready,
    output part_t m_axis_part_tdata,

    output logic        pressing,
    output logic        open,
    output logic [15:0] collected,
    output logic [15:0] waiting,
    output logic [63:0] position
);

  logic facts_valid, facts_ready, extent_valid, extent_ready, beat_valid, beat_ready;
  logic header_valid, header_ready, header_last, collecting, writing, ended;
  logic [USER_DATA_BITS-1:0] header;
  facts_t facts;
  small_t extent;
  beat_t beat, crc_of_small, crc_of_written, crc_beat;
  logic crc_small, crc_written, sum_valid;
  logic [31:0] sum;

  assign open = collecting || writing;
  assign crc_beat = cfg_small ? crc_of_small : crc_of_written;

  fb_store_crc32c u_crc (
      .clk,
      .rst,
      .valid(crc_small || crc_written),
      .ready(),
      .data (crc_beat.data),
      .bytes(crc_beat.bytes),
      .last (crc_beat.last),
      .sum_valid,
      .sum
  );

  fb_store_header u_header (
      .clk,
      .rst,
      .cfg_small,
      .cfg_session,
      .cfg_extension,
      .s_facts_tvalid(facts_valid),
      .s_facts_tready(facts_ready),
      .s_facts_tdata(facts),
      .m_axis_page_tvalid(header_valid),
      .m_axis_page_tready(header_ready),
      .m_axis_page_tdata(header),
      .m_axis_page_tlast(header_last)
  );

  fb_store_collect #(
      .Beats  (Beats),
      .Extents(Extents)
  ) u_collect (
      .clk,
      .rst,
      .cfg_small,
      .cfg_enable,
      .cfg_batch,
      .s_axis_head_tvalid,
      .s_axis_head_tready,
      .s_axis_head_tdata,
      .s_axis_object_tvalid,
      .s_axis_object_tready,
      .s_axis_object_tdata,
      .s_axis_object_tkeep,
      .s_axis_object_tlast,
      .s_axis_object_tuser,
      .crc_valid(crc_small),
      .crc_beat(crc_of_small),
      .sum_valid(cfg_small && sum_valid),
      .sum,
      .m_facts_tvalid(facts_valid),
      .m_facts_tready(facts_ready),
      .m_facts_tdata(facts),
      .m_extent_tvalid(extent_valid),
      .m_extent_tready(extent_ready),
      .m_extent_tdata(extent),
      .m_beat_tvalid(beat_valid),
      .m_beat_tready(beat_ready),
      .m_beat_tdata(beat),
      .open(collecting),
      .ended,
      .waiting(collected)
  );

  fb_store_write #(
      .Depth(Depth),
      .Writes(Writes),
      .MaxBeats(MaxBeats),
      .WriteBeats(WriteBeats)
  ) u_write (
      .clk,
      .rst,
      .restart,
      .cfg_ring,
      .cfg_small,
      .cfg_page,
      .cfg_align,
      .cfg_batch,
      .cfg_wait,
      .cfg_stride,
      .cfg_base,
      .cfg_bytes,
      .cfg_ahead,
      .durable,
      .any_durable,
      .pressing,
      .ended,
      .coming(collected),
      .s_beat_tvalid(beat_valid),
      .s_beat_tready(beat_ready),
      .s_beat_tdata(beat),
      .s_extent_tvalid(extent_valid),
      .s_extent_tready(extent_ready),
      .s_extent_tdata(extent),
      .s_axis_header_tvalid(header_valid),
      .s_axis_header_tready(header_ready),
      .s_axis_header_tdata(header),
      .s_axis_header_tlast(header_last),
      .crc_valid(crc_written),
      .crc_beat(crc_of_written),
      .sum_valid(!cfg_small && sum_valid),
      .sum,
      .m_axis_wr_tvalid,
      .m_axis_wr_tready,
      .m_axis_wr_tdata,
      .m_axis_wr_tlast,
      .s_axis_wrsp_tvalid,
      .s_axis_wrsp_tready,
      .s_axis_wrsp_tdata,
      .m_axis_part_tvalid,
      .m_axis_part_tready,
      .m_axis_part_tdata,
      .open(writing),
      .waiting,
      .position
  );

endmodule

`default_nettype wire
