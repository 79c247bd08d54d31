// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Control registers: the generated register file (regs/streamer.rdl) between the bus and the
// streamer. Settings are brought into the form in which the streamer uses them, and bounded, so
// that no value written by software can take it out of its queues or its buffer.
//
// Handshake: AXI4-Lite, 64 bit, one access at a time. Reads answer three cycles after ARVALID,
// five for counters, histogram and trace, six or seven for what there is once for each drive.
//
// Does not implement: interrupts.

`default_nettype none

module fb_nvme_regs
  import fb_spec_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,
    parameter int unsigned Pages = 1024,
    parameter int unsigned ReservePages = 64,
    parameter int unsigned CqOffset = 4096,
    parameter int unsigned UnitBits = 0,  // log2 of the pages of a unit
    parameter bit InHost = 1'b0,  // the buffer is in host memory
    parameter int unsigned Drives = 1,  // 1 to 8
    parameter int unsigned ParityPages = 0,  // of the longest chunk with parity; 0: none
    parameter logic [63:0] Identity = IDENTITY_ONCHIP,
    parameter logic [63:0] SqDoorbell = '0,  // after a reset
    parameter logic [63:0] CqDoorbell = '0
) (
    input wire clk,
    input wire rst,

    fb_axil_if.target s_axil_ctrl,

    output logic        enable,
    output cfg_t        cfg,
    output logic [63:0] doorbell_offset,
    output logic [63:0] dram_read,        // as the memory is addressed
    output logic [63:0] dram_write,
    output logic [63:0] memory_offset,

    // Where the segments of a buffer in host memory lie; index as fb_payload_host_map has it.
    output logic        segment_we,
    output logic [ 4:0] segment_index,
    output logic [63:0] segment_address,

    // Of the drive that is asked for, in the same cycle.
    input  wire  [ DRIVE_BITS-1:0] ring_drive,
    output logic [           63:0] sq_address,
    output logic [           63:0] cq_address,
    input  wire  [ DRIVE_BITS-1:0] nsid_drive,
    output logic [           31:0] nsid,
    output logic [DRIVES_MOST-1:0] offline_late, // cfg.offline, as fb_raid_drives has it

    // Status.
    input wire ready,
    input wire halted,
    input wire [Drives-1:0] lost,
    input wire idle,
    input wire [SLOT_BITS-1:0] outstanding,
    input wire [Drives-1:0][SLOT_BITS-1:0] drive_outstanding,
    input wire [PAGE_BITS:0] write_pages,
    input wire [PAGE_BITS:0] read_pages,

    input wire [1:0] memory_errors,  // pulses: a write, a read that the memory refused
    input wire clear,  // of the counters
    input wire sweep,
    input wire [DRIVE_BITS-1:0] sweep_row,

    // A command that is over, and what was seen of it.
    input wire over,
    input wire seen_t seen,

    input wire error_t error,

    output monitor_read_t monitor_read,
    input wire monitor_data_t monitor_data
);

  fb_nvme_csr_pkg::streamer__in_t in;
  // Bits of the map that nothing here looks at: byte addresses within a word, data for read-only
  // blocks.
  /* verilator lint_off UNUSEDSIGNAL */
  fb_nvme_csr_pkg::streamer__out_t out;
  fb_nvme_csr_pkg::streamer__host_read__out_t segment;
  /* verilator lint_on UNUSEDSIGNAL */

  fb_nvme_csr u_csr (
      .clk,
      .rst,
      .s_axil_awready(s_axil_ctrl.awready),
      .s_axil_awvalid(s_axil_ctrl.awvalid),
      .s_axil_awaddr(s_axil_ctrl.awaddr),
      .s_axil_awprot('0),
      .s_axil_wready(s_axil_ctrl.wready),
      .s_axil_wvalid(s_axil_ctrl.wvalid),
      .s_axil_wdata(s_axil_ctrl.wdata),
      .s_axil_wstrb(s_axil_ctrl.wstrb),
      .s_axil_bready(s_axil_ctrl.bready),
      .s_axil_bvalid(s_axil_ctrl.bvalid),
      .s_axil_bresp(s_axil_ctrl.bresp),
      .s_axil_arready(s_axil_ctrl.arready),
      .s_axil_arvalid(s_axil_ctrl.arvalid),
      .s_axil_araddr(s_axil_ctrl.araddr),
      .s_axil_arprot('0),
      .s_axil_rready(s_axil_ctrl.rready),
      .s_axil_rvalid(s_axil_ctrl.rvalid),
      .s_axil_rdata(s_axil_ctrl.rdata),
      .s_axil_rresp(s_axil_ctrl.rresp),
      .hwif_in(in),
      .hwif_out(out)
  );

  // Settings, bounded.
  function automatic logic [7:0] last_page(input logic [8:0] pages);
    return (pages == '0) ? 8'd0 : pages[8] ? 8'd255 : 8'(pages - 1'b1);
  endfunction
  logic block_4k_q;
  logic [7:0] transfer_m1_q, chunk_m1_q;
  logic [SLOT_BITS-1:0] entries, entries_q;
  assign entries = out.queue_entries.entries.value;
  always_ff @(posedge clk) begin
    block_4k_q <= (out.block_shift.shift.value == 4'd12);
    transfer_m1_q <= last_page(out.transfer_pages.pages.value);
    // Whole units: what a command leaves of its last one is of no use to others.
    chunk_m1_q <= last_page(out.chunk.pages.value) | 8'((1 << UnitBits) - 1);
    entries_q <= (entries < SLOT_BITS'(2)) ? SLOT_BITS'(2) :
        (entries > SLOT_BITS'(QueueDepth)) ? SLOT_BITS'(QueueDepth) : entries;
  end
  assign cfg.block_4k = block_4k_q;
  assign cfg.transfer_m1 = transfer_m1_q;
  assign cfg.chunk_m1 = chunk_m1_q;
  assign cfg.queue_entries = entries_q;
  assign cfg.busy_commands = out.chunk.busy_commands.value;
  assign cfg.namespace_sectors = out.namespace_sectors.sectors.value;
  assign cfg.timeout = out.timeout_cycles.cycles.value;
  assign cfg.retry_limit = out.retry_limit.limit.value;
  assign cfg.nsid = out.nsid.nsid.value;
  assign cfg.data_window = {out.data_window.address.value, 23'd0};
  assign cfg.data_read = {out.data_read.address.value, 26'd0};
  assign cfg.data_write = {out.data_write.address.value, 26'd0};
  assign cfg.prp_lists = {out.prp_lists.address.value, 18'd0};
  assign enable = out.enable.enable.value;
  assign doorbell_offset = {out.doorbell_offset.address.value, 12'd0};
  assign memory_offset = {out.memory_offset.address.value, 26'd0};
  assign dram_read = {out.dram_read.address.value, 26'd0};
  assign dram_write = {out.dram_write.address.value, 26'd0};

  // What there is once for each of several drives. Of drive 0 doorbells and namespace stand where
  // SNAcc's software looks for them.
  logic [63:0] sq_doorbell, cq_doorbell, array_data;
  logic array_rd_ack, array_wr_ack;
  assign sq_doorbell = {out.sq_doorbell.address.value, 2'd0};
  assign cq_doorbell = {out.cq_doorbell.address.value, 2'd0};

  if (Drives > 1) begin : gen_array
    logic [63:0] other_sq_doorbell, other_cq_doorbell;
    logic [31:0] other_nsid;
    fb_raid_drives #(
        .Drives(Drives),
        .ParityPages(ParityPages)
    ) u_array (
        .clk,
        .rst,
        .sweep,
        .sweep_row,
        .drives_m1(cfg.drives_m1),
        .strip_m1(cfg.strip_m1),
        .region_sectors(cfg.region_sectors),
        .parity(cfg.parity),
        .degraded(cfg.degraded),
        .offline(cfg.offline),
        .offline_late,
        .ring_drive,
        .sq_doorbell(other_sq_doorbell),
        .cq_doorbell(other_cq_doorbell),
        .nsid_drive,
        .nsid(other_nsid),
        .outstanding(drive_outstanding),
        .lost,
        .over,
        .over_drive(seen.drive),
        .over_failed(seen.failed),
        .over_latency(seen.latency),
        .over_sectors(seen.sectors),
        .array_req(out.array.req),
        .array_write(out.array.req_is_wr),
        .array_addr(out.array.addr[9:3]),
        .array_wdata(out.array.wr_data),
        .array_wmask(out.array.wr_biten),
        .array_rd_ack,
        .array_wr_ack,
        .array_data
    );
    assign sq_address = (ring_drive == '0) ? sq_doorbell : other_sq_doorbell;
    assign cq_address = (ring_drive == '0) ? cq_doorbell : other_cq_doorbell;
    assign nsid = (nsid_drive == '0) ? cfg.nsid : other_nsid;
  end else begin : gen_no_array
    assign {cfg.drives_m1, cfg.region_sectors, cfg.offline, cfg.parity, cfg.degraded} = '0;
    assign cfg.strip_m1 = '1;
    assign {offline_late, array_data} = '0;
    assign sq_address = sq_doorbell;
    assign cq_address = cq_doorbell;
    assign nsid = cfg.nsid;
    assign array_rd_ack = out.array.req && !out.array.req_is_wr;
    assign array_wr_ack = out.array.req && out.array.req_is_wr;
    logic unused;
    assign unused = &{
        1'b0, sweep, sweep_row, drive_outstanding, nsid_drive, ring_drive, over, seen, 1'b0};
  end

  // The first error is held until software clears its valid bit.
  error_t error_q;
  // What comes out of a memory rests once before it meets the other registers.
  monitor_data_t data_q;
  always_ff @(posedge clk) begin
    if (!error_q.valid && !out.error_cause.valid.value) error_q <= error;
    else error_q.valid <= 1'b0;
    data_q <= monitor_data;
    if (rst) {error_q.valid, data_q.counter_ack, data_q.bin_ack, data_q.trace_ack} <= '0;
  end

  // Segments of a buffer in host memory are kept here only to be read back.
  logic [63:0] segment_now;
  assign segment = out.host_read.req ? out.host_read : out.host_write;
  assign segment_index = {out.host_read.req, segment.addr[6:3]};
  assign segment_we = InHost && segment.req && segment.req_is_wr;
  assign segment_address = (segment.wr_data & segment.wr_biten) | (segment_now & ~segment.wr_biten);
  if (InHost) begin : gen_segments
    (* ram_style = "distributed" *)
    logic [63:22] segments[32];
    always_ff @(posedge clk) if (segment_we) segments[segment_index] <= segment_address[63:22];
    assign segment_now[63:22] = segments[segment_index];
    assign segment_now[21:0]  = '0;
  end else begin : gen_no_segments
    assign segment_now = '0;
  end

  logic [31:0] lost_writes_q, lost_reads_q;
  always_ff @(posedge clk) begin
    lost_writes_q <= lost_writes_q + 32'(memory_errors[1]);
    lost_reads_q  <= lost_reads_q + 32'(memory_errors[0]);
    if (rst || clear) {lost_writes_q, lost_reads_q} <= '0;
  end

  logic fresh_q;  // the cycle after a reset
  always_ff @(posedge clk) fresh_q <= rst;

  always_comb begin
    in = '0;
    in.sq_doorbell.address.we = fresh_q && SqDoorbell != '0;
    in.sq_doorbell.address.next = SqDoorbell[63:2];
    in.cq_doorbell.address.we = fresh_q && CqDoorbell != '0;
    in.cq_doorbell.address.next = CqDoorbell[63:2];
    in.queue_depth_max = 11'(QueueDepth);
    in.parameters.queue_depth.next = 16'(QueueDepth);
    in.parameters.pages.next = 16'(Pages);
    in.parameters.cq_offset.next = 16'(CqOffset >> 6);
    in.parameters.reserve_pages.next = (ReservePages > 255) ? 8'd255 : 8'(ReservePages);
    in.parameters.unit_shift.next = 4'(UnitBits);
    in.parameters.drives_most.next = 4'(Drives);
    in.identity.identity.next = 32'(Identity);
    in.status.ready.next = ready;
    in.status.halted.next = halted;
    in.status.idle.next = idle;
    in.status.enabled.next = enable;
    in.status.lost.next = 8'(lost);
    in.status.outstanding.next = outstanding;
    in.status.write_pages.next = write_pages;
    in.status.read_pages.next = read_pages;
    in.error_cause.valid.hwset = error_q.valid;
    in.error_cause.code.next = error_q.code;
    in.error_cause.nvme_status.next = error_q.status;
    in.error_cause.cid.next = error_q.cid;
    in.error_cause.write.next = error_q.write;
    in.error_cause.drive.next = error_q.drive;
    in.error_sector.sector.next = error_q.sector;
    in.memory_errors.writes.next = lost_writes_q;
    in.memory_errors.reads.next = lost_reads_q;
    in.host_read.rd_ack = out.host_read.req && !out.host_read.req_is_wr;
    in.host_read.rd_data = segment_now;
    in.host_read.wr_ack = out.host_read.req && out.host_read.req_is_wr;
    in.host_write.rd_ack = out.host_write.req && !out.host_write.req_is_wr;
    in.host_write.rd_data = segment_now;
    in.host_write.wr_ack = out.host_write.req && out.host_write.req_is_wr;
    in.counters.rd_ack = data_q.counter_ack;
    in.counters.rd_data = 64'(data_q.counter);
    in.counters.wr_ack = out.counters.req && out.counters.req_is_wr;
    in.histogram.rd_ack = data_q.bin_ack;
    in.histogram.rd_data = 64'(data_q.bin);
    in.trace.rd_ack = data_q.trace_ack;
    in.trace.rd_data = data_q.trace;
    in.array.rd_ack = array_rd_ack;
    in.array.wr_ack = array_wr_ack;
    in.array.rd_data = array_data;
  end
  assign monitor_read.counter = out.counters.req && !out.counters.req_is_wr;
  assign monitor_read.bin = out.histogram.req && !out.histogram.req_is_wr;
  assign monitor_read.trace = out.trace.req && !out.trace.req_is_wr;
  assign monitor_read.addr = out.trace.addr[8:3];  // the same for each of them

endmodule

`default_nettype wire
