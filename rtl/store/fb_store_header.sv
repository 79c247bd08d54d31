// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// fb_store_header: the page in front of an extent's payload: tar header, JSON, tar header.
//
// What:        goes through the template of fb_store_rom_pkg word by word and fills its holes from a
//              memory of characters, which fb_store_bin2ascii fills with the extent's numbers. What
//              it writes is, byte by byte, forebay_spec::store::page::Facts::to_page(). The fields
//              of one page are written while the one before leaves, behind the place where these
//              were read for the last time. With `cfg_small` it is the last 512 bytes alone, the
//              header of a small object, with time and checksum in it: Facts::to_header().
// Handshake:   valid/ready, whole beats; facts are taken when the last field of those before them is
//              written, TVALID does not depend on TREADY.
// Latency:     with DigitBits = 4 the first beat comes 136 cycles after the facts, the last one 339.
// Throughput:  a page in 224 cycles, with DigitBits = 2 in 304, with DigitBits = 1 in 488: of its 64
//              beats 21 take eight cycles, the others one; then digits are waited for. With
//              `cfg_small` a header in 165 cycles, all of whose eight beats take eight.
// Limits:      cfg_* is steady while there are facts or a page. 512-bit registers: one, the beat
//              that is composed and sent. The template is in a block RAM.
// Does not implement: headers of other kinds; what is behind a payload.

