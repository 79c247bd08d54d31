// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_registers_cdc: the registers of an element with a clock of its own, as fb_pe_windows sees them.
//
// What:        takes an access, offers it in the element's clock, and brings the answer back.
// Handshake:   AXI4-Lite, one access at a time; address and data of a write come in the same cycle. The
//              element takes them in any.
// Latency:     2 cycles of clk and 4 of the element's to the element, and as many back.
// Throughput:  one access at a time.
// Limits:      an access that fb_pe_windows gives up stays here: the element carries it out if it ever
//              goes on, and what it answers is dropped. Both resets are held together for four cycles of
//              the slower clock. 512-bit registers: none.
// Does not implement: PROT.

`default_nettype none

module fb_pe_registers_cdc
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
(
    input  wire            clk,
    input  wire            rst,
    input  axil_request_t  request,
    output axil_response_t response,

    // Of the element.
    input  wire            clk_pe,
    input  wire            rst_pe,
    output axil_request_t  request_pe,
    input  axil_response_t response_pe
);

  typedef struct packed {
    logic write;
    logic [$bits(request.addr)-1:0] addr;
    logic [31:0] wdata;
    logic [3:0] wstrb;
  } access_t;

  typedef struct packed {
    logic write;
    logic [1:0] resp;
    logic [31:0] rdata;
  } answer_t;

  access_t asked, access;
  answer_t given, answer;
  logic asks, taken, there, ends;
  logic answers, answered, done, room;
  logic address_q, data_q;  // the element has taken them

  // ------------------------------------------------------------------------------------ to the element
  assign asks = (request.awvalid && request.wvalid) || request.arvalid;
  assign asked = '{
          write: request.awvalid,
          addr: request.addr,
          wdata: request.wdata,
          wstrb: request.wstrb
      };

  fb_common_async #(
      .Width($bits(access_t)),
      .Depth(4)
  ) u_accesses (
      .s_clk  (clk),
      .s_rst  (rst),
      .s_valid(asks),
      .s_ready(taken),
      .s_data (asked),
      .s_level(),
      .m_clk  (clk_pe),
      .m_rst  (rst_pe),
      .m_valid(there),
      .m_ready(ends),
      .m_data (access)
  );

  always_comb begin : offer
    request_pe.addr = access.addr;
    request_pe.wdata = access.wdata;
    request_pe.wstrb = access.wstrb;
    request_pe.awvalid = there && access.write && !address_q;
    request_pe.wvalid = there && access.write && !data_q;
    request_pe.arvalid = there && !access.write && !address_q;
    request_pe.bready = there && access.write && address_q && data_q && room;
    request_pe.rready = there && !access.write && address_q && room;
  end

  assign answers = access.write ? response_pe.bvalid && request_pe.bready :
      response_pe.rvalid && request_pe.rready;
  assign ends = answers;

  always_ff @(posedge clk_pe) begin : follow
    if (request_pe.awvalid && response_pe.awready) address_q <= 1'b1;
    if (request_pe.arvalid && response_pe.arready) address_q <= 1'b1;
    if (request_pe.wvalid && response_pe.wready) data_q <= 1'b1;
    if (ends || rst_pe) {address_q, data_q} <= '0;
  end

  // ------------------------------------------------------------------------------------------- and back
  assign given = '{
          write: access.write,
          resp: access.write ? response_pe.bresp : response_pe.rresp,
          rdata: response_pe.rdata
      };

  fb_common_async #(
      .Width($bits(answer_t)),
      .Depth(4)
  ) u_answers (
      .s_clk  (clk_pe),
      .s_rst  (rst_pe),
      .s_valid(answers),
      .s_ready(room),
      .s_data (given),
      .s_level(),
      .m_clk  (clk),
      .m_rst  (rst),
      .m_valid(answered),
      .m_ready(done),
      .m_data (answer)
  );

  assign done = answer.write ? request.bready : request.rready;
  always_comb begin : give
    {response.awready, response.wready, response.arready} = {3{taken}};
    response.bvalid = answered && answer.write;
    response.rvalid = answered && !answer.write;
    {response.bresp, response.rresp} = {2{answer.resp}};
    response.rdata = answer.rdata;
  end

endmodule

`default_nettype wire
