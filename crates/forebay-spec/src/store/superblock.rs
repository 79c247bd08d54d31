// SPDX-License-Identifier: Apache-2.0
//! The superblock: what a recording is and where its parts lie.

use core::ops::RangeInclusive;

use super::schema::{SCHEMA_BYTES, Schema};
use super::{Crc, PAGE_BYTES, Session, tar};
use crate::bytes::{Wire, get_u32, get_u64, put};
use crate::numbered::numbered;

/// What it begins with.
pub const MAGIC: [u8; 8] = *b"FBSTORE\n";
/// The version that is described here.
pub const VERSION: u32 = 2;
/// Offset of the words for people.
pub const TEXT_AT: usize = 512;
/// Bytes that the words may have.
pub const TEXT_BYTES: usize = CRC_AT - TEXT_AT;
/// Offset of the CRC32C of all before.
pub const CRC_AT: usize = PAGE_BYTES - 4;
/// Characters of a file name extension.
pub const EXTENSION_BYTES: usize = 4;

/// Type of the partition with the superblocks, as a GUID is written.
pub const SUPER_TYPE: &str = "8F4C1E70-0B9A-4E3D-9A57-5B1E2F6D3A01";
/// Type of the partition with the index.
pub const INDEX_TYPE: &str = "8F4C1E70-0B9A-4E3D-9A57-5B1E2F6D3A02";
/// Type of the partition with the data.
pub const DATA_TYPE: &str = "8F4C1E70-0B9A-4E3D-9A57-5B1E2F6D3A03";
/// Partitions begin at multiples of this, in bytes; the first is the superblocks'.
pub const PARTITION_ALIGN: u64 = 1 << 20;
/// Bytes of the partition with the superblocks.
pub const SUPER_BYTES: u64 = PARTITION_ALIGN;

/// Least bytes that data of a ring may be ahead of the index, if these are bounded, where all begins at a
/// multiple of `unit` bytes: a few writes of hardware, half of it an extent, in front of it and behind it
/// what is filled up, and what is left at the region's end.
#[must_use]
pub fn ahead_least(unit: u64) -> u64 {
    (4 << 20).max(unit.saturating_mul(32))
}

/// Least alignments that a ring may say: software writes extents of half of it, with a header block and
/// another one to spare.
const AHEAD_SMALLEST: u64 = 8;

/// Bytes of [`Superblock::key_check`].
pub const KEY_CHECK_BYTES: usize = 8;

const VERSION_AT: usize = 8;
const MODE_AT: usize = 12;
const GENERATION_AT: usize = 16;
const SESSION_AT: usize = 24;
const FORMATTED_AT: usize = 40;
const BLOCK_AT: usize = 48;
const FLAGS_AT: usize = 52;
const INDEX_AT: usize = 56;
const DATA_AT: usize = 72;
const STRIDE_AT: usize = 88;
const EXTENSION_AT: usize = 96;
const EXTENSION_FIELD: usize = 8;
const BLOCKS_AT: usize = 104;
const END_AT: usize = 112;
const MODEL_AT: usize = 128;
const SERIAL_AT: usize = 168;
const FIRMWARE_AT: usize = 188;
const NAMESPACE_AT: usize = 196;
const AHEAD_AT: usize = 204;
const KEY_CHECK_AT: usize = 212;
const ALIGNMENT_AT: usize = 220;
/// Offset of the schema.
pub const SCHEMA_AT: usize = 256;

/// Flag: data begin anew at the end of their region.
pub const RING: u32 = 1 << 0;
/// Flag: so does the index.
pub const INDEX_RING: u32 = 1 << 1;
/// Flag: it was closed.
pub const CLOSED: u32 = 1 << 2;
/// Flag: objects share pages.
pub const SMALL: u32 = 1 << 3;

