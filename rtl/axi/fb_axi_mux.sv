// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_mux: several AXI4 ports without identifiers in front of one target.
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

module fb_axi_mux #(
    parameter int unsigned Ports = 2,  // 2 to 8
    parameter int unsigned AddrBits = 26,
    parameter int unsigned Most = 15  // 1 to 15
) (
    input wire clk,
    input wire rst,

    fb_axi_if.target s_axi[Ports],
    fb_axi_if.initiator m_axi
);

  if (Most < 1 || Most > 15) begin : gen_bad_most
    $fatal(1, "fb_axi_mux (%m): Most=%0d must be from 1 to 15", Most);
  end
  if (Ports < 2 || Ports > 8) begin : gen_bad_ports
    $fatal(1, "fb_axi_mux (%m): Ports=%0d must be from 2 to 8", Ports);
  end

  localparam int unsigned PortBits = $clog2(Ports);
  typedef logic [PortBits-1:0] port_t;
  typedef struct packed {
    logic [AddrBits-1:0] addr;
    logic [7:0] len;
    logic [2:0] size;
    logic [1:0] burst;
  } address_t;
  typedef struct packed {
    logic [511:0] data;
    logic [63:0] strb;
    logic last;
  } beat_t;

  // What the ports offer, and which of their answers they take.
  address_t [Ports-1:0] writes, reads;
  beat_t [Ports-1:0] beats;
  logic [Ports-1:0] write_valid, read_valid, beat_valid, b_ready, r_ready;

  // Which port sends the next address, and which address of port 0 in a row it is.
  typedef struct packed {
    port_t port;
    logic [3:0] in_a_row;
  } turn_t;
  localparam turn_t First = '{port: '0, in_a_row: 4'd1};

  // A port whose address stands keeps its turn; after it port 0 goes on, or else the turn goes round
  // to a port that waits.
  function automatic turn_t next(input turn_t turn, input logic [Ports-1:0] valid,
                                 input port_t waits, input logic taken);
    logic more;
    more = turn.port == '0 && turn.in_a_row != 4'(Most);
    next = turn;
    if (!(taken ? more : valid[turn.port]) && valid != '0) next.port = waits;
    if (taken) next.in_a_row = more ? turn.in_a_row + 1'b1 : 4'd1;
  endfunction

  turn_t write_q, read_q;
  port_t write_waits, read_waits, data_port;
  logic write_taken, read_taken, order_ready, data_valid;

  fb_common_turn #(
      .Sources(Ports)
  ) u_write_turn (
      .wants(write_valid),
      .last (write_q.port),
      .next (write_waits)
  );
  fb_common_turn #(
      .Sources(Ports)
  ) u_read_turn (
      .wants(read_valid),
      .last (read_q.port),
      .next (read_waits)
  );

  always_ff @(posedge clk) begin : turns
    write_q <= next(write_q, write_valid, write_waits, write_taken);
    read_q  <= next(read_q, read_valid, read_waits, read_taken);
    if (rst) {write_q, read_q} <= {First, First};
  end

  assign m_axi.awid = write_q.port;
  assign {m_axi.awaddr, m_axi.awlen, m_axi.awsize, m_axi.awburst} = writes[write_q.port];
  assign m_axi.awvalid = write_valid[write_q.port] && order_ready;
  assign write_taken = m_axi.awvalid && m_axi.awready;

  assign m_axi.arid = read_q.port;
  assign {m_axi.araddr, m_axi.arlen, m_axi.arsize, m_axi.arburst} = reads[read_q.port];
  assign m_axi.arvalid = read_valid[read_q.port];
  assign read_taken = m_axi.arvalid && m_axi.arready;

  // Data come from the port whose address is the oldest one without them.
  fb_common_fifo #(
      .Width(PortBits),
      .Depth(16)
  ) u_order (
      .clk,
      .rst,
      .s_valid(write_taken),
      .s_ready(order_ready),
      .s_data (write_q.port),
      .m_valid(data_valid),
      .m_ready(m_axi.wvalid && m_axi.wready && m_axi.wlast),
      .m_data (data_port),
      .level  ()
  );
  assign {m_axi.wdata, m_axi.wstrb, m_axi.wlast} = beats[data_port];
  assign m_axi.wvalid = data_valid && beat_valid[data_port];
  assign m_axi.bready = b_ready[m_axi.bid];
  assign m_axi.rready = r_ready[m_axi.rid];

  for (genvar i = 0; i < Ports; i++) begin : gen_ports
    assign writes[i] = {s_axi[i].awaddr, s_axi[i].awlen, s_axi[i].awsize, s_axi[i].awburst};
    assign write_valid[i] = s_axi[i].awvalid;
    assign s_axi[i].awready = write_q.port == port_t'(i) && order_ready && m_axi.awready;
    assign beats[i] = {s_axi[i].wdata, s_axi[i].wstrb, s_axi[i].wlast};
    assign beat_valid[i] = s_axi[i].wvalid;
    assign s_axi[i].wready = data_valid && data_port == port_t'(i) && m_axi.wready;
    assign s_axi[i].bvalid = m_axi.bvalid && m_axi.bid == port_t'(i);
    assign s_axi[i].bid = '0;
    assign s_axi[i].bresp = m_axi.bresp;
    assign b_ready[i] = s_axi[i].bready;
    assign reads[i] = {s_axi[i].araddr, s_axi[i].arlen, s_axi[i].arsize, s_axi[i].arburst};
    assign read_valid[i] = s_axi[i].arvalid;
    assign s_axi[i].arready = read_q.port == port_t'(i) && m_axi.arready;
    assign s_axi[i].rvalid = m_axi.rvalid && m_axi.rid == port_t'(i);
    assign s_axi[i].rid = '0;
    assign s_axi[i].rdata = m_axi.rdata;
    assign s_axi[i].rresp = m_axi.rresp;
    assign s_axi[i].rlast = m_axi.rlast;
    assign r_ready[i] = s_axi[i].rready;
  end

endmodule

`default_nettype wire
