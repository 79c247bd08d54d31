// SPDX-License-Identifier: Apache-2.0
//! What stands in words beside the numbers: JSON in superblock and trailer.

use forebay_spec::store::layout::{BASES, END_PAGE, has_base};
use forebay_spec::store::member::Member;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::{Superblock, TEXT_BYTES};
use forebay_spec::store::{PAGE_BYTES, Session, tar};
use serde_json::{Value, json};

/// What a recording is, for people and their programs.
pub(crate) fn describe(superblock: &Superblock) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let region = |region: forebay_spec::store::superblock::Region| json!({ "first_byte": region.at, "bytes": region.bytes });
    let drive = &superblock.drive;
    json!({
        "format": "Forebay recording",
        "version": superblock.version,
        "session": superblock.session.to_string(),
        "mode": superblock.mode.name(),
        "generation": superblock.generation,
        "formatted_ns": superblock.formatted,
        "block_bytes": superblock.block_bytes,
        "ring": superblock.ring,
        "index_ring": superblock.index_ring,
        "ahead": superblock.ahead,
        "small": superblock.small,
        "alignment": superblock.alignment,
        "index": region(superblock.index),
        "data": region(superblock.data),
        "stride": superblock.stride,
        "extension": superblock.extension_text(),
        "closed": superblock.closed.map(|closed| {
            json!({ "index_blocks": closed.blocks, "data_end": closed.end })
        }),
        "drive": {
            "model": text(&drive.model),
            "serial": text(&drive.serial),
            "firmware": text(&drive.firmware),
            "bytes": drive.bytes,
        },
        "crc": "CRC32C (RFC 3720)",
        "columns": columns(&superblock.schema),
    })
}

/// Names and types of the index's columns.
fn columns(schema: &Schema) -> Vec<[String; 2]> {
    let bases = BASES.iter().enumerate();
    let bases = bases.filter(|(at, _)| has_base(schema, *at));
    let bases = bases.map(|(_, base)| [base.name.into(), base.kind.name().into()]);
    let results = schema.columns().iter();
    let results = results.map(|column| [column.name().into(), column.to_string()]);
    bases.chain(results).collect()
}

/// The superblock's page.
pub(crate) fn superblock_page(superblock: &Superblock) -> [u8; PAGE_BYTES] {
    let text = format!("{:#}\n", describe(superblock));
    // What finds no room is no JSON any more, and the numbers are elsewhere.
    debug_assert!(text.len() <= TEXT_BYTES);
    superblock.to_bytes(text.as_bytes(), crate::crc32c)
}

/// The page of a member superblock.
pub(crate) fn member_page(member: &Member) -> [u8; PAGE_BYTES] {
    let stripes = &member.stripes;
    let text = json!({
        "format": "Forebay array",
        "array": Session(member.array).to_string(),
        "member": member.number,
        "uuid": Session(member.uuid).to_string(),
        "generation": member.generation,
        "present": (0..stripes.drives).filter(|one| member.has(*one)).collect::<Vec<_>>(),
        "members": stripes.drives,
        "stripe_unit": stripes.stripe_unit,
        "parity": stripes.parity,
        "bytes_of_each": member.each,
        "block_bytes": member.block_bytes,
        "formatted_ns": member.formatted,
        "drive_bytes": member.drive.bytes,
        "crc": "CRC32C (RFC 3720)",
    });
    member.to_bytes(format!("{text:#}\n").as_bytes(), crate::crc32c)
}

/// Bytes of the trailer's JSON.
const TRAILER_BYTES: usize = 2560;

/// The page behind the data: a file that says what the recording is, and the end of a tar file.
pub(crate) fn trailer(superblock: &Superblock) -> [u8; PAGE_BYTES] {
    let mut page = [0; PAGE_BYTES];
    let seconds = superblock.formatted / 1_000_000_000;
    let header = tar::header(
        superblock.session,
        b"recording.json",
        tar::FILE,
        TRAILER_BYTES as u64,
        seconds,
    );
    page[..tar::BYTES].copy_from_slice(&header);
    let field = &mut page[tar::BYTES..tar::BYTES + TRAILER_BYTES];
    field.fill(b' ');
    let text = describe(superblock).to_string();
    debug_assert!(text.len() < TRAILER_BYTES);
    let used = text.len().min(TRAILER_BYTES - 1);
    field[..used].copy_from_slice(&text.as_bytes()[..used]);
    field[TRAILER_BYTES - 1] = b'\n';
    page
}

/// The page behind the index.
pub(crate) const fn index_end() -> &'static [u8; PAGE_BYTES] {
    &END_PAGE
}
