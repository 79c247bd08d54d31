// SPDX-License-Identifier: Apache-2.0
//! The SystemVerilog package `fb_store_rom_pkg`: what the object writer has ready-made.

use super::BANNER;
use crate::store::layout::{self, BASES, BODY_AT, COUNT_AT, Layout, WordOf, has_base};
use crate::store::page::{
    FIELD_CHARACTERS, FIELDS, FILLER, Field, HOLE, RESULT_AT, Template, WITH_RESULT, template_of,
    width_of,
};
use crate::store::schema::{Kind, Schema};
use crate::store::small::{SMALL_PART, SMALL_WHOLE};
use crate::store::superblock::VERSION;
use alloc::format;
use alloc::vec::Vec;
use core::fmt::{Error, Result, Write};

/// Words of four characters that hardware keeps for all numbers but a result's.
const BASE_WORDS: usize = 52;
/// Words that it has in all: twice as many where results do not fit into the first ones.
const FIELD_WORDS: usize = 64;
/// Bits of a row in front of its result, in the order of [`BASES`].
const ROW_BITS: usize = 480;

/// Writes the package of a schema, formatted as verible-verilog-format would.
///
/// # Errors
/// Where the JSON of an extent has no room for its results, or the output fails.
pub fn render_rom(out: &mut impl Write, schema: &Schema) -> Result {
    let layout = Layout::new(VERSION, *schema);
    // REUSE-IgnoreStart
    writeln!(out, "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1")?;
    // REUSE-IgnoreEnd
    writeln!(out, "// {BANNER}")?;
    writeln!(
        out,
        "// Pages and blocks as far as they are always the same (docs/reference/store-format.md)."
    )?;
    // Whatever the length of a key, the hardware is the same.
    let nonce = if schema.cipher.is_some() {
        "; nonces"
    } else {
        ""
    };
    writeln!(
        out,
        "// Columns of a result: {}{nonce}.",
        schema.encrypted(None)
    )?;
    writeln!(out, "`default_nettype none\n")?;
    writeln!(out, "/* verilator lint_off UNUSEDPARAM */")?;
    writeln!(out, "package fb_store_rom_pkg;")?;
    fields(out, schema)?;
    writeln!(
        out,
        "\n  // The page in front of a payload, eight characters a word, the first lowest: tar header,"
    )?;
    writeln!(
        out,
        "  // text, tar header. With bit 8 a character is a hole, for the one of this number, of the"
    )?;
    writeln!(
        out,
        "  // result from RESULT_WORD on; with bit 7 it is there only if there is a result."
    )?;
    for (name, whole) in [("PAGE_WHOLE", true), ("PAGE_PART", false)] {
        let template = template_of(schema, whole).ok_or(Error)?;
        words(out, name, 72, characters(&numbered(&template, schema)))?;
    }
    writeln!(
        out,
        "\n  // The header in front of a small object's payload, in the same way."
    )?;
    words(out, "SMALL_WHOLE", 72, characters(&SMALL_WHOLE.map(coded)))?;
    words(out, "SMALL_PART", 72, characters(&SMALL_PART.map(coded)))?;
    writeln!(
        out,
        "\n  // What fills the page behind a payload, as often as it fits."
    )?;
    words(out, "FILLER", 64, bytes(&FILLER))?;
    index(out, &layout)?;
    writeln!(out, "\nendpackage")?;
    writeln!(out, "/* verilator lint_on UNUSEDPARAM */\n")?;
    writeln!(out, "`default_nettype wire")
}

fn count(out: &mut impl Write, name: &str, value: usize, what: &str) -> Result {
    write!(out, "  localparam int unsigned {name} = {value};")?;
    match what {
        "" => writeln!(out),
        what => writeln!(out, "  // {what}"),
    }
}

/// Bits of a nonce, and its characters in words of four.
const NONCE: (usize, usize) = (64, width_of(Kind::U64, 0).1 / 4);

/// Words of four characters that a result takes, with the nonce in front of it.
fn result_words(schema: &Schema) -> usize {
    let nonce = schema.cipher.map_or(0, |_| NONCE.1);
    let columns = schema.columns().iter();
    let characters = columns.map(|column| {
        let values = column.values();
        values * width_of(column.kind, column.list).1
    });
    nonce + characters.sum::<usize>() / 4
}

/// The word at which hardware keeps the characters of a result.
fn result_place(schema: &Schema) -> usize {
    match BASE_WORDS + result_words(schema) <= FIELD_WORDS {
        true => BASE_WORDS,
        false => FIELD_WORDS,
    }
}

