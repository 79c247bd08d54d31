// SPDX-License-Identifier: Apache-2.0
//! Corrects a damaged block of the index from its own bytes.

use forebay_spec::store::PAGE_BYTES;
use forebay_spec::store::index::{Block, BlockError};
use forebay_spec::store::layout::COUNT_AT;

use crate::{Form, crc32c};

/// The polynomial of CRC32C, its bits in the order in which they are shifted out.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The block that a page was, if no more is wrong with it than a single bit of its columns or its
/// checksum, or any bytes in front of these: the same stand there in each block
/// with that number of rows.
///
/// Two blocks whose checksums are right differ in four bits or more, so that two or three wrong bits
/// are never taken for one. Where the number of rows is damaged, too, 65 are tried: by chance one fits
/// once in 66 million times.
pub(crate) fn corrected(page: &[u8; PAGE_BYTES], form: &Form, number: u64) -> Option<Block> {
    let number = u32::try_from(number).ok()?;
    let layout = form.layout();
    let (session_at, number_at) = (layout.session_at(), layout.number_at());
    let (crc_at, columns_at) = (layout.crc_at(), layout.columns_at());
    let with_head = |rows: u64, nulls: u64| {
        let mut fixed = *page;
        let head = layout.head_of(rows, nulls);
        fixed[..session_at].copy_from_slice(&head[..session_at]);
        fixed[session_at..number_at].copy_from_slice(&form.session.short());
        fixed[number_at..crc_at].copy_from_slice(&number.to_le_bytes());
        fixed
    };
    let parse = |fixed: &[u8; PAGE_BYTES]| Block::parse(fixed, form.session, layout, crc32c);
    let rows = u64::from_le_bytes(page[COUNT_AT..COUNT_AT + 8].try_into().ok()?);
    let rows = rows.min(layout.rows as u64);
    // The number of rows without a result may be what is wrong.
    if let Ok(block) = parse(&with_head(rows, layout.nulls_among(page, rows))) {
        return Some(block);
    }
    let mut fixed = with_head(rows, layout.nulls_of(page).min(rows));
    let (says, has) = match parse(&fixed) {
        Ok(block) => return Some(block),
        Err(BlockError::Crc { says, has }) if fixed == *page => (says, has),
        Err(_) => {
            // How many there were is lost.
            let all = 0..=layout.rows as u64;
            let mut all = all.map(|rows| with_head(rows, layout.nulls_among(page, rows)));
            return all.find_map(|fixed| parse(&fixed).ok());
        }
    };
    match (says ^ has).count_ones() {
        1 => fixed[crc_at..columns_at].copy_from_slice(&has.to_le_bytes()),
        _ => {
            let bit = wrong_bit(says ^ has, columns_at)?;
            fixed[bit / 8] ^= 1 << (bit % 8);
        }
    }
    parse(&fixed).ok()
}

/// The bit of the columns that changes the checksum of a block by this.
fn wrong_bit(change: u32, columns_at: usize) -> Option<usize> {
    let mut state = 1u32;
    // From the last bit of the block to the first of its columns.
    (columns_at * 8..PAGE_BYTES * 8).rev().find(|_| {
        state = (state >> 1) ^ (POLYNOMIAL & (state & 1).wrapping_neg());
        state == change
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_spec::store::Session;
    use forebay_spec::store::index::{COUNTS, RESULT, Row};
    use forebay_spec::store::layout::ROWS_MOST;
    use forebay_spec::store::schema::{Column, Schema};
    use forebay_spec::store::superblock::{Drive, Mode, Region, Superblock, VERSION};
    use proptest::prelude::*;

    fn form() -> Form {
        Form::of(Superblock {
            version: VERSION,
            mode: Mode::Objects,
            generation: 1,
            session: Session([7; 16]),
            formatted: 0,
            block_bytes: 512,
            ring: false,
            index_ring: false,
            ahead: 0,
            key_check: [0; 8],
            alignment: PAGE_BYTES as u32,
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
            schema: Schema::default(),
        })
    }

    /// Where the CRC32C of such a block stands, and the columns behind it.
    const CRC_AT: usize = 636;
    const COLUMNS_AT: usize = 640;

    fn bytes(block: &Block) -> [u8; PAGE_BYTES] {
        let form = form();
        assert_eq!(
            (form.layout().crc_at(), form.layout().columns_at()),
            (CRC_AT, COLUMNS_AT)
        );
        block.to_bytes(form.session, form.layout(), crc32c)
    }

    fn rows_of(seed: u64) -> [Row; ROWS_MOST] {
        let row = |at: usize| Row {
            object: seed.wrapping_mul(at as u64 + 1),
            address: at as u64 * 4096,
            crc32c: (seed >> 7) as u32 ^ at as u32,
            flags: COUNTS | if seed >> at & 1 == 1 { RESULT } else { 0 },
            ..Row::default()
        };
        let mut rows = std::array::from_fn(row);
        rows[1 + seed as usize % 63..].fill(Row::default());
        rows
    }

    fn page(seed: u64) -> [u8; PAGE_BYTES] {
        let rows = rows_of(seed);
        bytes(&Block { number: 3, rows })
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
            let found = corrected(&bad, &form(), 3);
            let found = found.as_ref().map(bytes);
            prop_assert_eq!(found == Some(good), bits.len() == 1);
            prop_assert_eq!(found.is_some(), bits.len() == 1);
        }

        #[test]
        fn what_stands_in_front_of_the_columns_is_known(
            seed: u64, from in 0..CRC_AT, noise: [u8; 32], one: bool,
        ) {
            // Of a single column the rows without a result are said once.
            let column = Column::new("class", "u16").expect("a column");
            let schema = Schema::new(&[column], false).expect("two bytes");
            let form = match one {
                true => Form::of(Superblock { schema, ..*form() }),
                false => form(),
            };
            let layout = form.layout();
            let mut rows = rows_of(seed);
            rows[layout.rows..].fill(Row::default());
            let block = Block { number: 3, rows };
            let good = block.to_bytes(form.session, layout, crc32c);
            let mut bad = good;
            for (at, byte) in (from..layout.crc_at()).zip(noise) {
                bad[at] = byte;
            }
            let found = corrected(&bad, &form, 3);
            prop_assert_eq!(found, Some(block));
        }

        #[test]
        fn a_bit_of_the_checksum_is_corrected(seed: u64, bit in CRC_AT * 8..COLUMNS_AT * 8) {
            let good = page(seed);
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            let found = corrected(&bad, &form(), 3);
            prop_assert_eq!(found.as_ref().map(bytes), Some(good));
        }
    }
}
