// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_buffer_bursts: goes round a ring in memory in bursts, as its writer or as its reader.
//
// What:        counts the beats that wait to be moved and the places that are free for them. A burst
//              goes to the end of its page of 4 KiB, once all of its beats wait; with `partial` also
//              one of the beats that there are. No burst goes while fewer than 64 places are free.
// Handshake:   `come` beats have come, one place has been `freed`; both are always taken. `burst_*`
//              valid/ready. A burst on offer has its beats and places, and stays as it is.
// Latency:     2 cycles from `come` to `burst_valid`.
// Throughput:  a burst every two cycles.
// Limits:      `base`, `bytes` and `places` hold while `rst` is low. A ring of 0 bytes has no places.
// Does not implement: anything about the data.

`default_nettype none

module fb_buffer_bursts #(
    parameter int unsigned WaitBits = 29,  // of the count of beats that wait, 7 or more
    parameter int unsigned FreeBits = 29   // of the count of free places, 7 or more
) (
    input wire clk,
    input wire rst,

    input wire [       63:12] base,
    input wire [       34:12] bytes,
    input wire [FreeBits-1:0] places,  // free at first
    input wire                partial,

    input wire [6:0] come,
    input wire       freed,

    output logic        burst_valid,
    input  wire         burst_ready,
    output logic [63:0] burst_addr,
    output logic [ 5:0] burst_count_m1  // beats - 1
);

  if (WaitBits < 7 || FreeBits < 7) begin : gen_bad_bits
    $fatal(1, "fb_buffer_bursts (%m): WaitBits=%0d, FreeBits=%0d: 7 or more", WaitBits, FreeBits);
  end

  logic [22:0] page_q, next_page;
  logic [5:0] beat_q, rest_m1;
  logic [6:0] count, end_beat;
  logic [WaitBits-1:0] waiting_q;
  logic [FreeBits-1:0] free_q;
  logic whole, goes;

  assign rest_m1 = ~beat_q;  // beats to the end of the page, minus 1
  assign whole = waiting_q > WaitBits'(rest_m1);
  assign goes = burst_valid && burst_ready;
  assign count = goes ? 7'(burst_count_m1) + 1'b1 : '0;
  assign end_beat = 7'(beat_q) + count;
  assign next_page = page_q + 1'b1;
  assign burst_addr = {base + 52'(page_q), beat_q, 6'd0};

  always_ff @(posedge clk) begin : offer
    if (!burst_valid) begin
      burst_valid <= free_q[FreeBits-1:6] != '0 && (whole || (partial && waiting_q != '0));
      burst_count_m1 <= whole ? rest_m1 : waiting_q[5:0] - 1'b1;
    end else if (burst_ready) begin
      burst_valid <= 1'b0;
    end
    if (rst) burst_valid <= 1'b0;
  end

  always_ff @(posedge clk) begin : move
    beat_q <= end_beat[5:0];
    if (end_beat[6]) page_q <= (next_page == bytes) ? '0 : next_page;
    waiting_q <= waiting_q + WaitBits'(come) - WaitBits'(count);
    free_q <= free_q + FreeBits'(freed) - FreeBits'(count);
    if (rst) begin
      {page_q, beat_q, waiting_q} <= '0;
      free_q <= places;
    end
  end

  fb_axis_check #(
      .Width(70),
      .Name ("burst")
  ) u_check (
      .clk,
      .rst,
      .valid(burst_valid),
      .ready(burst_ready),
      .data ({burst_addr, burst_count_m1})
  );

`ifndef SYNTHESIS
  // Immediate, since it looks at inputs: a concurrent one would see what these led to a cycle ago.
  always_ff @(posedge clk) begin : watch
    if (!rst) begin
      a_freed_was_taken :
      assert (!freed || free_q != places)
      else $error("fb_buffer_bursts (%m): a place is freed that was not taken");
    end
  end
`endif

endmodule

`default_nettype wire
