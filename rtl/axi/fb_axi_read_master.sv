// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_read_master: the read half of an AXI4 master of 512 bits.
//
// What:        requests bursts. Each of their words comes with what `side` said of its burst.
// Handshake:   `ask_*` valid/ready; words come in order by `loaded`, always taken: the requester
//              has room for them.
// Latency:     1 cycle from a request to ARVALID, none from R to `loaded`.
// Throughput:  64 B a cycle, without gaps between bursts.
// Limits:      one identifier, INCR, bursts of up to 64 beats inside 4 KiB.
// Does not implement: more than 16 bursts under way.

`default_nettype none

module fb_axi_read_master #(
    parameter int unsigned SideBits = 1
) (
    input wire clk,
    input wire rst,

    input  wire                 ask_valid,
    output logic                ask_ready,
    input  wire  [        63:0] ask_addr,
    input  wire  [         5:0] ask_count_m1,  // beats - 1
    input  wire  [SideBits-1:0] ask_side,

    output logic                loaded,
    output logic                loaded_last,   // of its burst
    output logic                loaded_error,  // SLVERR or DECERR
    output logic [SideBits-1:0] loaded_side,
    output logic [       511:0] loaded_data,

    output logic [  0:0] m_axi_arid,
    output logic [ 63:0] m_axi_araddr,
    output logic [  7:0] m_axi_arlen,
    output logic [  2:0] m_axi_arsize,
    output logic [  1:0] m_axi_arburst,
    output logic         m_axi_arvalid,
    input  wire          m_axi_arready,
    input  wire  [  0:0] m_axi_rid,
    input  wire  [511:0] m_axi_rdata,
    input  wire  [  1:0] m_axi_rresp,
    input  wire          m_axi_rlast,
    input  wire          m_axi_rvalid,
    output logic         m_axi_rready
);

  localparam int unsigned Under = 16;
  localparam logic [1:0] INCR = 2'b01;

  logic ar_valid_q, takes, under_ready, under_valid;
  logic [63:0] addr_q;
  logic [5:0] len_q;
  logic [$clog2(Under):0] level;

  assign ask_ready = under_ready && (!ar_valid_q || m_axi_arready);
  assign takes = ask_valid && ask_ready;

  always_ff @(posedge clk) begin : bursts
    if (takes) begin
      addr_q <= ask_addr;
      len_q  <= ask_count_m1;
    end
    ar_valid_q <= takes || (ar_valid_q && !m_axi_arready);
    if (rst) ar_valid_q <= 1'b0;
  end

  assign m_axi_arvalid = ar_valid_q;
  assign m_axi_araddr = addr_q;
  assign m_axi_arlen = {2'd0, len_q};
  assign m_axi_arid = '0;
  assign m_axi_arsize = 3'd6;
  assign m_axi_arburst = INCR;

  fb_common_fifo #(
      .Width(SideBits),
      .Depth(Under)
  ) u_under (
      .clk,
      .rst,
      .s_valid(takes),
      .s_ready(under_ready),
      .s_data (ask_side),
      .m_valid(under_valid),
      .m_ready(loaded && loaded_last),
      .m_data (loaded_side),
      .level
  );
  assign m_axi_rready = under_valid;
  assign loaded = m_axi_rvalid && m_axi_rready;
  assign loaded_last = m_axi_rlast;
  assign loaded_error = m_axi_rresp[1];
  assign loaded_data = m_axi_rdata;

  // One identifier; EXOKAY is OKAY, since no access is exclusive.
  logic unused;
  assign unused = &{1'b0, level, m_axi_rid, m_axi_rresp[0], 1'b0};

`ifndef SYNTHESIS
  // Immediate, since it looks at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_read_was_asked :
      assert (!m_axi_rvalid || under_valid)
      else $error("fb_axi_read_master (%m): the memory answers what was not asked");
    end
  end
`endif

  fb_axis_check #(
      .Width(72),
      .Name ("m_axi AR")
  ) u_check_ar (
      .clk,
      .rst,
      .valid(m_axi_arvalid),
      .ready(m_axi_arready),
      .data ({m_axi_araddr, m_axi_arlen})
  );

endmodule

`default_nettype wire
