// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_boot_axil: an access of the sequencer as one or two accesses of an AXI4-Lite bus.
//
// What:        on a bus of 32 bits an access of 64 becomes two, the lower half first; on one of 64
//              bits an access of 32 has strobes. An access ends in error, and sends nothing, if it is
//              unaligned or `s_refuse` is high, which is looked at in front of each half. So it does
//              after a response that is not OKAY; then a second half is not sent.
// Handshake:   requests as fb_common_seq makes them: `s_ready` comes when the access is over, the
//              answer in the cycle after it. Until then the request, which waits, is not kept here.
// Latency:     2 cycles and those of each AXI access from a request to its answer; between halves 1.
//              VALID comes a cycle after the request.
// Throughput:  one access at a time.
// Limits:      an AXI access has TimeoutCycles from its VALID to its response. After that the bus
//              counts as hung until a reset: VALID and payload stay until READY, as AXI4 demands
//              (A3.2.1), a late response is dropped, and further accesses end in error at once.
//              BREADY and RREADY are always high: a response to nothing is dropped, too.
// Does not implement: PROT, other strobes than those of 32 and 64 bits.

`default_nettype none

module fb_boot_axil #(
    parameter int unsigned AddrBits = 64,  // bits of the address, 3 to 64
    parameter int unsigned DataBits = 32,  // of the bus, 32 or 64
    parameter int unsigned TimeoutCycles = 15_000_000  // 1 or more
) (
    input wire clk,
    input wire rst,

    input  wire                 s_valid,
    output logic                s_ready,
    input  wire                 s_refuse,
    input  wire                 s_write,
    input  wire                 s_wide,    // 64 bits, else 32
    input  wire  [AddrBits-1:0] s_addr,
    input  wire  [        63:0] s_wdata,

    output logic        m_valid,
    output logic        m_error,
    output logic [63:0] m_rdata,  // without `s_wide` bits 31:0 count

    output logic hung,

    fb_axil_if.initiator m_axil
);

  if (AddrBits < 3 || AddrBits > 64) begin : gen_bad_addr
    $fatal(1, "fb_boot_axil (%m): AddrBits=%0d must be from 3 to 64", AddrBits);
  end
  if (!(DataBits inside {32, 64})) begin : gen_bad_data
    $fatal(1, "fb_boot_axil (%m): DataBits=%0d must be 32 or 64", DataBits);
  end
  if (TimeoutCycles < 1) begin : gen_bad_timeout
    $fatal(1, "fb_boot_axil (%m): TimeoutCycles=%0d must be 1 or more", TimeoutCycles);
  end

  localparam int unsigned TimeBits = $clog2(TimeoutCycles + 1);

  typedef enum logic [1:0] {
    IDLE,
    SENT,
    OVER,
    ANSWER
  } state_e;

  state_e state_q;
  logic second_q;  // half
  logic [TimeBits-1:0] left_q;
  logic refused, send, taken, answered, failed, halves, ends;

  assign refused = s_refuse || hung || s_addr[1:0] != '0 || (s_wide && s_addr[2]);
  assign send = state_q == IDLE && s_valid && !refused;

  // A target may answer in the cycle in which it takes an address.
  assign taken = !(m_axil.awvalid && !m_axil.awready) && !(m_axil.wvalid && !m_axil.wready) &&
      !(m_axil.arvalid && !m_axil.arready);
  assign answered = state_q == SENT && taken && (s_write ? m_axil.bvalid : m_axil.rvalid);
  assign failed = (s_write ? m_axil.bresp : m_axil.rresp) != 2'b00;
  assign halves = DataBits == 32 && s_wide && !second_q;
  assign ends = failed || !halves;

  assign s_ready = state_q == OVER;
  assign m_valid = state_q == ANSWER;

  always_ff @(posedge clk) begin : advance
    case (state_q)
      IDLE: begin
        m_error <= refused;
        left_q  <= TimeBits'(TimeoutCycles - 1);
        if (s_valid) state_q <= refused ? OVER : SENT;
      end
      SENT: begin
        m_error <= !answered || failed;
        left_q  <= left_q - 1'b1;
        if (answered) begin
          state_q  <= ends ? OVER : IDLE;
          second_q <= 1'b1;
        end else if (left_q == '0) begin
          state_q <= OVER;
          hung <= 1'b1;
        end
      end
      OVER: state_q <= ANSWER;
      ANSWER: begin
        state_q  <= IDLE;
        second_q <= 1'b0;
      end
    endcase
    if (rst) begin
      state_q <= IDLE;
      {second_q, hung} <= '0;
    end
  end

  // ----------------------------------------------------------------------------------------- bus
  logic [AddrBits-1:0] address_q;
  assign m_axil.awaddr = address_q;
  assign m_axil.araddr = address_q;
  assign m_axil.bready = 1'b1;
  assign m_axil.rready = 1'b1;

  always_ff @(posedge clk) begin : offer
    if (m_axil.awready) m_axil.awvalid <= 1'b0;
    if (m_axil.wready) m_axil.wvalid <= 1'b0;
    if (m_axil.arready) m_axil.arvalid <= 1'b0;
    if (send) begin
      {m_axil.awvalid, m_axil.wvalid, m_axil.arvalid} <= {s_write, s_write, !s_write};
      address_q <= s_addr | AddrBits'({second_q, 2'b00});
    end
    if (rst) {m_axil.awvalid, m_axil.wvalid, m_axil.arvalid} <= '0;
  end

  if (DataBits == 32) begin : gen_halves
    assign m_axil.wstrb = '1;
    always_ff @(posedge clk) begin : data
      if (send) m_axil.wdata <= second_q ? s_wdata[63:32] : s_wdata[31:0];
      if (answered && !second_q) m_rdata[31:0] <= m_axil.rdata;
      if (answered && second_q) m_rdata[63:32] <= m_axil.rdata;
    end
  end else begin : gen_strobes
    always_ff @(posedge clk) begin : data
      if (send) begin
        m_axil.wdata <= {s_wide ? s_wdata[63:32] : s_wdata[31:0], s_wdata[31:0]};
        m_axil.wstrb <= {{4{s_wide || s_addr[2]}}, {4{!s_addr[2]}}};
      end
      if (answered) begin
        m_rdata <= {m_axil.rdata[63:32], address_q[2] ? m_axil.rdata[63:32] : m_axil.rdata[31:0]};
      end
    end
  end

  fb_axis_check #(
      .Width(AddrBits + 66),
      .Name ("boot request")
  ) u_check (
      .clk,
      .rst,
      .valid(s_valid),
      .ready(s_ready),
      .data ({s_write, s_wide, s_addr, s_wdata})
  );

endmodule

`default_nettype wire
