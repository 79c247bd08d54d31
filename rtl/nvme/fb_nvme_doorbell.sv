// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_doorbell: tells each SSD how far its queues have moved (NVMe Base 2.0c 3.1.25, 3.1.26).
//
// What:        AXI4-Lite initiator that writes submission queue tails and completion queue heads to
//              their doorbells whenever they differ from what was last written. One write is
//              outstanding; values that change meanwhile are coalesced into the next one, and the
//              last value is never left unannounced. Who waits is served in turn: drive by drive,
//              the submission queue of each first.
// Handshake:   AXI4-Lite; address and data may be accepted in any order. sq_tail and cq_head are
//              levels, from registers. The addresses are those of the drive that ring_drive names in
//              the same cycle.
// Latency:     3 cycles from a change to awvalid and wvalid: to compare, to choose, to ring.
// Throughput:  one doorbell per round trip of the write, at best one in 4 cycles.
// Limits:      a doorbell answered with an error is counted, not repeated: its value may have
//              arrived, and the next one replaces it. While `enable` is low nothing is started and
//              both values count as announced 0; a write under way is completed.
// Does not implement: reads.

`default_nettype none

module fb_nvme_doorbell #(
    parameter int unsigned Drives = 1  // 1 to 8
) (
    input wire clk,
    input wire rst,

    input  wire                     enable,
    input  wire  [Drives-1:0][10:0] sq_tail,
    input  wire  [Drives-1:0][10:0] cq_head,
    output logic [       2:0]       ring_drive,  // whose addresses are needed
    input  wire  [      63:0]       sq_address,  // bus address of its submission queue doorbell
    input  wire  [      63:0]       cq_address,  // bus address of its completion queue doorbell
    input  wire  [      63:0]       offset,      // added to both, modulo 2^64

    output logic        sq_rung,     // pulse: rung_value was sent to a submission doorbell
    output logic        cq_rung,     // pulse: rung_value was sent to a completion doorbell
    output logic [ 2:0] rung_drive,
    output logic [10:0] rung_value,
    output logic        error,       // pulse: a doorbell write was answered with an error

    fb_axil_if.initiator m_axil_db
);

  if (Drives < 1 || Drives > 8) begin : gen_bad_drives
    $fatal(1, "fb_nvme_doorbell (%m): Drives=%0d must be from 1 to 8", Drives);
  end

  // The values in the order of service, each submission queue before the completion queue.
  localparam int unsigned Bells = 2 * Drives;
  localparam int unsigned BellBits = $clog2(Bells);

  logic [Bells-1:0][10:0] now, sent_q;  // what is to be announced, what was last
  logic [Bells-1:0] waits_q;
  logic [BellBits-1:0] first, bell_q, last_q;  // to be rung next, now; rung last
  logic any_q;  // bell_q waits
  logic [2:0] settles_q;  // a bell was rung, and waits_q and bell_q do not know it yet
  logic [63:0] address_q;
  logic busy_q, aw_valid_q, w_valid_q, pick_cq, start, answered;

  always_comb begin
    for (int unsigned i = 0; i < Drives; i++) begin
      now[2*i]   = sq_tail[i];
      now[2*i+1] = cq_head[i];
    end
  end
  fb_common_turn #(
      .Sources(Bells)
  ) u_turn (
      .wants(waits_q),
      .last (last_q),
      .next (first)
  );

  // Compare, choose and ring are a cycle each.
  always_ff @(posedge clk) begin : choose
    for (int unsigned i = 0; i < Bells; i++) waits_q[i] <= now[i] != sent_q[i];
    bell_q <= first;
    any_q <= waits_q != '0 && enable && !rst;
    settles_q <= (rst || !enable) ? '1 : {settles_q[1:0], start};
  end
  assign pick_cq = bell_q[0];
  assign ring_drive = 3'(bell_q >> 1);
  assign answered = m_axil_db.bvalid && m_axil_db.bready;
  assign start = enable && any_q && settles_q == '0 && !busy_q;

  always_ff @(posedge clk) begin : ring
    sq_rung <= start && !pick_cq && !rst;
    cq_rung <= start && pick_cq && !rst;
    error   <= answered && m_axil_db.bresp != 2'b00 && !rst;
    if (m_axil_db.awready) aw_valid_q <= 1'b0;
    if (m_axil_db.wready) w_valid_q <= 1'b0;
    if (answered) busy_q <= 1'b0;
    // The address is kept: the registers behind sq_address may change once `enable` is low, while
    // a write is still under way.
    if (start) begin
      {busy_q, aw_valid_q, w_valid_q} <= '1;
      address_q <= (pick_cq ? cq_address : sq_address) + offset;
      rung_value <= now[bell_q];
      rung_drive <= ring_drive;
      last_q <= bell_q;
      sent_q[bell_q] <= now[bell_q];
    end
    if (rst) {busy_q, aw_valid_q, w_valid_q} <= '0;
    if (rst || !enable) begin
      sent_q <= '0;
      last_q <= '1;
    end
  end

  assign m_axil_db.awaddr  = address_q;
  assign m_axil_db.awvalid = aw_valid_q;
  assign m_axil_db.wdata   = 32'(rung_value);
  assign m_axil_db.wstrb   = 4'hF;
  assign m_axil_db.wvalid  = w_valid_q;
  assign m_axil_db.bready  = busy_q && !aw_valid_q && !w_valid_q;

  assign m_axil_db.araddr  = '0;
  assign m_axil_db.arvalid = 1'b0;
  assign m_axil_db.rready  = 1'b0;

  logic unused;
  assign unused = &{1'b0, m_axil_db.arready, m_axil_db.rdata, m_axil_db.rresp, m_axil_db.rvalid};

`ifndef SYNTHESIS
  answer_after_write :
  assert property (@(posedge clk) disable iff (rst)
                   m_axil_db.bvalid |-> busy_q && !(aw_valid_q && !m_axil_db.awready) &&
                                        !(w_valid_q && !m_axil_db.wready))
  else $error("fb_nvme_doorbell (%m): bvalid without a write that was accepted");

  never_reads :
  assert property (@(posedge clk) disable iff (rst) !m_axil_db.rvalid)
  else $error("fb_nvme_doorbell (%m): rvalid although nothing was read");

  // Compared, chosen, rung: after that many cycles a value is on its way.
  logic [2:0] late_q;
  always_ff @(posedge clk)
    late_q <= (rst || !enable || busy_q || waits_q == '0) ? '0 : late_q + 3'(late_q != '1);
  last_value_announced :
  assert property (@(posedge clk) disable iff (rst) late_q < 3'd5)
  else $error("fb_nvme_doorbell (%m): idle with an unannounced value");
`endif

endmodule

`default_nettype wire