`default_nettype none

module fb_store_header
  import fb_store_pkg::*;
  import fb_store_rom_pkg::*;
#(
    parameter int unsigned DigitBits = 4  // of a number, counted in a cycle: 1, 2 or 4
) (
    input wire clk,
    input wire rst,

    input wire         cfg_small,     // headers of small objects
    input wire [127:0] cfg_session,   // the UUID's first byte lowest
    input wire [ 31:0] cfg_extension, // the first character lowest, padded with NUL

    input  wire         s_facts_tvalid,
    output logic        s_facts_tready,
    input  wire facts_t s_facts_tdata,

    output logic         m_axis_page_tvalid,
    input  wire          m_axis_page_tready,
    output logic [511:0] m_axis_page_tdata,
    output logic         m_axis_page_tlast
);

  // ------------------------------------------------------------------------------------ the template
  // Words of the template, eight characters each.
  localparam int unsigned Texts = 64;  // the first one of the text
  localparam int unsigned Seconds = 128;  // the first one of the second header
  localparam int unsigned Smalls = 192;  // behind them: the header of a small object
  localparam int unsigned RomWords = 256;
  localparam logic [7:0] Blank = 8'h20;
  localparam logic [7:0] Zero = 8'h30;
  typedef logic [71:0] word_t;
  typedef word_t [RomWords-1:0] rom_t;

  localparam rom_t Whole = {SMALL_WHOLE, PAGE_WHOLE};
  localparam rom_t Part = {SMALL_PART, PAGE_PART};

  // Places of the fields in the memory, in words of four characters, in the order of fb_store_bin2ascii.
  // A field stands at the end of its words.
  localparam int unsigned PlaceSequence = 0;
  localparam int unsigned PlaceTime = 3;
  localparam int unsigned PlaceLength = 8;
  localparam int unsigned PlaceCrc = 11;
  localparam int unsigned PlaceSession = 13;
  localparam int unsigned PlaceObject = 21;
  localparam int unsigned PlaceOffset = 26;
  localparam int unsigned PlaceStream = 31;
  localparam int unsigned PlaceSeconds = 33;
  localparam int unsigned PlaceSumFirst = 36;
  localparam int unsigned PlaceSize = 38;
  localparam int unsigned PlaceExtension = 41;
  localparam int unsigned PlaceSumSecond = 42;
  localparam int unsigned PlaceMissing = 44;
  localparam int unsigned PlaceEpoch = 47;
  localparam int unsigned PlaceWhole = 50;  // behind it a result, whose holes have these places

  // A field of the template: its holes, and what they become.
  function automatic logic [7:0] moved(input int unsigned hole, input int unsigned field,
                                       input int unsigned len, input int unsigned place,
                                       input int unsigned words);
    return 8'(4 * (place + words) - len + hole - field);
  endfunction

  function automatic logic [7:0] places(input int unsigned hole, input logic second);
    if (hole >= FIELD_WHOLE) return moved(hole, FIELD_WHOLE, 5, PlaceWhole, 2);
    if (hole >= FIELD_CRC) return moved(hole, FIELD_CRC, 8, PlaceCrc, 2);
    if (hole >= FIELD_TIME) return moved(hole, FIELD_TIME, 20, PlaceTime, 5);
    if (hole >= FIELD_EPOCH) return moved(hole, FIELD_EPOCH, 10, PlaceEpoch, 3);
    if (hole >= FIELD_SEQUENCE) return moved(hole, FIELD_SEQUENCE, 10, PlaceSequence, 3);
    if (hole >= FIELD_MISSING) return moved(hole, FIELD_MISSING, 10, PlaceMissing, 3);
    if (hole >= FIELD_LENGTH) return moved(hole, FIELD_LENGTH, 10, PlaceLength, 3);
    if (hole >= FIELD_OFFSET) return moved(hole, FIELD_OFFSET, 20, PlaceOffset, 5);
    if (hole >= FIELD_STREAM) return moved(hole, FIELD_STREAM, 5, PlaceStream, 2);
    if (hole >= FIELD_OBJECT) return moved(hole, FIELD_OBJECT, 20, PlaceObject, 5);
    if (hole >= FIELD_SESSION) return moved(hole, FIELD_SESSION, 32, PlaceSession, 8);
    if (hole >= FIELD_EXTENSION) return moved(hole, FIELD_EXTENSION, 4, PlaceExtension, 1);
    if (hole >= FIELD_SUM)
      return moved(hole, FIELD_SUM, 6, second ? PlaceSumSecond : PlaceSumFirst, 2);
    if (hole >= FIELD_SECONDS) return moved(hole, FIELD_SECONDS, 11, PlaceSeconds, 3);
    if (hole >= FIELD_SIZE) return moved(hole, FIELD_SIZE, 11, PlaceSize, 3);
    if (hole >= FIELD_NAME_OFFSET) return moved(hole, FIELD_NAME_OFFSET, 20, PlaceOffset, 5);
    if (hole >= FIELD_NAME_OBJECT) return moved(hole, FIELD_NAME_OBJECT, 20, PlaceObject, 5);
    return moved(hole, FIELD_NAME_STREAM, 5, PlaceStream, 2);
  endfunction

  function automatic logic of_result(input int unsigned word);
    return word >= RESULT_WORD && word < Seconds;
  endfunction

  // A word of the template with places for its fields.
  function automatic word_t placed(input word_t text, input logic second);
    placed = text;
    for (int at = 0; at < 72; at += 9)
    if (text[at+8]) placed[at+:8] = places(32'(text[at+:8]), second);
  endfunction

  function automatic rom_t rom_of(input rom_t page);
    rom_of = page;
    for (int unsigned word = 0; word < RomWords; word++)
    if (!of_result(word)) rom_of[word] = placed(page[word], word >= Seconds);
  endfunction

  // What a header's checksum has of literal characters. Its own ones count as blanks; where fewer
  // characters are shown than are written and summed, these are zeros (stream, seconds, size).
  function automatic logic [17:0] literals(input rom_t page, input int unsigned first);
    word_t text;
    literals = '0;
    for (int unsigned word = first; word < first + 64; word++) begin
      text = page[word];
      // But for the blank behind the checksum.
      if (word == first + 19) text[9*3+:9] = '0;
      for (int at = 0; at < 72; at += 9) if (!text[at+8]) literals += 18'(text[at+:8]);
    end
    literals = literals + 18'(8 * Blank) - 18'((first == 0 ? 4 : 5) * Zero);
  endfunction

  // The word behind the last hole that a later page writes anew; the session is always the same.
  function automatic int unsigned behind_holes(input int unsigned first, input int unsigned last);
    word_t text;
    behind_holes = first;
    for (int unsigned word = first; word < last; word++) begin
      text = Part[word];
      for (int at = 0; at < 72; at += 9) begin
        if (text[at+8] && (of_result(
                word
            ) || text[at+:8] < 8'(FIELD_SESSION) || text[at+:8] >= 8'(FIELD_OBJECT)))
          behind_holes = word + 1;
      end
    end
  endfunction

  function automatic int unsigned behind_text();
    behind_text = Texts;
    for (int unsigned word = Texts; word < Seconds; word++)
    if (Whole[word] != {8{1'b0, Blank}}) behind_text = word + 1;
  endfunction

  localparam rom_t WholeRom = rom_of(Whole);
  localparam rom_t PartRom = rom_of(Part);
  localparam logic [1:0][1:0][17:0] SumOf = {
    literals(Whole, Seconds), literals(Whole, 0), literals(Part, Seconds), literals(Part, 0)
  };
  localparam logic [1:0][17:0] SumOfSmall = {literals(Whole, Smalls), literals(Part, Smalls)};

  // Beats of the page. The fields' memory is read two cycles after a beat has begun.
  localparam int unsigned BlankBeat = (behind_text() + 7) / 8;  // blanks from here on
  localparam int unsigned FeedBeat = 55;  // the last one of the JSON
  localparam int unsigned SecondBeat = 56;
  localparam int unsigned TextEnd = (behind_holes(Texts, Seconds) + 2 + 7) / 8;
  localparam int unsigned HeadEnd = SecondBeat + (behind_holes(
      Seconds, Smalls
  ) + 2 - Seconds + 7) / 8;
  localparam int unsigned SmallEnd = SecondBeat + (behind_holes(
      Smalls, RomWords
  ) + 2 - Smalls + 7) / 8;

  if (BlankBeat >= FeedBeat || TextEnd > FeedBeat || HeadEnd > 63 || SmallEnd > 63)
  begin : gen_bad_template
    $fatal(
        1,
        "fb_store_header (%m): the template of fb_store_rom_pkg does not fit: %0d, %0d, %0d",
        TextEnd,
        HeadEnd,
        SmallEnd
    );
  end

  // -------------------------------------------------------------------------------------- characters
  localparam int unsigned PlaceBits = $clog2(FIELD_WORDS);
  logic text_free, head_free, head_done, text_late, whole, has_result, we;
  logic [PlaceBits-1:0] waddr;
  logic [31:0] wdata;
  fb_store_bin2ascii #(
      .Bits(DigitBits),
      .SumOf(SumOf),
      .SumOfSmall(SumOfSmall)
  ) u_digits (
      .clk,
      .rst,
      .cfg_small,
      .cfg_session,
      .cfg_extension,
      .s_facts_tvalid,
      .s_facts_tready,
      .s_facts_tdata,
      .whole,
      .has_result,
      .text_free,
      .head_free,
      .head_done,
      .text_late,
      .we,
      .waddr,
      .wdata
  );

  // --------------------------------------------------------------------------------------- the words
  logic busy_q, due_q;  // a page leaves; the next one may
  logic [1:0] due_whole_q, whole_q;  // whether it has a result, and is of a whole object
  logic [5:0] beat_q;
  logic [2:0] slice_q;
  logic run, steps, beat_ends, page_ends, begins, blanks;
  logic [7:0] word;

  assign run = !m_axis_page_tvalid || m_axis_page_tready;
  assign blanks = beat_q >= 6'(BlankBeat) && beat_q <= 6'(FeedBeat);
  assign steps = busy_q && run && !(beat_q == 6'(Texts / 8) && text_late);
  assign beat_ends = steps && (slice_q == 3'd7 || blanks);
  assign page_ends = beat_ends && beat_q == 6'd63;
  assign begins = due_q && (!busy_q || page_ends);
  // A cycle late: what was read stays read until the fields of the next page are there.
  always_ff @(posedge clk) begin : free
    text_free <= !due_q && (!busy_q || beat_q >= (cfg_small ? 6'(SmallEnd) : 6'(TextEnd)));
    head_free <= !due_q && (!busy_q || beat_q >= (cfg_small ? 6'(SmallEnd) : 6'(HeadEnd)));
  end

  always_comb begin : choose_word
    word = {1'b0, beat_q[3:0], slice_q};
    if (beat_q >= 6'(SecondBeat)) word = {1'b1, cfg_small, beat_q[2:0], slice_q};
  end

  always_ff @(posedge clk) begin : walk
    if (head_done) due_q <= 1'b1;
    else if (begins) due_q <= 1'b0;
    if (head_done) due_whole_q <= {has_result, whole};
    if (begins) whole_q <= due_whole_q;
    if (begins) busy_q <= 1'b1;
    else if (page_ends) busy_q <= 1'b0;
    if (steps && !blanks) slice_q <= slice_q + 1'b1;
    if (beat_ends) beat_q <= beat_q + 1'b1;
    if (begins) beat_q <= cfg_small ? 6'(SecondBeat) : '0;
    if (rst) begin
      due_q   <= 1'b0;
      busy_q  <= 1'b0;
      beat_q  <= '0;
      slice_q <= '0;
    end
  end

  (* rom_style = "block" *)
  logic [71:0] rom[2*RomWords];
  initial begin : fill_rom
    for (int unsigned at = 0; at < RomWords; at++) begin
      rom[at] = PartRom[at];
      rom[RomWords+at] = WholeRom[at];
    end
  end

  // A cycle later: the word is there, its holes are filled.
  logic [71:0] rom_q;
  logic [63:0] filled;
  logic step_q, end_q, last_q, clear_q, feed_q, put_q, header_q, result_q, bank_q;
  logic [2:0] put_slice_q;
  always_ff @(posedge clk) begin : look_up
    if (run) begin
      rom_q <= rom[{whole_q[0], word}];
      result_q <= whole_q[1];
      bank_q <= of_result(32'(word));
      step_q <= steps;
      end_q <= beat_ends;
      last_q <= page_ends;
      clear_q <= beat_q == 6'(BlankBeat);
      feed_q <= beat_q == 6'(FeedBeat);
      put_q <= steps && !blanks;
      put_slice_q <= slice_q;
      header_q <= beat_q < 6'(Texts / 8) || beat_q >= 6'(SecondBeat);
    end
    if (rst) step_q <= 1'b0;
  end

  for (genvar at = 0; at < 8; at++) begin : gen_lane
    logic [3:0][7:0] four;
    logic [7:0] number, literal;
    logic name;
    assign number = rom_q[9*at+:8];
    fb_common_lutram #(
        .Width(32),
        .Depth(FIELD_WORDS)
    ) u_fields (
        .clk,
        .we,
        .waddr,
        .wdata,
        .raddr(PlaceBits'({bank_q, number[7:2]})),
        .rdata(four)
    );
    // In names zeros stand where numbers have blanks, which differ from them by a bit.
    assign name = header_q && (
        (number[7:2] >= 6'(PlaceObject) && number[7:2] < 6'(PlaceSeconds)) ||
        (cfg_small && number[7:2] >= 6'(PlaceTime) && number[7:2] < 6'(PlaceLength)));
    assign literal = number[7] && !result_q ? Blank : {1'b0, number[6:0]};
    assign filled[8*at+:8] = rom_q[9*at+8] ? four[number[1:0]] | {3'd0, name, 4'd0} : literal;
  end

  // ----------------------------------------------------------------------------------------- the beat
  logic [511:0] beat_data_q;
  logic valid_q, page_last_q;
  always_ff @(posedge clk) begin : gather
    if (run) begin
      for (int unsigned slice = 0; slice < 8; slice++)
      if (put_q && put_slice_q == 3'(slice)) beat_data_q[64*slice+:64] <= filled;
      if (step_q && clear_q) beat_data_q <= {64{Blank}};
      if (step_q && feed_q) beat_data_q[511-:8] <= "\n";
      valid_q <= step_q && end_q;
      page_last_q <= last_q;
    end
    if (rst) valid_q <= 1'b0;
  end
  assign m_axis_page_tvalid = valid_q;
  assign m_axis_page_tdata  = beat_data_q;
  assign m_axis_page_tlast  = page_last_q;

`ifndef SYNTHESIS
  page_is_taken :
  assert property (@(posedge clk) disable iff (rst) head_done |-> !due_q)
  else $error("fb_store_header (%m): fields of a third page while one waits");
`endif

  fb_axis_check #(
      .Width(513),
      .Name ("m_axis_page")
  ) u_check_page (
      .clk,
      .rst,
      .valid(m_axis_page_tvalid),
      .ready(m_axis_page_tready),
      .data ({m_axis_page_tdata, m_axis_page_tlast})
  );

  fb_axis_check #(
      .Width($bits(facts_t)),
      .Name ("s_facts")
  ) u_check_facts (
      .clk,
      .rst,
      .valid(s_facts_tvalid),
      .ready(s_facts_tready),
      .data (s_facts_tdata)
  );

endmodule

`default_nettype wire
