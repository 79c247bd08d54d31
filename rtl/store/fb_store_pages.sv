// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_pages: has a page written in front of each extent, and lets its row go on when it is there.
//
// What:        facts of stored extents become pages, and these writes of the streamer; all rows wait in
//              order, those with a page for its answer. Without `cfg_page` they go through. Where the
//              alignment is longer, a write has as many pages, and those in front are filled as a tar
//              file wants it.
// Handshake:   valid/ready.
// Latency:     that of fb_store_header, and of the SSD. Throughput: as fb_store_header.
// Limits:      Depth rows, and one more, may wait for answers.
//              512-bit registers: none of its own.
// Does not implement: anything that knows what stands in a page.

`default_nettype none

module fb_store_pages
  import fb_spec_pkg::*;
  import fb_store_pkg::*;
#(
    parameter int unsigned Depth = 64  // rows that wait for their page, a power of two, 4 to 4096
) (
    input wire clk,
    input wire rst,

    input wire cfg_page,  // extents have a page
    input wire [ALIGN_BITS-1:0] cfg_align,  // pages of the alignment, a power of two

    input  wire  s_axis_row_tvalid,
    output logic s_axis_row_tready,
    input  row_t s_axis_row_tdata,
    output logic m_axis_row_tvalid,
    input  wire  m_axis_row_tready,
    output row_t m_axis_row_tdata,

    // What pages are made of, taken with the row, and these.
    output logic                        m_facts_tvalid,
    input  wire                         m_facts_tready,
    output facts_t                      m_facts_tdata,
    input  wire                         s_axis_page_tvalid,
    output logic                        s_axis_page_tready,
    input  wire    [USER_DATA_BITS-1:0] s_axis_page_tdata,
    input  wire                         s_axis_page_tlast,

    // Writes of the streamer, whole beats, and its answers to them.
    output logic                      m_axis_wr_tvalid,
    input  wire                       m_axis_wr_tready,
    output logic [USER_DATA_BITS-1:0] m_axis_wr_tdata,
    output logic                      m_axis_wr_tlast,
    input  wire                       s_axis_wrsp_tvalid,
    output logic                      s_axis_wrsp_tready,
    input  wire  [               7:0] s_axis_wrsp_tdata,

    output logic [15:0] waiting  // rows inside
);

  logic paged, room, out_valid, out_paged, takes, leaves, answered;
  logic [7:0] code;
  logic places_ready, place_valid;
  logic [63:0] place;
  row_t row;
  localparam int unsigned PageBeats = PAGE_BYTES / USER_BEAT_BYTES;
  localparam int unsigned UnitBits = $clog2(PageBeats) + (1 << ALIGN_BITS) - 1;
  logic [63:0] unit;  // bytes of the alignment
  logic [UnitBits-1:0] front, fill_q;  // beats that fill up, of a write and of this one
  logic inside_q;  // the address of a page has gone out
  logic fills_q;  // what fills up is next

  assign paged = cfg_page && (s_axis_row_tdata.flags & (ROW_SKIPPED | ROW_FAILED)) == '0;
  assign m_facts_tvalid = s_axis_row_tvalid && paged && room && places_ready;
  assign m_facts_tdata = s_axis_row_tdata.facts;
  // A row without a page waits for the header maker, too: ready does not hang on the row's data.
  assign s_axis_row_tready = room && (!cfg_page || (m_facts_tready && places_ready));
  assign takes = s_axis_row_tvalid && s_axis_row_tready;

  fb_common_fifo_bram #(
      .Width($bits(row_t) + 1),
      .Depth(Depth)
  ) u_rows (
      .clk,
      .rst,
      .s_valid(takes),
      .s_ready(room),
      .s_data ({paged, s_axis_row_tdata}),
      .m_valid(out_valid),
      .m_ready(leaves),
      .m_data ({out_paged, row}),
      .level  ()
  );

  // Pages stand in front of their extents.
  fb_common_fifo #(
      .Width(64),
      .Depth(4)
  ) u_places (
      .clk,
      .rst,
      .s_valid(takes && paged),
      .s_ready(places_ready),
      .s_data (s_axis_row_tdata.address - unit),
      .m_valid(place_valid),
      .m_ready(m_axis_wr_tready && m_axis_wr_tvalid && !inside_q),
      .m_data (place),
      .level  ()
  );

  assign m_axis_wr_tvalid = s_axis_page_tvalid && (inside_q || place_valid);
  assign m_axis_wr_tlast = inside_q && !fills_q && s_axis_page_tlast;
  assign s_axis_page_tready = inside_q && !fills_q && m_axis_wr_tready;

  always_comb begin : compose
    m_axis_wr_tdata = s_axis_page_tdata;
    // Counted down to a multiple of a block.
    if (fills_q) m_axis_wr_tdata = fb_store_rom_pkg::FILLER[{-fill_q[2:0], 3'b0}+:8];
    if (!inside_q) begin
      m_axis_wr_tdata = '0;
      m_axis_wr_tdata[USER_ADDRESS_LSB+:64] = place;
    end
  end

  // Answers are taken at once: behind them may be the answer to an index block, without which no row
  // leaves.
  fb_common_fifo_bram #(
      .Width(8),
      .Depth(Depth)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(s_axis_wrsp_tvalid),
      .s_ready(s_axis_wrsp_tready),
      .s_data (s_axis_wrsp_tdata),
      .m_valid(answered),
      .m_ready(leaves && out_paged),
      .m_data (code),
      .level  ()
  );

  assign m_axis_row_tvalid = out_valid && (!out_paged || answered);
  assign leaves = m_axis_row_tvalid && m_axis_row_tready;

  always_comb begin : judge
    m_axis_row_tdata = row;
    if (out_paged && code != ERR_OK) begin
      m_axis_row_tdata.flags |= ROW_FAILED | 16'(code) << ROW_CODE_LSB;
    end
  end

  always_ff @(posedge clk) begin : follow
    unit  <= 64'(PAGE_BYTES) << cfg_align;
    front <= (UnitBits'(PageBeats) << cfg_align) - UnitBits'(PageBeats);
    if (m_axis_wr_tvalid && m_axis_wr_tready) begin
      inside_q <= !m_axis_wr_tlast;
      fill_q   <= inside_q ? fill_q - 1'b1 : front;
      fills_q  <= inside_q ? fills_q && fill_q != UnitBits'(1) : cfg_align != '0;
    end
    if (takes != leaves) waiting <= takes ? waiting + 1'b1 : waiting - 1'b1;
    if (rst) begin
      inside_q <= 1'b0;
      waiting  <= '0;
    end
  end

`ifndef SYNTHESIS
  answers_are_awaited :
  assert property (@(posedge clk) disable iff (rst) s_axis_wrsp_tvalid |-> waiting != '0)
  else $error("fb_store_pages (%m): an answer, and nothing waits for it");
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS + 1),
      .Name ("m_axis_wr")
  ) u_check_wr (
      .clk,
      .rst,
      .valid(m_axis_wr_tvalid),
      .ready(m_axis_wr_tready),
      .data ({m_axis_wr_tdata, m_axis_wr_tlast})
  );

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
