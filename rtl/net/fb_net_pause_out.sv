// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_pause_out: when the peer must be silent.
//
// What:        at XOFF beats in the memory it asks for silence, again when `cfg_refresh` quanta are
//              left of it, and at XON beats it takes that back with zero quanta. By pause frames, or
//              by priority pause frames for one class. Where XON is not reached within `cfg_limit`
//              quanta, it takes it back all the same: what stands still here must not block a switch.
//              It asks again when as much as the memory holds was read since, or XON was reached.
// Handshake:   valid/ready; a frame is one beat, and is what was to be said when TVALID rose.
// Latency:     2 cycles from `level` to TVALID.
// Limits:      any settings do no harm: XOFF is taken as 1 to 7/8 of the memory, XON as less than
//              XOFF, the refresh as at most half of `cfg_quanta`; with 0 quanta nothing is asked
//              for. Behind a frame that asked comes none for 32 quanta, 4 % of the line. So that the
//              peer never resumes, the refresh covers the longest frame that may be on its way out
//              and the peer's response: docs/reference/net.md. 512-bit registers: none, a frame is
//              all constants and settings.
// Does not implement: several classes.

`default_nettype none

module fb_net_pause_out
  import fb_spec_pkg::*;
  import fb_net_pkg::*;
#(
    parameter int unsigned LevelBits = 12  // of the memory's level, at most 16
) (
    input wire clk,
    input wire rst,

    input wire        cfg_enable,
    input wire [47:0] cfg_mac,       // our address
    input wire        cfg_priority,  // priority pause
    input wire [ 2:0] cfg_class,     // of this class
    input wire [15:0] cfg_xoff,      // beats
    input wire [15:0] cfg_xon,       // beats, fewer
    input wire [15:0] cfg_quanta,    // how long a frame asks for
    input wire [15:0] cfg_refresh,   // what is left of it when the next one is sent
    input wire [31:0] cfg_limit,     // quanta of pause without a break; 0: any number

    input wire [LevelBits-1:0] level,
    input wire [LevelBits-1:0] taken,  // beats read, modulo twice the memory

    output logic                       m_axis_pause_tvalid,
    input  wire                        m_axis_pause_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_pause_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_pause_tkeep,

    output logic sent_xoff,  // for one cycle: a frame with a time is out
    output logic sent_xon,   // for one cycle: a frame with zero quanta is out
    output logic ended       // for one cycle: the limit is reached
);

  localparam logic [15:0] XOFF_MOST = 16'(7 * 2 ** (LevelBits - 1) / 8);
  // Cycles behind a frame that asked: 32 quanta, so that no settings and no level make a storm.
  localparam int unsigned REST_CYCLES = 32 * PAUSE_CYCLES / PAUSE_QUANTA;
  localparam int unsigned RestBits = $clog2(REST_CYCLES + 1);

  logic enable, reached, due;
  logic [15:0] refresh;
  logic [RestBits-1:0] rest_q;
  logic full_q;  // XOFF was reached, XON not yet
  logic over;  // that lasts longer than the limit
  logic moves_on;  // since the limit as much was read as the memory holds
  logic wants;  // silence is to be asked for
  logic [LevelBits-1:0] read, taken_q;
  logic off_q;  // the frame on offer asks for silence
  logic asked_q;  // the last frame did
  logic sent;
  logic [15:0] left;

  assign sent = m_axis_pause_tvalid && m_axis_pause_tready;
  assign sent_xoff = sent && off_q;
  assign sent_xon = sent && !off_q;

  fb_net_pause_timer u_timer (
      .clk,
      .rst,
      .load  (sent),
      .quanta(off_q ? cfg_quanta : '0),
      .left,
      .tick  ()
  );

  fb_net_pause_watchdog u_watchdog (
      .clk,
      .rst,
      .cfg_limit,
      .active (full_q && !moves_on),
      .over,
      .quantum(),
      .bites  (ended)
  );

  assign read     = taken - taken_q;
  assign moves_on = over && read[LevelBits-1];
  always_ff @(posedge clk) begin : remember
    if (!over) taken_q <= taken;
  end

  assign wants   = full_q && !over;
  assign enable  = cfg_enable && cfg_quanta != '0;
  assign reached = level != '0 && (16'(level) >= cfg_xoff || 16'(level) >= XOFF_MOST);
  assign refresh = cfg_refresh < cfg_quanta / 2 ? cfg_refresh : cfg_quanta / 2;
  // The first frame goes at once: the room above XOFF is for what comes until it works.
  assign due     = asked_q ? rest_q == '0 && (!wants || left <= refresh) : wants;

  always_ff @(posedge clk) begin : decide
    if (reached) full_q <= enable;
    else if (16'(level) <= cfg_xon || level == '0 || !enable) full_q <= 1'b0;
    if (sent) asked_q <= off_q;
    if (sent) rest_q <= RestBits'(REST_CYCLES);
    else if (rest_q != '0) rest_q <= rest_q - 1'b1;
    if (!m_axis_pause_tvalid) begin
      off_q <= wants;
      m_axis_pause_tvalid <= due;
    end else if (m_axis_pause_tready) begin
      m_axis_pause_tvalid <= 1'b0;
    end
    if (rst) begin
      full_q <= 1'b0;
      asked_q <= 1'b0;
      rest_q <= '0;
      m_axis_pause_tvalid <= 1'b0;
    end
  end

  localparam int unsigned FrameBits = 8 * FRAME_LEAST_BYTES;
  localparam int unsigned BodyBits = FrameBits - 8 * ETHERNET_BYTES;
  logic [15:0] quanta;
  logic [BodyBits-1:0] body;
  logic [FrameBits-1:0] frame;

  assign quanta = off_q ? cfg_quanta : '0;

  always_comb begin : compose
    body = {PAUSE_OPCODE, quanta, (BodyBits - 32)'(0)};
    if (cfg_priority) begin
      body = {PAUSE_PRIORITY_OPCODE, 16'd1 << cfg_class, (BodyBits - 32)'(0)};
      body[BodyBits-32-16*int'(cfg_class)-1-:16] = quanta;
    end
    frame = {PAUSE_ADDRESS, cfg_mac, ETHERTYPE_MAC_CONTROL, body};
    m_axis_pause_tdata = from_wire(USER_DATA_BITS'(frame), FRAME_LEAST_BYTES);
  end

  assign m_axis_pause_tkeep = USER_BEAT_BYTES'({FRAME_LEAST_BYTES{1'b1}});

  fb_axis_check #(
      .Width(USER_DATA_BITS),
      .Name ("m_axis_pause")
  ) u_check_pause (
      .clk,
      .rst,
      .valid(m_axis_pause_tvalid),
      .ready(m_axis_pause_tready),
      .data (m_axis_pause_tdata)
  );

endmodule

`default_nettype wire
