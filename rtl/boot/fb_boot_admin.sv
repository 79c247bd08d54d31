// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_admin: the window of the admin queues, which all drives use in turn.
//
// What:        an AXI4 target of 16 KiB for drives, and registers for the sequencer (ADM_* of
//              fb_spec_pkg; forebay-spec's `boot` describes them). Queues are not stored:
//              page 0 reads as the one submission entry wherever it is read, page 1 catches the
//              completion entry of the outstanding command, page 2 keeps 4 KiB of data. CID, tail,
//              head and phase move on by themselves. CIDs count on over RESTART, so that a late
//              completion does not match.
// Drives:      INCR bursts of any length and size; identifiers echoed. A submission entry comes
//              whole, as it was when the address was taken. A completion entry counts once its dword 3
//              is written, by one write or in parts in ascending order; it is caught only at the head,
//              with the expected phase and the CID of the outstanding command, and only once. Data
//              count while a command is outstanding. All else is dropped, and is answered with SLVERR
//              (reads: and zeros); what is dropped in page 1 sets bit 30 of STATUS.
// Order:       what is written passes in order, so that data are in the page before the completion
//              behind them shows in STATUS.
// Sequencer:   s_* is the request, always taken, m_* the answer in the next cycle. Registers are
//              read and written by 32 or 64 bits at their offset (upper half 0). Dwords of the entry
//              are written by 32 bits, or a pair of them (0 and 1, 6 and 7, 10 and 11) by 64; of dword
//              0 bits 7:0 count. DATA is read by aligned 32 or 64 bits. All else ends in error and
//              changes nothing.
// Latency:     a read's first beat one cycle after its address; a written beat at its place 2 to 9
//              cycles after it is on the bus, with its address, and B two after its handshake.
// Throughput:  64 bytes a cycle read, in 8 cycles written; one burst at a time each way.
// Limits:      a line of 64 bytes counts as written since SUBMIT once its last byte is. RESULT counts
//              with bit 31 of STATUS. One command at a time: another SUBMIT gives the outstanding one
//              up, and if the drive completes that, its queues are out of step until RESTART. A read of
//              DATA before the completion may meet a write. A burst never leaves its 4 KiB page. AWLEN
//              ends a write burst; WLAST is only checked.
// Does not implement: checks of SQ head and SQ identifier in completions; drives reading data back.

