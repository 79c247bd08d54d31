// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_net_realign: bytes of many frames, gapless in beats.
//
// What:        turns each beat so that its first byte comes behind the last one held, lets a full
//              beat go when there is a byte after it, and ends an extent's packet when it is closed
//              or another one begins, or no more is awaited. TUSER says with TLAST whether it is a
//              whole object, and whether it ends one of which nothing is missing.
// Handshake:   valid/ready; `s_ready` follows `m_axis_object_tready` within the cycle.
// Latency:     3 cycles from the last byte of a beat to TVALID.
// Throughput:  a beat in every cycle; an extent takes a cycle more if its end does not fit into the
//              beat before, or is known only when the next one begins.
// Limits:      512-bit registers: three.
// Does not implement: packets without bytes.

`default_nettype none

module fb_net_realign
  import fb_spec_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire s_valid,
    output logic s_ready,
    input wire [USER_DATA_BITS-1:0] s_data,
    input wire s_upper,  // bytes begin at 32, else at 0
    input wire [6:0] s_bytes,  // 1 to 64
    input wire s_open,  // the beat begins an extent
    input wire s_close,  // the beat ends it
    input wire s_whole,  // with s_close: it is a whole object
    input wire s_intact,  // with s_close: it ends an object without a gap
    input wire s_within,  // low without s_valid while one is open here: it ended as it stands

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser    // with TLAST: PACKET_*
);

  localparam int unsigned Bytes = USER_BEAT_BYTES;

  // What is done with the bytes held when a beat of bytes comes through.
  typedef struct packed {
    logic       emits;  // a beat goes out
    logic       ends;   // and it is the last one
    logic [1:0] user;   // TUSER with it
    logic [6:0] out;    // bytes that go out
    logic [6:0] held;   // bytes held before: those come first
    logic [5:0] turn;   // places by which the beat is turned
  } step_t;

  // ------------------------------------------------------------------------------ what is to be done
  logic open_q;  // an extent is open
  logic [6:0] held_q;  // bytes held for it
  logic owed_q;  // the end of an extent, that did not fit
  logic [1:0] owed_user_q, user;
  logic advance, sweep, take;
  logic [7:0] sum;
  step_t step;

  assign sweep = owed_q || (open_q && (s_valid ? s_open : !s_within));
  assign s_ready = advance && !sweep;
  assign take = s_valid && s_ready;
  assign sum = 8'(s_open ? '0 : held_q) + 8'(s_bytes);

  assign user = (s_whole ? '0 : PACKET_PART) | (s_intact ? PACKET_ENDS_OBJECT : '0);

  always_comb begin : plan
    step = '{
        emits: sum > 8'(Bytes) || s_close,
        ends: s_close && sum <= 8'(Bytes),
        user: user,
        out: sum > 8'(Bytes) ? 7'(Bytes) : 7'(sum),
        held: s_open ? '0 : held_q,
        turn: (s_open ? '0 : held_q[5:0]) - (s_upper ? 6'(FRAMING_BYTES) : '0)
    };
    if (sweep) begin
      step.emits = 1'b1;
      step.ends  = 1'b1;
      step.user  = owed_q ? owed_user_q : PACKET_PART;
      step.out   = held_q;
      step.held  = 7'(Bytes);
    end
  end

  always_ff @(posedge clk) begin : follow
    if (advance && sweep) begin
      owed_q <= 1'b0;
      open_q <= 1'b0;
    end else if (take) begin
      owed_q <= s_close && sum > 8'(Bytes);
      owed_user_q <= user;
      open_q <= !s_close;
      held_q <= sum > 8'(Bytes) ? 7'(sum - 8'(Bytes)) : 7'(sum);
    end
    if (rst) begin
      owed_q <= 1'b0;
      open_q <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------- turning, in two steps
  logic valid_1q, valid_2q;
  step_t step_1q;
  /* verilator lint_off UNUSEDSIGNAL */
  step_t step_2q;  // nothing is turned any more
  /* verilator lint_on UNUSEDSIGNAL */
  logic [USER_DATA_BITS-1:0] data_1q, data_2q, held_data_q, merged;

  // Byte i goes to place i + by * unit, round the end: one LUT a bit.
  function automatic logic [USER_DATA_BITS-1:0] turned(input logic [USER_DATA_BITS-1:0] data,
                                                       input logic [1:0] by, input int unit);
    for (int i = 0; i < 4; i++) begin
      if (by == 2'(i)) turned = (data << 8 * i * unit) | (data >> 8 * (int'(Bytes) - i * unit));
    end
  endfunction

  assign advance = !m_axis_object_tvalid || m_axis_object_tready;

  always_ff @(posedge clk) begin : turn
    if (advance) begin
      data_1q  <= turned(turned(s_data, step.turn[5:4], 16), step.turn[3:2], 4);
      data_2q  <= turned(data_1q, step_1q.turn[1:0], 1);
      step_1q  <= step;
      step_2q  <= step_1q;
      valid_1q <= s_valid || sweep;
      valid_2q <= valid_1q;
    end
    if (rst) begin
      valid_1q <= 1'b0;
      valid_2q <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------- merging
  always_comb begin : merge
    for (int i = 0; i < int'(Bytes); i++) begin
      merged[8*i+:8] = 7'(i) < step_2q.held ? held_data_q[8*i+:8] : data_2q[8*i+:8];
      m_axis_object_tkeep[i] = 7'(i) < step_2q.out;
    end
  end

  always_ff @(posedge clk) begin : hold
    // What is held already stays, unless it goes out: an enable for each byte, and no LUT for it.
    for (int i = 0; i < int'(Bytes); i++) begin
      if (advance && valid_2q && (step_2q.emits || 7'(i) >= step_2q.held)) begin
        held_data_q[8*i+:8] <= data_2q[8*i+:8];
      end
    end
  end

  assign m_axis_object_tvalid = valid_2q && step_2q.emits;
  assign m_axis_object_tdata  = merged;
  assign m_axis_object_tlast  = step_2q.ends;
  assign m_axis_object_tuser  = step_2q.ends ? step_2q.user : '0;

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 3),
      .Name ("m_axis_object")
  ) u_check_object (
      .clk,
      .rst,
      .valid(m_axis_object_tvalid),
      .ready(m_axis_object_tready),
      .data ({m_axis_object_tdata, m_axis_object_tkeep, m_axis_object_tlast, m_axis_object_tuser})
  );

endmodule

`default_nettype wire
