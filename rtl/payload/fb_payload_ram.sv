// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_ram: the payload memory, Pages x 4 KiB, 512 bits wide, two ports, one clock.
//
// What:        port A belongs to the stream side, port B to the SSD. Each reads or writes one 64 B
//              word a cycle. Meant for UltraRAM: 128 of them at the default 1024 pages.
// Handshake:   none. `a_en` with `a_we` writes, `a_en` alone reads; `b_en` with any byte strobe in
//              `b_we` writes those bytes, `b_en` with none reads.
// Latency:     read data is on *_rdata ReadLatency cycles after the cycle of *_en and stays until the
//              next read arrives there. A write is seen by reads from the next cycle on. Up to three
//              cycles are the array, its output register and one of the cascade; with more the first
//              is a register at the inputs, and the rest are the cascade's, of eight columns with
//              Pages / 64 blocks each.
// Throughput:  64 B a cycle and port, reads and writes in any mixture.
// Limits:      both ports never touch the same word in the same cycle with a write among them:
//              a page belongs either to the stream side or to a command the SSD works on. If a
//              faulty SSD breaks this, a read returns old or new bytes; nothing else suffers.
// Does not implement: reset of contents, ECC, sleep.

`default_nettype none

module fb_payload_ram #(
    parameter int unsigned Pages = 1024,  // pages of 4 KiB, a power of two, 2 to 4096
    parameter int unsigned ReadLatency = 3,  // cycles, 1 to 16
    localparam int unsigned Words = Pages * 64,
    localparam int unsigned AddrBits = $clog2(Words)
) (
    input wire clk,

    input  wire                 a_en,
    input  wire                 a_we,
    input  wire  [AddrBits-1:0] a_addr,
    input  wire  [       511:0] a_wdata,
    output logic [       511:0] a_rdata,

    input  wire                 b_en,
    input  wire  [        63:0] b_we,
    input  wire  [AddrBits-1:0] b_addr,
    input  wire  [       511:0] b_wdata,
    output logic [       511:0] b_rdata
);

  if (Pages < 2 || Pages > 4096 || (Pages & (Pages - 1)) != 0) begin : gen_bad_pages
    $fatal(1, "fb_payload_ram (%m): Pages=%0d must be a power of two from 2 to 4096", Pages);
  end
  if (ReadLatency < 1 || ReadLatency > 16) begin : gen_bad_latency
    $fatal(1, "fb_payload_ram (%m): ReadLatency=%0d must be from 1 to 16", ReadLatency);
  end

  localparam bit InputRegister = ReadLatency > 3;
  localparam int unsigned Stages = ReadLatency - 32'(InputRegister);  // from the array on

  // What the array is asked for, by each port.
  logic a_on, a_writes, b_on;
  logic [AddrBits-1:0] a_at, b_at;
  logic [63:0] b_strobes;
  logic [511:0] a_word, b_word;

  if (InputRegister) begin : gen_register
    always_ff @(posedge clk) begin : inputs
      {a_on, a_writes, a_at, a_word}  <= {a_en, a_we, a_addr, a_wdata};
      {b_on, b_strobes, b_at, b_word} <= {b_en, b_we, b_addr, b_wdata};
    end
  end else begin : gen_direct
    assign {a_on, a_writes, a_at, a_word}  = {a_en, a_we, a_addr, a_wdata};
    assign {b_on, b_strobes, b_at, b_word} = {b_en, b_we, b_addr, b_wdata};
  end

  (* ram_style = "ultra" *)
  logic [511:0] store[Words];

  // Element 0 is the array's own read register, the others are pipeline registers that the
  // synthesizer moves into the memory blocks. Each moves only when a read passes, as UltraRAM's
  // output registers do.
  logic [511:0] a_pipe_q[Stages], b_pipe_q[Stages];
  logic [Stages-1:0] a_move_q, b_move_q;

  assign a_rdata = a_pipe_q[Stages-1];
  assign b_rdata = b_pipe_q[Stages-1];

  // Two processes write the array, one a port: the form in which tools know a true dual port.
  /* verilator lint_off MULTIDRIVEN */
  always @(posedge clk) begin : port_a
    if (a_on) begin
      if (a_writes) store[a_at] <= a_word;
      else a_pipe_q[0] <= store[a_at];
    end
  end

`ifdef SYNTHESIS
  always @(posedge clk) begin : port_b
    if (b_on) begin
      for (int i = 0; i < 64; i++) begin
        if (b_strobes[i]) store[b_at][8*i+:8] <= b_word[8*i+:8];
      end
      if (b_strobes == '0) b_pipe_q[0] <= store[b_at];
    end
  end
`else
  // The same in one assignment of a word: simulators pay for every assignment to an array element.
  // The tests run both.
  logic [511:0] b_mask;

  always_comb begin : strobes_to_mask
    b_mask = '0;
    if (b_on && b_strobes != '0 && b_strobes != '1) begin
      for (int i = 0; i < 64; i++) b_mask[8*i+:8] = {8{b_strobes[i]}};
    end
  end

  always @(posedge clk) begin : port_b
    if (b_on) begin
      if (b_strobes == '1) store[b_at] <= b_word;
      else if (b_strobes != '0) store[b_at] <= (store[b_at] & ~b_mask) | (b_word & b_mask);
      else b_pipe_q[0] <= store[b_at];
    end
  end
`endif
  /* verilator lint_on MULTIDRIVEN */

  always_ff @(posedge clk) begin : moves
    a_move_q <= Stages'({a_move_q, a_on && !a_writes});
    b_move_q <= Stages'({b_move_q, b_on && b_strobes == '0});
  end

  for (genvar i = 1; i < Stages; i++) begin : gen_pipe
    always_ff @(posedge clk) begin : stage
      if (a_move_q[i-1]) a_pipe_q[i] <= a_pipe_q[i-1];
      if (b_move_q[i-1]) b_pipe_q[i] <= b_pipe_q[i-1];
    end
  end

`ifndef SYNTHESIS
  no_double_write :
  assert property (@(posedge clk) !(a_en && a_we && b_en && b_we != '0 && a_addr == b_addr))
  else $error("fb_payload_ram (%m): both ports write word %0h", a_addr);
`endif

endmodule

`default_nettype wire
