// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_table: pixels become values of a network's first layer.
//
// What:        each channel has a table of 256 values, so whatever is done to a pixel before it is
//              quantised is exact.
// Handshake:   valid/ready; s_ready depends on m_ready.
// Latency:     1 cycle.
// Throughput:  a pixel a cycle.

`default_nettype none

module fb_dnn_table #(
    parameter int unsigned Channels = 3,
    parameter File = ""  // a line a pixel's value: u8 [Channels-1:0], in hexadecimal digits
) (
    input wire clk,
    input wire rst,

    input  wire                      s_valid,
    output logic                     s_ready,
    input  wire  [Channels-1:0][7:0] s_data,

    output logic                     m_valid,
    input  wire                      m_ready,
    output logic [Channels-1:0][7:0] m_data
);

  assign s_ready = !m_valid || m_ready;

  for (genvar channel = 0; channel < int'(Channels); channel++) begin : gen_channels
    logic [Channels-1:0][7:0] values;
    fb_dnn_rom #(
        .Width(Channels * 8),
        .Depth(256),
        .File (File)
    ) u_values (
        .clk,
        .enable(s_valid && s_ready),
        .address(s_data[channel]),
        .data(values)
    );
    assign m_data[channel] = values[channel];
    logic unused;
    assign unused = &{1'b0, values};
  end

  always_ff @(posedge clk) begin : follow
    if (s_ready) m_valid <= s_valid;
    if (rst) m_valid <= 1'b0;
  end

endmodule

`default_nettype wire
