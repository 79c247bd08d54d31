// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axis_host: the host port. Software feeds the streamer's four streams by registers and a staging
// memory, with no other IP: for bring-up and tests, not for speed.
//
// What:        the lower half of the staging memory holds bytes that `write` sends as beats of the
//              write stream, the upper half takes read data until it is full or TLAST comes. The
//              registers stand in regs/host_port.rdl, their use in docs/reference/host-port.md.
// Handshake:   AXI4-Stream; AXI4-Lite, 64 bit, one access at a time, never held up by a stream.
//              `mem_*` is one port of the memory: read data come ReadLatency cycles after mem_en and
//              stay for a cycle. Software reaches by its other port only the half that is its own.
// Latency:     ReadLatency + 4 cycles from the write of a register to the first beat; a beat read is
//              in memory one cycle after its handshake.
// Throughput:  64 bytes a cycle in one direction; read data go first where both want the memory.
// Limits:      `mem_*` follows `s_axis_rd` within the cycle; no other path leads from an input to
//              an output. A beat that is offered is never taken back: `clear` ends an open packet
//              by a beat whose TKEEP has a hole, which the streamer answers with an error.
// Does not implement: interrupts, DMA, two transfers of the same direction at a time.

`default_nettype none

module fb_axis_host
  import fb_spec_pkg::*;
#(
    parameter int unsigned Pages = 64,  // 4 KiB pages of both halves, a power of two, 2 to 1024
    parameter int unsigned ReadLatency = 3,  // of the memory port, cycles, 1 to 16
    localparam int unsigned WordBits = $clog2(Pages) + 6
) (
    input wire clk,
    input wire rst,

    // To the streamer, and from it.
    fb_axis_if.initiator m_axis_wr,
    fb_axis_if.target s_axis_wrsp,
    fb_axis_if.initiator m_axis_rdcmd,
    fb_axis_if.target s_axis_rd,

    // Staging memory.
    output logic                      mem_en,
    output logic                      mem_we,
    output logic [      WordBits-1:0] mem_addr,
    output logic [USER_DATA_BITS-1:0] mem_wdata,
    input  wire  [USER_DATA_BITS-1:0] mem_rdata,

    // Control registers.
    fb_axil_if.target s_axil_host
);

  if (Pages < 2 || Pages > 1024 || (Pages & (Pages - 1)) != 0) begin : gen_bad_pages
    $fatal(1, "fb_axis_host (%m): Pages=%0d must be a power of two from 2 to 1024", Pages);
  end
  if (ReadLatency < 1 || ReadLatency > 16) begin : gen_bad_latency
    $fatal(1, "fb_axis_host (%m): ReadLatency=%0d must be from 1 to 16", ReadLatency);
  end

  localparam int unsigned HalfBits = WordBits - 1;  // a half has 2 ** HalfBits words
  localparam int unsigned Depth = 16;  // of the FIFOs
  localparam int unsigned LevelBits = $clog2(Depth) + 1;
  localparam int unsigned WordsDepth = (ReadLatency > 13) ? 32 : 16;  // more than a word's way
  localparam int unsigned WordsBits = $clog2(WordsDepth) + 1;
  localparam int unsigned ByteBits = 22;  // of the registers' fields
  // TKEEP of a beat that spoils its packet: without its first byte, but not empty.
  localparam logic [USER_BEAT_BYTES-1:0] HOLE = USER_BEAT_BYTES'(2);

  // ------------------------------------------------------------------------------------ registers
  fb_axis_host_csr_pkg::host_port__in_t  in;
  // Values of valid bits and of sticky bits that nothing here looks at.
  /* verilator lint_off UNUSEDSIGNAL */
  fb_axis_host_csr_pkg::host_port__out_t out;
  /* verilator lint_on UNUSEDSIGNAL */

  fb_axis_host_csr u_csr (
      .clk,
      .rst,
      .s_axil_awready(s_axil_host.awready),
      .s_axil_awvalid(s_axil_host.awvalid),
      .s_axil_awaddr(s_axil_host.awaddr),
      .s_axil_awprot('0),
      .s_axil_wready(s_axil_host.wready),
      .s_axil_wvalid(s_axil_host.wvalid),
      .s_axil_wdata(s_axil_host.wdata),
      .s_axil_wstrb(s_axil_host.wstrb),
      .s_axil_bready(s_axil_host.bready),
      .s_axil_bvalid(s_axil_host.bvalid),
      .s_axil_bresp(s_axil_host.bresp),
      .s_axil_arready(s_axil_host.arready),
      .s_axil_arvalid(s_axil_host.arvalid),
      .s_axil_araddr(s_axil_host.araddr),
      .s_axil_arprot('0),
      .s_axil_rready(s_axil_host.rready),
      .s_axil_rvalid(s_axil_host.rvalid),
      .s_axil_rdata(s_axil_host.rdata),
      .s_axil_rresp(s_axil_host.rresp),
      .hwif_in(in),
      .hwif_out(out)
  );

  // A register that starts something was written in the cycle before: its fields are there now.
  logic clear, start_q, command_q;
  assign clear = out.control.clear.value;
  always_ff @(posedge clk) begin : strobes
    start_q   <= out.write.bytes.swmod && !rst;
    command_q <= out.read_command.unordered.swmod && !rst;
  end

  // -------------------------------------------------------------------------------- write stream
  logic [HalfBits:0] fetch_left_q;  // words that are still to be fetched
  logic [HalfBits-1:0] fetch_word_q;
  logic [WordsBits-1:0] pending_q;  // words between the memory and the stream's handshake
  logic [ReadLatency-1:0] arriving_q, final_q;  // words on their way; which is the last
  logic [5:0] tail_q;  // bytes of the last beat, 0 is 64
  logic last_q;  // the last beat ends the packet
  logic open_q;  // a packet has begun and not ended
  logic abort_q, closes, closes_q;  // `clear` found something; a beat spoils the packet
  logic fetching, fetch, sent, write_busy, store;

  logic [ByteBits-1:0] bytes;
  logic size_bad, start;
  assign bytes = out.write.bytes.value;
  assign size_bad = bytes == '0 || 32'(bytes) > 32'd64 << HalfBits ||
      (!out.write.last.value && bytes[5:0] != '0);
  assign write_busy = fetching || pending_q != '0 || abort_q;
  assign start = start_q && !write_busy && !clear && !size_bad;

  assign fetching = fetch_left_q != '0;
  assign fetch = fetching && !pending_q[WordsBits-1] && !clear && !store;

  logic words_ready, word_final, word_closes;

  fb_common_fifo #(
      .Width(USER_DATA_BITS + 2),
      .Depth(WordsDepth)
  ) u_words (
      .clk,
      .rst,
      .s_valid(arriving_q[ReadLatency-1] || closes_q),
      .s_ready(words_ready),
      .s_data ({closes_q, final_q[ReadLatency-1], mem_rdata}),
      .m_valid(m_axis_wr.tvalid),
      .m_ready(m_axis_wr.tready),
      .m_data ({word_closes, word_final, m_axis_wr.tdata}),
      .level  ()
  );

  assign sent = m_axis_wr.tvalid && m_axis_wr.tready;
  assign m_axis_wr.tlast = word_closes || (word_final && last_q);
  assign closes = (clear || abort_q) && open_q && !fetching && pending_q == '0;

  always_comb begin : keep
    m_axis_wr.tkeep = '1;
    if (word_closes) m_axis_wr.tkeep = HOLE;
    else if (word_final && tail_q != '0) begin
      for (int i = 0; i < USER_BEAT_BYTES; i++) m_axis_wr.tkeep[i] = 6'(i) < tail_q;
    end
  end

  always_ff @(posedge clk) begin : write_words
    if (start) begin
      fetch_left_q <= (HalfBits + 1)'((ByteBits + 1)'(bytes + 6'd63) >> 6);
      fetch_word_q <= '0;
      tail_q <= bytes[5:0];
      last_q <= out.write.last.value;
    end else if (fetch) begin
      fetch_left_q <= fetch_left_q - 1'b1;
      fetch_word_q <= fetch_word_q + 1'b1;
    end
    arriving_q <= ReadLatency'({arriving_q, fetch});
    final_q <= ReadLatency'({final_q, fetch_left_q == (HalfBits + 1)'(1)});
    pending_q <= pending_q + WordsBits'(fetch || closes) - WordsBits'(sent);
    if (sent) open_q <= !m_axis_wr.tlast;
    // What was fetched still goes its way; only then it is known whether a packet is left open.
    abort_q  <= (clear || abort_q) && (fetching || pending_q != '0 || open_q);
    closes_q <= closes;
    if (rst || clear) fetch_left_q <= '0;
    if (rst) {arriving_q, pending_q, open_q, abort_q, closes_q} <= '0;
  end

  // ----------------------------------------------------------------------------- write responses
  // The oldest stands in the register, with its valid bit there, the others in the FIFO.
  logic response_valid, response_next, note_response_q;
  logic [7:0] response_data, response_code_q;
  logic [LevelBits-1:0] responses_level;

  fb_common_fifo #(
      .Width(8),
      .Depth(Depth)
  ) u_responses (
      .clk,
      .rst(rst || clear),
      .s_valid(s_axis_wrsp.tvalid),
      .s_ready(s_axis_wrsp.tready),
      .s_data(s_axis_wrsp.tdata),
      .m_valid(response_valid),
      .m_ready(response_next),
      .m_data(response_data),
      .level(responses_level)
  );

  assign response_next = !out.response.valid.value && !note_response_q;

  always_ff @(posedge clk) begin : hold_response
    if (response_next) response_code_q <= response_data;
    note_response_q <= response_next && response_valid && !rst && !clear;
  end

  // ------------------------------------------------------------------------------- read commands
  logic commands_ready, unordered;
  logic [USER_READ_TAG_BITS-1:0] tag;
  logic [63:0] address, length;
  logic [LevelBits-1:0] commands_level;

  fb_common_fifo #(
      .Width(USER_READ_TAG_BITS + 129),
      .Depth(Depth)
  ) u_commands (
      .clk,
      .rst,
      .s_valid(command_q && !clear),
      .s_ready(commands_ready),
      .s_data({
        out.read_command.tag.value,
        out.read_command.unordered.value,
        out.read_length.length.value,
        out.read_address.address.value
      }),
      .m_valid(m_axis_rdcmd.tvalid),
      .m_ready(m_axis_rdcmd.tready),
      .m_data({tag, unordered, length, address}),
      .level(commands_level)
  );

  always_comb begin : command_beat
    m_axis_rdcmd.tdata = '0;
    m_axis_rdcmd.tdata[USER_ADDRESS_LSB+:64] = address;
    m_axis_rdcmd.tdata[USER_READ_LENGTH_LSB+:64] = length;
    m_axis_rdcmd.tdata[USER_READ_UNORDERED_BIT] = unordered;
    m_axis_rdcmd.tdata[USER_READ_TAG_LSB+:USER_READ_TAG_BITS] = tag;
  end
  assign m_axis_rdcmd.tkeep = '1;
  assign m_axis_rdcmd.tlast = 1'b1;

  // ----------------------------------------------------------------------------------- read data
  logic [HalfBits-1:0] next_word_q, last_word_q;  // of the upper half: next, and taken last
  logic inside_q;  // a packet has begun and not ended
  logic discard_q;  // it began, or went on, while it was to be dropped
  logic note_read_q;
  logic [USER_BEAT_BYTES-1:0] keep_q;  // of the word taken last, as are these
  logic read_last_q, read_error_q;
  logic [7:0] read_code_q;
  logic [USER_READ_TAG_BITS-1:0] read_tag_q;
  logic take, discard;

  assign discard = clear || discard_q;
  assign s_axis_rd.tready = discard || (!out.read.valid.value && !note_read_q);
  assign take = s_axis_rd.tvalid && s_axis_rd.tready;
  assign store = take && !discard;

  always_ff @(posedge clk) begin : read_words
    if (store) begin
      next_word_q <= next_word_q + 1'b1;
      last_word_q <= next_word_q;
      keep_q <= s_axis_rd.tkeep;
      read_last_q <= s_axis_rd.tlast;
      read_error_q <= s_axis_rd.tlast && s_axis_rd.tuser;
      read_code_q <= s_axis_rd.tdata[7:0];
      read_tag_q <= s_axis_rd.tid;
    end
    note_read_q <= store && (s_axis_rd.tlast || next_word_q == '1);
    if (take) inside_q <= !s_axis_rd.tlast;
    discard_q <= discard && (take ? !s_axis_rd.tlast : inside_q);
    if (rst || clear || note_read_q) next_word_q <= '0;
    if (rst) {note_read_q, inside_q, discard_q} <= '0;
  end

  // Bytes of the word taken last: TKEEP has its ones in a row from bit 0 on.
  logic [6:0] keep_bytes, keep_bytes_q;
  always_comb begin : count_keep
    keep_bytes = '0;
    for (int b = 5; b >= 0; b--) begin
      if (keep_q[6'(keep_bytes[5:0]+(6'd1<<b)-6'd1)]) keep_bytes[b] = 1'b1;
    end
    if (keep_q[USER_BEAT_BYTES-1]) keep_bytes = 7'd64;
  end
  // There just when the valid bit is.
  always_ff @(posedge clk) keep_bytes_q <= keep_bytes;

  // -------------------------------------------------------------------------------------- memory
  assign mem_en = fetch || store;
  assign mem_we = store;
  assign mem_addr = store ? {1'b1, next_word_q} : {1'b0, fetch_word_q};
  assign mem_wdata = s_axis_rd.tdata;

  // ----------------------------------------------------------------------- what software is shown
  always_comb begin : show
    in.parameters.write_pages.next = 16'(Pages / 2);
    in.parameters.read_pages.next = 16'(Pages / 2);
    in.parameters.commands.next = 8'(Depth);
    in.parameters.responses.next = 8'(Depth);
    in.status.write_busy.next = write_busy;
    in.status.write_open.next = open_q;
    in.status.read_open.next = inside_q;
    in.status.commands.next = 8'(commands_level);
    in.status.responses.next = 8'(responses_level);
    in.refused.busy.hwset = start_q && (write_busy || clear);
    in.refused.size.hwset = start_q && !write_busy && !clear && size_bad;
    in.refused.command.hwset = command_q && (clear || !commands_ready);
    in.response.code.next = response_code_q;
    in.response.valid.hwset = note_response_q && !clear;
    in.response.valid.hwclr = clear;
    in.read.bytes.next = ByteBits'({last_word_q, 6'd0}) + ByteBits'(keep_bytes_q);
    in.read.last.next = read_last_q;
    in.read.error.next = read_error_q;
    in.read.tag.next = read_tag_q;
    in.read.code.next = read_code_q;
    in.read.valid.hwset = note_read_q && !clear;
    in.read.valid.hwclr = clear;
  end

`ifndef SYNTHESIS
  words_have_room :
  assert property (@(posedge clk) disable iff (rst) arriving_q[ReadLatency-1] |-> words_ready)
  else $error("fb_axis_host (%m): a word comes from the memory and there is no room for it");

  keep_without_holes :
  assert property (@(posedge clk) disable iff (rst)
                   store |-> (s_axis_rd.tkeep & (s_axis_rd.tkeep + 1'b1)) == '0 &&
                   (s_axis_rd.tlast || s_axis_rd.tkeep == '1))
  else $error("fb_axis_host (%m): TKEEP %0h of read data", s_axis_rd.tkeep);
`endif

endmodule

`default_nettype wire
