// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Read path, second half: from the buffer to the user's stream.
//
// Deliveries come in order from retirement and leave as beats; a page is freed when its last beat
// has been read out of memory. TKEEP is exact on the last beat of a read. A failed read ends with
// one beat without data: TLAST, TUSER, TKEEP zero, and the error code in TDATA[7:0].
//
// The memory port is shared with the write path: while there is something to deliver, `hold` asks
// the writer for every second cycle.
// Handshake: `delivery_valid`/`delivery_ready`; AXI4-Stream out.
// Latency: ReadLatency + 2 cycles from a delivery to its first beat.
// Throughput: 64 bytes a cycle, none lost between deliveries.
// 512-bit registers: none; a FIFO in LUT RAM takes up what the memory has under way.
//
// Does not implement: any choice of what comes next.

`default_nettype none

module fb_nvme_deliver
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned ReadLatency = 3,  // of the memory, cycles
    parameter int unsigned FifoDepth   = 16  // beats; more than ReadLatency + 2, a power of two
) (
    input wire clk,
    input wire rst,     // of the whole streamer
    input wire restart, // a new life of the queue: forget everything but a read half sent

    input  wire            delivery_valid,
    output logic           delivery_ready,
    input  wire delivery_t delivery,

    output logic       free_step,
    output logic [8:0] free_count,

    input  wire                            mem_busy,  // the write path has the port
    output logic                           hold,
    output logic                           mem_re,
    output logic [PAGE_BITS+BEAT_BITS-1:0] mem_addr,
    input  wire  [          DATA_BITS-1:0] mem_rdata,

    output logic                     m_axis_rd_tvalid,
    input  wire                      m_axis_rd_tready,
    output logic [    DATA_BITS-1:0] m_axis_rd_tdata,
    output logic [  DATA_BITS/8-1:0] m_axis_rd_tkeep,
    output logic                     m_axis_rd_tlast,
    output logic                     m_axis_rd_tuser,
    output logic [READ_TAG_BITS-1:0] m_axis_rd_tid,

    output logic empty  // nothing under way
);

  if (FifoDepth < ReadLatency + 2) begin : gen_bad_depth
    $fatal(
        1,
        "fb_nvme_deliver (%m): FifoDepth=%0d must be at least ReadLatency + 2 = %0d",
        FifoDepth,
        ReadLatency + 2
    );
  end

  localparam int unsigned CreditBits = $clog2(FifoDepth) + 1;

  // What goes with a beat besides its data.
  typedef struct packed {
    logic                     last;
    logic                     fail;
    logic [5:0]               top;   // index of the last valid byte
    logic [READ_TAG_BITS-1:0] tag;
  } side_t;

  logic job_valid, job_done;
  delivery_t job;
  fb_common_fifo #(
      .Width($bits(delivery_t)),
      .Depth(4),
      .OutputRegister(1'b1)
  ) u_jobs (
      .clk,
      .rst(restart),
      .s_valid(delivery_valid),
      .s_ready(delivery_ready),
      .s_data(delivery),
      .m_valid(job_valid),
      .m_ready(job_done),
      .m_data(job),
      .level()
  );

  logic [SIZE_BITS-7:0] beat_q;
  logic [CreditBits-1:0] credits_q;  // places in the output FIFO not spoken for
  logic turn_q;
  logic sends, send, final_beat, pop;
  assign sends = job_valid && !job.mute && credits_q != '0;
  assign send = sends && !mem_busy;
  assign final_beat = job.fail || beat_q == job.size[SIZE_BITS-1:6];
  assign job_done = job_valid && (job.mute || (send && final_beat));

  assign hold = turn_q;
  assign mem_re = send && !job.fail;
  assign mem_addr = {job.page + PAGE_BITS'(beat_q[SIZE_BITS-7:6]), beat_q[5:0]};

  // Pages are freed one by one as they are read out, all at once where nothing is sent.
  always_ff @(posedge clk) begin
    if (job.mute || job.fail) begin
      free_step  <= job_done && !job.keep && !restart;
      free_count <= {1'b0, job.size[SIZE_BITS-1:12]} + 9'd1;
    end else begin
      free_step  <= send && !job.keep && (final_beat || beat_q[5:0] == '1) && !restart;
      free_count <= 9'd1;
    end
  end

  // A read that was cut in two by a restart gets an end, before anything else is sent.
  logic inside_q, torn_q, mend;
  assign mend = torn_q && !restart;
  always_ff @(posedge clk) begin
    if (rst) inside_q <= 1'b0;
    else if (pop) inside_q <= !m_axis_rd_tlast;
    torn_q <= restart && (pop ? !m_axis_rd_tlast : inside_q) && !rst;
  end

  always_ff @(posedge clk) begin
    if (restart) begin
      beat_q <= '0;
      credits_q <= CreditBits'(FifoDepth);
      turn_q <= 1'b0;
    end else begin
      if (send) beat_q <= final_beat ? '0 : beat_q + 1'b1;
      credits_q <= credits_q - CreditBits'(send || mend) + CreditBits'(pop);
      turn_q <= sends && !turn_q;
    end
  end

  // Alongside the memory.
  logic [ReadLatency-1:0] under_way_q;
  side_t side_q[ReadLatency];
  logic [CODE_BITS-1:0] code_q[ReadLatency];
  side_t side;
  assign side = '{
          last: mend || job.fail || (job.last && final_beat),
          fail: mend || job.fail,
          top: (job.last && final_beat) ? job.size[5:0] : 6'h3f,
          tag: job.tag
      };
  always_ff @(posedge clk) begin
    if (restart) under_way_q <= '0;
    else under_way_q <= ReadLatency'({under_way_q, send || mend});
    side_q[0] <= side;
    code_q[0] <= mend ? ERR_HALTED : job.code;
    for (int unsigned i = 1; i < ReadLatency; i++) begin
      side_q[i] <= side_q[i-1];
      code_q[i] <= code_q[i-1];
    end
  end

  // Only the low byte ever carries a code.
  side_t out_side, side_late;
  logic [DATA_BITS-1:0] beat_data;
  assign side_late = side_q[ReadLatency-1];
  assign beat_data = {
    mem_rdata[DATA_BITS-1:CODE_BITS],
    side_late.fail ? code_q[ReadLatency-1] : mem_rdata[CODE_BITS-1:0]
  };

  fb_common_fifo #(
      .Width(DATA_BITS + $bits(side_t)),
      .Depth(FifoDepth)
  ) u_beats (
      .clk,
      .rst(restart),
      .s_valid(under_way_q[ReadLatency-1]),
      .s_ready(),
      .s_data({side_late, beat_data}),
      .m_valid(m_axis_rd_tvalid),
      .m_ready(m_axis_rd_tready),
      .m_data({out_side, m_axis_rd_tdata}),
      .level()
  );
  assign pop = m_axis_rd_tvalid && m_axis_rd_tready;

  always_comb begin
    for (int unsigned i = 0; i < DATA_BITS / 8; i++)
    m_axis_rd_tkeep[i] = !out_side.fail && (6'(i) <= out_side.top);
  end
  assign m_axis_rd_tlast = out_side.last;
  assign m_axis_rd_tuser = out_side.fail;
  assign m_axis_rd_tid = out_side.tag;
  assign empty = !job_valid && credits_q == CreditBits'(FifoDepth);

  fb_axis_check #(
      .Width(DATA_BITS + $bits(side_t)),
      .Name ("m_axis_rd")
  ) u_check (
      .clk,
      .rst  (restart),
      .valid(m_axis_rd_tvalid),
      .ready(m_axis_rd_tready),
      .data ({out_side, m_axis_rd_tdata})
  );

endmodule

`default_nettype wire
