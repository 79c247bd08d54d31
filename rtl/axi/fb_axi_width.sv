// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axi_width: an AXI4 initiator of 64, 128 or 256 bits in front of a target of 512 bits.
//
// What:        INCR bursts of whole narrow beats become bursts of 64 B words: write beats are
//              gathered into a word, a word read is handed out beat by beat. Other bursts (one beat,
//              beats narrower than the bus, FIXED, WRAP) keep their beats, each on the lanes of its
//              address. Every burst stays one burst, with its identifier and its answer.
// Handshake:   AXI4. Write data are taken when their address has been.
// Order:       unchanged; the target answers reads in the order of their addresses, whatever their
//              identifiers, as fb_bar_target does.
// Latency:     none for addresses, answers and read data; 1 cycle for a word from its last beat.
// Throughput:  one narrow beat a cycle each way, bursts back to back.
// Limits:      16 read bursts under way; one 512-bit register (the word to be written). Addresses,
//              answers, read data and readies pass through: fb_axi_slice on either side cuts them.
//              Of FIXED and WRAP bursts the lanes are those of INCR: the BAR refuses them. Registers
//              are accessed by single beats.
// Does not implement: a target narrower than the initiator; answers out of order.

`default_nettype none

module fb_axi_width #(
    parameter int unsigned NarrowBits = 128,  // of the initiator's data: 64, 128 or 256
    parameter int unsigned IdBits = 4,  // 1 or more
    parameter int unsigned AddrBits = 26  // 13 or more
) (
    input wire clk,
    input wire rst,

    input  wire  [      IdBits-1:0] s_axi_awid,
    input  wire  [    AddrBits-1:0] s_axi_awaddr,
    input  wire  [             7:0] s_axi_awlen,
    input  wire  [             2:0] s_axi_awsize,
    input  wire  [             1:0] s_axi_awburst,
    input  wire                     s_axi_awvalid,
    output logic                    s_axi_awready,
    input  wire  [  NarrowBits-1:0] s_axi_wdata,
    input  wire  [NarrowBits/8-1:0] s_axi_wstrb,
    input  wire                     s_axi_wlast,
    input  wire                     s_axi_wvalid,
    output logic                    s_axi_wready,
    output logic [      IdBits-1:0] s_axi_bid,
    output logic [             1:0] s_axi_bresp,
    output logic                    s_axi_bvalid,
    input  wire                     s_axi_bready,
    input  wire  [      IdBits-1:0] s_axi_arid,
    input  wire  [    AddrBits-1:0] s_axi_araddr,
    input  wire  [             7:0] s_axi_arlen,
    input  wire  [             2:0] s_axi_arsize,
    input  wire  [             1:0] s_axi_arburst,
    input  wire                     s_axi_arvalid,
    output logic                    s_axi_arready,
    output logic [      IdBits-1:0] s_axi_rid,
    output logic [  NarrowBits-1:0] s_axi_rdata,
    output logic [             1:0] s_axi_rresp,
    output logic                    s_axi_rlast,
    output logic                    s_axi_rvalid,
    input  wire                     s_axi_rready,

    output logic [  IdBits-1:0] m_axi_awid,
    output logic [AddrBits-1:0] m_axi_awaddr,
    output logic [         7:0] m_axi_awlen,
    output logic [         2:0] m_axi_awsize,
    output logic [         1:0] m_axi_awburst,
    output logic                m_axi_awvalid,
    input  wire                 m_axi_awready,
    output logic [       511:0] m_axi_wdata,
    output logic [        63:0] m_axi_wstrb,
    output logic                m_axi_wlast,
    output logic                m_axi_wvalid,
    input  wire                 m_axi_wready,
    input  wire  [  IdBits-1:0] m_axi_bid,
    input  wire  [         1:0] m_axi_bresp,
    input  wire                 m_axi_bvalid,
    output logic                m_axi_bready,
    output logic [  IdBits-1:0] m_axi_arid,
    output logic [AddrBits-1:0] m_axi_araddr,
    output logic [         7:0] m_axi_arlen,
    output logic [         2:0] m_axi_arsize,
    output logic [         1:0] m_axi_arburst,
    output logic                m_axi_arvalid,
    input  wire                 m_axi_arready,
    input  wire  [  IdBits-1:0] m_axi_rid,
    input  wire  [       511:0] m_axi_rdata,
    input  wire  [         1:0] m_axi_rresp,
    input  wire                 m_axi_rlast,
    input  wire                 m_axi_rvalid,
    output logic                m_axi_rready
);

  if (!(NarrowBits inside {64, 128, 256})) begin : gen_bad_bits
    $fatal(1, "fb_axi_width (%m): NarrowBits=%0d must be 64, 128 or 256", NarrowBits);
  end

  localparam int unsigned Lanes = 512 / NarrowBits;
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned NarrowBytes = NarrowBits / 8;
  localparam int unsigned NarrowSize = $clog2(NarrowBytes);
  localparam logic [2:0] WORD = 3'd6;  // size of a beat of 64 B
  localparam logic [1:0] INCR = 2'b01;

  typedef logic [LaneBits-1:0] lane_t;

  // Whether the beats of a burst are put together.
  function automatic logic merges(input logic [7:0] len, input logic [2:0] size,
                                  input logic [1:0] burst);
    return burst == INCR && size == 3'(NarrowSize) && len != '0;
  endfunction

  // Words - 1 of the beats that are put together, of which the first is on this lane.
  function automatic logic [7:0] words_m1(input lane_t lane, input logic [7:0] len);
    return 8'((9'(len) + 9'(lane)) >> LaneBits);
  endfunction

  // --------------------------------------------------------------------------------------- writes
  logic write_merges, write_begun, write_room, gathers, write_last, beat, word_ends;
  logic full_q, fresh_q;  // the word is whole; the next beat begins one
  logic [12:0] write_addr;
  lane_t write_lane;

  assign write_merges = merges(s_axi_awlen, s_axi_awsize, s_axi_awburst);
  assign m_axi_awid = s_axi_awid;
  assign m_axi_awaddr = s_axi_awaddr;
  assign m_axi_awlen = write_merges ? words_m1(
      s_axi_awaddr[5-:LaneBits], s_axi_awlen
  ) : s_axi_awlen;
  assign m_axi_awsize = write_merges ? WORD : s_axi_awsize;
  assign m_axi_awburst = s_axi_awburst;
  assign m_axi_awvalid = s_axi_awvalid && write_room;
  assign s_axi_awready = m_axi_awready && write_room;

  fb_axi_burst_addr #(
      .IdBits  (1),
      .AddrBits(13),
      .MaxSize (NarrowSize)
  ) u_write (
      .clk,
      .rst,
      .s_valid(s_axi_awvalid && m_axi_awready),
      .s_ready(write_room),
      .s_id('0),
      .s_addr({1'b0, s_axi_awaddr[11:0]}),
      .s_len(s_axi_awlen),
      .s_size(s_axi_awsize),
      .s_burst(s_axi_awburst),
      .s_side(write_merges),
      .m_valid(write_begun),
      .m_valid_next(),
      .m_step(beat),
      .m_id(),
      .m_addr(write_addr),
      .m_side(gathers),
      .m_last(write_last),
      .wait_valid(),
      .wait_addr()
  );

  assign write_lane = write_addr[5-:LaneBits];
  assign word_ends = !gathers || write_lane == '1 || write_last;
  assign s_axi_wready = write_begun && (!full_q || m_axi_wready);
  assign beat = s_axi_wvalid && s_axi_wready;
  assign m_axi_wvalid = full_q;

  always_ff @(posedge clk) begin : gather
    for (int i = 0; i < int'(Lanes); i++) begin
      if (beat && write_lane == lane_t'(i)) begin
        m_axi_wdata[i*NarrowBits+:NarrowBits]   <= s_axi_wdata;
        m_axi_wstrb[i*NarrowBytes+:NarrowBytes] <= s_axi_wstrb;
      end else if (beat && fresh_q) begin
        m_axi_wstrb[i*NarrowBytes+:NarrowBytes] <= '0;
      end
    end
    if (beat) begin
      m_axi_wlast <= write_last;
      fresh_q <= word_ends;
    end
    full_q <= (beat && word_ends) || (full_q && !m_axi_wready);
    if (rst) begin
      full_q  <= 1'b0;
      fresh_q <= 1'b1;
    end
  end

  assign s_axi_bid = m_axi_bid;
  assign s_axi_bresp = m_axi_bresp;
  assign s_axi_bvalid = m_axi_bvalid;
  assign m_axi_bready = s_axi_bready;

  // ---------------------------------------------------------------------------------------- reads
  // What is needed of a burst when its data come.
  typedef struct packed {
    logic [11:0] addr;
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
  } asked_t;

  logic read_merges, read_room, asked_valid, asked_ready, read_begun, hands_out, read_last, given;
  logic [12:0] read_addr;
  lane_t read_lane;
  asked_t asked;

  assign read_merges = merges(s_axi_arlen, s_axi_arsize, s_axi_arburst);
  assign m_axi_arid = s_axi_arid;
  assign m_axi_araddr = s_axi_araddr;
  assign m_axi_arlen = read_merges ? words_m1(s_axi_araddr[5-:LaneBits], s_axi_arlen) : s_axi_arlen;
  assign m_axi_arsize = read_merges ? WORD : s_axi_arsize;
  assign m_axi_arburst = s_axi_arburst;
  assign m_axi_arvalid = s_axi_arvalid && read_room;
  assign s_axi_arready = m_axi_arready && read_room;

  fb_common_fifo #(
      .Width($bits(asked_t)),
      .Depth(16)
  ) u_asked (
      .clk,
      .rst,
      .s_valid(s_axi_arvalid && m_axi_arready),
      .s_ready(read_room),
      .s_data ({s_axi_araddr[11:0], s_axi_arlen, s_axi_arsize, s_axi_arburst}),
      .m_valid(asked_valid),
      .m_ready(asked_ready),
      .m_data (asked),
      .level  ()
  );

  fb_axi_burst_addr #(
      .IdBits  (1),
      .AddrBits(13),
      .MaxSize (NarrowSize)
  ) u_read (
      .clk,
      .rst,
      .s_valid(asked_valid),
      .s_ready(asked_ready),
      .s_id('0),
      .s_addr({1'b0, asked.addr}),
      .s_len(asked.len),
      .s_size(asked.size),
      .s_burst(asked.burst),
      .s_side(merges(asked.len, asked.size, asked.burst)),
      .m_valid(read_begun),
      .m_valid_next(),
      .m_step(given),
      .m_id(),
      .m_addr(read_addr),
      .m_side(hands_out),
      .m_last(read_last),
      .wait_valid(),
      .wait_addr()
  );

  assign read_lane = read_addr[5-:LaneBits];
  assign s_axi_rid = m_axi_rid;
  assign s_axi_rdata = m_axi_rdata[read_lane*NarrowBits+:NarrowBits];
  assign s_axi_rresp = m_axi_rresp;
  assign s_axi_rlast = read_last;
  assign s_axi_rvalid = m_axi_rvalid && read_begun;
  assign given = s_axi_rvalid && s_axi_rready;
  assign m_axi_rready = read_begun && s_axi_rready && (!hands_out || read_lane == '1 || read_last);

  logic unused;
  assign unused = &{1'b0, write_addr, read_addr, 1'b0};

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: concurrent ones would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      wlast_matches_awlen :
      assert (!beat || s_axi_wlast == write_last)
      else $error("fb_axi_width (%m): WLAST does not match AWLEN");
      rlast_matches_arlen :
      assert (!(m_axi_rvalid && m_axi_rready) || m_axi_rlast == read_last)
      else $error("fb_axi_width (%m): RLAST does not match ARLEN");
    end
  end
`else
  logic unused_last;
  assign unused_last = &{1'b0, s_axi_wlast, m_axi_rlast, 1'b0};
`endif

  fb_axis_check #(
      .Width(IdBits + AddrBits + 13),
      .Name ("widened AW")
  ) u_check_aw (
      .clk,
      .rst,
      .valid(m_axi_awvalid),
      .ready(m_axi_awready),
      .data ({m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst})
  );

  fb_axis_check #(
      .Width(577),
      .Name ("widened W")
  ) u_check_w (
      .clk,
      .rst,
      .valid(m_axi_wvalid),
      .ready(m_axi_wready),
      .data ({m_axi_wdata, m_axi_wstrb, m_axi_wlast})
  );

  fb_axis_check #(
      .Width(IdBits + AddrBits + 13),
      .Name ("widened AR")
  ) u_check_ar (
      .clk,
      .rst,
      .valid(m_axi_arvalid),
      .ready(m_axi_arready),
      .data ({m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst})
  );

  fb_axis_check #(
      .Width(IdBits + NarrowBits + 3),
      .Name ("narrowed R")
  ) u_check_r (
      .clk,
      .rst,
      .valid(s_axi_rvalid),
      .ready(s_axi_rready),
      .data ({s_axi_rid, s_axi_rdata, s_axi_rresp, s_axi_rlast})
  );

endmodule

`default_nettype wire
