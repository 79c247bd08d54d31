// SPDX-License-Identifier: Apache-2.0
//! The layout of recordings as a Python module.

use super::BANNER;
use crate::store::{PAGE_BYTES, index, pcapng, superblock};
use core::fmt::{Result, Write};

/// Bytes in a line.
const LINE: usize = 32;

fn bytes(out: &mut impl Write, name: &str, what: &str, all: &[u8]) -> Result {
    writeln!(out, "\n# {what}\n{name} = bytes.fromhex(")?;
    for line in all.chunks(LINE) {
        write!(out, "    \"")?;
        for byte in line {
            write!(out, "{byte:02x}")?;
        }
        writeln!(out, "\"")?;
    }
    writeln!(out, ")")
}

/// Writes the module.
pub fn render_store(out: &mut impl Write) -> Result {
    // REUSE-IgnoreStart
    writeln!(out, "# SPDX-License-Identifier: Apache-2.0")?;
    // REUSE-IgnoreEnd
    writeln!(out, "\"\"\"Where things stand in a recording.")?;
    writeln!(out, "\n{BANNER}\n\"\"\"")?;
    writeln!(out, "\nPAGE = {PAGE_BYTES}\nROWS = {}", index::ROWS)?;
    writeln!(
        out,
        "# Where a block says how many rows it has, 64 bits each"
    )?;
    writeln!(out, "COUNTS_AT = {:?}", index::COUNTS_AT)?;
    writeln!(out, "SESSION_AT = {}", index::SESSION_AT)?;
    writeln!(out, "NUMBER_AT = {}", index::NUMBER_AT)?;
    writeln!(out, "CRC_AT = {}", index::CRC_AT)?;
    writeln!(out, "COLUMNS_AT = {}", index::COLUMNS_AT)?;
    writeln!(out, "\n# Bytes of the longest chunk of a capture")?;
    writeln!(out, "CHUNK_MOST = {}", pcapng::CHUNK_MOST)?;
    writeln!(out, "\n# Name, type and offset in a block of each column")?;
    writeln!(out, "COLUMNS = (")?;
    for column in index::COLUMNS {
        let kind = column.kind.name();
        writeln!(out, "    (\"{}\", \"{kind}\", {}),", column.name, column.at)?;
    }
    writeln!(out, ")")?;
    let head = &index::HEAD[..index::SESSION_AT];
    bytes(out, "HEAD", "What a block of all rows begins with", head)?;
    let schema = &index::SCHEMA_PAGE;
    let used = schema
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at + 1);
    let what = "What the first page begins with; zeros follow";
    bytes(out, "SCHEMA", what, &schema[..used.next_multiple_of(8)])?;
    writeln!(
        out,
        "\n# Superblock: what it begins with, its version, where its checksum stands"
    )?;
    bytes_of_magic(out)?;
    writeln!(out, "SUPER_VERSION = {}", superblock::VERSION)?;
    writeln!(out, "SUPER_CRC_AT = {}", superblock::CRC_AT)?;
    writeln!(out, "SUPER_BYTES = {}", superblock::SUPER_BYTES)?;
    writeln!(out, "PARTITION_ALIGN = {}", superblock::PARTITION_ALIGN)?;
    writeln!(out, "RING = {}", superblock::RING)?;
    writeln!(out, "INDEX_RING = {}", superblock::INDEX_RING)?;
    writeln!(out, "CLOSED = {}", superblock::CLOSED)?;
    writeln!(out, "SMALL = {}", superblock::SMALL)?;
    writeln!(out, "\n# Offset and bytes of each of its fields")?;
    writeln!(out, "FIELDS = {{")?;
    for (name, at, length) in superblock::FIELDS {
        writeln!(out, "    \"{name}\": ({at}, {length}),")?;
    }
    writeln!(out, "}}\n\n# Types of the partitions")?;
    writeln!(out, "SUPER_TYPE = \"{}\"", superblock::SUPER_TYPE)?;
    writeln!(out, "INDEX_TYPE = \"{}\"", superblock::INDEX_TYPE)?;
    writeln!(out, "DATA_TYPE = \"{}\"", superblock::DATA_TYPE)
}

fn bytes_of_magic(out: &mut impl Write) -> Result {
    write!(out, "MAGIC = bytes.fromhex(\"")?;
    for byte in superblock::MAGIC {
        write!(out, "{byte:02x}")?;
    }
    writeln!(out, "\")")
}
