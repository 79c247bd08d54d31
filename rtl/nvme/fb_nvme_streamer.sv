// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The NVMe streamer: the user's four streams on one side, the BAR in which the SSDs find their queues
// on the other, the payload buffer below. This module only connects; read it to see who speaks to
// whom.
//
//   write stream -> write --\            /-> sqe -> BAR: submission queues -> SSD
//                            >- submit -<--> doorbell -> SSD
//   read command -> read ---/            \-> command table, reorder
//
// Where there are several drives (docs/reference/drives.md), a stripe between write, read and submit
// finds out which of them a command is for; with parity, fb_nvme_parity stands before write and read.
//
//   SSD -> BAR: completion queues -> complete -> reorder -> write responses
//                                                       \-> deliver -> read data
//
// Pages of the buffer come from the rings (fb_buffer_rings): taken by write and read, freed by
// reorder and deliver. The memory itself is outside: behind `put_*`, `get_*` and
// `got_*` for the streams, behind `bar_*` for the SSDs (docs/reference/memories.md).
//
// Handshake: AXI4-Stream, AXI4, AXI4-Lite; see the modules. Disabling the streamer by its control
// register forgets all queues and pages; 1024 cycles after enabling it is ready.
// Latency and throughput: docs/reference/streamer.md.
//
// Does not implement: bringing up the drive; that is the driver's.

