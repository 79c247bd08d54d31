// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_turns: sources of requests take turns at one streamer, packet by packet.
//
// What:        the last of the sources that want to begin goes first; it has the least to say.
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

  if (Sources < 2 || Sources > 4) begin : gen_bad_sources
    $fatal(1, "fb_store_turns (%m): Sources=%0d must be 2 to 4", Sources);
  end

  logic turn_q;  // a packet goes through
  logic [Bits-1:0] which_q, wants, whose;
  logic begins, room, asked;

  assign begins = !turn_q && room && s_axis_request_tvalid != '0;
  assign m_axis_request_tvalid = turn_q && s_axis_request_tvalid[which_q];
  assign m_axis_request_tdata = s_axis_request_tdata[which_q];
  assign m_axis_request_tlast = s_axis_request_tlast[which_q];
  assign s_axis_response_tready = asked && m_axis_response_tready[whose];

  always_comb begin : choose
    wants = '0;
    s_axis_request_tready = '0;
    m_axis_response_tvalid = '0;
    for (int i = 0; i < Sources; i++) if (s_axis_request_tvalid[i]) wants = Bits'(i);
    s_axis_request_tready[which_q] = turn_q && m_axis_request_tready;
    m_axis_response_tvalid[whose]  = asked && s_axis_response_tvalid;
  end

  always_ff @(posedge clk) begin : take_turns
    if (begins) begin
      turn_q  <= 1'b1;
      which_q <= wants;
    end else if (m_axis_request_tvalid && m_axis_request_tready && m_axis_request_tlast) begin
      turn_q <= 1'b0;
    end
    if (rst) turn_q <= 1'b0;
  end

  fb_common_fifo #(
      .Width(Bits),
      .Depth(Depth)
  ) u_whose (
      .clk,
      .rst,
      .s_valid(begins),
      .s_ready(room),
      .s_data (wants),
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
