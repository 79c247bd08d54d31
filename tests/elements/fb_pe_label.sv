// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// fb_pe_label: an element that shortens packets and says more than class and score, for tests.
//
// What:        of a packet only the first `cfg[7:0]` beats pass. The result of an object: the first six
//              bytes of the packet that ends it, its bytes and those that passed, and a single made
//              of bytes 2 to 5, a number whatever they are.
// Limits:      a result is taken before the next object ends.

`default_nettype none

module fb_pe_label
  import fb_spec_pkg::*;
(
    input wire        clk,
    input wire        rst,
    input wire [63:0] cfg,

    input  wire          s_axis_object_tvalid,
    output logic         s_axis_object_tready,
    input  wire  [511:0] s_axis_object_tdata,
    input  wire  [ 63:0] s_axis_object_tkeep,
    input  wire          s_axis_object_tlast,
    input  wire  [  1:0] s_axis_object_tuser,
    input  wire  [ 31:0] s_axis_object_tid,

    output logic         m_axis_object_tvalid,
    input  wire          m_axis_object_tready,
    output logic [511:0] m_axis_object_tdata,
    output logic [ 63:0] m_axis_object_tkeep,
    output logic         m_axis_object_tlast,
    output logic [  1:0] m_axis_object_tuser,
    output logic [ 31:0] m_axis_object_tid,

    output logic         m_axis_result_tvalid,
    input  wire          m_axis_result_tready,
    output logic [143:0] m_axis_result_tdata,
    output logic         m_axis_result_tuser,
    output logic [ 31:0] m_axis_result_tid
);

  // The last beat that passes is held until the packet ends: TUSER comes with the end.
  logic held_q, ended_q, moves, passes, leaves;
  logic [25:0] beats_q;  // of the packet that have come
  logic [47:0] first_q, first;
  logic [31:0] bytes, kept, kept_q;

  assign passes = beats_q < 26'(cfg[7:0]);
  assign first = beats_q == '0 ? s_axis_object_tdata[47:0] : first_q;
  assign bytes = {beats_q, 6'd0} + 32'($countones(s_axis_object_tkeep));
  assign kept = passes ? bytes : kept_q;
  assign m_axis_object_tvalid = held_q && (ended_q || (s_axis_object_tvalid && passes));
  assign m_axis_object_tlast = ended_q;
  assign leaves = m_axis_object_tvalid && m_axis_object_tready;
  assign s_axis_object_tready = held_q && (ended_q || passes) ? leaves && !ended_q :
      !(s_axis_object_tlast && m_axis_result_tvalid);
  assign moves = s_axis_object_tvalid && s_axis_object_tready;

  always_ff @(posedge clk) begin : shorten
    if (leaves) {held_q, ended_q} <= '0;
    if (moves) begin
      first_q <= first;
      kept_q <= kept;
      beats_q <= s_axis_object_tlast ? '0 : beats_q + 1'b1;
      ended_q <= s_axis_object_tlast;
      m_axis_object_tuser <= s_axis_object_tuser;
      if (passes) begin
        held_q <= 1'b1;
        {m_axis_object_tid, m_axis_object_tkeep, m_axis_object_tdata} <= {
          s_axis_object_tid, s_axis_object_tkeep, s_axis_object_tdata
        };
      end
    end
    if (rst) {held_q, ended_q, beats_q} <= '0;
  end

  always_ff @(posedge clk) begin : judge
    if (m_axis_result_tready) m_axis_result_tvalid <= 1'b0;
    if (moves && s_axis_object_tlast && (s_axis_object_tuser & PACKET_ENDS_OBJECT) != '0) begin
      m_axis_result_tvalid <= 1'b1;
      m_axis_result_tdata  <= {first[47], 1'b0, first[45:16], kept, bytes, first};
      m_axis_result_tuser  <= 1'b0;
      m_axis_result_tid    <= s_axis_object_tid;
    end
    if (rst) m_axis_result_tvalid <= 1'b0;
  end

  logic unused;
  assign unused = &{1'b0, cfg};

endmodule

`default_nettype wire
