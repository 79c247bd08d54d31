// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_read_master: the read half of an AXI4 master of 512 bits.
//
// What:        requests bursts. Each of their words comes with what `side` said of its burst.
// Handshake:   `ask_*` valid/ready; words come in order by `loaded`, always taken: the requester
//              has room for them.
// Latency:     1 cycle from a request to ARVALID, none from R to `loaded`.
// Throughput:  64 B a cycle, without gaps between bursts; a burst every two cycles.
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

    fb_axi_if.read_initiator m_axi
);

  localparam logic [1:0] INCR = 2'b01;

  logic takes, under_ready, under_valid;

  assign ask_ready = under_ready && !m_axi.arvalid;  // of registers: it decides who is served
  assign takes = ask_valid && ask_ready;

  always_ff @(posedge clk) begin : bursts
    if (takes) begin
      m_axi.araddr <= ask_addr;
      m_axi.arlen  <= 8'(ask_count_m1);
    end
    m_axi.arvalid <= takes || (m_axi.arvalid && !m_axi.arready);
    if (rst) m_axi.arvalid <= 1'b0;
  end

  assign m_axi.arid = '0;
  assign m_axi.arsize = 3'd6;
  assign m_axi.arburst = INCR;

  fb_common_fifo #(
      .Width(SideBits),
      .Depth(16),
      .OutputRegister(1'b1)
  ) u_under (
      .clk,
      .rst,
      .s_valid(takes),
      .s_ready(under_ready),
      .s_data (ask_side),
      .m_valid(under_valid),
      .m_ready(loaded && loaded_last),
      .m_data (loaded_side),
      .level  ()
  );
  assign m_axi.rready = under_valid;
  assign loaded = m_axi.rvalid && m_axi.rready;
  assign loaded_last = m_axi.rlast;
  assign loaded_error = m_axi.rresp[1];
  assign loaded_data = m_axi.rdata;

  // One identifier; EXOKAY is OKAY, since no access is exclusive.
  logic unused;
  assign unused = &{1'b0, m_axi.rid, m_axi.rresp[0], 1'b0};

`ifndef SYNTHESIS
  // Immediate, since it looks at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_read_was_asked :
      assert (!m_axi.rvalid || under_valid)
      else $error("fb_axi_read_master (%m): the memory answers what was not asked");
    end
  end
`endif

endmodule

`default_nettype wire
