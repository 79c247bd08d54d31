// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_pe_aes_csr: through which the host sets the keys of fb_pe_aes_keys, and reads none.
//
// What:        slot k is at 0x40 * k. 0x00 to 0x1c: the words of its key, byte 0 of it in bits 7:0 of
//              the first; write-only, read as 0. 0x20: control. Written 1: load the key of 128 bits
//              that its first four words are; 2: load that of 256 bits; 3: clear the slot. Read: bit 0:
//              the slot has a key, bit 1: of 256 bits. SLVERR answers another value, a write of some
//              bytes of a word, and a load without all words of its key written since the last load.
//              Other addresses read as 0 and ignore writes, as in the other register files.
// Handshake:   AXI4-Lite, one transaction at a time. A load or clear waits until no packet is inside,
//              with `hold` keeping others from beginning, and is answered when it is done.
// Latency:     a read is answered 2 cycles after ARVALID, and a write 2 after AWVALID and WVALID; a clear
//              takes 2 more, and a load 2 and those for which fb_pe_aes_keys is busy.
// Limits:      where packets do not leave, load and clear are not answered. 512-bit registers: none.
// Does not implement: key words of several slots at once: one written for another slot forgets those.

`default_nettype none

module fb_pe_aes_csr
  import fb_pe_aes_pkg::*;
(
    input wire clk,
    input wire rst,
    fb_axil_if.target s_axil,

    output logic hold,  // no packet begins
    input  wire  idle,  // none is inside

    // fb_pe_aes_keys
    output logic [SLOT_BITS-1:0] slot,
    output logic                 word_valid,
    output logic [          2:0] word_index,
    output logic [         31:0] word,
    output logic                 load,
    output logic                 load_256,
    output logic                 clear,
    input  wire                  loadable,
    input  wire                  busy,
    input  wire  [    SLOTS-1:0] key_set,
    input  wire  [    SLOTS-1:0] key_256
);

  localparam logic [1:0] Okay = 2'b00, Slverr = 2'b10;
  localparam logic [31:0] Load128 = 32'd1, Load256 = 32'd2, Clear = 32'd3;

  typedef enum logic [2:0] {
    Idle,
    TakeRead,
    AnswerRead,
    TakeWrite,
    Drain,  // until no packet is inside
    Change,  // until the slot has changed
    AnswerWrite
  } state_e;

  state_e state_q;
  logic read_last_q;  // reads and writes alternate where both wait
  logic reads;
  logic [11:0] addr_q;
  logic [1:0] control_q, bresp_q;  // control: what Drain and Change are for
  logic [1:0] rdata_q;

  assign reads = s_axil.arvalid && !(read_last_q && s_axil.awvalid && s_axil.wvalid);
  assign s_axil.arready = state_q == TakeRead;
  assign s_axil.awready = state_q == TakeWrite;
  assign s_axil.wready = state_q == TakeWrite;
  assign s_axil.rvalid = state_q == AnswerRead;
  assign s_axil.rdata = 32'(rdata_q);
  assign s_axil.rresp = Okay;
  assign s_axil.bvalid = state_q == AnswerWrite;
  assign s_axil.bresp = bresp_q;

  // -------------------------------------------------------------------------------------- registers
  logic is_word, is_control, whole, changes, acts;

  assign is_word = addr_q[11:9] == '0 && !addr_q[5];
  assign is_control = addr_q[11:9] == '0 && addr_q[5:2] == 4'b1000;
  assign whole = &s_axil.wstrb;
  assign changes = whole && (s_axil.wdata == Clear ||
                             (s_axil.wdata inside {Load128, Load256} && loadable));

  assign slot = addr_q[6+:SLOT_BITS];
  assign word_index = addr_q[4:2];
  assign word = s_axil.wdata;
  assign word_valid = state_q == TakeWrite && is_word && whole;

  assign hold = state_q inside {Drain, Change};
  assign acts = state_q == Drain && idle && !busy;
  assign load_256 = state_q == TakeWrite ? s_axil.wdata[1] : control_q[1];
  assign load = acts && control_q != Clear[1:0];
  assign clear = acts && control_q == Clear[1:0];

  always_ff @(posedge clk) begin : serve
    case (state_q)
      Idle: begin
        addr_q <= reads ? s_axil.araddr : s_axil.awaddr;
        if (reads) state_q <= TakeRead;
        else if (s_axil.awvalid && s_axil.wvalid) state_q <= TakeWrite;
      end
      TakeRead: begin
        rdata_q <= is_control ? {key_256[slot] && key_set[slot], key_set[slot]} : '0;
        read_last_q <= 1'b1;
        state_q <= AnswerRead;
      end
      AnswerRead: if (s_axil.rready) state_q <= Idle;
      TakeWrite: begin
        read_last_q <= 1'b0;
        control_q   <= s_axil.wdata[1:0];
        bresp_q     <= Okay;
        state_q     <= AnswerWrite;
        // A bridge from a wider bus may write none of a word's bytes: that is no attempt.
        if (is_word && !whole && s_axil.wstrb != '0) bresp_q <= Slverr;
        if (is_control && s_axil.wstrb != '0) begin
          if (changes) state_q <= Drain;
          else bresp_q <= Slverr;
        end
      end
      Drain:      if (acts) state_q <= Change;
      Change:     if (!busy) state_q <= AnswerWrite;
      default:    if (s_axil.bready) state_q <= Idle;
    endcase
    if (rst) begin
      state_q <= Idle;
      read_last_q <= 1'b0;
    end
  end

  // The bytes of a word are not told from one another.
  logic unused;
  assign unused = &{1'b0, addr_q};

endmodule

`default_nettype wire
