// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw_read: reads chunks from a first address to a last one.
//
// What:        `go` starts a run, once `hold` is low, if the settings are right; its fall stops it, once
//              all chunks that were asked for have come. Each chunk is a read of the streamer.
// Fails:       a read that fails ends the run. Its last beat goes on, with TUSER and the code in TDATA;
//              chunks behind it are dropped, so that what came is without a hole.
// Handshake:   AXI4-Stream without TKEEP: all beats are full, but for one with TUSER, which has none.
//              TLAST ends each chunk. `m_axis_out_*` follows `s_axis_rd_*` within the cycle.
// Latency:     3 cycles from `go` to the first command; none for data.
// Throughput:  64 bytes a cycle; a command in two cycles.
// Limits:      settings are steady while `locks`. Chunks reads may be under way. 512-bit registers: none.
// Does not implement: order against writes: what has no response yet may be read or not.

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
    input chunk_t          cfg_chunk,
    input unit_t           cfg_start,
    input unit_t           cfg_max,    // exclusive
    input refusal_t        bad,        // the settings
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

  typedef enum logic [2:0] {
    REST  = 3'b001,
    CHECK = 3'b010,
    RUN   = 3'b100
  } state_e;

  state_e state_q;
  logic rest, check;
  assign {reading, check, rest} = state_q;

  logic seen_q;  // that `go` is high
  logic stop_q, failed_q;
  unit_t at_q, next, fetched;
  logic begins, offers, moves, room, asked, takes, ends;

  assign begins = check && bad == '0;
  assign locks = !rest;
  assign next = at_q + unit_t'(cfg_chunk);
  assign moves = m_axis_rdcmd_tvalid && m_axis_rdcmd_tready;
  // One that is offered stays.
  assign offers = reading && !m_axis_rdcmd_tvalid && room && !at_end && !stop_q && !failed_q && !hold;

  always_comb begin : command
    m_axis_rdcmd_tdata = '0;
    m_axis_rdcmd_tdata[USER_ADDRESS_LSB+:64] = {at_q, UNIT_SHIFT'(0)};
    m_axis_rdcmd_tdata[USER_READ_LENGTH_LSB+:64] = 64'({cfg_chunk, UNIT_SHIFT'(0)});
  end
  assign m_axis_rdcmd_tlast = 1'b1;

  always_ff @(posedge clk) begin : follow
    unique case (state_q)
      REST: if (go && !seen_q && !hold) state_q <= CHECK;
      CHECK: begin
        refused <= bad;
        state_q <= begins ? RUN : REST;
      end
      default:
      if (!asked && !m_axis_rdcmd_tvalid && (at_end || stop_q || failed_q)) state_q <= REST;
    endcase
    seen_q <= go && (seen_q || check);
    stop_q <= reading && (stop_q || !go);
    if (offers || moves) m_axis_rdcmd_tvalid <= offers;
    if (moves) begin
      at_q   <= next;
      at_end <= next == cfg_max;
    end
    if (ends) stopped_ns <= now_ns;
    if (begins) begin
      at_q <= cfg_start;
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
  // Room for a command is found before it is offered, and only its handshake adds one.
  fb_common_fifo #(
      .Width($bits(unit_t)),
      .Depth(Chunks)
  ) u_asked (
      .clk,
      .rst,
      .s_valid(moves),
      .s_ready(room),
      .s_data (at_q),
      .m_valid(asked),
      .m_ready(ends),
      .m_data (fetched),
      .level  ()
  );

  assign s_axis_rd_tready = asked && (failed_q || m_axis_out_tready);
  assign takes = s_axis_rd_tvalid && s_axis_rd_tready;
  assign ends = takes && s_axis_rd_tlast;
  assign m_axis_out_tvalid = s_axis_rd_tvalid && asked && !failed_q;
  assign m_axis_out_tdata = s_axis_rd_tdata;
  assign m_axis_out_tlast = s_axis_rd_tlast;
  assign m_axis_out_tuser = s_axis_rd_tlast && s_axis_rd_tuser;

  always_ff @(posedge clk) begin : conclude
    if (ends && !failed_q) begin
      failed_q <= s_axis_rd_tuser;
      if (s_axis_rd_tuser) {code, failed} <= {s_axis_rd_tdata[7:0], fetched};
      else {any_last, last} <= {1'b1, fetched};
    end
    if (begins || rst) {failed_q, code, any_last} <= '0;
    if (rst) failed <= '0;
  end

`ifndef SYNTHESIS
  data_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_rd_tvalid |-> asked)
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
