// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_parity: between the user's streams and the array, where its last drive holds the parity.
//
//   write stream -> write ----------> fb_nvme_write
//   read command -> split ----------> fb_nvme_read
//                     \- pieces -\
//   read data    <- join <---------- fb_nvme_deliver
//
// Below it the array is a plain stripe over all drives, whatever lies on them. Without parity
// (Pages = 0) there are only wires.
//
// Handshake: AXI4-Stream on both sides. Latency and throughput: see the three modules.
// Does not implement: rebuilding onto another drive; parity that goes round the drives.

`default_nettype none

module fb_nvme_parity
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Pages = 16,  // of the longest chunk with parity; 0: none. A power of two
    parameter int unsigned PiecesMost = 1024  // of reads that may be under way, a power of two
) (
    input wire clk,
    input wire rst,  // of the whole streamer
    input wire restart,  // a new life of the queue

    input wire cfg_t cfg,

    // The user's side.
    input  wire                    s_axis_wr_tvalid,
    output logic                   s_axis_wr_tready,
    input  wire  [  DATA_BITS-1:0] s_axis_wr_tdata,
    input  wire  [DATA_BITS/8-1:0] s_axis_wr_tkeep,
    input  wire                    s_axis_wr_tlast,

    input  wire          s_axis_rdcmd_tvalid,
    output logic         s_axis_rdcmd_tready,
    input  wire  [255:0] s_axis_rdcmd_tdata,

    output logic                     m_axis_rd_tvalid,
    input  wire                      m_axis_rd_tready,
    output logic [    DATA_BITS-1:0] m_axis_rd_tdata,
    output logic [  DATA_BITS/8-1:0] m_axis_rd_tkeep,
    output logic                     m_axis_rd_tlast,
    output logic                     m_axis_rd_tuser,
    output logic [READ_TAG_BITS-1:0] m_axis_rd_tid,

    // The array's side.
    output logic                   m_axis_wr_tvalid,
    input  wire                    m_axis_wr_tready,
    output logic [  DATA_BITS-1:0] m_axis_wr_tdata,
    output logic [DATA_BITS/8-1:0] m_axis_wr_tkeep,
    output logic                   m_axis_wr_tlast,

    output logic         m_axis_rdcmd_tvalid,
    input  wire          m_axis_rdcmd_tready,
    output logic [255:0] m_axis_rdcmd_tdata,

    input  wire                      s_axis_rd_tvalid,
    output logic                     s_axis_rd_tready,
    input  wire  [    DATA_BITS-1:0] s_axis_rd_tdata,
    input  wire  [  DATA_BITS/8-1:0] s_axis_rd_tkeep,
    input  wire                      s_axis_rd_tlast,
    input  wire                      s_axis_rd_tuser,
    input  wire  [READ_TAG_BITS-1:0] s_axis_rd_tid,

    output logic busy  // something is under way here
);

  if (Pages > 0) begin : gen_parity
    localparam int unsigned Beats = Pages << BEAT_BITS;
    logic cut_valid, cut_ready, piece_valid, piece_ready, write_busy, split_busy;
    piece_t cut, piece;

    fb_nvme_parity_write #(
        .Beats(Beats)
    ) u_write (
        .clk,
        .rst,
        .restart,
        .cfg,
        .s_axis_wr_tvalid,
        .s_axis_wr_tready,
        .s_axis_wr_tdata,
        .s_axis_wr_tkeep,
        .s_axis_wr_tlast,
        .m_axis_wr_tvalid,
        .m_axis_wr_tready,
        .m_axis_wr_tdata,
        .m_axis_wr_tkeep,
        .m_axis_wr_tlast,
        .busy(write_busy)
    );

    fb_nvme_parity_split u_split (
        .clk,
        .rst(restart),
        .cfg,
        .s_axis_rdcmd_tvalid,
        .s_axis_rdcmd_tready,
        .s_axis_rdcmd_tdata,
        .m_axis_rdcmd_tvalid,
        .m_axis_rdcmd_tready,
        .m_axis_rdcmd_tdata,
        .piece_valid(cut_valid),
        .piece_ready(cut_ready),
        .piece(cut),
        .busy(split_busy)
    );

    fb_common_fifo #(
        .Width($bits(piece_t)),
        .Depth(PiecesMost),
        .OutputRegister(1'b1)
    ) u_pieces (
        .clk,
        .rst(restart),
        .s_valid(cut_valid),
        .s_ready(cut_ready),
        .s_data(cut),
        .m_valid(piece_valid),
        .m_ready(piece_ready),
        .m_data(piece),
        .level()
    );

    fb_nvme_parity_join #(
        .Beats(Beats)
    ) u_join (
        .clk,
        .rst,
        .restart,
        .parity(cfg.parity),
        .piece_valid,
        .piece_ready,
        .piece,
        .s_axis_rd_tvalid,
        .s_axis_rd_tready,
        .s_axis_rd_tdata,
        .s_axis_rd_tkeep,
        .s_axis_rd_tlast,
        .s_axis_rd_tuser,
        .s_axis_rd_tid,
        .m_axis_rd_tvalid,
        .m_axis_rd_tready,
        .m_axis_rd_tdata,
        .m_axis_rd_tkeep,
        .m_axis_rd_tlast,
        .m_axis_rd_tuser,
        .m_axis_rd_tid
    );
    assign busy = write_busy || split_busy || piece_valid || m_axis_rd_tvalid;
  end else begin : gen_wires
    assign m_axis_wr_tvalid = s_axis_wr_tvalid;
    assign s_axis_wr_tready = m_axis_wr_tready;
    assign m_axis_wr_tdata = s_axis_wr_tdata;
    assign m_axis_wr_tkeep = s_axis_wr_tkeep;
    assign m_axis_wr_tlast = s_axis_wr_tlast;
    assign m_axis_rdcmd_tvalid = s_axis_rdcmd_tvalid;
    assign s_axis_rdcmd_tready = m_axis_rdcmd_tready;
    assign m_axis_rdcmd_tdata = s_axis_rdcmd_tdata;
    assign m_axis_rd_tvalid = s_axis_rd_tvalid;
    assign s_axis_rd_tready = m_axis_rd_tready;
    assign m_axis_rd_tdata = s_axis_rd_tdata;
    assign m_axis_rd_tkeep = s_axis_rd_tkeep;
    assign m_axis_rd_tlast = s_axis_rd_tlast;
    assign m_axis_rd_tuser = s_axis_rd_tuser;
    assign m_axis_rd_tid = s_axis_rd_tid;
    assign busy = 1'b0;
    logic unused;
    assign unused = &{1'b0, clk, rst, restart, cfg, 1'b0};
  end

endmodule

`default_nettype wire
