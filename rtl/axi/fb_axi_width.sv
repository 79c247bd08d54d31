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
// Limits:      16 read bursts under way. All but write data pass through: fb_axi_slice on either
//              side cuts the paths. Of FIXED and WRAP bursts the lanes are those of INCR: the BAR
//              refuses them. Registers are accessed by single beats.
// Does not implement: a target narrower than the initiator; answers out of order.

`default_nettype none

module fb_axi_width #(
    parameter int unsigned NarrowBits = 128  // of the initiator's data: 64, 128 or 256
) (
    input wire clk,
    input wire rst,

    fb_axi_if.target s_axi,  // NarrowBits
    fb_axi_if.initiator m_axi  // 512 bits
);

  if (!(NarrowBits inside {64, 128, 256})) begin : gen_bad_bits
    $fatal(1, "fb_axi_width (%m): NarrowBits=%0d must be 64, 128 or 256", NarrowBits);
  end

  localparam int unsigned Lanes = 512 / NarrowBits;
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned NarrowBytes = NarrowBits / 8;
  localparam int unsigned NarrowSize = $clog2(NarrowBytes);
  localparam logic [1:0] INCR = 2'b01;

  typedef logic [LaneBits-1:0] lane_t;

  typedef struct packed {
    logic [7:0] len;
    logic [2:0] size;
    logic [1:0] burst;
  } burst_t;

  // Whether the beats of a burst are put together.
  function automatic logic merges(input burst_t of);
    return of.burst == INCR && of.size == 3'(NarrowSize) && of.len != '0;
  endfunction

  // What the target is asked for, where the first beat is on this lane.
  function automatic burst_t widened(input burst_t of, input lane_t lane);
    widened = of;
    if (merges(of)) begin
      widened.len  = 8'((9'(of.len) + 9'(lane)) >> LaneBits);
      widened.size = 3'd6;  // 64 B
    end
  endfunction

  // --------------------------------------------------------------------------------------- writes
  burst_t written;
  logic write_begun, write_room, gathers, write_last, beat, word_ends;
  logic full_q, fresh_q;  // the word is whole; the next beat begins one
  logic [12:0] write_addr;
  lane_t write_lane;

  assign written = {s_axi.awlen, s_axi.awsize, s_axi.awburst};
  assign m_axi.awid = s_axi.awid;
  assign m_axi.awaddr = s_axi.awaddr;
  assign {m_axi.awlen, m_axi.awsize, m_axi.awburst} = widened(written, s_axi.awaddr[5-:LaneBits]);
  assign m_axi.awvalid = s_axi.awvalid && write_room;
  assign s_axi.awready = m_axi.awready && write_room;

  fb_axi_burst_addr #(
      .IdBits  (1),
      .AddrBits(13),
      .MaxSize (NarrowSize)
  ) u_write (
      .clk,
      .rst,
      .s_valid(s_axi.awvalid && m_axi.awready),
      .s_ready(write_room),
      .s_id('0),
      .s_addr({1'b0, s_axi.awaddr[11:0]}),
      .s_len(written.len),
      .s_size(written.size),
      .s_burst(written.burst),
      .s_side(merges(written)),
      .m_valid(write_begun),
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
  assign s_axi.wready = write_begun && (!full_q || m_axi.wready);
  assign beat = s_axi.wvalid && s_axi.wready;
  assign m_axi.wvalid = full_q;

  always_ff @(posedge clk) begin : gather
    for (int i = 0; i < int'(Lanes); i++) begin
      if (beat && write_lane == lane_t'(i)) begin
        m_axi.wdata[i*NarrowBits+:NarrowBits]   <= s_axi.wdata;
        m_axi.wstrb[i*NarrowBytes+:NarrowBytes] <= s_axi.wstrb;
      end else if (beat && fresh_q) begin
        m_axi.wstrb[i*NarrowBytes+:NarrowBytes] <= '0;
      end
    end
    if (beat) begin
      m_axi.wlast <= write_last;
      fresh_q <= word_ends;
    end
    full_q <= (beat && word_ends) || (full_q && !m_axi.wready);
    if (rst) begin
      full_q  <= 1'b0;
      fresh_q <= 1'b1;
    end
  end

  assign {s_axi.bid, s_axi.bresp, s_axi.bvalid} = {m_axi.bid, m_axi.bresp, m_axi.bvalid};
  assign m_axi.bready = s_axi.bready;

  // ---------------------------------------------------------------------------------------- reads
  burst_t read, asked;  // the second when its data come
  logic read_room, asked_valid, asked_ready, read_begun, hands_out, read_last, given;
  logic [11:0] asked_addr;
  logic [12:0] read_addr;
  lane_t read_lane;

  assign read = {s_axi.arlen, s_axi.arsize, s_axi.arburst};
  assign m_axi.arid = s_axi.arid;
  assign m_axi.araddr = s_axi.araddr;
  assign {m_axi.arlen, m_axi.arsize, m_axi.arburst} = widened(read, s_axi.araddr[5-:LaneBits]);
  assign m_axi.arvalid = s_axi.arvalid && read_room;
  assign s_axi.arready = m_axi.arready && read_room;

  fb_common_fifo #(
      .Width(12 + $bits(burst_t)),
      .Depth(16)
  ) u_asked (
      .clk,
      .rst,
      .s_valid(s_axi.arvalid && m_axi.arready),
      .s_ready(read_room),
      .s_data ({s_axi.araddr[11:0], read}),
      .m_valid(asked_valid),
      .m_ready(asked_ready),
      .m_data ({asked_addr, asked}),
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
      .s_addr({1'b0, asked_addr}),
      .s_len(asked.len),
      .s_size(asked.size),
      .s_burst(asked.burst),
      .s_side(merges(asked)),
      .m_valid(read_begun),
      .m_step(given),
      .m_id(),
      .m_addr(read_addr),
      .m_side(hands_out),
      .m_last(read_last),
      .wait_valid(),
      .wait_addr()
  );

  assign read_lane = read_addr[5-:LaneBits];
  assign s_axi.rid = m_axi.rid;
  assign s_axi.rdata = m_axi.rdata[read_lane*NarrowBits+:NarrowBits];
  assign s_axi.rresp = m_axi.rresp;
  assign s_axi.rlast = read_last;
  assign s_axi.rvalid = m_axi.rvalid && read_begun;
  assign given = s_axi.rvalid && s_axi.rready;
  assign m_axi.rready = read_begun && s_axi.rready && (!hands_out || read_lane == '1 || read_last);

  logic unused;
  assign unused = &{1'b0, write_addr, read_addr, 1'b0};

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: concurrent ones would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      wlast_matches_awlen :
      assert (!beat || s_axi.wlast == write_last)
      else $error("fb_axi_width (%m): WLAST does not match AWLEN");
      rlast_matches_arlen :
      assert (!(m_axi.rvalid && m_axi.rready) || m_axi.rlast == read_last)
      else $error("fb_axi_width (%m): RLAST does not match ARLEN");
    end
  end
`endif

endmodule

`default_nettype wire
