// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_buffer_lists: the window of PRP lists of a buffer in host memory.
//
// What:        list u, at 4096 * u, belongs to unit u: its entry n is the address of page n + 1 of
//              that unit, carried on into the units after it and from one piece into the next
//              (NVMe Base 2.0c 4.1.1). Computed while it is read, never stored.
// Handshake:   AXI4, INCR bursts of any size, identifiers echoed; answers stay in order.
// Latency:     2 cycles from the AR to the first R handshake, 1 from the last W to B.
// Throughput:  64 B a cycle.
// Limits:      all writes get SLVERR, and so do FIXED, WRAP and sizes above 64 B.
// Does not implement: anything that a list does not need.

`default_nettype none

module fb_buffer_lists #(
    parameter int unsigned UnitBits = fb_spec_pkg::DRAM_UNIT_SHIFT,  // log2 of the pages of a unit
    parameter int unsigned AxiIdBits = 4,
    localparam int unsigned WindowBits = $clog2(fb_spec_pkg::PRP_LISTS_BYTES)
) (
    input wire clk,
    input wire rst,

    input wire        piece_we,      // where a piece lies; index as fb_buffer_piece has it
    input wire [ 4:0] piece_index,
    input wire [63:0] piece_address,

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
    input  wire  [ AxiIdBits-1:0] s_axi_data_arid,
    input  wire  [WindowBits-1:0] s_axi_data_araddr,
    input  wire  [           7:0] s_axi_data_arlen,
    input  wire  [           2:0] s_axi_data_arsize,
    input  wire  [           1:0] s_axi_data_arburst,
    input  wire                   s_axi_data_arvalid,
    output logic                  s_axi_data_arready,
    output logic [ AxiIdBits-1:0] s_axi_data_rid,
    output logic [         511:0] s_axi_data_rdata,
    output logic [           1:0] s_axi_data_rresp,
    output logic                  s_axi_data_rlast,
    output logic                  s_axi_data_rvalid,
    input  wire                   s_axi_data_rready
);

  localparam int unsigned PageBits = WindowBits - 12 + UnitBits;
  localparam logic [1:0] RESP_OKAY = 2'b00;
  localparam logic [1:0] RESP_SLVERR = 2'b10;

  // ------------------------------------------------------------------------------------- reads
  logic read_valid, read_next, read_last, read_error, go, room;
  logic [ AxiIdBits-1:0] read_id;
  logic [WindowBits-1:0] read_addr;

  fb_common_burst #(
      .IdBits  (AxiIdBits),
      .AddrBits(WindowBits),
      .MaxSize (6)
  ) u_burst (
      .clk,
      .rst,
      .s_valid(s_axi_data_arvalid),
      .s_ready(s_axi_data_arready),
      .s_id(s_axi_data_arid),
      .s_addr(s_axi_data_araddr),
      .s_len(s_axi_data_arlen),
      .s_size(s_axi_data_arsize),
      .s_burst(s_axi_data_arburst),
      .m_valid(read_valid),
      .m_valid_next(read_next),
      .m_step(go),
      .m_id(read_id),
      .m_addr(read_addr),
      .m_last(read_last),
      .m_error(read_error),
      .wait_valid(),
      .wait_addr()
  );

  logic valid_q, last_q, error_q;
  logic [AxiIdBits-1:0] id_q;
  logic [PageBits-4:0] group_q, next_q;  // groups of eight pages
  logic [PageBits-4:0] group;
  logic [63:0] group_address, next_address;

  assign room = !valid_q || s_axi_data_rready;
  assign go = read_valid && room;
  assign group = {read_addr[WindowBits-1:12], (UnitBits - 3)'(0)} + (PageBits - 3)'(read_addr[11:6]);
  always_ff @(posedge clk) begin : answer
    if (room) valid_q <= go;
    if (go) begin
      id_q <= read_id;
      last_q <= read_last;
      error_q <= read_error;
      group_q <= group;
      next_q <= group + 1'b1;
    end
    if (rst) valid_q <= 1'b0;
  end

  fb_buffer_piece u_piece (
      .clk,
      .we(piece_we),
      .index(piece_index),
      .base(piece_address),
      .page({group_q, 3'd0}),
      .address(group_address)
  );

  fb_buffer_piece u_next_piece (
      .clk,
      .we(piece_we),
      .index(piece_index),
      .base(piece_address),
      .page({next_q, 3'd0}),
      .address(next_address)
  );

  fb_buffer_list u_list (
      .group(group_address[63:15]),
      .next_group(next_address[63:15]),
      .entries(s_axi_data_rdata)
  );
  assign s_axi_data_rvalid = valid_q;
  assign s_axi_data_rid = id_q;
  assign s_axi_data_rlast = last_q;
  assign s_axi_data_rresp = error_q ? RESP_SLVERR : RESP_OKAY;

  // ------------------------------------------------------------------------------------ writes
  logic writing_q, refused_q;
  logic [AxiIdBits-1:0] write_id_q;
  assign s_axi_data_awready = !writing_q && !refused_q;
  assign s_axi_data_wready = writing_q;
  assign s_axi_data_bvalid = refused_q;
  assign s_axi_data_bid = write_id_q;
  assign s_axi_data_bresp = RESP_SLVERR;
  always_ff @(posedge clk) begin : refuse
    if (s_axi_data_awvalid && s_axi_data_awready) begin
      writing_q  <= 1'b1;
      write_id_q <= s_axi_data_awid;
    end
    if (s_axi_data_wvalid && writing_q && s_axi_data_wlast) begin
      writing_q <= 1'b0;
      refused_q <= 1'b1;
    end
    if (s_axi_data_bvalid && s_axi_data_bready) refused_q <= 1'b0;
    if (rst) begin
      writing_q <= 1'b0;
      refused_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, read_next, read_addr[5:0], s_axi_data_awaddr, s_axi_data_awlen,
                    s_axi_data_awsize, s_axi_data_awburst, s_axi_data_wdata, s_axi_data_wstrb,
                    group_address[14:0], next_address[14:0], 1'b0};

  fb_axis_check #(
      .Width(AxiIdBits + 515),
      .Name ("s_axi_data R")
  ) u_check_r (
      .clk,
      .rst,
      .valid(s_axi_data_rvalid),
      .ready(s_axi_data_rready),
      .data ({s_axi_data_rid, s_axi_data_rdata, s_axi_data_rresp, s_axi_data_rlast})
  );

endmodule

`default_nettype wire
