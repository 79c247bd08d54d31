// SPDX-License-Identifier: Apache-2.0
//! The partition table: three partitions of our own types.
//!
//! The library writes it. Reading is ours: the library stops the program on a table that has an
//! unusual size, and knows no way to the second copy of the entries.

use std::collections::BTreeMap;

use forebay_spec::store::Session;
use forebay_spec::store::superblock::{DATA_TYPE, INDEX_TYPE, Mode, Region, SUPER_TYPE};
use gpt::disk::LogicalBlockSize;
use gpt::partition::Partition;
use gpt::partition_types::{OperatingSystem, Type};
use uuid::Uuid;

use crate::disk::{Cursor, read};
use crate::{Disk, Error, Result};

/// Bit of a partition's attributes at which the mode stands; those from 48 on are its type's own.
const MODE_LSB: u32 = 48;
/// Most entries that are looked at; 128 is what all tools make.
const ENTRIES_MOST: u32 = 1024;
const ENTRY_BYTES: usize = 128;

/// What the partition table says of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Superblocks.
    pub superblocks: Region,
    /// Index.
    pub index: Region,
    /// Data.
    pub data: Region,
    /// Which recording: the data partition's own GUID.
    pub session: Session,
    /// How data lie there.
    pub mode: Option<Mode>,
}

/// Bytes that the table takes from the beginning, and again at the end.
pub(crate) const fn table_bytes(block_bytes: u32) -> u64 {
    // Protective record, header, entries.
    2 * block_bytes as u64 + 128 * ENTRY_BYTES as u64
}

