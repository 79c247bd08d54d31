// SPDX-License-Identifier: Apache-2.0
//! What a recording is, and what its index says in all.

use forebay_spec::store::index::{FAILED, LATE, RESULT, SKIPPED};
use forebay_spec::store::schema::Cipher;
use forebay_spec::store::superblock::{Closed, Region, Superblock};
use serde::Serialize;

use crate::{Entry, Recording};

/// A region, in bytes.
#[derive(Debug, Serialize)]
pub struct Place {
    /// Where it begins.
    pub first_byte: u64,
    /// How long it is.
    pub bytes: u64,
}

impl From<Region> for Place {
    fn from(region: Region) -> Self {
        Self {
            first_byte: region.at,
            bytes: region.bytes,
        }
    }
}

/// What the superblock says.
#[derive(Debug, Serialize)]
pub struct Facts {
    /// Recording UUID.
    pub session: String,
    /// Mode by name.
    pub mode: &'static str,
    /// Generation of the superblock.
    pub generation: u64,
    /// When it was formatted: nanoseconds since 1970.
    pub formatted_ns: u64,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// New extents take the place of the oldest.
    pub ring: bool,
    /// Small objects share pages.
    pub small: bool,
    /// Bytes of which all that hardware writes begins at a multiple.
    pub alignment: u32,
    /// The index.
    pub index: Place,
    /// The data.
    pub data: Place,
    /// Bytes from sample to sample; 0 of objects.
    pub stride: u64,
    /// Extension of the files.
    pub extension: String,
    /// Columns of results with their types, and whether there are the lengths as received.
    pub results: String,
    /// How payload is encrypted, if it is.
    pub cipher: Option<&'static str>,
    /// It has been closed.
    pub closed: bool,
    /// First byte behind the data, once it is closed.
    pub data_end: Option<u64>,
    /// Model of the drive.
    pub model: String,
    /// Serial number of the drive.
    pub serial: String,
    /// Firmware of the drive.
    pub firmware: String,
    /// Bytes of the disk.
    pub disk_bytes: u64,
}

impl Facts {
    /// Of a superblock.
    #[must_use]
    pub fn of(superblock: &Superblock) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        Self {
            session: superblock.session.to_string(),
            mode: superblock.mode.name(),
            generation: superblock.generation,
            formatted_ns: superblock.formatted,
            block_bytes: superblock.block_bytes,
            ring: superblock.ring,
            small: superblock.small,
            alignment: superblock.alignment,
            index: superblock.index.into(),
            data: superblock.data.into(),
            stride: superblock.stride,
            extension: superblock.extension_text().into(),
            results: superblock.schema.to_string(),
            cipher: superblock.schema.cipher.map(Cipher::name),
            closed: superblock.closed.is_some(),
            data_end: superblock.closed.map(|closed: Closed| closed.end),
            model: text(&superblock.drive.model),
            serial: text(&superblock.drive.serial),
            firmware: text(&superblock.drive.firmware),
            disk_bytes: superblock.drive.bytes,
        }
    }
}

/// What the index says in all.
#[derive(Debug, Default, Serialize)]
pub struct Totals {
    /// Index records that count.
    pub rows: u64,
    /// Whole objects.
    pub whole: u64,
    /// Extents that are not whole objects.
    pub parts: u64,
    /// Extents without room.
    pub skipped: u64,
    /// Extents that the SSD did not take.
    pub failed: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Index records with a result.
    pub results: u64,
    /// Index records whose result did not come in time.
    pub late: u64,
    /// Frames that are missing.
    pub missing: u64,
    /// Blocks of the index that are damaged.
    pub damaged_blocks: u64,
    /// Invalid index records.
    pub wrong_rows: u64,
    /// First and last time.
    pub first_ns: Option<u64>,
    /// The last.
    pub last_ns: Option<u64>,
}

impl Totals {
    /// Goes through the index.
    #[must_use]
    pub fn of(recording: &Recording<'_>) -> Self {
        let mut all = Self::default();
        for entry in recording.rows() {
            let Entry::Row { row, wrong, .. } = entry else {
                all.damaged_blocks += 1;
                continue;
            };
            let has = |flag: u16| u64::from(row.flags & flag != 0);
            all.rows += 1;
            all.skipped += has(SKIPPED);
            all.failed += has(FAILED);
            all.results += has(RESULT);
            all.late += has(LATE);
            all.missing = all.missing.saturating_add(row.missing.into());
            all.wrong_rows += u64::from(wrong.is_some());
            if row.stored() {
                all.bytes = all.bytes.saturating_add(row.length.into());
                all.whole += u64::from(row.whole());
                all.parts += u64::from(!row.whole());
            }
            all.first_ns = Some(all.first_ns.map_or(row.time, |first| first.min(row.time)));
            all.last_ns = Some(all.last_ns.map_or(row.time, |last| last.max(row.time)));
        }
        all
    }
}
