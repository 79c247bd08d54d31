// SPDX-License-Identifier: Apache-2.0
//! Makes a recording of an empty disk: partitions, superblocks, an index and data without anything.

use std::time::{SystemTime, UNIX_EPOCH};

use forebay_spec::store::layout::Layout;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::{
    ALIGNMENT_MOST, Drive, KEY_CHECK_BYTES, Mode, PARTITION_ALIGN, Region, SUPER_BYTES, Superblock,
    UNITS_LEAST, VERSION,
};
use forebay_spec::store::{PAGE_BYTES, Session, tar};

use crate::disk::{flush, read, write};
use crate::reader::{Recording, super_places};
use crate::table::{Table, table_bytes};
use crate::writer::end_marks;
use crate::{Disk, Error, Form, Key, PAGE, Result, crc32c, grains, text};

/// How much of the disk the index gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IndexSize {
    /// A share of it, 0 to 1.
    Share(f64),
    /// Enough for objects of this number of bytes, twice: blocks are also written before they are
    /// full.
    SmallestObject(u64),
    /// Enough for this number of index records, if each block is full.
    Rows(u64),
}

/// What a recording is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    /// How data lie there.
    pub mode: Mode,
    /// Bytes from one sample to the next; 0 where there are none.
    pub stride: u64,
    /// File name extension of objects.
    pub extension: String,
    /// Bytes of the drive's logical block.
    pub block_bytes: u32,
    /// Data begin anew at the end of their region, and so does the index.
    pub ring: bool,
    /// Bytes that data of a ring may be ahead of the newest index record, 0 for any number; by default an
    /// eighth of it, where that is longer than what hardware writes at once.
    pub ahead: Option<u64>,
    /// Objects share pages.
    pub small: bool,
    /// Bytes of which all that hardware writes begins at a multiple, a power of two from 4096 to 524288: the
    /// data of a stripe, of an array with parity.
    pub alignment: u32,
    /// How much of the disk the index gets.
    pub index: IndexSize,
    /// The drive, as Identify says it; its size is the disk's.
    pub drive: Drive,
    /// What the index has of results.
    pub schema: Schema,
    /// Payload will be encrypted with the key that is derived from this one.
    pub key: Option<Key>,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            mode: Mode::Objects,
            stride: 0,
            extension: "bin".into(),
            block_bytes: 512,
            ring: false,
            ahead: None,
            small: false,
            alignment: PAGE_BYTES as u32,
            index: IndexSize::SmallestObject(64 << 10),
            drive: Drive::UNKNOWN,
            schema: Schema::default(),
            key: None,
        }
    }
}

/// Bytes of a block of a tar file.
const BLOCK: u64 = tar::BYTES as u64;
/// Bytes at the beginning that are looked at for what another program may have put there.
const LOOK: usize = 1 << 20;

/// Whether the disk holds no data: only zeros in front of the first partition, and it is no member of an
/// array.
pub fn is_blank(disk: &dyn Disk) -> Result<bool> {
    let length = disk.len().min(LOOK as u64) as usize;
    let mut head = vec![0; length];
    read(disk, 0, &mut head)?;
    Ok(head.iter().all(|byte| *byte == 0) && crate::member_of(disk).is_none())
}

impl Format {
    fn regions(&self, size: u64) -> Result<[Region; 3]> {
        let in_block = Layout::new(VERSION, self.schema).rows as u64;
        let superblocks = Region {
            at: PARTITION_ALIGN,
            bytes: SUPER_BYTES,
        };
        let end = size.saturating_sub(table_bytes(self.block_bytes));
        let unit = match self.alignment.is_power_of_two() {
            true => u64::from(self.alignment.clamp(PAGE_BYTES as u32, ALIGNMENT_MOST)),
            false => PAGE,
        };
        let end = end - end % unit;
        let free = end.saturating_sub(superblocks.end());
        let wanted = match self.index {
            IndexSize::Share(share) => (free as f64 * share.clamp(0.0, 1.0)) as u64,
            IndexSize::SmallestObject(bytes) => {
                // An extent and its index record, twice.
                let extent = match (self.mode, self.small) {
                    (Mode::Samples, _) => self.stride.max(unit),
                    (_, true) => grains(bytes.max(1), BLOCK).saturating_add(BLOCK),
                    (_, false) => grains(bytes.max(1), unit).saturating_add(unit),
                };
                let rows = free / extent + 1;
                (rows.div_ceil(in_block) * 2).saturating_mul(unit)
            }
            IndexSize::Rows(rows) => (rows.div_ceil(in_block) + 2).saturating_mul(unit),
        };
        let bytes = wanted.max(UNITS_LEAST * unit).div_ceil(PARTITION_ALIGN);
        let index = Region {
            at: superblocks.end(),
            bytes: bytes.saturating_mul(PARTITION_ALIGN),
        };
        let least = (UNITS_LEAST * unit).max(self.stride);
        if index.end().saturating_add(least) > end {
            let share = index.end().saturating_add(least) + table_bytes(self.block_bytes);
            return Err(Error::setting(
                "the disk's size",
                size,
                format!("tables, index and one extent of data take {share} bytes"),
                "take a larger image, or a smaller index (--index, --smallest-object)",
            ));
        }
        let data = Region {
            at: index.end(),
            bytes: end - index.end(),
        };
        Ok([superblocks, index, data])
    }

