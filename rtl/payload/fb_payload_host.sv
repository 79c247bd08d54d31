// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_host: the payload buffer in host memory, sixteen segments of 4 MiB for each direction.
//
// What:        write and read requests of the streams go to host memory by an AXI4
//              master that leads to the PCIe bridge. The SSD reaches the payload by itself.
// Handshake:   the streams' side as in docs/reference/memories.md, with whole pages announced; AXI4
//              at the bridge, INCR of 64-byte beats, one identifier, so that answers come in order.
// Order:       a bridge may answer a write before it is anywhere but in the bridge, and the doorbell
//              goes another way than the data. So a write is committed only when a read that was sent
//              after the answers to all of its command has come back: a read pushes the posted
//              writes before it (PCI Express Base 5.0, 2.4.1), which then are where the SSD reads
//              them. Of what the SSD writes, its completion entry comes after the data, and a read request
//              after both, which pushes the data where all three come by the same root port
//              (docs/reference/memories.md).
// Throughput:  64 B a cycle each way at the bridge's side, less a beat for each command.
// Errors:      a write request has an error where a write or the read after it is refused, a
//              read request where its read is.
// Does not implement: more than one identifier; marks of more than `Marks` commands at once.

`default_nettype none

module fb_payload_host #(
    parameter int unsigned FifoBeats = 512,  // beats that wait to be written
    parameter int unsigned Marks = 32,  // commands that wait for the read after their data
    localparam int unsigned PageBits = $clog2(fb_spec_pkg::DRAM_WINDOW_BYTES) - 12,
    localparam int unsigned WordBits = PageBits + 6
) (
    input wire clk,
    input wire rst,

    // The streams' side.
    fb_payload_stream_if.memory streams,

    // The bridge to the host.
    fb_axi_if.write_initiator m_axi_write,
    fb_axi_if.read_initiator  m_axi_read
);

  localparam int unsigned Bursts = 64;  // that wait to be written

  // Where the bridge has a word of a page.
  function automatic logic [63:0] outbound(input logic [63:12] page, input logic [5:0] word);
    return {page[63:22] + streams.memory_offset[63:22], page[21:12], word, 6'd0};
  endfunction

  // ----------------------------------------------------------------------------- what is written
  typedef struct packed {
    logic                mark;
    logic [WordBits-1:0] addr;
  } written_t;

  logic writes_rest, burst_valid, burst_take, burst_end, burst_empty;
  logic word_valid, word_take, write_ready, stored, stored_empty, stored_error;
  logic [WordBits-1:0] burst_addr;
  logic [5:0] burst_count_m1;
  logic [$clog2(Bursts):0] writes_wait;
  logic [511:0] word_data;
  logic [63:0] write_place, write_address;
  written_t word_side, written;

  fb_payload_write_combiner #(
      .WordBits(WordBits),
      .FifoBeats(FifoBeats),
      .Bursts(Bursts)
  ) u_writes (
      .flush(streams.restart),
      .write_valid(streams.write_valid),
      .write_addr(streams.write_addr),
      .write_data(streams.write_data),
      .write_end(streams.write_end),
      .write_hold(streams.write_hold),
      .open(),
      .open_addr(),
      .begins(),
      .rests(writes_rest),
      .bursts(writes_wait),
      .*
  );

  fb_payload_host_map u_write_segment (
      .clk,
      .we(streams.segment_we),
      .index(streams.segment_index),
      .base(streams.segment_address),
      .page(burst_addr[WordBits-1:6]),
      .address(write_place)
  );
  assign write_address = outbound(write_place[63:12], burst_addr[5:0]);
  assign burst_take = burst_valid && write_ready;

  fb_axi_write_master #(
      .SideBits($bits(written_t))
  ) u_writer (
      .burst_ready(write_ready),
      .burst_addr(write_address),
      .burst_side({burst_end, burst_addr}),
      .word_strb('1),
      .stored_side(written),
      .m_axi(m_axi_write),
      .*
  );

  // Commands all of whose data the bridge has taken, each with a word of it to be read.
  logic bad_q, mark_valid, mark_take, mark_bad, mark_ready;
  logic [WordBits-1:0] mark_addr;
  logic [$clog2(Marks):0] marks;
  logic [4:0] writes_under_q;
  always_ff @(posedge clk) begin : written_so_far
    if (stored) bad_q <= !written.mark && (bad_q || stored_error);
    writes_under_q <= writes_under_q + 5'(burst_take) - 5'(stored);
    if (rst || streams.restart) bad_q <= 1'b0;
    if (rst) writes_under_q <= '0;
  end

  fb_common_fifo #(
      .Width(WordBits + 1),
      .Depth(Marks)
  ) u_marks (
      .clk,
      .rst,
      .s_valid(stored && written.mark),
      .s_ready(mark_ready),
      .s_data ({bad_q || stored_error, written.addr}),
      .m_valid(mark_valid),
      .m_ready(mark_take),
      .m_data ({mark_bad, mark_addr}),
      .level  (marks)
  );

  // -------------------------------------------------------------------------------- what is read
  typedef struct packed {
    logic [WordBits-1:0] addr;
    logic [5:0]          count_m1;
  } request_t;

  typedef struct packed {
    logic mark;
    logic bad;
  } read_t;

  logic request_push, ask_valid, ask_take, pick_mark, read_ready, loaded, loaded_last, loaded_error;
  logic [4:0] ask_level, reads_under_q;
  logic [WordBits-1:0] read_addr;
  logic [63:0] read_place, read_address;
  request_t ask;
  read_t read;

  assign request_push = streams.read_valid && streams.read_ready && streams.read_first;
  fb_common_fifo #(
      .Width($bits(request_t)),
      .Depth(16)
  ) u_requests (
      .clk,
      .rst,
      .s_valid(request_push),
      .s_ready(streams.read_ready),
      .s_data ({streams.read_addr, 6'(streams.read_count - 7'd1)}),
      .m_valid(ask_valid),
      .m_ready(ask_take),
      .m_data (ask),
      .level  (ask_level)
  );

  // A mark costs a beat and holds a command up: it goes first.
  assign pick_mark = mark_valid;
  assign mark_take = pick_mark && read_ready;
  assign ask_take  = ask_valid && !pick_mark && read_ready;
  assign read_addr = pick_mark ? mark_addr : ask.addr;

  fb_payload_host_map u_read_segment (
      .clk,
      .we(streams.segment_we),
      .index(streams.segment_index),
      .base(streams.segment_address),
      .page(read_addr[WordBits-1:6]),
      .address(read_place)
  );
  assign read_address = outbound(read_place[63:12], read_addr[5:0]);

  fb_axi_read_master #(
      .SideBits($bits(read_t))
  ) u_reader (
      .ask_valid(mark_valid || ask_valid),
      .ask_ready(read_ready),
      .ask_addr(read_address),
      .ask_count_m1(pick_mark ? 6'd0 : ask.count_m1),
      .ask_side({pick_mark, pick_mark && mark_bad}),
      .loaded_side(read),
      .loaded_data(streams.data),
      .m_axi(m_axi_read),
      .*
  );
  assign streams.data_valid = loaded && !read.mark;
  assign streams.data_error = loaded_error;

  always_ff @(posedge clk) begin : read_so_far
    streams.committed <= loaded && read.mark && !rst;
    streams.commit_error <= read.bad || loaded_error;
    streams.errors <= {stored && stored_error, loaded && loaded_error};
    reads_under_q <= reads_under_q + 5'(mark_take || ask_take) - 5'(loaded && loaded_last);
    if (rst) reads_under_q <= '0;
  end

  always_ff @(posedge clk)
    streams.quiet <= writes_rest && writes_under_q == '0 && !stored && !mark_valid && !ask_valid && !request_push &&
        reads_under_q == '0 && !streams.committed;

  logic unused;
  assign unused = &{1'b0, writes_wait, word_side, stored_empty, marks, ask_level, write_place[11:0],
                    read_place[11:0], streams.memory_offset[21:0], 1'b0};

`ifndef SYNTHESIS
  // Immediate, since it looks at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_mark_has_room :
      assert (!(stored && written.mark) || mark_ready)
      else $error("fb_payload_host (%m): more commands wait to be committed than Marks=%0d", Marks);
      // Writer and reader have sixteen bursts under way, and one that is just answered.
      a_writes_counted :
      assert (writes_under_q <= 5'd17)
      else $error("fb_payload_host (%m): %0d bursts are being written", writes_under_q);
      a_reads_counted :
      assert (reads_under_q <= 5'd16)
      else $error("fb_payload_host (%m): %0d bursts are being read", reads_under_q);
    end
  end
`else
  logic unused_ready;
  assign unused_ready = mark_ready;
`endif

endmodule

`default_nettype wire
