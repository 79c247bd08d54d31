// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_raw_resync: knows from when on the streamer's answers belong to a run, after a reset of the
// drives. Writing has one, and reading has one.
//
// What:        disabling the streamer forgets transactions without an answer, but neither a packet half
//              taken nor a beat on offer (docs/reference/streams.md). No signal says which of them a
//              reset has met. So a run that is cut off leaves its direction stale: answers are dropped.
//              Once `hold` is low a probe is sent, a transaction that breaks a rule on purpose. Its
//              code comes behind all that is old, and ends that.
// Codes:       no chunk gets the code of a probe, but for a write without data, whose code is
//              ZERO_LENGTH. So the first probe is misaligned. One that another reset meets may be
//              answered as well; the probe behind it has the other code.
// Handshake:   `sent` pulses as the probe's first beat is put on offer, `answer_valid` as an answer is
//              taken.
// Latency:     1 cycle from `cut` to `stale`, and from the answer to its end.
// Limits:      the streamer is disabled at least once from shortly before `drives_reset` rises until
//              `hold` falls, and is enabled while `hold` is low. How long each of them is high does
//              not count.
// Does not implement: the probe's beats, which are the user's.

`default_nettype none

module fb_store_raw_resync
  import fb_spec_pkg::*;
(
    input wire clk,
    input wire rst,

    input wire drives_reset,
    input wire hold,
    input wire cut,           // pulse: a run ends with what it had under way

    output logic stale,      // answers belong to no run
    output logic opens,      // and the streamer takes what is sent
    output logic asks,       // and the probe is to be sent
    output logic misaligned, // by its address; else it has no data

    input wire       sent,
    input wire       answer_valid,
    input wire [7:0] answer
);

  logic sent_q, heard;

  assign opens = stale && !hold && !drives_reset;
  assign asks = opens && !sent_q;
  assign heard = sent_q && answer_valid && answer == (misaligned ? ERR_MISALIGNED : ERR_ZERO_LENGTH);

  always_ff @(posedge clk) begin : follow
    stale  <= (stale && !heard) || cut;
    sent_q <= (sent_q || sent) && !heard && !drives_reset;
    if (sent_q && drives_reset) misaligned <= !misaligned;
    if (heard || rst) misaligned <= 1'b1;
    if (rst) {stale, sent_q} <= '0;
  end

endmodule

`default_nettype wire
