// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_window: the neighbourhood of each pixel that a convolution or a maximum looks at.
//
// What:        a square image comes pixel by pixel, the channels of a pixel in groups. Rows and columns
//              of `Zero` are put around it; each square of Kernel x Kernel pixels whose top left corner
//              lies on a multiple of `Stride` leaves, group by group. Tap y * Kernel + x is the pixel
//              in row y and column x of the square.
// Handshake:   valid/ready; m_valid waits for no m_ready, s_ready may depend on it.
// Latency:     0 cycles from the last pixel of a square to the square.
// Throughput:  a group a cycle; each pixel that is put around takes as many cycles as one that comes.
// Limits:      512-bit registers: none of its own. Images follow one another without a gap: there is
//              no other mark of where one begins than the reset.
// Does not implement: images that are not square, padding that differs between rows and columns.

`default_nettype none

module fb_dnn_window #(
    parameter int unsigned Size = 32,  // pixels of a side
    parameter int unsigned Channels = 16,  // of a pixel
    parameter int unsigned Lanes = 1,  // channels of a group, a divisor of Channels
    parameter int unsigned Kernel = 3,  // pixels of a side of the square
    parameter int unsigned Stride = 1,  // pixels
    parameter int unsigned Before = 1,  // pixels put above and to the left, less than Kernel
    parameter int unsigned After = 1,  // below and to the right, less than Kernel
    parameter logic [7:0] Zero = 8'd0,  // their value
    localparam int unsigned Taps = Kernel * Kernel
) (
    input wire clk,
    input wire rst,

    input  wire                   s_valid,
    output logic                  s_ready,
    input  wire  [Lanes-1:0][7:0] s_data,

    output logic                            m_valid,
    input  wire                             m_ready,
    output logic [Taps-1:0][Lanes-1:0][7:0] m_data
);

  localparam int unsigned Side = Before + Size + After;
  localparam int unsigned Groups = Channels / Lanes;

  if (Lanes < 1 || Channels < Lanes || Channels % Lanes != 0) begin : gen_bad_lanes
    $fatal(1, "fb_dnn_window (%m): Lanes=%0d must divide Channels=%0d", Lanes, Channels);
  end
  if (Kernel < 1 || Stride < 1 || Before >= Kernel || After >= Kernel || Side < Kernel)
  begin : gen_bad_kernel
    $fatal(
        1,
        "fb_dnn_window (%m): Kernel=%0d, Stride=%0d, Before=%0d, After=%0d, Size=%0d: %s",
        Kernel,
        Stride,
        Before,
        After,
        Size,
        "Before and After must be less than Kernel, and Kernel must fit into the image"
    );
  end

  // ---------------------------------------------------------------------------------------- place
  // Of the pixel that comes, in the image with all that is put around it. `row_left`, `column_left`:
  // rows and columns until one in which a square ends.
  localparam int unsigned SideBits = $clog2(Side + 1);
  localparam int unsigned GroupBits = Groups > 1 ? $clog2(Groups) : 1;
  localparam int unsigned LeftBits = $clog2((Kernel > Stride ? Kernel : Stride) + 1);
  typedef struct packed {
    logic [SideBits-1:0] at;
    logic [LeftBits-1:0] left;
  } place_t;
  localparam place_t First = '{'0, LeftBits'(Kernel - 1)};

  function automatic place_t after(input place_t place);
    after.at   = place.at + 1'b1;
    after.left = place.left == '0 ? LeftBits'(Stride - 1) : place.left - 1'b1;
    if (place.at == SideBits'(Side - 1)) after = First;
  endfunction
  function automatic logic is_given(input logic [SideBits-1:0] at);
    // What is put in front wraps around to the greatest numbers.
    return SideBits'(at - SideBits'(Before)) < SideBits'(Size);
  endfunction

  logic [GroupBits-1:0] group_q;
  place_t row_q, column_q;
  logic given, ends, there, step;

  assign given = is_given(row_q.at) && is_given(column_q.at);  // not put around
  assign ends = row_q.left == '0 && column_q.left == '0;  // a square does, here
  assign there = !given || s_valid;
  assign step = there && (!ends || m_ready);
  assign s_ready = given && (!ends || m_ready);
  assign m_valid = ends && there;

  always_ff @(posedge clk) begin : walk
    if (step) begin
      group_q <= group_q + 1'b1;
      if (group_q == GroupBits'(Groups - 1)) begin
        group_q  <= '0;
        column_q <= after(column_q);
        if (column_q.at == SideBits'(Side - 1)) row_q <= after(row_q);
      end
    end
    if (rst) begin
      group_q  <= '0;
      row_q    <= First;
      column_q <= First;
    end
  end

  // ------------------------------------------------------------------------------------------ taps
  // A column holds this pixel and those above it, a square this column and those to its left; the
  // newest lowest.
  typedef logic [Kernel-1:0][Lanes-1:0][7:0] column_t;
  column_t column;
  column_t [Kernel-1:0] square;

  assign column[0] = given ? s_data : {Lanes{Zero}};
  assign square[0] = column;
  if (Kernel > 1) begin : gen_history
    fb_dnn_delay #(
        .Width((Kernel - 1) * Lanes * 8),
        .Steps(Side * Groups)
    ) u_rows (
        .clk,
        .rst,
        .step,
        .s_data(column[Kernel-2:0]),
        .m_data(column[Kernel-1:1])
    );
    fb_dnn_delay #(
        .Width((Kernel - 1) * $bits(column_t)),
        .Steps(Groups)
    ) u_columns (
        .clk,
        .rst,
        .step,
        .s_data(square[Kernel-2:0]),
        .m_data(square[Kernel-1:1])
    );
  end
  for (genvar y = 0; y < int'(Kernel); y++) begin : gen_rows
    for (genvar x = 0; x < int'(Kernel); x++) begin : gen_columns
      assign m_data[y*Kernel+x] = square[Kernel-1-x][Kernel-1-y];
    end
  end

endmodule

`default_nettype wire
