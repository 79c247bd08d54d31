// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_crc32c: the CRC32C of packets of several sources (RFC 3720, appendix B.4).
//
// What:        a beat adds its sum to what the beats before make of it 64 bytes later. The sum is a
//              matrix of 32 rows and 512 columns, all XOR: rows go in groups, columns that are the
//              same in a group are added first. A last beat that is not full is taken with zeros
//              behind it, and these are taken back in six steps of 2^k bytes. Each source has a
//              register of its own for the packet that it is in, so that their beats may alternate.
// Handshake:   a beat moves in a cycle in which `valid` and `ready` are high. Source 0 is always
//              ready. A beat of another source waits in a register for a cycle without a beat of source
//              0; while that register is empty the first source that is valid is ready. `sum_valid`
//              is high for a cycle, once for each packet.
// Latency:     10 cycles from the last beat of source 0 to `sum_valid`; of another source 11, and a
//              cycle for each beat of source 0 meanwhile.
// Throughput:  64 bytes a cycle, packets of a beat too, none lost between packets; of other sources 32
//              bytes in each cycle without a beat of source 0.
// Limits:      only a last beat has fewer than 64 bytes, it may have none; what is behind them is
//              zero. A packet without bytes has the sum 0. 512-bit registers: two.
// Does not implement: other polynomials; a beginning other than that of an empty packet.

`default_nettype none

module fb_store_crc32c #(
    parameter int unsigned Sources = 1,  // 1 to 4
    // Rows of the matrix that are added together, 1 to 6: six cost 30 % less LUT than one, and a
    // simulator six times as long.
`ifdef SYNTHESIS
    parameter int unsigned Group   = 6
