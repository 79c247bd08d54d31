// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_recorder: between what comes from the network, what goes to it, and the streamer.
//
// What:        extents go to the SSD one behind the other, each with a page in front of it, or small
//              ones in batches, and an index says what lies where; objects come back by order of
//              registers (regs/recorder.rdl). The drawing stands in docs/reference/recorder.md.
// Handshake:   AXI4-Stream. AXI4-Lite, 64 bit, one access at a time.
// Latency:     5 cycles from an extent's first beat to its address, 6 to itself.
// Throughput:  64 bytes a cycle each way, and three cycles for each extent.
// Limits:      512-bit registers: eight, three of block RAM, of the maker of headers, two of checksums,
//              and two behind the writer.
// Does not implement: processing elements: tags and settings go to them, packets and results come back.

`default_nettype none

module fb_store_recorder
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
  import fb_store_rom_pkg::*;
#(
    localparam int unsigned Elements = 8  // processing elements that have a setting
) (
    input wire clk,
    input wire rst,

    output logic irq,  // an event stands that is enabled

    output logic [Elements-1:0][63:0] element,  // settings of processing elements
    input wire [Elements-1:0][63:0] element_status,
    output logic [63:0] now_ns,  // time since 1970, ...
    output logic [33:0] now_seconds,  // ... and once more

    // What is known of an extent when it begins; its tag, taken when the end of its packet goes into
    // the elements: whether an intact object ends there, too.
    input  wire                          s_axis_extent_tvalid,
    output logic                         s_axis_extent_tready,
    input  wire  [ PACKET_HEAD_BITS-1:0] s_axis_extent_tdata,
    input  wire  [PACKET_NONCE_BITS-1:0] s_axis_extent_tuser,   // its nonce
    output logic                         m_axis_tag_tvalid,
    input  wire                          m_axis_tag_tready,
    output logic [  PACKET_TAG_BITS-1:0] m_axis_tag_tdata,
    input  wire                          ends_object,
    input  wire  [                 31:0] received,              // bytes of the packet

    // The packet behind the elements.
    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire                        s_axis_object_tuser,   // with TLAST: not a whole object

    // What became of objects, in any order, by the tags of the extents that end them.
    input wire s_axis_result_tvalid,
    output logic s_axis_result_tready,
    input wire [RESULT_BITS-1:0] s_axis_result_tdata,  // its columns, the first one lowest
    input wire s_axis_result_tuser,  // not judged
    input wire [PACKET_TAG_BITS-1:0] s_axis_result_tid,
    input wire unseen,  // for one cycle: a branch did not see all of one

    // Objects read back, and what each is.
    output logic m_axis_head_tvalid,
    input wire m_axis_head_tready,
    output logic [127:0] m_axis_head_tdata,  // object; above it its bytes
    output logic [PACKET_READ_BITS-1:0] m_axis_head_tuser,  // nonce, offset, stream, a part
    output logic m_axis_object_tvalid,
    input wire m_axis_object_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic m_axis_object_tlast,
    output logic [1:0] m_axis_object_tuser,
    input wire sending,  // one of them has not been taken by who sends it

    // To the streamer, and from it.
    output logic                       m_axis_wr_tvalid,
    input  wire                        m_axis_wr_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_wr_tkeep,
    output logic                       m_axis_wr_tlast,
    input  wire                        s_axis_wrsp_tvalid,
    output logic                       s_axis_wrsp_tready,
    input  wire  [                7:0] s_axis_wrsp_tdata,
    output logic                       m_axis_rdcmd_tvalid,
    input  wire                        m_axis_rdcmd_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_rdcmd_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_rdcmd_tkeep,
    output logic                       m_axis_rdcmd_tlast,
    input  wire                        s_axis_rd_tvalid,
    output logic                       s_axis_rd_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_rd_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_rd_tkeep,
    input  wire                        s_axis_rd_tlast,
    input  wire                        s_axis_rd_tuser,

    // Control registers.
    input  wire  [11:0] s_axil_rec_awaddr,
    input  wire  [ 2:0] s_axil_rec_awprot,
    input  wire         s_axil_rec_awvalid,
    output logic        s_axil_rec_awready,
    input  wire  [63:0] s_axil_rec_wdata,
    input  wire  [ 7:0] s_axil_rec_wstrb,
    input  wire         s_axil_rec_wvalid,
    output logic        s_axil_rec_wready,
    output logic [ 1:0] s_axil_rec_bresp,
    output logic        s_axil_rec_bvalid,
    input  wire         s_axil_rec_bready,
    input  wire  [11:0] s_axil_rec_araddr,
    input  wire  [ 2:0] s_axil_rec_arprot,
    input  wire         s_axil_rec_arvalid,
    output logic        s_axil_rec_arready,
    output logic [63:0] s_axil_rec_rdata,
    output logic [ 1:0] s_axil_rec_rresp,
    output logic        s_axil_rec_rvalid,
    input  wire         s_axil_rec_rready
);

  // ------------------------------------------------------------------------------------ registers
  fb_store_csr_pkg::recorder__in_t  in;
  fb_store_csr_pkg::recorder__out_t out;

  fb_store_csr u_csr (
      .clk,
      .rst,
      .s_axil_awready(s_axil_rec_awready),
      .s_axil_awvalid(s_axil_rec_awvalid),
      .s_axil_awaddr(s_axil_rec_awaddr),
      .s_axil_awprot(s_axil_rec_awprot),
      .s_axil_wready(s_axil_rec_wready),
      .s_axil_wvalid(s_axil_rec_wvalid),
      .s_axil_wdata(s_axil_rec_wdata),
      .s_axil_wstrb(s_axil_rec_wstrb),
      .s_axil_bready(s_axil_rec_bready),
      .s_axil_bvalid(s_axil_rec_bvalid),
      .s_axil_bresp(s_axil_rec_bresp),
      .s_axil_arready(s_axil_rec_arready),
      .s_axil_arvalid(s_axil_rec_arvalid),
      .s_axil_araddr(s_axil_rec_araddr),
      .s_axil_arprot(s_axil_rec_arprot),
      .s_axil_rready(s_axil_rec_rready),
      .s_axil_rvalid(s_axil_rec_rvalid),
      .s_axil_rdata(s_axil_rec_rdata),
      .s_axil_rresp(s_axil_rec_rresp),
      .hwif_in(in),
      .hwif_out(out)
  );

  logic element_written_q, element_read_q, status_read_q;
  logic [63:0] element_word_q, status_word_q;
  logic [2:0] place;
  assign place = out.elements.addr[5:3];

  always_ff @(posedge clk) begin : elements
    element_written_q <= !rst && out.elements.req && out.elements.req_is_wr;
    element_read_q <= !rst && out.elements.req && !out.elements.req_is_wr;
    element_word_q <= element[place];
    status_read_q <= !rst && out.element_status.req && !out.element_status.req_is_wr;
    status_word_q <= element_status[out.element_status.addr[5:3]];
    for (int i = 0; i < 64; i++) begin
      if (out.elements.req && out.elements.req_is_wr && out.elements.wr_biten[i]) begin
        element[place][i] <= out.elements.wr_data[i];
      end
    end
    if (rst) element <= '0;
  end

  // ----------------------------------------------------------------------------------------- clock
  // Nanoseconds of a cycle with a fraction; seconds are counted beside, so that no module divides.
  localparam int unsigned SECOND = 1_000_000_000;

  logic [23:0] fraction_q;
  logic [7:0] step_q;  // nanoseconds that have passed
  logic [29:0] part;
  logic [33:0] seconds;
  logic second;

  assign now_ns = out.time_ns.nanoseconds.value;
  assign now_seconds = out.time_seconds.seconds.value;
  assign part = out.time_seconds.nanoseconds.value + 30'(step_q);
  assign second = part >= 30'(SECOND);
  assign seconds = out.time_seconds.seconds.value + 34'(second);

  always_ff @(posedge clk) begin : tick
    {step_q, fraction_q} <= 32'(fraction_q) + out.extension.tick.value;
    if (rst) {step_q, fraction_q} <= '0;
  end

  // ------------------------------------------------------------------------------------- recording
  localparam int unsigned Sources = 3;  // of writes: blocks of the index, pages, payload
  localparam int unsigned BATCH_PAGES = 16;  // of a batch, where software says none
  localparam int unsigned MOST_PAGES = 256;  // of a batch

  logic [Sources-1:0] wr_valid, wr_ready, wr_last, answer_valid, answer_ready;
  logic [Sources-1:0][USER_DATA_BITS-1:0] wr_data;
  logic part_valid, part_ready, joined_valid, joined_ready, row_valid, row_ready;
  part_t stored;
  row_t joined, row;
  logic [63:PAGE_SHIFT] durable;
  logic any_durable, pressing;
  logic collecting, writing, syncing, restart, late, unjudged, stray, ended;
  logic [15:0] collected, waiting, paging, rows;
  logic [63:0] position, lost;
  logic [31:0] blocks, blocks_failed;
  logic no_room, gave_up;  // of the index

  // What was recorded can be read until the next recording begins.
  logic stopped_q, ended_q, closes;
  assign restart = stopped_q && out.control.enable.value;
  assign closes  = stopped_q && !ended_q;

  always_ff @(posedge clk) begin : stop
    ended_q <= stopped_q || rst;
    stopped_q <= rst || (!out.control.enable.value && (stopped_q ||
        (!writing && collected == '0 && waiting == '0 && paging == '0 && rows == '0 && !syncing)));
  end

  logic batched, paged, taking;  // settings, which are steady
  logic [ 31:PAGE_SHIFT] batch;
  logic [ALIGN_BITS-1:0] cfg_align;
  assign cfg_align = out.stride.alignment.value;
  assign taking = out.control.enable.value && !stopped_q;
  always_ff @(posedge clk) begin : limit_batch
    batched <= out.control.batches.value && !out.control.pages.value;
    paged   <= out.control.pages.value;
    batch   <= out.batch.pages.value;
    if (out.batch.pages.value == '0) batch <= (32 - PAGE_SHIFT)'(BATCH_PAGES);
    if (out.batch.pages.value > (32 - PAGE_SHIFT)'(MOST_PAGES))
      batch <= (32 - PAGE_SHIFT)'(MOST_PAGES);
  end

  // Check sums of what three bring: payload, which comes first, blocks of the index that are written
  // and those that are read.
  localparam int unsigned Summed = 3;
  logic [Summed-1:0] crc_valid, crc_ready, crc_last, sum_valid;
  logic [Summed-1:0][USER_DATA_BITS-1:0] crc_data;
  logic [31:0] sum;
  logic crc_small, crc_written;
  beat_t crc_of_small, crc_of_written, crc_beat;

  // Of small extents before they are written, of others while they are.
  assign crc_beat = batched ? crc_of_small : crc_of_written;
  assign crc_valid[0] = crc_small || crc_written;
  assign crc_data[0] = crc_beat.data;
  assign crc_last[0] = crc_beat.last;

  // Payload never waits, and its sum asks for no more of a beat.
  logic unused;
  assign unused = &{1'b0, crc_ready[0], crc_beat.broken, crc_beat.cut};

  fb_store_crc32c #(
      .Sources(Summed)
  ) u_crc (
      .clk,
      .rst,
      .valid(crc_valid),
      .ready(crc_ready),
      .data (crc_data),
      .bytes({7'd64, 7'd64, crc_beat.bytes}),
      .last (crc_last),
      .sum_valid,
      .sum
  );

  // Headers of small extents, and pages of others.
  logic small_facts_valid, page_facts_valid, facts_ready;
  facts_t small_facts, page_facts;
  logic page_valid, header_ready, page_ready, page_last;
  logic [USER_DATA_BITS-1:0] page;

  fb_store_header u_header (
      .clk,
      .rst,
      .cfg_small(batched),
      .cfg_session({out.session_high.high.value, out.session_low.low.value}),
      .cfg_extension(out.extension.characters.value),
      .s_facts_tvalid(batched ? small_facts_valid : page_facts_valid),
      .s_facts_tready(facts_ready),
      .s_facts_tdata(batched ? small_facts : page_facts),
      .m_axis_page_tvalid(page_valid),
      .m_axis_page_tready(batched ? header_ready : page_ready),
      .m_axis_page_tdata(page),
      .m_axis_page_tlast(page_last)
  );

  logic unused_nonce;
  assign unused_nonce = &{1'b0, s_axis_extent_tuser};

  // Index records are in the order of their times, which the repair of a ring relies on: an extent
  // that came before the last one, and had to wait, has that one's time.
  localparam int unsigned TimeBits = PACKET_HEAD_BITS - 8 * PACKET_NS_AT;
  logic [TimeBits-1:0] came, time_, time_q;
  assign came  = s_axis_extent_tdata[PACKET_HEAD_BITS-1-:TimeBits];
  assign time_ = came[63:0] < time_q[63:0] ? time_q : came;

  always_ff @(posedge clk) begin : order
    if (s_axis_extent_tvalid && s_axis_extent_tready) time_q <= time_;
    if (rst || closes) time_q <= '0;
  end

  logic head_valid, head_ready;
  metadata_t head;
  fb_store_table #(
      .Extents(512)
  ) u_table (
      .clk,
      .rst,
      .cfg_results(out.control.results.value),
      .cfg_wait(out.stride.result_wait.value),
      .restart,
      .pressing,
      .s_axis_extent_tvalid,
      .s_axis_extent_tready,
      .s_axis_extent_tdata({
        HAS_NONCE ? NONCE_BITS'(s_axis_extent_tuser) : '0,
        time_,
        s_axis_extent_tdata[8*PACKET_NS_AT-1:0]
      }),
      .m_axis_tag_tvalid,
      .m_axis_tag_tready,
      .m_axis_tag_tdata,
      .ends_object,
      .received,
      .s_axis_result_tvalid,
      .s_axis_result_tready,
      .s_axis_result_tid,
      .s_axis_result_tdata({s_axis_result_tuser, s_axis_result_tdata}),
      .m_axis_head_tvalid(head_valid),
      .m_axis_head_tready(head_ready),
      .m_axis_head_tdata(head),
      .s_axis_part_tvalid(part_valid),
      .s_axis_part_tready(part_ready),
      .s_axis_part_tdata(stored),
      .m_axis_row_tvalid(joined_valid),
      .m_axis_row_tready(joined_ready),
      .m_axis_row_tdata(joined),
      .late,
      .unjudged,
      .stray
  );

  logic small_valid, small_ready, beat_valid, beat_ready;
  small_t small_extent;
  beat_t  beat;
  fb_store_collect u_collect (
      .clk,
      .rst,
      .cfg_small(batched),
      .cfg_enable(taking),
      .cfg_batch(batch),
      .s_axis_head_tvalid(head_valid),
      .s_axis_head_tready(head_ready),
      .s_axis_head_tdata(head),
      .s_axis_object_tvalid,
      .s_axis_object_tready,
      .s_axis_object_tdata,
      .s_axis_object_tkeep,
      .s_axis_object_tlast,
      .s_axis_object_tuser,
      .crc_valid(crc_small),
      .crc_beat(crc_of_small),
      .sum_valid(batched && sum_valid[0]),
      .sum,
      .m_facts_tvalid(small_facts_valid),
      .m_facts_tready(facts_ready),
      .m_facts_tdata(small_facts),
      .m_extent_tvalid(small_valid),
      .m_extent_tready(small_ready),
      .m_extent_tdata(small_extent),
      .m_beat_tvalid(beat_valid),
      .m_beat_tready(beat_ready),
      .m_beat_tdata(beat),
      .open(collecting),
      .ended,
      .waiting(collected)
  );

  fb_store_write u_write (
      .clk,
      .rst,
      .restart,
      .cfg_ring(out.control.data_ring.value),
      .cfg_small(batched),
      .cfg_page(paged),
      .cfg_align,
      .cfg_batch(batch),
      .cfg_wait(out.batch.wait_cycles.value),
      .cfg_stride(paged || batched ? '0 : out.stride.pages.value),
      .cfg_base(out.data_address.pages.value),
      .cfg_bytes(out.data_bytes.pages.value),
      .cfg_ahead(out.ahead.pages.value),
      .durable,
      .any_durable,
      .pressing,
      .ended,
      .coming(collected),
      .s_beat_tvalid(beat_valid),
      .s_beat_tready(beat_ready),
      .s_beat_tdata(beat),
      .s_extent_tvalid(small_valid),
      .s_extent_tready(small_ready),
      .s_extent_tdata(small_extent),
      .s_axis_header_tvalid(page_valid),
      .s_axis_header_tready(header_ready),
      .s_axis_header_tdata(page),
      .s_axis_header_tlast(page_last),
      .crc_valid(crc_written),
      .crc_beat(crc_of_written),
      .sum_valid(!batched && sum_valid[0]),
      .sum,
      .m_axis_wr_tvalid(wr_valid[2]),
      .m_axis_wr_tready(wr_ready[2]),
      .m_axis_wr_tdata(wr_data[2]),
      .m_axis_wr_tlast(wr_last[2]),
      .s_axis_wrsp_tvalid(answer_valid[2]),
      .s_axis_wrsp_tready(answer_ready[2]),
      .s_axis_wrsp_tdata,
      .m_axis_part_tvalid(part_valid),
      .m_axis_part_tready(part_ready),
      .m_axis_part_tdata(stored),
      .open(writing),
      .waiting,
      .position
  );

  fb_store_pages u_pages (
      .clk,
      .rst,
      .cfg_page(paged),
      .cfg_align,
      .s_axis_row_tvalid(joined_valid),
      .s_axis_row_tready(joined_ready),
      .s_axis_row_tdata(joined),
      .m_axis_row_tvalid(row_valid),
      .m_axis_row_tready(row_ready),
      .m_axis_row_tdata(row),
      .m_facts_tvalid(page_facts_valid),
      .m_facts_tready(facts_ready),
      .m_facts_tdata(page_facts),
      .s_axis_page_tvalid(page_valid),
      .s_axis_page_tready(page_ready),
      .s_axis_page_tdata(page),
      .s_axis_page_tlast(page_last),
      .m_axis_wr_tvalid(wr_valid[1]),
      .m_axis_wr_tready(wr_ready[1]),
      .m_axis_wr_tdata(wr_data[1]),
      .m_axis_wr_tlast(wr_last[1]),
      .s_axis_wrsp_tvalid(answer_valid[1]),
      .s_axis_wrsp_tready(answer_ready[1]),
      .s_axis_wrsp_tdata,
      .waiting(paging)
  );

  fb_store_index u_index (
      .clk,
      .rst,
      .restart,
      .cfg_ring(out.control.index_ring.value),
      .cfg_flush(out.control.flush.value),
      .cfg_wait(out.control.wait_cycles.value),
      .cfg_align,
      .cfg_base(out.index_address.pages.value),
      .cfg_bytes(out.index_bytes.pages.value),
      .cfg_session(out.session_low.low.value),
      .sync(out.sync.go.value),
      .pressing,
      .durable,
      .any_durable,
      .s_axis_row_tvalid(row_valid),
      .s_axis_row_tready(row_ready),
      .s_axis_row_tdata(row),
      .crc_valid(crc_valid[1]),
      .crc_ready(crc_ready[1]),
      .crc_data(crc_data[1]),
      .crc_last(crc_last[1]),
      .sum_valid(sum_valid[1]),
      .sum,
      .m_axis_wr_tvalid(wr_valid[0]),
      .m_axis_wr_tready(wr_ready[0]),
      .m_axis_wr_tdata(wr_data[0]),
      .m_axis_wr_tlast(wr_last[0]),
      .s_axis_wrsp_tvalid(answer_valid[0]),
      .s_axis_wrsp_tready(answer_ready[0]),
      .s_axis_wrsp_tdata,
      .busy(syncing),
      .rows,
      .blocks,
      .failed(blocks_failed),
      .lost,
      .no_room,
      .gave_up
  );

  logic write_valid, write_ready, write_last;
  logic [USER_DATA_BITS-1:0] write;
  fb_store_turns #(
      .Sources(Sources)
  ) u_writes (
      .clk,
      .rst,
      .s_axis_request_tvalid (wr_valid),
      .s_axis_request_tready (wr_ready),
      .s_axis_request_tdata  (wr_data),
      .s_axis_request_tlast  (wr_last),
      .m_axis_response_tvalid(answer_valid),
      .m_axis_response_tready(answer_ready),
      .m_axis_request_tvalid (write_valid),
      .m_axis_request_tready (write_ready),
      .m_axis_request_tdata  (write),
      .m_axis_request_tlast  (write_last),
      .s_axis_response_tvalid(s_axis_wrsp_tvalid),
      .s_axis_response_tready(s_axis_wrsp_tready),
      .s_axis_response_tlast (1'b1)
  );

  // What any of them decides within a cycle ends here.
  fb_common_skid #(
      .Width(1 + USER_DATA_BITS)
  ) u_skid (
      .clk,
      .rst,
      .s_valid(write_valid),
      .s_ready(write_ready),
      .s_data ({write_last, write}),
      .m_valid(m_axis_wr_tvalid),
      .m_ready(m_axis_wr_tready),
      .m_data ({m_axis_wr_tlast, m_axis_wr_tdata})
  );
  assign m_axis_wr_tkeep = '1;

  // -------------------------------------------------------------------------------------- fetching
  localparam int unsigned Readers = 2;  // blocks of the index, objects

  logic go, order_ready, fetching, fetch_done, fetch_failed, replaying;
  logic found_valid, found_ready;  // an object that was found by number
  logic [63:0] found_address, found_bytes, found_object, found_nonce;
  logic [7:0] orders;
  logic [Readers-1:0] rdcmd_valid, rdcmd_ready, rd_valid, rd_ready;
  logic [Readers-1:0][USER_DATA_BITS-1:0] rdcmd_data;
  logic [31:0] replayed, passed, replayed_blocks;

  assign go = out.fetch.go.value;
  assign found_ready = order_ready && !go;

  fb_store_replay u_replay (
      .clk,
      .rst,
      .cfg_ring(out.control.index_ring.value),
      .cfg_align,
      .cfg_index_base(out.index_address.pages.value),
      .cfg_index_bytes(out.index_bytes.pages.value),
      .cfg_data_base(out.data_address.pages.value),
      .cfg_data_bytes(out.data_bytes.pages.value),
      .cfg_session(out.session_low.low.value),
      .go(out.replay.go.value),
      .stop(out.replay.stop.value),
      .first(out.replay_first.object.value),
      .last(out.replay_last.object.value),
      .stream(out.replay.stream.value),
      .from_block(out.replay_from.block.value),
      .from_page(out.replay_from.page.value),
      .count(out.replay.blocks.value),
      .m_axis_rdcmd_tvalid(rdcmd_valid[0]),
      .m_axis_rdcmd_tready(rdcmd_ready[0]),
      .m_axis_rdcmd_tdata(rdcmd_data[0]),
      .s_axis_rd_tvalid(rd_valid[0]),
      .s_axis_rd_tready(rd_ready[0]),
      .s_axis_rd_tdata,
      .s_axis_rd_tlast,
      .s_axis_rd_tuser,
      .crc_valid(crc_valid[2]),
      .crc_ready(crc_ready[2]),
      .crc_data(crc_data[2]),
      .crc_last(crc_last[2]),
      .sum_valid(sum_valid[2]),
      .sum,
      .order_valid(found_valid),
      .order_ready(found_ready),
      .order_address(found_address),
      .order_bytes(found_bytes),
      .order_object(found_object),
      .order_nonce(found_nonce),
      .busy(replaying),
      .ordered(replayed),
      .passed(passed),
      .blocks(replayed_blocks)
  );

  fb_store_turns #(
      .Sources(Readers),
      .Depth  (64)
  ) u_reads (
      .clk,
      .rst,
      .s_axis_request_tvalid (rdcmd_valid),
      .s_axis_request_tready (rdcmd_ready),
      .s_axis_request_tdata  (rdcmd_data),
      .s_axis_request_tlast  ('1),
      .m_axis_response_tvalid(rd_valid),
      .m_axis_response_tready(rd_ready),
      .m_axis_request_tvalid (m_axis_rdcmd_tvalid),
      .m_axis_request_tready (m_axis_rdcmd_tready),
      .m_axis_request_tdata  (m_axis_rdcmd_tdata),
      .m_axis_request_tlast  (m_axis_rdcmd_tlast),
      .s_axis_response_tvalid(s_axis_rd_tvalid),
      .s_axis_response_tready(s_axis_rd_tready),
      .s_axis_response_tlast (s_axis_rd_tlast)
  );
  assign m_axis_rdcmd_tkeep = '1;

  fb_store_fetch u_fetch (
      .clk,
      .rst,
      .order_valid(go ? out.fetch_bytes.bytes.value != '0 : found_valid),
      .order_ready,
      .order_address(go ? out.fetch_address.address.value : found_address),
      .order_bytes(go ? out.fetch_bytes.bytes.value : found_bytes),
      .order_object(go ? out.fetch_object.object.value : found_object),
      .order_part(go && out.fetch.part.value),
      .order_stream(go ? out.fetch.stream.value : out.replay.stream.value),
      .order_offset(go ? out.fetch_offset.bytes.value : '0),
      .order_nonce(go ? out.fetch_nonce.nonce.value : found_nonce),
      .m_axis_rdcmd_tvalid(rdcmd_valid[1]),
      .m_axis_rdcmd_tready(rdcmd_ready[1]),
      .m_axis_rdcmd_tdata(rdcmd_data[1]),
      .m_axis_rdcmd_tkeep(),
      .m_axis_rdcmd_tlast(),
      .s_axis_rd_tvalid(rd_valid[1]),
      .s_axis_rd_tready(rd_ready[1]),
      .s_axis_rd_tdata,
      .s_axis_rd_tkeep,
      .s_axis_rd_tlast,
      .s_axis_rd_tuser,
      .m_axis_head_tvalid,
      .m_axis_head_tready,
      .m_axis_head_tdata,
      .m_axis_head_tuser,
      .m_axis_object_tvalid,
      .m_axis_object_tready,
      .m_axis_object_tdata,
      .m_axis_object_tkeep,
      .m_axis_object_tlast,
      .m_axis_object_tuser,
      .waiting(orders),
      .busy(fetching),
      .done(fetch_done),
      .failed(fetch_failed)
  );

  // -------------------------------------------------------------------------------------- counting
  typedef enum logic [1:0] {
    STORED,
    SKIPPED,
    FAILED
  } fate_e;

  fate_e fate;
  logic  counts;
  logic [2:0][63:0] extents_q, bytes_q;
  logic [31:0] fetched_q, fetch_failed_q, late_q, unjudged_q, unseen_q, stray_q;

  always_comb begin : judge
    counts = row_valid && row_ready;
    fate   = STORED;
    if ((row.flags & ROW_FAILED) != '0) fate = FAILED;
    if ((row.flags & ROW_SKIPPED) != '0) fate = SKIPPED;
  end

  always_ff @(posedge clk) begin : count
    late_q <= late_q + 32'(late);
    unjudged_q <= unjudged_q + 32'(unjudged);
    unseen_q <= unseen_q + 32'(unseen);
    stray_q <= stray_q + 32'(stray);
    fetched_q <= fetched_q + 32'(fetch_done);
    fetch_failed_q <= fetch_failed_q + 32'(fetch_failed);
    if (counts) begin
      extents_q[fate] <= extents_q[fate] + 1'b1;
      bytes_q[fate]   <= bytes_q[fate] + 64'(row.facts.length);
    end
    if (restart || rst) begin
      {extents_q, bytes_q} <= '0;
      {late_q, unjudged_q, unseen_q, stray_q} <= '0;
    end
    if (rst) begin
      {fetched_q, fetch_failed_q} <= '0;
    end
  end

  always_ff @(posedge clk) begin : interrupt
    irq <= !rst && ((out.events.closed.value && out.events.enable_closed.value) ||
        (out.events.error.value && out.events.enable_error.value) ||
        (out.events.full.value && out.events.enable_full.value));
  end

  always_comb begin : show
    in = '0;
    in.events.closed.hwset = closes;
    in.events.error.hwset = gave_up || fetch_failed || (counts && fate == FAILED);
    in.events.full.hwset = no_room || (counts && fate == SKIPPED);
    in.elements.wr_ack = element_written_q;
    in.elements.rd_ack = element_read_q;
    in.elements.rd_data = element_word_q;
    in.element_status.wr_ack = 1'b0;  // the register block refuses it
    in.element_status.rd_ack = status_read_q;
    in.element_status.rd_data = status_word_q;
    in.schema.results.next = SCHEMA_ID;
    in.sync.busy.next = syncing;
    in.status.open.next = collecting || writing;
    in.status.fetching.next = fetching || replaying || sending;
    in.status.waiting.next = collected + waiting + paging;
    in.status.rows.next = rows;
    in.status.fetches.next = orders;
    in.data_position.bytes.next = position;
    in.stored_extents.extents.next = extents_q[STORED];
    in.stored_bytes.bytes.next = bytes_q[STORED];
    in.skipped_extents.extents.next = extents_q[SKIPPED];
    in.skipped_bytes.bytes.next = bytes_q[SKIPPED];
    in.failed_extents.extents.next = extents_q[FAILED];
    in.failed_bytes.bytes.next = bytes_q[FAILED];
    in.blocks.written.next = blocks;
    in.blocks.failed.next = blocks_failed;
    in.rows_lost.rows.next = lost;
    in.time_ns.nanoseconds.next = out.time_ns.nanoseconds.value + 64'(step_q);
    in.time_ns.nanoseconds.we = 1'b1;
    in.time_seconds.nanoseconds.next = second ? part - 30'(SECOND) : part;
    in.time_seconds.nanoseconds.we = 1'b1;
    in.time_seconds.seconds.next = seconds;
    in.time_seconds.seconds.we = 1'b1;
    in.results.late.next = late_q;
    in.results.stray.next = stray_q;
    in.unjudged.objects.next = unjudged_q;
    in.unjudged.unseen.next = unseen_q;
    in.fetch.refused.hwset = go && !(order_ready && out.fetch_bytes.bytes.value != '0);
    in.replay.busy.next = replaying;
    in.replay.refused.hwset = out.replay.go.value && replaying;
    in.replayed.objects.next = replayed;
    in.replayed.passed.next = passed;
    in.replayed_blocks.blocks.next = replayed_blocks;
    in.fetched.objects.next = fetched_q;
    in.fetched.failed.next = fetch_failed_q;
  end

endmodule

`default_nettype wire
