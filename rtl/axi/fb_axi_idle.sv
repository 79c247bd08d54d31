// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_idle: an AXI4 initiator that asks for nothing, where a top has a port that it does not use.
//
// Does not implement: anything.

`default_nettype none

module fb_axi_idle (
    fb_axi_if.initiator m_axi
);

  assign {m_axi.awvalid, m_axi.wvalid, m_axi.bready, m_axi.arvalid, m_axi.rready} = '0;
  assign {m_axi.awid, m_axi.awaddr, m_axi.awlen, m_axi.awsize, m_axi.awburst} = '0;
  assign {m_axi.wdata, m_axi.wstrb, m_axi.wlast} = '0;
  assign {m_axi.arid, m_axi.araddr, m_axi.arlen, m_axi.arsize, m_axi.arburst} = '0;

endmodule

`default_nettype wire
