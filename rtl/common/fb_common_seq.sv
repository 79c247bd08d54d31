// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_common_seq: a sequencer, which runs a short program of register accesses and console text.
//
// What:        sixteen registers of 64 bits (r0 reads 0), eight return addresses, a timer, one
//              access at a time. The program of up to 1,024 words of 32 bits is in a ROM outside.
// Handshake:   a program begins at word 0 when `go` is high in idle, with all registers 0, the
//              error flag clear and the timer run out. It runs to its end, whatever `go` does;
//              `ended` stays until `go` falls, `code` and `place` until the next start. `code` is 0
//              of `stop`, 1 to 254 of `fail`, 255 for a word that is none, a ninth nested call and
//              a return without call. `rom_data` is the word at the `rom_addr` of the cycle before,
//              and stays while that does. Requests and the console are valid/ready; the answer
//              comes in a later cycle than its request is taken, and is always taken. With `m_wide`
//              low only bits 31:0 of the data count.
// Latency:     64 cycles from `go` to the first word.
// Throughput:  a word in 3 cycles (jumps, tests of a flag), 5 (arithmetic, comparisons), 8 (reads)
//              or 6 (writes) where the answer comes at once; shifts take 5 and tests of a bit 4,
//              and one for each place; `hex` up to 117, `chars` up to 93, `dec` 68 for each digit.
// Limits:      only an access that is not taken or answered, and a console that is not ready, can
//              hold a word up for good: what answers has to bound it. `wait` and the timer take up
//              to a microsecond more than they say. A reset in the middle of an access has to reset
//              what answers, too.
// Does not implement: interrupts, memory of its own, signed comparisons, multiplication.

