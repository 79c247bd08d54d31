// SPDX-License-Identifier: Apache-2.0
//! Rows of the index, and its blocks.

use super::layout::{
    ADDRESS, At, CRC, FLAGS, LENGTH, Layout, MISSING, NONCE, OBJECT, OFFSET, RECEIVED, ROWS_MOST,
    STREAM, TIME,
};
use super::schema::RESULT_MOST;
use super::{Crc, PAGE_BYTES, Session};
use crate::bytes::{get_u16, get_u32, get_u64, put};

/// Flag: the row counts.
pub const COUNTS: u16 = 1 << 0;
/// Flag: a whole object.
pub const WHOLE: u16 = 1 << 1;
/// Flag: the object goes on in the next row of its stream.
pub const CUT: u16 = 1 << 2;
/// Flag: there was no room, nothing was stored.
pub const SKIPPED: u16 = 1 << 3;
/// Flag: the SSD did not take it; bits 15 to 8 are the streamer's code.
pub const FAILED: u16 = 1 << 4;
/// Flag: there is a result.
pub const RESULT: u16 = 1 << 5;
/// Flag: a result was expected and did not come in time.
pub const LATE: u16 = 1 << 6;
/// Bit of the flags at which the streamer's code begins.
pub const CODE_LSB: usize = 8;

/// An extent, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the object.
    pub object: u64,
    /// Where in it the extent begins.
    pub offset: u64,
    /// First byte of its payload on the SSD; 0 if nothing was stored.
    pub address: u64,
    /// When it began: nanoseconds since 1970.
    pub time: u64,
    /// Upper half of the counter blocks that encrypt its payload, where a schema has a cipher; 0: it
    /// is as it came.
    pub nonce: u64,
    /// Bytes of payload.
    pub length: u32,
    /// CRC32C of the payload.
    pub crc32c: u32,
    /// Frames that are missing before it; `u32::MAX` stands for more.
    pub missing: u32,
    /// Bytes of the extent as it was received; 0 where it goes on in the next row, and where the
    /// schema has none.
    pub received: u32,
    /// Stream.
    pub stream: u16,
    /// [`COUNTS`] and others.
    pub flags: u16,
    /// The result, its columns one behind the other; zeros without one.
    pub result: [u8; RESULT_MOST],
}

impl Default for Row {
    fn default() -> Self {
        Self {
            object: 0,
            offset: 0,
            address: 0,
            time: 0,
            nonce: 0,
            length: 0,
            crc32c: 0,
            missing: 0,
            received: 0,
            stream: 0,
            flags: 0,
            result: [0; RESULT_MOST],
        }
    }
}

