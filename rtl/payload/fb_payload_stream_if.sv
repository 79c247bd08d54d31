// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_payload_stream_if: what the streams ask of the payload memory: write requests, read requests; and
// where a memory outside of the chip lies.
//
// Handshake:   docs/reference/memories.md. A beat to be written is always taken; `write_hold` asks for
//              no more. Requests are committed in the order of their ends; read data come in the
//              order of their requests, and the requester has room for them.

`default_nettype none

interface fb_payload_stream_if #(
    parameter int unsigned AddrBits = 16  // of a 64-byte word
);

  logic write_valid, write_end, write_hold, committed, commit_error;
  logic read_valid, read_ready, read_first, data_valid, data_error;
  logic [AddrBits-1:0] write_addr, read_addr;
  logic [511:0] write_data, data;
  logic [6:0] read_count;
  logic restart, quiet;
  logic [1:0] errors;

  // Settings, stable while the streamer is enabled.
  logic [63:0] dram_read, dram_write;  // addresses of the buffers, multiples of their size
  logic segment_we;  // where a segment of host memory lies; index as fb_payload_host_map has it
  logic [4:0] segment_index;
  logic [63:0] segment_address;
  logic [63:0] memory_offset;  // added to it modulo 2^64, a multiple of its size

  modport streamer(
      output write_valid, write_addr, write_data, write_end,
      input write_hold, committed, commit_error,
      output read_valid, read_addr, read_first, read_count,
      input read_ready, data_valid, data_error, data,
      output restart,
      input quiet, errors,
      output dram_read, dram_write, segment_we, segment_index, segment_address, memory_offset
  );

  modport memory(
      input write_valid, write_addr, write_data, write_end,
      output write_hold, committed, commit_error,
      input read_valid, read_addr, read_first, read_count,
      output read_ready, data_valid, data_error, data,
      input restart,
      output quiet, errors,
      input dram_read, dram_write, segment_we, segment_index, segment_address, memory_offset
  );

endinterface

`default_nettype wire
