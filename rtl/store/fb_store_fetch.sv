// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_fetch: objects from the SSD, one after the other, for who sends them.
//
// What:        an order is an address, a length and what the object is. It becomes a read command of
//              the streamer, and a word that goes beside the object's data. Orders and commands go
//              ahead of the data, so that the SSD is kept busy.
// Handshake:   valid/ready. `m_axis_object_*` follows `s_axis_rd_*` within the cycle.
// Latency:     1 cycle from an order to its command.
// Throughput:  64 bytes a cycle.
// Limits:      an order has a byte or more. A read that fails ends early, with TUSER PACKET_PART; its
//              last byte is the streamer's error code. 512-bit registers: none.
// Does not implement: reading the index.

`default_nettype none

module fb_store_fetch
  import fb_spec_pkg::*;
#(
    parameter int unsigned Depth = 16  // orders, and words, that may wait, a power of two
) (
    input wire clk,
    input wire rst,

    input  wire                          order_valid,
    output logic                         order_ready,
    input  wire  [                 63:0] order_address,  // a multiple of the logical block
    input  wire  [                 63:0] order_bytes,    // 1 or more
    input  wire  [                 63:0] order_object,   // the number that it is sent with
    input  wire                          order_part,     // it is a part of an object
    input  wire  [                 15:0] order_stream,
    input  wire  [                 63:0] order_offset,   // where in its object it begins
    input  wire  [PACKET_NONCE_BITS-1:0] order_nonce,

    // To the streamer, and from it.
    output logic                       m_axis_rdcmd_tvalid,
    input  wire                        m_axis_rdcmd_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_rdcmd_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_rdcmd_tkeep,
    output logic                       m_axis_rdcmd_tlast,
    input  wire                        s_axis_rd_tvalid,
    output logic                       s_axis_rd_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_rd_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_rd_tkeep,
    input  wire                        s_axis_rd_tlast,
    input  wire                        s_axis_rd_tuser,      // with TLAST: the read failed

    // Objects, and what each is.
    output logic                        m_axis_head_tvalid,
    input  wire                         m_axis_head_tready,
    output logic [               127:0] m_axis_head_tdata,     // object; above it its bytes
    output logic [PACKET_READ_BITS-1:0] m_axis_head_tuser,     // nonce, offset, stream, a part
    output logic                        m_axis_object_tvalid,
    input  wire                         m_axis_object_tready,
    output logic [  USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [ USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                        m_axis_object_tlast,
    output logic [                 1:0] m_axis_object_tuser,   // with TLAST

    output logic [7:0] waiting,  // orders that have not begun
    output logic       busy,     // objects are being read
    output logic       done,     // for one cycle: an object ended
    output logic       failed    // with it: the read failed
);

  typedef struct packed {
    logic [63:0] address;
    logic part;
    logic [15:0] stream;
    logic [63:0] offset;
    logic [PACKET_NONCE_BITS-1:0] nonce;
    logic [63:0] bytes;
    logic [63:0] object;
  } order_t;

  order_t order;
  logic valid, begins, room;
  logic [15:0] under_way_q;  // objects, from the command to the last beat
  logic [$clog2(Depth):0] level;

  fb_common_fifo #(
      .Width($bits(order_t)),
      .Depth(Depth)
  ) u_orders (
      .clk,
      .rst,
      .s_valid(order_valid),
      .s_ready(order_ready),
      .s_data({
        order_address,
        order_part,
        order_stream,
        order_offset,
        order_nonce,
        order_bytes,
        order_object
      }),
      .m_valid(valid),
      .m_ready(begins),
      .m_data(order),
      .level
  );
  assign waiting = 8'(level);

  // The word has a place before the command goes out.
  assign m_axis_rdcmd_tvalid = valid && room;
  assign begins = m_axis_rdcmd_tvalid && m_axis_rdcmd_tready;
  assign m_axis_rdcmd_tkeep = '1;
  assign m_axis_rdcmd_tlast = 1'b1;
  always_comb begin : command
    m_axis_rdcmd_tdata = '0;
    m_axis_rdcmd_tdata[USER_ADDRESS_LSB+:64] = order.address;
    m_axis_rdcmd_tdata[USER_READ_LENGTH_LSB+:64] = order.bytes;
  end

  fb_common_fifo #(
      .Width($bits(order_t) - 64),
      .Depth(Depth)
  ) u_heads (
      .clk,
      .rst,
      .s_valid(begins),
      .s_ready(room),
      .s_data ({order.part, order.stream, order.offset, order.nonce, order.bytes, order.object}),
      .m_valid(m_axis_head_tvalid),
      .m_ready(m_axis_head_tready),
      .m_data ({m_axis_head_tuser, m_axis_head_tdata}),
      .level  ()
  );

  // The word may be gone before the object: who takes both says when.
  always_ff @(posedge clk) begin : count
    if (begins != done) under_way_q <= begins ? under_way_q + 1'b1 : under_way_q - 1'b1;
    if (rst) under_way_q <= '0;
  end
  assign busy = under_way_q != '0;

  // The beat that says that a read failed has no TKEEP.
  assign m_axis_object_tvalid = s_axis_rd_tvalid;
  assign s_axis_rd_tready = m_axis_object_tready;
  assign m_axis_object_tdata = s_axis_rd_tdata;
  assign m_axis_object_tkeep = s_axis_rd_tkeep == '0 ? USER_BEAT_BYTES'(1) : s_axis_rd_tkeep;
  assign m_axis_object_tlast = s_axis_rd_tlast;
  assign m_axis_object_tuser = !s_axis_rd_tlast ? '0 : s_axis_rd_tuser ? PACKET_PART : PACKET_ENDS_OBJECT;
  assign done = s_axis_rd_tvalid && s_axis_rd_tready && s_axis_rd_tlast;
  assign failed = done && s_axis_rd_tuser;

`ifndef SYNTHESIS
  data_were_ordered :
  assert property (@(posedge clk) disable iff (rst) s_axis_rd_tvalid |-> under_way_q != '0)
  else $error("fb_store_fetch (%m): data, and nothing was ordered");

  // Each command holds a unit of the streamer's buffer, or a place in its FIFOs.
  under_way_in_range :
  assert property (@(posedge clk) disable iff (rst) under_way_q < 16'd2048)
  else $error("fb_store_fetch (%m): %0d objects are under way", under_way_q);
`endif

  fb_axis_check #(
      .Width(USER_DATA_BITS),
      .Name ("m_axis_rdcmd")
  ) u_check_rdcmd (
      .clk,
      .rst,
      .valid(m_axis_rdcmd_tvalid),
      .ready(m_axis_rdcmd_tready),
      .data (m_axis_rdcmd_tdata)
  );

  fb_axis_check #(
      .Width(USER_DATA_BITS + USER_BEAT_BYTES + 3),
      .Name ("m_axis_object")
  ) u_check_object (
      .clk,
      .rst,
      .valid(m_axis_object_tvalid),
      .ready(m_axis_object_tready),
      .data ({m_axis_object_tdata, m_axis_object_tkeep, m_axis_object_tlast, m_axis_object_tuser})
  );

endmodule

`default_nettype wire
