// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_dnn_delay: the word that came so many steps ago.
//
// What:        in each cycle with `step` a word comes; m_data is the one of `Steps` steps before it.
// Handshake:   none; m_data holds until the next step.
// Latency:     m_data belongs to the word that s_data shows.
// Throughput:  a word a cycle.
// Limits:      what it gives before the first `Steps` steps behind a reset means nothing.

`default_nettype none

module fb_dnn_delay #(
    parameter int unsigned Width = 8,  // bits of a word
    parameter int unsigned Steps = 64  // 1 or more
) (
    input wire clk,
    input wire rst,
    input wire step,
    input wire [Width-1:0] s_data,
    output logic [Width-1:0] m_data
);

  if (Width < 1 || Steps < 1) begin : gen_bad_size
    $fatal(1, "fb_dnn_delay (%m): Width=%0d and Steps=%0d must be at least 1", Width, Steps);
  end

  if (Steps == 1) begin : gen_register
    logic unused;
    assign unused = rst;
    always_ff @(posedge clk) if (step) m_data <= s_data;
  end else begin : gen_memory
    localparam int unsigned PlaceBits = $clog2(Steps);
    localparam logic [PlaceBits-1:0] Last = PlaceBits'(Steps - 1);

    // The oldest word is read a step before it is written over: no place has both at a time.
    (* ram_style = (Steps > 64) ? "block" : "distributed", no_rw_check *)
    logic [Width-1:0] store[Steps];
    logic [PlaceBits-1:0] place_q, next;
    assign next = place_q == Last ? '0 : place_q + 1'b1;

    always_ff @(posedge clk) begin : memory
      if (step) begin
        m_data <= store[next];
        store[place_q] <= s_data;
        place_q <= next;
      end
      if (rst) place_q <= '0;
    end
  end

endmodule

`default_nettype wire
