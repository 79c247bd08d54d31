// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_number: gives each result the number of its object.
//
// What:        results and packets come in the same order, so that the n-th result belongs to the n-th
//              packet, whose word stands beside it. That of a packet that is not a whole object is
//              thrown away. Packets never wait here: where Depth - 1 have no result, the oldest of
//              them will have none, and what comes for it is thrown away.
// Handshake:   valid/ready.
// Latency:     2 cycles. Throughput: a result a cycle.
// Limits:      16 results may come ahead of their packets' ends; then the next one waits.
// Does not implement: anything that knows what a result means.

`default_nettype none

module fb_pe_number #(
    parameter int unsigned Depth = 64  // packets without a result, a power of two, 4 to 1024
) (
    input wire clk,
    input wire rst,

    // A packet's last beat moves.
    input wire        ends,
    input wire        whole,   // it is a whole object
    input wire [15:0] stream,
    input wire [63:0] object,

    input  wire         s_axis_result_tvalid,
    output logic        s_axis_result_tready,
    input  wire  [47:0] s_axis_result_tdata,   // score; above it the class

    output logic         m_axis_result_tvalid,
    input  wire          m_axis_result_tready,
    output logic [127:0] m_axis_result_tdata    // object, stream, class, score from bit 0 on
);

  localparam int unsigned LevelBits = $clog2(Depth) + 1;

  logic [LevelBits-1:0] level;
  logic [31:0] forgotten_q;  // packets that were forgotten, and whose results have not come
  logic there, packet_whole, waits, given, stray, free, meets, forgets;
  logic [15:0] packet_stream;
  logic [63:0] packet_object;
  logic [47:0] result;

  fb_common_fifo #(
      .Width(81),
      .Depth(Depth)
  ) u_packets (
      .clk,
      .rst,
      .s_valid(ends),
      .s_ready(),
      .s_data ({whole, stream, object}),
      .m_valid(there),
      .m_ready(meets || forgets),
      .m_data ({packet_whole, packet_stream, packet_object}),
      .level
  );

  // An element may give the result before the packet's end has left the chain.
  fb_common_fifo #(
      .Width(48),
      .Depth(16)
  ) u_results (
      .clk,
      .rst,
      .s_valid(s_axis_result_tvalid),
      .s_ready(s_axis_result_tready),
      .s_data (s_axis_result_tdata),
      .m_valid(waits),
      .m_ready(meets || stray || forgets),
      .m_data (result),
      .level  ()
  );

  assign given = waits && forgotten_q == '0;
  assign stray = waits && forgotten_q != '0;
  assign free = !m_axis_result_tvalid || m_axis_result_tready;
  assign meets = given && there && (!packet_whole || free);
  assign forgets = !meets && level >= LevelBits'(Depth - 1);

  always_ff @(posedge clk) begin : hold
    if (free) begin
      m_axis_result_tvalid <= meets && packet_whole;
      m_axis_result_tdata  <= {result[31:0], result[47:32], packet_stream, packet_object};
    end
    if (rst) m_axis_result_tvalid <= 1'b0;
  end

  always_ff @(posedge clk) begin : forget
    forgotten_q <= forgotten_q + 32'(forgets && !given) - 32'(stray);
    if (rst) forgotten_q <= '0;
  end

`ifndef SYNTHESIS
  packet_has_room :
  assert property (@(posedge clk) disable iff (rst) ends |-> level < LevelBits'(Depth))
  else $error("fb_pe_number (%m): no room for a packet, %0d wait", level);
`endif

  fb_axis_check #(
      .Width(128),
      .Name ("m_axis_result")
  ) u_check (
      .clk,
      .rst,
      .valid(m_axis_result_tvalid),
      .ready(m_axis_result_tready),
      .data (m_axis_result_tdata)
  );

endmodule

`default_nettype wire
