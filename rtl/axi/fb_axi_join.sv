// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_join: several AXI4 ports without identifiers in front of one target.
//
// What:        addresses of the ports pass one by one; which port an access came by goes with it as
//              its identifier, and brings the answer back. Write data follow in the order of the
//              addresses. Port 0, that of the data, goes on for `Most` addresses while it has some;
//              the others have one each in their turn.
// Order:       what another port is to find after a write has to be sent when the address of that
//              write was accepted; more cannot be seen from here.
// Handshake:   AXI4; the target echoes identifiers. Addresses carry what it looks at: address,
//              length, size, burst.
// Latency:     none for answers; an address waits a cycle when the ports change, its data another.
// Throughput:  64 B a cycle each way.
// Limits:      readies come from registers and from the target's readies.
// Does not implement: reordering; locks.

`default_nettype none

module fb_axi_join #(
    parameter int unsigned Ports = 2,  // 2 to 8
    parameter int unsigned AddrBits = 26,
    parameter int unsigned Most = 15,  // 1 to 15
    localparam int unsigned PortBits = $clog2(Ports)
) (
    input wire clk,
    input wire rst,

    input  wire  [Ports-1:0][AddrBits-1:0] s_axi_awaddr,
    input  wire  [Ports-1:0][         7:0] s_axi_awlen,
    input  wire  [Ports-1:0][         2:0] s_axi_awsize,
    input  wire  [Ports-1:0][         1:0] s_axi_awburst,
    input  wire  [Ports-1:0]               s_axi_awvalid,
    output logic [Ports-1:0]               s_axi_awready,
    input  wire  [Ports-1:0][       511:0] s_axi_wdata,
    input  wire  [Ports-1:0][        63:0] s_axi_wstrb,
    input  wire  [Ports-1:0]               s_axi_wlast,
    input  wire  [Ports-1:0]               s_axi_wvalid,
    output logic [Ports-1:0]               s_axi_wready,
    output logic [Ports-1:0][         1:0] s_axi_bresp,
    output logic [Ports-1:0]               s_axi_bvalid,
    input  wire  [Ports-1:0]               s_axi_bready,
    input  wire  [Ports-1:0][AddrBits-1:0] s_axi_araddr,
    input  wire  [Ports-1:0][         7:0] s_axi_arlen,
    input  wire  [Ports-1:0][         2:0] s_axi_arsize,
    input  wire  [Ports-1:0][         1:0] s_axi_arburst,
    input  wire  [Ports-1:0]               s_axi_arvalid,
    output logic [Ports-1:0]               s_axi_arready,
    output logic [Ports-1:0][       511:0] s_axi_rdata,
    output logic [Ports-1:0][         1:0] s_axi_rresp,
    output logic [Ports-1:0]               s_axi_rlast,
    output logic [Ports-1:0]               s_axi_rvalid,
    input  wire  [Ports-1:0]               s_axi_rready,

    output logic [PortBits-1:0] m_axi_awid,
    output logic [AddrBits-1:0] m_axi_awaddr,
    output logic [         7:0] m_axi_awlen,
    output logic [         2:0] m_axi_awsize,
    output logic [         1:0] m_axi_awburst,
    output logic                m_axi_awvalid,
    input  wire                 m_axi_awready,
    output logic [       511:0] m_axi_wdata,
    output logic [        63:0] m_axi_wstrb,
    output logic                m_axi_wlast,
    output logic                m_axi_wvalid,
    input  wire                 m_axi_wready,
    input  wire  [PortBits-1:0] m_axi_bid,
    input  wire  [         1:0] m_axi_bresp,
    input  wire                 m_axi_bvalid,
    output logic                m_axi_bready,
    output logic [PortBits-1:0] m_axi_arid,
    output logic [AddrBits-1:0] m_axi_araddr,
    output logic [         7:0] m_axi_arlen,
    output logic [         2:0] m_axi_arsize,
    output logic [         1:0] m_axi_arburst,
    output logic                m_axi_arvalid,
    input  wire                 m_axi_arready,
    input  wire  [PortBits-1:0] m_axi_rid,
    input  wire  [       511:0] m_axi_rdata,
    input  wire  [         1:0] m_axi_rresp,
    input  wire                 m_axi_rlast,
    input  wire                 m_axi_rvalid,
    output logic                m_axi_rready
);

  if (Most < 1 || Most > 15) begin : gen_bad_most
    $fatal(1, "fb_axi_join (%m): Most=%0d must be from 1 to 15", Most);
  end

  if (Ports < 2 || Ports > 8) begin : gen_bad_ports
    $fatal(1, "fb_axi_join (%m): Ports=%0d must be from 2 to 8", Ports);
  end

  typedef logic [PortBits-1:0] port_t;

  // Which port sends the next address. One whose address stands keeps its turn; after it port 0 goes
  // on, or else the turn goes round to whoever waits.
  function automatic port_t next_port(input port_t port, input logic [Ports-1:0] valid,
                                      input logic taken, input logic [3:0] in_a_row);
    logic goes_on;
    goes_on   = taken ? port == '0 && in_a_row != 4'(Most) : valid[port];
    next_port = port;
    if (!goes_on) begin
      for (int i = Ports - 1; i >= 0; i--)
      if (valid[i] && port_t'(i) < port) next_port = port_t'(i);
      for (int i = Ports - 1; i >= 0; i--)
      if (valid[i] && port_t'(i) > port) next_port = port_t'(i);
    end
  endfunction

  port_t write_port_q, read_port_q, data_port;
  logic write_taken, read_taken, order_ready, data_valid;
  logic [3:0] writes_q, reads_q;  // which address of port 0 in a row comes next

  always_ff @(posedge clk) begin : ports
    write_port_q <= next_port(write_port_q, s_axi_awvalid, write_taken, writes_q);
    read_port_q  <= next_port(read_port_q, s_axi_arvalid, read_taken, reads_q);
    if (write_taken)
      writes_q <= (write_port_q != '0 || writes_q == 4'(Most)) ? 4'd1 : writes_q + 1'b1;
    if (read_taken) reads_q <= (read_port_q != '0 || reads_q == 4'(Most)) ? 4'd1 : reads_q + 1'b1;
    if (rst) begin
      write_port_q <= '0;
      read_port_q <= '0;
      writes_q <= 4'd1;
      reads_q <= 4'd1;
    end
  end

  assign m_axi_awid = write_port_q;
  assign m_axi_awaddr = s_axi_awaddr[write_port_q];
  assign m_axi_awlen = s_axi_awlen[write_port_q];
  assign m_axi_awsize = s_axi_awsize[write_port_q];
  assign m_axi_awburst = s_axi_awburst[write_port_q];
  assign m_axi_awvalid = s_axi_awvalid[write_port_q] && order_ready;
  assign write_taken = m_axi_awvalid && m_axi_awready;

  assign m_axi_arid = read_port_q;
  assign m_axi_araddr = s_axi_araddr[read_port_q];
  assign m_axi_arlen = s_axi_arlen[read_port_q];
  assign m_axi_arsize = s_axi_arsize[read_port_q];
  assign m_axi_arburst = s_axi_arburst[read_port_q];
  assign m_axi_arvalid = s_axi_arvalid[read_port_q];
  assign read_taken = m_axi_arvalid && m_axi_arready;

  // Data come from the port whose address is the oldest one without them.
  fb_common_fifo #(
      .Width(PortBits),
      .Depth(16)
  ) u_order (
      .clk,
      .rst,
      .s_valid(write_taken),
      .s_ready(order_ready),
      .s_data (write_port_q),
      .m_valid(data_valid),
      .m_ready(m_axi_wvalid && m_axi_wready && m_axi_wlast),
      .m_data (data_port),
      .level  ()
  );
  assign m_axi_wdata  = s_axi_wdata[data_port];
  assign m_axi_wstrb  = s_axi_wstrb[data_port];
  assign m_axi_wlast  = s_axi_wlast[data_port];
  assign m_axi_wvalid = data_valid && s_axi_wvalid[data_port];
  assign m_axi_bready = s_axi_bready[m_axi_bid];
  assign m_axi_rready = s_axi_rready[m_axi_rid];

  for (genvar i = 0; i < Ports; i++) begin : gen_ports
    assign s_axi_awready[i] = write_port_q == port_t'(i) && order_ready && m_axi_awready;
    assign s_axi_wready[i]  = data_valid && data_port == port_t'(i) && m_axi_wready;
    assign s_axi_bvalid[i]  = m_axi_bvalid && m_axi_bid == port_t'(i);
    assign s_axi_bresp[i]   = m_axi_bresp;
    assign s_axi_arready[i] = read_port_q == port_t'(i) && m_axi_arready;
    assign s_axi_rvalid[i]  = m_axi_rvalid && m_axi_rid == port_t'(i);
    assign s_axi_rdata[i]   = m_axi_rdata;
    assign s_axi_rresp[i]   = m_axi_rresp;
    assign s_axi_rlast[i]   = m_axi_rlast;
  end

  fb_axis_check #(
      .Width(PortBits + AddrBits + 13),
      .Name ("joined AW")
  ) u_check_aw (
      .clk,
      .rst,
      .valid(m_axi_awvalid),
      .ready(m_axi_awready),
      .data ({m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst})
  );

  fb_axis_check #(
      .Width(PortBits + AddrBits + 13),
      .Name ("joined AR")
  ) u_check_ar (
      .clk,
      .rst,
      .valid(m_axi_arvalid),
      .ready(m_axi_arready),
      .data ({m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst})
  );

endmodule

`default_nettype wire
