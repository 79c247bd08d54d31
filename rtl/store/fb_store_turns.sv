// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_turns: sources of requests take turns at one streamer, packet by packet.
//
// What:        of the sources that want to begin the lowest goes first; connect those with little data low.
//              Responses come in the order of the requests, and go back to the source that they are for;
//              what they say passes beside this module.
// Handshake:   valid/ready, whole beats; each side follows the other within the cycle.
// Latency:     1 cycle before each request, then none; none for responses.
// Throughput:  a beat in every cycle but one for each request.
// Limits:      512-bit registers: none.
// Does not implement: fairness.

`default_nettype none

module fb_store_turns
  import fb_spec_pkg::*;
#(
    parameter int unsigned Sources = 2,  // 2 to 4
    parameter int unsigned Depth = 512,  // requests without a response, a power of two, 2 to 1024
    localparam int unsigned Bits = $clog2(Sources)
) (
    input wire clk,
    input wire rst,

    input  wire  [Sources-1:0]                     s_axis_request_tvalid,
    output logic [Sources-1:0]                     s_axis_request_tready,
    input  wire  [Sources-1:0][USER_DATA_BITS-1:0] s_axis_request_tdata,
    input  wire  [Sources-1:0]                     s_axis_request_tlast,
    output logic [Sources-1:0]                     m_axis_response_tvalid,
    input  wire  [Sources-1:0]                     m_axis_response_tready,

    output logic                      m_axis_request_tvalid,
    input  wire                       m_axis_request_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_request_tdata,
    output logic                      m_axis_request_tlast,
    input  wire                       s_axis_response_tvalid,
    output logic                      s_axis_response_tready,
    input  wire                       s_axis_response_tlast
);

  logic [Bits-1:0] source, whose;
  logic begins, room, asked;

  fb_axis_arbiter #(
      .Sources(Sources),
      .Width  (USER_DATA_BITS),
      .Ahead  (1'b1)
  ) u_arbiter (
      .clk,
      .rst,
      .may_begin({Sources{room}}),
      .s_valid(s_axis_request_tvalid),
      .s_ready(s_axis_request_tready),
      .s_data(s_axis_request_tdata),
      .s_last(s_axis_request_tlast),
      .m_valid(m_axis_request_tvalid),
      .m_ready(m_axis_request_tready),
      .m_data(m_axis_request_tdata),
      .m_last(m_axis_request_tlast),
      .begins,
      .source
  );

  always_comb begin : give_back
    s_axis_response_tready = asked && m_axis_response_tready[whose];
    m_axis_response_tvalid = '0;
    m_axis_response_tvalid[whose] = asked && s_axis_response_tvalid;
  end

  fb_common_fifo #(
      .Width(Bits),
      .Depth(Depth)
  ) u_whose (
      .clk,
      .rst,
      .s_valid(begins),
      .s_ready(room),
      .s_data (source),
      .m_valid(asked),
      .m_ready(s_axis_response_tvalid && s_axis_response_tready && s_axis_response_tlast),
      .m_data (whose),
      .level  ()
  );

`ifndef SYNTHESIS
  responses_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_response_tvalid |-> asked)
  else $error("fb_store_turns (%m): a response, and no request waits for it");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + 1),
      .Name ("m_axis_request")
  ) u_check_request (
      .clk,
      .rst,
      .valid(m_axis_request_tvalid),
      .ready(m_axis_request_tready),
      .data ({m_axis_request_tdata, m_axis_request_tlast})
  );

endmodule

`default_nettype wire
