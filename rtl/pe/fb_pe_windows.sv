// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_windows: the registers of all elements of a chain, behind one port.
//
// What:        the window of element i, 4 KiB from 4096 * i on, is its AXI4-Lite target, which sees the
//              offset in it. Behind the eight windows is one of the chain itself: which elements have
//              registers, how many accesses were answered with an error, which element is silent; and
//              per-stream settings, which go to fb_pe_settings. What reaches none of them is answered with
//              DECERR. An element that has not answered after Patience cycles is silent: that access
//              and all that follow it there are answered with SLVERR until a reset, and what it says
//              later is dropped.
// Handshake:   valid/ready; one access at a time; reads and writes take turns where both wait. The
//              address and the data of a write are offered to an element in the same cycle, and may be
//              taken in any; its answer comes in a later one.
// Latency:     2 cycles to the element, 1 back; 2 where none is asked.
// Throughput:  an access in 5 cycles and what the element takes.
// Limits:      8 elements, 32 bits of data. 512-bit registers: none.
// Does not implement: PROT.

`default_nettype none

module fb_pe_windows
  import fb_spec_pkg::*;
  import fb_pe_pkg::*;
#(
    parameter bit [7:0] Present = '0,  // elements that have registers
    parameter bit [7:0] Settings = '0,  // elements that have per-stream settings
    parameter int unsigned Patience = 1 << 20  // cycles to an element's answer, 4 or more
) (
    input wire clk,
    input wire rst,

    input  wire         s_axil_pe_awvalid,
    output logic        s_axil_pe_awready,
    input  wire  [15:0] s_axil_pe_awaddr,
    input  wire  [ 2:0] s_axil_pe_awprot,
    input  wire         s_axil_pe_wvalid,
    output logic        s_axil_pe_wready,
    input  wire  [31:0] s_axil_pe_wdata,
    input  wire  [ 3:0] s_axil_pe_wstrb,
    output logic        s_axil_pe_bvalid,
    input  wire         s_axil_pe_bready,
    output logic [ 1:0] s_axil_pe_bresp,
    input  wire         s_axil_pe_arvalid,
    output logic        s_axil_pe_arready,
    input  wire  [15:0] s_axil_pe_araddr,
    input  wire  [ 2:0] s_axil_pe_arprot,
    output logic        s_axil_pe_rvalid,
    input  wire         s_axil_pe_rready,
    output logic [31:0] s_axil_pe_rdata,
    output logic [ 1:0] s_axil_pe_rresp,

    // To the registers of each element, and its per-stream settings.
    output axil_request_t  [7:0] request,
    input  axil_response_t [7:0] response,
    output setting_write_t [7:0] setting
);

  localparam int unsigned OffsetBits = $clog2(ELEMENTS_WINDOW_BYTES);
  localparam int unsigned SettingsBits = $clog2(ELEMENTS_SETTINGS_BYTES);
  localparam int unsigned WaitBits = $clog2(Patience + 1);
  localparam logic [1:0] Okay = 2'b00, ElementError = 2'b10, NoElement = 2'b11;

  if (ELEMENTS_COUNT != 8 || Patience < 4) begin : gen_bad
    $fatal(1, "fb_pe_windows (%m): Patience=%0d must be 4 or more", Patience);
  end

  typedef enum logic [1:0] {
    REST,   // no access is here
    LOOK,   // whose it is
    ASK,    // its element takes it, and answers
    ANSWER  // the answer is there
  } state_e;

  state_e state_q;
  logic   write_q;  // the access is one
  logic   read_last_q;
  logic address_q, data_q;  // the element has still to take them
  logic [15:0] at_q;
  logic [31:0] word_q;  // to be written; then what was read
  logic [3:0] strobes_q;
  logic [1:0] answer_q;
  logic [WaitBits-1:0] waited_q;
  logic [7:0] silent_q;
  logic [31:0] refused_q;  // modulo 2^32

  // ----------------------------------------------------------------------------------------- access
  logic sees_write, sees_read, unused;

  // What is seen at rest is taken in the cycle behind: no path leads from a port's valid to its ready.
  assign sees_write = s_axil_pe_awvalid && s_axil_pe_wvalid && (read_last_q || !s_axil_pe_arvalid);
  assign sees_read = s_axil_pe_arvalid && !sees_write;
  assign s_axil_pe_awready = state_q == LOOK && write_q;
  assign s_axil_pe_wready = s_axil_pe_awready;
  assign s_axil_pe_arready = state_q == LOOK && !write_q;
  assign s_axil_pe_bvalid = state_q == ANSWER && write_q;
  assign s_axil_pe_rvalid = state_q == ANSWER && !write_q;
  assign {s_axil_pe_bresp, s_axil_pe_rresp} = {2{answer_q}};
  assign s_axil_pe_rdata = word_q;
  assign unused = &{1'b0, s_axil_pe_awprot, s_axil_pe_arprot};

  // ---------------------------------------------------------------------------------------- elements
  logic [2:0] window;
  logic [7:0] asked;  // the element whose answer is awaited
  axil_response_t its;
  logic took_address, took_data, answered;

  assign window = at_q[OffsetBits+:3];
  assign asked = state_q == ASK ? 8'd1 << window : '0;
  assign its = response[window];
  assign took_address = !address_q || (write_q ? its.awready : its.arready);
  assign took_data = !data_q || its.wready;
  assign answered = !address_q && !data_q && (write_q ? its.bvalid : its.rvalid);

  for (genvar i = 0; i < 8; i++) begin : gen_elements
    assign request[i].addr = at_q[OffsetBits-1:0];
    assign request[i].wdata = word_q;
    assign request[i].wstrb = strobes_q;
    assign request[i].awvalid = asked[i] && write_q && address_q;
    assign request[i].wvalid = asked[i] && data_q;
    assign request[i].arvalid = asked[i] && !write_q && address_q;
    assign request[i].bready = silent_q[i] || (asked[i] && write_q && !address_q && !data_q);
    assign request[i].rready = silent_q[i] || (asked[i] && !write_q && !address_q);
  end

  // -------------------------------------------------------------------------------- the chain's own
  logic [OffsetBits-1:0] offset, place;
  logic [31:0] register;
  logic is_own, has_register, has_setting;
  logic [2:0] of;  // the element that a setting is of

  assign offset = at_q[OffsetBits-1:0];
  assign place = offset - OffsetBits'(ELEMENTS_SETTINGS_AT);
  assign of = place[SettingsBits+:3];
  assign is_own = at_q[15:OffsetBits] == 4'd8;
  assign has_setting = is_own && write_q && strobes_q == '1 && offset[1:0] == '0 &&
      place < OffsetBits'(ELEMENTS_COUNT * ELEMENTS_SETTINGS_BYTES) && Settings[of];
  for (genvar i = 0; i < 8; i++) begin : gen_settings
    assign setting[i].valid = state_q == LOOK && has_setting && of == 3'(i);
    assign {setting[i].stream, setting[i].upper} = place[SettingsBits-1:2];
    assign setting[i].word = word_q;
  end

  always_comb begin : read_register
    has_register = is_own && !write_q;
    case (offset)
      OffsetBits'(ELEMENTS_IDENTITY_AT): register = ELEMENTS_IDENTITY;
      OffsetBits'(ELEMENTS_PRESENT_AT): register = {16'd0, Settings, Present};
      OffsetBits'(ELEMENTS_REFUSED_AT): register = refused_q;
      OffsetBits'(ELEMENTS_SILENT_AT): register = 32'(silent_q);
      default: {has_register, register} = '0;
    endcase
  end

  always_ff @(posedge clk) begin : follow
    case (state_q)
      REST: begin
        write_q <= sees_write;
        at_q <= sees_write ? s_axil_pe_awaddr : s_axil_pe_araddr;
        word_q <= s_axil_pe_wdata;
        strobes_q <= s_axil_pe_wstrb;
        if (sees_write || sees_read) begin
          read_last_q <= sees_read;
          state_q <= LOOK;
        end
      end
      LOOK: begin
        {address_q, data_q} <= {1'b1, write_q};
        waited_q <= '0;
        state_q <= ANSWER;
        if (at_q[15]) begin
          answer_q <= has_register || has_setting ? Okay : NoElement;
          if (!write_q) word_q <= has_register ? register : '0;
        end else if (!Present[window] || silent_q[window]) begin
          answer_q <= Present[window] ? ElementError : NoElement;
          if (!write_q) word_q <= '0;
        end else begin
          state_q <= ASK;
        end
      end
      ASK: begin
        waited_q <= waited_q + 1'b1;
        if (took_address) address_q <= 1'b0;
        if (took_data) data_q <= 1'b0;
        if (answered) begin
          answer_q <= write_q ? its.bresp : its.rresp;
          word_q   <= its.rdata;
          state_q  <= ANSWER;
        end else if (waited_q == WaitBits'(Patience)) begin
          silent_q[window] <= 1'b1;
          answer_q <= ElementError;
          word_q <= '0;
          state_q <= ANSWER;
        end
      end
      default: begin
        if (write_q ? s_axil_pe_bready : s_axil_pe_rready) begin
          if (answer_q[1]) refused_q <= refused_q + 1'b1;
          state_q <= REST;
        end
      end
    endcase
    if (rst) begin
      state_q <= REST;
      {read_last_q, silent_q, refused_q} <= '0;
    end
  end

`ifndef SYNTHESIS
  // A user's element may be wrong.
  logic [7:0] awaited, speaks;
  assign awaited = took_address && took_data ? asked : '0;
  for (genvar i = 0; i < 8; i++) begin : gen_checks
    assign speaks[i] = Present[i] && ((response[i].bvalid && !(awaited[i] && write_q)) ||
                                      (response[i].rvalid && !(awaited[i] && !write_q)));
  end
  answers_were_asked_for :
  assert property (@(posedge clk) disable iff (rst) (speaks & ~silent_q) == '0)
  else $error("fb_pe_windows (%m): answers without a question, of elements %b", speaks & ~silent_q);
`endif

endmodule

`default_nettype wire
