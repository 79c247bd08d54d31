// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_host: the payload buffer in host memory, sixteen segments of 4 MiB for each direction.
//
// What:        write and read requests of the streams go to host memory by an AXI4 master that leads
//              to the PCIe bridge. The SSD reaches the payload by itself.
// Handshake:   the streams' side as in docs/reference/memories.md, with whole pages announced; AXI4
//              at the bridge, INCR of 64-byte beats, one identifier, so that answers come in order.
// Order:       a bridge may answer a write before it is anywhere but in the bridge, and the doorbell
//              goes another way than the data. So a write is committed only when a read that was sent
//              after the answers to all of its command has come back: a read pushes the posted writes
//              before it (PCI Express Base 5.0, 2.4.1), which then are where the SSD reads them. Of what
//              the SSD writes, its completion entry comes after the data, and a read request after
//              both, which pushes the data where all three come by the same root port
//              (docs/reference/memories.md).
// Throughput:  64 B a cycle each way at the bridge's side, less a beat for each command.
// Errors:      a write request has an error where a write or the read after it is refused, a
//              read request where its read is.
// Does not implement: more than one identifier; marks of more than `Marks` commands at once.

`default_nettype none

module fb_payload_host
  import fb_payload_pkg::*;
#(
    parameter int unsigned FifoBeats = 512,  // beats that wait to be written
    parameter int unsigned Marks = 32  // commands that wait for the read after their data
) (
    input wire clk,
    input wire rst,

    fb_payload_stream_if.memory streams,
    fb_axi_if.write_initiator m_axi_write,  // the bridge to the host
    fb_axi_if.read_initiator m_axi_read
);

  localparam int unsigned Bursts = 64;  // that wait to be written

  // Where the bridge has a word of a page.
  function automatic logic [63:0] outbound(input logic [63:12] page, input logic [5:0] word);
    return {page[63:22] + streams.memory_offset[63:22], page[21:12], word, 6'd0};
  endfunction

  // ----------------------------------------------------------------------------- what is written
  logic writes_rest, burst_valid, write_ready, word_valid, word_take;
  logic stored, stored_empty, stored_error;
  burst_t burst;
  logic [$clog2(Bursts):0] bursts;
  logic [511:0] word_data;
  logic written_mark;
  word_addr_t written_addr;

  fb_payload_write_combiner #(
      .FifoBeats(FifoBeats),
      .Bursts(Bursts)
  ) u_writes (
      .flush(streams.restart),
      .write_valid(streams.write_valid),
      .write_addr(streams.write_addr),
      .write_data(streams.write_data),
      .write_end(streams.write_end),
      .write_hold(streams.write_hold),
      .growing(),
      .rests(writes_rest),
      .burst_take(write_ready),
      .*
  );

  // Where the bridge has the pages that are to be written and to be read.
  word_addr_t read_addr;
  logic [1:0][63:0] places;
  for (genvar i = 0; i < 2; i++) begin : gen_segments
    fb_payload_host_map u_segment (
        .clk,
        .we(streams.segment_we),
        .index(streams.segment_index),
        .base(streams.segment_address),
        .page(i == 0 ? burst.addr.page : read_addr.page),
        .address(places[i])
    );
  end

  fb_axi_write_master #(
      .SideBits(1 + DRAM_WORD_BITS)
  ) u_writer (
      .burst_ready(write_ready),
      .burst_addr(outbound(places[0][63:12], burst.addr.word)),
      .burst_count_m1(burst.count_m1),
      .burst_empty(burst.empty),
      .burst_side({burst.mark, burst.addr}),
      .word_strb('1),
      .word_side(),
      .stored_side({written_mark, written_addr}),
      .m_axi(m_axi_write),
      .*
  );

  // Commands all of whose data the bridge has taken, each with a word of it to be read.
  logic bad_q, mark_valid, mark_bad, mark_ready, read_ready;
  word_addr_t mark_addr;
  logic [$clog2(Marks):0] marks;
  logic [4:0] writes_under_q;
  always_ff @(posedge clk) begin : written_so_far
    if (stored) bad_q <= !written_mark && (bad_q || stored_error);
    writes_under_q <= writes_under_q + 5'(burst_valid && write_ready) - 5'(stored);
    if (rst || streams.restart) bad_q <= 1'b0;
    if (rst) writes_under_q <= '0;
  end

  fb_common_fifo #(
      .Width(DRAM_WORD_BITS + 1),
      .Depth(Marks),
      .OutputRegister(1'b1)
  ) u_marks (
      .clk,
      .rst,
      .s_valid(stored && written_mark),
      .s_ready(mark_ready),
      .s_data ({bad_q || stored_error, written_addr}),
      .m_valid(mark_valid),
      .m_ready(read_ready),
      .m_data ({mark_bad, mark_addr}),
      .level  (marks)
  );

  // -------------------------------------------------------------------------------- what is read
  logic request_push, ask_valid;
  logic loaded, loaded_last, loaded_error, loaded_mark, loaded_bad;
  logic [4:0] asks, reads_under_q;
  request_t ask;

  assign request_push = streams.read_valid && streams.read_ready && streams.read_first;
  fb_common_fifo #(
      .Width($bits(request_t)),
      .Depth(16),
      .OutputRegister(1'b1)
  ) u_requests (
      .clk,
      .rst,
      .s_valid(request_push),
      .s_ready(streams.read_ready),
      .s_data ({streams.read_addr, 6'(streams.read_count - 7'd1)}),
      .m_valid(ask_valid),
      .m_ready(read_ready && !mark_valid),
      .m_data (ask),
      .level  (asks)
  );

  // A mark costs a beat and holds a command up: it goes first.
  assign read_addr = mark_valid ? mark_addr : ask.addr;

  fb_axi_read_master #(
      .SideBits(2)
  ) u_reader (
      .ask_valid(mark_valid || ask_valid),
      .ask_ready(read_ready),
      .ask_addr(outbound(places[1][63:12], read_addr.word)),
      .ask_count_m1(mark_valid ? 6'd0 : ask.count_m1),
      .ask_side({mark_valid, mark_valid && mark_bad}),
      .loaded_side({loaded_mark, loaded_bad}),
      .loaded_data(streams.data),
      .m_axi(m_axi_read),
      .*
  );
  assign streams.data_valid = loaded && !loaded_mark;
  assign streams.data_error = loaded_error;

  always_ff @(posedge clk) begin : read_so_far
    streams.committed <= loaded && loaded_mark && !rst;
    streams.commit_error <= loaded_bad || loaded_error;
    streams.errors <= {stored && stored_error, loaded && loaded_error};
    streams.quiet <= writes_rest && writes_under_q == '0 && !stored && marks == '0 && asks == '0 &&
        !request_push && reads_under_q == '0 && !streams.committed;
    reads_under_q <= reads_under_q + 5'(read_ready && (mark_valid || ask_valid)) -
        5'(loaded && loaded_last);
    if (rst) reads_under_q <= '0;
  end

  logic unused;
  assign unused = &{1'b0, bursts, stored_empty, places[0][11:0], places[1][11:0],
                    streams.memory_offset[21:0], 1'b0};

`ifndef SYNTHESIS
  // Immediate, since it looks at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_mark_has_room :
      assert (!(stored && written_mark) || mark_ready)
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
`endif

endmodule

`default_nettype wire
