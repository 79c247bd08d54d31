// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// fb_pe_scatter: an element whose results come as badly as they may, for tests.
//
// What:        packets pass as they are. The class of an object is its first two bytes, the score its
//              next four but for a bit, so that it is a number. Of its results some are dropped, some
//              say that it was not judged, the others wait `cfg[19:0]` cycles at most, each another
//              time, so that they overtake each other. A shift register of noise decides all of it.
// Limits:      as many results as Slots may wait; then the end of an object does.

`default_nettype none

module fb_pe_scatter
  import fb_spec_pkg::*;
#(
    parameter int unsigned Slots = 256
) (
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

    output logic        m_axis_result_tvalid,
    input  wire         m_axis_result_tready,
    output logic [47:0] m_axis_result_tdata,
    output logic        m_axis_result_tuser,
    output logic [31:0] m_axis_result_tid
);

  localparam int unsigned SlotBits = $clog2(Slots);
  localparam logic [63:0] Taps = 64'hd800_0000_0000_0000;

  typedef struct packed {
    logic unjudged;
    logic [47:0] data;
    logic [31:0] tag;
  } result_t;

  logic [Slots-1:0] taken_q;
  logic [31:0] due_q[Slots];  // when it goes
  logic [31:0] now_q;
  result_t results_q[Slots];
  logic [63:0] noise_q;
  logic [SlotBits-1:0] slot_q;  // the next result's, once it is free
  logic [SlotBits-1:0] place_q;  // goes round; whose wait is over when it comes there goes
  logic begins_q;  // the next beat begins a packet
  logic moves, ends, waits, leaves;
  logic [47:0] first_q, first;

  assign waits = s_axis_object_tlast && taken_q[slot_q];
  assign moves = s_axis_object_tvalid && s_axis_object_tready;
  assign ends = moves && s_axis_object_tlast && (s_axis_object_tuser & PACKET_ENDS_OBJECT) != '0;
  assign first = begins_q ? s_axis_object_tdata[47:0] : first_q;
  assign leaves = taken_q[place_q] && $signed(now_q - due_q[place_q]) >= 0 &&
      (!m_axis_result_tvalid || m_axis_result_tready);

  assign s_axis_object_tready = m_axis_object_tready && !waits;
  assign m_axis_object_tvalid = s_axis_object_tvalid && !waits;
  assign m_axis_object_tdata = s_axis_object_tdata;
  assign m_axis_object_tkeep = s_axis_object_tkeep;
  assign m_axis_object_tlast = s_axis_object_tlast;
  assign m_axis_object_tuser = s_axis_object_tuser;
  assign m_axis_object_tid = s_axis_object_tid;

  always_ff @(posedge clk) begin : scatter
    noise_q <= noise_q[0] ? (noise_q >> 1) ^ Taps : noise_q >> 1;
    first_q <= first;
    place_q <= place_q + 1'b1;
    now_q <= now_q + 1'b1;
    if (moves) begins_q <= s_axis_object_tlast;
    if (taken_q[slot_q]) slot_q <= slot_q + 1'b1;
    if (m_axis_result_tready) m_axis_result_tvalid <= 1'b0;
    if (leaves) begin
      taken_q[place_q] <= 1'b0;
      m_axis_result_tvalid <= 1'b1;
      {m_axis_result_tuser, m_axis_result_tdata, m_axis_result_tid} <= results_q[place_q];
    end
    if (ends) begin
      slot_q <= noise_q[SlotBits-1:0];
      // One in eight is dropped, one in eight is none.
      taken_q[slot_q] <= noise_q[63:61] != '0;
      due_q[slot_q] <= now_q + 32'(noise_q[60:41] & cfg[19:0]);
      results_q[slot_q] <= '{
          unjudged: noise_q[40:38] == '0,
          data: {first[47], 1'b0, first[45:0]},
          tag: s_axis_object_tid
      };
    end
    if (rst) begin
      taken_q <= '0;
      noise_q <= 64'h1;
      begins_q <= 1'b1;
      {slot_q, place_q, now_q} <= '0;
      m_axis_result_tvalid <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, cfg[63:20], 1'b0};

endmodule

`default_nettype wire
