// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_pkg: images on their way to a small size.
//
// An image of width x height pixels becomes one of Size x Size, each pixel of which is the mean of the
// area that it covers. All is counted in integers: along a line an input pixel is Size units wide, an
// output pixel `width` units. Where an output pixel ends is a boundary: the input pixel that it lies
// in, and how many units of that pixel belong to the output pixel before it, 1 to Size.

`default_nettype none

package fb_dnn_pkg;

  localparam int unsigned SIDE_BITS = 14;  // of width and height
  localparam int unsigned UNIT_BITS = 9;  // of a count of units within a pixel, at most 256
  localparam int unsigned GROUP_BYTES = 63;  // taken in a cycle: 21 pixels of three channels
  localparam int unsigned LANES = 4;  // boundaries in a cycle
  localparam int unsigned PLACE_BITS = 6;  // of a column of four output pixels
  localparam int unsigned LINE_BITS = 8 + SIDE_BITS;  // of the sum of an output pixel's share of a line
  localparam int unsigned SUM_BITS = LINE_BITS + SIDE_BITS;  // of that of its area

  typedef logic [SIDE_BITS-1:0] side_t;

  // A boundary; or a step between boundaries, whose units are 0 to Size - 1. Those ahead of a place may
  // lie beyond the line, and the pixel has a bit for that.
  typedef struct packed {
    logic [SIDE_BITS:0] pixel;
    logic [UNIT_BITS-1:0] units;
  } boundary_t;

  // The header of a PGM or PPM file, as far as it has been read.
  typedef enum logic [2:0] {
    FIELD_P,
    FIELD_KIND,
    FIELD_GAP,
    FIELD_WIDTH,
    FIELD_HEIGHT,
    FIELD_MAXIMUM
  } field_e;
  localparam int unsigned HEADER_BYTES = 256;  // at most
  typedef struct packed {
    field_e field;
    logic   digits;   // the number of this field has begun
    logic   comment;  // until the end of the line
    logic   bad;
    logic   done;
    logic   grey;     // one channel, else three
    side_t  value;    // of the number, so far
    side_t  width;
    side_t  height;
    logic [$clog2(HEADER_BYTES):0] bytes;
  } header_t;

  // What follows from width and height: where boundaries lie, ...
  typedef struct packed {
    boundary_t [LANES:1] columns;  // between boundaries of a line that are so many apart
    boundary_t column_first;  // the first boundary of a line
    boundary_t line;  // between boundaries of lines
  } steps_t;
  // ... and how a sum over an area becomes a mean.
  typedef struct packed {
    logic [4:0] area_bits;  // of width * height, less 11
    logic [16:0] reciprocal;  // 2^(16 + bits of the area) / area, rounded
  } scale_t;
  typedef struct packed {
    steps_t steps;
    boundary_t line_first;  // the first boundary of lines
    logic [5:0] group;  // pixels that are taken in a cycle
    scale_t scale;
  } geometry_t;

  // How far the lines of an image have come.
  typedef struct packed {
    side_t x;  // pixels of the line that were taken
    side_t y;  // lines
    boundary_t column;  // the next boundary in the line
    boundary_t line;  // the next boundary of lines
    logic [UNIT_BITS-2:0] columns;  // output pixels of the line that are complete
    logic half;  // which place the next output row has
  } walk_t;

  // The output pixels that end in the pixels which are taken in a cycle.
  typedef struct packed {
    logic valid;
    logic [LANES-1:0] ends;  // one ends; the lowest lanes first
    logic [UNIT_BITS-2:0] columns;  // number of the first one
    logic line_ends;
    logic first_line;  // of the image
    logic row_ends;  // with this line the output row does
    logic [UNIT_BITS-1:0] row_units;  // that many units of the line belong to it
    logic half;
  } ends_t;
  // And these pixels themselves.
  typedef struct packed {
    ends_t ends;
    logic [5:0] bytes;
    logic [LANES-1:0][5:0] pixel;  // in which pixel of the group an output pixel ends
    logic [LANES-1:0][UNIT_BITS-1:0] units;  // and that many units of it belong to that
    logic line_begins;
  } group_t;

  // What leaves.
  typedef enum logic [1:0] {
    PACKET_BEGINS,
    IMAGE_BEGINS,
    IMAGE_PIXELS,  // four of them
    PACKET_ENDS
  } kind_e;

endpackage

`default_nettype wire
