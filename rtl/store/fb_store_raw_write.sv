// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw_write: writes what comes out of a FIFO as chunks, from a first address to a last one.
//
// What:        `go` starts a run, once `hold` is low, if the settings are right; its fall stops it. Each
//              chunk is a write of the streamer. In a ring the first one of each lap has a fence, so
//              that it comes behind those of the lap before. Zeros fill a chunk for which nothing more
//              comes.
// Fails:       a response with a code ends the run: the gate is closed, zeros fill the chunk under way,
//              and what is in the FIFO is discarded. What was taken and not stored is counted.
// Cut off:     `drives_reset` ends the run with ERR_RESET: no chunk without a response counts as stored,
//              and none is filled. The streamer may be inside a packet then. It keeps that, and a beat
//              on offer, while it is disabled; so the packet is ended by a beat without data
//              before another one begins, and the streamer writes nothing of it.
// Handshake:   valid/ready. No path leads from an input to a valid within the cycle.
// Latency:     1 cycle from a beat of the FIFO to the streamer, 2 where a chunk begins.
// Throughput:  64 bytes a cycle, and a cycle for each chunk.
// Limits:      settings are steady while `locks`. Chunks writes may wait for their response. 512-bit
//              registers: one, whose reset is what makes zeros of data: it saves 512 LUTs.
// Does not implement: the choice of what is lost (fb_store_raw_gate); what the streamer may still answer
//              after a reset of the drives (fb_store_raw_resync).