impl Row {
    /// It describes an extent, and is not there to fill a block.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.flags & COUNTS != 0
    }

    /// Its payload is on the SSD.
    #[must_use]
    pub const fn stored(&self) -> bool {
        self.counts() && self.flags & (SKIPPED | FAILED) == 0
    }

    /// It is a whole object.
    #[must_use]
    pub const fn whole(&self) -> bool {
        self.flags & WHOLE != 0
    }

    /// There is a result.
    #[must_use]
    pub const fn has_result(&self) -> bool {
        self.flags & RESULT != 0
    }

    fn read(block: &[u8; PAGE_BYTES], layout: &Layout, row: usize) -> Self {
        let at = |base: usize| layout.bases[base].at + row * layout.bases[base].bytes;
        let (long, word) = (
            |base| get_u64(block, at(base)),
            |base| get_u32(block, at(base)),
        );
        let half = |base| get_u16(block, at(base));
        let mut read = Self {
            object: long(OBJECT),
            offset: long(OFFSET),
            address: long(ADDRESS),
            time: long(TIME),
            nonce: if layout.schema.cipher.is_some() {
                long(NONCE)
            } else {
                0
            },
            length: word(LENGTH),
            crc32c: word(CRC),
            missing: word(MISSING),
            received: if layout.schema.received {
                word(RECEIVED)
            } else {
                0
            },
            stream: half(STREAM),
            flags: half(FLAGS),
            result: [0; RESULT_MOST],
        };
        if read.has_result() {
            let mut place = 0;
            for At { at, bytes } in &layout.results {
                put(
                    &mut read.result,
                    place,
                    &block[at + row * bytes..][..*bytes],
                );
                place += bytes;
            }
        }
        read
    }

    fn write(&self, block: &mut [u8; PAGE_BYTES], layout: &Layout, row: usize) {
        let mut set = |base: usize, value: &[u8]| {
            let At { at, bytes } = layout.bases[base];
            put(block, at + row * bytes, value);
        };
        set(OBJECT, &self.object.to_le_bytes());
        set(OFFSET, &self.offset.to_le_bytes());
        set(ADDRESS, &self.address.to_le_bytes());
        set(TIME, &self.time.to_le_bytes());
        if layout.schema.cipher.is_some() {
            set(NONCE, &self.nonce.to_le_bytes());
        }
        set(LENGTH, &self.length.to_le_bytes());
        set(CRC, &self.crc32c.to_le_bytes());
        set(MISSING, &self.missing.to_le_bytes());
        if layout.schema.received {
            set(RECEIVED, &self.received.to_le_bytes());
        }
        set(STREAM, &self.stream.to_le_bytes());
        set(FLAGS, &self.flags.to_le_bytes());
        let mut place = 0;
        for At { at, bytes } in &layout.results {
            put(block, at + row * bytes, &self.result[place..place + bytes]);
            place += bytes;
        }
        if let (Some(at), true) = (layout.valid_at, self.has_result()) {
            block[at + row / 8] |= 1 << (row % 8);
        }
    }
}

/// Why a page is no block of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// It does not begin as each block does.
    #[error("it does not begin as a block of an index does")]
    Head,
    /// Another recording's.
    #[error("it belongs to another recording")]
    Session,
    /// Its checksum is not the one that it states.
    #[error("its CRC32C is {has:08x}, and it says {says:08x}")]
    Crc {
        /// What it says.
        says: u32,
        /// What it has.
        has: u32,
    },
}

/// A block of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number in the recording, from 0.
    pub number: u32,
    /// Its rows; those behind the last one do not count.
    pub rows: [Row; ROWS_MOST],
}

/// The CRC32C of a block, with zeros in its place.
fn crc_of(page: &[u8; PAGE_BYTES], layout: &Layout, crc: Crc) -> u32 {
    let (head, rest) = page.split_at(layout.crc_at());
    crc(crc(crc(0, head), &[0; 4]), &rest[4..])
}

