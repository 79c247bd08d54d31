// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_buffer_stream: a stream FIFO in DRAM, so that pauses of a drive leave no gap.
//
// What:        beats pass through a ring in memory, from `base` on, `bytes` long. They wait in block
//              RAM until they fill a burst to the end of a page of 4 KiB; a burst is read back, into
//              block RAM, once the memory has answered its write. `flush` writes what waits as it is.
// Handshake:   AXI4-Stream of whole beats. Data and their order are kept; TKEEP, TLAST, TID and TUSER
//              are not: a source pads its last beat, and counts. A full FIFO holds TREADY. Up to 63
//              beats stay on chip until more come or `flush` is high; hold it until `level` is 0.
//              `write_error` pulses for each burst that the memory refused, `read_error` for each
//              beat; the stream goes on with what the memory returns. `level` counts all beats taken
//              and not yet given, and `high_water` its maximum since reset or `high_water_clear`.
// Latency:     9 cycles, the memory's write and read, and the time in which a burst fills.
// Throughput:  64 B a cycle each way, as far as the memory carries both.
// Limits:      `base` and `bytes` are multiples of 4 KiB, `bytes` at most 16 GiB; both hold while
//              `rst` is low. The ring, and FifoBeats twice, hold beats; after a `flush` inside a page
//              the ring may be full with up to 63 places free. Reset together with the memory. 512-bit
//              registers: one before the memory, two of block RAM.
// Does not implement: a way past the memory while the FIFO is empty; turns of reads and writes, which
//              are the memory controller's; ECC.

`default_nettype none

module fb_buffer_stream #(
    parameter int unsigned FifoBeats   = 512,  // on chip, each way; a power of two, 128 to 65536
    parameter int unsigned WritesUnder = 16    // bursts that the memory has not answered, 1 to 16
) (
    input wire clk,
    input wire rst,

    input wire [63:12] base,
    input wire [34:12] bytes,
    input wire         flush,

    fb_axis_if.target s_axis,
    fb_axis_if.initiator m_axis,

    output logic [34:0] level,             // bytes
    output logic [34:0] high_water,        // bytes
    input  wire         high_water_clear,
    output logic        write_error,
    output logic        read_error,

    fb_axi_if.write_initiator m_axi_write,
    fb_axi_if.read_initiator  m_axi_read
);

  if (FifoBeats < 128) begin : gen_bad_beats
    $fatal(1, "fb_buffer_stream (%m): FifoBeats=%0d must be 128 or more", FifoBeats);
  end

  localparam int unsigned FifoBits = $clog2(FifoBeats) + 2;  // one more beat is on offer
  localparam int unsigned RingBits = 29;

  logic taken, given;
  assign taken = s_axis.tvalid && s_axis.tready;
  assign given = m_axis.tvalid && m_axis.tready;

  // ------------------------------------------------------------------------------ into the ring
  logic write_valid, write_ready, word_valid, word_take, stored, stored_error;
  logic [63:0] write_addr;
  logic [5:0] write_count_m1, stored_count_m1;
  logic [511:0] word_data;
  logic loaded, loaded_error;

  fb_common_fifo_bram #(
      .Depth(FifoBeats)
  ) u_in (
      .clk,
      .rst,
      .s_valid(s_axis.tvalid),
      .s_ready(s_axis.tready),
      .s_data (s_axis.tdata),
      .m_valid(word_valid),
      .m_ready(word_take),
      .m_data (word_data),
      .level  ()
  );

  fb_buffer_bursts #(
      .WaitBits(FifoBits),
      .FreeBits(RingBits)
  ) u_writes (
      .places({bytes, 6'd0}),
      .partial(flush),
      .come(7'(taken)),
      .freed(loaded),
      .burst_valid(write_valid),
      .burst_ready(write_ready),
      .burst_addr(write_addr),
      .burst_count_m1(write_count_m1),
      .*
  );

  fb_axi_write_master #(
      .SideBits(6),
      .Under(WritesUnder)
  ) u_writer (
      .burst_valid(write_valid),
      .burst_ready(write_ready),
      .burst_addr(write_addr),
      .burst_count_m1(write_count_m1),
      .burst_empty(1'b0),
      .burst_side(write_count_m1),
      .word_side(),
      .word_strb('1),
      .stored_empty(),
      .stored_side(stored_count_m1),
      .m_axi(m_axi_write),
      .*
  );

  // ---------------------------------------------------------------------------- out of the ring
  logic ask_valid, ask_ready, out_ready;
  logic [ 63:0] ask_addr;
  logic [  5:0] ask_count_m1;
  logic [511:0] loaded_data;

  fb_buffer_bursts #(
      .WaitBits(RingBits),
      .FreeBits(FifoBits)
  ) u_reads (
      .places(FifoBits'(FifoBeats)),
      .partial(1'b1),
      .come(stored ? 7'(stored_count_m1) + 1'b1 : '0),
      .freed(given),
      .burst_valid(ask_valid),
      .burst_ready(ask_ready),
      .burst_addr(ask_addr),
      .burst_count_m1(ask_count_m1),
      .*
  );

  fb_axi_read_master u_reader (
      .ask_side(1'b0),
      .loaded_last(),
      .loaded_side(),
      .m_axi(m_axi_read),
      .*
  );

  fb_common_fifo_bram #(
      .Depth(FifoBeats)
  ) u_out (
      .clk,
      .rst,
      .s_valid(loaded),
      .s_ready(out_ready),
      .s_data (loaded_data),
      .m_valid(m_axis.tvalid),
      .m_ready(m_axis.tready),
      .m_data (m_axis.tdata),
      .level  ()
  );
  assign m_axis.tkeep = '1;
  assign {m_axis.tlast, m_axis.tid, m_axis.tuser} = '0;

  // ------------------------------------------------------------------------------- what is told
  logic [RingBits-1:0] level_q, high_q;

  always_ff @(posedge clk) begin : levels
    if (taken != given) level_q <= taken ? level_q + 1'b1 : level_q - 1'b1;
    if (high_water_clear || level_q > high_q) high_q <= level_q;
    write_error <= stored && stored_error && !rst;
    read_error  <= loaded && loaded_error && !rst;
    if (rst) {level_q, high_q} <= '0;
  end
  assign level = {level_q, 6'd0};
  assign high_water = {high_q, 6'd0};

`ifndef SYNTHESIS
  // Immediate, since it looks at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_word_has_room :
      assert (!loaded || out_ready)
      else $error("fb_buffer_stream (%m): a word of the memory without room for it");
    end
  end

  a_settings_hold :
  assert property (@(posedge clk) disable iff (rst) $stable({base, bytes}))
  else $error("fb_buffer_stream (%m): the ring changes while it is in use");
`endif

  // What the memory has not refused it was given and asked for.
  logic unused;
  assign unused = &{1'b0, out_ready, 1'b0};

endmodule

`default_nettype wire
