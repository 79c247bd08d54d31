// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw: stores one plain stream between two addresses of a drive, and reads it back.
//
// What:        the commands of a recorder as registers (regs/raw.rdl): addresses, start, stop, what was
//              written and read last, times, losses. docs/reference/raw.md says how they are used.
// FIFO:        `m_axis_fifo_*` goes into a FIFO beside it, `s_axis_fifo_*` comes out of it: of 2 beats or
//              more, on chip or in DRAM. A source that cannot wait loses nothing as long as the
//              FIFO has room for the longest wait of the drive. `fifo_free` is 0xffffffff where the
//              FIFO does not say what it has room for: then chunks are lost from the beat on that
//              it does not take.
// Handshake:   AXI4-Stream of full beats: no TKEEP. What comes in has no end, so no TLAST; zeros fill the
//              last chunk where a stop does not wait for it. What goes out has TLAST with each chunk's
//              end; where a read fails one beat with TLAST and TUSER has the code in TDATA[7:0] and no
//              data. `s_axil_raw`: AXI4-Lite, 64 bit, one access at a time.
//              `fifo_flush` is high when nothing more comes into the FIFO: then it keeps nothing back.
// Resets:      `drives_reset`, of any length, ends what is under way; nothing starts before `hold` is low.
//              Of the streamer see fb_store_raw_resync.
// Latency:     none from `s_axis_in` to the FIFO, 1 cycle from it to the streamer, 2 where a chunk
//              begins; 1 from the streamer to `m_axis_out`.
// Throughput:  64 bytes a cycle each way; of writes, a cycle less for each chunk.
// Limits:      no chunk begins while `hold` is high; one that is under way goes on. 512-bit registers:
//              two. Writes and reads have no order between each other. An array has no parity.
// Does not implement: the FIFO, interrupts, a list of the gaps on the drive.

