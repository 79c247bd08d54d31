// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_queue: the window in which each SSD finds its submission queue and leaves its completions.
//
// What:        AXI4 target. The queues of drive d stand at 2 * CqOffset * d. A read of submission
//              queue entry i, at 64 * i, asks fetch_slot for the entry and passes fetch_sqe on:
//              nothing is stored. A write into the completion queue, entry i at CqOffset + 16 * i,
//              leaves as a completion once its Dword 3 is written (NVMe Base 2.0c 3.3.3.2). The entry may come in one 16 B write, in halves or in
//              Dwords in ascending order, or up to four entries in one beat.
// Handshake:   AXI4, INCR bursts of any size; narrow beats get the whole 64 B word. fetch_valid is
//              a pulse and is answered FetchLatency cycles later. cqe_valid waits for cqe_ready.
// Latency:     AR to R handshake FetchLatency + 2 cycles; W handshake to cqe_valid 1 cycle if the
//              AW is not later than the W.
// Throughput:  reads one entry a cycle without gaps between bursts. Writes one beat in 2 cycles,
//              and a beat with n completions takes n + 1 cycles.
// Limits:      the identifier of the submission queue in Dword 2 is not looked at: a drive has one
//              queue. Dword 3 counts only when all of its bytes are written at once. Reads
//              elsewhere return 0; writes elsewhere pulse `stray_write` and are ignored. FIXED,
//              WRAP and sizes above 64 B get SLVERR and have no effect. A burst never leaves its
//              4 KiB page.
// Does not implement: reading completions back, judging a completion (fb_nvme_complete does).