fn kind(guid: &str) -> Type {
    Type {
        guid: Uuid::try_parse(guid).unwrap_or_default(),
        os: OperatingSystem::Custom("Forebay".into()),
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    let what = format!("the partition table could not be written: {error}");
    Error::recording(what, "check the disk's size and the rights to it")
}

impl Table {
    /// Writes it, both copies.
    pub fn write(&self, disk: &dyn Disk) -> Result<()> {
        let block = u64::from(self.block_bytes);
        let size = LogicalBlockSize::try_from(block).map_err(failed)?;
        let last = u32::try_from(disk.len() / block - 1).unwrap_or(u32::MAX);
        let record = gpt::mbr::ProtectiveMBR::with_lb_size(last);
        record
            .overwrite_lba0(&mut Cursor::new(disk))
            .map_err(failed)?;
        let config = gpt::GptConfig::new().writable(true);
        let mut table = config
            .logical_block_size(size)
            .create_from_device(Cursor::new(disk), None)
            .map_err(failed)?;
        table.update_partitions(self.partitions()).map_err(failed)?;
        table.write().map_err(failed)?;
        Ok(())
    }

    fn partitions(&self) -> BTreeMap<u32, Partition> {
        let mode = self.mode.map_or(0, |mode| u64::from(mode.number()) + 1);
        let all = [
            (
                "forebay-super",
                SUPER_TYPE,
                self.superblocks,
                Uuid::new_v4(),
                0,
            ),
            ("forebay-index", INDEX_TYPE, self.index, Uuid::new_v4(), 0),
            (
                "forebay-data",
                DATA_TYPE,
                self.data,
                Uuid::from_bytes(self.session.0),
                mode << MODE_LSB,
            ),
        ];
        let block = u64::from(self.block_bytes);
        let entries = all.into_iter().zip(1..);
        entries
            .map(|((name, guid, region, own, flags), number)| {
                let partition = Partition {
                    part_type_guid: kind(guid),
                    part_guid: own,
                    first_lba: region.at / block,
                    last_lba: region.end() / block - 1,
                    flags,
                    name: name.into(),
                };
                (number, partition)
            })
            .collect()
    }

    /// Reads it: with blocks of 512 or 4096 bytes, the first copy or the second.
    pub fn read(disk: &dyn Disk) -> Option<Self> {
        let copies = [512u32, 4096].into_iter().flat_map(|block| {
            let last = (disk.len() / u64::from(block)).saturating_sub(1);
            [(block, 1), (block, last)]
        });
        copies
            .into_iter()
            .find_map(|(block, at)| Self::read_copy(disk, block, at))
    }

    fn read_copy(disk: &dyn Disk, block: u32, lba: u64) -> Option<Self> {
        let mut header = [0; 512];
        read(disk, lba.checked_mul(block.into())?, &mut header).ok()?;
        let word = |at: usize| header[at..].first_chunk().map(|b| u32::from_le_bytes(*b));
        let long = |at: usize| header[at..].first_chunk().map(|b| u64::from_le_bytes(*b));
        let (count, size) = (word(80)?, word(84)?);
        let used = usize::try_from(word(12)?).ok()?;
        let plausible = header.starts_with(b"EFI PART")
            && (92..=header.len()).contains(&used)
            && size as usize == ENTRY_BYTES
            && count <= ENTRIES_MOST;
        if !plausible || long(24)? != lba {
            return None;
        }
        let mut summed = header;
        summed[16..20].fill(0);
        if crc_fast::crc32_iso_hdlc(&summed[..used]) != word(16)? {
            return None;
        }
        let mut entries = vec![0; count as usize * ENTRY_BYTES];
        read(disk, long(72)?.checked_mul(block.into())?, &mut entries).ok()?;
        if crc_fast::crc32_iso_hdlc(&entries) != word(88)? {
            return None;
        }
        Self::of_entries(&entries, block)
    }

    fn of_entries(entries: &[u8], block: u32) -> Option<Self> {
        let find = |guid: &str| {
            let wanted = Uuid::try_parse(guid).ok()?.to_bytes_le();
            let mut entries = entries.chunks_exact(ENTRY_BYTES);
            let entry = entries.find(|entry| entry.starts_with(&wanted))?;
            let long = |at: usize| entry[at..].first_chunk().map(|b| u64::from_le_bytes(*b));
            let (first, last) = (long(32)?, long(40)?);
            let blocks = last.checked_sub(first)?.checked_add(1)?;
            let region = Region {
                at: first.checked_mul(block.into())?,
                bytes: blocks.checked_mul(block.into())?,
            };
            region.at.checked_add(region.bytes)?;
            let own: [u8; 16] = *entry[16..].first_chunk()?;
            Some((region, Uuid::from_bytes_le(own), long(48)?))
        };
        let (data, own, flags) = find(DATA_TYPE)?;
        let mode = (flags >> MODE_LSB & 3).checked_sub(1);
        Some(Self {
            block_bytes: block,
            superblocks: find(SUPER_TYPE)?.0,
            index: find(INDEX_TYPE)?.0,
            data,
            session: Session(*own.as_bytes()),
            mode: mode.and_then(|mode| Mode::from_number(mode as u32)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use proptest::prelude::*;

    fn table(block_bytes: u32) -> Table {
        let region = |at, bytes| Region { at, bytes };
        Table {
            block_bytes,
            superblocks: region(1 << 20, 1 << 20),
            index: region(2 << 20, 1 << 20),
            data: region(3 << 20, (1 << 20) - 32768),
            session: Session(*b"sixteen letters!"),
            mode: Some(Mode::Samples),
        }
    }

    #[test]
    fn what_the_library_writes_is_read_from_either_copy() {
        for block in [512, 4096] {
            let disk = Memory::new(vec![0; 4 << 20]);
            table(block).write(&disk).expect("room");
            assert_eq!(Table::read(&disk), Some(table(block)));
            disk.write_at(block.into(), &[0; 512]).expect("there");
            assert_eq!(Table::read(&disk), Some(table(block)), "second copy");
            let last = (4 << 20) - u64::from(block);
            disk.write_at(last + 20, &[1]).expect("there");
            assert_eq!(Table::read(&disk), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_header_is_read_or_not(at in 512..1024usize, bytes: [u8; 8], entry in 0..640usize) {
            let disk = Memory::new(vec![0; 4 << 20]);
            table(512).write(&disk).expect("room");
            let mut all = disk.bytes();
            all.truncate(2 << 20);
            all[at..at + 8].copy_from_slice(&bytes);
            all[1024 + entry] ^= bytes[0];
            // A header whose sum is right all the same.
            let used = u32::from_le_bytes([all[524], all[525], all[526], all[527]]) as usize;
            if used <= 512 {
                all[528..532].fill(0);
                let entries = crc_fast::crc32_iso_hdlc(&all[1024..1024 + 128 * 128]);
                all[600..604].copy_from_slice(&entries.to_le_bytes());
                let sum = crc_fast::crc32_iso_hdlc(&all[512..512 + used]);
                all[528..532].copy_from_slice(&sum.to_le_bytes());
            }
            let _ = Table::read(&Memory::new(all));
        }
    }
}
