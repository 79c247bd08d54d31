// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_bar_target: the whole BAR as one AXI4 target, and with it the order of what arrives.
//
// What:        an access is led to the region that its address lies in (fb_bar_pkg). Behind it are
//              request ports, one of each kind a region: a write is a beat with its strobes, a read
//              is an address whose word comes Latency cycles later.
// Order:       write data come in the order of their addresses (AMBA AXI A5.3.3: AXI4 has no WID),
//              and leave here in that order, one beat at a time. So what a completion entry causes
//              comes after every payload write whose address was accepted before that of the entry,
//              whatever their identifiers. Reads are answered in the order of their addresses.
// Handshake:   AXI4, INCR bursts of any size, identifiers echoed; narrow beats get the whole 64 B
//              word. `*_valid` of a region waits for its `*_ready`; address and data are stable
//              until then. `write_refused` counts with write_ready, `read_error` with read_word.
// Latency:     AR to the first R handshake Latency + 2 cycles; a W beat is at its region in the
//              cycle after its handshake, and B is offered two later.
// Throughput:  64 B a cycle each way, bursts back to back without gaps.
// Limits:      FIXED, WRAP and sizes above 64 B, and what lies in no region or may not be written,
//              get SLVERR and have no effect. A burst never leaves its 4 KiB page. Outputs to the
//              bus come from registers, or from LUT RAM read through registers. Up to 16 W beats wait
//              in LUT RAM: there is no 512-bit register. AWLEN ends a write burst; WLAST is only
//              checked.
// Does not implement: exclusive access, answers in another order than the requests.

