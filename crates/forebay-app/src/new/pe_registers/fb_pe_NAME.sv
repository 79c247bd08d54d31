// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// fb_pe_NAME: say here what it does to an object.
//
// What:        a packet comes out for each that goes in, in order, of one byte or more.
// Handshake:   valid/ready; `s_axis_object_tready` follows `m_axis_object_tready` within the cycle.
// Latency:     1 cycle.
// Throughput:  a beat a cycle.
// Registers:   the mask, 16 bytes from offset 0 on, of which each is a byte of `mask` in
//              fb_pe_NAME.toml. Other offsets answer with SLVERR.
// Limits:      the mask is steady while packets are inside.

`default_nettype none

module fb_pe_NAME #(
    localparam int unsigned Bits = 512  // of a beat, as the manifest says
) (
    input wire        clk,
    input wire        rst,
    input wire [63:0] cfg,  // settings: none here

    // Byte 0 of a packet is tdata[7:0] of its first beat. TKEEP is all ones but on the last beat. TUSER
    // stands with TLAST: bit 0, a part of an object; bit 1, the end of an object of which nothing is
    // missing. TID is the tag of the packet's extent.
    input  wire               s_axis_object_tvalid,
    output logic              s_axis_object_tready,
    input  wire  [  Bits-1:0] s_axis_object_tdata,
    input  wire  [Bits/8-1:0] s_axis_object_tkeep,
    input  wire               s_axis_object_tlast,
    input  wire  [       1:0] s_axis_object_tuser,
    input  wire  [      31:0] s_axis_object_tid,

    output logic              m_axis_object_tvalid,
    input  wire               m_axis_object_tready,
    output logic [  Bits-1:0] m_axis_object_tdata,
    output logic [Bits/8-1:0] m_axis_object_tkeep,
    output logic              m_axis_object_tlast,
    output logic [       1:0] m_axis_object_tuser,
    output logic [      31:0] m_axis_object_tid,

    // Registers: AXI4-Lite. An access is answered in the cycle after it was taken, or later.
    input  wire         s_axil_awvalid,
    output logic        s_axil_awready,
    input  wire  [11:0] s_axil_awaddr,
    input  wire         s_axil_wvalid,
    output logic        s_axil_wready,
    input  wire  [31:0] s_axil_wdata,
    input  wire  [ 3:0] s_axil_wstrb,
    output logic        s_axil_bvalid,
    input  wire         s_axil_bready,
    output logic [ 1:0] s_axil_bresp,
    input  wire         s_axil_arvalid,
    output logic        s_axil_arready,
    input  wire  [11:0] s_axil_araddr,
    output logic        s_axil_rvalid,
    input  wire         s_axil_rready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp
);

  // ------------------------------------------------------------------------ your work: from here ...
  logic [3:0][31:0] mask_q;  // words of registers
  logic [Bits-1:0] result;

  assign result = s_axis_object_tdata ^ {Bits / 128{mask_q}};
  // ------------------------------------------------------------------------------------ ... to here

  localparam logic [1:0] Okay = 2'b00, SlaveError = 2'b10;
  logic writes, reads, unused;

  assign unused = &{1'b0, cfg, s_axil_awaddr[1:0], s_axil_araddr[1:0]};
  assign writes = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign reads = s_axil_arvalid && !s_axil_rvalid;
  assign s_axil_awready = writes;
  assign s_axil_wready = writes;
  assign s_axil_arready = reads;

  always_ff @(posedge clk) begin : serve
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (writes) begin
      s_axil_bvalid <= 1'b1;
      s_axil_bresp  <= s_axil_awaddr[11:4] == '0 ? Okay : SlaveError;
      for (int i = 0; i < 4; i++) begin
        if (s_axil_awaddr[11:4] == '0 && s_axil_wstrb[i])
          mask_q[s_axil_awaddr[3:2]][8*i+:8] <= s_axil_wdata[8*i+:8];
      end
    end
    if (reads) begin
      s_axil_rvalid <= 1'b1;
      s_axil_rresp  <= s_axil_araddr[11:4] == '0 ? Okay : SlaveError;
      s_axil_rdata  <= s_axil_araddr[11:4] == '0 ? mask_q[s_axil_araddr[3:2]] : '0;
    end
    if (rst) {s_axil_bvalid, s_axil_rvalid, mask_q} <= '0;
  end

  assign s_axis_object_tready = !m_axis_object_tvalid || m_axis_object_tready;

  always_ff @(posedge clk) begin : hold
    if (s_axis_object_tready) begin
      m_axis_object_tdata  <= result;
      m_axis_object_tkeep  <= s_axis_object_tkeep;
      m_axis_object_tlast  <= s_axis_object_tlast;
      m_axis_object_tuser  <= s_axis_object_tuser;
      m_axis_object_tid    <= s_axis_object_tid;
      m_axis_object_tvalid <= s_axis_object_tvalid;
    end
    // A reset takes what tells that there is a beat; the beat itself may stay.
    if (rst) m_axis_object_tvalid <= 1'b0;
  end

  // Stops a simulation where the rules of elements are broken; nothing in synthesis.
  fb_pe_check #(
      .Bits(Bits)
  ) u_check (
      .clk,
      .rst,
      .in_valid (s_axis_object_tvalid),
      .in_ready (s_axis_object_tready),
      .in_last  (s_axis_object_tlast),
      .in_user  (s_axis_object_tuser),
      .in_tid   (s_axis_object_tid),
      .out_valid(m_axis_object_tvalid),
      .out_ready(m_axis_object_tready),
      .out_data (m_axis_object_tdata),
      .out_keep (m_axis_object_tkeep),
      .out_last (m_axis_object_tlast),
      .out_user (m_axis_object_tuser),
      .out_tid  (m_axis_object_tid)
  );

endmodule

`default_nettype wire
