// SPDX-License-Identifier: Apache-2.0
//! The layout of recordings as a Python module.

use super::BANNER;
use crate::store::layout::{self, Layout};
use crate::store::schema::{self, OF_RESULTS, Schema};
use crate::store::{PAGE_BYTES, member, pcapng, superblock};
use crate::streamer::window::DRIVES_MOST;
use crate::stripes;
use core::fmt::{Result, Write};

/// Writes the module.
pub fn render_store(out: &mut impl Write) -> Result {
    // REUSE-IgnoreStart
    writeln!(out, "# SPDX-License-Identifier: Apache-2.0")?;
    // REUSE-IgnoreEnd
    writeln!(out, "\"\"\"Where things stand in a recording.")?;
    writeln!(out, "\n{BANNER}\n\"\"\"")?;
    writeln!(out, "\nPAGE = {PAGE_BYTES}")?;
    writeln!(out, "ROWS_MOST = {}", layout::ROWS_MOST)?;
    writeln!(
        out,
        "# What is a block's own in front of its columns, in bytes"
    )?;
    writeln!(out, "OWN_BYTES = {}", layout::OWN_BYTES)?;
    writeln!(out, "# Where a block says how many rows it has, 64 bits")?;
    writeln!(out, "COUNT_AT = {}", layout::COUNT_AT)?;
    writeln!(
        out,
        "# Bytes of a block's message and what precedes it, but for 16 for each of its arrays"
    )?;
    writeln!(out, "# and buffers")?;
    writeln!(out, "MESSAGE_BYTES = {}", layout::message_bytes())?;
    writeln!(out, "\n# Bytes of the longest chunk of a capture")?;
    writeln!(out, "CHUNK_MOST = {}", pcapng::CHUNK_MOST)?;
    writeln!(
        out,
        "\n# Name and type of each column that all recordings have"
    )?;
    writeln!(out, "BASES = (")?;
    for base in layout::BASES {
        writeln!(out, "    (\"{}\", \"{}\"),", base.name, base.kind.name())?;
    }
    writeln!(out, ")")?;
    let first = Layout::new(1, Schema::default());
    writeln!(
        out,
        "\n# Offset in a block of version 1 of each column, and of the first"
    )?;
    writeln!(out, "VERSION_1 = {{")?;
    let bases = layout::BASES.iter().map(|base| base.name).zip(&first.bases);
    let columns = first.schema.columns().iter();
    let results = columns.map(|column| column.name()).zip(&first.results);
    for (name, at) in bases.filter(|(_, at)| at.bytes > 0).chain(results) {
        writeln!(out, "    \"{name}\": {},", at.at)?;
    }
    writeln!(out, "}}\nVERSION_1_COLUMNS_AT = {}", first.columns_at())?;
    writeln!(
        out,
        "\n# Schema of a superblock: types by number, characters of a name"
    )?;
    write!(out, "KINDS = (")?;
    for (at, kind) in OF_RESULTS.iter().enumerate() {
        let before = if at == 0 { "" } else { ", " };
        write!(out, "{before}\"{}\"", kind.name())?;
    }
    writeln!(out, ")\nNAME_MOST = {}", schema::NAME_MOST)?;
    writeln!(out, "COLUMNS_MOST = {}", schema::COLUMNS_MOST)?;
    writeln!(out, "RESULT_MOST = {}", schema::RESULT_MOST)?;
    writeln!(out, "BEAT_BYTES = {}", layout::BEAT_BYTES)?;
    writeln!(out, "# Names that no column of a recorded result has")?;
    writeln!(out, "TAKEN = (")?;
    let free_once = |name: &&&str| schema::FREE_ONCE.contains(*name);
    for name in schema::TAKEN.iter().filter(|name| !free_once(name)) {
        writeln!(out, "    \"{name}\",")?;
    }
    writeln!(out, ")")?;
    writeln!(
        out,
        "\n# Superblock: what it begins with, its version, where its checksum stands"
    )?;
    bytes_of_magic(out, "MAGIC", superblock::MAGIC)?;
    writeln!(out, "SUPER_VERSION = {}", superblock::VERSION)?;
    writeln!(out, "SUPER_CRC_AT = {}", superblock::CRC_AT)?;
    writeln!(out, "SUPER_BYTES = {}", superblock::SUPER_BYTES)?;
    writeln!(out, "PARTITION_ALIGN = {}", superblock::PARTITION_ALIGN)?;
    writeln!(out, "ALIGNMENT_MOST = {}", superblock::ALIGNMENT_MOST)?;
    writeln!(out, "RING = {}", superblock::RING)?;
    writeln!(out, "INDEX_RING = {}", superblock::INDEX_RING)?;
    writeln!(out, "CLOSED = {}", superblock::CLOSED)?;
    writeln!(out, "SMALL = {}", superblock::SMALL)?;
    writeln!(out, "\n# Offset and bytes of each of its fields")?;
    fields(out, "FIELDS", superblock::FIELDS)?;
    writeln!(
        out,
        "\n# Member superblock of an array, and bytes at the end of a drive"
    )?;
    bytes_of_magic(out, "MEMBER_MAGIC", member::MAGIC)?;
    writeln!(out, "MEMBER_VERSION = {}", member::VERSION)?;
    writeln!(out, "MEMBER_PARITY = {}", member::PARITY)?;
    writeln!(out, "TAIL_BYTES = {}", member::TAIL_BYTES)?;
    writeln!(out, "DRIVES_MOST = {DRIVES_MOST}")?;
    writeln!(out, "STRIPE_UNIT_LEAST = {}", stripes::STRIPE_UNIT_LEAST)?;
    writeln!(out, "STRIPE_UNIT_MOST = {}", stripes::STRIPE_UNIT_MOST)?;
    writeln!(out, "\n# Offset and bytes of each of its fields")?;
    fields(out, "MEMBER_FIELDS", member::FIELDS)?;
    writeln!(out, "\n# Types of the partitions")?;
    writeln!(out, "SUPER_TYPE = \"{}\"", superblock::SUPER_TYPE)?;
    writeln!(out, "INDEX_TYPE = \"{}\"", superblock::INDEX_TYPE)?;
    writeln!(out, "DATA_TYPE = \"{}\"", superblock::DATA_TYPE)
}

fn fields(out: &mut impl Write, name: &str, all: &[(&str, usize, usize)]) -> Result {
    writeln!(out, "{name} = {{")?;
    for (name, at, length) in all {
        writeln!(out, "    \"{name}\": ({at}, {length}),")?;
    }
    writeln!(out, "}}")
}

fn bytes_of_magic(out: &mut impl Write, name: &str, magic: [u8; 8]) -> Result {
    write!(out, "{name} = bytes.fromhex(\"")?;
    for byte in magic {
        write!(out, "{byte:02x}")?;
    }
    writeln!(out, "\")")
}