`default_nettype none

module fb_bar_target
  import fb_bar_pkg::*;
#(
    parameter int unsigned AddrBits = 26,  // log2 of the BAR's bytes
    parameter int unsigned AxiIdBits = 4,  // 1 or more
    parameter int unsigned Latency = 3,  // cycles from a read to its word, 2 to 16
    parameter map_t Map = {REGIONS{NOWHERE}}
) (
    input wire clk,
    input wire rst,

    fb_axi_if.target s_axi_bar,

    output logic [ REGIONS-1:0] write_valid,
    input  wire  [ REGIONS-1:0] write_ready,
    input  wire  [ REGIONS-1:0] write_refused,
    output logic [AddrBits-1:0] write_addr,
    output logic [       511:0] write_data,
    output logic [        63:0] write_strb,
    output logic [        15:0] write_dwords,   // Dwords that all strobes write

    output logic [ REGIONS-1:0]        read_valid,
    input  wire  [ REGIONS-1:0]        read_ready,
    output logic [AddrBits-1:0]        read_addr,
    input  wire  [ REGIONS-1:0][511:0] read_word,
    input  wire  [ REGIONS-1:0]        read_error,

    // What will be read next, for who looks ahead: the same burst, or else the one that waits.
    output logic                read_stays,
    output logic                next_valid,
    output logic [AddrBits-1:0] next_addr
);

  if (Latency < 2 || Latency > 16) begin : gen_bad_latency
    $fatal(1, "fb_bar_target (%m): Latency=%0d must be from 2 to 16", Latency);
  end
  for (genvar i = 0; i < REGIONS; i++) begin : gen_apertures
    if (Map[i].bits < 6'd12 || (Map[i].base != '1 && (Map[i].base >> AddrBits) != '0)) begin : gen_bad
      $fatal(1, "fb_bar_target (%m): region at %0h, 2^%0d bytes", Map[i].base, Map[i].bits);
    end
  end

  // Deeper than the way of a read, and no dearer in LUT RAM than less.
  localparam int unsigned ReadDepth = (Latency > 8) ? 32 : 16;
  localparam int unsigned LevelBits = $clog2(ReadDepth) + 1;
  localparam int unsigned RegionBits = $clog2(REGIONS);
  localparam logic [1:0] INCR = 2'b01;

  // Where a burst leads to; a bad one nowhere.
  function automatic logic [REGIONS-1:0] region_of(input logic [AddrBits-1:0] addr,
                                                   input logic [1:0] burst, input logic [2:0] size,
                                                   input logic writes);
    for (int unsigned i = 0; i < REGIONS; i++)
    region_of[i] = burst == INCR && size <= 3'd6 && (Map[i].writable || !writes) &&
        32'(addr) >> Map[i].bits == Map[i].base >> Map[i].bits;
  endfunction

  // --------------------------------------------------------------------------------------- writes
  logic write_last, write_none, write_go, bad, bad_q, answered_q;
  logic [AxiIdBits-1:0] write_id;
  logic [REGIONS-1:0] write_in, write_asked;
  logic beat_valid, beat_last, answer_ready, answer_room_q, answer_error;
  logic [15:0] dwords;
  logic [AxiIdBits:0] answer_q;
  logic [4:0] answers;

  assign write_asked = region_of(s_axi_bar.awaddr, s_axi_bar.awburst, s_axi_bar.awsize, 1'b1);

  fb_axi_burst_addr #(
      .IdBits  (AxiIdBits),
      .AddrBits(AddrBits),
      .SideBits(REGIONS + 1),
      .MaxSize (6)
  ) u_write_burst (
      .clk,
      .rst,
      .s_valid(s_axi_bar.awvalid),
      .s_ready(s_axi_bar.awready),
      .s_id(s_axi_bar.awid),
      .s_addr(s_axi_bar.awaddr),
      .s_len(s_axi_bar.awlen),
      .s_size(s_axi_bar.awsize),
      .s_burst(s_axi_bar.awburst),
      .s_side({write_asked == '0, write_asked}),
      .m_valid(),
      .m_step(write_go),
      .m_id(write_id),
      .m_addr(write_addr),
      .m_side({write_none, write_in}),
      .m_last(write_last),
      .wait_valid(),
      .wait_addr()
  );

  always_comb for (int i = 0; i < 16; i++) dwords[i] = &s_axi_bar.wstrb[4*i+:4];

  fb_common_fifo #(
      .Width(512 + 64 + 16 + 1),
      .Depth(16)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(s_axi_bar.wvalid),
      .s_ready(s_axi_bar.wready),
      .s_data ({s_axi_bar.wlast, dwords, s_axi_bar.wstrb, s_axi_bar.wdata}),
      .m_valid(beat_valid),
      .m_ready(write_go),
      .m_data ({beat_last, write_dwords, write_strb, write_data}),
      .level  ()
  );

  // A beat waits until its answer has a place: an initiator that takes none stops only itself. Without
  // a burst it leads nowhere.
  assign write_valid = (beat_valid && answer_room_q) ? write_in : '0;
  assign write_go = beat_valid && answer_room_q && (write_none || (write_in & write_ready) != '0);
  assign bad = write_none || (write_in & write_refused) != '0;
  always_ff @(posedge clk) begin
    if (rst || write_go) bad_q <= !rst && !write_last && (bad_q || bad);
    // Two more may be given before this is known. What was shown to a region stays until it is taken.
    answer_room_q <= answers < 5'd14 || (answer_room_q && !write_go);
    answered_q <= write_go && write_last && !rst;
    answer_q <= {write_id, bad || bad_q};
  end

  fb_common_fifo #(
      .Width(AxiIdBits + 1),
      .Depth(16)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(answered_q),
      .s_ready(answer_ready),
      .s_data (answer_q),
      .m_valid(s_axi_bar.bvalid),
      .m_ready(s_axi_bar.bready),
      .m_data ({s_axi_bar.bid, answer_error}),
      .level  (answers)
  );
  assign s_axi_bar.bresp = {answer_error, 1'b0};  // SLVERR or OKAY

  // ---------------------------------------------------------------------------------------- reads
  // What a beat needs besides its word.
  typedef struct packed {
    logic [AxiIdBits-1:0] id;
    logic last;
    logic error;
    logic [RegionBits-1:0] region;
  } beat_t;

  logic read_begun, read_last, read_go, read_none, room_q, done;
  logic [AxiIdBits-1:0] read_id;
  logic [REGIONS-1:0] read_in, read_asked;
  logic [LevelBits-1:0] under_way_q;  // beats between the request and the R handshake
  logic [  Latency-1:0] arriving_q;
  beat_t beat, beat_q[Latency], arrived;
  logic fifo_ready, word_error, arrived_error;

  assign read_asked = region_of(s_axi_bar.araddr, s_axi_bar.arburst, s_axi_bar.arsize, 1'b0);

  fb_axi_burst_addr #(
      .IdBits  (AxiIdBits),
      .AddrBits(AddrBits),
      .SideBits(REGIONS + 1),
      .MaxSize (6)
  ) u_read_burst (
      .clk,
      .rst,
      .s_valid(s_axi_bar.arvalid),
      .s_ready(s_axi_bar.arready),
      .s_id(s_axi_bar.arid),
      .s_addr(s_axi_bar.araddr),
      .s_len(s_axi_bar.arlen),
      .s_size(s_axi_bar.arsize),
      .s_burst(s_axi_bar.arburst),
      .s_side({read_asked == '0, read_asked}),
      .m_valid(read_begun),
      .m_step(read_go),
      .m_id(read_id),
      .m_addr(read_addr),
      .m_side({read_none, read_in}),
      .m_last(read_last),
      .wait_valid(next_valid),
      .wait_addr(next_addr)
  );

  assign read_valid = room_q ? read_in : '0;
  assign read_go = room_q && (read_none || (read_in & read_ready) != '0);
  assign read_stays = read_begun && !(read_go && read_last);

  always_comb begin : describe
    beat = '{id: read_id, last: read_last, error: read_none, region: '0};
    for (int unsigned i = 0; i < REGIONS; i++) if (read_in[i]) beat.region |= RegionBits'(i);
  end
  assign done = s_axi_bar.rvalid && s_axi_bar.rready;
  always_ff @(posedge clk) begin : follow
    beat_q[0] <= beat;
    for (int unsigned i = 1; i < Latency; i++) beat_q[i] <= beat_q[i-1];
    arriving_q <= Latency'({arriving_q, read_go});
    under_way_q <= under_way_q + LevelBits'(read_go) - LevelBits'(done);
    // Here one more.
    room_q <= under_way_q < LevelBits'(ReadDepth - 2) || (room_q && !read_go);
    if (rst) {arriving_q, under_way_q} <= '0;
  end
  assign arrived = beat_q[Latency-1];
  assign word_error = arrived.error || read_error[arrived.region];

  fb_common_fifo #(
      .Width(AxiIdBits + 514),
      .Depth(ReadDepth)
  ) u_words (
      .clk,
      .rst,
      .s_valid(arriving_q[Latency-1]),
      .s_ready(fifo_ready),
      .s_data ({arrived.id, arrived.last, word_error, read_word[arrived.region]}),
      .m_valid(s_axi_bar.rvalid),
      .m_ready(s_axi_bar.rready),
      .m_data ({s_axi_bar.rid, s_axi_bar.rlast, arrived_error, s_axi_bar.rdata}),
      .level  ()
  );
  assign s_axi_bar.rresp = {arrived_error, 1'b0};

`ifndef SYNTHESIS
  // Immediate: a simulator would sample the store of beats for a concurrent one.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      answers_have_room :
      assert (!answered_q || answer_ready)
      else $error("fb_bar_target (%m): an answer without room for it");
      words_have_room :
      assert (!arriving_q[Latency-1] || fifo_ready)
      else $error("fb_bar_target (%m): a word without room for it");
      wlast_matches_awlen :
      assert (!write_go || beat_last == write_last)
      else $error("fb_bar_target (%m): WLAST does not match AWLEN");
      one_region :
      assert ($onehot0(write_valid) && $onehot0(read_valid))
      else $error("fb_bar_target (%m): regions of the map overlap");
    end
  end

  write_stays :
  assert property (@(posedge clk) disable iff (rst) |(write_valid & ~write_ready) |=> $stable(
      write_valid
  ))
  else $error("fb_bar_target (%m): a write was withdrawn before its region took it");

  read_stays_asked :
  assert property (@(posedge clk) disable iff (rst) |(read_valid & ~read_ready) |=> $stable(
      read_valid
  ))
  else $error("fb_bar_target (%m): a read was withdrawn before its region took it");
`endif

endmodule

`default_nettype wire
