// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_entry: the door of the processing elements: a packet gets the tag of its extent.
//
// What:        the n-th packet is that of the n-th tag. Its beats wait until that is there, and carry it
//              as TID. The tag is taken with the packet's end: who keeps the tags learns then whether
//              an object of which nothing is missing ends with it, which has a result.
// Handshake:   valid/ready; both paths end in registers here.
// Latency:     1 cycle.
// Throughput:  64 bytes a cycle.
// Limits:      512-bit registers: two.
// Does not implement: packets without a tag.

`default_nettype none

module fb_pe_entry
  import fb_spec_pkg::*;
(
    input wire clk,
    input wire rst,

    // With the tag's handshake: the packet that takes it ends an object.
    input  wire                        s_axis_tag_tvalid,
    output logic                       s_axis_tag_tready,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_tag_tdata,
    output logic                       ends_object,

    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire  [                1:0] s_axis_object_tuser,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid
);

  logic free;

  assign s_axis_object_tready = free && s_axis_tag_tvalid;
  assign s_axis_tag_tready = s_axis_object_tvalid && s_axis_object_tlast && free;
  assign ends_object = (s_axis_object_tuser & PACKET_ENDS_OBJECT) != '0;

  fb_common_skid #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 3 + PACKET_TAG_BITS)
  ) u_skid (
      .clk,
      .rst,
      .s_valid(s_axis_object_tvalid && s_axis_tag_tvalid),
      .s_ready(free),
      .s_data({
        s_axis_tag_tdata,
        s_axis_object_tuser,
        s_axis_object_tlast,
        s_axis_object_tkeep,
        s_axis_object_tdata
      }),
      .m_valid(m_axis_object_tvalid),
      .m_ready(m_axis_object_tready),
      .m_data({
        m_axis_object_tid,
        m_axis_object_tuser,
        m_axis_object_tlast,
        m_axis_object_tkeep,
        m_axis_object_tdata
      })
  );

endmodule

`default_nettype wire
