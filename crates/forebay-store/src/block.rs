// SPDX-License-Identifier: Apache-2.0
//! Corrects a damaged block of the index from its own bytes.

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::index::{
    Block, BlockError, COLUMNS_AT, COUNT_AT, CRC_AT, NUMBER_AT, ROWS, SESSION_AT, head_of,
};
use forebay_spec::store::superblock::Superblock;

use crate::crc32c;

/// The polynomial of CRC32C, its bits in the order in which they are shifted out.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The block that a page was, if no more is wrong with it than a single bit of its columns or its
/// checksum, or any bytes in front of these: the same stand there in each block
/// with that number of rows.
///
/// Two blocks whose checksums are right differ in four bits or more, so that two or three wrong bits
/// are never taken for one. Where the number of rows is damaged, too, 65 are tried: by chance one fits
/// once in 66 million times.
pub(crate) fn corrected(
    page: &[u8; PAGE_BYTES],
    superblock: &Superblock,
    number: u64,
) -> Option<Block> {
    let number = u32::try_from(number).ok()?;
    let with_head = |rows| {
        let mut fixed = *page;
        fixed[..SESSION_AT].copy_from_slice(&head_of(rows)[..SESSION_AT]);
        fixed[SESSION_AT..NUMBER_AT].copy_from_slice(&superblock.session.short());
        fixed[NUMBER_AT..CRC_AT].copy_from_slice(&number.to_le_bytes());
        fixed
    };
    let parse = |fixed: &[u8; PAGE_BYTES]| Block::parse(fixed, superblock.session, crc32c);
    let rows = u64::from_le_bytes(page[COUNT_AT..COUNT_AT + 8].try_into().ok()?);
    let mut fixed = with_head(rows.min(ROWS as u64));
    let (says, has) = match parse(&fixed) {
        Ok(block) => return Some(block),
        Err(BlockError::Crc { says, has }) if fixed == *page => (says, has),
        Err(_) => {
            // How many there were is lost.
            let mut all = (0..=ROWS as u64).map(with_head);
            return all.find_map(|fixed| parse(&fixed).ok());
        }
    };
    match (says ^ has).count_ones() {
        1 => fixed[CRC_AT..COLUMNS_AT].copy_from_slice(&has.to_le_bytes()),
        _ => {
            let bit = wrong_bit(says ^ has)?;
            fixed[bit / 8] ^= 1 << (bit % 8);
        }
    }
    parse(&fixed).ok()
}

/// The bit of the columns that changes the checksum of a block by this.
fn wrong_bit(change: u32) -> Option<usize> {
    let mut state = 1u32;
    // From the last bit of the block to the first of its columns.
    (COLUMNS_AT * 8..PAGE_BYTES * 8).rev().find(|_| {
        state = (state >> 1) ^ (POLYNOMIAL & (state & 1).wrapping_neg());
        state == change
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_spec::store::Session;
    use forebay_spec::store::index::{COUNTS, Row};
    use forebay_spec::store::superblock::{Drive, Mode, Region, VERSION};
    use proptest::prelude::*;

    fn superblock() -> Superblock {
        Superblock {
            version: VERSION,
            mode: Mode::Objects,
            generation: 1,
            session: Session([7; 16]),
            formatted: 0,
            block_bytes: 512,
            ring: false,
            index_ring: false,
            small: false,
            index: Region {
                at: 0,
                bytes: 1 << 20,
            },
            data: Region {
                at: 1 << 20,
                bytes: 1 << 20,
            },
            stride: 0,
            extension: *b"bin\0",
            closed: None,
            drive: Drive {
                model: [0; 40],
                serial: [0; 20],
                firmware: [0; 8],
                bytes: 2 << 20,
            },
        }
    }

    fn page(seed: u64) -> [u8; PAGE_BYTES] {
        let row = |at: usize| Row {
            object: seed.wrapping_mul(at as u64 + 1),
            address: at as u64 * 4096,
            crc32c: (seed >> 7) as u32 ^ at as u32,
            flags: COUNTS,
            ..Row::default()
        };
        let mut rows = std::array::from_fn::<Row, ROWS, _>(row);
        rows[1 + seed as usize % ROWS..].fill(Row::default());
        Block { number: 3, rows }.to_bytes(superblock().session, VERSION, crc32c)
    }

    proptest! {
        #[test]
        fn one_bit_is_corrected_and_two_or_three_are_not(
            seed: u64, bits in prop::collection::btree_set(COLUMNS_AT * 8..PAGE_BYTES * 8, 1..4),
        ) {
            let good = page(seed);
            let mut bad = good;
            for bit in &bits {
                bad[bit / 8] ^= 1 << (bit % 8);
            }
            let found = corrected(&bad, &superblock(), 3);
            let found = found.map(|block| block.to_bytes(superblock().session, VERSION, crc32c));
            prop_assert_eq!(found == Some(good), bits.len() == 1);
            prop_assert_eq!(found.is_some(), bits.len() == 1);
        }

        #[test]
        fn what_stands_in_front_of_the_columns_is_known(
            seed: u64, from in 0..CRC_AT, noise: [u8; 32],
        ) {
            let good = page(seed);
            let mut bad = good;
            for (at, byte) in (from..CRC_AT).zip(noise) {
                bad[at] = byte;
            }
            let found = corrected(&bad, &superblock(), 3);
            let found = found.map(|block| block.to_bytes(superblock().session, VERSION, crc32c));
            prop_assert_eq!(found, Some(good));
        }

        #[test]
        fn a_bit_of_the_checksum_is_corrected(seed: u64, bit in CRC_AT * 8..COLUMNS_AT * 8) {
            let good = page(seed);
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            let found = corrected(&bad, &superblock(), 3);
            prop_assert_eq!(found.map(|b| b.to_bytes(superblock().session, VERSION, crc32c)), Some(good));
        }
    }
}