/// Each number's name, offset and bytes, for other languages.
pub const FIELDS: &[(&str, usize, usize)] = &[
    ("version", VERSION_AT, 4),
    ("mode", MODE_AT, 4),
    ("generation", GENERATION_AT, 8),
    ("session", SESSION_AT, 16),
    ("formatted", FORMATTED_AT, 8),
    ("block_bytes", BLOCK_AT, 4),
    ("flags", FLAGS_AT, 4),
    ("index_at", INDEX_AT, 8),
    ("index_bytes", INDEX_AT + 8, 8),
    ("data_at", DATA_AT, 8),
    ("data_bytes", DATA_AT + 8, 8),
    ("stride", STRIDE_AT, 8),
    ("extension", EXTENSION_AT, EXTENSION_FIELD),
    ("blocks", BLOCKS_AT, 8),
    ("end", END_AT, 8),
    ("model", MODEL_AT, 40),
    ("serial", SERIAL_AT, 20),
    ("firmware", FIRMWARE_AT, 8),
    ("drive_bytes", NAMESPACE_AT, 8),
    ("ahead", AHEAD_AT, 8),
    ("key_check", KEY_CHECK_AT, KEY_CHECK_BYTES),
    ("alignment", ALIGNMENT_AT, 4),
    ("schema", SCHEMA_AT, SCHEMA_BYTES),
];

numbered! {
    /// How data lie there.
    Mode: u32 {
        /// As a tar file.
        Objects = 0 "objects";
        /// Payload alone, at multiples of a stride.
        Samples = 1 "samples";
        /// As a capture.
        Packets = 2 "packets";
    }
}

/// Bytes of the namespace that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// The first.
    pub at: u64,
    /// How many.
    pub bytes: u64,
}

impl Region {
    /// The first behind it.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.at.saturating_add(self.bytes)
    }

    /// Whether all of `bytes` from `at` on lie in it.
    #[must_use]
    pub const fn holds(&self, at: u64, bytes: u64) -> bool {
        match at.checked_add(bytes) {
            Some(end) => self.at <= at && end <= self.end(),
            None => false,
        }
    }
}

/// The drive, as Identify says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drive {
    /// Model, padded with blanks.
    pub model: [u8; 40],
    /// Serial number, padded with blanks.
    pub serial: [u8; 20],
    /// Firmware, padded with blanks.
    pub firmware: [u8; 8],
    /// Bytes of the namespace.
    pub bytes: u64,
}

impl Drive {
    /// One of which nothing is known: an image.
    pub const UNKNOWN: Self = Self {
        model: [b' '; 40],
        serial: [b' '; 20],
        firmware: [b' '; 8],
        bytes: 0,
    };
}

/// Where a recording that was closed ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Blocks of the index that count.
    pub blocks: u64,
    /// First byte behind the data.
    pub end: u64,
}

/// A superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Of the format: 1 to [`VERSION`].
    pub version: u32,
    /// How data lie there.
    pub mode: Mode,
    /// One more with each change.
    pub generation: u64,
    /// Which recording.
    pub session: Session,
    /// When it was formatted: nanoseconds since 1970.
    pub formatted: u64,
    /// Bytes of the drive's logical block.
    pub block_bytes: u32,
    /// Data begin anew at the end of their region.
    pub ring: bool,
    /// So does the index.
    pub index_ring: bool,
    /// Bytes that data of a ring may be ahead of the newest index record; 0: any number.
    pub ahead: u64,
    /// Objects share pages.
    pub small: bool,
    /// Bytes of which all that hardware writes begins at a multiple, from [`PAGE_BYTES`] to
    /// [`ALIGNMENT_MOST`].
    pub alignment: u32,
    /// Index.
    pub index: Region,
    /// Data.
    pub data: Region,
    /// Bytes from one sample to the next; 0 where there are none.
    pub stride: u64,
    /// File name extension, padded with NUL.
    pub extension: [u8; EXTENSION_BYTES],
    /// Where it ends, if it was closed.
    pub closed: Option<Closed>,
    /// The drive.
    pub drive: Drive,
    /// What its index has of results.
    pub schema: Schema,
    /// Tells the key of an encrypted recording from another one; zeros where nothing is encrypted, or
    /// it is not known any more.
    pub key_check: [u8; KEY_CHECK_BYTES],
}

