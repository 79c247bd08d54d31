// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw_read: reads chunks from a first address to a last one.
//
// What:        `go` starts a run, once `hold` is low, if the settings are right; its fall stops it, once
//              all chunks that were asked for have come. Each chunk is a read of the streamer.
// Fails:       a read that fails ends the run. Its last beat goes on, with TUSER and the code in TDATA;
//              chunks behind it are dropped, so that what came is without a hole.
// Cut off:     `drives_reset` ends the run in the same way, with ERR_RESET. A command that is on offer
//              then stays, so that the streamer may still deliver what nobody waits for: it is dropped.
// Handshake:   AXI4-Stream without TKEEP: all beats are full, but for one with TUSER, which has none.
//              TLAST ends each chunk. `s_axis_rd_tready` follows `m_axis_out_tready` within the cycle.
// Latency:     3 cycles from `go` to the first command; 1 for data.
// Throughput:  64 bytes a cycle; a command in two cycles.
// Limits:      settings are steady while `locks`. Chunks reads may be under way. 512-bit registers: one,
//              so that a beat with a code can stand where the streamer's data change.
// Does not implement: order against writes: what has no response yet may be read or not; what the
//              streamer may still deliver after a reset of the drives (fb_store_raw_resync).

`default_nettype none

module fb_store_raw_read
  import fb_spec_pkg::*;
  import fb_store_raw_pkg::*;
#(
    parameter int unsigned Chunks = 8  // under way, a power of two, 2 to 64
) (
    input wire clk,
    input wire rst,

    input wire             go,
    input wire             hold,
    input wire             drives_reset,
    input chunk_t          cfg_chunk,
    input unit_t           cfg_start,
    input unit_t           cfg_max,       // exclusive
    input refusal_t        bad,           // the settings
    input wire      [63:0] now_ns,

    output logic                      m_axis_rdcmd_tvalid,
    input  wire                       m_axis_rdcmd_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_rdcmd_tdata,
    output logic                      m_axis_rdcmd_tlast,
    input  wire                       s_axis_rd_tvalid,
    output logic                      s_axis_rd_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_rd_tdata,
    input  wire                       s_axis_rd_tlast,
    input  wire                       s_axis_rd_tuser,

    output logic                      m_axis_out_tvalid,
    input  wire                       m_axis_out_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_out_tdata,
    output logic                      m_axis_out_tlast,
    output logic                      m_axis_out_tuser,

    output logic            locks,       // settings are in use
    output logic            reading,
    output refusal_t        refused,     // the last start
    output logic            at_end,      // all has been asked for
    output logic     [ 7:0] code,        // of the read that failed, ...
    output unit_t           failed,      // ... and its address
    output logic            any_last,    // a chunk has come, ...
    output unit_t           last,        // ... the last one from here
    output logic     [63:0] started_ns,
    output logic     [63:0] stopped_ns
);

  typedef enum logic [3:0] {
    REST  = 4'b0001,
    CHECK = 4'b0010,
    RUN   = 4'b0100,
    DROP  = 4'b1000   // the run is cut off: what was asked for is given up, chunk by chunk
  } state_e;

  state_e state_q;
  logic rest, check, run, drop;
  assign {drop, run, check, rest} = state_q;

  logic seen_q;  // that `go` is high
  logic stop_q, failed_q;
  unit_t at_q, next, fetched;
  chunk_t chunk_q;  // of what is on offer, whatever the settings are by now
  logic   probe_q;  // it is no chunk
  logic begins, offers, moves, room, asked, ends, over;

  assign begins = check && bad == '0 && !drives_reset;
  assign locks = !rest;
  assign reading = run || drop;
  assign next = at_q + unit_t'(chunk_q);
  assign moves = m_axis_rdcmd_tvalid && m_axis_rdcmd_tready;
  assign over = !asked && !m_axis_rdcmd_tvalid && (at_end || stop_q || failed_q);

  // ------------------------------------------------------------------------------- resets of drives
  logic stale, asks, misaligned, probes;  // stale while reading: the run is cut off

  fb_store_raw_resync u_resync (
      .clk,
      .rst,
      .drives_reset,
      .hold,
      .cut(drives_reset && run && !over),
      .stale,
      .opens(),
      .asks,
      .misaligned,
      .sent(probes),
      .answer_valid(s_axis_rd_tvalid && s_axis_rd_tlast && s_axis_rd_tuser),
      .answer(s_axis_rd_tdata[7:0])
  );

  assign probes = rest && asks && !m_axis_rdcmd_tvalid;

  // --------------------------------------------------------------------------------------- commands
  // One that is offered stays.
  assign offers = run && !m_axis_rdcmd_tvalid && room && !at_end && !stop_q && !failed_q && !stale &&
      !hold;

  always_comb begin : command
    m_axis_rdcmd_tdata = '0;
    m_axis_rdcmd_tdata[USER_ADDRESS_LSB+:64] = {at_q, UNIT_SHIFT'(probe_q)};
    m_axis_rdcmd_tdata[USER_READ_LENGTH_LSB+:64] = 64'({chunk_q, UNIT_SHIFT'(0)});
  end
  assign m_axis_rdcmd_tlast = 1'b1;

  always_ff @(posedge clk) begin : follow
    unique case (state_q)
      REST: if (go && !seen_q && !hold && !stale) state_q <= CHECK;
      CHECK: begin
        if (!drives_reset) refused <= bad;
        state_q <= begins ? RUN : REST;
      end
      RUN: begin
        if (stale) state_q <= DROP;
        else if (over && !m_axis_out_tvalid) state_q <= REST;
      end
      default: if (!asked && failed_q && !m_axis_out_tvalid) state_q <= REST;
    endcase
    seen_q <= go && (seen_q || (check && !drives_reset));
    stop_q <= reading && (stop_q || !go);
    if (offers || probes || moves) m_axis_rdcmd_tvalid <= offers || probes;
    if (moves && !stale) begin
      at_q   <= next;
      at_end <= next == cfg_max;
    end
    if (probes) {probe_q, chunk_q} <= {1'b1, chunk_t'(misaligned)};
    if (ends) stopped_ns <= now_ns;
    if (begins) begin
      at_q <= cfg_start;
      {probe_q, chunk_q} <= {1'b0, cfg_chunk};
      at_end <= 1'b0;
      {started_ns, stopped_ns} <= {now_ns, now_ns};
    end
    if (rst) begin
      state_q <= REST;
      {seen_q, stop_q, m_axis_rdcmd_tvalid, at_end} <= '0;
      {refused, started_ns, stopped_ns} <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------- data
  // Room for a command is found before it is offered, and only its handshake adds one. So does what
  // cuts a run off: where nothing was asked for, the next chunk is what did not come.
  fb_common_fifo #(
      .Width($bits(unit_t)),
      .Depth(Chunks)
  ) u_asked (
      .clk,
      .rst,
      .s_valid(stale ? run : moves),
      .s_ready(room),
      .s_data (at_q),
      .m_valid(asked),
      .m_ready(ends),
      .m_data (fetched),
      .level  ()
  );

  logic free, open, passes, breaks, fails;

  assign free = !m_axis_out_tvalid || m_axis_out_tready;
  assign open = asked && (failed_q || free);
  assign s_axis_rd_tready = stale || open;
  assign passes = s_axis_rd_tvalid && asked && !failed_q && !stale;
  assign breaks = drop && !failed_q;  // a beat with the code
  assign ends = open && (drop || (s_axis_rd_tvalid && s_axis_rd_tlast && !stale));
  assign fails = drop || s_axis_rd_tuser;

  always_ff @(posedge clk) begin : fill_register
    if (free) begin
      m_axis_out_tvalid <= passes || breaks;
      m_axis_out_tdata  <= s_axis_rd_tdata;
      if (breaks) m_axis_out_tdata <= USER_DATA_BITS'(ERR_RESET);
      m_axis_out_tlast <= s_axis_rd_tlast || breaks;
      m_axis_out_tuser <= (s_axis_rd_tlast && s_axis_rd_tuser) || breaks;
    end
    if (rst) m_axis_out_tvalid <= 1'b0;
  end

  always_ff @(posedge clk) begin : conclude
    if (ends && !failed_q) begin
      failed_q <= fails;
      if (fails) {code, failed} <= {drop ? ERR_RESET : s_axis_rd_tdata[7:0], fetched};
      else {any_last, last} <= {1'b1, fetched};
    end
    if (begins || rst) {failed_q, code, any_last} <= '0;
    if (rst) failed <= '0;
  end

`ifndef SYNTHESIS
  data_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_rd_tvalid |-> asked || stale)
  else $error("fb_store_raw_read (%m): data, and nothing waits for them");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS),
      .Name ("m_axis_rdcmd")
  ) u_check_rdcmd (
      .clk,
      .rst,
      .valid(m_axis_rdcmd_tvalid),
      .ready(m_axis_rdcmd_tready),
      .data (m_axis_rdcmd_tdata)
  );

  fb_axis_check #(
      .Width(USER_DATA_BITS + 2),
      .Name ("m_axis_out")
  ) u_check_out (
      .clk,
      .rst,
      .valid(m_axis_out_tvalid),
      .ready(m_axis_out_tready),
      .data ({m_axis_out_tdata, m_axis_out_tlast, m_axis_out_tuser})
  );

endmodule

`default_nettype wire