`else
    parameter int unsigned Group   = 1
`endif
) (
    input wire clk,
    input wire rst,

    input  wire  [Sources-1:0]        valid,
    output logic [Sources-1:0]        ready,
    input  wire  [Sources-1:0][511:0] data,   // the first byte lowest
    input  wire  [Sources-1:0][  6:0] bytes,
    input  wire  [Sources-1:0]        last,

    output logic [Sources-1:0] sum_valid,
    output logic [       31:0] sum
);

  if (Sources < 1 || Sources > 4) begin : gen_bad_sources
    $fatal(1, "fb_store_crc32c (%m): Sources=%0d must be from 1 to 4", Sources);
  end
  if (Group < 1 || Group > 6) begin : gen_bad_group
    $fatal(1, "fb_store_crc32c (%m): Group=%0d must be from 1 to 6", Group);
  end

  localparam int unsigned Bits = 512;
  localparam int unsigned Steps = 6;  // 2^6 bytes are a beat
  localparam int unsigned SourceBits = Sources > 1 ? $clog2(Sources) : 1;
  localparam logic [31:0] Polynomial = 32'h82f6_3b78;  // lowest bit: highest power
  localparam int unsigned Groups = (32 + Group - 1) / Group;
  localparam int unsigned Kinds = 1 << Group;  // of columns in a group

  typedef logic [31:0][Bits-1:0] matrix_t;  // rows

  // The register a bit of zeros later, and earlier.
  function automatic logic [31:0] later(input logic [31:0] state);
    return (state >> 1) ^ (state[0] ? Polynomial : '0);
  endfunction

  function automatic logic [31:0] earlier(input logic [31:0] state);
    return {state[30:0] ^ (state[31] ? Polynomial[30:0] : '0), state[31]};
  endfunction

  // Column 0 is given; each other one is the one before it, a bit of zeros earlier. So row R of a column
  // is row R-1 of the column before, and row 31 of that one where the polynomial has bit R-1. Behind
  // `columns` the rows mean nothing.
  function automatic matrix_t matrix(input logic [31:0] first, input int unsigned columns);
    logic [31:0] column;
    logic [Bits-1:0] above, fed;
    column = first;
    fed = '0;
    for (int unsigned at = 0; at < columns; at++) begin
      fed[at] = column[31];
      column  = earlier(column);
    end
    above = fed;
    for (int row = 0; row < 32; row++) begin
      above = {above[Bits-2:0], first[row]};
      matrix[row] = above;
      if (Polynomial[row]) above ^= fed;
    end
  endfunction

  // What a bit adds to the sum: the register's lowest bit, moved on by the bits of a beat behind it.
  function automatic matrix_t beat_matrix();
    logic [31:0] column;
    column = 32'd1;
    for (int at = 0; at < Bits; at++) column = later(column);
    return matrix(column, Bits);
  endfunction

  // Takes back 2^step bytes of zeros.
  function automatic matrix_t back_matrix(input int unsigned step);
    logic [31:0] column;
    column = 32'd1;
    for (int unsigned at = 0; at < (8 << step); at++) column = earlier(column);
    return matrix(column, 32);
  endfunction

  localparam matrix_t BeatMatrix = beat_matrix();

  // The register's bits come before the beat's, so that a beat later they are its first 32.
  function automatic logic [31:0] fed_back(input logic [31:0] state);
    for (int row = 0; row < 32; row++) fed_back[row] = ^(state & BeatMatrix[row][31:0]);
  endfunction

  // Which columns are of a kind in a group of rows.
  function automatic logic [Bits-1:0] columns_of(input int unsigned group, input int unsigned kind);
    columns_of = '1;
    for (int unsigned bit_ = 0; bit_ < Group; bit_++) begin
      if (group * Group + bit_ < 32)
        columns_of &= kind[bit_] ? BeatMatrix[group*Group+bit_] : ~BeatMatrix[group*Group+bit_];
      else if (kind[bit_]) columns_of = '0;
    end
  endfunction

  // ------------------------------------------------------------------------------- what a beat adds
  // What goes along with a beat.
  typedef struct packed {
    logic last;
    logic [6:0] bytes;
    logic [SourceBits-1:0] source;
  } beat_t;

  function automatic beat_t beat_of(input logic [SourceBits-1:0] source, input logic ends,
                                    input logic [6:0] count);
    beat_of.last   = ends;
    beat_of.bytes  = count;
    beat_of.source = source;
  endfunction

  logic [Bits-1:0] data_q, held_q;
  logic [2:0] valid_q;
  logic held_valid_q;
  beat_t [2:0] beats_q;
  beat_t held_beat_q;

  always_comb begin : offer
    for (int i = 0; i < Sources; i++) begin
      ready[i] = i == 0 || !held_valid_q;
      for (int other = 1; other < i; other++) if (valid[other]) ready[i] = 1'b0;
    end
  end

  always_ff @(posedge clk) begin : take
    if (valid[0]) data_q <= data[0];
    else data_q <= held_q;
    beats_q <= {beats_q[1:0], valid[0] ? beat_of('0, last[0], bytes[0]) : held_beat_q};
    valid_q <= rst ? '0 : {valid_q[1:0], valid[0] || held_valid_q};
    if (!valid[0]) held_valid_q <= 1'b0;
    for (int i = 1; i < Sources; i++) begin
      if (valid[i] && ready[i]) begin
        held_valid_q <= 1'b1;
        held_q <= data[i];
        held_beat_q <= beat_of(SourceBits'(i), last[i], bytes[i]);
      end
    end
    if (rst) held_valid_q <= 1'b0;
  end

  logic [Groups-1:0][Kinds-1:0] kinds_q;
  for (genvar g = 0; g < Groups; g++) begin : gen_group
    assign kinds_q[g][0] = 1'b0;
    for (genvar k = 1; k < Kinds; k++) begin : gen_kind
      localparam logic [Bits-1:0] Columns = columns_of(g, k);
      if (Columns == '0) begin : gen_none
        assign kinds_q[g][k] = 1'b0;
      end else begin : gen_some
        always_ff @(posedge clk) if (valid_q[0]) kinds_q[g][k] <= ^(data_q & Columns);
      end
    end
  end

  // Kinds that have a row.
  function automatic logic [Kinds-1:0] kinds_with(input logic [4:0] row);
    for (int unsigned kind = 0; kind < Kinds; kind++) kinds_with[kind] = kind[row];
  endfunction

  logic [31:0] beat_q;
  for (genvar row = 0; row < 32; row++) begin : gen_row
    localparam logic [Kinds-1:0] With = kinds_with(5'(row % Group));
    always_ff @(posedge clk) if (valid_q[1]) beat_q[row] <= ^(kinds_q[row/Group] & With);
  end

  // ----------------------------------------------------------------------------------- the registers
  logic [Sources-1:0][31:0] states_q;
  // Zeros that are to be taken back, in the stages of that; then whose sum it is.
  logic [Steps:0][31:0] back_q;
  logic [Steps-1:0][Steps-1:0] left_q;
  logic [Steps:0][SourceBits-1:0] source_q;
  logic [Steps:0] done_q;
  logic [Steps-1:0] zeros_q;
  logic empty_q;
  logic [31:0] state, next;
  beat_t added;

  assign added = beats_q[2];
  assign state = states_q[added.source];
  assign next  = empty_q ? state : fed_back(state) ^ beat_q;

  // What they say is in registers of its own by then.
  logic unused;
  assign unused = &{1'b0, added.bytes};

  always_ff @(posedge clk) begin : follow
    if (valid_q[2]) begin
      states_q[added.source] <= added.last ? '1 : next;
      back_q[0] <= next;
    end
    if (rst) states_q <= '1;
    // Of the beat that is added next.
    empty_q  <= beats_q[1].bytes == '0;
    zeros_q  <= beats_q[1].bytes == '0 ? '0 : Steps'(7'd64 - beats_q[1].bytes);
    left_q   <= {left_q[Steps-2:0], zeros_q};
    source_q <= {source_q[Steps-1:0], added.source};
    done_q   <= rst ? '0 : {done_q[Steps-1:0], valid_q[2] && added.last};
  end

  // ------------------------------------------------------------------------------- zeros, taken back
  for (genvar step = 0; step < Steps; step++) begin : gen_back
    localparam matrix_t Back = back_matrix(step);
    logic [31:0] taken;
    for (genvar row = 0; row < 32; row++) begin : gen_row
      assign taken[row] = ^(back_q[step] & Back[row][31:0]);
    end
    always_ff @(posedge clk)
      if (done_q[step])
        back_q[step+1] <= left_q[step][step] ? taken : back_q[step];
  end

  always_comb begin : show
    sum_valid = '0;
    sum_valid[source_q[Steps]] = done_q[Steps];
  end
  assign sum = ~back_q[Steps];

`ifndef SYNTHESIS
  for (genvar i = 0; i < Sources; i++) begin : gen_watch
    beats_are_full :
    assert property (@(posedge clk) disable iff (rst) valid[i] && !last[i] |-> bytes[i] == 7'd64)
    else $error("fb_store_crc32c (%m): %0d bytes in front of the last beat", bytes[i]);

    bytes_fit :
    assert property (@(posedge clk) disable iff (rst) valid[i] |-> bytes[i] <= 7'd64)
    else $error("fb_store_crc32c (%m): %0d bytes in a beat of 64", bytes[i]);

    tail_is_zero :
    assert property (@(posedge clk) disable iff (rst)
                     valid[i] && bytes[i] < 7'd64 |-> (data[i] >> {bytes[i][5:0], 3'd0}) == '0)
    else $error("fb_store_crc32c (%m): behind its %0d bytes a beat is not zero", bytes[i]);
  end
`endif

endmodule

`default_nettype wire
