// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The join with its buses, of which the ports are an array that no parameter can hold.

`default_nettype none

module fb_axi_mux_tb #(
    parameter int unsigned AddrBits = 16,
    parameter int unsigned Most = 15
) (
    input wire clk,
    input wire rst
);

  fb_axi_if #(.AddrBits(AddrBits)) p[3] (.*);
  fb_axi_if #(
      .IdBits  (2),
      .AddrBits(AddrBits)
  ) m_axi (
      .*
  );

  fb_axi_mux #(
      .Ports(3),
      .AddrBits(AddrBits),
      .Most(Most)
  ) u_join (
      .clk,
      .rst,
      .s_axi(p),
      .m_axi
  );

endmodule

`default_nettype wire