/// Numbers as characters, and how hardware makes those of a result.
fn fields(out: &mut impl Write, schema: &Schema) -> Result {
    writeln!(
        out,
        "\n  // Where an extent's numbers stand among {FIELD_CHARACTERS} characters."
    )?;
    for (name, Field { at, len }) in FIELDS {
        writeln!(
            out,
            "  localparam int unsigned FIELD_{name} = {at};  // {len} of them"
        )?;
    }
    let mut jobs = Vec::new();
    let mut floats = 0;
    if schema.cipher.is_some() {
        jobs.push(job(NONCE.0, NONCE.1, 0, true));
    }
    for column in schema.columns() {
        let bits = 8 * column.kind.bytes();
        let last = column.values() - 1;
        match column.kind {
            Kind::Byte => jobs.push(job(
                column.bytes(),
                width_of(column.kind, column.list).1 / 4,
                HEX,
                true,
            )),
            Kind::F32 => {
                floats += column.values();
                for value in 0..=last {
                    jobs.push(job(24, 2, FLOAT, false));
                    jobs.push(job(24, 2, FRACTION, value == last));
                }
            }
            kind => {
                let words = width_of(kind, 0).1 / 4;
                jobs.extend((0..=last).map(|value| job(bits, words, 0, value == last)));
            }
        }
    }
    writeln!(out, "\n  // Results.")?;
    let bits = 8 * schema.bytes();
    count(
        out,
        "RESULT_BITS",
        bits.max(8),
        "of one; 8 that are nothing if it has no column",
    )?;
    count(
        out,
        "RESULT_JOBS",
        jobs.len(),
        "numbers of it that are written",
    )?;
    count(out, "RESULT_FLOATS", floats, "of them singles")?;
    count(
        out,
        "RESULT_WORD",
        RESULT_AT.div_ceil(8),
        "of the page, from where they stand there",
    )?;
    let place = result_place(schema);
    count(
        out,
        "RESULT_PLACE",
        place,
        "of their characters, in words of four",
    )?;
    count(
        out,
        "FIELD_WORDS",
        if place == BASE_WORDS {
            FIELD_WORDS
        } else {
            2 * FIELD_WORDS
        },
        "",
    )?;
    let received = u8::from(schema.received);
    writeln!(
        out,
        "  localparam bit HAS_RECEIVED = 1'b{received};  // the index has lengths as received"
    )?;
    let nonce = u8::from(schema.cipher.is_some());
    writeln!(
        out,
        "  localparam bit HAS_NONCE = 1'b{nonce};  // index and page have a nonce, the first of these numbers"
    )?;
    let bits = if nonce == 1 { NONCE.0 } else { 1 };
    count(
        out,
        "NONCE_BITS",
        bits,
        "of one; 1 that is nothing if there is none",
    )?;
    writeln!(
        out,
        "  localparam logic [31:0] SCHEMA_ID = 32'h{:08x};",
        schema.id()
    )?;
    writeln!(
        out,
        "\n  // What is done for each number of a result: bit 15 the last one of a column, 14 behind the"
    )?;
    writeln!(
        out,
        "  // point, 13 before it, 12 hexadecimal, 11-5 decimal: its bits, 4-0 words of four characters"
    )?;
    writeln!(out, "  // less one.")?;
    jobs.resize(jobs.len().max(1), 0);
    words(out, "RESULT_JOB", 16, jobs.into_iter())
}

const HEX: u128 = 1 << 12;
const FLOAT: u128 = 1 << 13;
const FRACTION: u128 = 1 << 14;

/// A word of `RESULT_JOB`.
const fn job(bits: usize, words: usize, kind: u128, ends: bool) -> u128 {
    (ends as u128) << 15 | kind | (bits as u128) << 5 | (words as u128 - 1)
}

/// A character of a template in nine bits.
const fn coded(character: u16) -> u16 {
    let hole = if character & HOLE != 0 { 1 << 8 } else { 0 };
    let with = if character & WITH_RESULT != 0 {
        1 << 7
    } else {
        0
    };
    hole | with | character & 0xff
}

/// A template whose holes for a result have the numbers of hardware's characters.
fn numbered(template: &Template, schema: &Schema) -> Vec<u16> {
    let first = 4 * result_place(schema);
    let mut places: Vec<usize> = Vec::new();
    if schema.cipher.is_some() {
        places.extend(0..4 * NONCE.1);
    }
    for column in schema.columns() {
        let (len, words) = width_of(column.kind, column.list);
        let values = column.values();
        for _ in 0..values {
            let at = places.len();
            places.extend((0..words).map(|own| match column.kind {
                // In front of the point eight characters, behind it seven at the end of eight.
                Kind::F32 => at + own - usize::from((1..9).contains(&own)),
                _ => at + own,
            }));
            debug_assert!(len <= words);
        }
    }
    let number = |hole: u16| match usize::from(hole & !HOLE).checked_sub(FIELD_CHARACTERS) {
        Some(own) => 1 << 8 | ((first + places[own]) & 0xff) as u16,
        None => coded(hole),
    };
    let characters = template.iter();
    characters
        .map(|c| if c & HOLE != 0 { number(*c) } else { coded(*c) })
        .collect()
}

