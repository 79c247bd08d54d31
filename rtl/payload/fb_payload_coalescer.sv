// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_coalescer: beats, as they come, become bursts for the memory.
//
// What:        a burst grows as long as the next beat is the next word of the same 4 KiB page. It
//              is closed by a beat that is not, by the end of its page, by `s_end`, by `flush`, or
//              when no beat has come for IdleCycles. The data go past this module, in order, into
//              a FIFO of the owner's.
// Handshake:   beats are always taken; the owner stops them by the level of the bursts. `s_end`
//              comes with a beat or after it, never in two cycles in a row: the burst of that beat
//              bears the mark; where it has gone already, an empty burst does.
// Latency:     2 cycles from the last beat of a burst to m_valid.
// Throughput:  a beat a cycle.
// Does not implement: anything about data.

`default_nettype none

module fb_payload_coalescer #(
    parameter int unsigned AddrBits   = 21,  // of a 64-byte word, 7 or more
    parameter int unsigned Depth      = 64,  // bursts that may wait, a power of two
    parameter int unsigned IdleCycles = 0    // close after a pause of so many; 0: never
) (
    input wire clk,
    input wire rst,

    input wire                s_valid,
    input wire [AddrBits-1:0] s_addr,
    input wire                s_end,
    input wire                flush,

    output logic                open,       // a burst is growing
    output logic [AddrBits-1:0] open_addr,  // where it begins
    output logic                begins,     // a new one began in this cycle

    output logic                   m_valid,
    input  wire                    m_ready,
    output logic [   AddrBits-1:0] m_addr,
    output logic [            5:0] m_count_m1,  // beats - 1
    output logic                   m_end,
    output logic                   m_empty,     // no beats: it only bears the mark
    output logic [$clog2(Depth):0] level
);

  typedef struct packed {
    logic                empty;
    logic                mark;
    logic [AddrBits-1:0] addr;
    logic [5:0]          count_m1;
  } burst_t;

  localparam int unsigned IdleBits = (IdleCycles > 1) ? $clog2(IdleCycles + 1) : 1;

  burst_t burst_q, pushed, head;
  logic open_q, done_q;
  logic [AddrBits-1:0] next_q;
  logic [IdleBits-1:0] idle_q;
  logic goes_on, idle, push, fifo_ready;

  // Where the page has ended next_q is its begin, and done_q is set.
  assign goes_on = open_q && !done_q && s_addr == next_q;
  assign idle = IdleCycles != 0 && idle_q == IdleBits'(IdleCycles);
  assign push = (open_q && (done_q || (s_valid && !goes_on))) || (s_end && !s_valid && !open_q);

  always_comb begin : what_is_pushed
    pushed = burst_q;
    pushed.empty = !open_q;
    // A mark that comes alone is that of the burst which leaves just now.
    pushed.mark = !open_q || burst_q.mark || (s_end && !s_valid);
  end

  always_ff @(posedge clk) begin : grow
    if (s_valid) begin
      next_q <= {s_addr[AddrBits-1:6], s_addr[5:0] + 6'd1};
      if (goes_on) begin
        burst_q.count_m1 <= burst_q.count_m1 + 1'b1;
      end else begin
        burst_q.addr <= s_addr;
        burst_q.count_m1 <= '0;
      end
      burst_q.mark <= s_end;
    end else if (s_end) begin
      burst_q.mark <= 1'b1;
    end
    burst_q.empty <= 1'b0;
    if (s_valid) done_q <= s_end || flush || s_addr[5:0] == '1;
    else done_q <= s_end || flush || idle;
    open_q <= s_valid || (open_q && !push);
    idle_q <= s_valid ? '0 : idle_q + IdleBits'(!idle);
    if (rst) open_q <= 1'b0;
  end

  assign open = open_q;
  assign open_addr = burst_q.addr;
  assign begins = s_valid && !goes_on;

  fb_common_fifo #(
      .Width($bits(burst_t)),
      .Depth(Depth)
  ) u_bursts (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(fifo_ready),
      .s_data (pushed),
      .m_valid,
      .m_ready,
      .m_data (head),
      .level
  );

  assign m_addr = head.addr;
  assign m_count_m1 = head.count_m1;
  assign m_end = head.mark;
  assign m_empty = head.empty;

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_bursts_have_room :
      assert (!push || fifo_ready)
      else $error("fb_payload_coalescer (%m): a burst without room for it");
      a_one_mark_a_burst :
      assert (!(open_q && burst_q.mark && s_end && !s_valid))
      else $error("fb_payload_coalescer (%m): a second mark for the same burst");
    end
  end
`else
  logic unused;
  assign unused = fifo_ready;
`endif

endmodule

`default_nettype wire