`default_nettype none

module fb_nvme_streamer
  import fb_spec_pkg::*;
  import fb_bar_pkg::*;
  import fb_nvme_pkg::*;
#(
    parameter int unsigned QueueDepth = 64,  // most entries of the queues, 2 to 1024, power of two
    parameter int unsigned Drives = 1,  // most SSDs, 1 to 8; with QueueDepth at most 1024 entries
    parameter int unsigned ParityPages = 0,  // of the longest chunk with parity; 0: none
    parameter int unsigned Pages = 1024,  // units of the buffer, power of two
    parameter int unsigned UnitBits = 0,  // log2 of the 4 KiB pages of a unit
    parameter int unsigned ReservePages = 64,  // units that a resting direction keeps
    parameter int unsigned ReadBeats = 16,  // beats on their way from the memory to the reader
    parameter int unsigned BarLatency = 2,  // cycles from a read of the BAR to its word, 2 to 16
    parameter bit WholePages = 1'b0,  // ask for pages as a whole
    parameter bit InHost = 1'b0,  // the buffer is in host memory
    parameter logic [63:0] Identity = IDENTITY_ONCHIP,
    parameter bit ListPerCommand = 1'b0,  // PRP lists are found by command, else by unit
    parameter logic [63:0] SqDoorbell = '0,  // of the SSD, after a reset
    parameter logic [63:0] CqDoorbell = '0,
    parameter int unsigned AxiIdBits = 4,  // of the BAR
    localparam bit OnChip = Identity == IDENTITY_ONCHIP,
    localparam bit OnBoard = Identity == IDENTITY_ONBOARD,
    localparam int unsigned BarAddrBits = $clog2(OnBoard ? BAR0_BYTES_DRAM : BAR0_BYTES),
    localparam int unsigned MemAddrBits = PAGE_BITS + UnitBits + BEAT_BITS
) (
    input wire clk,
    input wire rst,

    // User side.
    input  wire                    s_axis_wr_tvalid,
    output logic                   s_axis_wr_tready,
    input  wire  [  DATA_BITS-1:0] s_axis_wr_tdata,
    input  wire  [DATA_BITS/8-1:0] s_axis_wr_tkeep,
    input  wire                    s_axis_wr_tlast,

    output logic                 m_axis_wrsp_tvalid,
    input  wire                  m_axis_wrsp_tready,
    output logic [CODE_BITS-1:0] m_axis_wrsp_tdata,

    input  wire          s_axis_rdcmd_tvalid,
    output logic         s_axis_rdcmd_tready,
    input  wire  [255:0] s_axis_rdcmd_tdata,

    output logic                     m_axis_rd_tvalid,
    input  wire                      m_axis_rd_tready,
    output logic [    DATA_BITS-1:0] m_axis_rd_tdata,
    output logic [  DATA_BITS/8-1:0] m_axis_rd_tkeep,
    output logic                     m_axis_rd_tlast,
    output logic                     m_axis_rd_tuser,
    output logic [READ_TAG_BITS-1:0] m_axis_rd_tid,

    // Payload memory, stream side.
    output logic                   put_valid,
    output logic [MemAddrBits-1:0] put_addr,
    output logic [  DATA_BITS-1:0] put_data,
    output logic                   put_end,
    input  wire                    put_hold,
    input  wire                    landed,
    input  wire                    landed_error,
    output logic                   get_valid,
    input  wire                    get_ready,
    output logic [MemAddrBits-1:0] get_addr,
    output logic                   get_first,
    output logic [    BEAT_BITS:0] get_count,
    input  wire                    got_valid,
    input  wire                    got_error,
    input  wire  [  DATA_BITS-1:0] got_data,
    output logic                   restart,
    input  wire                    quiet,
    input  wire  [            1:0] memory_errors,
    output logic [           63:0] dram_read,
    output logic [           63:0] dram_write,
    output logic                   piece_we,       // where a piece of host memory lies
    output logic [            4:0] piece_index,
    output logic [           63:0] piece_address,

    // Payload memory, SSDs' side: as fb_bar_target has it, words after BarLatency cycles.
    output logic                   bar_write_valid,
    input  wire                    bar_write_ready,
    output logic [MemAddrBits-1:0] bar_write_addr,
    output logic [  DATA_BITS-1:0] bar_write_data,
    output logic [DATA_BITS/8-1:0] bar_write_strb,
    output logic                   bar_read_valid,
    input  wire                    bar_read_ready,
    output logic [MemAddrBits-1:0] bar_read_addr,
    input  wire  [  DATA_BITS-1:0] bar_read_word,
    input  wire                    bar_read_error,
    output logic                   bar_read_stays,
    output logic                   bar_next_valid,
    output logic [MemAddrBits-1:0] bar_next_addr,

    // The BAR.
    input  wire  [  AxiIdBits-1:0] s_axi_bar_awid,
    input  wire  [BarAddrBits-1:0] s_axi_bar_awaddr,
    input  wire  [            7:0] s_axi_bar_awlen,
    input  wire  [            2:0] s_axi_bar_awsize,
    input  wire  [            1:0] s_axi_bar_awburst,
    input  wire                    s_axi_bar_awvalid,
    output logic                   s_axi_bar_awready,
    input  wire  [  DATA_BITS-1:0] s_axi_bar_wdata,
    input  wire  [DATA_BITS/8-1:0] s_axi_bar_wstrb,
    input  wire                    s_axi_bar_wlast,
    input  wire                    s_axi_bar_wvalid,
    output logic                   s_axi_bar_wready,
    output logic [  AxiIdBits-1:0] s_axi_bar_bid,
    output logic [            1:0] s_axi_bar_bresp,
    output logic                   s_axi_bar_bvalid,
    input  wire                    s_axi_bar_bready,
    input  wire  [  AxiIdBits-1:0] s_axi_bar_arid,
    input  wire  [BarAddrBits-1:0] s_axi_bar_araddr,
    input  wire  [            7:0] s_axi_bar_arlen,
    input  wire  [            2:0] s_axi_bar_arsize,
    input  wire  [            1:0] s_axi_bar_arburst,
    input  wire                    s_axi_bar_arvalid,
    output logic                   s_axi_bar_arready,
    output logic [  AxiIdBits-1:0] s_axi_bar_rid,
    output logic [  DATA_BITS-1:0] s_axi_bar_rdata,
    output logic [            1:0] s_axi_bar_rresp,
    output logic                   s_axi_bar_rlast,
    output logic                   s_axi_bar_rvalid,
    input  wire                    s_axi_bar_rready,

    // Doorbells.
    output logic [63:0] m_axil_db_awaddr,
    output logic [ 2:0] m_axil_db_awprot,
    output logic        m_axil_db_awvalid,
    input  wire         m_axil_db_awready,
    output logic [31:0] m_axil_db_wdata,
    output logic [ 3:0] m_axil_db_wstrb,
    output logic        m_axil_db_wvalid,
    input  wire         m_axil_db_wready,
    input  wire  [ 1:0] m_axil_db_bresp,
    input  wire         m_axil_db_bvalid,
    output logic        m_axil_db_bready,
    output logic [63:0] m_axil_db_araddr,
    output logic [ 2:0] m_axil_db_arprot,
    output logic        m_axil_db_arvalid,
    input  wire         m_axil_db_arready,
    input  wire  [31:0] m_axil_db_rdata,
    input  wire  [ 1:0] m_axil_db_rresp,
    input  wire         m_axil_db_rvalid,
    output logic        m_axil_db_rready,

    // Control registers, beside the BAR.
    input  wire  [11:0] s_axil_ctrl_awaddr,
    input  wire  [ 2:0] s_axil_ctrl_awprot,
    input  wire         s_axil_ctrl_awvalid,
    output logic        s_axil_ctrl_awready,
    input  wire  [63:0] s_axil_ctrl_wdata,
    input  wire  [ 7:0] s_axil_ctrl_wstrb,
    input  wire         s_axil_ctrl_wvalid,
    output logic        s_axil_ctrl_wready,
    output logic [ 1:0] s_axil_ctrl_bresp,
    output logic        s_axil_ctrl_bvalid,
    input  wire         s_axil_ctrl_bready,
    input  wire  [11:0] s_axil_ctrl_araddr,
    input  wire  [ 2:0] s_axil_ctrl_arprot,
    input  wire         s_axil_ctrl_arvalid,
    output logic        s_axil_ctrl_arready,
    output logic [63:0] s_axil_ctrl_rdata,
    output logic [ 1:0] s_axil_ctrl_rresp,
    output logic        s_axil_ctrl_rvalid,
    input  wire         s_axil_ctrl_rready
);

  if (ListPerCommand && (OnChip || QueueDepth * Drives > 64)) begin : gen_bad_lists
    $fatal(1, "fb_nvme_streamer (%m): ListPerCommand is for 64 commands and a buffer in DRAM");
  end

  // Life of the queue: nothing while disabled, then a sweep that clears the tables, then service.
  logic enable, sweep, sweep_q;
  logic [9:0] sweep_index_q;
  cfg_t cfg;
  logic restart_q;
  assign restart = restart_q;
  assign sweep   = sweep_q;
  always_ff @(posedge clk) begin
    // What the memory is still asked for must not be answered in the next life.
    restart_q <= rst || !enable || (restart_q && !quiet);
    if (restart_q) begin
      sweep_index_q <= '0;
      sweep_q <= 1'b1;
    end else if (sweep_q) begin
      sweep_index_q <= sweep_index_q + 1'b1;
      sweep_q <= (sweep_index_q != '1);
    end
  end

  logic [STAMP_BITS-1:0] now_q;
  always_ff @(posedge clk) now_q <= rst ? '0 : now_q + 1'b1;

  // Rings.
  logic wr_offer_valid, wr_offer_take, wr_open, rd_offer_valid, rd_offer_take, rd_open;
  logic [PAGE_BITS-1:0] wr_offer_page, rd_offer_page, wr_look_page, rd_look_page;
  logic wr_look_valid, rd_look_valid, wr_retire, rd_retire, rd_free;
  logic [8:0] retire_count;
  logic [PAGE_BITS:0] wr_held, rd_held;

  fb_buffer_rings #(
      .Pages(Pages),
      .ReservePages(ReservePages)
  ) u_rings (
      .clk,
      .rst(restart),
      .wr_offer_valid,
      .wr_offer_page,
      .wr_offer_take,
      .wr_open,
      .wr_look_valid,
      .wr_look_page,
      .wr_look_step(wr_retire),
      .wr_look_count(retire_count),
      .wr_free_step(wr_retire),
      .wr_free_count(retire_count),
      .wr_held,
      .rd_offer_valid,
      .rd_offer_page,
      .rd_offer_take,
      .rd_open,
      .rd_look_valid,
      .rd_look_page,
      .rd_look_step(rd_retire),
      .rd_look_count(retire_count),
      .rd_free_step(rd_free),
      .rd_free_count(9'd1),
      .rd_held
  );

  // The array's side of the user's streams.
  logic wr_tvalid, wr_tready, wr_tlast, rdcmd_tvalid, rdcmd_tready;
  logic rd_tvalid, rd_tready, rd_tlast, rd_tuser, parity_busy;
  logic [DATA_BITS-1:0] wr_tdata, rd_tdata;
  logic [DATA_BITS/8-1:0] wr_tkeep, rd_tkeep;
  logic [255:0] rdcmd_tdata;
  logic [READ_TAG_BITS-1:0] rd_tid;

  fb_nvme_parity #(
      .Pages((Drives > 1) ? ParityPages : 0)
  ) u_parity (
      .clk,
      .rst,
      .restart,
      .cfg,
      .s_axis_wr_tvalid,
      .s_axis_wr_tready,
      .s_axis_wr_tdata,
      .s_axis_wr_tkeep,
      .s_axis_wr_tlast,
      .s_axis_rdcmd_tvalid,
      .s_axis_rdcmd_tready,
      .s_axis_rdcmd_tdata,
      .m_axis_rd_tvalid,
      .m_axis_rd_tready,
      .m_axis_rd_tdata,
      .m_axis_rd_tkeep,
      .m_axis_rd_tlast,
      .m_axis_rd_tuser,
      .m_axis_rd_tid,
      .m_axis_wr_tvalid(wr_tvalid),
      .m_axis_wr_tready(wr_tready),
      .m_axis_wr_tdata(wr_tdata),
      .m_axis_wr_tkeep(wr_tkeep),
      .m_axis_wr_tlast(wr_tlast),
      .m_axis_rdcmd_tvalid(rdcmd_tvalid),
      .m_axis_rdcmd_tready(rdcmd_tready),
      .m_axis_rdcmd_tdata(rdcmd_tdata),
      .s_axis_rd_tvalid(rd_tvalid),
      .s_axis_rd_tready(rd_tready),
      .s_axis_rd_tdata(rd_tdata),
      .s_axis_rd_tkeep(rd_tkeep),
      .s_axis_rd_tlast(rd_tlast),
      .s_axis_rd_tuser(rd_tuser),
      .s_axis_rd_tid(rd_tid),
      .busy(parity_busy)
  );

  // From streams to commands.
  logic grow, halted;
  logic wr_valid, wr_ready, rd_valid, rd_ready;
  command_t wr_command, rd_command;
  // Commands for the array, not yet for a drive.
  logic wr_built, wr_taken, wr_waits, rd_built, rd_taken, rd_waits;
  command_t wr_array_command, rd_array_command;

  fb_nvme_write #(
      .UnitBits(UnitBits),
      .Array(Drives > 1)
  ) u_write (
      .clk,
      .rst,
      .restart,
      .cfg,
      .held(wr_held),
      .grow,
      .hold(put_hold),
      .s_axis_wr_tvalid(wr_tvalid),
      .s_axis_wr_tready(wr_tready),
      .s_axis_wr_tdata(wr_tdata),
      .s_axis_wr_tkeep(wr_tkeep),
      .s_axis_wr_tlast(wr_tlast),
      .offer_valid(wr_offer_valid),
      .offer_page(wr_offer_page),
      .offer_take(wr_offer_take),
      .open(wr_open),
      .mem_we(put_valid),
      .mem_addr(put_addr),
      .mem_wdata(put_data),
      .mem_end(put_end),
      .landed,
      .landed_error,
      .command_valid(wr_built),
      .command_ready(wr_taken),
      .command(wr_array_command)
  );

  fb_nvme_read #(
      .UnitBits(UnitBits),
      .Array(Drives > 1)
  ) u_read (
      .clk,
      .rst(restart),
      .cfg,
      .held(rd_held),
      .s_axis_rdcmd_tvalid(rdcmd_tvalid),
      .s_axis_rdcmd_tready(rdcmd_tready),
      .s_axis_rdcmd_tdata(rdcmd_tdata),
      .offer_valid(rd_offer_valid),
      .offer_page(rd_offer_page),
      .offer_take(rd_offer_take),
      .open(rd_open),
      .command_valid(rd_built),
      .command_ready(rd_taken),
      .command(rd_array_command)
  );

  if (Drives > 1) begin : gen_stripes
    fb_nvme_stripe u_wr_stripe (
        .clk,
        .rst(restart),
        .cfg,
        .s_valid(wr_built),
        .s_ready(wr_taken),
        .s_command(wr_array_command),
        .m_valid(wr_valid),
        .m_ready(wr_ready),
        .m_command(wr_command),
        .busy(wr_waits)
    );
    fb_nvme_stripe u_rd_stripe (
        .clk,
        .rst(restart),
        .cfg,
        .s_valid(rd_built),
        .s_ready(rd_taken),
        .s_command(rd_array_command),
        .m_valid(rd_valid),
        .m_ready(rd_ready),
        .m_command(rd_command),
        .busy(rd_waits)
    );
  end else begin : gen_no_stripes
    assign wr_valid = wr_built;
    assign wr_taken = wr_ready;
    assign wr_waits = wr_built;
    assign rd_valid = rd_built;
    assign rd_taken = rd_ready;
    assign rd_waits = rd_built;
    always_comb begin
      wr_command = wr_array_command;
      rd_command = rd_array_command;
      // Said once more here, so that nothing is kept of it.
      wr_command.drive = '0;
      rd_command.drive = '0;
    end
  end

  // Submission.
  logic flush_valid, flush_ready, reorder_valid, reorder_write, writes_empty, rejected;
  logic [PAGE_BITS-1:0] flush_page, reorder_page, fetched_page;
  reorder_t reorder_entry;
  logic submitted, submitted_retry, lookup_in_use, finish, finish_retry;
  logic [TAG_BITS-1:0] submitted_tag, lookup_tag, fetched_tag;
  descriptor_t submitted_descriptor, lookup_descriptor;
  logic [STAMP_BITS-1:0] lookup_stamp;
  logic [3:0] lookup_retries;
  logic [Drives-1:0][SLOT_BITS-1:0] sq_tail, cq_head, drive_outstanding;
  logic [SLOT_BITS-1:0] outstanding, submitted_slot;
  logic [DRIVE_BITS-1:0] flush_drive, fetch_drive, nsid_drive, seen_drive;
  logic [31:0] nsid;
  logic fetch_valid;
  logic [9:0] fetch_slot;
  logic [DATA_BITS-1:0] fetch_sqe;
  logic [1:0] fetched_q;
  logic [CODE_BITS-1:0] rejected_code;

  fb_nvme_submit #(
      .QueueDepth(QueueDepth),
      .Drives(Drives)
  ) u_submit (
      .clk,
      .rst(restart),
      .sweep,
      .sweep_index(sweep_index_q),
      .cfg,
      .halted,
      .wr_valid,
      .wr_ready,
      .wr_command,
      .rd_valid,
      .rd_ready,
      .rd_command,
      .flush_valid,
      .flush_ready,
      .flush_page,
      .flush_drive,
      .finish,
      .finish_retry,
      .finish_tag(lookup_tag),
      .finish_drive(seen_drive),
      .writes_empty,
      .reorder_valid,
      .reorder_write,
      .reorder_page,
      .reorder_entry,
      .rejected,
      .rejected_code,
      .submitted,
      .submitted_retry,
      .submitted_tag,
      .submitted_slot,
      .submitted_descriptor,
      .sq_tail,
      .drive_outstanding,
      .outstanding,
      .busy(grow)
  );

  fb_nvme_command_table #(
      .Tags(Drives * QueueDepth)
  ) u_command_table (
      .clk,
      .sweep,
      .sweep_index(sweep_index_q),
      .submitted,
      .submitted_retry,
      .submitted_tag,
      .submitted_descriptor,
      .now(now_q),
      .lookup_tag,
      .lookup_in_use,
      .lookup_descriptor,
      .lookup_stamp,
      .lookup_retries,
      .finish,
      .finish_retry
  );

  fb_nvme_sqe #(
      .QueueDepth(QueueDepth),
      .Drives(Drives),
      .UnitBits(UnitBits),
      .InHost(InHost),
      .ListsInside(OnChip),
      .ListPerCommand(ListPerCommand)
  ) u_sqe (
      .clk,
      .cfg,
      .piece_we,
      .piece_index,
      .piece_address,
      .submitted,
      .submitted_retry,
      .submitted_tag,
      .submitted_slot,
      .submitted_descriptor,
      .fetch_drive,
      .fetch_slot,
      .fetch_sqe,
      .fetched_tag,
      .fetched_page,
      .nsid_drive,
      .nsid
  );

  // The BAR: its map, and what is behind each region.
  localparam int unsigned CqOffset = (QueueDepth > 64) ? QueueDepth * 64 : 4096;
  localparam int unsigned QueueBits = $clog2(CqOffset) + 1 + $clog2(Drives);
  localparam int unsigned ChipBits = $clog2(BUFFER_BYTES) + UnitBits;  // of the largest on the chip
  localparam int unsigned ChipBase = (UnitBits > 1) ? 2 << ChipBits : BAR0_DATA;
  localparam int unsigned DramListBits = ListPerCommand ? 18 : $clog2(PRP_LISTS_BYTES);
  localparam int unsigned ListBits = OnChip ? ChipBits : DramListBits;
  localparam map_t Map = '{
      PAYLOAD:
      InHost
      ?
      NOWHERE
      : '{
          base: 32'(OnChip ? ChipBase : BAR0_DATA_DRAM),
          bits: 6'($clog2(Pages) + UnitBits + 12),
          writable: 1'b1
      },
      LISTS: '{
          base: 32'(OnChip ? ChipBase + (1 << ChipBits) : BAR0_PRP_LISTS),
          bits: 6'(ListBits),
          writable: 1'b0
      },
      QUEUES: '{
          base: 32'((QueueBits > 16) ? BAR0_QUEUES_DEEP : BAR0_QUEUES),
          bits: 6'(QueueBits),
          writable: 1'b1
      },
      REGISTERS: '{base: 32'(BAR0_CONTROL), bits: 6'd12, writable: 1'b1}
  };

  logic [REGIONS-1:0] bar_writes, bar_written, bar_refused, bar_reads, bar_taken, bar_errors;
  logic [REGIONS-1:0][DATA_BITS-1:0] bar_words;
  logic [BarAddrBits-1:0] write_at, read_at, next_at;
  logic [15:0] write_dwords;

  fb_bar_target #(
      .AddrBits(BarAddrBits),
      .AxiIdBits(AxiIdBits),
      .Latency(BarLatency),
      .Map(Map)
  ) u_bar (
      .clk,
      .rst,
      .s_axi_bar_awid,
      .s_axi_bar_awaddr,
      .s_axi_bar_awlen,
      .s_axi_bar_awsize,
      .s_axi_bar_awburst,
      .s_axi_bar_awvalid,
      .s_axi_bar_awready,
      .s_axi_bar_wdata,
      .s_axi_bar_wstrb,
      .s_axi_bar_wlast,
      .s_axi_bar_wvalid,
      .s_axi_bar_wready,
      .s_axi_bar_bid,
      .s_axi_bar_bresp,
      .s_axi_bar_bvalid,
      .s_axi_bar_bready,
      .s_axi_bar_arid,
      .s_axi_bar_araddr,
      .s_axi_bar_arlen,
      .s_axi_bar_arsize,
      .s_axi_bar_arburst,
      .s_axi_bar_arvalid,
      .s_axi_bar_arready,
      .s_axi_bar_rid,
      .s_axi_bar_rdata,
      .s_axi_bar_rresp,
      .s_axi_bar_rlast,
      .s_axi_bar_rvalid,
      .s_axi_bar_rready,
      .write_valid(bar_writes),
      .write_ready(bar_written),
      .write_refused(bar_refused),
      .write_addr(write_at),
      .write_data(bar_write_data),
      .write_strb(bar_write_strb),
      .write_dwords,
      .read_valid(bar_reads),
      .read_ready(bar_taken),
      .read_addr(read_at),
      .read_word(bar_words),
      .read_error(bar_errors),
      .read_stays(bar_read_stays),
      .next_valid(bar_next_valid),
      .next_addr(next_at)
  );

  assign bar_write_valid = bar_writes[PAYLOAD];
  assign bar_write_addr = MemAddrBits'(write_at >> BEAT_BITS);
  assign bar_written[PAYLOAD] = bar_write_ready;
  assign bar_refused[PAYLOAD] = 1'b0;
  assign bar_read_valid = bar_reads[PAYLOAD];
  assign bar_read_addr = MemAddrBits'(read_at >> BEAT_BITS);
  assign bar_next_addr = MemAddrBits'(next_at >> BEAT_BITS);
  assign bar_taken[PAYLOAD] = bar_read_ready;
  assign bar_words[PAYLOAD] = bar_read_word;
  assign bar_errors[PAYLOAD] = bar_read_error;

  // A region looks at the low bits of an address.
  logic unused_at;
  assign unused_at = &{1'b0, write_at, read_at, next_at, 1'b0};

  fb_bar_lists #(
      .PageBits(PAGE_BITS + UnitBits),
      .UnitBits(UnitBits),
      .OnChip(OnChip),
      .PerCommand(ListPerCommand),
      .InHost(InHost),
      .Latency(BarLatency)
  ) u_lists (
      .clk,
      .data_window(cfg.data_window),
      .data_write(cfg.data_write),
      .data_read(cfg.data_read),
      .piece_we,
      .piece_index,
      .piece_address,
      .fetched(fetched_q[1]),
      .fetched_tag,
      .fetched_unit(fetched_page),
      .read_addr(read_at[ListBits-1:0]),
      .read_word(bar_words[LISTS])
  );
  // The entry that is asked for comes two cycles later.
  always_ff @(posedge clk) fetched_q <= {fetched_q[0], fetch_valid};
  assign bar_written[LISTS] = 1'b1;
  assign bar_refused[LISTS] = 1'b1;
  assign bar_taken[LISTS]   = 1'b1;
  assign bar_errors[LISTS]  = 1'b0;

  fb_bar_submission #(
      .QueueDepth(QueueDepth),
      .CqOffset(CqOffset),
      .Drives(Drives),
      .Latency(BarLatency)
  ) u_submission (
      .clk,
      .read_valid(bar_reads[QUEUES]),
      .read_addr (read_at[QueueBits-1:0]),
      .read_word (bar_words[QUEUES]),
      .read_error(bar_errors[QUEUES]),
      .fetch_valid,
      .fetch_drive,
      .fetch_slot,
      .fetch_sqe
  );
  assign bar_taken[QUEUES] = 1'b1;

  completion_t cqe;
  logic cqe_valid, cqe_ready, stray_write;
  fb_bar_completion #(
      .QueueDepth(QueueDepth),
      .CqOffset(CqOffset),
      .Drives(Drives)
  ) u_completion (
      .clk,
      .rst,
      .write_valid(bar_writes[QUEUES]),
      .write_ready(bar_written[QUEUES]),
      .write_refused(bar_refused[QUEUES]),
      .write_addr(write_at[QueueBits-1:0]),
      .write_data(bar_write_data),
      .write_dwords,
      .write_strb(bar_write_strb),
      .cqe_valid,
      .cqe_ready,
      .cqe_drive(cqe.drive),
      .cqe_slot(cqe.slot),
      .cqe_cid(cqe.cid),
      .cqe_sqhd(cqe.sq_head),
      .cqe_phase(cqe.phase),
      .cqe_status(cqe.status),
      .stray(stray_write)
  );

  logic [11:0] axil_awaddr, axil_araddr;
  logic [2:0] axil_awprot, axil_arprot;
  logic [63:0] axil_wdata, axil_rdata;
  logic [7:0] axil_wstrb;
  logic [1:0] axil_bresp, axil_rresp;
  logic axil_awvalid, axil_awready, axil_wvalid, axil_wready, axil_bvalid, axil_bready;
  logic axil_arvalid, axil_arready, axil_rvalid, axil_rready;

  fb_bar_registers #(
      .Latency(BarLatency)
  ) u_doors (
      .clk,
      .rst,
      .write_valid(bar_writes[REGISTERS]),
      .write_ready(bar_written[REGISTERS]),
      .write_refused(bar_refused[REGISTERS]),
      .write_addr(write_at[11:0]),
      .write_data(bar_write_data),
      .write_strb(bar_write_strb),
      .read_valid(bar_reads[REGISTERS]),
      .read_ready(bar_taken[REGISTERS]),
      .read_addr(read_at[11:0]),
      .read_word(bar_words[REGISTERS]),
      .read_error(bar_errors[REGISTERS]),
      .s_axil_ctrl_awaddr,
      .s_axil_ctrl_awprot,
      .s_axil_ctrl_awvalid,
      .s_axil_ctrl_awready,
      .s_axil_ctrl_wdata,
      .s_axil_ctrl_wstrb,
      .s_axil_ctrl_wvalid,
      .s_axil_ctrl_wready,
      .s_axil_ctrl_bresp,
      .s_axil_ctrl_bvalid,
      .s_axil_ctrl_bready,
      .s_axil_ctrl_araddr,
      .s_axil_ctrl_arprot,
      .s_axil_ctrl_arvalid,
      .s_axil_ctrl_arready,
      .s_axil_ctrl_rdata,
      .s_axil_ctrl_rresp,
      .s_axil_ctrl_rvalid,
      .s_axil_ctrl_rready,
      .m_axil_awaddr(axil_awaddr),
      .m_axil_awprot(axil_awprot),
      .m_axil_awvalid(axil_awvalid),
      .m_axil_awready(axil_awready),
      .m_axil_wdata(axil_wdata),
      .m_axil_wstrb(axil_wstrb),
      .m_axil_wvalid(axil_wvalid),
      .m_axil_wready(axil_wready),
      .m_axil_bresp(axil_bresp),
      .m_axil_bvalid(axil_bvalid),
      .m_axil_bready(axil_bready),
      .m_axil_araddr(axil_araddr),
      .m_axil_arprot(axil_arprot),
      .m_axil_arvalid(axil_arvalid),
      .m_axil_arready(axil_arready),
      .m_axil_rdata(axil_rdata),
      .m_axil_rresp(axil_rresp),
      .m_axil_rvalid(axil_rvalid),
      .m_axil_rready(axil_rready)
  );

  logic sq_rung, cq_rung, doorbell_error;
  logic [DRIVE_BITS-1:0] ring_drive, rung_drive;
  logic [SLOT_BITS-1:0] rung_value;
  logic [63:0] sq_address, cq_address;
  fb_nvme_doorbell #(
      .Drives(Drives)
  ) u_doorbell (
      .clk,
      .rst,
      .enable(!restart),
      .sq_tail,
      .cq_head,
      .ring_drive,
      .sq_address,
      .cq_address,
      .sq_rung,
      .cq_rung,
      .rung_drive,
      .rung_value,
      .error (doorbell_error),
      .m_axil_db_awaddr,
      .m_axil_db_awprot,
      .m_axil_db_awvalid,
      .m_axil_db_awready,
      .m_axil_db_wdata,
      .m_axil_db_wstrb,
      .m_axil_db_wvalid,
      .m_axil_db_wready,
      .m_axil_db_bresp,
      .m_axil_db_bvalid,
      .m_axil_db_bready,
      .m_axil_db_araddr,
      .m_axil_db_arprot,
      .m_axil_db_arvalid,
      .m_axil_db_arready,
      .m_axil_db_rdata,
      .m_axil_db_rresp,
      .m_axil_db_rvalid,
      .m_axil_db_rready
  );

  // Completion, and the user's order.
  logic result_valid, early_valid, early_ready;
  logic [PAGE_BITS-1:0] result_page;
  command_result_t result;
  logic completed, failed, rogue_phase, rogue_cid, rogue_head, seen_write;
  logic [15:0] seen_cid;
  logic [12:0] seen_head;
  logic [STATUS_BITS-1:0] seen_status;
  logic [STAMP_BITS-1:0] latency;
  logic [SIZE_BITS-9:0] seen_sectors;
  logic [SECTOR_BITS-1:0] seen_sector;

  fb_nvme_complete #(
      .QueueDepth(QueueDepth),
      .Drives(Drives)
  ) u_complete (
      .clk,
      .rst(restart),
      .sweep,
      .halted,
      .cfg,
      .cqe_valid,
      .cqe_ready,
      .cqe,
      .lookup_tag,
      .lookup_in_use,
      .lookup_descriptor,
      .lookup_stamp,
      .lookup_retries,
      .finish,
      .finish_retry,
      .now(now_q),
      .cq_head,
      .result_valid,
      .result_page,
      .result,
      .early_ready,
      .early_valid,
      .completed,
      .failed,
      .rogue_phase,
      .rogue_cid,
      .rogue_head,
      .seen_drive,
      .seen_cid,
      .seen_head,
      .seen_status,
      .latency,
      .seen_write,
      .seen_sectors,
      .seen_sector
  );

  logic [Drives-1:0] lost;
  logic [DRIVE_BITS-1:0] timed_out_drive;
  logic [DRIVES_MOST-1:0] offline_late;
  logic timed_out, timed_out_write, delivery_valid, delivery_ready, reorder_empty, deliver_empty;
  delivery_t delivery;
  fb_nvme_reorder #(
      .Pages(Pages),
      .UnitBits(UnitBits),
      .Drives(Drives)
  ) u_reorder (
      .clk,
      .rst,
      .restart,
      .sweep,
      .sweep_index(sweep_index_q),
      .cfg,
      .halted,
      .timed_out,
      .timed_out_write,
      .timed_out_drive,
      .lost,
      .offline(offline_late),
      .reorder_valid,
      .reorder_write,
      .reorder_page,
      .reorder_entry,
      .result_valid,
      .result_page,
      .result,
      .early_valid,
      .early_ready,
      .wr_look_valid,
      .wr_look_page,
      .wr_retire,
      .rd_look_valid,
      .rd_look_page,
      .rd_retire,
      .retire_count,
      .flush_valid,
      .flush_ready,
      .flush_page,
      .flush_drive,
      .m_axis_wrsp_tvalid,
      .m_axis_wrsp_tready,
      .m_axis_wrsp_tdata,
      .delivery_valid,
      .delivery_ready,
      .delivery,
      .writes_empty,
      .empty(reorder_empty)
  );

  fb_nvme_deliver #(
      .UnitBits  (UnitBits),
      .FifoDepth (ReadBeats),
      .WholePages(WholePages)
  ) u_deliver (
      .clk,
      .rst,
      .restart,
      .delivery_valid,
      .delivery_ready,
      .delivery,
      .free_step(rd_free),
      .get_valid,
      .get_ready,
      .get_addr,
      .get_first,
      .get_count,
      .got_valid,
      .got_error,
      .got_data,
      .m_axis_rd_tvalid(rd_tvalid),
      .m_axis_rd_tready(rd_tready),
      .m_axis_rd_tdata(rd_tdata),
      .m_axis_rd_tkeep(rd_tkeep),
      .m_axis_rd_tlast(rd_tlast),
      .m_axis_rd_tuser(rd_tuser),
      .m_axis_rd_tid(rd_tid),
      .empty(deliver_empty)
  );

  fb_nvme_page_check #(
      .Pages(Pages)
  ) u_page_check (
      .clk,
      .rst(restart),
      .sweep,
      .sweep_index(sweep_index_q),
      .halted,
      .offline(cfg.offline),
      .issue_valid(reorder_valid && !reorder_entry.reject),
      .issue_drive(reorder_entry.drive),
      .issue_unit(reorder_page),
      .issue_count(reorder_entry.unordered ? 9'd1 :
                   {1'b0, reorder_entry.size[SIZE_BITS-1:12] >> UnitBits} + 9'd1),
      .over_valid(result_valid),
      .over_unit(result_page),
      .wr_offer_valid,
      .wr_offer_unit(wr_offer_page),
      .rd_offer_valid,
      .rd_offer_unit(rd_offer_page),
      .put_valid(put_valid),
      .put_unit(put_addr[MemAddrBits-1-:PAGE_BITS]),
      .get_valid(get_valid && get_ready),
      .get_unit(get_addr[MemAddrBits-1-:PAGE_BITS]),
      .got_valid
  );

  // Registers, and what they show.
  logic counter_req, counter_ack, bin_req, bin_ack, trace_req, trace_ack, idle_q;
  logic [3:0] counter_addr;
  logic [4:0] bin_addr;
  logic [5:0] trace_addr;
  logic [31:0] counter_data, bin_data;
  logic [63:0] trace_data;

  fb_nvme_monitor u_monitor (
      .clk,
      .rst(restart),
      .sweep,
      .sweep_index(sweep_index_q),
      .count_cycles(!restart),
      .issued(submitted),
      .issued_retry(submitted_retry),
      .issued_op(submitted_descriptor.op),
      .issued_tag(submitted_tag),
      .issued_drive(submitted_descriptor.drive),
      .issued_slot(submitted_slot),
      .rejected,
      .rejected_code,
      .fetched(fetch_valid),
      .fetched_drive(fetch_drive),
      .fetched_slot(fetch_slot),
      .completed,
      .failed,
      .rogue_phase(rogue_phase || stray_write),
      .rogue_cid,
      .rogue_head,
      .seen_drive,
      .seen_cid,
      .seen_head,
      .seen_status,
      .latency,
      .timed_out,
      .sq_rung,
      .cq_rung,
      .doorbell_error,
      .rung_drive,
      .rung_value,
      .counter_req,
      .counter_addr,
      .counter_ack,
      .counter_data,
      .bin_req,
      .bin_addr,
      .bin_ack,
      .bin_data,
      .trace_req,
      .trace_addr,
      .trace_ack,
      .trace_data
  );

  always_ff @(posedge clk)
    idle_q <= !reorder_valid && !wr_open && !rd_open && !wr_built && !rd_built && !wr_waits &&
        !rd_waits && reorder_empty && deliver_empty && !m_axis_wrsp_tvalid && !parity_busy;

  logic array_req, array_write, array_rd_ack, array_wr_ack;
  logic [6:0] array_addr;
  logic [63:0] array_wdata, array_wmask, array_data, sq_doorbell, cq_doorbell;
  cfg_t settings;

  if (Drives > 1) begin : gen_array
    logic [DRIVE_BITS-1:0] drives_m1;
    logic [7:0] strip_m1;
    logic [SECTOR_BITS-1:0] region_sectors;
    logic parity, degraded;
    logic [DRIVES_MOST-1:0] offline;
    logic [63:0] other_sq_doorbell, other_cq_doorbell;
    logic [31:0] other_nsid;
    fb_nvme_array #(
        .Drives(Drives),
        .ParityPages(ParityPages)
    ) u_array (
        .clk,
        .rst,
        .sweep,
        .sweep_row(sweep_index_q[DRIVE_BITS-1:0]),
        .drives_m1,
        .strip_m1,
        .region_sectors,
        .parity,
        .degraded,
        .offline,
        .offline_late,
        .ring_drive,
        .sq_doorbell(other_sq_doorbell),
        .cq_doorbell(other_cq_doorbell),
        .nsid_drive,
        .nsid(other_nsid),
        .outstanding(drive_outstanding),
        .lost,
        .over(result_valid),
        .over_drive(seen_drive),
        .over_failed(failed),
        .over_latency(latency),
        .over_sectors(seen_sectors),
        .array_req,
        .array_write,
        .array_addr,
        .array_wdata,
        .array_wmask,
        .array_rd_ack,
        .array_wr_ack,
        .array_data
    );
    always_comb begin
      cfg = settings;
      cfg.drives_m1 = drives_m1;
      cfg.strip_m1 = strip_m1;
      cfg.region_sectors = region_sectors;
      cfg.offline = offline;
      cfg.parity = parity;
      cfg.degraded = degraded;
    end
    assign sq_address = (ring_drive == '0) ? sq_doorbell : other_sq_doorbell;
    assign cq_address = (ring_drive == '0) ? cq_doorbell : other_cq_doorbell;
    assign nsid = (nsid_drive == '0) ? settings.nsid : other_nsid;
  end else begin : gen_no_array
    assign cfg = settings;
    assign sq_address = sq_doorbell;
    assign cq_address = cq_doorbell;
    assign nsid = settings.nsid;
    assign array_rd_ack = array_req && !array_write;
    assign array_wr_ack = array_req && array_write;
    assign array_data = '0;
    assign offline_late = '0;
    logic unused;
    assign unused = &{1'b0, drive_outstanding, nsid_drive, ring_drive, seen_sectors,
                      array_addr, array_wdata, array_wmask, 1'b0};
  end

  fb_nvme_regs #(
      .QueueDepth(QueueDepth),
      .Pages(Pages),
      .ReservePages(ReservePages),
      .CqOffset(CqOffset),
      .UnitBits(UnitBits),
      .InHost(InHost),
      .Drives(Drives),
      .Identity(Identity),
      .SqDoorbell(SqDoorbell),
      .CqDoorbell(CqDoorbell)
  ) u_regs (
      .clk,
      .rst,
      .s_axil_ctrl_awaddr(axil_awaddr),
      .s_axil_ctrl_awprot(axil_awprot),
      .s_axil_ctrl_awvalid(axil_awvalid),
      .s_axil_ctrl_awready(axil_awready),
      .s_axil_ctrl_wdata(axil_wdata),
      .s_axil_ctrl_wstrb(axil_wstrb),
      .s_axil_ctrl_wvalid(axil_wvalid),
      .s_axil_ctrl_wready(axil_wready),
      .s_axil_ctrl_bresp(axil_bresp),
      .s_axil_ctrl_bvalid(axil_bvalid),
      .s_axil_ctrl_bready(axil_bready),
      .s_axil_ctrl_araddr(axil_araddr),
      .s_axil_ctrl_arprot(axil_arprot),
      .s_axil_ctrl_arvalid(axil_arvalid),
      .s_axil_ctrl_arready(axil_arready),
      .s_axil_ctrl_rdata(axil_rdata),
      .s_axil_ctrl_rresp(axil_rresp),
      .s_axil_ctrl_rvalid(axil_rvalid),
      .s_axil_ctrl_rready(axil_rready),
      .enable,
      .cfg(settings),
      .sq_doorbell,
      .cq_doorbell,
      .dram_read,
      .dram_write,
      .piece_we,
      .piece_index,
      .piece_address,
      .memory_errors,
      .clear(sweep && !restart),
      .ready(!sweep && !restart),
      .halted,
      .lost,
      .idle(idle_q),
      .outstanding,
      .write_pages(wr_held),
      .read_pages(rd_held),
      .error(failed || timed_out || rejected),
      .error_code(failed ? status_code(seen_status) : timed_out ? ERR_TIMEOUT : rejected_code),
      .error_status(failed ? seen_status : '0),
      .error_cid(failed ? seen_cid : '1),
      .error_drive(failed ? seen_drive : timed_out ? timed_out_drive : reorder_entry.drive),
      .error_write(failed ? seen_write : timed_out ? timed_out_write : reorder_write),
      .error_sector(failed ? seen_sector : '0),
      .counter_req,
      .counter_addr,
      .counter_ack,
      .counter_data,
      .bin_req,
      .bin_addr,
      .bin_ack,
      .bin_data,
      .trace_req,
      .trace_addr,
      .trace_ack,
      .trace_data,
      .array_req,
      .array_write,
      .array_addr,
      .array_wdata,
      .array_wmask,
      .array_rd_ack,
      .array_wr_ack,
      .array_data
  );

endmodule

`default_nettype wire