`default_nettype none

module fb_common_seq #(
    parameter int unsigned ClocksPerUs = 250,  // cycles of a microsecond, 1 or more
    parameter int unsigned Spaces = 5  // 1 to 8; accesses to others are answered with an error
) (
    input wire clk,
    input wire rst,
    input wire go,

    output logic [ 9:0] rom_addr,
    input  wire  [31:0] rom_data,

    output logic        m_valid,
    input  wire         m_ready,
    output logic        m_write,
    output logic        m_wide,
    output logic [ 2:0] m_space,
    output logic [63:0] m_addr,
    output logic [63:0] m_wdata,

    input wire        s_valid,
    input wire        s_error,
    input wire [63:0] s_rdata,

    output logic       c_valid,
    input  wire        c_ready,
    output logic [7:0] c_data,

    output logic       running,
    output logic       ended,
    output logic [7:0] code,
    output logic [9:0] place     // the word that ended the program
);

  if (ClocksPerUs < 1) begin : gen_bad_clocks
    $fatal(1, "fb_common_seq (%m): ClocksPerUs=%0d must be 1 or more", ClocksPerUs);
  end
  if (Spaces < 1 || Spaces > 8) begin : gen_bad_spaces
    $fatal(1, "fb_common_seq (%m): Spaces=%0d must be 1 to 8", Spaces);
  end

  localparam logic [7:0] BadProgram = 8'hff;
  localparam int unsigned ClockBits = ClocksPerUs > 1 ? $clog2(ClocksPerUs) : 1;

  typedef enum logic [5:0] {
    LI = 6'h00,
    INS = 6'h01,
    ADD = 6'h04,
    SUB = 6'h05,
    AND = 6'h06,
    OR = 6'h07,
    XOR = 6'h08,
    ANDN = 6'h09,
    SHL = 6'h0a,
    SHR = 6'h0b,
    LD32 = 6'h0c,
    LD64 = 6'h0d,
    ST32 = 6'h0e,
    ST64 = 6'h0f,
    BEQ = 6'h10,
    BNE = 6'h11,
    BLTU = 6'h12,
    BGEU = 6'h13,
    BSET = 6'h14,
    BCLR = 6'h15,
    BERR = 6'h16,
    BTIME = 6'h17,
    JMP = 6'h18,
    CALL = 6'h19,
    RET = 6'h1a,
    TIMER = 6'h1b,
    WAIT = 6'h1c,
    SAY = 6'h20,
    HEX = 6'h21,
    DEC = 6'h22,
    CHARS = 6'h23,
    FAIL = 6'h3e,
    STOP = 6'h3f
  } operation_e;

  typedef enum logic [3:0] {
    IDLE,
    CLEAR,  // all registers, four times: the count is that of a division
    FETCH,  // the ROM reads
    FIRST,  // operand
    SECOND,
    COMPUTE,
    APPLY,  // the result
    REQUEST,
    ANSWER,
    SHIFT,
    DIVIDE,  // by ten, a bit a cycle
    DIGIT,  // that is left over
    CHARS_LEFT,
    EMIT,
    PAUSE,
    ENDED
  } state_e;

  typedef enum logic [2:0] {
    SUM,
    DIFFERENCE,
    ONE_LESS,
    BOTH,
    EITHER,
    DIFFERENT,
    WITHOUT,
    OTHER
  } function_e;

  state_e state_q;
  operation_e operation;
  function_e function_q;
  logic [9:0] counter_q, following, target;
  logic [63:0] a_q, b_q, result;
  logic [5:0] places_q;  // to shift; bits to divide
  logic [4:0] left_q;  // characters
  logic error_q, less_q;
  logic bad, done, jumps;

  // The word stands in the ROM's output while it is carried out.
  assign operation = operation_e'(rom_data[31:26]);
  assign target = rom_data[9:0];
  assign rom_addr = counter_q;
  assign place = counter_q;
  assign ended = state_q == ENDED;
  assign running = !(state_q inside {IDLE, ENDED});

  // ---------------------------------------------------------------------------------- registers
  (* ram_style = "distributed" *)
  logic [63:0] registers[16];
  logic [63:0] read;
  logic [3:0] field_d, field_a, read_at, write_at;
  logic write, d_is_first;

  assign field_d = rom_data[25:22];
  assign field_a = rom_data[21:18];

  assign d_is_first = operation inside {[BEQ : BCLR], HEX, DEC, CHARS};
  always_comb begin : read_register
    read_at = field_d;
    if (state_q == FIRST && !d_is_first) read_at = field_a;
    if (state_q == SECOND && operation != INS) begin
      read_at = operation inside {[BEQ : BGEU]} ? field_a : rom_data[3:0];
    end
  end
  assign read = registers[read_at];

  // r0 is written while all are cleared, and never else.
  assign write = state_q == CLEAR || (state_q == APPLY && field_d != '0 &&
                                      operation inside {[LI : LD64]});
  assign write_at = state_q == CLEAR ? places_q[3:0] : field_d;
  always_ff @(posedge clk) begin : write_register
    if (write) registers[write_at] <= a_q;
  end

  // ------------------------------------------------------------------------------------ numbers
  // Where the forms' numbers end differs, and how they go on; `ins` has its own in each quarter.
  logic [63:0] number;
  logic sign, long;
  assign sign = operation == LI ? rom_data[21] : operation inside {[ADD : ANDN]} && rom_data[14];
  assign long = operation inside {TIMER, WAIT, SAY};
  always_comb begin : pick_number
    number = {{49{sign}}, rom_data[14:0]};
    if (long || operation == LI) number[21:15] = rom_data[21:15];
    if (long) number[24:22] = rom_data[24:22];
    if (operation == INS) number = {4{rom_data[15:0]}};
  end

  logic [3:0] take_number;  // in each quarter, not a register
  always_comb begin : choose_second
    unique case (operation)
      BEQ, BNE, BLTU, BGEU: take_number = '0;
      INS: take_number = 4'd1 << rom_data[17:16];
      TIMER, WAIT: take_number = {4{!rom_data[25]}};
      ADD, SUB, AND, OR, XOR, ANDN: take_number = {4{rom_data[15]}};
      default: take_number = '1;
    endcase
  end

  // --------------------------------------------------------------------------------- arithmetic
  logic carry;
  always_comb begin : compute
    logic [63:0] augend, addend;
    augend = a_q;
    unique case (function_q)
      SUM: addend = b_q;
      DIFFERENCE: addend = ~b_q;
      ONE_LESS: addend = '1;
      BOTH: addend = a_q & b_q;
      EITHER: addend = a_q | b_q;
      DIFFERENT: addend = a_q ^ b_q;
      WITHOUT: addend = a_q & ~b_q;
      default: addend = b_q;
    endcase
    if (!(function_q inside {SUM, DIFFERENCE, ONE_LESS})) augend = '0;
    {carry, result} = 65'(augend) + 65'(addend) + 65'(function_q == DIFFERENCE);
  end

  // Comparisons look at the difference. Of times only 32 bits count.
  logic low_zero, zero;
  assign low_zero = a_q[31:0] == '0;
  assign zero = low_zero && a_q[63:32] == '0;

  // What is divided moves up and out; the quotient comes in from below.
  logic [4:0] trial;
  logic [3:0] rest_q;
  logic fits, more_q;  // the quotient is not 0
  assign trial = {rest_q, a_q[63]};
  assign fits  = trial >= 5'd10;

  // --------------------------------------------------------------------------------------- time
  logic [ClockBits-1:0] clocks_q;
  logic [31:0] timer_q;
  logic tick, expired_q;
  assign tick = clocks_q == '0;

  // The first microsecond may be short, so that one more is counted: down to below 0.
  always_ff @(posedge clk) begin : count_time
    clocks_q <= tick ? ClockBits'(ClocksPerUs - 1) : clocks_q - 1'b1;
    if (tick && !expired_q) {expired_q, timer_q} <= {1'b0, timer_q} - 1'b1;
    if (state_q == APPLY && operation == TIMER) begin
      timer_q   <= a_q[31:0];
      expired_q <= low_zero;
    end
    if (state_q == CLEAR) expired_q <= 1'b1;
    if (rst) clocks_q <= '0;
  end

  // -------------------------------------------------------------------------- return addresses
  (* ram_style = "distributed" *)
  logic [9:0] returns[8];
  logic [3:0] depth_q;
  logic [2:0] latest;
  logic bad_depth;  // a call or return too many

  assign following = counter_q + 1'b1;
  assign latest = depth_q[2:0] - 1'b1;
  assign bad_depth = operation == CALL ? depth_q[3] : operation == RET && depth_q == '0;
  always_ff @(posedge clk) begin : nest
    if (state_q == SECOND && operation == CALL) begin
      returns[depth_q[2:0]] <= following;
      depth_q <= depth_q + 1'b1;
    end
    if (state_q == SECOND && operation == RET) depth_q <= depth_q - 1'b1;
    if (state_q == CLEAR) depth_q <= '0;
  end

  // ------------------------------------------------------------------------------------ accesses
  logic no_space, answered, failed;
  assign no_space = 4'(m_space) >= 4'(Spaces);
  assign m_valid = state_q == REQUEST && !no_space;
  assign {m_write, m_wide} = operation[1:0];
  assign m_space = rom_data[17:15];
  assign m_addr = a_q;
  assign m_wdata = read;
  assign answered = (state_q == ANSWER && s_valid) || (state_q == REQUEST && no_space);
  assign failed = state_q == REQUEST || s_error;

  // ------------------------------------------------------------------------------------- console
  logic [3:0] digits[32];
  logic [3:0] digit;
  always_ff @(posedge clk) begin : keep_digits
    if (state_q == DIGIT) digits[left_q] <= rest_q;
  end

  assign c_valid = state_q == EMIT;
  always_comb begin : pick_character
    digit  = operation == DEC ? digits[left_q] : a_q[63:60];
    c_data = a_q[7:0];
    if (operation == CHARS && !(c_data inside {[8'h20 : 8'h7e]})) c_data = ".";
    if (operation inside {HEX, DEC}) c_data = (digit < 4'd10 ? "0" : 8'("a" - 10)) + 8'(digit);
  end

  // -------------------------------------------------------------------------------------- words
  logic known;
  assign known = operation inside {LI, INS, [ADD : WAIT], [SAY : CHARS], FAIL, STOP};
  assign bad   = !known || bad_depth;

  // Whether a word is done with, and whether another than the following is next.
  always_comb begin : finish
    done  = 1'b0;
    jumps = 1'b0;
    case (state_q)
      SECOND: begin
        done = operation inside {[BERR : RET]} && !bad;
        jumps = operation inside {[JMP : RET]} || (operation == BERR && error_q) ||
            (operation == BTIME && expired_q);
      end
      APPLY: begin
        done = !(operation inside {WAIT, SAY});
        jumps = (operation == BEQ && zero) || (operation == BNE && !zero) ||
            (operation == BLTU && less_q) || (operation == BGEU && !less_q);
      end
      REQUEST, ANSWER: done = answered && m_write;
      SHIFT: begin
        done  = operation inside {BSET, BCLR} && places_q == '0;
        jumps = a_q[0] == (operation == BSET);
      end
      CHARS_LEFT: done = left_q == '0;
      PAUSE: done = low_zero;
      default: ;
    endcase
  end

  state_e state_d;
  always_comb begin : choose_state
    state_d = state_q;
    case (state_q)
      IDLE: if (go) state_d = CLEAR;
      CLEAR: if (places_q == 6'd1) state_d = FETCH;
      FETCH: state_d = FIRST;
      FIRST: state_d = SECOND;
      SECOND: begin
        state_d = COMPUTE;
        if (operation inside {SHL, SHR, BSET, BCLR, HEX, CHARS}) state_d = SHIFT;
        if (operation == DEC) state_d = DIVIDE;
        if (bad || operation inside {FAIL, STOP}) state_d = ENDED;
      end
      // A word that reads passes a second time, with what it has read.
      COMPUTE: state_d = operation inside {[LD32 : ST64]} && function_q == SUM ? REQUEST : APPLY;
      APPLY:
      if (operation == SAY) state_d = CHARS_LEFT;
      else if (operation == WAIT && (tick || low_zero)) state_d = PAUSE;
      REQUEST: begin
        if (m_ready) state_d = ANSWER;
        if (answered) state_d = COMPUTE;
      end
      ANSWER: if (answered) state_d = COMPUTE;
      SHIFT: if (places_q == '0) state_d = operation inside {SHL, SHR} ? APPLY : CHARS_LEFT;
      DIVIDE: if (places_q == 6'd1) state_d = DIGIT;
      DIGIT: state_d = more_q ? DIVIDE : CHARS_LEFT;
      CHARS_LEFT: state_d = EMIT;
      EMIT: if (c_ready) state_d = SHIFT;
      ENDED: if (!go) state_d = IDLE;
      default: ;
    endcase
    if (done) state_d = FETCH;
  end

  always_ff @(posedge clk) begin : advance
    state_q <= state_d;
    if (done) begin
      counter_q <= following;
      if (jumps) counter_q <= operation == RET ? returns[latest] : target;
    end
    if (state_q == SECOND && state_d == ENDED) begin
      code <= a_q[7:0] | rom_data[7:0];  // one of the two is 0
      if (operation == STOP) code <= '0;
      if (bad) code <= BadProgram;
    end
    if (answered) error_q <= failed;
    if (state_q == CLEAR) begin
      counter_q <= '0;
      code <= '0;
      error_q <= 1'b0;
    end
    if (rst) begin
      state_q <= IDLE;
      counter_q <= '0;
      code <= '0;
    end
  end

  // ------------------------------------------------------------------------------------ operands
  // The first has four sources, which two bits select: a LUT for each bit.
  logic load_a;
  logic [1:0] source;
  assign load_a = state_q inside {FIRST, COMPUTE, DIVIDE} || (state_q == PAUSE && tick) ||
      (state_q == SHIFT && places_q != '0);
  assign source[1] = state_q inside {SHIFT, DIVIDE};
  assign source[0] = state_q == FIRST || (state_q == SHIFT && !(operation inside {SHL, HEX}));

  always_ff @(posedge clk) begin : operands
    if (load_a) begin
      case (source)
        2'b00: a_q <= result;
        2'b01: a_q <= read;
        2'b10: a_q <= {a_q[62:0], fits && state_q == DIVIDE};
        2'b11: a_q <= a_q >> 1;
      endcase
    end
    if (state_q == IDLE) a_q <= '0;
    if (state_q == COMPUTE) less_q <= !carry;

    if (state_q == SECOND) begin
      for (int i = 0; i < 64; i++) b_q[i] <= take_number[i/16] ? number[i] : read[i];
    end else if (state_q inside {REQUEST, ANSWER}) begin
      b_q[31:0]  <= s_rdata[31:0] | {32{failed}};
      b_q[63:32] <= m_wide ? s_rdata[63:32] | {32{failed}} : '0;
    end

    // What a word does first; then it is the second operand that counts, or one less is left.
    if (state_q == FIRST) begin
      case (operation)
        ADD, LD32, LD64, ST32, ST64: function_q <= SUM;
        SUB, BEQ, BNE, BLTU, BGEU: function_q <= DIFFERENCE;
        AND: function_q <= BOTH;
        OR: function_q <= EITHER;
        XOR: function_q <= DIFFERENT;
        ANDN: function_q <= WITHOUT;
        default: function_q <= OTHER;
      endcase
    end
    if (state_q == COMPUTE) function_q <= operation == WAIT ? ONE_LESS : OTHER;
  end

  always_ff @(posedge clk) begin : counts
    case (state_q)
      IDLE: places_q <= '0;
      SECOND:
      case (operation)
        SHL, SHR: places_q <= rom_data[5:0];
        BSET, BCLR: places_q <= rom_data[15:10];
        HEX: places_q <= {~rom_data[3:0], 2'b00};
        default: places_q <= '0;
      endcase
      SHIFT: if (places_q != '0) places_q <= places_q - 1'b1;
      CLEAR, DIVIDE: places_q <= places_q - 1'b1;
      EMIT:
      case (operation)
        HEX: places_q <= 6'd4;
        DEC: places_q <= '0;
        default: places_q <= 6'd8;
      endcase
      default: ;
    endcase

    case (state_q)
      SECOND:
      case (operation)
        HEX: left_q <= 5'(rom_data[3:0]) + 1'b1;
        CHARS: left_q <= 5'(rom_data[2:0]) + 1'b1;
        SAY: left_q <= 5'(rom_data[25:24]);
        default: left_q <= '0;
      endcase
      DIGIT: left_q <= left_q + 1'b1;
      CHARS_LEFT: left_q <= left_q - 1'b1;
      default: ;
    endcase

    rest_q <= '0;
    more_q <= 1'b0;
    if (state_q == DIVIDE) begin
      rest_q <= fits ? 4'(trial - 5'd10) : trial[3:0];
      more_q <= more_q || fits;
    end
  end

`ifndef SYNTHESIS
  logic waits_q, offers_q;  // a request; a character
  logic [ 7:0] character_q;
  logic [31:0] word_q;
  always_ff @(posedge clk) begin : watch
    waits_q <= m_valid && !m_ready && !rst;
    offers_q <= c_valid && !c_ready && !rst;
    character_q <= c_data;
    word_q <= rom_data;
    if (!rst) begin
      answer_expected :
      assert (!s_valid || state_q == ANSWER)
      else $error("fb_common_seq (%m): an answer, but no request is outstanding");
      request_held :
      assert (!waits_q || m_valid)
      else $error("fb_common_seq (%m): a request is gone that was not taken");
      character_held :
      assert (!offers_q || (c_valid && c_data == character_q))
      else $error("fb_common_seq (%m): a character is gone that was not taken");
      word_steady :
      assert (!running || state_q inside {CLEAR, FETCH, FIRST} || rom_data == word_q)
      else $error("fb_common_seq (%m): word %0d is %h, was %h", rom_addr, rom_data, word_q);
    end
  end
`endif

endmodule

`default_nettype wire
