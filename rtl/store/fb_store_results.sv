// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_results: what became of an object, into its row.
//
// What:        joins rows with results by stream and number. Both come in the same order, so that a row
//              of a whole object waits for its result until that is there, another one is that belongs
//              to a later row, or the wait is over; from then on rows do not wait until a result meets
//              its row again. Thrown away is a result whose row has gone: of each stream the last
//              row's number is remembered. So results that never come, come late, or have no row that
//              waits for them hold up nobody.
// Handshake:   valid/ready; the row goes through within the cycle.
// Latency:     2 cycles for a result, none for a row. Throughput: a row a cycle.
// Limits:      numbers grow in each stream; streams whose numbers differ in their lowest four bits; so
//              many results as Depth may be ahead of their rows.
// Does not implement: results for parts of objects.

`default_nettype none

module fb_store_results
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
#(
    parameter int unsigned Depth = 512  // results that may wait, a power of two, 4 to 4096
) (
    input wire clk,
    input wire rst,

    input wire        cfg_enable,  // there are results
    input wire [31:0] cfg_wait,    // cycles that a row waits for its own

    input  wire     s_axis_result_tvalid,
    output logic    s_axis_result_tready,
    input  result_t s_axis_result_tdata,

    input  wire  s_axis_row_tvalid,
    output logic s_axis_row_tready,
    input  row_t s_axis_row_tdata,
    output logic m_axis_row_tvalid,
    input  wire  m_axis_row_tready,
    output row_t m_axis_row_tdata,

    output logic late,  // pulse: a row has gone without its result
    output logic stray  // pulse: a result had no row
);

  logic waits, there, ours, same, passed, older, newer, over, meets, moves;
  logic gone_q;  // the row is offered without a result, and stays so
  logic [31:0] waited_q;
  logic [63:0] ahead;
  logic result_valid, result_ready;
  result_t result;

  // Extents wait long for the SSD's answer, their results do not.
  fb_common_fifo_bram #(
      .Width($bits(result_t)),
      .Depth(Depth)
  ) u_results (
      .clk,
      .rst,
      .s_valid(s_axis_result_tvalid),
      .s_ready(s_axis_result_tready),
      .s_data (s_axis_result_tdata),
      .m_valid(result_valid),
      .m_ready(result_ready),
      .m_data (result),
      .level  ()
  );

  // The last row of each stream that has gone.
  localparam int unsigned Streams = 16;

  logic [Streams-1:0] known_q;
  logic [3:0] row_slot, slot;  // of the row's stream, of the result's
  logic [15:0] last_stream;
  logic [63:0] last_object, behind;

  assign row_slot = s_axis_row_tdata.facts.stream[3:0];
  assign slot = result.stream[3:0];
  assign moves = s_axis_row_tvalid && s_axis_row_tready;
  assign behind = last_object - result.object;
  assign passed = known_q[slot] && last_stream == result.stream && $signed(behind) >= 0;

  fb_common_lutram #(
      .Width(80),
      .Depth(Streams)
  ) u_last (
      .clk,
      .we   (moves),
      .waddr(row_slot),
      .wdata({s_axis_row_tdata.facts.stream, s_axis_row_tdata.facts.object}),
      .raddr(slot),
      .rdata({last_stream, last_object})
  );

  always_ff @(posedge clk) begin : remember
    if (moves) known_q[row_slot] <= 1'b1;
    if (rst) known_q <= '0;
  end

  assign there = result_valid && cfg_enable;
  assign waits = cfg_enable && s_axis_row_tdata.facts.whole;
  assign same = result.stream == s_axis_row_tdata.facts.stream;
  assign ahead = result.object - s_axis_row_tdata.facts.object;
  assign ours = there && same && ahead == '0 && waits && !gone_q;
  assign older = there && !ours && (passed || (same && (ahead[63] || (ahead == '0 && !waits))));
  assign newer = there && !ours && !older;
  assign over = waited_q >= cfg_wait;

  assign m_axis_row_tvalid = s_axis_row_tvalid && (!waits || gone_q || ours || newer || (over && !older));
  assign s_axis_row_tready = m_axis_row_tvalid && m_axis_row_tready;
  assign meets = s_axis_row_tready && waits && ours;
  assign stray = s_axis_row_tvalid && older && !gone_q;
  assign late = s_axis_row_tready && waits && !ours;
  assign result_ready = !cfg_enable || meets || stray;

  always_comb begin : join_result
    m_axis_row_tdata = s_axis_row_tdata;
    if (waits && ours) begin
      m_axis_row_tdata.flags |= ROW_RESULT;
      m_axis_row_tdata.facts.has_result = 1'b1;
      m_axis_row_tdata.facts.class_ = result.class_;
      m_axis_row_tdata.facts.score = result.score;
    end else if (waits) begin
      m_axis_row_tdata.flags |= ROW_LATE;
    end
  end

  // A row that could go and is held back by what follows has not waited for a result. Once over, it
  // stays so until a result meets its row.
  always_ff @(posedge clk) begin : wait_for_result
    gone_q <= m_axis_row_tvalid && !m_axis_row_tready && waits && !ours && !rst;
    if (s_axis_row_tvalid && waits && !m_axis_row_tvalid) waited_q <= waited_q + 32'(!over);
    else if (meets || newer) waited_q <= '0;
    if (rst || !cfg_enable) waited_q <= '0;
  end

  fb_axis_check #(
      .Width($bits(row_t)),
      .Name ("m_axis_row")
  ) u_check_row (
      .clk,
      .rst,
      .valid(m_axis_row_tvalid),
      .ready(m_axis_row_tready),
      .data (m_axis_row_tdata)
  );

endmodule

`default_nettype wire
