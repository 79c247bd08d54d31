// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_crc32c: the CRC32C of packets that pass by (RFC 3720, appendix B.4).
//
// What:        a beat adds its sum to what the beats before make of it 64 bytes later. The sum is a
//              matrix of 32 rows and 512 columns, all XOR: rows go in groups, columns that are the
//              same in a group are added first. A last beat that is not full is taken with zeros
//              behind it, and these are taken back in six steps of 2^k bytes.
// Handshake:   none: a beat counts in a cycle in which `valid` is high. `sum_valid` is high for a
//              cycle, once for each packet, in their order.
// Latency:     10 cycles from the last beat to `sum_valid`. Throughput: 64 bytes a cycle, packets of
//              a beat too, none lost between packets.
// Limits:      `keep` is full but on the last beat, and without holes there; a last beat without
//              bytes is well, a packet without bytes has the sum 0. 512-bit registers: one.
// Does not implement: other polynomials; a beginning other than that of an empty packet.

`default_nettype none

module fb_store_crc32c #(
    // Rows of the matrix that are added together, 1 to 6: six cost 30 % less LUT than one, and a
    // simulator three times as long.
`ifdef SYNTHESIS
    parameter int unsigned Group = 6
`else
    parameter int unsigned Group = 1
`endif
) (
    input wire clk,
    input wire rst,

    input wire         valid,
    input wire [511:0] data,   // the first byte lowest
    input wire [ 63:0] keep,
    input wire         last,

    output logic        sum_valid,
    output logic [31:0] sum
);

  if (Group < 1 || Group > 6) begin : gen_bad_group
    $fatal(1, "fb_store_crc32c (%m): Group=%0d must be from 1 to 6", Group);
  end

  localparam int unsigned Bits = 512;
  localparam int unsigned Steps = 6;  // 2^6 bytes are a beat
  localparam logic [31:0] Polynomial = 32'h82f6_3b78;  // lowest bit: highest power
  localparam int unsigned Groups = (32 + Group - 1) / Group;
  localparam int unsigned Kinds = 1 << Group;  // of columns in a group

  typedef logic [31:0][31:0] square_t;  // columns
  typedef logic [31:0][Bits-1:0] wide_t;  // rows

  // What a bit adds to the sum: the polynomial, moved on by the bits behind it.
  function automatic wide_t beat_matrix();
    logic [31:0] column;
    column = Polynomial;
    for (int at = Bits - 1; at >= 0; at--) begin
      for (int row = 0; row < 32; row++) beat_matrix[row][at] = column[row];
      column = (column >> 1) ^ (column[0] ? Polynomial : '0);
    end
  endfunction

  function automatic logic [31:0] times(input square_t matrix, input logic [31:0] value);
    times = '0;
    for (int at = 0; at < 32; at++) times ^= matrix[at] & {32{value[at]}};
  endfunction

  // Takes back 2^step bytes of zeros: eight steps back of the register, and the square of that.
  function automatic square_t back_matrix(input int unsigned step);
    square_t root;
    for (int at = 0; at < 32; at++) begin
      back_matrix[at] = 32'd1 << at;
      for (int bits = 0; bits < 8; bits++)
      back_matrix[at] = back_matrix[at][31] ?
          {back_matrix[at][30:0] ^ Polynomial[30:0], 1'b1} : back_matrix[at] << 1;
    end
    for (int unsigned square = 0; square < step; square++) begin
      root = back_matrix;
      for (int at = 0; at < 32; at++) back_matrix[at] = times(root, root[at]);
    end
  endfunction

  localparam wide_t BeatMatrix = beat_matrix();

  function automatic square_t rows_of(input square_t columns);
    for (int row = 0; row < 32; row++)
    for (int at = 0; at < 32; at++) rows_of[row][at] = columns[at][row];
  endfunction

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

  // The same as ^(value & columns), which simulators take longer for.
  function automatic logic sum_of(input logic [Bits-1:0] value, input logic [Bits-1:0] columns);
    logic [31:0] part;
    part = '0;
    for (int at = 0; at < Bits; at += 32) part ^= value[at+:32] & columns[at+:32];
    return ^part;
  endfunction

  // ------------------------------------------------------------------------------- what a beat adds
  logic [Bits-1:0] data_q;
  logic [Steps-1:0] zeros_q, zeros1_q, zeros2_q;
  logic [2:0] valid_q, last_q, empty_q;

  // Bytes that are missing at the end: a bit is set where `keep` ends in an odd stretch of so many,
  // counted from the last byte.
  function automatic logic [Steps-1:0] missing(input logic [63:0] kept);
    missing = '0;
    for (int k = 0; k < Steps; k++)
    for (int at = 0; at < 64; at += 2 << k)
    missing[k] = missing[k] || ((at == 0 || kept[at]) && !kept[at+(1<<k)]);
  endfunction

  always_ff @(posedge clk) begin : take
    if (valid) begin
      for (int at = 0; at < 64; at++) begin
        if (!keep[at]) data_q[8*at+:8] <= '0;
        else data_q[8*at+:8] <= data[8*at+:8];
      end
    end
    if (valid && last) zeros_q <= missing(keep);
    zeros1_q <= zeros_q;
    zeros2_q <= zeros1_q;
    last_q   <= {last_q[1:0], last};
    empty_q  <= {empty_q[1:0], !keep[0]};
    valid_q  <= rst ? '0 : {valid_q[1:0], valid};
  end

  logic [Groups-1:0][Kinds-1:0] kinds_q;
  for (genvar g = 0; g < Groups; g++) begin : gen_group
    assign kinds_q[g][0] = 1'b0;
    for (genvar k = 1; k < Kinds; k++) begin : gen_kind
      localparam logic [Bits-1:0] Columns = columns_of(g, k);
      if (Columns == '0) begin : gen_none
        assign kinds_q[g][k] = 1'b0;
      end else begin : gen_some
        always_ff @(posedge clk) if (valid_q[0]) kinds_q[g][k] <= sum_of(data_q, Columns);
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

  // ------------------------------------------------------------------------------------ the register
  logic [31:0] state_q;
  // Zeros that are to be taken back, in the stages of that.
  logic [Steps:0][31:0] back_q;
  logic [Steps-1:0][Steps-1:0] left_q;
  logic [Steps:0] done_q;

  always_ff @(posedge clk) begin : follow
    automatic logic [31:0] next;
    if (valid_q[2]) begin
      next = empty_q[2] ? state_q : fed_back(state_q) ^ beat_q;
      state_q   <= next;
      back_q[0] <= next;
    end
    if (rst || (valid_q[2] && last_q[2])) state_q <= '1;
    left_q <= {left_q[Steps-2:0], empty_q[2] ? 6'd0 : zeros2_q};
    done_q <= rst ? '0 : {done_q[Steps-1:0], valid_q[2] && last_q[2]};
  end

  // ------------------------------------------------------------------------------- zeros, taken back
  for (genvar step = 0; step < Steps; step++) begin : gen_back
    localparam square_t Back = rows_of(back_matrix(step));
    always_ff @(posedge clk) begin
      if (done_q[step])
        for (int row = 0; row < 32; row++)
        back_q[step+1][row] <= left_q[step][step] ? ^(back_q[step] & Back[row]) : back_q[step][row];
    end
  end

  assign sum_valid = done_q[Steps];
  assign sum = ~back_q[Steps];

`ifndef SYNTHESIS
  keep_is_whole :
  assert property (@(posedge clk) disable iff (rst) valid && !last |-> keep == '1)
  else $error("fb_store_crc32c (%m): keep=%0h before the last beat", keep);

  keep_has_no_holes :
  assert property (@(posedge clk) disable iff (rst) valid |-> (keep & (keep + 64'd1)) == '0)
  else $error("fb_store_crc32c (%m): keep=%0h has holes", keep);
`endif

endmodule

`default_nettype wire
