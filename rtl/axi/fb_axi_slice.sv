// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_slice: register slices on the five channels of an AXI4 port.
//
// What:        each channel goes through fb_common_skid, by itself. For a port that is far from what
//              it leads to, such as a hard PCIe block on another die.
// Handshake:   AXI4, as fb_axi_if carries it.
// Latency:     Stages cycles a channel: twice that from an address to its answer.
// Throughput:  one beat a cycle and channel.
// Limits:      about 2,500 flip-flops a stage with 512 bits. Without stages the two sides are
//              connected.
// Does not implement: stages on some of the channels.

`default_nettype none

module fb_axi_slice #(
    parameter int unsigned Stages   = 1,   // register slices in a row, 0 to 4
    parameter int unsigned IdBits   = 1,   // 1 or more
    parameter int unsigned AddrBits = 64,
    parameter int unsigned DataBits = 512
) (
    input wire clk,
    input wire rst,

    fb_axi_if.target s_axi,
    fb_axi_if.initiator m_axi
);

  fb_common_skid #(
      .Width (IdBits + AddrBits + 13),
      .Stages(Stages)
  ) u_aw (
      .clk,
      .rst,
      .s_valid(s_axi.awvalid),
      .s_ready(s_axi.awready),
      .s_data ({s_axi.awid, s_axi.awaddr, s_axi.awlen, s_axi.awsize, s_axi.awburst}),
      .m_valid(m_axi.awvalid),
      .m_ready(m_axi.awready),
      .m_data ({m_axi.awid, m_axi.awaddr, m_axi.awlen, m_axi.awsize, m_axi.awburst})
  );

  fb_common_skid #(
      .Width (DataBits + DataBits / 8 + 1),
      .Stages(Stages)
  ) u_w (
      .clk,
      .rst,
      .s_valid(s_axi.wvalid),
      .s_ready(s_axi.wready),
      .s_data ({s_axi.wdata, s_axi.wstrb, s_axi.wlast}),
      .m_valid(m_axi.wvalid),
      .m_ready(m_axi.wready),
      .m_data ({m_axi.wdata, m_axi.wstrb, m_axi.wlast})
  );

  fb_common_skid #(
      .Width (IdBits + 2),
      .Stages(Stages)
  ) u_b (
      .clk,
      .rst,
      .s_valid(m_axi.bvalid),
      .s_ready(m_axi.bready),
      .s_data ({m_axi.bid, m_axi.bresp}),
      .m_valid(s_axi.bvalid),
      .m_ready(s_axi.bready),
      .m_data ({s_axi.bid, s_axi.bresp})
  );

  fb_common_skid #(
      .Width (IdBits + AddrBits + 13),
      .Stages(Stages)
  ) u_ar (
      .clk,
      .rst,
      .s_valid(s_axi.arvalid),
      .s_ready(s_axi.arready),
      .s_data ({s_axi.arid, s_axi.araddr, s_axi.arlen, s_axi.arsize, s_axi.arburst}),
      .m_valid(m_axi.arvalid),
      .m_ready(m_axi.arready),
      .m_data ({m_axi.arid, m_axi.araddr, m_axi.arlen, m_axi.arsize, m_axi.arburst})
  );

  fb_common_skid #(
      .Width (IdBits + DataBits + 3),
      .Stages(Stages)
  ) u_r (
      .clk,
      .rst,
      .s_valid(m_axi.rvalid),
      .s_ready(m_axi.rready),
      .s_data ({m_axi.rid, m_axi.rdata, m_axi.rresp, m_axi.rlast}),
      .m_valid(s_axi.rvalid),
      .m_ready(s_axi.rready),
      .m_data ({s_axi.rid, s_axi.rdata, s_axi.rresp, s_axi.rlast})
  );

endmodule

`default_nettype wire
