// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_queues: commands wait for their drive, and hold up none for another.
//
// What:        a queue of writes and one of reads for each drive, all in one memory. Those whose drive
//              has room for a command take turns. A drive that goes offline loses what waits for it,
//              and is sent one command more at most; fb_nvme_reorder answers all of them.
// Handshake:   `s_ready[d]`: drive d has room. What is not taken at once is offered anew after others.
// Latency:     6 cycles. Throughput: a command in five cycles; a division takes 25 (fb_raid_map).
// Does not implement: an order between the commands of different queues.

`default_nettype none

module fb_raid_queues
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Drives = 2,   // 2 to 8
    parameter int unsigned Depth  = 128  // commands in each queue, a power of two, 8 or more
) (
    input wire clk,
    input wire rst,

    input wire [DRIVES_MOST-1:0] offline,
    input wire [     Drives-1:0] open,     // the drive has room for a command

    input  wire                           s_valid,
    output logic             [Drives-1:0] s_ready,
    input  wire descriptor_t              s_descriptor,

    output logic        m_valid,
    input  wire         m_ready,
    output descriptor_t m_descriptor
);

  if (Drives < 2 || Drives > DRIVES_MOST) begin : gen_bad_drives
    $fatal(1, "fb_raid_queues (%m): Drives=%0d must be from 2 to 8", Drives);
  end
  if (Depth < 8 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "fb_raid_queues (%m): Depth=%0d must be a power of two, 8 or more", Depth);
  end

  localparam int unsigned Queues = 2 * Drives;  // the lowest bit: 1 for reads
  localparam int unsigned QueueBits = $clog2(Queues), PlaceBits = $clog2(Depth);

  logic push_q;
  descriptor_t pushed_q;
  logic [QueueBits-1:0] into;  // which queue that goes into
  logic [Queues-1:0][PlaceBits:0] head_q, tail_q;  // the oldest command, and behind the newest
  logic [QueueBits-1:0] choice, chosen_q;
  logic [Queues-1:0] waits_q, room;  // waits_q: commands whose drive is open
  logic choose, rest_q, take;
  logic [1:0] read_q;  // what was chosen is being read

  assign into = {pushed_q.drive[QueueBits-2:0], pushed_q.op == OP_READ};
  assign take = m_valid && m_ready;

  // Three may be on their way before this is known.
  for (genvar i = 0; i < int'(Queues); i++) begin : gen_room
    assign room[i] = tail_q[i] - head_q[i] < (PlaceBits + 1)'(Depth - 3);
  end
  fb_common_turn #(
      .Sources(Queues)
  ) u_turn (
      .wants(waits_q),
      .last (chosen_q),
      .next (choice)
  );
  // What was taken shows in waits_q two cycles later.
  assign choose = waits_q != '0 && read_q == '0 && !m_valid && !rest_q;

  always_ff @(posedge clk) begin
    push_q   <= s_valid && !rst;
    pushed_q <= s_descriptor;
    read_q   <= rst ? '0 : {read_q[0], choose};
    m_valid  <= read_q[1] && !offline[DRIVE_BITS'(chosen_q>>1)] && !rst;
    rest_q   <= m_valid;
    if (choose) chosen_q <= choice;
    for (int unsigned i = 0; i < Queues; i++) begin
      waits_q[i] <= head_q[i] != tail_q[i] && open[i/2] && !offline[i/2] && !rst;
      if (push_q && into == QueueBits'(i)) tail_q[i] <= tail_q[i] + 1'b1;
      if (take && chosen_q == QueueBits'(i)) head_q[i] <= head_q[i] + 1'b1;
      if (rst || offline[i/2]) begin
        head_q[i] <= '0;
        tail_q[i] <= '0;
      end
    end
    for (int unsigned d = 0; d < Drives; d++) s_ready[d] <= room[2*d] && room[2*d+1];
  end

  fb_common_table #(
      .Width($bits(descriptor_t)),
      .Depth((1 << QueueBits) * Depth)
  ) u_commands (
      .clk,
      .we(push_q),
      .waddr({into, tail_q[into][PlaceBits-1:0]}),
      .wdata(pushed_q),
      .raddr({chosen_q, head_q[chosen_q][PlaceBits-1:0]}),
      .rdata(m_descriptor)
  );

`ifndef SYNTHESIS
  a_has_room :
  assert property (@(posedge clk) disable iff (rst)
                   push_q |-> tail_q[into] - head_q[into] != (PlaceBits + 1)'(Depth))
  else $error("fb_raid_queues (%m): a command without room for it");
`endif

endmodule

`default_nettype wire
