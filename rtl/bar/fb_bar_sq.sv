// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_bar_sq: where each SSD reads its submission queue.
//
// What:        the queues of drive d stand at 2 * CqOffset * d; submission queue entry i at 64 * i.
//              A read asks `fetch_*` for the entry and passes `fetch_sqe` on: nothing is stored.
// Handshake:   reads as fb_bar_target asks for them, always taken. `fetch_valid` is a pulse and is
//              answered FetchLatency cycles later.
// Latency:     Latency cycles from a read to its word.
// Limits:      what is read elsewhere in the queues is an error.
// Does not implement: reading completions back.

`default_nettype none

module fb_bar_sq #(
    parameter int unsigned QueueDepth = 64,  // entries of a queue, 2 to 1024
    parameter int unsigned CqOffset = 4096,  // bytes, a power of two: max(4096, QueueDepth * 64)
    parameter int unsigned Drives = 1,  // 1 to 8
    parameter int unsigned FetchLatency = 2,  // cycles from fetch_valid to fetch_sqe
    parameter int unsigned Latency = 3,  // cycles, FetchLatency or more
    localparam int unsigned PairBits = $clog2(CqOffset) + 1,  // of an address in a drive's queues
    localparam int unsigned AddrBits = PairBits + $clog2(Drives)
) (
    input wire clk,

    input  wire                 read_valid,
    input  wire  [AddrBits-1:0] read_addr,
    output logic [       511:0] read_word,
    output logic                read_error,

    output logic         fetch_valid,
    output logic [  2:0] fetch_drive,
    output logic [  9:0] fetch_slot,
    input  wire  [511:0] fetch_sqe
);

  if (QueueDepth < 2 || QueueDepth > 1024) begin : gen_bad_depth
    $fatal(1, "fb_bar_sq (%m): QueueDepth=%0d must be from 2 to 1024", QueueDepth);
  end
  if (CqOffset != (QueueDepth <= 64 ? 4096 : 1 << $clog2(QueueDepth * 64))) begin : gen_bad_offset
    $fatal(
        1,
        "fb_bar_sq (%m): CqOffset=%0d must be 4096, or QueueDepth=%0d rounded up to 2^n, * 64",
        CqOffset,
        QueueDepth
    );
  end
  if (Drives < 1 || Drives > 8) begin : gen_bad_drives
    $fatal(1, "fb_bar_sq (%m): Drives=%0d must be from 1 to 8", Drives);
  end
  if (Latency < FetchLatency) begin : gen_bad_latency
    $fatal(1, "fb_bar_sq (%m): Latency=%0d is less than FetchLatency", Latency);
  end

  typedef struct packed {
    logic valid;
    logic entry;  // an entry of a submission queue
    logic [2:0] drive;
    logic [9:0] slot;
  } fetch_t;

  localparam int unsigned Early = Latency - FetchLatency;  // cycles that a fetch can wait
  fetch_t asked;
  fetch_t fetch_q[Early+1];  // the last one asks
  logic [FetchLatency-1:0] error_q;

  assign asked.valid = read_valid;
  assign asked.slot = 10'(read_addr[PairBits-2:6]);
  assign asked.drive = 3'({3'd0, read_addr} >> PairBits);
  assign asked.entry = !read_addr[PairBits-1] && 32'(asked.slot) < QueueDepth &&
      32'(asked.drive) < Drives;

  assign fetch_q[0] = asked;
  for (genvar i = 0; i < Early; i++) begin : gen_wait
    always_ff @(posedge clk) fetch_q[i+1] <= fetch_q[i];
  end

  assign fetch_valid = fetch_q[Early].valid && fetch_q[Early].entry;
  assign fetch_drive = fetch_q[Early].drive;
  assign fetch_slot  = fetch_q[Early].slot;
  always_ff @(posedge clk) error_q <= FetchLatency'({error_q, !fetch_q[Early].entry});

  assign read_word  = fetch_sqe;
  assign read_error = error_q[FetchLatency-1];

  logic unused;
  assign unused = &{1'b0, read_addr[5:0], 1'b0};

endmodule

`default_nettype wire
