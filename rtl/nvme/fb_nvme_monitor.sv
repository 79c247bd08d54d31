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
// Handshake: `monitor_read` is answered by `monitor_data` one cycle later. The sweep clears the contents.
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
    input wire submitted_t submitted,
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

    input wire monitor_read_t monitor_read,
    output monitor_data_t monitor_data
);

  // Counters, in the order of the register map.
  localparam int unsigned Counters = 16;
  logic [Counters-1:0] event_now;
  logic trace_we, rogue_phase, fresh;
  monitor_read_t read_q;
  always_ff @(posedge clk) read_q <= monitor_read;
  assign rogue_phase = seen.rogue_phase || stray;
  assign fresh = submitted.valid && !submitted.retry;
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
    submitted.valid && submitted.retry,
    seen.completed,
    fresh && submitted.descriptor.op == OP_FLUSH,
    fresh && submitted.descriptor.op == OP_READ,
    fresh && submitted.descriptor.op == OP_WRITE
  };

  (* ram_style = "distributed" *)
  logic [31:0] counters[Counters];
  logic [4:0] sum_q[Counters], carry_sum_q;
  logic [3:0] scan_q, carry_index_q, counter_put, counter_get;
  logic carry, carry_q;
  logic [31:0] carry_old_q;
  assign counter_put = sweep ? sweep_index[3:0] : carry_index_q;
  assign counter_get = read_q.counter ? read_q.addr[3:0] : scan_q;
  assign monitor_data.counter = counters[counter_get];
  assign carry = !read_q.counter && !sweep;
  always_ff @(posedge clk) begin
    // Read in one cycle, written in the next: the same counter comes 16 cycles later.
    carry_q <= carry && !rst;
    carry_index_q <= scan_q;
    carry_sum_q <= sum_q[scan_q];
    carry_old_q <= monitor_data.counter;
    if (carry_q || sweep) counters[counter_put] <= sweep ? '0 : carry_old_q + 32'(carry_sum_q);
    if (rst) scan_q <= '0;
    else if (carry) scan_q <= scan_q + 1'b1;
    for (int unsigned i = 0; i < Counters; i++) begin
      if (rst || sweep) sum_q[i] <= '0;
      else if (carry && scan_q == 4'(i)) sum_q[i] <= 5'(event_now[i]);
      else sum_q[i] <= sum_q[i] + 5'(event_now[i]);
    end
  end

  // Histogram: find the leading one, read its bin, count. Completions are three cycles apart or more.
  (* ram_style = "distributed" *)
  logic [31:0] histogram[32];
  logic completed_q, bin_count, bin_found_q, bin_read_q;
  logic [STAMP_BITS-1:0] latency_q;
  logic [4:0] bin_q, bin_put, bin_get, log2_latency;
  logic [31:0] bin_old_q;
  always_comb begin
    log2_latency = '0;
    for (int unsigned i = 1; i < STAMP_BITS; i++) if (latency_q[i]) log2_latency = 5'(i);
  end
  assign bin_put = sweep ? sweep_index[4:0] : bin_q;
  assign bin_get = read_q.bin ? read_q.addr[4:0] : bin_q;
  assign monitor_data.bin = histogram[bin_get];
  assign bin_count = bin_found_q && !read_q.bin;
  always_ff @(posedge clk) begin
    completed_q <= seen.completed && !rst;
    latency_q   <= seen.latency;
    bin_found_q <= (completed_q || (bin_found_q && !bin_count)) && !rst;
    if (completed_q) bin_q <= log2_latency;
    bin_read_q <= bin_count && !rst;
    bin_old_q  <= monitor_data.bin;
    if (bin_read_q || sweep) histogram[bin_put] <= sweep ? '0 : bin_old_q + 1'b1;
  end

  // Trace.
  typedef struct packed {
    logic [15:0] detail;
    logic [11:0] cid;
    logic [3:0]  kind;
  } event_t;
  (* ram_style = "distributed" *)
  logic [63:0] trace[64];
  localparam int unsigned Sources = 5;
  logic [Sources-1:0] new_event, waits_q, choice;
  event_t latest[Sources], event_q[Sources], chosen, chosen_q;
  logic chosen_valid_q, rogue, failed;
  logic [31:0] cycle_q;
  logic [5:0] trace_head_q, trace_put;

  assign rogue = rogue_phase || seen.rogue_cid;
  assign failed = seen.status[10:0] != '0;
  assign new_event = {
    timed_out || rejected, fetched, sq_rung || cq_rung, submitted.valid, seen.completed || rogue
  };
  always_comb begin
    latest[0].cid = 12'(seen.cid);
    latest[0].kind = rogue ? TRACE_ROGUE : failed ? TRACE_COMPLETE_ERROR : TRACE_COMPLETE;
    latest[0].detail = rogue ? 16'({seen.rogue_cid, rogue_phase}) :
        failed ? 16'(seen.status) : {seen.drive, seen.head};
    latest[1].cid = 12'(submitted.tag);
    latest[1].kind = submitted.retry ? TRACE_RETRY : TRACE_SUBMIT;
    latest[1].detail = {submitted.descriptor.drive, 13'(submitted.slot)};
    latest[2].kind = sq_rung ? TRACE_SQ_DOORBELL : TRACE_CQ_DOORBELL;
    latest[2].detail = {rung_drive, 13'(rung_value)};
    latest[3].kind = TRACE_FETCH;
    latest[3].detail = {fetched_drive, 13'(fetched_slot)};
    latest[4].kind = timed_out ? TRACE_TIMEOUT : TRACE_REJECT;
    latest[4].detail = timed_out ? '0 : 16'(rejected_code);
    for (int i = 2; i < int'(Sources); i++) latest[i].cid = '0;

    choice = '0;
    chosen = event_q[0];
    for (int i = Sources - 1; i >= 0; i--)
    if (waits_q[i]) begin
      choice = Sources'(1) << i;
      chosen = event_q[i];
    end
  end
  assign trace_we = chosen_valid_q && !sweep;
  assign trace_put = sweep ? sweep_index[5:0] : trace_head_q;
  assign monitor_data.trace = trace[read_q.addr];

  always_ff @(posedge clk) begin
    cycle_q <= rst ? '0 : cycle_q + 1'b1;
    chosen_q <= chosen;
    chosen_valid_q <= |waits_q && !rst;
    waits_q <= rst ? '0 : new_event | (waits_q & ~choice);
    for (int unsigned i = 0; i < Sources; i++) if (new_event[i]) event_q[i] <= latest[i];
    if (rst) trace_head_q <= '0;
    else if (trace_we) trace_head_q <= trace_head_q + 1'b1;
    if (trace_we || sweep) trace[trace_put] <= sweep ? '0 : {chosen_q, cycle_q};
  end
  assign {monitor_data.counter_ack, monitor_data.bin_ack, monitor_data.trace_ack} = {
    read_q.counter, read_q.bin, read_q.trace
  };

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
