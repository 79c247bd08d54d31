// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The NVMe streamer: the user's four streams on one side, the BAR in which the SSDs find their queues
// on the other, the payload buffer below. This module only connects; read it to see who speaks to
// whom. Nets of the same name are connected by `.*`.
//
//   write stream -> write --\                      /-> sqe -> BAR: submission queues -> SSD
//                            >- accept -> submit -<--> doorbell -> SSD
//   read command -> read ---/      \               \-> command table
//                                   \-> reorder
//
//   SSD -> BAR: completion queues -> complete -> reorder -> write responses
//                                                       \-> deliver -> read data
//
// Where there are several drives (docs/reference/drives.md), fb_raid_map before accept finds out which
// of them a command is for, and fb_raid_queues behind it lets commands wait for their drive; with
// parity, fb_raid_parity stands before write and read.
//
// Pages of the buffer come from the rings (fb_payload_allocator): taken by write and read, freed by
// reorder and deliver. The memory itself is outside: behind `streams` for the streams, behind
// `bar_memory` for the SSDs (docs/reference/memories.md).
//
// Handshake: AXI4-Stream, AXI4, AXI4-Lite; see the modules. Disabling the streamer by its control
// register forgets all queues and pages; 1024 cycles after enabling it is ready, one for each page
// where there are more. Latency and throughput: docs/reference/streamer.md.
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
    parameter logic [63:0] Identity = IDENTITY_ONCHIP,  // says where the buffer is
    parameter bit ListPerCommand = 1'b0,  // PRP lists are found by command, else by unit
    parameter logic [63:0] SqDoorbell = '0,  // of the SSD, after a reset
    parameter logic [63:0] CqDoorbell = '0,
    parameter int unsigned AxiIdBits = 4,  // of the BAR
    localparam bit OnChip = Identity == IDENTITY_ONCHIP,
    localparam bit InHost = Identity == IDENTITY_HOST,
    localparam int unsigned UnitIndexBits = $clog2(Pages),
    // Pages of the buffer: in DRAM each unit has a place for a write and one for a read.
    localparam int unsigned PageBits = UnitIndexBits + UnitBits + (OnChip ? 0 : 1),
    localparam int unsigned MemAddrBits = PageBits + BEAT_BITS
) (
    input wire clk,
    input wire rst,

    fb_axis_if.target s_axis_wr,

    output logic                 m_axis_wrsp_tvalid,
    input  wire                  m_axis_wrsp_tready,
    output logic [CODE_BITS-1:0] m_axis_wrsp_tdata,

    fb_axis_if.target s_axis_rdcmd,
    fb_axis_if.initiator m_axis_rd,

    fb_payload_stream_if.streamer streams,  // payload memory, stream side
    fb_bar_memory_if.bar bar_memory,  // and the SSDs' side: words after BarLatency cycles

    fb_axi_if.target s_axi_bar,
    fb_axil_if.initiator m_axil_db,  // doorbells
    fb_axil_if.target s_axil_ctrl  // control registers, beside the BAR
);

  if (ListPerCommand && (OnChip || QueueDepth * Drives > 64)) begin : gen_bad_lists
    $fatal(1, "fb_nvme_streamer (%m): ListPerCommand is for 64 commands and a buffer in DRAM");
  end

  // Life of the queue: nothing while disabled, then a sweep that clears the tables, then service.
  localparam logic [PAGE_BITS-1:0] SweepLast = PAGE_BITS'((Pages > 1024) ? Pages - 1 : 1023);
  cfg_t cfg;
  logic enable, restart, sweep;
  logic [ PAGE_BITS-1:0] sweep_index;
  logic [STAMP_BITS-1:0] now;
  assign streams.restart = restart;
  always_ff @(posedge clk) begin
    now <= rst ? '0 : now + 1'b1;
    // What the memory is still asked for must not be answered in the next life.
    restart <= rst || !enable || (restart && !streams.quiet);
    if (restart) begin
      sweep_index <= '0;
      sweep <= 1'b1;
    end else if (sweep) begin
      sweep_index <= sweep_index + 1'b1;
      sweep <= (sweep_index != SweepLast);
    end
  end

  // Rings.
  logic wr_offer_valid, wr_offer_take, wr_open, rd_offer_valid, rd_offer_take, rd_open;
  logic [UnitIndexBits-1:0] wr_offer_page, rd_offer_page, wr_look_page, rd_look_page;
  logic wr_look_valid, rd_look_valid, wr_retire, rd_retire, rd_free;
  logic [8:0] retire_count;
  logic [UnitIndexBits:0] wr_held, rd_held;

  fb_payload_allocator #(
      .Pages(Pages),
      .ReservePages(ReservePages)
  ) u_rings (
      .rst(restart),
      .offer_valid({rd_offer_valid, wr_offer_valid}),
      .offer_page({rd_offer_page, wr_offer_page}),
      .offer_take({rd_offer_take, wr_offer_take}),
      .open({rd_open, wr_open}),
      .look_valid({rd_look_valid, wr_look_valid}),
      .look_page({rd_look_page, wr_look_page}),
      .look_step({rd_retire, wr_retire}),
      .look_count({2{retire_count}}),
      .free_step({rd_free, wr_retire}),
      .free_count({9'd1, retire_count}),
      .held({rd_held, wr_held}),
      .*
  );

  // The array's side of the user's streams: what waits here a restart may take away, but no data read.
  fb_axis_if rd (.*);
  fb_axis_if wr (
      clk,
      restart
  );
  fb_axis_if #(
      .DataBits(256)
  ) rdcmd (
      clk,
      restart
  );
  logic parity_busy;

  fb_raid_parity #(
      .Pages((Drives > 1) ? ParityPages : 0)
  ) u_parity (
      .m_axis_wr(wr),
      .m_axis_rdcmd(rdcmd),
      .s_axis_rd(rd),
      .busy(parity_busy),
      .*
  );

  // Beats of the buffer by unit; in DRAM writes have the lower half, reads the upper one.
  localparam int unsigned PlaceBits = UnitIndexBits + UnitBits + BEAT_BITS;
  logic [PlaceBits-1:0] write_place, read_place;
  assign streams.write_addr = MemAddrBits'(write_place);
  assign streams.read_addr  = MemAddrBits'({1'b1, read_place});

  // From streams to commands.
  logic grow, halted;
  logic wr_valid, wr_ready, rd_valid, rd_ready;
  command_t wr_command, rd_command;
  // Commands for the array, not yet for a drive: reads 0, writes 1.
  logic [1:0] built, taken, waits, mapped, mapped_ready;
  command_t array_command[2], mapped_command[2];

  fb_nvme_write_split #(
      .Pages(Pages),
      .UnitBits(UnitBits),
      .Array(Drives > 1)
  ) u_write (
      .held((PAGE_BITS + 1)'(wr_held)),
      .hold(streams.write_hold),
      .s_axis_wr(wr),
      .offer_valid(wr_offer_valid),
      .offer_page(PAGE_BITS'(wr_offer_page)),
      .offer_take(wr_offer_take),
      .open(wr_open),
      .mem_we(streams.write_valid),
      .mem_addr(write_place),
      .mem_wdata(streams.write_data),
      .mem_end(streams.write_end),
      .committed(streams.committed),
      .commit_error(streams.commit_error),
      .command_valid(built[1]),
      .command_ready(taken[1]),
      .command(array_command[1]),
      .*
  );

  fb_nvme_read_split #(
      .UnitBits(UnitBits),
      .Array(Drives > 1)
  ) u_read (
      .rst(restart),
      .held((PAGE_BITS + 1)'(rd_held)),
      .s_axis_rdcmd(rdcmd),
      .offer_valid(rd_offer_valid),
      .offer_page(PAGE_BITS'(rd_offer_page)),
      .offer_take(rd_offer_take),
      .open(rd_open),
      .command_valid(built[0]),
      .command_ready(taken[0]),
      .command(array_command[0]),
      .*
  );

  for (genvar i = 0; i < 2; i++) begin : gen_map
    if (Drives > 1) begin : gen_stripes
      fb_raid_map u_map (
          .rst(restart),
          .s_valid(built[i]),
          .s_ready(taken[i]),
          .s_command(array_command[i]),
          .m_valid(mapped[i]),
          .m_ready(mapped_ready[i]),
          .m_command(mapped_command[i]),
          .busy(waits[i]),
          .*
      );
    end else begin : gen_no_stripes
      assign mapped[i] = built[i];
      assign taken[i]  = mapped_ready[i];
      assign waits[i]  = built[i];
      always_comb begin
        mapped_command[i] = array_command[i];
        mapped_command[i].drive = '0;  // said once more here, so that nothing is kept of it
      end
    end
  end
  assign {wr_valid, rd_valid} = mapped;
  assign mapped_ready = {wr_ready, rd_ready};
  assign wr_command = mapped_command[1];
  assign rd_command = mapped_command[0];

  // Where a segment of the buffer in host memory lies.
  logic segment_we;
  logic [4:0] segment_index;
  logic [63:0] segment_address;
  assign {streams.segment_we, streams.segment_index} = {segment_we, segment_index};
  assign streams.segment_address = segment_address;

  // Submission.
  logic flush_valid, flush_ready, reorder_valid, reorder_write, writes_empty, rejected;
  logic [PAGE_BITS-1:0] flush_page, reorder_page;
  logic [PageBits-UnitBits-1:0] fetched_unit;
  reorder_t reorder_entry;
  submitted_t submitted;
  lookup_t lookup;
  seen_t seen;  // what a completion entry told
  logic finish, finish_retry;
  logic [TAG_BITS-1:0] lookup_tag, fetched_tag;
  logic [Drives-1:0][SLOT_BITS-1:0] sq_tail, cq_head, drive_outstanding;
  logic [SLOT_BITS-1:0] outstanding;
  logic [DRIVE_BITS-1:0] flush_drive, fetch_drive, nsid_drive;
  logic [31:0] nsid;
  logic fetch_valid;
  logic [9:0] fetch_slot;
  logic [DATA_BITS-1:0] fetch_sqe;
  logic [CODE_BITS-1:0] rejected_code;

  logic accepted, next_valid, next_ready;
  logic [Drives-1:0] accepting, open_drives;
  descriptor_t accepted_command, next_command;
  fb_nvme_accept #(
      .Drives(Drives)
  ) u_accept (
      .rst(restart),
      .m_valid(accepted),
      .m_ready(accepting),
      .m_descriptor(accepted_command),
      .*
  );

  if (Drives > 1) begin : gen_queues
    fb_raid_queues #(
        .Drives(Drives)
    ) u_queues (
        .rst(restart),
        .offline(cfg.offline),
        .open(open_drives),
        .s_valid(accepted),
        .s_ready(accepting),
        .s_descriptor(accepted_command),
        .m_valid(next_valid),
        .m_ready(next_ready),
        .m_descriptor(next_command),
        .*
    );
  end else begin : gen_no_queues
    assign next_valid = accepted;
    assign accepting = next_ready;
    assign next_command = accepted_command;
    logic unused;
    assign unused = &{1'b0, open_drives, 1'b0};
  end

  fb_nvme_submit #(
      .QueueDepth(QueueDepth),
      .Drives(Drives)
  ) u_submit (
      .rst(restart),
      .valid(next_valid),
      .ready(next_ready),
      .command(next_command),
      .open(open_drives),
      .finish_tag(lookup_tag),
      .finish_drive(seen.drive),
      .busy(grow),
      .*
  );

  fb_nvme_command_table #(.Tags(Drives * QueueDepth)) u_command_table (.*);

  fb_nvme_sqe #(
      .QueueDepth(QueueDepth),
      .Drives(Drives),
      .Pages(Pages),
      .UnitBits(UnitBits),
      .InHost(InHost),
      .ListsInside(OnChip),
      .ListPerCommand(ListPerCommand)
  ) u_sqe (
      .*
  );

  fb_axil_if axil (.*);
  completion_t cqe;
  logic cqe_valid, cqe_ready, stray;
  fb_bar #(
      .QueueDepth(QueueDepth),
      .Drives(Drives),
      .PageBits(PageBits),
      .UnitBits(UnitBits),
      .Identity(Identity),
      .ListPerCommand(ListPerCommand),
      .AxiIdBits(AxiIdBits),
      .Latency(BarLatency)
  ) u_bar (
      .m_axil(axil),
      .payload(bar_memory),
      .data_window(cfg.data_window),
      .data_write(cfg.data_write),
      .data_read(cfg.data_read),
      .*
  );

  logic sq_rung, cq_rung, doorbell_error;
  logic [DRIVE_BITS-1:0] ring_drive, rung_drive;
  logic [SLOT_BITS-1:0] rung_value;
  logic [63:0] sq_address, cq_address, doorbell_offset;
  fb_nvme_doorbell #(
      .Drives(Drives)
  ) u_doorbell (
      .enable(!restart),
      .offset(doorbell_offset),
      .error (doorbell_error),
      .*
  );

  // Completion, and the user's order.
  logic result_valid, early_valid, early_ready;
  logic [PAGE_BITS-1:0] result_page;
  command_result_t result;

  fb_nvme_cqe_check #(
      .QueueDepth(QueueDepth),
      .Drives(Drives)
  ) u_complete (
      .rst(restart),
      .*
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
      .offline(offline_late),
      .wr_look_page(PAGE_BITS'(wr_look_page)),
      .rd_look_page(PAGE_BITS'(rd_look_page)),
      .empty(reorder_empty),
      .*
  );

  fb_nvme_read_stream #(
      .Pages     (Pages),
      .UnitBits  (UnitBits),
      .FifoDepth (ReadBeats),
      .WholePages(WholePages)
  ) u_deliver (
      .free_step(rd_free),
      .read_valid(streams.read_valid),
      .read_ready(streams.read_ready),
      .read_addr(read_place),
      .read_first(streams.read_first),
      .read_count(streams.read_count),
      .data_valid(streams.data_valid),
      .data_error(streams.data_error),
      .data(streams.data),
      .m_axis_rd(rd),
      .empty(deliver_empty),
      .*
  );

  fb_nvme_page_check #(
      .Pages(Pages)
  ) u_page_check (
      .rst(restart),
      .sweep_index(UnitIndexBits'(sweep_index)),
      .offline(cfg.offline),
      .issue_valid(reorder_valid && !reorder_entry.reject),
      .issue_drive(reorder_entry.drive),
      .issue_unit(UnitIndexBits'(reorder_page)),
      .issue_count(reorder_entry.unordered ? 9'd1 :
                   {1'b0, reorder_entry.size[SIZE_BITS-1:12] >> UnitBits} + 9'd1),
      .over_valid(result_valid),
      .over_unit(UnitIndexBits'(result_page)),
      .wr_offer_unit(wr_offer_page),
      .rd_offer_unit(rd_offer_page),
      .write_valid(streams.write_valid),
      .write_unit(write_place[PlaceBits-1-:UnitIndexBits]),
      .read_valid(streams.read_valid && streams.read_ready),
      .read_unit(read_place[PlaceBits-1-:UnitIndexBits]),
      .data_valid(streams.data_valid),
      .*
  );

  // Registers, and what they show.
  logic idle_q;
  monitor_read_t monitor_read;
  monitor_data_t monitor_data;
  error_t error;
  fb_nvme_monitor u_monitor (
      .rst(restart),
      .count_cycles(!restart),
      .fetched(fetch_valid),
      .fetched_drive(fetch_drive),
      .fetched_slot(fetch_slot),
      .*
  );

  always_ff @(posedge clk)
    idle_q <= !reorder_valid && !wr_open && !rd_open && built == '0 && waits == '0 &&
        reorder_empty && deliver_empty && !m_axis_wrsp_tvalid && !parity_busy;

  always_comb begin
    error = '{
        valid: seen.failed || timed_out || rejected,
        write: timed_out ? timed_out_write : reorder_write,
        code: timed_out ? ERR_TIMEOUT : rejected_code,
        status: '0,
        cid: '1,
        drive: timed_out ? timed_out_drive : reorder_entry.drive,
        sector: '0
    };
    if (seen.failed)
      error = {
        1'b1, seen.write, status_code(seen.status), seen.status, seen.cid, seen.drive, seen.sector
      };
  end

  fb_nvme_regs #(
      .QueueDepth(QueueDepth),
      .Pages(Pages),
      .ReservePages(ReservePages),
      .CqOffset(cq_offset(QueueDepth)),
      .UnitBits(UnitBits),
      .InHost(InHost),
      .Drives(Drives),
      .ParityPages(ParityPages),
      .Identity(Identity),
      .SqDoorbell(SqDoorbell),
      .CqDoorbell(CqDoorbell)
  ) u_regs (
      .s_axil_ctrl(axil),
      .dram_read(streams.dram_read),
      .dram_write(streams.dram_write),
      .memory_offset(streams.memory_offset),
      .memory_errors(streams.errors),
      .clear(sweep && !restart),
      .sweep_row(sweep_index[DRIVE_BITS-1:0]),
      .ready(!sweep && !restart),
      .idle(idle_q),
      .write_pages((PAGE_BITS + 1)'(wr_held)),
      .read_pages((PAGE_BITS + 1)'(rd_held)),
      .over(result_valid),
      .*
  );

endmodule

`default_nettype wire