`default_nettype none

module fb_nvme_queue #(
    parameter int unsigned QueueDepth = 64,  // entries of either queue, 2 to 1024
    parameter int unsigned CqOffset = 4096,  // bytes, a power of two: max(4096, QueueDepth * 64)
    parameter int unsigned Drives = 1,  // 1 to 8
    parameter int unsigned AxiIdBits = 4,  // bits of AXI identifiers, 1 or more
    parameter int unsigned FetchLatency = 2,  // cycles from fetch_valid to fetch_sqe, 1 to 8
    localparam int unsigned PairBits = $clog2(CqOffset) + 1,  // of an address in a drive's queues
    localparam int unsigned AddrBits = PairBits + $clog2(Drives)
) (
    input wire clk,
    input wire rst,

    input  wire  [AxiIdBits-1:0] s_axi_queue_awid,
    input  wire  [ AddrBits-1:0] s_axi_queue_awaddr,
    input  wire  [          7:0] s_axi_queue_awlen,
    input  wire  [          2:0] s_axi_queue_awsize,
    input  wire  [          1:0] s_axi_queue_awburst,
    input  wire                  s_axi_queue_awvalid,
    output logic                 s_axi_queue_awready,
    input  wire  [        511:0] s_axi_queue_wdata,
    input  wire  [         63:0] s_axi_queue_wstrb,
    input  wire                  s_axi_queue_wlast,
    input  wire                  s_axi_queue_wvalid,
    output logic                 s_axi_queue_wready,
    output logic [AxiIdBits-1:0] s_axi_queue_bid,
    output logic [          1:0] s_axi_queue_bresp,
    output logic                 s_axi_queue_bvalid,
    input  wire                  s_axi_queue_bready,
    input  wire  [AxiIdBits-1:0] s_axi_queue_arid,
    input  wire  [ AddrBits-1:0] s_axi_queue_araddr,
    input  wire  [          7:0] s_axi_queue_arlen,
    input  wire  [          2:0] s_axi_queue_arsize,
    input  wire  [          1:0] s_axi_queue_arburst,
    input  wire                  s_axi_queue_arvalid,
    output logic                 s_axi_queue_arready,
    output logic [AxiIdBits-1:0] s_axi_queue_rid,
    output logic [        511:0] s_axi_queue_rdata,
    output logic [          1:0] s_axi_queue_rresp,
    output logic                 s_axi_queue_rlast,
    output logic                 s_axi_queue_rvalid,
    input  wire                  s_axi_queue_rready,

    output logic         fetch_valid,
    output logic [  2:0] fetch_drive,
    output logic [  9:0] fetch_slot,
    input  wire  [511:0] fetch_sqe,    // FetchLatency cycles after fetch_valid

    output logic        cqe_valid,
    input  wire         cqe_ready,
    output logic [ 2:0] cqe_drive,
    output logic [ 9:0] cqe_slot,
    output logic [15:0] cqe_cid,
    output logic [15:0] cqe_sqhd,
    output logic        cqe_phase,
    output logic [14:0] cqe_status,

    output logic stray_write  // pulse: a beat, or a Dword 3, was written where none belongs
);

  if (QueueDepth < 2 || QueueDepth > 1024) begin : gen_bad_depth
    $fatal(1, "fb_nvme_queue (%m): QueueDepth=%0d must be from 2 to 1024", QueueDepth);
  end
  if (CqOffset != (QueueDepth <= 64 ? 4096 : 1 << $clog2(QueueDepth * 64))) begin : gen_bad_offset
    $fatal(
        1,
        "fb_nvme_queue (%m): CqOffset=%0d must be 4096 or QueueDepth=%0d rounded up, * 64",
        CqOffset,
        QueueDepth
    );
  end
  if (Drives < 1 || Drives > 8) begin : gen_bad_drives
    $fatal(1, "fb_nvme_queue (%m): Drives=%0d must be from 1 to 8", Drives);
  end
  if (FetchLatency < 1 || FetchLatency > 8) begin : gen_bad_latency
    $fatal(1, "fb_nvme_queue (%m): FetchLatency=%0d must be from 1 to 8", FetchLatency);
  end

  localparam int unsigned AnswerDepth = 16;
  // Deeper than the way of a fetch, and no dearer in LUT RAM than less.
  localparam int unsigned ReadDepth = 16;
  localparam int unsigned ReadLevelBits = $clog2(ReadDepth) + 1;
  localparam logic [1:0] RESP_OKAY = 2'b00;
  localparam logic [1:0] RESP_SLVERR = 2'b10;

  // --------------------------------------------------------------- reads: the submission queue
  typedef struct packed {
    logic [AxiIdBits-1:0] id;
    logic last;
    logic error;
    logic entry;  // a submission queue entry; otherwise the beat is zero
  } read_beat_t;

  logic read_valid, read_last, read_error, read_go, read_done, read_next;
  logic [AxiIdBits-1:0] read_id;
  logic [AddrBits-1:0] read_addr;
  logic [PairBits-8:0] read_slot;
  logic [2:0] read_drive;
  logic [ReadLevelBits-1:0] in_flight_q;  // read beats between the fetch and the R handshake
  logic [FetchLatency-1:0] arriving_q;
  read_beat_t read_issue, read_beat;
  logic [511:0] read_word;
  logic beats_ready, words_ready, beats_valid;
  logic [$clog2(ReadDepth):0] beats_level, words_level;

  fb_common_burst #(
      .IdBits  (AxiIdBits),
      .AddrBits(AddrBits),
      .MaxSize (6)
  ) u_read_burst (
      .clk,
      .rst,
      .s_valid(s_axi_queue_arvalid),
      .s_ready(s_axi_queue_arready),
      .s_id(s_axi_queue_arid),
      .s_addr(s_axi_queue_araddr),
      .s_len(s_axi_queue_arlen),
      .s_size(s_axi_queue_arsize),
      .s_burst(s_axi_queue_arburst),
      .m_valid(read_valid),
      .m_valid_next(read_next),
      .m_step(read_go),
      .m_id(read_id),
      .m_addr(read_addr),
      .m_last(read_last),
      .m_error(read_error),
      .wait_valid(),
      .wait_addr()
  );

  assign read_go = read_valid && in_flight_q < ReadLevelBits'(ReadDepth);
  assign read_slot = read_addr[PairBits-2:6];
  assign read_drive = 3'(read_addr >> PairBits);

  always_comb begin : describe_read
    read_issue.id = read_id;
    read_issue.last = read_last;
    read_issue.error = read_error;
    read_issue.entry = !read_error && !read_addr[PairBits-1] && 32'(read_slot) < QueueDepth &&
        32'(read_drive) < Drives;
  end

  assign fetch_valid = read_go && read_issue.entry;
  assign fetch_drive = read_drive;
  assign fetch_slot  = 10'(read_slot);

  always_ff @(posedge clk) begin : follow_reads
    arriving_q  <= FetchLatency'({arriving_q, read_go});
    in_flight_q <= in_flight_q + ReadLevelBits'(read_go) - ReadLevelBits'(read_done);
    if (rst) begin
      arriving_q  <= '0;
      in_flight_q <= '0;
    end
  end

  fb_common_fifo #(
      .Width($bits(read_beat_t)),
      .Depth(ReadDepth)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(read_go),
      .s_ready(beats_ready),
      .s_data (read_issue),
      .m_valid(beats_valid),
      .m_ready(read_done),
      .m_data (read_beat),
      .level  (beats_level)
  );

  fb_common_fifo #(
      .Width(512),
      .Depth(ReadDepth)
  ) u_words (
      .clk,
      .rst,
      .s_valid(arriving_q[FetchLatency-1]),
      .s_ready(words_ready),
      .s_data (fetch_sqe),
      .m_valid(s_axi_queue_rvalid),
      .m_ready(s_axi_queue_rready),
      .m_data (read_word),
      .level  (words_level)
  );

  assign read_done = s_axi_queue_rvalid && s_axi_queue_rready;
  assign s_axi_queue_rid = read_beat.id;
  assign s_axi_queue_rlast = read_beat.last;
  assign s_axi_queue_rresp = read_beat.error ? RESP_SLVERR : RESP_OKAY;
  assign s_axi_queue_rdata = read_beat.entry ? read_word : '0;

  // --------------------------------------------------------------- writes: the completion queue
  // Of a beat only Dwords 2 and 3 of its four lanes are kept. The SQ head of a lane stays until it
  // is written again, so that Dword 3 may come in a later write.
  logic [3:0][15:0] head_q;
  logic [3:0][31:0] dword3_q;
  logic [3:0] open_q;  // lanes whose completion has not left
  logic beat_valid_q, beat_last_q, beat_take, beat_work, beat_done;
  logic write_valid, write_last, write_error, write_next;
  logic [AxiIdBits-1:0] write_id;
  logic [AddrBits-1:0] write_addr;
  logic [PairBits-6:0] write_slot;
  logic [2:0] write_drive;
  logic [1:0] lane_q, lane_d;
  logic [3:0] open_d;
  logic last_lane_q;  // at most one is open
  logic lane_open_q, lane_fits, lane_pass, answer_ready, answer_error;
  logic [$clog2(AnswerDepth):0] answer_level;

  fb_common_burst #(
      .IdBits  (AxiIdBits),
      .AddrBits(AddrBits),
      .MaxSize (6)
  ) u_write_burst (
      .clk,
      .rst,
      .s_valid(s_axi_queue_awvalid),
      .s_ready(s_axi_queue_awready),
      .s_id(s_axi_queue_awid),
      .s_addr(s_axi_queue_awaddr),
      .s_len(s_axi_queue_awlen),
      .s_size(s_axi_queue_awsize),
      .s_burst(s_axi_queue_awburst),
      .m_valid(write_valid),
      .m_valid_next(write_next),
      .m_step(beat_done),
      .m_id(write_id),
      .m_addr(write_addr),
      .m_last(write_last),
      .m_error(write_error),
      .wait_valid(),
      .wait_addr()
  );

  assign s_axi_queue_wready = !beat_valid_q;
  assign beat_take = s_axi_queue_wvalid && s_axi_queue_wready;

  // The lowest open lane is chosen one cycle ahead.
  always_comb begin : next_open_lane
    open_d = open_q;
    if (lane_pass) open_d[lane_q] = 1'b0;
    if (beat_take) for (int i = 0; i < 4; i++) open_d[i] = &s_axi_queue_wstrb[16*i+12+:4];
    lane_d = 2'd3;
    for (int i = 3; i >= 0; i--) if (open_d[i]) lane_d = 2'(i);
  end

  assign write_slot = {write_addr[PairBits-2:6], lane_q};
  assign write_drive = 3'(write_addr >> PairBits);
  // Completions have their places in the upper half of the pair, as many as the queue has.
  assign lane_fits = write_addr[PairBits-1] && !write_error && 32'(write_slot) < QueueDepth &&
      32'(write_drive) < Drives;
  // A beat waits until its answer has a place: an initiator that takes none stops only itself.
  assign beat_work = beat_valid_q && write_valid && answer_ready;
  assign cqe_valid = beat_work && lane_open_q && lane_fits;
  assign lane_pass = beat_work && lane_open_q && (!lane_fits || cqe_ready);
  assign beat_done = last_lane_q && (lane_open_q ? lane_pass : beat_work);

  assign cqe_drive = write_drive;
  assign cqe_slot = 10'(write_slot);
  assign cqe_sqhd = head_q[lane_q];
  assign cqe_cid = dword3_q[lane_q][15:0];
  assign cqe_phase = dword3_q[lane_q][16];
  assign cqe_status = dword3_q[lane_q][31:17];

  always_ff @(posedge clk) begin : hold_lanes
    if (beat_take) begin
      for (int i = 0; i < 4; i++) begin
        if (&s_axi_queue_wstrb[16*i+8+:2]) head_q[i] <= s_axi_queue_wdata[128*i+64+:16];
        dword3_q[i] <= s_axi_queue_wdata[128*i+96+:32];
      end
      beat_last_q <= s_axi_queue_wlast;
    end
  end

  always_ff @(posedge clk) begin : hold_beat
    open_q <= open_d;
    lane_q <= lane_d;
    lane_open_q <= open_d != '0;
    last_lane_q <= (open_d & (open_d - 1'b1)) == '0;
    if (beat_done) beat_valid_q <= 1'b0;
    if (beat_take) beat_valid_q <= 1'b1;
    if (rst) begin
      beat_valid_q <= 1'b0;
      open_q <= '0;
      lane_open_q <= 1'b0;
      last_lane_q <= 1'b1;
    end
  end

  // Refused bursts are answered with an error instead of being called stray.
  assign stray_write = !write_error && (lane_open_q ? lane_pass && !lane_fits :
                                                    beat_done && !write_addr[PairBits-1]);

  fb_common_fifo #(
      .Width(AxiIdBits + 1),
      .Depth(AnswerDepth)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(beat_done && write_last),
      .s_ready(answer_ready),
      .s_data ({write_id, write_error}),
      .m_valid(s_axi_queue_bvalid),
      .m_ready(s_axi_queue_bready),
      .m_data ({s_axi_queue_bid, answer_error}),
      .level  (answer_level)
  );

  assign s_axi_queue_bresp = answer_error ? RESP_SLVERR : RESP_OKAY;

  // What nothing here asks about: the read FIFOs never refuse, since in_flight_q counts.
  logic unused;
  assign unused = &{1'b0, beats_ready, words_ready, beats_valid, beats_level, words_level,
                    answer_level, read_next, write_next, beat_last_q, read_addr[5:0],
                    write_addr[5:0], 1'b0};

`ifndef SYNTHESIS
  fifos_have_room :
  assert property (@(posedge clk) disable iff (rst)
                   (!(read_go && !beats_ready)) &&
                   (!(arriving_q[FetchLatency-1] && !words_ready)))
  else $error("fb_nvme_queue (%m): a FIFO overflows");

  beats_before_words :
  assert property (@(posedge clk) disable iff (rst) s_axi_queue_rvalid |-> beats_valid)
  else $error("fb_nvme_queue (%m): a word without its description");

  wlast_matches_awlen :
  assert property (@(posedge clk) disable iff (rst) beat_done |-> beat_last_q == write_last)
  else $error("fb_nvme_queue (%m): WLAST does not match AWLEN");