    fn superblock(&self, size: u64, session: Session) -> Result<(Superblock, Region)> {
        let [superblocks, index, data] = self.regions(size)?;
        let extension = forebay_spec::store::superblock::extension(self.extension.as_bytes());
        let extension = extension.ok_or_else(|| {
            Error::setting(
                "the extension",
                format!("`{}`", self.extension),
                "it is 1 to 4 letters or digits",
                "choose a shorter one, such as bin, raw or jpeg",
            )
        })?;
        if self.key.is_some() && self.mode == Mode::Packets {
            return Err(Error::setting(
                "the key",
                "given",
                "a capture is not encrypted",
                "leave it out, or record objects or samples",
            ));
        }
        let formatted = SystemTime::now().duration_since(UNIX_EPOCH);
        let formatted = formatted.map_or(0, |since| since.as_nanos() as u64);
        let mut superblock = Superblock {
            version: VERSION,
            mode: self.mode,
            generation: 1,
            session,
            formatted,
            block_bytes: self.block_bytes,
            ring: self.ring,
            index_ring: self.ring,
            ahead: 0,
            small: self.small,
            alignment: self.alignment,
            index,
            data,
            stride: self.stride,
            extension,
            closed: None,
            drive: Drive {
                bytes: size,
                ..self.drive
            },
            schema: self.schema.encrypted(self.key.as_ref().map(Key::cipher)),
            key_check: self
                .key
                .as_ref()
                .map_or([0; KEY_CHECK_BYTES], |key| key.derive(session).check()),
        };
        superblock.ahead = self.ahead.unwrap_or(superblock.usual_ahead());
        superblock.check().map_err(|error| {
            Error::recording(
                format!("such a recording cannot be: {error}"),
                "choose other settings",
            )
        })?;
        Ok((superblock, superblocks))
    }
}

/// Whether a recording like this fits on a disk with these bytes.
///
/// # Errors
/// Settings that cannot be, or a disk that is too small.
pub fn fits(bytes: u64, settings: &Format) -> Result<()> {
    settings.superblock(bytes, Session([0; 16])).map(|_| ())
}

/// Makes a recording of a disk. What was there is lost, in whole or in part.
///
/// # Errors
/// Settings that cannot be, a disk that is too small or does not take bytes.
pub fn format(disk: &dyn Disk, settings: &Format) -> Result<Superblock> {
    let session = Session(*uuid::Uuid::new_v4().as_bytes());
    let (mut superblock, superblocks) = settings.superblock(disk.len(), session)?;
    // The older recording's superblocks, wherever they are, must not count any more.
    let before = Recording::open(disk).map(|old| old.superblock().generation);
    superblock.generation = before.unwrap_or(0).saturating_add(1);
    let table = Table {
        block_bytes: settings.block_bytes,
        superblocks,
        index: superblock.index,
        data: superblock.data,
        session,
        mode: Some(settings.mode),
    };
    table.write(disk)?;
    // An empty stream, and an empty tar file or capture: readable from the first moment.
    let form = Form::of(superblock);
    write(
        disk,
        superblock.index.at,
        &form.layout().schema_page(crc32c),
    )?;
    for (at, page) in end_marks(&superblock, false) {
        write(disk, at, &page)?;
    }
    flush(disk)?;
    write_superblocks(disk, superblocks, &superblock)?;
    Ok(superblock)
}

/// Writes both copies, one after the other: at each moment one of them is whole.
pub(crate) fn write_superblocks(
    disk: &dyn Disk,
    place: Region,
    superblock: &Superblock,
) -> Result<()> {
    let page: [u8; PAGE_BYTES] = text::superblock_page(superblock);
    for at in super_places(place) {
        write(disk, at, &page)?;
        flush(disk)?;
    }
    Ok(())
}