`default_nettype none

module fb_store_raw
  import fb_spec_pkg::*;
  import fb_store_raw_pkg::*;
#(
    parameter int unsigned Chunks = 8  // without a response each way, a power of two, 2 to 64
) (
    input wire clk,
    input wire rst,

    // From the bring-up.
    input wire        hold,          // the drive is not ready
    input wire        drives_reset,  // drives and streamer are reset; `hold` is high, too
    input wire [63:0] media_bytes,
    input wire [ 7:0] block_shift,

    input wire [63:0] now_ns,

    input  wire  [11:0] s_axil_raw_awaddr,
    input  wire  [ 2:0] s_axil_raw_awprot,
    input  wire         s_axil_raw_awvalid,
    output logic        s_axil_raw_awready,
    input  wire  [63:0] s_axil_raw_wdata,
    input  wire  [ 7:0] s_axil_raw_wstrb,
    input  wire         s_axil_raw_wvalid,
    output logic        s_axil_raw_wready,
    output logic [ 1:0] s_axil_raw_bresp,
    output logic        s_axil_raw_bvalid,
    input  wire         s_axil_raw_bready,
    input  wire  [11:0] s_axil_raw_araddr,
    input  wire  [ 2:0] s_axil_raw_arprot,
    input  wire         s_axil_raw_arvalid,
    output logic        s_axil_raw_arready,
    output logic [63:0] s_axil_raw_rdata,
    output logic [ 1:0] s_axil_raw_rresp,
    output logic        s_axil_raw_rvalid,
    input  wire         s_axil_raw_rready,

    input  wire                       s_axis_in_tvalid,
    output logic                      s_axis_in_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_in_tdata,

    output logic                      m_axis_fifo_tvalid,
    input  wire                       m_axis_fifo_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_fifo_tdata,
    input  wire  [              31:0] fifo_free,           // beats for which it has room
    output logic                      fifo_flush,          // no more come
    input  wire  [              34:0] fifo_level,          // bytes, of a FIFO in memory
    input  wire  [              34:0] fifo_high_water,
    output logic                      fifo_begins,         // pulse: high water and errors anew
    input  wire                       fifo_write_error,    // pulse: the memory refused a burst, ...
    input  wire                       fifo_read_error,     // ... or a beat
    input  wire                       s_axis_fifo_tvalid,
    output logic                      s_axis_fifo_tready,
    input  wire  [USER_DATA_BITS-1:0] s_axis_fifo_tdata,

    output logic                      m_axis_out_tvalid,
    input  wire                       m_axis_out_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_out_tdata,
    output logic                      m_axis_out_tlast,
    output logic                      m_axis_out_tuser,

    // The streamer.
    output logic                       m_axis_wr_tvalid,
    input  wire                        m_axis_wr_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_wr_tkeep,      // all, or none where a beat only ends
    output logic                       m_axis_wr_tlast,
    input  wire                        s_axis_wrsp_tvalid,
    output logic                       s_axis_wrsp_tready,
    input  wire  [                7:0] s_axis_wrsp_tdata,
    output logic                       m_axis_rdcmd_tvalid,
    input  wire                        m_axis_rdcmd_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_rdcmd_tdata,
    output logic                       m_axis_rdcmd_tlast,
    input  wire                        s_axis_rd_tvalid,
    output logic                       s_axis_rd_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_rd_tdata,
    input  wire                        s_axis_rd_tlast,
    input  wire                        s_axis_rd_tuser
);

  if (Chunks < 2 || Chunks > 64 || (Chunks & (Chunks - 1)) != 0) begin : gen_bad_chunks
    $fatal(1, "fb_store_raw (%m): Chunks=%0d must be a power of two from 2 to 64", Chunks);
  end

  // -------------------------------------------------------------------------------------- registers
  fb_store_raw_csr_pkg::raw__in_t  in;
  // Data for read-only blocks, low bits of addresses.
  /* verilator lint_off UNUSEDSIGNAL */
  fb_store_raw_csr_pkg::raw__out_t out;
  /* verilator lint_on UNUSEDSIGNAL */

  fb_store_raw_csr u_csr (
      .clk,
      .rst,
      .s_axil_awready(s_axil_raw_awready),
      .s_axil_awvalid(s_axil_raw_awvalid),
      .s_axil_awaddr(s_axil_raw_awaddr),
      .s_axil_awprot(s_axil_raw_awprot),
      .s_axil_wready(s_axil_raw_wready),
      .s_axil_wvalid(s_axil_raw_wvalid),
      .s_axil_wdata(s_axil_raw_wdata),
      .s_axil_wstrb(s_axil_raw_wstrb),
      .s_axil_bready(s_axil_raw_bready),
      .s_axil_bvalid(s_axil_raw_bvalid),
      .s_axil_bresp(s_axil_raw_bresp),
      .s_axil_arready(s_axil_raw_arready),
      .s_axil_arvalid(s_axil_raw_arvalid),
      .s_axil_araddr(s_axil_raw_araddr),
      .s_axil_arprot(s_axil_raw_arprot),
      .s_axil_rready(s_axil_raw_rready),
      .s_axil_rvalid(s_axil_raw_rvalid),
      .s_axil_rdata(s_axil_raw_rdata),
      .s_axil_rresp(s_axil_raw_rresp),
      .hwif_in(in),
      .hwif_out(out)
  );

  unit_t write_start, write_max, read_start, read_max;
  chunk_t chunk;
  refusal_t write_bad, read_bad;
  assign write_start = out.write_start.address.value[63:UNIT_SHIFT];
  assign write_max = out.write_max.address.value[63:UNIT_SHIFT];
  assign read_start = out.read_start.address.value[63:UNIT_SHIFT];
  assign read_max = out.read_max.address.value[63:UNIT_SHIFT];
  assign chunk = out.chunk_bytes.bytes.value[UNIT_SHIFT+:7];
  assign write_bad = refuse(
      out.write_start.address.value,
      out.write_max.address.value,
      out.chunk_bytes.bytes.value,
      media_bytes,
      block_shift
  );
  assign read_bad = refuse(
      out.read_start.address.value,
      out.read_max.address.value,
      out.chunk_bytes.bytes.value,
      media_bytes,
      block_shift
  );

  // ---------------------------------------------------------------------------------------- writing
  logic begins, stop, abort, closed, keep;
  logic [31:0] fifo_writes_q, fifo_reads_q;
  assign fifo_flush  = closed;
  assign fifo_begins = begins;
  always_ff @(posedge clk) begin : count_fifo_errors
    fifo_writes_q <= fifo_writes_q + 32'(fifo_write_error);
    fifo_reads_q  <= fifo_reads_q + 32'(fifo_read_error);
    if (begins || rst) {fifo_writes_q, fifo_reads_q} <= '0;
  end
  assign m_axis_wr_tkeep = {USER_BEAT_BYTES{keep}};
  logic write_locks, writing, write_end, any_written;
  logic [7:0] write_code;
  unit_t write_failed, written;
  refusal_t write_refused;
  total_t taken, lost, stored, unstored;
  logic [31:0] laps, longest, gap_count;
  logic [63:0] write_started, write_stopped;
  logic gap_we;
  logic [7:0] gap_addr;
  logic [63:0] gap_wdata, gap_rdata;

  fb_store_raw_gate u_gate (
      .clk,
      .rst,
      .begins,
      .stop,
      .abort,
      .hold,
      .cfg_lossy(out.control.lossy.value),
      .cfg_ring(out.control.write_ring.value),
      .cfg_flush_tail(out.control.flush_tail.value),
      .cfg_chunk(chunk),
      .cfg_region(write_max - write_start),
      .s_axis_in_tvalid,
      .s_axis_in_tready,
      .s_axis_in_tdata,
      .m_axis_fifo_tvalid,
      .m_axis_fifo_tready,
      .m_axis_fifo_tdata,
      .fifo_free,
      .now_ns,
      .gap_we,
      .gap_addr,
      .gap_data(gap_wdata),
      .gap_count,
      .closed,
      .taken,
      .lost
  );

  fb_store_raw_write #(
      .Chunks(Chunks)
  ) u_write (
      .clk,
      .rst,
      .go(out.control.write.value),
      .hold,
      .drives_reset,
      .cfg_ring(out.control.write_ring.value),
      .cfg_chunk(chunk),
      .cfg_start(write_start),
      .cfg_max(write_max),
      .bad(write_bad),
      .now_ns,
      .begins,
      .stop,
      .abort,
      .closed,
      .pushes(m_axis_fifo_tvalid && m_axis_fifo_tready),
      .s_axis_fifo_tvalid,
      .s_axis_fifo_tready,
      .s_axis_fifo_tdata,
      .m_axis_wr_tvalid,
      .m_axis_wr_tready,
      .m_axis_wr_tdata,
      .m_axis_wr_tkeep(keep),
      .m_axis_wr_tlast,
      .s_axis_wrsp_tvalid,
      .s_axis_wrsp_tready,
      .s_axis_wrsp_tdata,
      .locks(write_locks),
      .writing,
      .refused(write_refused),
      .at_end(write_end),
      .code(write_code),
      .failed(write_failed),
      .any_last(any_written),
      .last(written),
      .stored,
      .unstored,
      .laps,
      .longest,
      .started_ns(write_started),
      .stopped_ns(write_stopped)
  );

  fb_common_table #(
      .Width(64),
      .Depth(4 * GAP_RECORDS)
  ) u_gaps (
      .clk,
      .we(gap_we),
      .waddr(gap_addr),
      .wdata(gap_wdata),
      .raddr(out.gaps.addr[10:3]),
      .rdata(gap_rdata)
  );

  // The address stays until the answer has come.
  logic [1:0] gap_read_q;
  always_ff @(posedge clk) begin : answer_gaps
    gap_read_q <= rst ? '0 : {gap_read_q[0], out.gaps.req};
  end

  // ---------------------------------------------------------------------------------------- reading
  logic read_locks, reading, read_end, any_fetched;
  logic [7:0] read_code;
  unit_t read_failed, fetched;
  refusal_t read_refused;
  logic [63:0] read_started, read_stopped;

  fb_store_raw_read #(
      .Chunks(Chunks)
  ) u_read (
      .clk,
      .rst,
      .go(out.control.read.value),
      .hold,
      .drives_reset,
      .cfg_chunk(chunk),
      .cfg_start(read_start),
      .cfg_max(read_max),
      .bad(read_bad),
      .now_ns,
      .m_axis_rdcmd_tvalid,
      .m_axis_rdcmd_tready,
      .m_axis_rdcmd_tdata,
      .m_axis_rdcmd_tlast,
      .s_axis_rd_tvalid,
      .s_axis_rd_tready,
      .s_axis_rd_tdata,
      .s_axis_rd_tlast,
      .s_axis_rd_tuser,
      .m_axis_out_tvalid,
      .m_axis_out_tready,
      .m_axis_out_tdata,
      .m_axis_out_tlast,
      .m_axis_out_tuser,
      .locks(read_locks),
      .reading,
      .refused(read_refused),
      .at_end(read_end),
      .code(read_code),
      .failed(read_failed),
      .any_last(any_fetched),
      .last(fetched),
      .started_ns(read_started),
      .stopped_ns(read_stopped)
  );

  // ---------------------------------------------------------------------------- what software is shown
  always_comb begin : show
    in = '0;
    in.lock_write = write_locks;
    in.lock_read = read_locks;
    in.lock_any = write_locks || read_locks;
    in.parameters.chunks.next = 8'(Chunks);
    in.parameters.gap_records.next = 8'(GAP_RECORDS);
    in.status.writing.next = writing;
    in.status.reading.next = reading;
    in.status.held.next = hold;
    in.status.write_end.next = write_end;
    in.status.read_end.next = read_end;
    in.status.write_code.next = write_code;
    in.status.read_code.next = read_code;
    in.refused.write_chunk.next = write_refused.chunk;
    in.refused.write_start.next = write_refused.start;
    in.refused.write_max.next = write_refused.max;
    in.refused.write_empty.next = write_refused.empty;
    in.refused.write_beyond.next = write_refused.beyond;
    in.refused.read_chunk.next = read_refused.chunk;
    in.refused.read_start.next = read_refused.start;
    in.refused.read_max.next = read_refused.max;
    in.refused.read_empty.next = read_refused.empty;
    in.refused.read_beyond.next = read_refused.beyond;
    in.write_last.address.next = any_written ? {written, UNIT_SHIFT'(0)} : '1;
    in.read_last.address.next = any_fetched ? {fetched, UNIT_SHIFT'(0)} : '1;
    in.write_failed.address.next = {write_failed, UNIT_SHIFT'(0)};
    in.read_failed.address.next = {read_failed, UNIT_SHIFT'(0)};
    in.media_bytes.bytes.next = media_bytes;
    in.block.shift.next = block_shift;
    in.offered.bytes.next = {taken + lost, BEAT_SHIFT'(0)};
    in.stored.bytes.next = {stored, BEAT_SHIFT'(0)};
    in.lost.bytes.next = {lost + unstored, BEAT_SHIFT'(0)};
    in.unstored.bytes.next = {unstored, BEAT_SHIFT'(0)};
    in.laps.count.next = laps;
    in.gap_count.count.next = gap_count;
    in.longest_wait.cycles.next = longest;
    in.write_started.ns.next = write_started;
    in.write_stopped.ns.next = write_stopped;
    in.read_started.ns.next = read_started;
    in.read_stopped.ns.next = read_stopped;
    in.fifo_level.bytes.next = fifo_level;
    in.fifo_high_water.bytes.next = fifo_high_water;
    in.fifo_errors.writes.next = fifo_writes_q;
    in.fifo_errors.reads.next = fifo_reads_q;
    in.gaps.rd_ack = gap_read_q[1];
    in.gaps.rd_data = gap_rdata;
  end

endmodule

`default_nettype wire
