// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_bar_registers: the two doors to control registers: the BAR, and an AXI4-Lite port beside it.
//
// What:        accesses of both doors go one after the other to the registers behind `m_axil_*`. By
//              the BAR a write changes the 8-byte register whose lane has strobes, in one beat one
//              register; a read returns the register at its address in every lane, so that it stands
//              where a bridge looks for it whatever size it asks for.
// Handshake:   reads and writes as fb_bar_target makes them; AXI4-Lite. The doors take turns. An
//              answer waits at its own door for who asked: it keeps nobody else waiting.
// Latency:     4 cycles and what the registers take.
// Throughput:  one access at a time; a read by the BAR not before Latency cycles after the last.
// Limits:      a beat with strobes in more than one lane is refused; one with none has no effect.
//              Outputs come from registers.
// Does not implement: bursts into registers.

`default_nettype none

module fb_bar_registers #(
    parameter int unsigned AddrBits = 12,
    parameter int unsigned Latency  = 3    // cycles from a read to its word, 2 to 16
) (
    input wire clk,
    input wire rst,

    input  wire                 write_valid,
    output logic                write_ready,
    output logic                write_refused,
    input  wire  [AddrBits-1:0] write_addr,
    input  wire  [       511:0] write_data,
    input  wire  [        63:0] write_strb,
    input  wire                 read_valid,
    output logic                read_ready,
    input  wire  [AddrBits-1:0] read_addr,
    output logic [       511:0] read_word,
    output logic                read_error,

    fb_axil_if.target s_axil_ctrl,

    fb_axil_if.initiator m_axil
);

  if (Latency < 2 || Latency > 16) begin : gen_bad_latency
    $fatal(1, "fb_bar_registers (%m): Latency=%0d must be from 2 to 16", Latency);
  end

  typedef enum logic [2:0] {
    IDLE,
    TAKE,
    ASK,
    ANSWER,
    DONE  // tells the BAR, by write_ready or read_ready
  } state_e;

  state_e state_q;
  logic door_q, write_q;  // whose access it is, and its kind
  logic bar_wants, door_wants, door_next;
  logic [4:0] rest_q;  // cycles until the answer to the BAR may change
  logic write_wants, read_wants, door_write_wants, door_read_wants;
  logic last_door_q, last_write_q;

  assign write_wants = write_valid;
  assign read_wants = read_valid && rest_q == '0;
  assign door_write_wants = s_axil_ctrl.awvalid && s_axil_ctrl.wvalid && !s_axil_ctrl.bvalid;
  assign door_read_wants = s_axil_ctrl.arvalid && !s_axil_ctrl.rvalid;
  assign bar_wants = write_wants || read_wants;
  assign door_wants = door_write_wants || door_read_wants;
  assign door_next = door_wants && !(bar_wants && last_door_q);

  // The lane of the BAR that is written: of a beat that waits, known a cycle later.
  logic [7:0] lane_q, lane_strb;
  logic [63:0] lane_data;
  logic [ 2:0] lane;
  logic no_lane_q, lanes_q;  // none has strobes; more than one
  always_ff @(posedge clk) for (int i = 0; i < 8; i++) lane_q[i] <= |write_strb[8*i+:8];
  always_comb begin : choose_lane
    {lane, lane_strb, lane_data} = '0;
    for (int i = 0; i < 8; i++)
    if (lane_q[i])
      {lane, lane_strb, lane_data} |= {3'(i), write_strb[8*i+:8], write_data[64*i+:64]};
  end

  logic ended, aw_left_q, w_left_q, ar_left_q;
  assign ended = m_axil.bvalid || m_axil.rvalid;

  always_ff @(posedge clk) begin : access
    rest_q <= (state_q == DONE && !write_q) ? 5'(Latency) : rest_q - 5'(rest_q != '0);
    {write_ready, read_ready} <= '0;
    case (state_q)
      IDLE: begin
        door_q <= door_next;
        // Of one door, reads and writes take turns.
        write_q <= door_next ? door_write_wants && !(door_read_wants && last_write_q) :
                               write_wants && !(read_wants && last_write_q);
        if (bar_wants || door_wants) state_q <= TAKE;
      end
      TAKE: begin
        no_lane_q <= !door_q && write_q && lane_q == '0;
        lanes_q   <= !door_q && write_q && (lane_q & (lane_q - 1'b1)) != '0;
        state_q   <= ASK;
      end
      ASK: begin
        if (no_lane_q || lanes_q) begin
          state_q <= DONE;
          write_ready <= write_q;
        end else if (!(aw_left_q && !m_axil.awready) && !(w_left_q && !m_axil.wready) &&
                 !(ar_left_q && !m_axil.arready))
          state_q <= ANSWER;
      end
      ANSWER: begin
        if (ended) state_q <= door_q ? IDLE : DONE;
        write_ready <= ended && !door_q && write_q;
        read_ready  <= ended && !door_q && !write_q;
      end
      default: state_q <= IDLE;
    endcase
    if (state_q == TAKE) begin
      last_door_q  <= door_q;
      last_write_q <= write_q;
    end
    if (rst) begin
      state_q <= IDLE;
      {write_ready, read_ready} <= '0;
      last_door_q <= 1'b0;
      last_write_q <= 1'b0;
      rest_q <= '0;
    end
  end

  // What is asked stands in registers, so that nothing leads from a door to the registers.
  logic [AddrBits-1:0] addr_q;
  logic [63:0] data_q;
  logic [7:0] strb_q;
  always_ff @(posedge clk) begin : ask
    if (state_q == TAKE) begin
      if (write_q) addr_q <= door_q ? s_axil_ctrl.awaddr : {write_addr[AddrBits-1:6], lane, 3'd0};
      else addr_q <= door_q ? s_axil_ctrl.araddr : {read_addr[AddrBits-1:3], 3'd0};
      data_q <= door_q ? s_axil_ctrl.wdata : lane_data;
      strb_q <= door_q ? s_axil_ctrl.wstrb : lane_strb;
      aw_left_q <= write_q;
      w_left_q <= write_q;
      ar_left_q <= !write_q;
    end else if (state_q == ASK) begin
      if (m_axil.awready || no_lane_q || lanes_q) aw_left_q <= 1'b0;
      if (m_axil.wready || no_lane_q || lanes_q) w_left_q <= 1'b0;
      if (m_axil.arready) ar_left_q <= 1'b0;
    end
    if (rst) begin
      aw_left_q <= 1'b0;
      w_left_q  <= 1'b0;
      ar_left_q <= 1'b0;
    end
  end

  logic asks;
  assign asks = state_q == ASK && !no_lane_q && !lanes_q;
  assign m_axil.awvalid = asks && aw_left_q;
  assign m_axil.wvalid = asks && w_left_q;
  assign m_axil.arvalid = asks && ar_left_q;
  assign m_axil.awaddr = addr_q;
  assign m_axil.araddr = addr_q;
  assign m_axil.wdata = data_q;
  assign m_axil.wstrb = strb_q;
  assign m_axil.bready = state_q == ANSWER;
  assign m_axil.rready = state_q == ANSWER;

  // Answers: one for each door and direction.
  logic bar_error_q, bar_read_error_q;
  logic [63:0] bar_data_q;
  always_ff @(posedge clk) begin : answer
    if (s_axil_ctrl.bready) s_axil_ctrl.bvalid <= 1'b0;
    if (s_axil_ctrl.rready) s_axil_ctrl.rvalid <= 1'b0;
    if (state_q == TAKE) bar_error_q <= 1'b0;
    if (state_q == ANSWER && ended) begin
      if (door_q && write_q) begin
        s_axil_ctrl.bvalid <= 1'b1;
        s_axil_ctrl.bresp  <= m_axil.bresp;
      end else if (door_q) begin
        s_axil_ctrl.rvalid <= 1'b1;
        s_axil_ctrl.rresp  <= m_axil.rresp;
        s_axil_ctrl.rdata  <= m_axil.rdata;
      end else if (write_q) begin
        bar_error_q <= m_axil.bresp[1];
      end else begin
        bar_data_q <= m_axil.rdata;
        bar_read_error_q <= m_axil.rresp[1];
      end
    end
    if (rst) begin
      s_axil_ctrl.bvalid <= 1'b0;
      s_axil_ctrl.rvalid <= 1'b0;
    end
  end

  assign s_axil_ctrl.awready = state_q == TAKE && door_q && write_q;
  assign s_axil_ctrl.wready = state_q == TAKE && door_q && write_q;
  assign s_axil_ctrl.arready = state_q == TAKE && door_q && !write_q;
  assign write_refused = lanes_q || bar_error_q;
  assign read_word = {8{bar_data_q}};
  assign read_error = bar_read_error_q;

  logic unused;
  assign unused = &{1'b0, write_addr[5:0], read_addr[2:0], m_axil.bresp[0], m_axil.rresp[0], 1'b0};

endmodule

`default_nettype wire
