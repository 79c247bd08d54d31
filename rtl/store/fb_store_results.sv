// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_results: what became of an object, into its row.
//
// What:        joins rows with results by stream and number. A row of a whole object waits for its
//              result; one that is older than the row, or of another stream, is thrown away, one that
//              is newer says that none will come, and so does a wait that is over. From then on rows
//              do not wait until a result meets its row again: a stream of results that has died
//              holds up nobody.
// Handshake:   valid/ready; the row goes through within the cycle.
// Latency:     2 cycles for a result, none for a row. Throughput: a row a cycle.
// Limits:      results come in the order of the rows, with growing numbers in each stream; so many as
//              Depth may be ahead of their rows.
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

  logic waits, there, ours, same, older, newer, over, meets;
  logic gone_q;  // the row is offered without a result, and stays so
  logic [31:0] waited_q;
  logic [63:0] ahead;
  logic result_valid, result_ready;
  result_t result;

  // Extents wait long for the SSD's answer, their results do not.
  fb_common_deep #(
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

  assign there = result_valid && cfg_enable;
  assign waits = cfg_enable && s_axis_row_tdata.facts.whole;
  assign same = result.stream == s_axis_row_tdata.facts.stream;
  assign ahead = result.object - s_axis_row_tdata.facts.object;
  assign ours = there && same && ahead == '0 && !gone_q;
  assign older = there && (!same || ahead[63]);
  assign newer = there && same && !ahead[63] && ahead != '0;
  assign over = waited_q >= cfg_wait;

  assign m_axis_row_tvalid = s_axis_row_tvalid && (!waits || gone_q || ours || newer || (over && !older));
  assign s_axis_row_tready = m_axis_row_tvalid && m_axis_row_tready;
  assign meets = s_axis_row_tready && waits && ours;
  assign stray = s_axis_row_tvalid && waits && older && !gone_q;
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