/// Blocks of the index.
fn index(out: &mut impl Write, layout: &Layout) -> Result {
    writeln!(
        out,
        "\n  // Blocks of the index: rows, and bytes at which things stand."
    )?;
    count(out, "INDEX_ROWS", layout.rows, "")?;
    count(out, "INDEX_COUNT_AT", COUNT_AT, "")?;
    count(out, "INDEX_BODY_AT", BODY_AT, "")?;
    count(out, "INDEX_SESSION_AT", layout.session_at(), "")?;
    count(out, "INDEX_NUMBER_AT", layout.number_at(), "")?;
    count(out, "INDEX_CRC_AT", layout.crc_at(), "")?;
    count(out, "INDEX_COLUMNS_AT", layout.columns_at(), "")?;
    for (name, base) in [
        ("OBJECT", layout::OBJECT),
        ("ADDRESS", layout::ADDRESS),
        ("LENGTH", layout::LENGTH),
        ("STREAM", layout::STREAM),
        ("FLAGS", layout::FLAGS),
        // 0 where there is none.
        ("NONCE", layout::NONCE),
    ] {
        writeln!(
            out,
            "  localparam int unsigned INDEX_{name}_AT = {};",
            layout.bases[base].at
        )?;
    }
    let slices = slices(layout);
    count(out, "INDEX_SLICES", slices.len(), "")?;
    writeln!(
        out,
        "\n  // The slices of a row: from which of its bits on (30-21), 1 to 8 bytes as a power of two"
    )?;
    writeln!(
        out,
        "  // (20-19), bytes from one row to the next (18-12), where that of the first stands (11-0)."
    )?;
    words(out, "INDEX_SLICE", 32, slices.into_iter())?;
    writeln!(
        out,
        "\n  // What stands in front of the columns in a block of the index, where it has all rows."
    )?;
    words(out, "INDEX_HEAD", 64, bytes(&layout.head))?;
    writeln!(
        out,
        "\n  // Its words that depend on the rows: which (15-8); that of rows without a result (7), or of"
    )?;
    writeln!(out, "  // rows, times a number (6-0).")?;
    let varying = layout.words.iter().filter_map(|word| {
        let of = match word.of {
            WordOf::Rows(times) => times.into(),
            WordOf::Nulls => 1 << 7,
            WordOf::Body => return None,
        };
        Some((word.at as u128 / 8) << 8 | of)
    });
    let varying: Vec<u128> = varying.collect();
    count(out, "INDEX_WORDS", varying.len(), "")?;
    words(out, "INDEX_WORD", 16, varying.into_iter())
}

/// How a row gets into a block, in slices that each lie in one beat.
fn slices(layout: &Layout) -> Vec<u128> {
    let slice = |bit: usize, bytes: usize, stride: usize, first: usize| {
        (bit as u128) << 21
            | u128::from(bytes.ilog2()) << 19
            | (stride as u128) << 12
            | first as u128
    };
    let mut all = Vec::new();
    let mut bit = 0;
    for (at, base) in BASES.iter().enumerate() {
        let bytes = base.kind.bytes();
        if has_base(&layout.schema, at) {
            all.push(slice(bit, bytes, bytes, layout.bases[at].at));
        }
        bit += 8 * bytes;
    }
    debug_assert!(bit == ROW_BITS);
    for place in &layout.results {
        let bytes = (1 << place.bytes.trailing_zeros()).min(8);
        for own in (0..place.bytes).step_by(bytes) {
            all.push(slice(bit + 8 * own, bytes, place.bytes, place.at + own));
        }
        bit += 8 * place.bytes;
    }
    if let Some(at) = layout.valid_at {
        all.push(slice(bit.max(ROW_BITS + 8), 8, 0, at));
    }
    all
}

fn characters(template: &[u16]) -> impl DoubleEndedIterator<Item = u128> + ExactSizeIterator + '_ {
    template.chunks(8).map(|eight| {
        eight
            .iter()
            .rev()
            .fold(0, |word, character| word << 9 | u128::from(*character))
    })
}

fn bytes(all: &[u8]) -> impl DoubleEndedIterator<Item = u128> + ExactSizeIterator + '_ {
    all.chunks(8).map(|eight| {
        eight
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u128::from(*byte))
    })
}

fn words(
    out: &mut impl Write,
    name: &str,
    bits: usize,
    all: impl DoubleEndedIterator<Item = u128> + ExactSizeIterator,
) -> Result {
    let (count, digits) = (all.len(), bits / 4);
    let head = format!(
        "  localparam logic [{}:0][{}:0] {name} = {{",
        count - 1,
        bits - 1
    );
    // A concatenation begins with the highest.
    let all: Vec<_> = all
        .rev()
        .map(|word| format!("{bits}'h{word:0digits$x}"))
        .collect();
    let line = format!("{head}{}}};", all.join(", "));
    match line.len() {
        ..=100 => writeln!(out, "{line}"),
        _ => writeln!(out, "{head}\n    {}\n  }};", all.join(",\n    ")),
    }
}
