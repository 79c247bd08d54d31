// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_greatest: each channel's greatest value in a square of pixels.
//
// What:        squares come from fb_dnn_window, a channel a lane.
// Handshake:   valid/ready; s_ready depends on m_ready.
// Latency:     1 cycle.
// Throughput:  a group of channels a cycle.

`default_nettype none

module fb_dnn_greatest #(
    parameter int unsigned Lanes = 1,
    parameter int unsigned Taps  = 4
) (
    input wire clk,
    input wire rst,

    input  wire                             s_valid,
    output logic                            s_ready,
    input  wire  [Taps-1:0][Lanes-1:0][7:0] s_data,

    output logic                  m_valid,
    input  wire                   m_ready,
    output logic [Lanes-1:0][7:0] m_data
);

  assign s_ready = !m_valid || m_ready;

  always_ff @(posedge clk) begin : compare
    if (s_ready) m_valid <= s_valid;
    if (s_valid && s_ready) begin
      for (int lane = 0; lane < int'(Lanes); lane++) begin
        logic [7:0] most;
        most = s_data[0][lane];
        for (int tap = 1; tap < int'(Taps); tap++) begin
          if (s_data[tap][lane] > most) most = s_data[tap][lane];
        end
        m_data[lane] <= most;
      end
    end
    if (rst) m_valid <= 1'b0;
  end

endmodule

`default_nettype wire
