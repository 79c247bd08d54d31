// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_buffer_inlet: what the SSD writes into the data window, as bursts and their words.
//
// What:        takes AXI4 writes of any size and answers each when it is accepted. Writes that go on
//              where the last one ended become one burst, up to the end of their page
//              (fb_buffer_gather); data and strobes wait in a FIFO in block RAM.
// Handshake:   AXI4 writes, INCR, identifiers echoed; bursts and words each have valid and take.
// Latency:     2 cycles from the last beat of a burst to `burst_valid`; a pause of IdleCycles ends
//              one. 1 cycle from a write's last beat to its answer.
// Throughput:  64 B a cycle.
// Limits:      FIXED, WRAP, sizes above 64 B and the upper half of the window get SLVERR.
// Does not implement: reads.

`default_nettype none

module fb_buffer_inlet #(
    parameter int unsigned WordBits = 21,  // address of a 64-byte word of the payload
    parameter int unsigned FifoBeats = 512,  // beats that wait
    parameter int unsigned Bursts = 64,  // bursts that wait
    parameter int unsigned IdleCycles = 16,  // a pause of the SSD that ends a burst
    parameter int unsigned AxiIdBits = 4,
    localparam int unsigned WindowBits = WordBits + 7  // the lists have the upper half
) (
    input wire clk,
    input wire rst,

    input  wire  [ AxiIdBits-1:0] s_axi_data_awid,
    input  wire  [WindowBits-1:0] s_axi_data_awaddr,
    input  wire  [           7:0] s_axi_data_awlen,
    input  wire  [           2:0] s_axi_data_awsize,
    input  wire  [           1:0] s_axi_data_awburst,
    input  wire                   s_axi_data_awvalid,
    output logic                  s_axi_data_awready,
    input  wire  [         511:0] s_axi_data_wdata,
    input  wire  [          63:0] s_axi_data_wstrb,
    input  wire                   s_axi_data_wlast,
    input  wire                   s_axi_data_wvalid,
    output logic                  s_axi_data_wready,
    output logic [ AxiIdBits-1:0] s_axi_data_bid,
    output logic [           1:0] s_axi_data_bresp,
    output logic                  s_axi_data_bvalid,
    input  wire                   s_axi_data_bready,

    // The burst that grows, and an end to it.
    output logic                open,
    output logic [WordBits-1:0] open_addr,
    output logic                begins,
    input  wire                 flush,

    output logic                    burst_valid,
    input  wire                     burst_take,
    output logic [    WordBits-1:0] burst_addr,
    output logic [             5:0] burst_count_m1,
    output logic [$clog2(Bursts):0] bursts,

    output logic         word_valid,
    input  wire          word_take,
    output logic [511:0] word_data,
    output logic [ 63:0] word_strb
);

  localparam int unsigned LevelBits = $clog2(FifoBeats) + 1;
  localparam int unsigned BurstBits = $clog2(Bursts) + 1;
  localparam int unsigned AnswerDepth = 16;
  localparam logic [1:0] RESP_OKAY = 2'b00;
  localparam logic [1:0] RESP_SLVERR = 2'b10;

  logic valid, valid_next, last, error, refused, room_q, take, put;
  logic [ AxiIdBits-1:0] id;
  logic [WindowBits-1:0] addr;
  logic fifo_ready, answer_ready, answer_error, burst_end, burst_empty;
  logic [LevelBits-1:0] level;
  logic [$clog2(AnswerDepth):0] answer_level;

  fb_common_burst #(
      .IdBits  (AxiIdBits),
      .AddrBits(WindowBits),
      .MaxSize (6)
  ) u_burst (
      .clk,
      .rst,
      .s_valid(s_axi_data_awvalid),
      .s_ready(s_axi_data_awready),
      .s_id(s_axi_data_awid),
      .s_addr(s_axi_data_awaddr),
      .s_len(s_axi_data_awlen),
      .s_size(s_axi_data_awsize),
      .s_burst(s_axi_data_awburst),
      .m_valid(valid),
      .m_valid_next(valid_next),
      .m_step(take),
      .m_id(id),
      .m_addr(addr),
      .m_last(last),
      .m_error(error),
      .wait_valid(),
      .wait_addr()
  );

  always_ff @(posedge clk)
    room_q <= level < LevelBits'(FifoBeats - 4) && bursts < BurstBits'(Bursts - 4);
  assign s_axi_data_wready = valid && room_q && answer_ready;
  assign take = s_axi_data_wvalid && s_axi_data_wready;
  assign refused = error || !addr[WindowBits-1];
  assign put = take && !refused;

  fb_buffer_gather #(
      .AddrBits(WordBits),
      .Depth(Bursts),
      .IdleCycles(IdleCycles)
  ) u_gather (
      .clk,
      .rst,
      .s_valid(put),
      .s_addr(addr[WordBits+5:6]),
      .s_end(1'b0),
      .flush,
      .open,
      .open_addr,
      .begins,
      .m_valid(burst_valid),
      .m_ready(burst_take),
      .m_addr(burst_addr),
      .m_count_m1(burst_count_m1),
      .m_end(burst_end),
      .m_empty(burst_empty),
      .level(bursts)
  );

  fb_common_deep #(
      .Width(576),
      .Depth(FifoBeats)
  ) u_words (
      .clk,
      .rst,
      .s_valid(put),
      .s_ready(fifo_ready),
      .s_data ({s_axi_data_wstrb, s_axi_data_wdata}),
      .m_valid(word_valid),
      .m_ready(word_take),
      .m_data ({word_strb, word_data}),
      .level
  );

  fb_common_fifo #(
      .Width(AxiIdBits + 1),
      .Depth(AnswerDepth)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(take && last),
      .s_ready(answer_ready),
      .s_data ({id, refused}),
      .m_valid(s_axi_data_bvalid),
      .m_ready(s_axi_data_bready),
      .m_data ({s_axi_data_bid, answer_error}),
      .level  (answer_level)
  );
  assign s_axi_data_bresp = answer_error ? RESP_SLVERR : RESP_OKAY;

  // There are no marks, and nobody asks how many answers wait.
  logic unused;
  assign unused = &{1'b0, valid_next, burst_end, burst_empty, answer_level, fifo_ready, addr[5:0],
                    s_axi_data_wlast, 1'b0};

`ifndef SYNTHESIS
  // Immediate, since they look at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_wlast_matches_awlen :
      assert (!take || s_axi_data_wlast == last)
      else $error("fb_buffer_inlet (%m): WLAST does not match AWLEN");
    end
  end
`endif

  fb_axis_check #(
      .Width(AxiIdBits + 2),
      .Name ("s_axi_data B")
  ) u_check_b (
      .clk,
      .rst,
      .valid(s_axi_data_bvalid),
      .ready(s_axi_data_bready),
      .data ({s_axi_data_bid, s_axi_data_bresp})
  );

endmodule

`default_nettype wire
