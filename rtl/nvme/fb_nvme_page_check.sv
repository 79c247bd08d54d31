// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_nvme_page_check: the one checker of who may touch a unit of the payload buffer.
//
// What:        a unit has one user at a time. From the entry that names it to the completion of that
//              command it is the drive's; from the first beat asked for to the last one answered it
//              is the reader's. Meanwhile neither ring offers it, no entry names it, nothing is
//              written there, and no beat of it is asked for while it is the drive's.
// Limits:      simulation only: the module drives nothing and is empty in synthesis. A drive that is
//              offline, and every one once the queues are halted, has no unit: these are free by
//              rule. What is asked for in the sweep only ends a packet: its unit does not matter.
// Does not implement: the order of the rings; these check that themselves.

`default_nettype none

module fb_nvme_page_check
  import fb_nvme_pkg::*;
#(
    parameter int unsigned Pages = 1024,  // units of the buffer, a power of two
    localparam int unsigned IndexBits = $clog2(Pages)
) (
    input wire clk,
    input wire rst,  // also holds while the streamer is disabled
    input wire sweep,  // after reset, when no entry exists yet: clears the tables
    input wire [IndexBits-1:0] sweep_index,
    input wire halted,
    input wire [DRIVES_MOST-1:0] offline,

    // An entry that a drive may fetch from now on, and the first unit of one that is completed.
    input wire                  issue_valid,
    input wire [DRIVE_BITS-1:0] issue_drive,
    input wire [ IndexBits-1:0] issue_unit,
    input wire [           8:0] issue_count,
    input wire                  over_valid,
    input wire [ IndexBits-1:0] over_unit,

    // What the rings offer.
    input wire                 wr_offer_valid,
    input wire [IndexBits-1:0] wr_offer_unit,
    input wire                 rd_offer_valid,
    input wire [IndexBits-1:0] rd_offer_unit,

    // What the memory is told and asked, beat by beat, and its answers, which come in order.
    input wire                 write_valid,
    input wire [IndexBits-1:0] write_unit,
    input wire                 read_valid,
    input wire [IndexBits-1:0] read_unit,
    input wire                 data_valid
);

`ifndef SYNTHESIS
  logic named_q[Pages];  // by an outstanding entry
  logic [DRIVE_BITS-1:0] drive_q[Pages];  // whose entry that is
  logic [8:0] count_q[Pages];  // units of the entry that begins with this one
  longint asked_q, answered_q;  // beats
  longint last_q[Pages];  // the last beat asked for of the unit

  function automatic logic driven(input logic [IndexBits-1:0] unit);
    return named_q[unit] && !halted && !offline[drive_q[unit]];
  endfunction

  function automatic logic used(input logic [IndexBits-1:0] unit);
    return driven(unit) || last_q[unit] > answered_q;
  endfunction

  // Immediate assertions, each looked at only when something happens: it costs time in every
  // simulation.
  always_ff @(posedge clk) begin : watch
    if (rst) begin
      asked_q <= 0;
      answered_q <= 0;
    end else begin
      asked_q <= asked_q + longint'(read_valid);
      answered_q <= answered_q + longint'(data_valid);
      a_data_asked :
      assert (!data_valid || answered_q < asked_q)
      else $error("fb_nvme_page_check (%m): the memory answers a beat that was not asked for");
    end
    if (sweep) begin
      named_q[sweep_index] <= 1'b0;
      last_q[sweep_index]  <= 0;
    end else if (!rst) begin
      if (read_valid) last_q[read_unit] <= asked_q + 1;
      a_read_own :
      assert (!read_valid || !driven(read_unit))
      else $error("fb_nvme_page_check (%m): unit %0d is read while a drive has it", read_unit);
      a_write_own :
      assert (!write_valid || !driven(write_unit))
      else $error("fb_nvme_page_check (%m): unit %0d is written while a drive has it", write_unit);
      a_wr_offer_free :
      assert (!wr_offer_valid || !used(wr_offer_unit))
      else $error("fb_nvme_page_check (%m): unit %0d, in use, is on offer", wr_offer_unit);
      a_rd_offer_free :
      assert (!rd_offer_valid || !used(rd_offer_unit))
      else $error("fb_nvme_page_check (%m): unit %0d, in use, is on offer", rd_offer_unit);
      if (over_valid) begin
        for (int n = 0; n < int'(count_q[over_unit]); n++) named_q[over_unit+IndexBits'(n)] <= 1'b0;
        count_q[over_unit] <= '0;
      end
      if (issue_valid) begin
        for (int n = 0; n < int'(issue_count); n++) begin
          a_issue_free :
          assert (!used(issue_unit + IndexBits'(n)))
          else $error("fb_nvme_page_check (%m): unit %0d + %0d, in use, is named", issue_unit, n);
          named_q[issue_unit+IndexBits'(n)] <= 1'b1;
          drive_q[issue_unit+IndexBits'(n)] <= issue_drive;
        end
        count_q[issue_unit] <= issue_count;
      end
    end
  end
`endif

endmodule

`default_nettype wire