impl Block {
    /// Writes the block up to the last row that counts; of a recording of version 1 all rows.
    #[must_use]
    pub fn to_bytes(&self, session: Session, layout: &Layout, crc: Crc) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        let last = self.rows[..layout.rows].iter().rposition(Row::counts);
        let rows = match layout.full {
            true => layout.rows,
            false => last.map_or(0, |last| last + 1),
        };
        let rows = &self.rows[..rows];
        let nulls = rows.iter().filter(|row| !row.has_result()).count();
        put(
            &mut page,
            0,
            &layout.head_of(rows.len() as u64, nulls as u64),
        );
        put(&mut page, layout.session_at(), &session.short());
        put(&mut page, layout.number_at(), &self.number.to_le_bytes());
        for (index, row) in rows.iter().enumerate() {
            row.write(&mut page, layout, index);
        }
        let sum = crc_of(&page, layout, crc);
        put(&mut page, layout.crc_at(), &sum.to_le_bytes());
        page
    }

    /// Reads a block of a recording; of version 1 each has all rows, of which the last ones may not
    /// count.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn parse(
        page: &[u8; PAGE_BYTES],
        session: Session,
        layout: &Layout,
        crc: Crc,
    ) -> Result<Self, BlockError> {
        let rows = layout.rows_of(page).ok_or(BlockError::Head)?;
        if page[layout.session_at()..layout.number_at()] != session.short() {
            return Err(BlockError::Session);
        }
        let (says, has) = (get_u32(page, layout.crc_at()), crc_of(page, layout, crc));
        if says != has {
            return Err(BlockError::Crc { says, has });
        }
        let read = |row| match row < rows {
            true => Row::read(page, layout, row),
            false => Row::default(),
        };
        Ok(Self {
            number: get_u32(page, layout.number_at()),
            rows: core::array::from_fn(read),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema::{Schema, tests::schemas};
    use proptest::prelude::*;

    /// Bit by bit, as RFC 3720 has it.
    fn crc(before: u32, bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!before, |sum, byte| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
                (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg())
            })
        })
    }

    #[test]
    fn the_check_sum_is_that_of_rfc_3720() {
        assert_eq!(crc(0, b"123456789"), 0xe306_9283);
        assert_eq!(crc(0, &[0; 32]), 0x8a91_36aa);
    }

    fn rows() -> impl Strategy<Value = Row> {
        let longs = any::<(u64, u64, u64, u64, u64)>();
        let words = any::<(u32, u32, u32, u32)>();
        (longs, words, any::<(u16, u16)>(), any::<[u8; 32]>()).prop_map(
            |(long, word, half, bytes)| {
                let mut result = [0; RESULT_MOST];
                if half.1 & RESULT != 0 {
                    put(&mut result, 0, &bytes);
                    put(&mut result, 32, &bytes);
                }
                Row {
                    object: long.0,
                    offset: long.1,
                    address: long.2,
                    time: long.3,
                    nonce: long.4,
                    length: word.0,
                    crc32c: word.1,
                    missing: word.2,
                    received: word.3,
                    stream: half.0,
                    flags: half.1,
                    result,
                }
            },
        )
    }

    /// What of a row a layout keeps.
    fn kept(row: &Row, layout: &Layout) -> Row {
        let mut row = *row;
        if !layout.schema.received {
            row.received = 0;
        }
        if layout.schema.cipher.is_none() {
            row.nonce = 0;
        }
        row.result[layout.schema.bytes()..].fill(0);
        row
    }

    #[test]
    fn blocks_of_version_1_have_rows_that_do_not_count() {
        let (number, session) = (7, Session([3; 16]));
        let layout = Layout::new(1, Schema::default());
        let mut rows = [Row::default(); ROWS_MOST];
        rows[0].flags = COUNTS;
        let block = Block { number, rows };
        let bytes = block.to_bytes(session, &layout, crc);
        assert_eq!(bytes[..624], layout.head[..624]);
        assert_eq!(Block::parse(&bytes, session, &layout, crc), Ok(block));
    }

    #[test]
    fn no_other_number_of_rows_is_taken() {
        let (session, rows) = (Session([3; 16]), [Row::default(); ROWS_MOST]);
        for version in 1..=2 {
            let layout = Layout::new(version, Schema::default());
            let bytes = Block { number: 0, rows }.to_bytes(session, &layout, crc);
            for word in &layout.words {
                for count in [1, ROWS_MOST as u64 + 1, u64::MAX] {
                    let mut wrong = bytes;
                    put(&mut wrong, word.at, &count.to_le_bytes());
                    let found = Block::parse(&wrong, session, &layout, crc);
                    assert_eq!(found, Err(BlockError::Head));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_written_reads_the_same(
            schema in schemas(), row in rows(), other in rows(), at in 0..ROWS_MOST, number: u32,
            session: [u8; 16], count in 0..=ROWS_MOST, bit in 0..PAGE_BYTES * 8,
        ) {
            let (session, layout) = (Session(session), Layout::new(2, schema));
            let mut rows = [kept(&other, &layout); ROWS_MOST];
            rows[at] = kept(&row, &layout);
            // The last row counts, those behind it are not there.
            let count = count.min(layout.rows);
            rows[count..].fill(Row::default());
            if let Some(last) = count.checked_sub(1) {
                rows[last].flags |= COUNTS;
            }
            let block = Block { number, rows };
            let mut bytes = block.to_bytes(session, &layout, crc);
            prop_assert_eq!(Block::parse(&bytes, session, &layout, crc), Ok(block));
            prop_assert_eq!(layout.rows_of(&bytes), Some(count));
            bytes[bit / 8] ^= 1 << (bit % 8);
            let read = Block::parse(&bytes, session, &layout, crc);
            prop_assert!(read.is_err(), "bit {} is wrong", bit);
        }
    }
}
