// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw_gate: takes a plain stream into a FIFO, or loses whole chunks of it, and keeps count.
//
// What:        from `begins` on it takes chunks, until it is closed: by the end of the region, `stop` or
//              `abort`. With `cfg_lossy` a chunk for which the FIFO has no room is lost; so are as many
//              bytes as a chunk has from a beat on that the FIFO does not take at once. So what is
//              lost is a multiple of a chunk, and what follows keeps its place in chunks.
// Gaps:        bytes that are lost one behind the other are a gap, with a record of three words, which
//              `gap_*` writes into a memory of 4 words for each. The first gaps keep their records: they
//              say how the trouble began, and are steady once counted.
// Handshake:   AXI4-Stream of full beats without TKEEP and TLAST. `s_axis_in_tready` is 1 with
//              `cfg_lossy`. A beat is offered to the FIFO only while the FIFO is ready, so that FIFO
//              must not wait for TVALID. `fifo_free` may be some cycles old.
// Latency:     none, data pass within the cycle.
// Throughput:  64 bytes a cycle.
// Limits:      settings are steady from `begins` until it is closed. `hold` counts between chunks.
//              512-bit registers: none.
// Does not implement: the FIFO.

`default_nettype none

module fb_store_raw_gate
  import fb_spec_pkg::*;
  import fb_store_raw_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire    begins,          // pulse: from now on, all counts anew
    input wire    stop,            // at the end of a chunk, ...
    input wire    abort,           // ... at once
    input wire    hold,            // no chunk begins
    input wire    cfg_lossy,
    input wire    cfg_ring,        // the region has no end
    input wire    cfg_flush_tail,  // `stop` does not wait for the end of a chunk
    input chunk_t cfg_chunk,
    input unit_t  cfg_region,      // its size, when it begins

    input  wire                       s_axis_in_tvalid,
    output logic                      s_axis_in_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_in_tdata,

    output logic                      m_axis_fifo_tvalid,
    input  wire                       m_axis_fifo_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_fifo_tdata,
    input  wire  [              31:0] fifo_free,           // beats for which it has room

    input wire [63:0] now_ns,

    output logic        gap_we,
    output logic [ 7:0] gap_addr,
    output logic [63:0] gap_data,
    output logic [31:0] gap_count,

    output logic   closed,  // nothing more is taken
    output total_t taken,
    output total_t lost
);

  logic open_q, losing_q, gap_q, gap_first_q;
  beats_t left_q;  // beats that the chunk still takes; 0: between two
  beats_t lose_left_q;  // beats that are still lost
  unit_t  room_q;  // of the region, behind the chunk
  total_t gap_lost_q;
  logic between, full, chunk_fits, closes, active, ready, takes, loses;
  beats_t chunk_beats, rest;

  assign chunk_beats = {cfg_chunk, (UNIT_SHIFT - BEAT_SHIFT)'(0)};
  assign rest = chunk_beats - 1'b1;
  assign between = left_q == '0;
  assign full = !cfg_ring && room_q == '0;
  assign chunk_fits = !cfg_lossy || fifo_free >= 32'(chunk_beats);
  // A gap's record is begun in two cycles.
  assign closes = open_q && !gap_first_q &&
      (abort || (stop && (between || cfg_flush_tail)) || (between && full));
  assign active = open_q && !closes;
  assign ready = m_axis_fifo_tready && !losing_q &&
      (!between || (chunk_fits && !full && !hold && !stop));
  assign takes = active && s_axis_in_tvalid && ready;
  assign loses = active && s_axis_in_tvalid && !ready && cfg_lossy;

  assign s_axis_in_tready = cfg_lossy || (active && ready);
  assign m_axis_fifo_tvalid = takes;
  assign m_axis_fifo_tdata = s_axis_in_tdata;
  assign closed = !open_q;

  always_ff @(posedge clk) begin : follow
    if (takes) begin
      left_q <= between ? rest : left_q - 1'b1;
      if (between) room_q <= room_q - unit_t'(cfg_chunk);
      taken <= taken + 1'b1;
    end
    if (loses) begin
      lose_left_q <= losing_q ? lose_left_q - 1'b1 : rest;
      losing_q <= !losing_q || lose_left_q != beats_t'(1);
      lost <= lost + 1'b1;
    end
    if (closes) {open_q, losing_q} <= '0;
    if (begins) begin
      open_q <= 1'b1;
      room_q <= cfg_region;
      {left_q, taken, lost} <= '0;
    end
    if (rst) {open_q, losing_q, left_q, taken, lost} <= '0;
  end

  // ------------------------------------------------------------------------------------------- gaps
  logic gap_begins, gap_ends;
  assign gap_begins = loses && !gap_q;
  assign gap_ends   = gap_q && (takes || closes);

  always_ff @(posedge clk) begin : measure
    gap_first_q <= gap_begins && !rst;
    if (loses) gap_lost_q <= gap_begins ? total_t'(1) : gap_lost_q + 1'b1;
    if (gap_begins || gap_ends) gap_q <= gap_begins;
    if (gap_ends) gap_count <= gap_count + 1'b1;
    if (begins || rst) {gap_q, gap_count} <= '0;
  end

  assign gap_we = (gap_begins || gap_first_q || gap_ends) && gap_count < GAP_RECORDS;
  always_comb begin : record
    gap_addr = {gap_count[5:0], 2'd1};
    gap_data = {gap_lost_q, BEAT_SHIFT'(0)};
    if (gap_first_q) begin
      gap_addr[1:0] = 2'd0;
      gap_data = {taken, BEAT_SHIFT'(0)};
    end
    if (gap_begins) begin
      gap_addr[1:0] = 2'd2;
      gap_data = now_ns;
    end
  end

`ifndef SYNTHESIS
  one_word_at_a_time :
  assert property (@(posedge clk) disable iff (rst) $onehot0({gap_begins, gap_first_q, gap_ends}))
  else $error("fb_store_raw_gate (%m): two words of a gap's record in one cycle");

  begins_when_closed :
  assert property (@(posedge clk) disable iff (rst) begins |-> closed)
  else $error("fb_store_raw_gate (%m): begins and is not closed");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS),
      .Name ("m_axis_fifo")
  ) u_check_fifo (
      .clk,
      .rst,
      .valid(m_axis_fifo_tvalid),
      .ready(m_axis_fifo_tready),
      .data (m_axis_fifo_tdata)
  );

endmodule

`default_nettype wire
