// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What the streamer remembers of itself: counters, a histogram of latencies, and a trace of the
// last queue events. All three live in LUT RAM.
//
// Counters: events are gathered in small sums, and one adder goes round and carries a sum into its
// counter every 16 cycles; so a counter may be read some 20 cycles late, but never wrong.
// Histogram: bin k counts the commands that took 2^k to 2^(k+1) - 1 cycles from submission to
// completion.
// Trace: one word a cycle; where several events meet, the later kinds wait. If an event of the same
// kind comes before the first was written, the newer one is kept: a trace of fetches says "up to
// this place". Places and values of doorbells have the drive in their three upper bits.
//
// Handshake: `*_req` with an address in words is answered by `*_ack` one cycle later.
// The contents are cleared by the sweep after a restart.
//
// Does not implement: counters wider than 32 bits.

`default_nettype none

module fb_nvme_monitor
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
(
    input wire clk,
    input wire rst,
    input wire sweep,
    input wire [PAGE_BITS-1:0] sweep_index,
    input wire count_cycles,

    // Events.
    input wire submitted,
    input wire submitted_retry,
    input wire op_e submitted_op,
    input wire [TAG_BITS-1:0] submitted_tag,
    input wire [DRIVE_BITS-1:0] submitted_drive,
    input wire [SLOT_BITS-1:0] submitted_slot,
    input wire rejected,
    input wire [CODE_BITS-1:0] rejected_code,
    input wire fetched,
    input wire [DRIVE_BITS-1:0] fetched_drive,
    input wire [9:0] fetched_slot,
    input wire seen_t seen,
    input wire stray,  // a write into the queues that is no completion
    input wire timed_out,
    input wire sq_rung,
    input wire cq_rung,
    input wire doorbell_error,
    input wire [DRIVE_BITS-1:0] rung_drive,
    input wire [SLOT_BITS-1:0] rung_value,

    // Reading.
    input  wire         counter_req,
    input  wire  [ 3:0] counter_addr,
    output logic        counter_ack,
    output logic [31:0] counter_data,
    input  wire         bin_req,
    input  wire  [ 4:0] bin_addr,
    output logic        bin_ack,
    output logic [31:0] bin_data,
    input  wire         trace_req,
    input  wire  [ 5:0] trace_addr,
    output logic        trace_ack,
    output logic [63:0] trace_data
);

  // Counters, in the order of the register map.
  localparam int unsigned Counters = 16;
  logic [Counters-1:0] event_now;
  logic trace_we, rogue_phase;
  assign rogue_phase = seen.rogue_phase || stray;
  assign event_now = {
    doorbell_error,
    count_cycles,
    trace_we,
    cq_rung,
    sq_rung,
    rejected,
    seen.rogue_head,
    seen.rogue_cid,
    rogue_phase,
    timed_out,
    seen.failed,
    submitted && submitted_retry,
    seen.completed,
    submitted && !submitted_retry && submitted_op == OP_FLUSH,
    submitted && !submitted_retry && submitted_op == OP_READ,
    submitted && !submitted_retry && submitted_op == OP_WRITE
  };

  logic [4:0] sum_q[Counters];
  logic [3:0] scan_q, counter_addr_q, counter_index;
  logic counter_ack_q, carry, carry_q;
  logic [3:0] carry_index_q;
  logic [4:0] carry_sum_q;
  logic [31:0] counter_old, carry_old_q;
  assign carry = !counter_ack_q && !sweep;
  assign counter_index = counter_ack_q ? counter_addr_q : scan_q;
  always_ff @(posedge clk) begin
    counter_ack_q <= counter_req;
    counter_addr_q <= counter_addr;
    // Read in one cycle, written in the next: the same counter comes 16 cycles later.
    carry_q <= carry && !rst;
    carry_index_q <= scan_q;
    carry_sum_q <= sum_q[scan_q];
    carry_old_q <= counter_old;
    if (rst) scan_q <= '0;
    else if (carry) scan_q <= scan_q + 1'b1;
    for (int unsigned i = 0; i < Counters; i++) begin
      if (rst || sweep) sum_q[i] <= '0;
      else if (carry && scan_q == 4'(i)) sum_q[i] <= 5'(event_now[i]);
      else sum_q[i] <= sum_q[i] + 5'(event_now[i]);
    end
  end
  fb_common_lutram #(
      .Width(32),
      .Depth(Counters)
  ) u_counters (
      .clk,
      .we(carry_q || sweep),
      .waddr(sweep ? sweep_index[3:0] : carry_index_q),
      .wdata(sweep ? '0 : carry_old_q + 32'(carry_sum_q)),
      .raddr(counter_index),
      .rdata(counter_old)
  );
  assign counter_ack  = counter_ack_q;
  assign counter_data = counter_old;

  // Histogram: find the leading one, read its bin, count. Completions are three cycles apart or more.
  logic bin_ack_q, completed_q, bin_found_q, bin_read_q;
  logic [STAMP_BITS-1:0] latency_q;
  logic [4:0] bin_addr_q, bin_q, log2_latency;
  logic [31:0] bin_old, bin_old_q;
  logic bin_count;
  always_comb begin
    log2_latency = '0;
    for (int unsigned i = 1; i < STAMP_BITS; i++) if (latency_q[i]) log2_latency = 5'(i);
  end
  assign bin_count = bin_found_q && !bin_ack_q;
  always_ff @(posedge clk) begin
    bin_ack_q   <= bin_req;
    bin_addr_q  <= bin_addr;
    completed_q <= seen.completed && !rst;
    latency_q   <= seen.latency;
    if (rst) bin_found_q <= 1'b0;
    else bin_found_q <= completed_q || (bin_found_q && !bin_count);
    if (completed_q) bin_q <= log2_latency;
    bin_read_q <= bin_count && !rst;
    bin_old_q  <= bin_old;
  end
  fb_common_lutram #(
      .Width(32),
      .Depth(32)
  ) u_bins (
      .clk,
      .we(bin_read_q || sweep),
      .waddr(sweep ? sweep_index[4:0] : bin_q),
      .wdata(sweep ? '0 : bin_old_q + 1'b1),
      .raddr(bin_ack_q ? bin_addr_q : bin_q),
      .rdata(bin_old)
  );
  assign bin_ack  = bin_ack_q;
  assign bin_data = bin_old;

  // Trace.
  typedef struct packed {
    logic [15:0] detail;
    logic [11:0] cid;
    logic [3:0]  kind;
  } event_t;
  localparam int unsigned Sources = 5;
  logic [Sources-1:0] new_event, waits_q;
  event_t latest[Sources], event_q[Sources], chosen, chosen_q;
  logic [Sources-1:0] choice;
  logic chosen_valid_q;
  logic rogue;
  logic [31:0] cycle_q;
  logic [5:0] trace_head_q, trace_addr_q;
  logic trace_ack_q;

  assign rogue = rogue_phase || seen.rogue_cid;
  always_comb begin
    new_event[0] = seen.completed || rogue;
    latest[0].cid = 12'(seen.cid);
    latest[0].kind = rogue ? TRACE_ROGUE :
        (seen.status[10:0] != '0) ? TRACE_COMPLETE_ERROR : TRACE_COMPLETE;
    latest[0].detail = rogue ? 16'({seen.rogue_cid, rogue_phase}) :
        (seen.status[10:0] != '0) ? 16'(seen.status) : {seen.drive, seen.head};

    new_event[1] = submitted;
    latest[1].cid = 12'(submitted_tag);
    latest[1].kind = submitted_retry ? TRACE_RETRY : TRACE_SUBMIT;
    latest[1].detail = {submitted_drive, 13'(submitted_slot)};

    new_event[2] = sq_rung || cq_rung;
    latest[2].cid = '0;
    latest[2].kind = sq_rung ? TRACE_SQ_DOORBELL : TRACE_CQ_DOORBELL;
    latest[2].detail = {rung_drive, 13'(rung_value)};

    new_event[3] = fetched;
    latest[3].cid = '0;
    latest[3].kind = TRACE_FETCH;
    latest[3].detail = {fetched_drive, 13'(fetched_slot)};

    new_event[4] = timed_out || rejected;
    latest[4].cid = '0;
    latest[4].kind = timed_out ? TRACE_TIMEOUT : TRACE_REJECT;
    latest[4].detail = timed_out ? '0 : 16'(rejected_code);

    choice = '0;
    chosen = event_q[0];
    for (int i = Sources - 1; i >= 0; i--)
    if (waits_q[i]) begin
      choice = Sources'(1) << i;
      chosen = event_q[i];
    end
  end
  assign trace_we = chosen_valid_q && !sweep;

  always_ff @(posedge clk) begin
    trace_ack_q <= trace_req;
    trace_addr_q <= trace_addr;
    cycle_q <= rst ? '0 : cycle_q + 1'b1;
    chosen_q <= chosen;
    chosen_valid_q <= |waits_q && !rst;
    waits_q <= rst ? '0 : new_event | (waits_q & ~choice);
    for (int unsigned i = 0; i < Sources; i++) if (new_event[i]) event_q[i] <= latest[i];
    if (rst) trace_head_q <= '0;
    else if (trace_we) trace_head_q <= trace_head_q + 1'b1;
  end
  fb_common_lutram #(
      .Width(64),
      .Depth(64)
  ) u_trace (
      .clk,
      .we(trace_we || sweep),
      .waddr(sweep ? sweep_index[5:0] : trace_head_q),
      .wdata(sweep ? '0 : {chosen_q, cycle_q}),
      .raddr(trace_addr_q),
      .rdata(trace_data)
  );
  assign trace_ack = trace_ack_q;

`ifndef SYNTHESIS
  // The registers read one counter in three cycles at most, so each sum is added after 24 of them.
  always_ff @(posedge clk) begin : watch
    a_bin_is_free :
    assert (rst || !(completed_q && bin_found_q))
    else $error("fb_nvme_monitor (%m): a completion before the last one was counted");
    if (!rst && !sweep && !carry) begin
      for (int unsigned i = 0; i < Counters; i++) begin
        a_sum_has_room :
        assert (!(sum_q[i] == '1 && event_now[i]))
        else $error("fb_nvme_monitor (%m): an event of counter %0d is lost", i);
      end
    end
  end
`endif

endmodule

`default_nettype wire
