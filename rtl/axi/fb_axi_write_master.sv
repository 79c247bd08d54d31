// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_write_master: the write half of an AXI4 master of 512 bits.
//
// What:        sends bursts and their words to the memory, and tells in order when the memory has
//              answered. What `side` said of a burst comes back with its answer. A burst
//              without words (`burst_empty`) has been answered as soon as its turn comes.
// Handshake:   `burst_*` valid/ready; the words of a burst are taken by `word_take` after it, and
//              `word_side` says of which burst they are. `stored` pulses.
// Latency:     1 cycle from a burst to AWVALID, 3 to WVALID of its first word, 1 from B to `stored`.
// Throughput:  64 B a cycle, without gaps between bursts; a burst every two cycles.
// Limits:      one identifier, INCR, bursts of up to 64 beats inside 4 KiB.
// Does not implement: more than `Under` bursts of which the memory has not answered.

`default_nettype none

module fb_axi_write_master #(
    parameter int unsigned SideBits = 1,
    parameter int unsigned Under = 16  // bursts that the memory has not answered, 1 to 16
) (
    input wire clk,
    input wire rst,

    input  wire                 burst_valid,
    output logic                burst_ready,
    input  wire  [        63:0] burst_addr,
    input  wire  [         5:0] burst_count_m1,  // beats - 1
    input  wire                 burst_empty,
    input  wire  [SideBits-1:0] burst_side,

    input  wire                 word_valid,
    output logic                word_take,
    output logic [SideBits-1:0] word_side,
    input  wire  [       511:0] word_data,
    input  wire  [        63:0] word_strb,

    output logic                stored,
    output logic                stored_empty,
    output logic                stored_error,  // SLVERR or DECERR
    output logic [SideBits-1:0] stored_side,

    fb_axi_if.write_initiator m_axi
);

  if (Under < 1 || Under > 16) begin : gen_bad_under
    $fatal(1, "fb_axi_write_master (%m): Under=%0d must be from 1 to 16", Under);
  end

  localparam logic [1:0] INCR = 2'b01;

  logic next_q, busy_q;  // a burst waits for the end of the words before it; its words are taken
  logic takes, full, starts, ends, pop, under_ready, under_valid, under_empty;
  logic [5:0] left_q;
  logic [SideBits-1:0] next_side_q, under_side;
  logic [4:0] level;

  // Of registers: it decides who is served.
  assign burst_ready = level < 5'(Under) && under_ready && !m_axi.awvalid && !next_q;
  assign takes = burst_valid && burst_ready;
  assign full = takes && !burst_empty;
  assign starts = next_q && (!busy_q || ends);

  always_ff @(posedge clk) begin : bursts
    if (takes) begin
      m_axi.awaddr <= burst_addr;
      m_axi.awlen  <= 8'(burst_count_m1);
      next_side_q  <= burst_side;
    end
    if (starts) begin
      left_q <= m_axi.awlen[5:0];
      word_side <= next_side_q;
    end else if (word_take) begin
      left_q <= left_q - 1'b1;
    end
    m_axi.awvalid <= full || (m_axi.awvalid && !m_axi.awready);
    next_q <= full || (next_q && !starts);
    busy_q <= starts || (busy_q && !ends);
    if (rst) {m_axi.awvalid, next_q, busy_q} <= '0;
  end

  always_ff @(posedge clk) begin : words
    if (!m_axi.wvalid || m_axi.wready) begin
      m_axi.wvalid <= word_take;
      m_axi.wdata  <= word_data;
      m_axi.wstrb  <= word_strb;
      m_axi.wlast  <= left_q == '0;
    end
    if (rst) m_axi.wvalid <= 1'b0;
  end
  assign word_take = busy_q && word_valid && (!m_axi.wvalid || m_axi.wready);
  assign ends = word_take && left_q == '0;

  assign m_axi.awid = '0;
  assign m_axi.awsize = 3'd6;
  assign m_axi.awburst = INCR;

  // What the memory has been given, in order.
  fb_common_fifo #(
      .Width(SideBits + 1),
      .Depth(16)
  ) u_under (
      .clk,
      .rst,
      .s_valid(takes),
      .s_ready(under_ready),
      .s_data ({burst_side, burst_empty}),
      .m_valid(under_valid),
      .m_ready(pop),
      .m_data ({under_side, under_empty}),
      .level
  );
  assign m_axi.bready = under_valid && !under_empty;
  assign pop = under_valid && (under_empty || m_axi.bvalid);

  always_ff @(posedge clk) begin : answers
    stored <= pop && !rst;
    stored_empty <= under_empty;
    stored_error <= !under_empty && m_axi.bresp[1];
    stored_side <= under_side;
  end

  // One identifier; EXOKAY is OKAY, since no access is exclusive.
  logic unused;
  assign unused = &{1'b0, m_axi.bid, m_axi.bresp[0], 1'b0};

`ifndef SYNTHESIS
  // Immediate, since it looks at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_write_was_given :
      assert (!m_axi.bvalid || under_valid)
      else $error("fb_axi_write_master (%m): the memory answers a write that it was not given");
    end
  end
`endif

endmodule

`default_nettype wire
