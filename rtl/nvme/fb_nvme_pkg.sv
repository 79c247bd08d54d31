// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What the modules of the streamer say to each other.
//
// A *page* is 4 KiB of the payload buffer and a *beat* 64 bytes, so a page has 64 beats. A *unit* is
// what rings and tables count, 2^UnitBits pages; where a signal is called `page` there, it is the
// index of a unit. A *sector* is 512 bytes whatever the logical block of the namespace is: only the
// submission queue entry knows about blocks. Byte counts are kept as "count - 1", so that 1 MiB fits
// in 20 bits and its upper bits are, unchanged, the last page, sector or beat of the transfer.

`default_nettype none

package fb_nvme_pkg;

  localparam int unsigned DATA_BITS = 512;
  localparam int unsigned PAGE_BITS = 12;  // index of a unit in the buffer with the most
  localparam int unsigned BEAT_BITS = 6;  // index of a beat in its page
  localparam int unsigned SECTOR_BITS = 48;  // 2^48 sectors are 128 PiB
  localparam int unsigned SIZE_BITS = 20;  // bytes - 1 of one command, at most 1 MiB
  localparam int unsigned TAG_BITS = 10;  // widest command identifier in use, queue depth 1024
  localparam int unsigned SLOT_BITS = 11;  // a place in a queue of up to 1024 entries, and 1024
  localparam int unsigned CODE_BITS = 8;  // what the user is told of a transaction
  localparam int unsigned STAMP_BITS = 32;  // cycles, as those of a time-out; 14 s at 300 MHz
  localparam int unsigned READ_TAG_BITS = 8;  // the user's tag of an unordered read
  localparam int unsigned DRIVE_BITS = 3;  // index of a drive
  localparam int unsigned DRIVES_MOST = 8;

  // I/O opcodes (NVM Command Set 1.0c, figure 16) by their two low bits.
  typedef enum logic [1:0] {
    OP_FLUSH = 2'b00,
    OP_WRITE = 2'b01,
    OP_READ  = 2'b10
  } op_e;

  // Settings of the control registers, stable while the streamer is enabled.
  typedef struct packed {
    logic block_4k;  // logical block: 1 = 4096 bytes, 0 = 512
    logic [7:0] transfer_m1;  // pages - 1 of the longest command
    logic [7:0] chunk_m1;  // pages - 1 at which a command leaves at once
    logic [7:0] busy_commands;  // from so many in flight on, commands may grow
    logic [SECTOR_BITS-1:0] namespace_sectors;  // capacity
    logic [31:0] timeout;  // cycles, 0 = never
    logic [3:0] retry_limit;  // retries of one command
    logic [SLOT_BITS-1:0] queue_entries;  // size of both queues
    logic [31:0] nsid;  // namespace
    logic [63:0] data_window;  // bus address of the payload buffer on the chip
    logic [63:0] data_read;  // bus address of the buffer for reads in on-board DRAM
    logic [63:0] data_write;  // and of that for writes
    logic [63:0] prp_lists;  // bus address of the PRP lists, where units have them
    logic [DRIVE_BITS-1:0] drives_m1;  // drives - 1 of the array
    logic [DRIVES_MOST-1:0] offline;  // drives that get no new command, and are not listened to
    logic [SECTOR_BITS-1:0] region_sectors;  // of the array that a drive has to itself; 0: striped
    logic [7:0] strip_m1;  // pages - 1 of its chunk, a power of two - 1
    logic parity;  // the last drive holds the parity of the others
    logic degraded;  // with it, one drive and no other is offline: it is done without
  } cfg_t;

  // A command as the write and read paths build it. A rejected one goes no further than
  // fb_nvme_reorder: it holds the place of its transaction's answer, with the error code in `size`.
  typedef struct packed {
    logic [DRIVE_BITS-1:0]  drive;      // 0 until fb_raid_map has found it
    logic [SECTOR_BITS-1:0] sector;     // of the array, then of the drive
    logic [PAGE_BITS-1:0]   page;       // first page in the buffer; the others follow it
    logic                   fua;
    logic                   flush;      // a flush follows when the transaction is stored
    logic                   fence;      // all earlier writes are to be complete before
    logic                   early;      // a read that may be delivered before older ones
    logic                   unordered;  // a read of one page at most; its tag is in size[19:12]
    logic                   reject;
    logic                   last;       // ends its transaction
    logic [SIZE_BITS-1:0]   size;       // bytes - 1
  } command_t;

  // What fb_nvme_reorder has to know of a command, kept by its first page.
  typedef struct packed {
    logic [DRIVE_BITS-1:0] drive;
    logic                  flush;      // never together with an error in `size`
    logic                  unordered;
    logic                  reject;
    logic                  last;
    logic [SIZE_BITS-1:0]  size;
  } reorder_t;

  // How far the command that begins at a page has come.
  typedef enum logic [1:0] {
    OPEN       = 2'd0,  // free page, or the SSD has not completed the command
    DONE       = 2'd1,
    DONE_EARLY = 2'd2,  // an unordered read, waiting to be delivered before older ones
    DELIVERED  = 2'd3   // an unordered read, delivered; only its page is left to free
  } progress_e;

  // A command that never completes has timed out: that is the code of an open one.
  typedef struct packed {
    progress_e            progress;
    logic                 error;     // code is not ERR_OK
    logic [CODE_BITS-1:0] code;
  } command_result_t;

  // What the SSD is asked to do, kept by command identifier.
  typedef struct packed {
    logic [DRIVE_BITS-1:0]  drive;
    op_e                    op;
    logic                   fua;
    logic                   early;
    logic [PAGE_BITS-1:0]   page;
    logic [SIZE_BITS-1:9]   size;    // sectors - 1
    logic [SECTOR_BITS-1:0] sector;
  } descriptor_t;

  // A command that was given a place in a submission queue.
  typedef struct packed {
    logic valid;  // pulse
    logic retry;  // it was submitted before, too
    logic [TAG_BITS-1:0] tag;
    logic [SLOT_BITS-1:0] slot;
    descriptor_t descriptor;  // of a retry: its drive
  } submitted_t;

  // What is known of the command of an identifier.
  typedef struct packed {
    logic in_use;
    logic [3:0] retries;
    descriptor_t descriptor;
    logic [STAMP_BITS-1:0] stamp;  // when it was submitted first
  } lookup_t;

  // What a completion queue entry told: pulses, and what they are about.
  typedef struct packed {
    logic                                completed;    // of a command, also one that is sent again
    logic                                failed;       // and is over, with an error
    logic                                rogue_phase;  // at another place than the next
    logic                                rogue_cid;    // of no command
    logic                                rogue_head;   // with a head beyond the queue
    logic                                write;
    logic [DRIVE_BITS-1:0]               drive;
    logic [15:0]                         cid;
    logic [12:0]                         head;
    logic [fb_spec_pkg::STATUS_BITS-1:0] status;
    logic [STAMP_BITS-1:0]               latency;      // cycles since submission
    logic [SIZE_BITS-9:0]                sectors;
    logic [SECTOR_BITS-1:0]              sector;
  } seen_t;

  // What the registers read of the monitor, pulses; and its answers, one cycle later.
  typedef struct packed {
    logic counter;
    logic bin;  // of the histogram
    logic trace;
    logic [5:0] addr;  // in words
  } monitor_read_t;
  typedef struct packed {
    logic counter_ack;
    logic bin_ack;
    logic trace_ack;
    logic [31:0] counter;
    logic [31:0] bin;
    logic [63:0] trace;
  } monitor_data_t;

  // An error, as the registers show the first one.
  typedef struct packed {
    logic valid;  // pulse
    logic write;
    logic [CODE_BITS-1:0] code;
    logic [fb_spec_pkg::STATUS_BITS-1:0] status;
    logic [15:0] cid;
    logic [DRIVE_BITS-1:0] drive;
    logic [SECTOR_BITS-1:0] sector;
  } error_t;

  // A command's place in the buffer, to be sent to the reader and freed.
  typedef struct packed {
    logic [PAGE_BITS-1:0] page;
    logic [SIZE_BITS-1:0] size;  // bytes - 1
    logic last;  // TLAST goes with the last beat
    logic fail;  // one error beat instead of data
    logic skip;  // no beat: an earlier one already ended the transaction
    logic sent;  // no beat: they were delivered early, and one unit is left to free
    logic keep;  // do not free the unit: the command is not the oldest
    logic [CODE_BITS-1:0] code;
    logic [READ_TAG_BITS-1:0] tag;
  } delivery_t;

  // What the user's read was cut into where the array has parity: a packet of its own each.
  typedef struct packed {
    logic                     sum;    // one of those that a missing chunk is the sum of
    logic                     first;  // of them
    logic                     shown;  // the last of them, or none: its data are the user's
    logic                     last;   // ends the user's read
    logic [READ_TAG_BITS-1:0] tag;
  } piece_t;

  // TKEEP must be full before the last beat, and without holes on it.
  function automatic logic keep_bad(input logic last, input logic [DATA_BITS/8-1:0] keep);
    return last ? |(keep[DATA_BITS/8-1:1] & ~keep[DATA_BITS/8-2:0]) : keep != '1;
  endfunction

  // {1, SCT[1:0], SC[7], SC[3:0]}: distinct for every generic and media status of NVM drives.
  function automatic logic [CODE_BITS-1:0] status_code(
      input logic [fb_spec_pkg::STATUS_BITS-1:0] status);
    if (status[10:0] == '0) return fb_spec_pkg::ERR_OK;
    return {1'b1, status[9:8], status[7], status[3:0]};
  endfunction

  // Data Transfer Error: the SSD could not fetch the data, which is no fault of its own.
  localparam logic [CODE_BITS-1:0] ERR_NOT_FETCHED = status_code(fb_spec_pkg::STATUS_BITS'('h04));

endpackage

`default_nettype wire
