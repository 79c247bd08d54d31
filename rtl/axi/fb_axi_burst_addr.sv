// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_burst_addr: turns one AXI4 address channel (AR or AW) into the addresses of its beats.
//
// What:        holds the burst that is being served and one more. Each `m_step` moves on to the
//              next beat, or to the next burst after the last beat.
// Handshake:   s_* is the AXI channel. `m_valid` says that a beat is described by m_*; m_step may
//              be high only then.
// Latency:     1 cycle from the address handshake to m_valid.
// Throughput:  one beat a cycle, without gaps between bursts, also when each has a single beat.
// Limits:      s_ready and m_* come from registers. The address counts within its
//              4 KiB page only, so that a burst which breaks AXI's rule (A3.4.1: no burst crosses
//              4 KiB) cannot reach another page. Of bursts that are not INCR, or wider than the bus,
//              the number of beats is right, and no address but the first.
// Does not implement: FIXED and WRAP address sequences.

`default_nettype none

module fb_axi_burst_addr #(
    parameter int unsigned IdBits   = 4,   // bits of the transaction identifier, 1 or more
    parameter int unsigned AddrBits = 23,  // bits of the address, 13 or more
    parameter int unsigned SideBits = 1,   // bits that go with a burst
    parameter int unsigned MaxSize  = 6    // log2 of the bus width in bytes, 1 to 6
) (
    input wire clk,
    input wire rst,

    input  wire                 s_valid,
    output logic                s_ready,
    input  wire  [  IdBits-1:0] s_id,
    input  wire  [AddrBits-1:0] s_addr,
    input  wire  [         7:0] s_len,
    input  wire  [         2:0] s_size,
    input  wire  [         1:0] s_burst,
    input  wire  [SideBits-1:0] s_side,

    output logic                m_valid,
    input  wire                 m_step,
    output logic [  IdBits-1:0] m_id,
    output logic [AddrBits-1:0] m_addr,      // byte address of this beat
    output logic [SideBits-1:0] m_side,      // 0 without a burst
    output logic                m_last,      // last beat of its burst
    output logic                wait_valid,  // there is a burst behind this one,
    output logic [AddrBits-1:0] wait_addr    // which begins here
);

  if (IdBits < 1) begin : gen_bad_id
    $fatal(1, "fb_axi_burst_addr (%m): IdBits=%0d must be at least 1", IdBits);
  end
  if (AddrBits < 13) begin : gen_bad_addr
    $fatal(1, "fb_axi_burst_addr (%m): AddrBits=%0d must be at least 13", AddrBits);
  end
  if (MaxSize < 1 || MaxSize > 6) begin : gen_bad_size
    $fatal(1, "fb_axi_burst_addr (%m): MaxSize=%0d must be from 1 to 6", MaxSize);
  end

  localparam logic [1:0] INCR = 2'b01;

  typedef struct packed {
    logic [IdBits-1:0] id;
    logic [AddrBits-1:0] addr;
    logic [7:0] left;  // beats after this one
    logic last;  // there is none
    logic [5:0] low;  // address bits below its size
    logic [SideBits-1:0] side;
  } burst_t;

  burst_t now_q, wait_q, arriving, stepped;
  logic take, free, turn;

  always_comb begin : describe_arriving
    arriving.id   = s_id;
    arriving.addr = s_addr;
    arriving.left = s_len;
    arriving.last = s_len == '0;
    arriving.low  = 6'((7'd1 << s_size) - 1'b1);
    arriving.side = take ? s_side : '0;
  end

  // The first beat may be unaligned; the ones after it are aligned to the size (A3.4.1).
  always_comb begin : step_address
    stepped = now_q;
    stepped.left = now_q.left - 1'b1;
    stepped.last = now_q.left == 8'd1;
    stepped.addr[11:0] = (now_q.addr[11:0] | 12'(now_q.low)) + 1'b1;
  end

  assign take = s_valid && s_ready;
  assign turn = !m_valid || now_q.last;  // another burst is next
  assign free = !m_valid || (m_step && now_q.last);  // the place of the served burst is free

  assign s_ready = !wait_valid;
  assign m_id = now_q.id;
  assign m_addr = now_q.addr;
  assign m_side = now_q.side;
  assign m_last = now_q.last;
  assign wait_addr = wait_q.addr;

  always_ff @(posedge clk) begin : hold
    if (m_step || !m_valid) now_q <= !turn ? stepped : wait_valid ? wait_q : arriving;
    if (!wait_valid) wait_q <= arriving;
    m_valid <= !free || wait_valid || take;
    wait_valid <= !free && (wait_valid || take);
    if (rst) begin
      now_q.side <= '0;
      {m_valid, wait_valid} <= '0;
    end
  end

`ifndef SYNTHESIS
  step_needs_valid :
  assert property (@(posedge clk) disable iff (rst) m_step |-> m_valid)
  else $error("fb_axi_burst_addr (%m): stepped without a burst");

  stays_in_page :
  assert property (@(posedge clk) disable iff (rst)
                   (s_valid && s_ready && s_burst == INCR && s_size <= 3'(MaxSize)) |->
                   ((20'(s_addr[11:0]) >> s_size) + 20'(s_len)) << s_size <= 20'd4095)
  else $error("fb_axi_burst_addr (%m): burst at %0h, len %0d crosses 4 KiB", s_addr, s_len);
`endif

endmodule

`default_nettype wire
