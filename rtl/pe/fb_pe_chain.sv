// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_chain: what happens to objects between network and store, and on the way back: nothing.
//
// What:        wires: the chain of a pipeline without processing elements. The pipeline's file of
//              one that has some makes another file, with a module of this name and these ports, to
//              be built in this one's place: `forebay pipeline check FILE --chain OUT`.
// Handshake:   valid/ready; both pass through.
// Latency:     0 cycles; of other chains the sum of its stages.
// Throughput:  64 bytes a cycle; of other chains the least of its stages.
// Limits:      8 stages, each with 64 bits of settings and a window of 4 KiB for registers.
// Does not implement: settings that change with the object, but for those per stream.

`default_nettype none

module fb_pe_chain
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
#(
    localparam int unsigned ResultBits = 48
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             clk_pe,  // of elements with a clock of their own
    input  wire             rst_pe,
    input  wire  [8*64-1:0] cfg,     // of stage i from bit 64 * i on
    output logic [8*64-1:0] status,  // so does the status of stage i

    // Registers of the stages, see fb_pe_windows.
    input  wire         s_axil_pe_awvalid,
    output logic        s_axil_pe_awready,
    input  wire  [15:0] s_axil_pe_awaddr,
    input  wire  [ 2:0] s_axil_pe_awprot,
    input  wire         s_axil_pe_wvalid,
    output logic        s_axil_pe_wready,
    input  wire  [31:0] s_axil_pe_wdata,
    input  wire  [ 3:0] s_axil_pe_wstrb,
    output logic        s_axil_pe_bvalid,
    input  wire         s_axil_pe_bready,
    output logic [ 1:0] s_axil_pe_bresp,
    input  wire         s_axil_pe_arvalid,
    output logic        s_axil_pe_arready,
    input  wire  [15:0] s_axil_pe_araddr,
    input  wire  [ 2:0] s_axil_pe_arprot,
    output logic        s_axil_pe_rvalid,
    input  wire         s_axil_pe_rready,
    output logic [31:0] s_axil_pe_rdata,
    output logic [ 1:0] s_axil_pe_rresp,

    // What is known of a packet, a cycle or more before its first beat.
    input wire                                extent_valid,
    input wire          [PACKET_TAG_BITS-1:0] extent_tid,
    input wire extent_t                       extent,

    input  wire                        s_axis_object_tvalid,
    output logic                       s_axis_object_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_object_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_object_tkeep,
    input  wire                        s_axis_object_tlast,
    input  wire  [                1:0] s_axis_object_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_object_tid,

    output logic                       m_axis_object_tvalid,
    input  wire                        m_axis_object_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_object_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_object_tkeep,
    output logic                       m_axis_object_tlast,
    output logic [                1:0] m_axis_object_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_object_tid,

    // One for each object that ends with nothing missing, in any order: the columns of the manifest of
    // the element that gives it, the first one lowest; TUSER where it was not judged; TID is that of
    // the packet that ends it.
    output logic                       m_axis_result_tvalid,
    input  wire                        m_axis_result_tready,
    output logic [     ResultBits-1:0] m_axis_result_tdata,
    output logic                       m_axis_result_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_result_tid,

    output logic unseen,  // for one cycle: an object ends of which a branch did not see all

    // The way back: objects that are read to be sent, and what is known of each, in the same way.
    input wire                                back_valid,
    input wire          [PACKET_TAG_BITS-1:0] back_tid,
    input wire extent_t                       back,

    input  wire                        s_axis_back_tvalid,
    output logic                       s_axis_back_tready,
    input  wire  [ USER_DATA_BITS-1:0] s_axis_back_tdata,
    input  wire  [USER_BEAT_BYTES-1:0] s_axis_back_tkeep,
    input  wire                        s_axis_back_tlast,
    input  wire  [                1:0] s_axis_back_tuser,
    input  wire  [PACKET_TAG_BITS-1:0] s_axis_back_tid,

    output logic                       m_axis_back_tvalid,
    input  wire                        m_axis_back_tready,
    output logic [ USER_DATA_BITS-1:0] m_axis_back_tdata,
    output logic [USER_BEAT_BYTES-1:0] m_axis_back_tkeep,
    output logic                       m_axis_back_tlast,
    output logic [                1:0] m_axis_back_tuser,
    output logic [PACKET_TAG_BITS-1:0] m_axis_back_tid
);

  assign s_axis_object_tready = m_axis_object_tready;
  assign m_axis_object_tvalid = s_axis_object_tvalid;
  assign m_axis_object_tdata  = s_axis_object_tdata;
  assign m_axis_object_tkeep  = s_axis_object_tkeep;
  assign m_axis_object_tlast  = s_axis_object_tlast;
  assign m_axis_object_tuser  = s_axis_object_tuser;
  assign m_axis_object_tid    = s_axis_object_tid;
  assign s_axis_back_tready   = m_axis_back_tready;
  assign m_axis_back_tvalid   = s_axis_back_tvalid;
  assign m_axis_back_tdata    = s_axis_back_tdata;
  assign m_axis_back_tkeep    = s_axis_back_tkeep;
  assign m_axis_back_tlast    = s_axis_back_tlast;
  assign m_axis_back_tuser    = s_axis_back_tuser;
  assign m_axis_back_tid      = s_axis_back_tid;
  assign m_axis_result_tvalid = 1'b0;
  assign m_axis_result_tdata  = '0;
  assign m_axis_result_tuser  = 1'b0;
  assign m_axis_result_tid    = '0;
  assign unseen               = 1'b0;
  assign status               = '0;

  fb_pe_windows u_windows (
      .request (),
      .response('0),
      .setting (),
      .*
  );

endmodule

`default_nettype wire
