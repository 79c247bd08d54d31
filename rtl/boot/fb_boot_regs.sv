// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_regs: what the sequencer's program is told and tells, and what software sees of it.
//
// What:        the spaces RAM and PORT of the sequencer, the registers of software (regs/boot.rdl),
//              counters of codes, LEDs, and `go`: the program begins again where it shall.
//              forebay-spec's `boot` describes both spaces. There, accesses of 32 bits, unaligned
//              ones, those of what is not there, and reads and writes that a register does not
//              have end in error, and change nothing.
// Handshake:   requests as fb_common_seq makes them. `s_axil_boot`: AXI4-Lite, 64 bit, one access at
//              a time.
// Latency:     1 cycle from a request that is taken to its answer, 3 from ARVALID to RVALID.
// Throughput:  a request a cycle. Memory and counters have one port each: software waits
//              while the sequencer, or a code that is counted, is served.
// Limits:      no request is taken for 32 cycles after a reset, in which the counters are cleared.
//              The memory keeps what it held. LEDs: link, ready, activity, error, from bit 0 on;
//              error stays until `go` of the registers is 0.
// Does not implement: interrupts, writes of software to the memory.

`default_nettype none

module fb_boot_regs
  import fb_spec_pkg::*;
#(
    parameter bit AutoStart = 1'b1,  // what `control` holds after a reset
    parameter bit Together = 1'b0,
    parameter bit AutoRecover = 1'b1,
    parameter bit Watch = 1'b1,
    parameter logic [63:0] AdminBase = '0,  // bus address of the admin window, in 16 KiB
    parameter logic [63:0] QueueBase = '0,  // of the first drive's submission queue, in 4 KiB
    parameter logic [63:0] QueueStep = 64'h2000,  // bytes to the next drive's, in 8 KiB
    parameter logic [63:0] DataBase = '0,  // bus address of the streamer's data window, in 8 MiB
    parameter logic [63:0] MmioOffset = '0,  // AXI address minus bus address
    parameter logic [63:0] RoomFirst = 64'hE000_0000,  // bus addresses for windows, in 1 MiB
    parameter logic [63:0] RoomEnd = 64'hF000_0000,  // behind them, at most 4 GiB
    parameter logic [63:0] RootBar = '0,  // the root port's own BAR 0; 0: it is left alone
    parameter int unsigned Drives = 1,  // 1 to 8
    parameter int unsigned QueueEntries = 64,  // of an I/O queue, 2 to 65,535
    parameter int unsigned CommandCycles = 1_250_000_000,  // after which the streamer gives a command up
    parameter int unsigned ResetUs = 100_000,  // of PERST#, and from link-up to the first request
    parameter int unsigned ActivityBits = 23  // the LED shows 2^ActivityBits cycles, 1 to 32
) (
    input wire clk,
    input wire rst,

    fb_axil_if.target s_axil_boot,

    // The sequencer.
    output logic       go,
    input  wire        running,
    input  wire        ended,
    input  wire  [7:0] code,
    input  wire  [9:0] place,
    input  wire        activity, // pulse: an access to any space

    // Its accesses.
    input  wire         s_valid,
    output logic        s_ready,
    input  wire         s_write,
    input  wire         s_wide,
    input  wire         s_ram,    // the space RAM, else PORT
    input  wire  [63:0] s_addr,
    input  wire  [63:0] s_wdata,

    output logic        m_valid,
    output logic        m_error,
    output logic [63:0] m_rdata,

    // Status.
    input wire link_up,
    input wire bridge_hung,
    input wire control_hung,
    input wire dropped,  // pulse: a character of the console was lost

    output logic        perst_n,
    output logic        hold,         // the recorder takes nothing
    output logic [63:0] media_bytes,  // of the streamer's drives, ...
    output logic [ 7:0] block_shift,  // ... and log2 of the bytes of a block
    output logic [ 3:0] leds
);

  if (AdminBase[13:0] != '0 || QueueBase[11:0] != '0 || QueueStep[12:0] != '0) begin : gen_bad_base
    $fatal(
        1,
        "fb_boot_regs (%m): AdminBase=%0h, QueueBase=%0h, QueueStep=%0h: multiples of 16, 4, 8 KiB",
        AdminBase,
        QueueBase,
        QueueStep
    );
  end
  if (DataBase[22:0] != '0 || MmioOffset[2:0] != '0) begin : gen_bad_data
    $fatal(
        1,
        "fb_boot_regs (%m): DataBase=%0h, MmioOffset=%0h: multiples of 8 MiB, 8 bytes",
        DataBase,
        MmioOffset
    );
  end
  if (RoomFirst >= RoomEnd || RoomEnd > 64'h1_0000_0000 || RoomFirst[19:0] != '0 ||
      RoomEnd[19:0] != '0) begin : gen_bad_room
    $fatal(
        1,
        "fb_boot_regs (%m): RoomFirst=%0h, RoomEnd=%0h: in 1 MiB, one above the other, up to 4 GiB",
        RoomFirst,
        RoomEnd
    );
  end
  if (Drives < 1 || Drives > 8 || QueueEntries < 2 || QueueEntries > 65535) begin : gen_bad_counts
    $fatal(
        1,
        "fb_boot_regs (%m): Drives=%0d must be from 1 to 8, QueueEntries=%0d from 2 to 65535",
        Drives,
        QueueEntries
    );
  end
  if (ActivityBits < 1 || ActivityBits > 32) begin : gen_bad_activity
    $fatal(1, "fb_boot_regs (%m): ActivityBits=%0d must be from 1 to 32", ActivityBits);
  end

  localparam int unsigned WordBits = $clog2(RAM_BYTES) - 3;
  localparam logic [7:0] LAST_CODE = 8'd31;  // counts all from here on

  // ---------------------------------------------------------------------------------- software
  fb_boot_csr_pkg::boot__in_t  in;
  // Data for read-only blocks, and byte addresses within a word.
  /* verilator lint_off UNUSEDSIGNAL */
  fb_boot_csr_pkg::boot__out_t out;
  /* verilator lint_on UNUSEDSIGNAL */

  fb_boot_csr u_csr (
      .clk,
      .rst,
      .s_axil_awready(s_axil_boot.awready),
      .s_axil_awvalid(s_axil_boot.awvalid),
      .s_axil_awaddr(s_axil_boot.awaddr),
      .s_axil_awprot('0),
      .s_axil_wready(s_axil_boot.wready),
      .s_axil_wvalid(s_axil_boot.wvalid),
      .s_axil_wdata(s_axil_boot.wdata),
      .s_axil_wstrb(s_axil_boot.wstrb),
      .s_axil_bready(s_axil_boot.bready),
      .s_axil_bvalid(s_axil_boot.bvalid),
      .s_axil_bresp(s_axil_boot.bresp),
      .s_axil_arready(s_axil_boot.arready),
      .s_axil_arvalid(s_axil_boot.arvalid),
      .s_axil_araddr(s_axil_boot.araddr),
      .s_axil_arprot('0),
      .s_axil_rready(s_axil_boot.rready),
      .s_axil_rvalid(s_axil_boot.rvalid),
      .s_axil_rdata(s_axil_boot.rdata),
      .s_axil_rresp(s_axil_boot.rresp),
      .hwif_in(in),
      .hwif_out(out)
  );

  // --------------------------------------------------------------------------------- requests
  logic take, bad, aligned, known, writes;
  logic [63:0] value, memory_rdata;
  logic sweeping, ends, end_counts;  // counters are cleared; the program has ended, and counts

  // Counting goes first, so that no code is lost.
  assign s_ready = !sweeping && !ends;
  assign take = s_valid && s_ready;
  assign aligned = s_wide && s_addr[2:0] == '0 && s_addr[63:16] == '0;
  assign bad = !aligned || (s_ram ? s_addr[15:0] >= RAM_BYTES : !known);
  assign writes = take && s_write && !bad;

  always_comb begin : read_port
    known = !s_write;
    value = '0;
    case (s_addr[15:0])
      PORT_LINK: value = 64'({bridge_hung, link_up});
      PORT_ADMIN_BASE: value = AdminBase;
      PORT_QUEUE_BASE: value = QueueBase;
      PORT_QUEUE_STEP: value = QueueStep;
      PORT_ROOM_FIRST: value = RoomFirst;
      PORT_ROOM_END: value = RoomEnd;
      PORT_ROOT_BAR: value = RootBar;
      PORT_DRIVES_MOST: value = 64'(Drives);
      PORT_QUEUE_ENTRIES: value = 64'(QueueEntries);
      PORT_OPTIONS: value = 64'({out.control.watch.value, out.control.together.value});
      PORT_RESET_US: value = 64'(ResetUs);
      PORT_DATA_BASE: value = DataBase;
      PORT_MMIO_OFFSET: value = MmioOffset;
      PORT_COMMAND_CYCLES: value = 64'(CommandCycles);
      PORT_PERST, PORT_STATE, PORT_COUNT, PORT_DRIVES_READY, PORT_MEDIA_BYTES, PORT_BLOCK_SHIFT:
      known = s_write;
      default: known = 1'b0;
    endcase
  end

  always_ff @(posedge clk) begin : answer
    m_valid <= take && !rst;
    m_error <= bad;
    m_rdata <= s_ram ? memory_rdata : value;
  end

  // ----------------------------------------------------------------------------------- memory
  // One port: of the sequencer in the cycle of its request, else of software.
  logic memory_used, memory_waits_q, memory_ack;
  logic [WordBits-1:0] memory_word;
  assign memory_used = take && s_ram;
  assign memory_word = memory_used ? s_addr[3+:WordBits] : out.memory.addr[3+:WordBits];
  assign memory_ack  = (out.memory.req || memory_waits_q) && !memory_used;

  fb_common_lutram #(
      .Width(64),
      .Depth(2 ** WordBits)
  ) u_memory (
      .clk,
      .we(writes && s_ram),
      .waddr(memory_word),
      .wdata(s_wdata),
      .raddr(memory_word),
      .rdata(memory_rdata)
  );

  // --------------------------------------------------------------------------------- counters
  logic counts, ended_q, counter_waits_q, counter_ack;
  logic [ 5:0] swept_q;
  logic [ 7:0] counted;
  logic [ 4:0] counter;
  logic [31:0] count;
  assign sweeping = !swept_q[5];
  // Codes of its own are counted by the program.
  assign ends = ended && !ended_q;
  assign end_counts = ends && (code == '0 || code == 8'hff);
  assign counts = end_counts || (writes && !s_ram && s_addr[15:0] == PORT_COUNT);
  assign counted = end_counts ? code : s_wdata[7:0];
  assign counter_ack = (out.codes.req || counter_waits_q) && !counts && !sweeping;

  always_comb begin : choose_counter
    counter = out.codes.addr[7:3];
    if (counts) counter = counted > LAST_CODE ? LAST_CODE[4:0] : counted[4:0];
    if (sweeping) counter = swept_q[4:0];
  end

  fb_common_lutram #(
      .Width(32),
      .Depth(32)
  ) u_counters (
      .clk,
      .we(counts || sweeping),
      .waddr(counter),
      .wdata(sweeping ? '0 : count + 1'b1),
      .raddr(counter),
      .rdata(count)
  );

  always_ff @(posedge clk) begin : wait_for_ports
    if (sweeping) swept_q <= swept_q + 1'b1;
    else ended_q <= ended;
    memory_waits_q  <= (out.memory.req || memory_waits_q) && !memory_ack;
    counter_waits_q <= (out.codes.req || counter_waits_q) && !counter_ack;
    if (rst) {swept_q, ended_q, memory_waits_q, counter_waits_q} <= '0;
  end

  // ------------------------------------------------------------------------------ what is told
  logic [7:0] state_q, code_q, ready_q;
  logic [9:0] place_q;
  logic running_q, error_q, is_ready;
  logic [31:0] dropped_q;

  // Where the program shall begin again, `go` falls for a cycle.
  assign go = out.control.go.value &&
      !(ended && ended_q && out.control.auto_recover.value && code != '0);
  // A program that does not watch has ended.
  assign is_ready = state_q == 8'(STATE_READY) && (running || (ended && code == '0));
  assign hold = !is_ready || out.control.hold.value;

  always_ff @(posedge clk) begin : tell
    running_q <= running;
    if (running && !running_q) {state_q, ready_q, media_bytes} <= '0;
    if (writes && !s_ram) begin
      case (s_addr[15:0])
        PORT_PERST: perst_n <= !s_wdata[0];
        PORT_STATE: state_q <= s_wdata[7:0];
        PORT_DRIVES_READY: ready_q <= s_wdata[7:0];
        PORT_MEDIA_BYTES: media_bytes <= s_wdata;
        PORT_BLOCK_SHIFT: block_shift <= s_wdata[7:0];
        default: ;
      endcase
    end
    if (ends) {code_q, place_q} <= {code, place};
    dropped_q <= dropped_q + 32'(dropped);
    error_q <= out.control.go.value && (error_q || bridge_hung || control_hung ||
                                        (counts && counted != '0) || (ends && code != '0));
    if (rst) {running_q, error_q, perst_n, state_q, ready_q, code_q, place_q, dropped_q} <= '0;
    if (rst) {media_bytes, block_shift} <= '0;
  end

  // ------------------------------------------------------------------------------------- LEDs
  logic [ActivityBits-1:0] clocks_q;
  logic active_q, shows_active_q;
  always_ff @(posedge clk) begin : blink
    clocks_q <= clocks_q + 1'b1;
    active_q <= activity || (active_q && clocks_q != '0);
    if (clocks_q == '0) shows_active_q <= active_q;
    if (rst) {clocks_q, active_q, shows_active_q} <= '0;
  end
  assign leds = {error_q, shows_active_q, is_ready, link_up};

  // ----------------------------------------------------------------------- what software is shown
  always_comb begin : show
    in = '0;
    in.auto_start = AutoStart;
    in.reset_together = Together;
    in.reset_auto_recover = AutoRecover;
    in.reset_watch = Watch;
    in.parameters.drives_most.next = 4'(Drives);
    in.parameters.queue_entries.next = 16'(QueueEntries);
    in.status.running.next = running;
    in.status.ended.next = ended;
    in.status.link.next = link_up;
    in.status.bridge_hung.next = bridge_hung;
    in.status.control_hung.next = control_hung;
    in.status.held.next = hold;
    in.status.perst.next = !perst_n;
    in.status.state.next = state_q;
    in.status.drives_ready.next = ready_q;
    in.outcome.code.next = code_q;
    in.outcome.place.next = place_q;
    in.console.dropped.next = dropped_q;
    in.codes.rd_ack = counter_ack;
    in.codes.rd_data = 64'(count);
    in.memory.rd_ack = memory_ack;
    in.memory.rd_data = memory_rdata;
  end

endmodule

`default_nettype wire