/// Why a page is no superblock, or one that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuperblockError {
    /// It does not begin as one.
    #[error("it does not begin as a superblock does")]
    Magic,
    /// Its checksum is not the one that it states.
    #[error("its CRC32C is {has:08x}, and it says {says:08x}")]
    Crc {
        /// What it says.
        says: u32,
        /// What it has.
        has: u32,
    },
    /// A number that cannot be.
    #[error("its {name} is {value}, but {limit}")]
    Field {
        /// Which.
        name: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        limit: &'static str,
    },
}

const PAGE: u64 = PAGE_BYTES as u64;
/// Multiples of the alignment without which an index is none, schema, a block, end mark, and data: what
/// stands in front of a payload, a payload, the trailer.
pub const UNITS_LEAST: u64 = 3;
/// Longest alignment.
pub const ALIGNMENT_MOST: u32 = 512 << 10;

/// How many bytes data of a ring may be ahead of its index: from `least`, or four samples if that is more, to
/// a quarter of the data.
#[must_use]
pub fn ahead_bounds(least: u64, stride: u64, data: u64) -> RangeInclusive<u64> {
    least.max(stride.saturating_mul(4))..=data / 4
}

/// A file name extension: 1 to 4 letters or digits.
#[must_use]
pub fn extension(text: &[u8]) -> Option<[u8; EXTENSION_BYTES]> {
    let plain = text.iter().all(u8::is_ascii_alphanumeric);
    if text.is_empty() || !plain {
        return None;
    }
    let mut field = [0; EXTENSION_BYTES];
    field.get_mut(..text.len())?.copy_from_slice(text);
    Some(field)
}

/// Puts words for people into a superblock's page, as many as find room, and its CRC32C behind them.
pub(super) fn seal(page: &mut [u8; PAGE_BYTES], text: &[u8], crc: Crc) {
    page[TEXT_AT..CRC_AT].fill(b' ');
    let most = text.len().min(TEXT_BYTES);
    put(page, TEXT_AT, &text[..most]);
    let sum = crc(0, &page[..CRC_AT]);
    put(page, CRC_AT, &sum.to_le_bytes());
}

/// Whether a page begins as it should, and its CRC32C is right.
pub(super) fn check_seal(
    page: &[u8; PAGE_BYTES],
    magic: [u8; 8],
    crc: Crc,
) -> Result<(), SuperblockError> {
    if page[..magic.len()] != magic {
        return Err(SuperblockError::Magic);
    }
    let (says, has) = (get_u32(page, CRC_AT), crc(0, &page[..CRC_AT]));
    match says == has {
        true => Ok(()),
        false => Err(SuperblockError::Crc { says, has }),
    }
}

fn read_region(page: &[u8; PAGE_BYTES], at: usize) -> Region {
    Region {
        at: get_u64(page, at),
        bytes: get_u64(page, at + 8),
    }
}

