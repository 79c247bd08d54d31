// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// fb_pe_slow: an element that takes its time, for tests: wires, but behind each beat it rests for
// `cfg[15:0]` cycles.

`default_nettype none

module fb_pe_slow (
    input wire        clk,
    input wire        rst,
    input wire [63:0] cfg,

    input  wire          s_axis_object_tvalid,
    output logic         s_axis_object_tready,
    input  wire  [511:0] s_axis_object_tdata,
    input  wire  [ 63:0] s_axis_object_tkeep,
    input  wire          s_axis_object_tlast,
    input  wire  [  1:0] s_axis_object_tuser,
    input  wire  [ 31:0] s_axis_object_tid,

    output logic         m_axis_object_tvalid,
    input  wire          m_axis_object_tready,
    output logic [511:0] m_axis_object_tdata,
    output logic [ 63:0] m_axis_object_tkeep,
    output logic         m_axis_object_tlast,
    output logic [  1:0] m_axis_object_tuser,
    output logic [ 31:0] m_axis_object_tid
);

  logic [15:0] left_q;
  logic awake;

  assign awake = left_q == '0;
  assign s_axis_object_tready = m_axis_object_tready && awake;
  assign m_axis_object_tvalid = s_axis_object_tvalid && awake;
  assign m_axis_object_tdata = s_axis_object_tdata;
  assign m_axis_object_tkeep = s_axis_object_tkeep;
  assign m_axis_object_tlast = s_axis_object_tlast;
  assign m_axis_object_tuser = s_axis_object_tuser;
  assign m_axis_object_tid = s_axis_object_tid;

  always_ff @(posedge clk) begin : rest
    if (!awake) left_q <= left_q - 1'b1;
    else if (m_axis_object_tvalid && m_axis_object_tready) left_q <= cfg[15:0];
    if (rst) left_q <= '0;
  end

  logic unused;
  assign unused = &{1'b0, cfg};

endmodule

`default_nettype wire
