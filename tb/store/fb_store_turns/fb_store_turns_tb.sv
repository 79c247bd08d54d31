// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Both sources and their responses by name: bus models find no halves of a port.

`default_nettype none

module fb_store_turns_tb
  import fb_spec_pkg::*;
#(
    parameter int unsigned Depth = 512
) (
    input wire clk,
    input wire rst,

    input  wire                       s_axis_data_tvalid,
    output logic                      s_axis_data_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_data_tdata,
    input  wire                       s_axis_data_tlast,
    output logic                      m_axis_datarsp_tvalid,
    input  wire                       m_axis_datarsp_tready,
    output logic [               7:0] m_axis_datarsp_tdata,
    output logic                      m_axis_datarsp_tlast,
    input  wire                       s_axis_rows_tvalid,
    output logic                      s_axis_rows_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_rows_tdata,
    input  wire                       s_axis_rows_tlast,
    output logic                      m_axis_rowsrsp_tvalid,
    input  wire                       m_axis_rowsrsp_tready,
    output logic [               7:0] m_axis_rowsrsp_tdata,
    output logic                      m_axis_rowsrsp_tlast,

    output logic                      m_axis_wr_tvalid,
    input  wire                       m_axis_wr_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic                      m_axis_wr_tlast,
    input  wire                       s_axis_wrsp_tvalid,
    output logic                      s_axis_wrsp_tready,
    input  wire  [               7:0] s_axis_wrsp_tdata,
    input  wire                       s_axis_wrsp_tlast
);

  assign {m_axis_datarsp_tdata, m_axis_datarsp_tlast} = {s_axis_wrsp_tdata, s_axis_wrsp_tlast};
  assign {m_axis_rowsrsp_tdata, m_axis_rowsrsp_tlast} = {s_axis_wrsp_tdata, s_axis_wrsp_tlast};

  fb_store_turns #(
      .Depth(Depth)
  ) u_turns (
      .clk,
      .rst,
      .s_axis_request_tvalid ({s_axis_rows_tvalid, s_axis_data_tvalid}),
      .s_axis_request_tready ({s_axis_rows_tready, s_axis_data_tready}),
      .s_axis_request_tdata  ({s_axis_rows_tdata, s_axis_data_tdata}),
      .s_axis_request_tlast  ({s_axis_rows_tlast, s_axis_data_tlast}),
      .m_axis_response_tvalid({m_axis_rowsrsp_tvalid, m_axis_datarsp_tvalid}),
      .m_axis_response_tready({m_axis_rowsrsp_tready, m_axis_datarsp_tready}),
      .m_axis_request_tvalid (m_axis_wr_tvalid),
      .m_axis_request_tready (m_axis_wr_tready),
      .m_axis_request_tdata  (m_axis_wr_tdata),
      .m_axis_request_tlast  (m_axis_wr_tlast),
      .s_axis_response_tvalid(s_axis_wrsp_tvalid),
      .s_axis_response_tready(s_axis_wrsp_tready),
      .s_axis_response_tlast (s_axis_wrsp_tlast)
  );

endmodule

`default_nettype wire