`default_nettype none

module fb_store_raw_write
  import fb_spec_pkg::*;
  import fb_store_raw_pkg::*;
#(
    parameter int unsigned Chunks = 8  // without a response, a power of two, 2 to 64
) (
    input wire clk,
    input wire rst,

    input wire             go,
    input wire             hold,
    input wire             drives_reset,
    input wire             cfg_ring,
    input chunk_t          cfg_chunk,
    input unit_t           cfg_start,
    input unit_t           cfg_max,       // exclusive
    input refusal_t        bad,           // the settings
    input wire      [63:0] now_ns,

    // The gate.
    output logic begins,
    output logic stop,
    output logic abort,
    input  wire  closed,
    input  wire  pushes,  // a beat goes into the FIFO

    input  wire                       s_axis_fifo_tvalid,
    output logic                      s_axis_fifo_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_fifo_tdata,

    output logic                      m_axis_wr_tvalid,
    input  wire                       m_axis_wr_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic                      m_axis_wr_tkeep,     // of all bytes
    output logic                      m_axis_wr_tlast,
    input  wire                       s_axis_wrsp_tvalid,
    output logic                      s_axis_wrsp_tready,
    input  wire  [               7:0] s_axis_wrsp_tdata,

    output logic            locks,       // settings are in use
    output logic            writing,
    output refusal_t        refused,     // the last start
    output logic            at_end,      // the region is full
    output logic     [ 7:0] code,        // of the first write that failed, ...
    output unit_t           failed,      // ... and its address
    output logic            any_last,    // a chunk is stored, ...
    output unit_t           last,        // ... the last one here
    output total_t          stored,
    output total_t          unstored,    // taken, and not stored after all
    output logic     [31:0] laps,
    output logic     [31:0] longest,     // cycles without a response
    output logic     [63:0] started_ns,
    output logic     [63:0] stopped_ns
);

  typedef enum logic [4:0] {
    REST    = 5'b00001,
    CHECK   = 5'b00010,
    ADDRESS = 5'b00100,
    DATA    = 5'b01000,
    DRAIN   = 5'b10000   // responses are awaited
  } state_e;

  state_e state_q;
  logic rest, check, address, data, drain;
  assign {drain, data, address, check, rest} = state_q;

  logic seen_q;  // that `go` is high
  logic fence_q;
  unit_t at_q, next;
  beats_t left_q;  // beats that the chunk still has
  beats_t used_q;  // of the stream in it
  logic [31:0] queued_q;  // beats in the FIFO
  logic free, dry, fills, passes, sends, ends, wraps, discards, room, asked, answers;

  assign begins  = check && bad == '0 && !drives_reset;
  assign locks   = !rest;
  assign writing = !rest && !check;

  // ------------------------------------------------------------------------------- resets of drives
  logic stale, opens, asks, misaligned;  // stale while writing: the run is cut off
  logic open_q;  // the streamer waits for the end of a packet
  logic cuts, closes, probes;

  fb_store_raw_resync u_resync (
      .clk,
      .rst,
      .drives_reset,
      .hold,
      .cut(drives_reset && writing && !(drain && !asked)),
      .stale,
      .opens,
      .asks,
      .misaligned,
      .sent(probes && free),
      .answer_valid(s_axis_wrsp_tvalid),
      .answer(s_axis_wrsp_tdata)
  );

  assign abort  = code != ERR_OK || stale;
  assign cuts   = stale && (address || data);
  assign closes = rest && opens && open_q;
  assign probes = rest && asks && !open_q;

  always_ff @(posedge clk) begin : follow_packet
    if (cuts) open_q <= data;
    if (free && (closes || probes)) open_q <= probes;
    if (rst) open_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------ beats
  assign free = !m_axis_wr_tvalid || m_axis_wr_tready;
  assign dry = closed && queued_q == '0;
  assign fills = abort || dry;
  assign passes = data && !fills && s_axis_fifo_tvalid;
  assign sends = passes || (data && fills && !stale) ||
      (address && s_axis_fifo_tvalid && room && !abort);
  assign ends = data && sends && free && left_q == beats_t'(1);
  assign s_axis_fifo_tready = abort || (data && free);
  assign discards = abort && s_axis_fifo_tvalid;
  assign next = at_q + unit_t'(cfg_chunk);
  assign wraps = next == cfg_max;

  always_ff @(posedge clk) begin : fill_register
    if (free) begin
      m_axis_wr_tlast <= ends || closes;
      m_axis_wr_tkeep <= !closes;
      m_axis_wr_tdata <= s_axis_fifo_tdata;
      if (!passes) m_axis_wr_tdata <= '0;
      if (address) begin
        m_axis_wr_tdata[USER_ADDRESS_LSB+:64] <= {at_q, UNIT_SHIFT'(0)};
        m_axis_wr_tdata[USER_WRITE_FENCE_BIT] <= fence_q;
      end
      if (probes) m_axis_wr_tdata[USER_ADDRESS_LSB] <= misaligned;
      m_axis_wr_tvalid <= sends || closes || probes;
    end
    if (rst) m_axis_wr_tvalid <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------- runs
  always_ff @(posedge clk) begin : follow
    unique case (state_q)
      REST: if (go && !seen_q && !hold && !stale) state_q <= CHECK;
      CHECK: begin
        if (!drives_reset) refused <= bad;
        state_q <= begins ? ADDRESS : REST;
      end
      ADDRESS: begin
        if (sends && free) state_q <= DATA;
        else if (fills) state_q <= DRAIN;
      end
      DATA: if (ends || stale) state_q <= ends ? ADDRESS : DRAIN;
      default: if (!asked && (!m_axis_wr_tvalid || stale) && dry) state_q <= REST;
    endcase
    seen_q <= go && (seen_q || (check && !drives_reset));
    stop <= writing && (stop || !go);

    queued_q <= queued_q + 32'(pushes) - 32'(s_axis_fifo_tvalid && s_axis_fifo_tready);
    if (address) {left_q, used_q} <= {cfg_chunk, (UNIT_SHIFT - BEAT_SHIFT)'(0), beats_t'(0)};
    if (data && sends && free) left_q <= left_q - 1'b1;
    if (passes && free) used_q <= used_q + 1'b1;
    if (address && sends && free) fence_q <= 1'b0;
    if (ends) begin
      at_q <= wraps ? cfg_start : next;
      if (wraps) {fence_q, at_end, laps} <= {1'b1, !cfg_ring, laps + 1'b1};
    end
    if (begins) begin
      at_q <= cfg_start;
      {fence_q, at_end, laps} <= '0;
      started_ns <= now_ns;
    end
    if (begins || answers) stopped_ns <= now_ns;
    if (rst) begin
      state_q <= REST;
      {seen_q, stop, queued_q, at_end, laps} <= '0;
      {refused, started_ns, stopped_ns} <= '0;
    end
  end

  // -------------------------------------------------------------------------------------- responses
  unit_t written;
  beats_t used, fails, succeeds;
  logic [ 7:0] outcome;
  logic [31:0] wait_q;

  // Room for a chunk is found before it begins, and only its end adds one. So does what cuts it off;
  // between two chunks the next one is what was cut off, unless others are without a response.
  fb_common_fifo #(
      .Width($bits(unit_t) + $bits(beats_t)),
      .Depth(Chunks)
  ) u_written (
      .clk,
      .rst,
      .s_valid(ends || cuts),
      .s_ready(room),
      .s_data ({at_q, address ? '0 : used_q + beats_t'(passes)}),
      .m_valid(asked),
      .m_ready(answers),
      .m_data ({written, used}),
      .level  ()
  );

  assign s_axis_wrsp_tready = asked || stale;
  assign answers = asked && (s_axis_wrsp_tvalid || stale);
  assign outcome = stale ? ERR_RESET : s_axis_wrsp_tdata;
  assign succeeds = answers && outcome == ERR_OK ? used : '0;
  assign fails = answers && outcome != ERR_OK ? used : '0;

  always_ff @(posedge clk) begin : conclude
    stored   <= stored + total_t'(succeeds);
    unstored <= unstored + total_t'(fails) + total_t'(discards);
    if (answers && outcome == ERR_OK) {any_last, last} <= {1'b1, written};
    if (answers && code == ERR_OK) {code, failed} <= {outcome, written};
    if (!asked || answers) wait_q <= '0;
    else if (wait_q != '1) wait_q <= wait_q + 1'b1;
    if (wait_q > longest) longest <= wait_q;
    if (begins || rst) {any_last, stored, unstored, code, longest} <= '0;
    if (rst) failed <= '0;
  end

`ifndef SYNTHESIS
  answers_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_wrsp_tvalid |-> asked || stale)
  else $error("fb_store_raw_write (%m): a response, and nothing waits for it");

  logic inside_q;  // a packet, the beat on offer left out
  always_ff @(posedge clk) begin : follow_beats
    if (m_axis_wr_tvalid && m_axis_wr_tready) inside_q <= !m_axis_wr_tlast;
    if (rst) inside_q <= 1'b0;
  end

  commands_begin_packets :
  assert property (@(posedge clk) disable iff (rst) free && ((address && sends) || probes) |->
                   !(m_axis_wr_tvalid ? !m_axis_wr_tlast : inside_q))
  else $error("fb_store_raw_write (%m): a command inside a packet");

  stays_inside :
  assert property (@(posedge clk) disable iff (rst) address && sends |-> !at_end)
  else $error("fb_store_raw_write (%m): a chunk behind the end of the region");

  only_what_was_taken :
  assert property (@(posedge clk) disable iff (rst) s_axis_fifo_tvalid |-> queued_q != '0)
  else $error("fb_store_raw_write (%m): the FIFO has a beat that did not go into it");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + 2),
      .Name ("m_axis_wr")
  ) u_check_wr (
      .clk,
      .rst,
      .valid(m_axis_wr_tvalid),
      .ready(m_axis_wr_tready),
      .data ({m_axis_wr_tdata, m_axis_wr_tkeep, m_axis_wr_tlast})
  );

endmodule

`default_nettype wire
