// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_table: what is known of each extent, from its first beat to its index record.
//
// What:        an extent gets a tag when its metadata come: a number that counts on, whose lowest bits
//              are its entry. Its packet carries the tag through the elements; what comes of it
//              later, a result, names the tag, in any order. Who stores the payload says in order
//              where the parts of each extent lie, and makes headers of small ones of their metadata; a
//              part becomes an index record, and an entry is free again when the last record of its
//              extent has left.
// Results:     an intact object has one, at the tag of the extent that ends it. The record of that extent
//              waits for it up to `cfg_wait` cycles. After a time-out records do not wait until a
//              result comes again, so that an element that has stopped holds up no recording. Where
//              all entries are in use, or data wait for records, the oldest does not wait either: data
//              never wait for results.
// Handshake:   valid/ready.
// Latency:     1 cycle from metadata to the tag, 2 to their turn; none for a record whose entry has been
//              the oldest for 2 cycles.
// Throughput:  an extent a cycle, a result in each cycle without one that begins, a record in 3.
// Limits:      Extents extents without a record; tags are modulo 2^32. 512-bit registers: none.
// Does not implement: more than one result of an object.

`default_nettype none

module fb_store_table
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
#(
    parameter int unsigned Extents = 512  // entries, a power of two, 4 to 4096
) (
    input wire clk,
    input wire rst,

    input wire        cfg_results,  // intact objects have results
    input wire [31:0] cfg_wait,     // cycles that a record waits for its result
    input wire        restart,      // records wait anew
    input wire        pressing,     // data wait for records

    // An extent begins.
    input  wire                                  s_axis_extent_tvalid,
    output logic                                 s_axis_extent_tready,
    input  wire metadata_t                       s_axis_extent_tdata,
    // Its tag, taken when the end of its packet goes into the elements: whether an intact object ends
    // there, too.
    output logic                                 m_axis_tag_tvalid,
    input  wire                                  m_axis_tag_tready,
    output logic           [PACKET_TAG_BITS-1:0] m_axis_tag_tdata,
    input  wire                                  ends_object,
    input  wire            [               31:0] received,              // bytes of the packet

    input  wire                           s_axis_result_tvalid,
    output logic                          s_axis_result_tready,
    input  wire     [PACKET_TAG_BITS-1:0] s_axis_result_tid,
    input  result_t                       s_axis_result_tdata,

    // Metadata, in order.
    output logic      m_axis_head_tvalid,
    input  wire       m_axis_head_tready,
    output metadata_t m_axis_head_tdata,

    // Parts of extents, of each one or more, in order; their index records.
    input wire s_axis_part_tvalid,
    output logic s_axis_part_tready,
    input wire part_t s_axis_part_tdata,
    output logic m_axis_row_tvalid,
    input wire m_axis_row_tready,
    output row_t m_axis_row_tdata,

    // Pulses.
    output logic late,     // a record has gone before its result
    output logic unjudged, // a result says that there is none
    output logic stray     // a result had no record that waits
);

  if (Extents < 4 || Extents > 4096 || (Extents & (Extents - 1)) != 0) begin : gen_bad
    $fatal(1, "fb_store_table (%m): Extents=%0d must be a power of two from 4 to 4096", Extents);
  end

  localparam int unsigned EntryBits = $clog2(Extents);

  // ------------------------------------------------------------------------------------------- tags
  // The next extent's, and those of the oldest extent ...
  logic [PACKET_TAG_BITS-1:0] next_q;
  logic [PACKET_TAG_BITS-1:0] ended_q;  // ... whose packet has not ended
  logic [PACKET_TAG_BITS-1:0] oldest_q;  // ... whose last record has not left
  logic [EntryBits:0] used_q;  // entries: next_q - oldest_q
  logic [EntryBits:0] whole_q;  // those whose packets have ended: ended_q - oldest_q
  logic [EntryBits:0] coming_q;  // those whose packets have not: next_q - ended_q
  logic opens, ends, retires, goes_late, full, room;
  logic [EntryBits-1:0] oldest;

  assign full = used_q[EntryBits];
  assign oldest = oldest_q[EntryBits-1:0];
  assign s_axis_extent_tready = !full && room;
  assign opens = s_axis_extent_tvalid && s_axis_extent_tready;
  assign ends = m_axis_tag_tvalid && m_axis_tag_tready;
  assign m_axis_tag_tdata = ended_q;

  always_ff @(posedge clk) begin : count
    if (opens) next_q <= next_q + 1'b1;
    if (ends) ended_q <= ended_q + 1'b1;
    if (retires) oldest_q <= oldest_q + 1'b1;
    if (opens != retires) used_q <= opens ? used_q + 1'b1 : used_q - 1'b1;
    if (opens != ends) coming_q <= opens ? coming_q + 1'b1 : coming_q - 1'b1;
    m_axis_tag_tvalid <= opens || coming_q > (EntryBits + 1)'(ends);
    if (ends != retires) whole_q <= ends ? whole_q + 1'b1 : whole_q - 1'b1;
    if (rst) {next_q, ended_q, oldest_q, used_q, whole_q, coming_q} <= '0;
    if (rst) m_axis_tag_tvalid <= 1'b0;
  end

  fb_common_fifo_bram #(
      .Width($bits(metadata_t)),
      .Depth(Extents)
  ) u_heads (
      .clk,
      .rst,
      .s_valid(s_axis_extent_tvalid && !full),
      .s_ready(room),
      .s_data (s_axis_extent_tdata),
      .m_valid(m_axis_head_tvalid),
      .m_ready(m_axis_head_tready),
      .m_data (m_axis_head_tdata),
      .level  ()
  );

  metadata_t metadata;  // of the oldest
  fb_common_table #(
      .Width($bits(metadata_t)),
      .Depth(Extents)
  ) u_metadata (
      .clk,
      .we(opens),
      .waddr(next_q[EntryBits-1:0]),
      .wdata(s_axis_extent_tdata),
      .raddr(oldest),
      .rdata(metadata)
  );

  // ---------------------------------------------------------------------------------------- results
  // Of each entry: whether its packet ended an object, which has a result; and whether that is here.
  // A result for an entry that has one, or that awaits none, is dropped.
  logic named_q, writes, accepts;
  logic [PACKET_TAG_BITS-1:0] tag_q, ahead;
  result_t named_result_q, result;
  logic judged_named, judged_oldest, here_named, here_oldest;

  assign ahead = tag_q - oldest_q;
  assign accepts = cfg_results && ahead < PACKET_TAG_BITS'(whole_q) && judged_named && !here_named &&
      !(goes_late && ahead == '0);
  assign writes = named_q && !opens;  // that clears an entry
  assign s_axis_result_tready = !named_q || writes;
  assign stray = writes && !accepts;

  always_ff @(posedge clk) begin : name_entry
    if (s_axis_result_tready) begin
      named_q <= s_axis_result_tvalid;
      {tag_q, named_result_q} <= {s_axis_result_tid, s_axis_result_tdata};
    end
    if (rst) named_q <= 1'b0;
  end

  logic [1:0][EntryBits-1:0] asked;
  logic [1:0] judged, here;
  assign asked = {oldest, tag_q[EntryBits-1:0]};
  assign {judged_oldest, judged_named} = judged;
  assign {here_oldest, here_named} = here;
  for (genvar i = 0; i < 2; i++) begin : gen_copies
    fb_common_lutram #(
        .Width(1),
        .Depth(Extents)
    ) u_judged (
        .clk,
        .we   (ends),
        .waddr(ended_q[EntryBits-1:0]),
        .wdata(ends_object),
        .raddr(asked[i]),
        .rdata(judged[i])
    );
    fb_common_lutram #(
        .Width(1),
        .Depth(Extents)
    ) u_here (
        .clk,
        .we   (opens || (writes && accepts)),
        .waddr(opens ? next_q[EntryBits-1:0] : tag_q[EntryBits-1:0]),
        .wdata(!opens),
        .raddr(asked[i]),
        .rdata(here[i])
    );
  end

  fb_common_table #(
      .Width($bits(result_t)),
      .Depth(Extents)
  ) u_results (
      .clk,
      .we(writes && accepts),
      .waddr(tag_q[EntryBits-1:0]),
      .wdata(named_result_q),
      .raddr(oldest),
      .rdata(result)
  );

  logic [31:0] oldest_received;
  if (fb_store_rom_pkg::HAS_RECEIVED) begin : gen_received
    fb_common_table #(
        .Width(32),
        .Depth(Extents)
    ) u_received (
        .clk,
        .we(ends),
        .waddr(ended_q[EntryBits-1:0]),
        .wdata(received),
        .raddr(oldest),
        .rdata(oldest_received)
    );
  end else begin : gen_no_received
    logic unused;
    assign unused = &{1'b0, received};
    assign oldest_received = '0;
  end

  // ---------------------------------------------------------------------------------------- records
  // What the memories say of the oldest extent, whose packet has ended, takes two cycles, and so does
  // a result that comes.
  logic [1:0] here_q, judged_q, known_q, open_q;
  logic last, waits, waits_no_more, coming, joins, leaves;
  logic offered_late_q;  // the record is offered without its result, and stays so
  logic [31:0] waited_q;
  logic patient_q;  // since a record went late there was a result

  always_ff @(posedge clk) begin : look
    here_q   <= {here_q[0], here_oldest};
    judged_q <= {judged_q[0], judged_oldest};
    known_q  <= rst || retires ? '0 : {known_q[0], whole_q != '0};
    open_q   <= rst || retires ? '0 : {open_q[0], used_q != '0};
    if (retires) {here_q, judged_q} <= '0;
  end

  assign last = !s_axis_part_tdata.cut;
  assign waits = cfg_results && last && judged_q[1];
  assign joins = waits && here_q[1] && !offered_late_q;
  assign goes_late = m_axis_row_tvalid && waits && !joins;
  assign waits_no_more = waited_q >= cfg_wait || !patient_q || full || pressing;
  assign coming = here_oldest || here_q[0];  // its result is joined in a cycle or two
  // That of a part that is cut does not wait for the packet's end: what comes behind it may wait for
  // its record.
  assign m_axis_row_tvalid = s_axis_part_tvalid && (last ? known_q[1] : open_q[1]) &&
      (!waits || joins || offered_late_q || (waits_no_more && !coming));
  assign s_axis_part_tready = m_axis_row_tvalid && m_axis_row_tready;
  assign leaves = s_axis_part_tready;
  assign retires = leaves && last;
  assign late = leaves && goes_late;
  assign unjudged = leaves && joins && result.unjudged;

  always_comb begin : join_result
    m_axis_row_tdata = row_of(metadata, s_axis_part_tdata);
    if (last) m_axis_row_tdata.facts.received = oldest_received;
    if (joins && !result.unjudged) begin
      m_axis_row_tdata.flags |= ROW_RESULT;
      m_axis_row_tdata.facts.has_result = 1'b1;
      m_axis_row_tdata.facts.result = result.columns;
    end else if (goes_late) begin
      m_axis_row_tdata.flags |= ROW_LATE;
    end
  end

  always_ff @(posedge clk) begin : wait_for_result
    offered_late_q <= goes_late && !m_axis_row_tready && !rst;
    if (s_axis_part_tvalid && known_q[1] && !m_axis_row_tvalid)
      waited_q <= waited_q + 32'(!waits_no_more);
    if (late && waited_q >= cfg_wait) patient_q <= 1'b0;
    if (writes || restart) patient_q <= 1'b1;
    if (leaves || rst) waited_q <= '0;
    if (rst) patient_q <= 1'b1;
  end

`ifndef SYNTHESIS
  part_has_an_extent :
  assert property (@(posedge clk) disable iff (rst) s_axis_part_tvalid |-> used_q != '0)
  else $error("fb_store_table (%m): a part, and no extent has come since tag %0d", oldest_q);
`endif

  fb_axis_check #(
      .Width($bits(row_t)),
      .Name ("m_axis_row")
  ) u_check_row (
      .clk,
      .rst,
      .valid(m_axis_row_tvalid),
      .ready(m_axis_row_tready),
      .data (m_axis_row_tdata)
  );

endmodule

`default_nettype wire
