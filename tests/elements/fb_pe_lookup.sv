// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// fb_pe_lookup: an element with a data file, for tests: each byte becomes that of a table.

`default_nettype none

module fb_pe_lookup #(
    parameter string DataFolder = "."
) (
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

  logic [7:0] bytes[256];
  initial $readmemh({DataFolder, "/lookup.hex"}, bytes);

  assign s_axis_object_tready = m_axis_object_tready;
  assign m_axis_object_tvalid = s_axis_object_tvalid;
  assign m_axis_object_tkeep  = s_axis_object_tkeep;
  assign m_axis_object_tlast  = s_axis_object_tlast;
  assign m_axis_object_tuser  = s_axis_object_tuser;
  assign m_axis_object_tid    = s_axis_object_tid;

  always_comb begin : look_up
    for (int i = 0; i < 64; i++) m_axis_object_tdata[8*i+:8] = bytes[s_axis_object_tdata[8*i+:8]];
  end

  logic unused;
  assign unused = &{1'b0, clk, rst, cfg};

endmodule

`default_nettype wire