`endif

  fb_axis_check #(
      .Width(AxiIdBits + AddrBits + 13),
      .Name ("s_axi_queue AW")
  ) u_check_aw (
      .clk,
      .rst,
      .valid(s_axi_queue_awvalid),
      .ready(s_axi_queue_awready),
      .data({
        s_axi_queue_awid,
        s_axi_queue_awaddr,
        s_axi_queue_awlen,
        s_axi_queue_awsize,
        s_axi_queue_awburst
      })
  );

  fb_axis_check #(
      .Width(577),
      .Name ("s_axi_queue W")
  ) u_check_w (
      .clk,
      .rst,
      .valid(s_axi_queue_wvalid),
      .ready(s_axi_queue_wready),
      .data ({s_axi_queue_wdata, s_axi_queue_wstrb, s_axi_queue_wlast})
  );

  fb_axis_check #(
      .Width(AxiIdBits + 2),
      .Name ("s_axi_queue B")
  ) u_check_b (
      .clk,
      .rst,
      .valid(s_axi_queue_bvalid),
      .ready(s_axi_queue_bready),
      .data ({s_axi_queue_bid, s_axi_queue_bresp})
  );

  fb_axis_check #(
      .Width(AxiIdBits + AddrBits + 13),
      .Name ("s_axi_queue AR")
  ) u_check_ar (
      .clk,
      .rst,
      .valid(s_axi_queue_arvalid),
      .ready(s_axi_queue_arready),
      .data({
        s_axi_queue_arid,
        s_axi_queue_araddr,
        s_axi_queue_arlen,
        s_axi_queue_arsize,
        s_axi_queue_arburst
      })
  );

  fb_axis_check #(
      .Width(AxiIdBits + 515),
      .Name ("s_axi_queue R")
  ) u_check_r (
      .clk,
      .rst,
      .valid(s_axi_queue_rvalid),
      .ready(s_axi_queue_rready),
      .data ({s_axi_queue_rid, s_axi_queue_rdata, s_axi_queue_rresp, s_axi_queue_rlast})
  );

  fb_axis_check #(
      .Width(61),
      .Name ("completion")
  ) u_check_cqe (
      .clk,
      .rst,
      .valid(cqe_valid),
      .ready(cqe_ready),
      .data ({cqe_drive, cqe_slot, cqe_cid, cqe_sqhd, cqe_phase, cqe_status})
  );

endmodule

`default_nettype wire
