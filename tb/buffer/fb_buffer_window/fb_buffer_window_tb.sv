// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The window in front of its memory, whose other port the test holds.

`default_nettype none

module fb_buffer_window_tb #(
    parameter int unsigned Pages = 1024,
    parameter int unsigned UnitBits = 0,
    parameter int unsigned AxiIdBits = 4,
    parameter int unsigned ReadLatency = 3,
    localparam int unsigned WordBits = $clog2(Pages) + UnitBits + 6,
    localparam int unsigned WindowBits = 23 + UnitBits
) (
    input wire clk,
    input wire rst,

    input wire [63:0] data_window,

    input  wire  [ AxiIdBits-1:0] s_axi_data_awid,
    input  wire  [WindowBits-1:0] s_axi_data_awaddr,
    input  wire  [           7:0] s_axi_data_awlen,
    input  wire  [           2:0] s_axi_data_awsize,
    input  wire  [           1:0] s_axi_data_awburst,
    input  wire                   s_axi_data_awvalid,
    output logic                  s_axi_data_awready,
    input  wire  [         511:0] s_axi_data_wdata,
    input  wire  [          63:0] s_axi_data_wstrb,
    input  wire                   s_axi_data_wlast,
    input  wire                   s_axi_data_wvalid,
    output logic                  s_axi_data_wready,
    output logic [ AxiIdBits-1:0] s_axi_data_bid,
    output logic [           1:0] s_axi_data_bresp,
    output logic                  s_axi_data_bvalid,
    input  wire                   s_axi_data_bready,
    input  wire  [ AxiIdBits-1:0] s_axi_data_arid,
    input  wire  [WindowBits-1:0] s_axi_data_araddr,
    input  wire  [           7:0] s_axi_data_arlen,
    input  wire  [           2:0] s_axi_data_arsize,
    input  wire  [           1:0] s_axi_data_arburst,
    input  wire                   s_axi_data_arvalid,
    output logic                  s_axi_data_arready,
    output logic [ AxiIdBits-1:0] s_axi_data_rid,
    output logic [         511:0] s_axi_data_rdata,
    output logic [           1:0] s_axi_data_rresp,
    output logic                  s_axi_data_rlast,
    output logic                  s_axi_data_rvalid,
    input  wire                   s_axi_data_rready,

    input  wire                 a_en,
    input  wire                 a_we,
    input  wire  [WordBits-1:0] a_addr,
    input  wire  [       511:0] a_wdata,
    output logic [       511:0] a_rdata
);

  logic b_en;
  logic [63:0] b_we;
  logic [WordBits-1:0] b_addr;
  logic [511:0] b_wdata, b_rdata;

  fb_buffer_window #(
      .Pages(Pages),
      .UnitBits(UnitBits),
      .AxiIdBits(AxiIdBits),
      .ReadLatency(ReadLatency)
  ) u_window (
      .*
  );

  fb_buffer_onchip #(
      .Pages(Pages << UnitBits),
      .ReadLatency(ReadLatency)
  ) u_memory (
      .*
  );

endmodule

`default_nettype wire
