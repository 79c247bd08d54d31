// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_bin2ascii: the facts of an extent as characters, four a word, for the holes of a page.
//
// What:        goes through a list of fields. A decimal number is doubled into digits, Bits of it a
//              cycle; then its words are written, blanks in front. Hexadecimal and octal ones are
//              written as they are. Meanwhile the next single of the result is moved to its binary
//              point, half of its last digit is added, and what is behind the point is multiplied by
//              a million.
//              What is in a tar header is summed for its checksum on the way.
// Handshake:   facts: valid/ready, taken when the last field of the facts before them is written. Writes
//              have no handshake; the fields of the text are written while `text_free` is high, then
//              those of the headers while `head_free` is. `head_done` pulses when the headers' fields
//              are written; `text_late` is high until the rest of the text's are.
// Latency:     with Bits = 4 the headers' fields are written 125 cycles after the facts came, the
//              last one 57 later; with Bits = 2 it is 193 and 89, with Bits = 1 it is 329 and 153. A
//              single near 0 takes up to 86 cycles beside the numbers before it.
//              With `cfg_small` that is all.
// Throughput:  an extent in as many cycles. Limits: cfg_* is steady. 512-bit registers: none.
// Does not implement: templates; the fields' order is that of places() in fb_store_header.

`default_nettype none

module fb_store_bin2ascii
  import fb_store_pkg::*;
  import fb_store_rom_pkg::*;
#(
    parameter int unsigned Bits = 4,  // of a number in a cycle: 1, 2 or 4
    parameter logic [1:0][1:0][17:0] SumOf = '0,  // literal characters of a header: [whole][second]
    parameter logic [1:0][17:0] SumOfSmall = '0,  // of that of a small object: [whole]
    localparam int unsigned PlaceBits = $clog2(FIELD_WORDS)
) (
    input wire clk,
    input wire rst,

    input wire         cfg_small,     // the header of a small object: time and checksum are in it
    input wire [127:0] cfg_session,   // the UUID's first byte lowest
    input wire [ 31:0] cfg_extension, // the first character lowest

    input  wire         s_facts_tvalid,
    output logic        s_facts_tready,
    input  wire facts_t s_facts_tdata,
    output logic        whole,           // as the facts have it that are written
    output logic        has_result,

    input  wire  text_free,
    input  wire  head_free,
    output logic head_done,
    output logic text_late,

    output logic we,
    output logic [PlaceBits-1:0] waddr,
    output logic [31:0] wdata  // the first character lowest
);

  if (Bits != 1 && Bits != 2 && Bits != 4) begin : gen_bad_bits
    $fatal(1, "fb_store_bin2ascii (%m): Bits=%0d must be 1, 2 or 4", Bits);
  end

  localparam int unsigned Digits = 20;  // of 2^64 - 1
  localparam int unsigned BaseBits = 336;  // of decimal numbers but for a result's
  localparam int unsigned BaseWords = 20;  // of all that are no decimal numbers

  // ----------------------------------------------------------------------------------- what to write
  // Numbers that all facts have, in this order; those of a result follow.
  localparam int unsigned SEQUENCE = 0;
  localparam int unsigned TIME = 1;
  localparam int unsigned LENGTH = 2;
  localparam int unsigned CRC = 3;
  localparam int unsigned SESSION = 4;
  localparam int unsigned OBJECT = 5;
  localparam int unsigned OFFSET = 6;
  localparam int unsigned STREAM = 7;
  localparam int unsigned SECONDS = 8;
  localparam int unsigned SUM_FIRST = 9;
  localparam int unsigned SIZE = 10;
  localparam int unsigned EXTENSION = 11;
  localparam int unsigned SUM_SECOND = 12;
  localparam int unsigned MISSING = 13;
  localparam int unsigned EPOCH = 14;
  localparam int unsigned WHOLE = 15;
  localparam int unsigned RESULT = 16;
  localparam int unsigned JobBits = $clog2(RESULT + RESULT_JOBS);
  typedef logic [JobBits-1:0] job_t;

  // A number of a result, as fb_store_rom_pkg has it. The first one may be the nonce, which is there
  // without a result as well.
  typedef struct packed {
    logic ends_column;
    logic is_fraction;
    logic is_float;
    logic is_hex;
    logic [6:0] bits;  // hexadecimal: bytes
    logic [4:0] words;
  } result_job_t;

  function automatic result_job_t result_job(input int unsigned job);
    return job < RESULT || job >= RESULT + RESULT_JOBS ? '0 : RESULT_JOB[job-RESULT];
  endfunction

  // Bits of a decimal number, 0 for what is none.
  function automatic logic [6:0] bits_of(input job_t job);
    unique case (32'(job))
      TIME, OBJECT, OFFSET: return 7'd64;
      SEQUENCE, LENGTH, MISSING, EPOCH: return 7'd32;
      STREAM: return 7'd16;
      default: return result_job(32'(job)).is_hex ? '0 : result_job(32'(job)).bits;
    endcase
  endfunction

  // Words of four characters, less one.
  function automatic logic [4:0] words_of(input job_t job);
    unique case (32'(job))
      SESSION: return 5'd7;
      TIME, OBJECT, OFFSET: return 5'd4;
      SEQUENCE, LENGTH, MISSING, EPOCH, SECONDS, SIZE: return 5'd2;
      CRC, STREAM, SUM_FIRST, SUM_SECOND, WHOLE: return 5'd1;
      EXTENSION: return 5'd0;
      default: return result_job(32'(job)).words;
    endcase
  endfunction

  // Bits of a result's decimal numbers, and words of those that are none.
  function automatic int unsigned result_bits();
    result_bits = 0;
    for (int unsigned job = 0; job < RESULT_JOBS; job++)
    result_bits = result_bits + 32'(bits_of(job_t'(RESULT + job)));
  endfunction
  function automatic int unsigned result_words();
    result_words = 0;
    for (int unsigned job = 0; job < RESULT_JOBS; job++)
    if (RESULT_JOB[job][12]) result_words = result_words + 32'(RESULT_JOB[job][4:0]) + 1;
  endfunction

  localparam int unsigned NumberBits = BaseBits + result_bits();
  localparam int unsigned RawWords = BaseWords + result_words();
  localparam int unsigned Steps = NumberBits / Bits;

  // What a job waits for, and what it is.
  typedef struct packed {
    logic is_decimal;
    logic is_raw;  // as it is, hexadecimal or octal
    logic for_text;
    logic for_head;
    logic for_sum;
    logic for_float;
    logic for_fraction;
    logic for_result;
    logic ends_column;
  } nature_t;

  function automatic nature_t nature_of(input job_t job);
    result_job_t of;
    of = result_job(32'(job));
    nature_of.is_decimal = bits_of(job) != '0;
    nature_of.is_raw = bits_of(job) == '0 && job != job_t'(EXTENSION) && job != job_t'(WHOLE);
    nature_of.for_text = job == job_t'(SEQUENCE);
    nature_of.for_head = job == job_t'(OBJECT);
    nature_of.for_sum = job == job_t'(SUM_FIRST) || job == job_t'(SUM_SECOND);
    nature_of.for_float = of.is_float;
    nature_of.for_fraction = of.is_fraction;
    nature_of.for_result = of != '0 && !(HAS_NONCE && job == job_t'(RESULT));
    nature_of.ends_column = of.ends_column;
  endfunction

  job_t job_q, job_next;
  nature_t nature_q;
  logic writing_q;  // else it is counted
  logic primed_q;  // its first bits are there
  logic [6:0] steps_q;  // that are left
  logic [4:0] left_q;  // words behind this one
  logic [$clog2(Steps)-1:0] at_q;
  logic [$clog2(RawWords)-1:0] raw_at_q;
  logic [PlaceBits-1:0] place_q;
  facts_t facts_q;
  logic busy_q;  // they count
  logic primes, counts, writes, ends, all_done, opened_q, head_ends_q;
  logic float_ready, fraction_ready, summed, last_job;

  assign last_job = job_q == job_t'(RESULT + RESULT_JOBS - 1);
  assign job_next = last_job ? job_t'(SEQUENCE) : job_q + 1'b1;
  assign primes = !writing_q && !primed_q && opened_q &&
      !(nature_q.for_float && !float_ready) && !(nature_q.for_fraction && !fraction_ready);
  assign counts = !writing_q && primed_q;
  assign writes = writing_q && !(nature_q.for_text && !text_free) &&
      !(nature_q.for_head && !head_free) && !(nature_q.for_sum && !summed);
  assign ends = writes && left_q == '0;
  assign all_done = cfg_small ? head_done : ends && last_job;
  assign s_facts_tready = !busy_q || all_done;
  assign whole = facts_q.whole;
  assign has_result = facts_q.has_result;

  always_ff @(posedge clk) begin : take
    if (s_facts_tready) begin
      facts_q <= s_facts_tdata;
      busy_q  <= s_facts_tvalid;
    end
    if (rst) busy_q <= 1'b0;
  end

  always_ff @(posedge clk) begin : follow
    // The last word is written two cycles later.
    head_ends_q <= ends && job_q == job_t'(SUM_SECOND) && !rst;
    head_done   <= head_ends_q && !rst;
    text_late   <= job_q >= job_t'(MISSING) && !rst;
    if (primes) primed_q <= 1'b1;
    if (primes || (counts && steps_q != 7'd1)) at_q <= at_q - 1'b1;
    if (counts) begin
      steps_q   <= steps_q - 1'b1;
      writing_q <= steps_q == 7'd1;
    end
    if (writes) begin
      left_q  <= left_q - 1'b1;
      place_q <= place_q + 1'b1;
      if (nature_q.is_raw) raw_at_q <= raw_at_q - 1'b1;
    end
    if (ends) begin
      job_q <= job_next;
      nature_q <= nature_of(job_next);
      primed_q <= 1'b0;
      writing_q <= bits_of(job_next) == '0;
      left_q <= words_of(job_next);
      steps_q <= bits_of(job_next) / 7'(Bits);
      if (job_q == job_t'(RESULT - 1)) place_q <= PlaceBits'(RESULT_PLACE);
    end
    if (rst || all_done) begin
      job_q <= job_t'(SEQUENCE);
      nature_q <= nature_of(job_t'(SEQUENCE));
      primed_q <= 1'b0;
      writing_q <= 1'b0;
      left_q <= words_of(job_t'(SEQUENCE));
      steps_q <= bits_of(job_t'(SEQUENCE)) / 7'(Bits);
      place_q <= '0;
      at_q <= ($clog2(Steps))'(Steps - 1);
      raw_at_q <= ($clog2(RawWords))'(RawWords - 1);
    end
  end

  // ----------------------------------------------------------------------------------------- singles
  // Those of the result, and the one that is written next.
  localparam int unsigned Floats = RESULT_FLOATS == 0 ? 1 : RESULT_FLOATS;
  logic [Floats-1:0][31:0] floats;
  logic [31:0] single;
  logic [$clog2(Floats+1)-1:0] float_q;
  assign single = floats[float_q];

  localparam logic [30:0] FloatLimit = 31'h4b18_9680;  // 1e7
  localparam logic [7:0] WholeExponent = 8'd150;  // of 2^23 and above
  localparam logic [7:0] NoneExponent = 8'd64;  // below it nothing is left
  localparam logic [55:0] Half = 56'd2147;  // of the last digit

  logic [55:0] fixed_q, scaled;
  logic [7:0] shifts_q, exponent;
  logic [2:0] times_q;  // by ten, to be multiplied
  logic opens, loads, next_q, half_q, null_float;

  assign exponent = single[30:23];
  assign null_float = single[30:0] >= FloatLimit;
  assign opens = busy_q && !opened_q;
  assign loads = opens || next_q;
  assign float_ready = opened_q && !next_q && shifts_q == '0 && !half_q;
  assign fraction_ready = times_q == '0;
  assign scaled = times_q == '0 ? fixed_q + Half : (fixed_q << 3) + (fixed_q << 1);

  always_ff @(posedge clk) begin : fix_point
    next_q <= ends && nature_q.for_fraction && !rst;
    if (ends && nature_q.for_fraction) float_q <= float_q + 1'b1;
    if (loads) begin
      fixed_q  <= {exponent >= NoneExponent, single[22:0], 32'd0};
      shifts_q <= null_float ? '0 : WholeExponent - exponent;
      half_q   <= 1'b1;
      opened_q <= 1'b1;
      if (exponent < NoneExponent) begin
        fixed_q  <= '0;
        shifts_q <= '0;
      end
    end else if (shifts_q != '0) begin
      fixed_q  <= fixed_q >> 1;
      shifts_q <= shifts_q - 1'b1;
    end else if (half_q || times_q != '0) begin
      fixed_q <= scaled;
      half_q  <= 1'b0;
      if (times_q != '0) times_q <= times_q - 1'b1;
    end else if (ends && nature_q.for_float) begin
      fixed_q[55:32] <= '0;
      times_q <= 3'd6;
    end
    if (rst || all_done) begin
      opened_q <= 1'b0;
      next_q   <= 1'b0;
      float_q  <= '0;
      times_q  <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------ digits
  logic [Steps-1:0][Bits-1:0] numbers;
  logic [Bits-1:0] bits_q;
  logic [4*Digits-1:0] digits_q;
  logic [17:0] sum_q;

  function automatic logic [47:0] octal(input logic [35:0] value);
    for (int at = 0; at < 12; at++) octal[4*at+:4] = {1'b0, value[3*at+:3]};
  endfunction
  function automatic logic [127:0] in_order(input logic [127:0] bytes);
    for (int at = 0; at < 16; at++) in_order[8*at+:8] = bytes[8*(15-at)+:8];
  endfunction

  // A result apart: decimal numbers, singles, and what is shown as it is.
  logic [NumberBits-1:0] all_bits;
  logic [RawWords-1:0][15:0] raw;
  logic [RESULT_BITS+NONCE_BITS-1:0] shown;  // the result, with a nonce in front of it where there is one
  assign numbers = all_bits;
  assign shown   = HAS_NONCE ? {facts_q.result, facts_q.nonce} : $bits(shown)'(facts_q.result);

  always_comb begin : take_apart
    int unsigned bit_, word, from, float;
    all_bits = '0;
    all_bits[NumberBits-1-:BaseBits] = {
      facts_q.sequence_,
      facts_q.time_,
      facts_q.length,
      facts_q.object,
      facts_q.offset,
      facts_q.stream,
      facts_q.missing,
      facts_q.epoch
    };
    raw = '0;
    raw[RawWords-1-:BaseWords] = {
      facts_q.crc32c,
      in_order(cfg_session),
      octal({3'd0, facts_q.seconds[32:0]}),
      32'(octal({18'd0, sum_q})),
      octal({4'd0, facts_q.length}),
      32'(octal({18'd0, sum_q}))
    };
    floats = '0;
    {bit_, word, from, float} = {NumberBits - BaseBits, RawWords - BaseWords, 32'd0, 32'd0};
    for (int unsigned job = RESULT; job < RESULT + RESULT_JOBS; job++) begin
      bit_ -= 32'(bits_of(job_t'(job)));
      if (result_job(job).is_hex) begin
        word -= 32'(result_job(job).words) + 1;
        // The first byte is the one in front.
        for (int unsigned at = 0; at < 32'(result_job(job).bits); at++)
        raw[word+at/2][8*(at%2)+:8] = shown[from+8*(32'(result_job(job).bits)-1-at)+:8];
        from += 8 * 32'(result_job(job).bits);
      end else if (result_job(job).is_float) begin
        all_bits[bit_+:24] = fixed_q[55:32];
        floats[float] = shown[from+:32];
      end else if (result_job(job).is_fraction) begin
        all_bits[bit_+:24] = fixed_q[55:32];
        from += 32;
        float += 1;
      end else begin
        for (int unsigned at = 0; at < 32'(result_job(job).bits); at++)
        all_bits[bit_+at] = shown[from+at];
        from += 32'(result_job(job).bits);
      end
    end
  end

  // A number is doubled N times at once. A digit D becomes 2^N * D + C, where C, below 2^N, is what the
  // digit below carries into it; the last decimal digit of that stays, the rest is carried on. Bit
  // by bit, the highest first: with the bits of C that are known a digit has the value V, and the
  // next bit that it carries is 1 if V / 5 is odd.
  localparam int unsigned Values = 10 << Bits;
  typedef logic [$clog2(Values)-1:0] value_t;

  function automatic logic [Values-1:0][3:0] last_digits();
    for (int unsigned at = 0; at < Values; at++) last_digits[at] = 4'(at % 10);
  endfunction
  function automatic logic [Values-1:0] odd_fifths();
    for (int unsigned at = 0; at < Values; at++) odd_fifths[at] = 1'(at / 5);
  endfunction
  localparam logic [Values-1:0][3:0] LastDigit = last_digits();
  localparam logic [Values-1:0] OddFifths = odd_fifths();

  function automatic logic [4*Digits-1:0] doubled(input logic [4*Digits-1:0] digits,
                                                  input logic [Bits-1:0] bits);
    value_t value[Digits];
    logic carry, next;
    for (int digit = 0; digit < Digits; digit++) value[digit] = value_t'(digits[4*digit+:4]);
    for (int step = Bits - 1; step >= 0; step--) begin
      carry = bits[step];
      for (int digit = 0; digit < Digits; digit++) begin
        next = OddFifths[value[digit]];
        value[digit] = {value[digit][$bits(value_t)-2:0], carry};
        carry = next;
      end
    end
    for (int digit = 0; digit < Digits; digit++) doubled[4*digit+:4] = LastDigit[value[digit]];
  endfunction

  always_ff @(posedge clk) begin : count
    if (primes || counts) bits_q <= numbers[at_q];
    if (counts) digits_q <= doubled(digits_q, bits_q);
    if (rst || ends || all_done) digits_q <= '0;
  end

  // ------------------------------------------------------------------------------------------- words
  // What stands in a word.
  typedef enum logic [3:0] {
    AS_IS,      // digits, no blanks
    NUMBER,     // blanks for leading zeros
    SIGNED,     // and a sign in front of the first digit
    POINT,      // a point for the second digit
    BLANKS,
    NULL_END,
    TRUE_END,
    FALSE_END,
    FALSE_F,
    GIVEN       // the file name extension
  } kind_e;

  // A tar header has eleven octal digits: they last until the year 2242.
  logic unused;
  assign unused = &{1'b0, facts_q.seconds[33], facts_q.received, facts_q.nonce};

  kind_e kind, kind_q;
  logic none, nulls, word_q, ends_q, next_blank_q;
  logic [PlaceBits-1:0] word_place_q;
  logic [15:0] nibbles_q;

  // Without a result its columns are null, which the last number of each says.
  assign none  = nature_q.for_result && !facts_q.has_result;
  assign nulls = none || ((nature_q.for_float || nature_q.for_fraction) && null_float);

  always_comb begin : choose_kind
    kind = nature_q.is_raw ? AS_IS : NUMBER;
    if (nature_q.for_float && single[31]) kind = SIGNED;
    if (nature_q.for_fraction) kind = left_q != '0 ? POINT : AS_IS;
    if (nulls) kind = left_q != '0 || nature_q.for_float ? BLANKS : NULL_END;
    if (none && !nature_q.ends_column) kind = BLANKS;
    if (job_q == job_t'(EXTENSION)) kind = GIVEN;
    if (job_q == job_t'(WHOLE) && facts_q.whole) kind = left_q != '0 ? BLANKS : TRUE_END;
    if (job_q == job_t'(WHOLE) && !facts_q.whole) kind = left_q != '0 ? FALSE_F : FALSE_END;
  end

  always_ff @(posedge clk) begin : choose_word
    word_q <= writes && !rst;
    if (writes) begin
      word_place_q <= place_q;
      kind_q <= kind;
      ends_q <= ends;
      next_blank_q <= !ends && digits_q[15:12] == '0;
      nibbles_q <= nature_q.is_raw ? raw[raw_at_q] : digits_q[16*left_q[2:0]+:16];
    end
  end

  // Leading zeros of a number, the first character in bit 0, the next word's in bit 4.
  function automatic logic [4:0] blanks(input logic [15:0] nibbles, input logic seen,
                                        input logic ends_here, input logic next_blank);
    blanks[0] = !seen && nibbles[15:12] == '0;
    blanks[1] = blanks[0] && nibbles[11:8] == '0;
    blanks[2] = blanks[1] && nibbles[7:4] == '0;
    blanks[3] = blanks[2] && nibbles[3:0] == '0 && !ends_here;
    blanks[4] = next_blank;
  endfunction

  function automatic logic [7:0] character(input logic [3:0] nibble);
    return (nibble < 4'd10 ? 8'h30 : 8'h57) + 8'(nibble);
  endfunction

  logic seen_q;  // a digit that is not 0
  logic [4:0] blank;
  assign blank = blanks(nibbles_q, seen_q, ends_q, next_blank_q);

  always_ff @(posedge clk) begin : put
    we <= word_q && !rst;
    if (word_q) begin
      seen_q <= !ends_q && !blank[3];
      waddr  <= word_place_q;
      for (int at = 0; at < 4; at++) begin
        wdata[8*at+:8] <= character(nibbles_q[4*(3-at)+:4]);
        if ((kind_q == NUMBER || kind_q == SIGNED) && blank[at]) wdata[8*at+:8] <= " ";
        if (kind_q == SIGNED && blank[at] && !blank[at+1]) wdata[8*at+:8] <= "-";
      end
      unique case (kind_q)
        POINT: wdata[15:8] <= ".";
        BLANKS: wdata <= "    ";
        NULL_END: wdata <= "llun";
        TRUE_END: wdata <= "eurt";
        FALSE_END: wdata <= "esla";
        FALSE_F: wdata <= "f   ";
        GIVEN: wdata <= cfg_extension;
        default: ;
      endcase
    end
    if (rst) seen_q <= 1'b0;
  end

  // -------------------------------------------------------------------------------------- checksums
  // Of what is in both headers, then of what is in the second one only. In names zeros stand where
  // numbers have blanks.
  logic adds, word_adds_q, adds_q, word_name_q, name_q;
  logic [9:0] four;
  always_comb begin : choose_sum
    unique case (32'(job_q))
      SESSION, OBJECT, STREAM, SECONDS, SIZE, EXTENSION: adds = writes;
      OFFSET: adds = writes && !facts_q.whole;
      TIME, CRC: adds = writes && cfg_small;
      default: adds = 1'b0;
    endcase
    four = '0;
    for (int at = 0; at < 4; at++) four += 10'(wdata[8*at+:8] | {3'd0, name_q, 4'd0});
  end
  assign summed = !word_adds_q && !adds_q;

  always_ff @(posedge clk) begin : add_up
    word_adds_q <= adds && !rst;
    adds_q <= word_adds_q && !rst;
    word_name_q <= nature_q.is_decimal;
    name_q <= word_name_q;
    if (opens) sum_q <= SumOf[facts_q.whole][0];
    else if (adds_q) sum_q <= sum_q + 18'(four);
    else if (ends && job_q == job_t'(SUM_FIRST))
      sum_q <= sum_q - SumOf[facts_q.whole][0] + (cfg_small ?
          SumOfSmall[facts_q.whole] : SumOf[facts_q.whole][1]);
  end

endmodule

`default_nettype wire
