// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_lanes: the same values in the same order, more or fewer of them at a time.
//
// What:        each word of `From` values leaves as From / To words, or each To / From words leave as
//              one; the lowest value is the first.
// Handshake:   valid/ready; s_ready depends on m_ready.
// Latency:     1 cycle; 0 where From is To.
// Throughput:  a word a cycle on the side whose words are the smaller.

`default_nettype none

module fb_dnn_lanes #(
    parameter  int unsigned Width = 8,  // bits of a value
    parameter  int unsigned From  = 4,  // values of a word that comes
    parameter  int unsigned To    = 1   // of one that leaves; a multiple or a divisor of From
) (
    input wire clk,
    input wire rst,

    input  wire                        s_valid,
    output logic                       s_ready,
    input  wire  [From-1:0][Width-1:0] s_data,

    output logic                     m_valid,
    input  wire                      m_ready,
    output logic [To-1:0][Width-1:0] m_data
);

  if (From < 1 || To < 1 || (From % To != 0 && To % From != 0)) begin : gen_bad_lanes
    $fatal(1, "fb_dnn_lanes (%m): From=%0d, To=%0d: one must be a multiple of the other", From, To);
  end

  if (From == To) begin : gen_wires
    assign s_ready = m_ready;
    assign m_valid = s_valid;
    assign m_data  = s_data;
    logic unused;
    assign unused = &{1'b0, clk, rst};
  end else begin : gen_words
    localparam int unsigned Ratio = From > To ? From / To : To / From;
    localparam int unsigned CountBits = $clog2(Ratio + 1);
    localparam logic [CountBits-1:0] All = CountBits'(Ratio);
    logic [CountBits-1:0] held_q;  // words of the smaller size

    if (From > To) begin : gen_narrow
      logic [From-1:0][Width-1:0] values_q;
      assign m_valid = held_q != '0;
      assign m_data  = values_q[To-1:0];
      assign s_ready = held_q == '0 || (held_q == CountBits'(1) && m_ready);
      always_ff @(posedge clk) begin : shift
        if (m_valid && m_ready) begin
          values_q <= values_q >> (To * Width);
          held_q   <= held_q - 1'b1;
        end
        if (s_valid && s_ready) begin
          values_q <= s_data;
          held_q   <= All;
        end
        if (rst) held_q <= '0;
      end
    end else begin : gen_wide
      logic [To-1:0][Width-1:0] values_q;
      assign m_valid = held_q == All;
      assign m_data  = values_q;
      assign s_ready = !m_valid || m_ready;
      always_ff @(posedge clk) begin : shift
        if (m_valid && m_ready) held_q <= '0;
        if (s_valid && s_ready) begin
          values_q <= {s_data, values_q[To-1:From]};
          held_q   <= m_valid ? CountBits'(1) : held_q + 1'b1;
        end
        if (rst) held_q <= '0;
      end
    end
  end

endmodule

`default_nettype wire