impl Superblock {
    /// Writes it; of `text` what finds room.
    #[must_use]
    pub fn to_bytes(&self, text: &[u8], crc: Crc) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        let flags = [
            (self.ring, RING),
            (self.index_ring, INDEX_RING),
            (self.closed.is_some(), CLOSED),
            (self.small, SMALL),
        ];
        let flags = flags.iter().filter(|(set, _)| *set);
        let flags = flags.fold(0, |all, (_, flag)| all | flag);
        put(&mut page, 0, &MAGIC);
        put(&mut page, VERSION_AT, &self.version.to_le_bytes());
        put(&mut page, MODE_AT, &self.mode.number().to_le_bytes());
        put(&mut page, SESSION_AT, &self.session.0);
        put(&mut page, BLOCK_AT, &self.block_bytes.to_le_bytes());
        put(&mut page, FLAGS_AT, &flags.to_le_bytes());
        put(&mut page, EXTENSION_AT, &self.extension);
        put(&mut page, MODEL_AT, &self.drive.model);
        put(&mut page, SERIAL_AT, &self.drive.serial);
        put(&mut page, FIRMWARE_AT, &self.drive.firmware);
        if self.version > 1 {
            put(&mut page, SCHEMA_AT, &self.schema.to_bytes());
            put(&mut page, KEY_CHECK_AT, &self.key_check);
            // Recordings of before there was a field for it have a page, and 0 here.
            let alignment = match self.alignment {
                alignment if u64::from(alignment) == PAGE => 0,
                alignment => alignment,
            };
            put(&mut page, ALIGNMENT_AT, &alignment.to_le_bytes());
        }
        let closed = self.closed.unwrap_or(Closed { blocks: 0, end: 0 });
        let longs = [
            (GENERATION_AT, self.generation),
            (FORMATTED_AT, self.formatted),
            (INDEX_AT, self.index.at),
            (INDEX_AT + 8, self.index.bytes),
            (DATA_AT, self.data.at),
            (DATA_AT + 8, self.data.bytes),
            (STRIDE_AT, self.stride),
            (BLOCKS_AT, closed.blocks),
            (END_AT, closed.end),
            (NAMESPACE_AT, self.drive.bytes),
            (AHEAD_AT, self.ahead),
        ];
        for (at, value) in longs {
            put(&mut page, at, &value.to_le_bytes());
        }
        seal(&mut page, text, crc);
        page
    }

    /// Reads one, every number checked: what comes out can be used.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn parse(page: &[u8; PAGE_BYTES], crc: Crc) -> Result<Self, SuperblockError> {
        check_seal(page, MAGIC, crc)?;
        let field = |name, value, limit| SuperblockError::Field { name, value, limit };
        let version = get_u32(page, VERSION_AT);
        if !(1..=VERSION).contains(&version) {
            let limit = "this program knows versions 1 and 2";
            return Err(field("version", version.into(), limit));
        }
        let mode = get_u32(page, MODE_AT);
        let mode = Mode::from_number(mode).ok_or(field(
            "mode",
            mode.into(),
            "there are the modes 0, 1 and 2",
        ))?;
        let flags = get_u32(page, FLAGS_AT);
        if flags & !(RING | INDEX_RING | CLOSED | SMALL) != 0 {
            return Err(field("flags", flags.into(), "only bits 0 to 3 are defined"));
        }
        let name: [u8; EXTENSION_FIELD] = Wire::get(page, EXTENSION_AT);
        let used = name.iter().position(|c| *c == 0).unwrap_or(name.len());
        let extension = extension(&name[..used])
            .filter(|_| name[used..].iter().all(|c| *c == 0))
            .ok_or(field(
                "extension",
                u64::from_le_bytes(name),
                "it is 1 to 4 letters or digits, padded with NUL",
            ))?;
        let schema = match version {
            1 => Some(Schema::default()),
            _ => Schema::from_bytes(&Wire::get(page, SCHEMA_AT)),
        };
        let columns = page[SCHEMA_AT].into();
        let limit = "of up to 8 columns each has a name and a type, of 64 bytes in all, and nothing follows";
        let superblock = Self {
            version,
            schema: schema.ok_or(field("number of columns of results", columns, limit))?,
            mode,
            generation: get_u64(page, GENERATION_AT),
            session: Session(Wire::get(page, SESSION_AT)),
            formatted: get_u64(page, FORMATTED_AT),
            block_bytes: get_u32(page, BLOCK_AT),
            ring: flags & RING != 0,
            index_ring: flags & INDEX_RING != 0,
            ahead: if version > 1 {
                get_u64(page, AHEAD_AT)
            } else {
                0
            },
            small: flags & SMALL != 0,
            alignment: match get_u32(page, ALIGNMENT_AT) {
                alignment if alignment > 0 && version > 1 => alignment,
                _ => PAGE_BYTES as u32,
            },
            index: read_region(page, INDEX_AT),
            data: read_region(page, DATA_AT),
            stride: get_u64(page, STRIDE_AT),
            extension,
            closed: (flags & CLOSED != 0).then(|| Closed {
                blocks: get_u64(page, BLOCKS_AT),
                end: get_u64(page, END_AT),
            }),
            drive: Drive {
                model: Wire::get(page, MODEL_AT),
                serial: Wire::get(page, SERIAL_AT),
                firmware: Wire::get(page, FIRMWARE_AT),
                bytes: get_u64(page, NAMESPACE_AT),
            },
            key_check: match version {
                1 => [0; KEY_CHECK_BYTES],
                _ => Wire::get(page, KEY_CHECK_AT),
            },
        };
        superblock.check()?;
        Ok(superblock)
    }

    /// Whether its numbers fit each other.
    ///
    /// # Errors
    ///
    /// The first that does not.
    pub fn check(&self) -> Result<(), SuperblockError> {
        let wrong = |name, value, limit| Err(SuperblockError::Field { name, value, limit });
        if !matches!(self.block_bytes, 512 | 4096) {
            return wrong(
                "logical block",
                self.block_bytes.into(),
                "it is 512 or 4096 bytes",
            );
        }
        let unit = u64::from(self.alignment);
        if !self.alignment.is_power_of_two() || !(PAGE..=ALIGNMENT_MOST.into()).contains(&unit) {
            let limit = "it is a power of two from 4096 to 524288";
            return wrong("alignment", unit, limit);
        }
        let regions = [
            ("index's first byte", "index's bytes", self.index),
            ("data's first byte", "data's bytes", self.data),
        ];
        for (at, bytes, region) in regions {
            if !region.at.is_multiple_of(unit) {
                return wrong(at, region.at, "it is a multiple of the alignment");
            }
            if !region.bytes.is_multiple_of(unit) || region.bytes < UNITS_LEAST * unit {
                return wrong(
                    bytes,
                    region.bytes,
                    "they are a multiple of the alignment, three times it or more",
                );
            }
            let end = region.at.checked_add(region.bytes);
            if end.is_none_or(|end| end > self.drive.bytes) {
                return wrong(bytes, region.bytes, "they end within the namespace");
            }
        }
        if self.index.at < self.data.end() && self.data.at < self.index.end() {
            return wrong(
                "data's first byte",
                self.data.at,
                "data and index must not overlap",
            );
        }
        let strided = match self.mode {
            Mode::Samples => {
                (unit..=self.data.bytes).contains(&self.stride) && self.stride.is_multiple_of(unit)
            }
            _ => self.stride == 0,
        };
        if !strided {
            let limit = "it is a multiple of the alignment within the data, and 0 where there are no samples";
            return wrong("stride", self.stride, limit);
        }
        let bounds = ahead_bounds(AHEAD_SMALLEST * unit, self.stride, self.data.bytes);
        let bounded = self.ring && bounds.contains(&self.ahead);
        if self.ahead != 0 && !(bounded && self.ahead.is_multiple_of(PAGE)) {
            let limit = "it is 0, or in a ring a multiple of 4096, from eight alignments and four samples to a quarter of the data";
            return wrong("bytes ahead", self.ahead, limit);
        }
        if self.mode == Mode::Packets && self.ring {
            return wrong("ring", 1, "a capture has a beginning");
        }
        if self.small && self.mode != Mode::Objects {
            let limit = "only objects share pages: bit 3 is 0 in other modes";
            return wrong("flags", SMALL.into(), limit);
        }
        if self.schema.cipher.is_none() && self.key_check != [0; KEY_CHECK_BYTES] {
            let limit = "it is 0 where nothing is encrypted";
            return wrong("key check", u64::from_le_bytes(self.key_check), limit);
        }
        self.check_end()
    }

    fn check_end(&self) -> Result<(), SuperblockError> {
        let wrong = |name, value, limit| Err(SuperblockError::Field { name, value, limit });
        let Some(closed) = self.closed else {
            return Ok(());
        };
        if closed.blocks > u64::from(u32::MAX)
            || (!self.index_ring && closed.blocks > self.index_slots())
        {
            return wrong("blocks", closed.blocks, "the index has no room for them");
        }
        let within = self.data.at <= closed.end && closed.end <= self.data.end();
        if !within || !closed.end.is_multiple_of(self.alignment.into()) {
            return wrong(
                "data's end",
                closed.end,
                "it is a multiple of the alignment in the data",
            );
        }
        Ok(())
    }

    /// Where the first extent may begin: in a capture behind what is filled up from its first page on.
    #[must_use]
    pub const fn first_extent(&self) -> u64 {
        match self.mode {
            Mode::Packets => self.data.at.saturating_add(self.unit()),
            Mode::Objects | Mode::Samples => self.data.at,
        }
    }

    /// Bytes that data of such a recording are ahead of the newest index record where nothing else is
    /// said: an eighth of a ring, where that is more than a few writes of hardware.
    #[must_use]
    pub fn usual_ahead(&self) -> u64 {
        let usual = self.data.bytes / 8 / PAGE * PAGE;
        let least = ahead_least(self.unit());
        match self.ring && ahead_bounds(least, self.stride, self.data.bytes).contains(&usual) {
            true => usual,
            false => 0,
        }
    }

    /// Where extents of a ring may lie: the last unit is kept for the trailer.
    #[must_use]
    pub const fn ring_region(&self) -> Region {
        let at = self.first_extent();
        Region {
            at,
            bytes: self.data_end().saturating_sub(at),
        }
    }

    /// First byte behind those where extents may lie, where the trailer finds room.
    #[must_use]
    pub const fn data_end(&self) -> u64 {
        self.data.end().saturating_sub(self.unit())
    }

    /// Bytes of the alignment.
    #[must_use]
    pub const fn unit(&self) -> u64 {
        self.alignment as u64
    }

    /// `bytes` up to a multiple of the alignment; `u64::MAX` where that is more than there can be.
    #[must_use]
    pub const fn aligned(&self, bytes: u64) -> u64 {
        match bytes.checked_next_multiple_of(self.unit()) {
            Some(aligned) => aligned,
            None => u64::MAX,
        }
    }

    /// Bytes of the header block in front of a payload: a page, a tar header, or none.
    #[must_use]
    pub const fn header(&self) -> u64 {
        match self.mode {
            Mode::Objects if self.small => tar::BYTES as u64,
            Mode::Objects => PAGE,
            Mode::Samples | Mode::Packets => 0,
        }
    }

    /// Bytes in front of a payload that belong to its extent: those of the alignment, of which the last
    /// are the header block, a tar header, or none.
    #[must_use]
    pub const fn front(&self) -> u64 {
        match self.mode {
            Mode::Objects if self.small => tar::BYTES as u64,
            Mode::Objects => self.unit(),
            Mode::Samples | Mode::Packets => 0,
        }
    }

    /// Alignment of payloads in bytes; they are padded to it.
    #[must_use]
    pub const fn grain(&self) -> u64 {
        match self.small {
            true => tar::BYTES as u64,
            false => self.unit(),
        }
    }

    /// Blocks that find room in the index: not in place of the schema, nor of the end mark.
    #[must_use]
    pub const fn index_slots(&self) -> u64 {
        (self.index.bytes / self.unit()).saturating_sub(2)
    }

    /// Where block `number` of the index lies.
    #[must_use]
    pub const fn block_at(&self, number: u64) -> u64 {
        let slots = self.index_slots();
        let slot = if self.index_ring && slots > 0 {
            number % slots
        } else {
            number
        };
        self.index
            .at
            .saturating_add(slot.saturating_add(1).saturating_mul(self.unit()))
    }

    /// The file name extension.
    #[must_use]
    pub fn extension_text(&self) -> &str {
        let used = self.extension.iter().position(|c| *c == 0);
        let used = used.unwrap_or(EXTENSION_BYTES);
        core::str::from_utf8(&self.extension[..used]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema::tests::schemas;
    extern crate std;
    use proptest::prelude::*;

    fn crc(before: u32, bytes: &[u8]) -> u32 {
        bytes
            .iter()
            .fold(before, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte))
    }

    fn superblocks() -> impl Strategy<Value = Superblock> {
        let numbers = (
            any::<(u64, u64, [u8; 16])>(),
            (0..3u32, 0..8u32),
            any::<(bool, bool, bool, bool)>(),
        );
        let places = (
            1..1u64 << 40,
            3..1u64 << 40,
            3..1u64 << 40,
            any::<(u64, u64, u64)>(),
        );
        (
            numbers,
            places,
            "[a-zA-Z0-9]{1,4}",
            any::<bool>(),
            schemas(),
        )
            .prop_map(
                |((longs, (mode, shift), flags), (at, index, data, more), name, large, schema)| {
                    let mode = Mode::from_number(mode).expect("0, 1 or 2");
                    let version = 1 + (longs.0 % u64::from(VERSION)) as u32;
                    let unit = match version > 1 {
                        true => PAGE << shift,
                        false => PAGE,
                    };
                    let (units, slots) = (data, index - 2);
                    let index = Region {
                        at: at * unit,
                        bytes: index * unit,
                    };
                    let data = Region {
                        at: index.end(),
                        bytes: data * unit,
                    };
                    let encrypted = version > 1 && schema.cipher.is_some();
                    Superblock {
                        version,
                        key_check: match encrypted {
                            true => longs.1.to_le_bytes(),
                            false => [0; KEY_CHECK_BYTES],
                        },
                        schema: if version == 1 {
                            Schema::default()
                        } else {
                            schema
                        },
                        mode,
                        generation: longs.0,
                        session: Session(longs.2),
                        formatted: longs.1,
                        block_bytes: if large { 4096 } else { 512 },
                        ring: flags.0 && mode != Mode::Packets,
                        index_ring: flags.1,
                        ahead: match flags.0 && mode == Mode::Objects && version > 1 {
                            true if units >= 64 => data.bytes / 8 / PAGE * PAGE,
                            _ => 0,
                        },
                        small: flags.3 && mode == Mode::Objects,
                        alignment: unit as u32,
                        index,
                        data,
                        stride: match mode {
                            Mode::Samples => unit * (1 + more.0 % units),
                            _ => 0,
                        },
                        extension: extension(name.as_bytes()).expect("1 to 4"),
                        closed: flags.2.then(|| Closed {
                            blocks: more.1 % (slots + 1) % (1 << 32),
                            end: data.at + unit * (more.2 % (units + 1)),
                        }),
                        drive: Drive {
                            model: [b'm'; 40],
                            serial: [b's'; 20],
                            firmware: [b'f'; 8],
                            bytes: data.end().saturating_add(more.0 % (1 << 50)),
                        },
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            superblock in superblocks(), bit in 0..PAGE_BYTES * 8,
            text in prop::collection::vec(any::<u8>(), 0..5000),
        ) {
            let mut page = superblock.to_bytes(&text, crc);
            prop_assert_eq!(Superblock::parse(&page, crc), Ok(superblock));
            page[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Superblock::parse(&page, crc).is_err(), "bit {} is wrong", bit);
        }

        #[test]
        fn whatever_is_read_can_be_used(
            superblock in superblocks(), at in 8..224usize, bytes: [u8; 8],
        ) {
            let mut page = superblock.to_bytes(b"", crc);
            put(&mut page, at, &bytes);
            let sum = crc(0, &page[..CRC_AT]);
            put(&mut page, CRC_AT, &sum.to_le_bytes());
            if let Ok(read) = Superblock::parse(&page, crc) {
                prop_assert!(read.index.end() <= read.drive.bytes);
                prop_assert!(read.data.end() <= read.drive.bytes);
                prop_assert!(read.index.holds(read.block_at(read.index_slots() - 1), PAGE));
                prop_assert_eq!(read.check(), Ok(()));
            }
        }
    }

    #[test]
    fn each_number_is_checked() {
        let good = Superblock {
            version: VERSION,
            key_check: [0; KEY_CHECK_BYTES],
            schema: Schema::NONE,
            mode: Mode::Samples,
            generation: 1,
            session: Session([7; 16]),
            formatted: 0,
            block_bytes: 512,
            ring: false,
            index_ring: false,
            ahead: 0,
            small: false,
            alignment: PAGE_BYTES as u32,
            index: Region {
                at: 2 << 20,
                bytes: 1 << 20,
            },
            data: Region {
                at: 3 << 20,
                bytes: 1 << 20,
            },
            stride: 8192,
            extension: *b"raw\0",
            closed: Some(Closed {
                blocks: 254,
                end: 4 << 20,
            }),
            drive: Drive {
                model: [b' '; 40],
                serial: [b' '; 20],
                firmware: [b' '; 8],
                bytes: 5 << 20,
            },
        };
        assert_eq!(good.check(), Ok(()));
        let closed = |blocks, end| Some(Closed { blocks, end });
        let region = |at, bytes| Region { at, bytes };
        let bad = [
            (
                "logical block",
                Superblock {
                    block_bytes: 1024,
                    ..good
                },
            ),
            (
                "index's first byte",
                Superblock {
                    index: region(512, 1 << 20),
                    ..good
                },
            ),
            (
                "index's bytes",
                Superblock {
                    index: region(2 << 20, 8192),
                    ..good
                },
            ),
            (
                "data's bytes",
                Superblock {
                    data: region(3 << 20, 3 << 20),
                    ..good
                },
            ),
            (
                "data's bytes",
                Superblock {
                    data: region(u64::MAX - 4095, 1 << 20),
                    ..good
                },
            ),
            (
                "data's first byte",
                Superblock {
                    data: region(2 << 20, 1 << 20),
                    ..good
                },
            ),
            ("version", Superblock { version: 0, ..good }),
            (
                "key check",
                Superblock {
                    key_check: [1; KEY_CHECK_BYTES],
                    ..good
                },
            ),
            (
                "version",
                Superblock {
                    version: VERSION + 1,
                    ..good
                },
            ),
            (
                // In a ring only.
                "bytes ahead",
                Superblock {
                    ahead: 32 << 10,
                    ..good
                },
            ),
            (
                // Less than an extent needs.
                "bytes ahead",
                Superblock {
                    mode: Mode::Objects,
                    stride: 0,
                    ring: true,
                    ahead: 28 << 10,
                    ..good
                },
            ),
            (
                // Less than four samples.
                "bytes ahead",
                Superblock {
                    ring: true,
                    stride: 16384,
                    ahead: 60 << 10,
                    ..good
                },
            ),
            (
                // More than a quarter of the data.
                "bytes ahead",
                Superblock {
                    ring: true,
                    ahead: 260 << 10,
                    ..good
                },
            ),
            ("stride", Superblock { stride: 0, ..good }),
            (
                "stride",
                Superblock {
                    stride: 4097,
                    ..good
                },
            ),
            (
                "stride",
                Superblock {
                    stride: 2 << 20,
                    ..good
                },
            ),
            (
                "stride",
                Superblock {
                    mode: Mode::Objects,
                    ..good
                },
            ),
            (
                "blocks",
                Superblock {
                    closed: closed(255, 4 << 20),
                    ..good
                },
            ),
            (
                "data's end",
                Superblock {
                    closed: closed(1, 2 << 20),
                    ..good
                },
            ),
            (
                "data's end",
                Superblock {
                    closed: closed(1, (3 << 20) + 1),
                    ..good
                },
            ),
        ];
        for (field, superblock) in bad {
            let page = superblock.to_bytes(b"", crc);
            match Superblock::parse(&page, crc) {
                Err(SuperblockError::Field { name, .. }) => assert_eq!(name, field),
                other => panic!("{field}: {other:?}"),
            }
        }
    }

    #[test]
    fn extensions_are_short_and_plain() {
        assert_eq!(extension(b"bin"), Some(*b"bin\0"));
        assert_eq!(extension(b"jpeg"), Some(*b"jpeg"));
        for text in [&b""[..], b"tiff2", b"a/b", b"a.b", b"\xc3\xa4"] {
            assert_eq!(extension(text), None);
        }
    }
}
