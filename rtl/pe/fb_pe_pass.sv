// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_pass: the processing element that changes nothing.
//
// What:        wires. Stands for a stage that is switched off, and for what a stage costs: nothing.
// Handshake:   valid/ready; both pass through.
// Latency:     0 cycles.
// Throughput:  64 bytes a cycle.
// Limits:      none.
// Does not implement: settings.

`default_nettype none

module fb_pe_pass
  import fb_spec_pkg::*;
(
    input wire        clk,
    input wire        rst,
    input wire [63:0] cfg,

    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire  [                1:0] s_axis_object_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_object_tid,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid
);

  assign s_axis_object_tready = m_axis_object_tready;
  assign m_axis_object_tvalid = s_axis_object_tvalid;
  assign m_axis_object_tdata  = s_axis_object_tdata;
  assign m_axis_object_tkeep  = s_axis_object_tkeep;
  assign m_axis_object_tlast  = s_axis_object_tlast;
  assign m_axis_object_tuser  = s_axis_object_tuser;
  assign m_axis_object_tid    = s_axis_object_tid;

endmodule

`default_nettype wire
