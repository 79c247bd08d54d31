// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_raid_parity: between the user's streams and the array, where its last drive holds the parity.
//
//   write stream -> write ----------> fb_nvme_write_split
//   read command -> split ----------> fb_nvme_read_split
//                     \- pieces -\
//   read data    <- join <---------- fb_nvme_read_stream
//
// Below it the array is a plain stripe over all drives, whatever lies on them. Without parity
// (Pages = 0) there are only wires.
//
// Handshake: AXI4-Stream on both sides. Latency and throughput: see the three modules.
// Does not implement: rebuilding onto another drive; parity that goes round the drives.

`default_nettype none

module fb_raid_parity
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
    fb_axis_if.target s_axis_wr,
    fb_axis_if.target s_axis_rdcmd,
    fb_axis_if.initiator m_axis_rd,

    // The array's side.
    fb_axis_if.initiator m_axis_wr,
    fb_axis_if.initiator m_axis_rdcmd,
    fb_axis_if.target s_axis_rd,

    output logic busy  // something is under way here
);

  if (Pages > 0) begin : gen_parity
    localparam int unsigned Beats = Pages << BEAT_BITS;
    logic cut_valid, cut_ready, piece_valid, piece_ready, write_busy, split_busy;
    logic [$clog2(PiecesMost):0] pieces;
    piece_t cut, piece;

    fb_raid_parity_write #(
        .Beats(Beats)
    ) u_write (
        .busy(write_busy),
        .*
    );

    fb_raid_parity_split u_split (
        .rst(restart),
        .piece_valid(cut_valid),
        .piece_ready(cut_ready),
        .piece(cut),
        .busy(split_busy),
        .*
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
        .level(pieces)
    );

    fb_raid_parity_join #(
        .Beats(Beats)
    ) u_join (
        .parity(cfg.parity),
        .*
    );
    assign busy = write_busy || split_busy || pieces != '0 || m_axis_rd.tvalid;
  end else begin : gen_wires
    assign {m_axis_wr.tvalid, m_axis_wr.tdata, m_axis_wr.tkeep, m_axis_wr.tlast} = {
      s_axis_wr.tvalid, s_axis_wr.tdata, s_axis_wr.tkeep, s_axis_wr.tlast
    };
    assign {m_axis_rdcmd.tvalid, m_axis_rdcmd.tdata} = {s_axis_rdcmd.tvalid, s_axis_rdcmd.tdata};
    assign {m_axis_rdcmd.tkeep, m_axis_rdcmd.tlast} = '1;
    assign {m_axis_rd.tvalid, m_axis_rd.tdata, m_axis_rd.tkeep, m_axis_rd.tlast} = {
      s_axis_rd.tvalid, s_axis_rd.tdata, s_axis_rd.tkeep, s_axis_rd.tlast
    };
    assign {m_axis_rd.tuser, m_axis_rd.tid} = {s_axis_rd.tuser, s_axis_rd.tid};
    assign {s_axis_wr.tready, s_axis_rdcmd.tready, s_axis_rd.tready} = {
      m_axis_wr.tready, m_axis_rdcmd.tready, m_axis_rd.tready
    };
    assign busy = 1'b0;
    logic unused;
    assign unused = &{1'b0, clk, rst, restart, cfg, 1'b0};
  end

endmodule

`default_nettype wire
