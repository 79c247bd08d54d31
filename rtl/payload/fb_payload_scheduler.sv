// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_scheduler: schedules reads and writes of the DRAM, so that its bus seldom turns around.
//
// What:        reads go first while there are any, until WriteBatch bursts of writes wait; then so
//              many writes follow each other. A write that is alone waits for MostReads reads at
//              most; a read for one batch of writes.
// Handshake:   `may_read` or `may_write` is high; a burst that is requested then pulses `read_goes`
//              or `write_goes`.
// Latency:     1 cycle from a wish to the turn.
// Does not implement: any knowledge of addresses.

`default_nettype none

module fb_payload_scheduler #(
    parameter int unsigned WriteBatch = 4,  // bursts of writes in a row, 1 to 16
    parameter int unsigned ReadBatch = 4,  // bursts of reads before writes that wait, 1 to MostReads
    parameter int unsigned MostReads = 16  // bursts of reads before a write alone, at most 64
) (
    input wire clk,
    input wire rst,

    input wire       read_waits,
    input wire       write_waits,
    input wire [4:0] writes,       // bursts that wait, 16 for more
    input wire       read_goes,
    input wire       write_goes,

    output logic may_read,
    output logic may_write
);

  if (WriteBatch < 1 || WriteBatch > 16) begin : gen_bad_batch
    $fatal(1, "fb_payload_scheduler (%m): WriteBatch=%0d must be from 1 to 16", WriteBatch);
  end
  if (MostReads > 64) begin : gen_bad_most
    $fatal(1, "fb_payload_scheduler (%m): MostReads=%0d must be at most 64", MostReads);
  end
  if (ReadBatch < 1 || ReadBatch > MostReads) begin : gen_bad_reads
    $fatal(1, "fb_payload_scheduler (%m): ReadBatch=%0d must be from 1 to MostReads", ReadBatch);
  end

  logic writing_q, goes, to_write, to_read;
  logic [6:0] done_q;  // bursts of this turn, as far as they matter

  // Who may go comes from registers, so the turn changes as its last burst goes.
  function automatic logic reached(input int unsigned bursts);
    return done_q >= 7'(bursts) || (goes && done_q == 7'(bursts - 1));
  endfunction

  assign goes = read_goes || write_goes;
  always_comb begin : turn
    to_write = !writing_q && write_waits &&
        (!read_waits || reached(MostReads) || (reached(ReadBatch) && writes >= 5'(WriteBatch)));
    to_read = writing_q && (!write_waits || (read_waits && reached(WriteBatch)));
  end

  always_ff @(posedge clk) begin
    writing_q <= to_write || (writing_q && !to_read);
    if (to_write || to_read) done_q <= '0;
    else if (goes && !done_q[6]) done_q <= done_q + 1'b1;
    if (rst) {writing_q, done_q} <= '0;
  end

  assign may_read  = !writing_q;
  assign may_write = writing_q;

endmodule

`default_nettype wire
