// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_vector: the inputs of a matrix, as often as its outputs need them.
//
// What:        each vector of `Words` words leaves `Repeats` times. While one leaves, the next one comes.
// Handshake:   valid/ready; s_ready comes from registers alone.
// Latency:     2 cycles from a vector's last word to its first one.
// Throughput:  a word a cycle.

`default_nettype none

module fb_dnn_vector #(
    parameter int unsigned Width   = 8,   // bits of a word
    parameter int unsigned Words   = 16,  // of a vector
    parameter int unsigned Repeats = 4
) (
    input wire clk,
    input wire rst,

    input  wire              s_valid,
    output logic             s_ready,
    input  wire  [Width-1:0] s_data,

    output logic             m_valid,
    input  wire              m_ready,
    output logic [Width-1:0] m_data
);

  if (Width < 1 || Words < 1 || Repeats < 1) begin : gen_bad_size
    $fatal(
        1,
        "fb_dnn_vector (%m): Width=%0d, Words=%0d and Repeats=%0d must be 1 or more",
        Width,
        Words,
        Repeats
    );
  end

  localparam int unsigned Vectors = 2;  // that have room
  localparam int unsigned Depth = Vectors * Words;
  localparam int unsigned PlaceBits = $clog2(Depth);
  localparam int unsigned RepeatBits = Repeats > 1 ? $clog2(Repeats) : 1;
  localparam int unsigned WholeBits = $clog2(Vectors + 1);
  localparam int unsigned WordBits = Words > 1 ? $clog2(Words) : 1;
  typedef struct packed {
    logic [PlaceBits-1:0] first;  // word of the vector
    logic [WordBits-1:0]  word;
  } place_t;

  (* ram_style = (Depth > 64) ? "block" : "distributed", no_rw_check *)
  logic [Width-1:0] store[Depth];
  place_t write_q, read_q;
  logic [RepeatBits-1:0] repeat_q;
  logic [ WholeBits-1:0] whole_q;  // vectors that are there
  logic take, fetch, came, gone;  // came: a vector's last word does; gone: it is needed no more

  function automatic logic [PlaceBits-1:0] address(input place_t place);
    return place.first + PlaceBits'(place.word);
  endfunction
  function automatic logic is_last(input logic [WordBits-1:0] word);
    return word == WordBits'(Words - 1);
  endfunction
  function automatic place_t behind(input logic [PlaceBits-1:0] first);
    behind.word  = '0;
    behind.first = first == PlaceBits'(Depth - Words) ? '0 : first + PlaceBits'(Words);
  endfunction

  assign s_ready = whole_q != WholeBits'(Vectors);
  assign take = s_valid && s_ready;
  assign fetch = whole_q != '0 && (!m_valid || m_ready);
  assign came = take && is_last(write_q.word);
  assign gone = fetch && is_last(read_q.word) && repeat_q == RepeatBits'(Repeats - 1);

  always_ff @(posedge clk) begin : memory
    if (take) store[address(write_q)] <= s_data;
    if (fetch) m_data <= store[address(read_q)];
  end

  always_ff @(posedge clk) begin : follow
    if (!m_valid || m_ready) m_valid <= fetch;
    if (take) write_q.word <= write_q.word + 1'b1;
    if (came) write_q <= behind(write_q.first);
    if (fetch) begin
      read_q.word <= read_q.word + 1'b1;
      if (is_last(read_q.word)) begin
        read_q.word <= '0;
        repeat_q <= repeat_q + 1'b1;
      end
    end
    if (gone) begin
      read_q   <= behind(read_q.first);
      repeat_q <= '0;
    end
    whole_q <= whole_q + WholeBits'(came) - WholeBits'(gone);
    if (rst) {m_valid, whole_q, write_q, read_q, repeat_q} <= '0;
  end

endmodule

`default_nettype wire
