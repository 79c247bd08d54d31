// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// windows_tb: fb_pe_windows with two elements at its places 1 and 6, and settings of the latter.

`default_nettype none

module windows_tb
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
#(
    parameter int unsigned Patience = 200
) (
    input wire clk,
    input wire rst,

    input  wire         s_axil_pe_awvalid,
    output logic        s_axil_pe_awready,
    input  wire  [15:0] s_axil_pe_awaddr,
    input  wire  [ 2:0] s_axil_pe_awprot,
    input  wire         s_axil_pe_wvalid,
    output logic        s_axil_pe_wready,
    input  wire  [31:0] s_axil_pe_wdata,
    input  wire  [ 3:0] s_axil_pe_wstrb,
    output logic        s_axil_pe_bvalid,
    input  wire         s_axil_pe_bready,
    output logic [ 1:0] s_axil_pe_bresp,
    input  wire         s_axil_pe_arvalid,
    output logic        s_axil_pe_arready,
    input  wire  [15:0] s_axil_pe_araddr,
    input  wire  [ 2:0] s_axil_pe_arprot,
    output logic        s_axil_pe_rvalid,
    input  wire         s_axil_pe_rready,
    output logic [31:0] s_axil_pe_rdata,
    output logic [ 1:0] s_axil_pe_rresp,

    // Each is the bus of one element.
    output logic [1:0][11:0] awaddr,
    output logic [1:0][31:0] wdata,
    output logic [1:0][3:0] wstrb,
    output logic [1:0] awvalid,
    output logic [1:0] wvalid,
    output logic [1:0] bready,
    output logic [1:0] arvalid,
    output logic [1:0] rready,
    input wire [1:0] awready,
    input wire [1:0] wready,
    input wire [1:0] bvalid,
    input wire [1:0] arready,
    input wire [1:0] rvalid,
    input wire [1:0][1:0] bresp,
    input wire [1:0][1:0] rresp,
    input wire [1:0][31:0] rdata,

    input  wire  [63:0] cfg,
    input  wire  [15:0] stream,
    output logic [63:0] settings
);

  localparam int unsigned Places[2] = '{1, 6};

  axil_request_t  [7:0] request;
  axil_response_t [7:0] response;
  setting_write_t [7:0] setting;

  fb_pe_windows #(
      .Present (8'b0100_0010),
      .Settings(8'b0100_0000),
      .Patience(Patience)
  ) u_dut (
      .*
  );

  fb_pe_settings u_settings (
      .write(setting[6]),
      .*
  );

  for (genvar i = 0; i < 8; i++) begin : gen_none
    if (i != Places[0] && i != Places[1]) assign response[i] = '0;
  end
  for (genvar i = 0; i < 2; i++) begin : gen_elements
    localparam int unsigned At = Places[i];
    assign awaddr[i] = request[At].addr;
    assign wdata[i] = request[At].wdata;
    assign wstrb[i] = request[At].wstrb;
    assign awvalid[i] = request[At].awvalid;
    assign wvalid[i] = request[At].wvalid;
    assign bready[i] = request[At].bready;
    assign arvalid[i] = request[At].arvalid;
    assign rready[i] = request[At].rready;
    assign response[At].awready = awready[i];
    assign response[At].wready = wready[i];
    assign response[At].bvalid = bvalid[i];
    assign response[At].arready = arready[i];
    assign response[At].rvalid = rvalid[i];
    assign response[At].bresp = bresp[i];
    assign response[At].rresp = rresp[i];
    assign response[At].rdata = rdata[i];
  end

endmodule

`default_nettype wire