`default_nettype none

module fb_boot_admin
  import fb_spec_pkg::*;
#(
    parameter int unsigned AxiIdBits = 4  // 1 or more
) (
    input wire clk,
    input wire rst,

    fb_axi_if.target s_axi_admin,

    input  wire         s_valid,
    output logic        s_ready,
    input  wire         s_write,
    input  wire         s_wide,
    input  wire  [63:0] s_addr,
    input  wire  [63:0] s_wdata,
    output logic        m_valid,
    output logic        m_error,
    output logic [63:0] m_rdata
);

  localparam int unsigned AddrBits = $clog2(ADM_WINDOW_BYTES);
  localparam int unsigned Lines = 64;  // of the page for data
  localparam logic [1:0] INCR = 2'b01;

  // NVMe Base 2.0c 3.3.3.1; all else of it is 0.
  typedef struct packed {
    logic [31:0] cdw11;
    logic [31:0] cdw10;
    logic [63:0] prp1;
    logic [31:0] nsid;
    logic [15:0] cid;
    logic [7:0]  opcode;
  } entry_t;

  // What is written passes in words of 64 bits.
  typedef struct packed {
    logic last;  // of its burst
    logic in_queue;  // in the page of completions
    logic in_data;
    logic [8:0] place;  // in its page
    logic [7:0] strb;
    logic [63:0] bits;
  } word_t;

  // Whether a burst is one of a page that may be accessed.
  function automatic logic leads_to(input logic [15:0] offset, input logic [1:0] page,
                                    input logic [1:0] burst, input logic [2:0] size);
    return page == 2'(offset >> 12) && burst == INCR && size <= 3'd6;
  endfunction

  entry_t entry_q;
  logic tail_q, head_q, phase_q;
  logic outstanding_q, caught_q, dropped_q;
  logic [14:0] status_q;
  logic [31:0] result_q;
  logic [Lines-1:0] written_q;  // lines

  // --------------------------------------------------------------------------------- drives read
  // Each beat of a burst is the entry; it has to stay while the drive takes its time.
  entry_t shown_q;
  logic [7:0] left_q;
  logic readable;

  assign readable = leads_to(
      ADM_SQ, s_axi_admin.araddr[13:12], s_axi_admin.arburst, s_axi_admin.arsize
  );
  assign s_axi_admin.arready = !s_axi_admin.rvalid;
  assign s_axi_admin.rlast = left_q == '0;

  always_ff @(posedge clk) begin : show
    if (!s_axi_admin.rvalid) begin
      s_axi_admin.rid <= s_axi_admin.arid;
      s_axi_admin.rresp <= {!readable, 1'b0};
      left_q <= s_axi_admin.arlen;
      shown_q <= readable ? entry_q : '0;
      s_axi_admin.rvalid <= s_axi_admin.arvalid;
    end else if (s_axi_admin.rready) begin
      left_q <= left_q - 1'b1;
      s_axi_admin.rvalid <= !s_axi_admin.rlast;
    end
    if (rst) s_axi_admin.rvalid <= 1'b0;
  end

  always_comb begin : lay_out
    s_axi_admin.rdata = '0;
    s_axi_admin.rdata[31:0] = {shown_q.cid, 8'd0, shown_q.opcode};
    s_axi_admin.rdata[63:32] = shown_q.nsid;
    s_axi_admin.rdata[32*6+:64] = shown_q.prp1;
    s_axi_admin.rdata[32*10+:64] = {shown_q.cdw11, shown_q.cdw10};
  end

  // -------------------------------------------------------------------------------- drives write
  // A beat stays on the bus while its eight words pass.
  logic begun, burst_last, step, go, go_q;
  logic [ AddrBits-1:0] write_addr;
  logic [AxiIdBits-1:0] write_id;
  logic to_queue, to_data, burst_in_queue, burst_in_data;
  logic [2:0] number_q;  // of the word in the beat
  word_t word_q;

  assign to_queue = leads_to(
      ADM_CQ, s_axi_admin.awaddr[13:12], s_axi_admin.awburst, s_axi_admin.awsize
  );
  assign to_data = leads_to(
      ADM_DATA_PAGE, s_axi_admin.awaddr[13:12], s_axi_admin.awburst, s_axi_admin.awsize
  );

  fb_axi_burst_addr #(
      .IdBits  (AxiIdBits),
      .AddrBits(AddrBits),
      .SideBits(2),
      .MaxSize (6)
  ) u_burst (
      .clk,
      .rst,
      .s_valid(s_axi_admin.awvalid),
      .s_ready(s_axi_admin.awready),
      .s_id(s_axi_admin.awid),
      .s_addr(s_axi_admin.awaddr[AddrBits-1:0]),
      .s_len(s_axi_admin.awlen),
      .s_size(s_axi_admin.awsize),
      .s_burst(s_axi_admin.awburst),
      .s_side({to_queue, to_data}),
      .m_valid(begun),
      .m_step(step),
      .m_id(write_id),
      .m_addr(write_addr),
      .m_side({burst_in_queue, burst_in_data}),
      .m_last(burst_last),
      .wait_valid(),
      .wait_addr()
  );

  // The answer to a burst goes before the next one begins.
  logic ends, refused, refused_q;

  assign ends = go_q && word_q.last;
  assign go = s_axi_admin.wvalid && begun && !ends && !s_axi_admin.bvalid;
  assign s_axi_admin.wready = number_q == 3'd7;
  assign step = s_axi_admin.wvalid && s_axi_admin.wready;

  always_ff @(posedge clk) begin : pass_words
    go_q <= go;
    if (go) begin
      number_q <= number_q + 1'b1;
      s_axi_admin.bid <= write_id;
    end
    word_q.last <= step && burst_last;
    word_q.in_queue <= burst_in_queue;
    word_q.in_data <= burst_in_data;
    word_q.place <= {write_addr[11:6], number_q};
    word_q.strb <= s_axi_admin.wstrb[8*number_q+:8];
    word_q.bits <= s_axi_admin.wdata[64*number_q+:64];
    if (s_axi_admin.bready) s_axi_admin.bvalid <= 1'b0;
    if (go_q) refused_q <= !word_q.last && (refused_q || refused);
    if (ends) begin
      s_axi_admin.bvalid <= 1'b1;
      s_axi_admin.bresp  <= {refused_q || refused, 1'b0};
    end
    if (rst) {go_q, number_q, refused_q, s_axi_admin.bvalid} <= '0;
  end

  // ----------------------------------------------------------------------------- what a word does
  logic changes, at_head, store, drop, take_result, ends_entry, catch_entry, has_result_q;

  assign changes = go_q && word_q.strb != '0;
  assign at_head = outstanding_q && word_q.place[8:1] == 8'(head_q);
  assign store   = changes && word_q.in_data && outstanding_q;

  // Dword 0 is in the first word of an entry, CID, phase and status in the second one.
  always_comb begin : judge
    {take_result, ends_entry, catch_entry, drop} = '0;
    if (changes && word_q.in_queue) begin
      take_result = at_head && !word_q.place[0] && word_q.strb[3:0] == '1;
      ends_entry = at_head && word_q.place[0] && word_q.strb[7:4] != '0;
      catch_entry = ends_entry && word_q.strb[7:4] == '1 && has_result_q &&
          word_q.bits[48:32] == {phase_q, entry_q.cid};
      drop = !at_head || (ends_entry && !catch_entry);
    end
    refused = drop || !(word_q.in_queue || word_q.in_data) ||
        (changes && word_q.in_data && !outstanding_q);
  end

  // ----------------------------------------------------------------------------------- sequencer
  logic aligned, in_entry, known, restart, submit, change_entry, low, high;
  logic [31:0] high_bits, value;

  assign s_ready = 1'b1;
  assign aligned = s_addr[1:0] == '0 && !(s_wide && s_addr[2]);
  assign in_entry = s_addr[15:6] == ADM_ENTRY[15:6] && s_addr[5:3] inside {3'd0, 3'd3, 3'd5};
  assign restart = s_valid && s_write && known && s_addr[15:0] == ADM_RESTART;
  assign submit = s_valid && s_write && known && s_addr[15:0] == ADM_SUBMIT;
  assign change_entry = s_valid && s_write && known && in_entry;
  assign {high, low} = s_wide ? 2'b11 : {s_addr[2], !s_addr[2]};
  assign high_bits = s_wide ? s_wdata[63:32] : s_wdata[31:0];

  always_comb begin : look_up
    known = 1'b1;
    value = '0;
    if (s_write) known = in_entry || s_addr[15:0] inside {ADM_RESTART, ADM_SUBMIT};
    else
      case (s_addr[15:0])
        ADM_TAIL: value = 32'(tail_q);
        ADM_HEAD: value = 32'(head_q);
        ADM_STATUS: value = {caught_q, dropped_q, 15'd0, status_q};
        ADM_RESULT: value = result_q;
        default: known = s_addr[15:12] == ADM_DATA[15:12] && written_q[s_addr[11:6]];
      endcase
    if (s_addr[63:16] != '0 || !aligned) known = 1'b0;
  end

  always_ff @(posedge clk) begin : change
    if (change_entry)
      case (s_addr[5:3])
        3'd0: begin
          if (low) entry_q.opcode <= s_wdata[7:0];
          if (high) entry_q.nsid <= high_bits;
        end
        3'd3: begin
          if (low) entry_q.prp1[31:0] <= s_wdata[31:0];
          if (high) entry_q.prp1[63:32] <= high_bits;
        end
        default: begin
          if (low) entry_q.cdw10 <= s_wdata[31:0];
          if (high) entry_q.cdw11 <= high_bits;
        end
      endcase

    if (take_result) result_q <= word_q.bits[31:0];
    if (take_result || ends_entry) has_result_q <= take_result;
    if (drop) dropped_q <= 1'b1;
    if (catch_entry) begin
      outstanding_q <= 1'b0;
      caught_q <= 1'b1;
      status_q <= word_q.bits[63:49];
      head_q <= !head_q;
      if (head_q) phase_q <= !phase_q;
    end
    if (store && word_q.strb[7] && word_q.place[2:0] == 3'd7) written_q[word_q.place[8:3]] <= 1'b1;

    // Behind these: what comes of a command that is given up counts no more.
    if (submit || restart) begin
      outstanding_q <= submit;
      {caught_q, dropped_q, has_result_q, status_q, written_q} <= '0;
    end
    if (submit) begin
      entry_q.cid <= entry_q.cid + 1'b1;
      tail_q <= !tail_q;
    end
    if (restart || rst) {tail_q, head_q, phase_q} <= 3'b001;
    if (rst) begin
      {outstanding_q, caught_q, dropped_q, has_result_q, status_q, written_q} <= '0;
      entry_q.cid <= '0;
    end
  end

  // ---------------------------------------------------------------------------------------- data
  // Behind the completion nothing is written, so that what is checked then stays. Before, a read may
  // meet a write to its word, and returns anything.
  (* ram_style = "block", no_rw_check *)
  logic [63:0] page[512];
  logic [63:0] read_q;
  logic from_page_q, odd_q;
  logic [31:0] value_q;

  always_ff @(posedge clk) begin : memory
    for (int i = 0; i < 8; i++) begin
      if (store && word_q.strb[i]) page[word_q.place][8*i+:8] <= word_q.bits[8*i+:8];
    end
    read_q <= page[s_addr[11:3]];
  end

  always_ff @(posedge clk) begin : answer
    m_valid <= s_valid && !rst;
    m_error <= !known;
    from_page_q <= s_addr[12];
    odd_q <= s_addr[2];
    value_q <= value;
  end
  assign m_rdata[31:0]  = from_page_q ? (odd_q ? read_q[63:32] : read_q[31:0]) : value_q;
  assign m_rdata[63:32] = from_page_q ? read_q[63:32] : '0;

  // Strobes say which bytes of a row of 64 are written; beats are in one page.
  logic unused;
  assign unused = &{1'b0, write_addr[13:12], write_addr[5:0], 1'b0};

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      wlast_matches_awlen :
      assert (!step || s_axi_admin.wlast == burst_last)
      else $error("fb_boot_admin (%m): WLAST does not match AWLEN");
    end
  end
`endif

endmodule

`default_nettype wire
