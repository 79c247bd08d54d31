// SPDX-License-Identifier: Apache-2.0
//! The SystemVerilog package `fb_store_rom_pkg`: what the object writer has ready-made.

use super::BANNER;
use crate::store::page::{FIELDS, FILLER, Field, TEMPLATE_PART, TEMPLATE_WHOLE};
use crate::store::small::{SMALL_PART, SMALL_WHOLE};
use crate::store::{index, page};
use core::fmt::{Result, Write};

/// Writes the package, formatted as verible-verilog-format would.
pub fn render_rom(out: &mut impl Write) -> Result {
    // REUSE-IgnoreStart
    writeln!(out, "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1")?;
    // REUSE-IgnoreEnd
    writeln!(out, "// {BANNER}")?;
    writeln!(
        out,
        "// Pages and blocks as far as they are always the same (docs/reference/store-format.md)."
    )?;
    writeln!(out, "`default_nettype none\n")?;
    writeln!(out, "/* verilator lint_off UNUSEDPARAM */")?;
    writeln!(out, "package fb_store_rom_pkg;")?;
    writeln!(
        out,
        "\n  // Where an extent's numbers stand among {} characters.",
        page::FIELD_CHARACTERS
    )?;
    for (name, Field { at, len }) in FIELDS {
        writeln!(
            out,
            "  localparam int unsigned FIELD_{name} = {at};  // {len} of them"
        )?;
    }
    writeln!(
        out,
        "\n  // The page in front of a payload, eight characters a word, the first lowest: tar header,"
    )?;
    writeln!(
        out,
        "  // text, tar header. With bit 8 a character is a hole, for the one of this number."
    )?;
    words(out, "PAGE_WHOLE", 72, characters(&TEMPLATE_WHOLE))?;
    words(out, "PAGE_PART", 72, characters(&TEMPLATE_PART))?;
    writeln!(
        out,
        "\n  // The header in front of a small object's payload, in the same way."
    )?;
    words(out, "SMALL_WHOLE", 72, characters(&SMALL_WHOLE))?;
    words(out, "SMALL_PART", 72, characters(&SMALL_PART))?;
    writeln!(
        out,
        "\n  // What fills the page behind a payload, as often as it fits."
    )?;
    words(out, "FILLER", 64, bytes(&FILLER))?;
    writeln!(
        out,
        "\n  // What stands in front of the columns in a block of the index, where it has all rows."
    )?;
    words(out, "INDEX_HEAD", 64, bytes(&index::HEAD))?;
    let counts = index::COUNTS_AT.iter();
    let counts = counts.fold(0_u128, |all, at| all | 1 << (at / 8));
    writeln!(out, "\n  // Which of its words are the number of rows.")?;
    writeln!(
        out,
        "  localparam logic [{}:0] INDEX_COUNTS = {}'h{counts:x};",
        index::COLUMNS_AT / 8 - 1,
        index::COLUMNS_AT / 8
    )?;
    writeln!(out, "\nendpackage")?;
    writeln!(out, "/* verilator lint_on UNUSEDPARAM */\n")?;
    writeln!(out, "`default_nettype wire")
}

/// Writes the columns of the index as JSON: pairs of name and type.
pub fn render_columns(out: &mut impl Write) -> Result {
    for (at, column) in index::COLUMNS.iter().enumerate() {
        let before = if at == 0 { "[" } else { ", " };
        write!(
            out,
            "{before}[\"{}\", \"{}\"]",
            column.name,
            column.kind.name()
        )?;
    }
    writeln!(out, "]")
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
    let count = all.len();
    writeln!(
        out,
        "  localparam logic [{}:0][{}:0] {name} = {{",
        count - 1,
        bits - 1
    )?;
    // A concatenation begins with the highest.
    for (at, word) in all.rev().enumerate() {
        let comma = if at + 1 < count { "," } else { "" };
        writeln!(
            out,
            "    {bits}'h{word:0digits$x}{comma}",
            digits = bits / 4
        )?;
    }
    writeln!(out, "  }};")
}
