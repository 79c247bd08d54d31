// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_bar_registers: the two doors to control registers: the BAR, and an AXI4-Lite port beside it.
//
// What:        accesses of both doors go one after the other to the registers behind `m_axil_*`. By
//              the BAR a write changes the 8-byte register whose lane has strobes, in one beat one
//              register; a read returns the register at its address in every lane, so that it stands
//              where a bridge looks for it whatever size it asks for.
// Handshake:   reads and writes as fb_bar_target makes them; AXI4-Lite. The doors take turns; an
//              answer that is not taken keeps only its own door waiting.
// Latency:     6 cycles and what the registers take.
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
    LANE,
    PAIR,
    TAKE,
    ASK,
    ANSWER,
    DONE  // tells the BAR, by write_ready or read_ready
  } state_e;

  state_e state_q;
  logic door_q, write_q;  // whose access it is or was, and its kind
  logic bar_reads, door_writes, door_reads, bar_wants, door_wants, door_next, writes, reads;
  logic [4:0] rest_q;  // cycles until the answer to the BAR may change

  assign bar_reads = read_valid && rest_q == '0;
  assign bar_wants = write_valid || bar_reads;
  assign door_writes = s_axil_ctrl.awvalid && s_axil_ctrl.wvalid && !s_axil_ctrl.bvalid;
  assign door_reads = s_axil_ctrl.arvalid && !s_axil_ctrl.rvalid;
  assign door_wants = door_writes || door_reads;
  assign door_next = door_wants && !(bar_wants && door_q);
  assign {writes, reads} = door_next ? {door_writes, door_reads} : {write_valid, bar_reads};

  // The lane of the BAR that a waiting beat writes: its number in two cycles, its data in three.
  logic [  7:0] lanes_q;  // those with strobes
  logic [  2:0] lane_q;
  logic [143:0] pair_q;  // strobes and data of two lanes
  logic none_q, many_q;
  always_ff @(posedge clk) begin : choose_lane
    for (int i = 0; i < 8; i++) lanes_q[i] <= |write_strb[8*i+:8];
    lane_q <= {|lanes_q[7:4], |(lanes_q & 8'hcc), |(lanes_q & 8'haa)};
    none_q <= lanes_q == '0;
    many_q <= (lanes_q & (lanes_q - 1'b1)) != '0;
    pair_q <= {write_strb[16*lane_q[2:1]+:16], write_data[128*lane_q[2:1]+:128]};
  end

  logic [2:0] left_q, left;  // of AW, W and AR those that were not taken
  logic ends_q;  // a write of the BAR has no effect
  logic [63:0] bar_data_q;
  assign left = left_q & ~{m_axil.awready, m_axil.wready, m_axil.arready};

  // What is asked stands in registers, so that nothing leads from a door to the registers; an answer
  // in those of its door and direction.
  always_ff @(posedge clk) begin : access
    rest_q <= (state_q == DONE && !write_q) ? 5'(Latency) : rest_q - 5'(rest_q != '0);
    {write_ready, read_ready} <= '0;
    if (s_axil_ctrl.bready) s_axil_ctrl.bvalid <= 1'b0;
    if (s_axil_ctrl.rready) s_axil_ctrl.rvalid <= 1'b0;
    case (state_q)
      IDLE:
      if (bar_wants || door_wants) begin
        state_q <= LANE;
        door_q  <= door_next;
        // Of one door, reads and writes take turns.
        write_q <= writes && !(reads && write_q);
      end
      LANE: state_q <= PAIR;
      PAIR: state_q <= TAKE;
      TAKE: begin
        state_q <= ASK;
        left_q <= write_q ? 3'b110 : 3'b001;
        m_axil.awaddr <= door_q ? (write_q ? s_axil_ctrl.awaddr : s_axil_ctrl.araddr) :
            {write_q ? {write_addr[AddrBits-1:6], lane_q} : read_addr[AddrBits-1:3], 3'd0};
        m_axil.wdata <= door_q ? s_axil_ctrl.wdata : pair_q[64*lane_q[0]+:64];
        m_axil.wstrb <= door_q ? s_axil_ctrl.wstrb : pair_q[128+8*lane_q[0]+:8];
        {ends_q, write_refused} <= (!door_q && write_q) ? {none_q || many_q, many_q} : 2'b00;
      end
      ASK: begin
        left_q <= left;
        if (ends_q) begin
          state_q <= DONE;
          write_ready <= 1'b1;
        end else if (left == '0) state_q <= ANSWER;
      end
      ANSWER:
      if (m_axil.bvalid || m_axil.rvalid) begin
        state_q <= door_q ? IDLE : DONE;
        if (door_q && write_q) begin
          s_axil_ctrl.bvalid <= 1'b1;
          s_axil_ctrl.bresp  <= m_axil.bresp;
        end else if (door_q) begin
          s_axil_ctrl.rvalid <= 1'b1;
          s_axil_ctrl.rresp  <= m_axil.rresp;
          s_axil_ctrl.rdata  <= m_axil.rdata;
        end else if (write_q) begin
          write_ready   <= 1'b1;
          write_refused <= m_axil.bresp[1];
        end else begin
          read_ready <= 1'b1;
          read_error <= m_axil.rresp[1];
          bar_data_q <= m_axil.rdata;
        end
      end
      default: state_q <= IDLE;
    endcase
    if (rst) begin
      state_q <= IDLE;
      {door_q, write_q, write_ready, read_ready, rest_q} <= '0;
      {s_axil_ctrl.bvalid, s_axil_ctrl.rvalid} <= '0;
    end
  end

  assign {m_axil.awvalid, m_axil.wvalid, m_axil.arvalid} = (state_q == ASK && !ends_q) ? left_q : '0;
  assign m_axil.araddr = m_axil.awaddr;
  assign {m_axil.bready, m_axil.rready} = {2{state_q == ANSWER}};
  assign {s_axil_ctrl.awready, s_axil_ctrl.wready} = {2{state_q == TAKE && door_q && write_q}};
  assign s_axil_ctrl.arready = state_q == TAKE && door_q && !write_q;
  assign read_word = {8{bar_data_q}};

  logic unused;
  assign unused = &{1'b0, write_addr[5:0], read_addr[2:0], m_axil.bresp[0], m_axil.rresp[0], 1'b0};

endmodule

`default_nettype wire
