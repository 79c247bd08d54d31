// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_axis_check: the one checker of valid/ready handshakes; fb_axis_if, fb_axi_if and fb_axil_if carry
// it, and so does every other stream port.
//
// What:        once `valid` is high it stays high, and `data` stays the same, until a cycle in
//              which `ready` is high too (AMBA AXI-Stream, section 2.2.1; the rule of every AXI
//              channel). Pack the whole payload into `data`: TDATA, TKEEP, TLAST, TUSER, TID.
// Handshake:   watches only; drives nothing.
// Limits:      simulation and formal only: empty in synthesis. An interface, since an interface can
//              have no module inside.
// Does not implement: rules between beats (TKEEP before TLAST, burst lengths).

`default_nettype none

interface fb_axis_check #(
    parameter int unsigned Width = 1,        // bits of the packed payload
    parameter string       Name  = "stream"  // which port, for the message
) (
    input wire             clk,
    input wire             rst,
    input wire             valid,
    input wire             ready,
    input wire [Width-1:0] data
);

`ifndef SYNTHESIS
  logic stalled_q;
  logic [Width-1:0] data_q;

  // Copy and comparison only while the port stalls, and as immediate assertions: a simulator would
  // sample the whole payload of a concurrent one in every cycle.
  always_ff @(posedge clk) begin : watch
    stalled_q <= valid && !ready && !rst;
    if (valid && !ready) data_q <= data;
    if (stalled_q && !rst) begin
      valid_holds :
      assert (valid)
      else $error("fb_axis_check (%m): %s: valid fell before ready", Name);
      payload_stable :
      assert (!valid || data == data_q)
      else $error("fb_axis_check (%m): %s: payload changed while stalled", Name);
    end
  end
`endif

endinterface

`default_nettype wire
