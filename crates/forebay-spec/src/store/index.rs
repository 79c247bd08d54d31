// SPDX-License-Identifier: Apache-2.0
//! Blocks of the index: record batches of an Arrow IPC stream, 4096 bytes each.

use super::{Crc, PAGE_BYTES, Session, arrow};
use crate::bytes::{get_u16, get_u32, get_u64, put};

/// Most rows of a block.
pub const ROWS: usize = 64;
/// What precedes each message of Arrow's, in place of nothing.
pub const CONTINUATION: u32 = u32::MAX;
/// Offset of the message behind [`CONTINUATION`] and its length.
pub const MESSAGE_AT: usize = 8;
/// Offset of the session's first eight bytes.
pub const SESSION_AT: usize = MESSAGE_AT + arrow::BATCH.len();
/// Offset of the block's number.
pub const NUMBER_AT: usize = SESSION_AT + 8;
/// Offset of the CRC32C of the block with zeros there.
pub const CRC_AT: usize = NUMBER_AT + 4;
/// Offset of the first column.
pub const COLUMNS_AT: usize = CRC_AT + 4;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// 32 bits, IEEE 754.
    F32,
    /// Nanoseconds since 1970, UTC, 64 bits.
    Time,
}

impl Kind {
    /// As other languages name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::Time => "time",
        }
    }

    /// Bytes of a value.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::U64 | Self::Time => 8,
        }
    }
}

/// A column: its name, type and the offset of its first value in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Offset of the value of row 0; each further one follows.
    pub at: usize,
}

macro_rules! columns {
    ($($constant:ident $name:literal $kind:ident $doc:literal;)*) => {
        /// All columns, in order.
        pub const COLUMNS: &[Column] = &{
            let mut all = [$(Column { name: $name, kind: Kind::$kind, at: 0 }),*];
            let (mut index, mut at) = (0, COLUMNS_AT);
            while index < all.len() {
                all[index].at = at;
                at += ROWS * all[index].kind.bytes();
                index += 1;
            }
            assert!(at == PAGE_BYTES);
            all
        };
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($constant),* }
        $(#[doc = $doc] pub const $constant: Column = COLUMNS[Place::$constant as usize];)*
    };
}

columns! {
    OBJECT "object" U64 "Number of the object.";
    OFFSET "offset" U64 "Where in it the extent begins.";
    ADDRESS "address" U64 "First byte of its payload on the SSD.";
    TIME "time" Time "When it began.";
    LENGTH "length" U32 "Bytes of payload.";
    CRC "crc32c" U32 "Of the payload.";
    SCORE "score" F32 "Of the result.";
    MISSING "missing" U32 "Frames that are missing before it.";
    STREAM "stream" U16 "Stream.";
    CLASS "class" U16 "Of the result.";
    FLAGS "flags" U16 "See the constants below.";
}

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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Number of the object.
    pub object: u64,
    /// Where in it the extent begins.
    pub offset: u64,
    /// First byte of its payload on the SSD; 0 if nothing was stored.
    pub address: u64,
    /// When it began: nanoseconds since 1970.
    pub time: u64,
    /// Bytes of payload.
    pub length: u32,
    /// CRC32C of the payload.
    pub crc32c: u32,
    /// Score of the result.
    pub score: f32,
    /// Frames that are missing before it; `u32::MAX` stands for more.
    pub missing: u32,
    /// Stream.
    pub stream: u16,
    /// Class of the result.
    pub class: u16,
    /// [`COUNTS`] and others.
    pub flags: u16,
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

    fn read(block: &[u8; PAGE_BYTES], row: usize) -> Self {
        let at = |column: Column| column.at + row * column.kind.bytes();
        let (long, word) = (
            |column| get_u64(block, at(column)),
            |column| get_u32(block, at(column)),
        );
        let half = |column| get_u16(block, at(column));
        Self {
            object: long(OBJECT),
            offset: long(OFFSET),
            address: long(ADDRESS),
            time: long(TIME),
            length: word(LENGTH),
            crc32c: word(CRC),
            score: f32::from_bits(word(SCORE)),
            missing: word(MISSING),
            stream: half(STREAM),
            class: half(CLASS),
            flags: half(FLAGS),
        }
    }

    fn write(&self, block: &mut [u8; PAGE_BYTES], row: usize) {
        let mut set = |column: Column, value: &[u8]| {
            put(block, column.at + row * column.kind.bytes(), value);
        };
        set(OBJECT, &self.object.to_le_bytes());
        set(OFFSET, &self.offset.to_le_bytes());
        set(ADDRESS, &self.address.to_le_bytes());
        set(TIME, &self.time.to_le_bytes());
        set(LENGTH, &self.length.to_le_bytes());
        set(CRC, &self.crc32c.to_le_bytes());
        set(SCORE, &self.score.to_bits().to_le_bytes());
        set(MISSING, &self.missing.to_le_bytes());
        set(STREAM, &self.stream.to_le_bytes());
        set(CLASS, &self.class.to_le_bytes());
        set(FLAGS, &self.flags.to_le_bytes());
    }
}

/// A message of Arrow's, filled up with zeros to `bytes` together with what precedes it.
const fn message<const N: usize>(text: &[u8], bytes: usize) -> [u8; N] {
    let mut page = [0; N];
    let mut at = 0;
    while at < 4 {
        page[at] = CONTINUATION.to_le_bytes()[at];
        page[at + 4] = ((bytes - MESSAGE_AT) as u32).to_le_bytes()[at];
        at += 1;
    }
    at = 0;
    while at < text.len() {
        page[MESSAGE_AT + at] = text[at];
        at += 1;
    }
    page
}

/// The first page of an index: the schema.
pub const SCHEMA_PAGE: [u8; PAGE_BYTES] = message(&arrow::SCHEMA, PAGE_BYTES);
/// The page behind the last block: Arrow's end of a stream.
pub const END_PAGE: [u8; PAGE_BYTES] = message(&[], MESSAGE_AT);
/// What stands in front of the columns in a block of [`ROWS`] rows, but for [`SESSION_AT`] to
/// [`CRC_AT`].
pub const HEAD: [u8; COLUMNS_AT] = message(&arrow::BATCH, COLUMNS_AT);
/// Where in [`HEAD`] the number of rows stands, 64 bits each: that of the batch and that of each
/// column. Columns are as long as [`ROWS`] rows in any block.
pub const COUNTS_AT: [usize; COLUMNS.len() + 1] = {
    let mut found = [0; COLUMNS.len() + 1];
    let (mut at, mut count) = (MESSAGE_AT, 0);
    while at < SESSION_AT {
        let mut byte = 1;
        while byte < 8 && HEAD[at + byte] == 0 {
            byte += 1;
        }
        if HEAD[at] == ROWS as u8 && byte == 8 {
            found[count] = at;
            count += 1;
        }
        at += 8;
    }
    assert!(count == found.len());
    found
};
/// The first of [`COUNTS_AT`].
pub const COUNT_AT: usize = COUNTS_AT[0];

/// What stands in front of the columns in a block of `rows` rows, but for [`SESSION_AT`] to
/// [`CRC_AT`].
#[must_use]
pub fn head_of(rows: u64) -> [u8; COLUMNS_AT] {
    let mut head = HEAD;
    for at in COUNTS_AT {
        put(&mut head, at, &rows.to_le_bytes());
    }
    head
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Its number in the recording, from 0.
    pub number: u32,
    /// Its rows; those behind the last one do not count.
    pub rows: [Row; ROWS],
}

fn crc_of(page: &[u8; PAGE_BYTES], crc: Crc) -> u32 {
    let (head, rest) = page.split_at(CRC_AT);
    let (_, columns) = rest.split_at(COLUMNS_AT - CRC_AT);
    crc(crc(crc(0, head), &[0; COLUMNS_AT - CRC_AT]), columns)
}

impl Block {
    /// Writes the block up to the last row that counts; of a recording of version 1 all rows.
    #[must_use]
    pub fn to_bytes(&self, session: Session, version: u32, crc: Crc) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        let rows = self.rows.iter().rposition(Row::counts);
        let rows = match version {
            1 => ROWS,
            _ => rows.map_or(0, |last| last + 1),
        };
        put(&mut page, 0, &head_of(rows as u64));
        put(&mut page, SESSION_AT, &session.short());
        put(&mut page, NUMBER_AT, &self.number.to_le_bytes());
        for (index, row) in self.rows[..rows].iter().enumerate() {
            row.write(&mut page, index);
        }
        let sum = crc_of(&page, crc);
        put(&mut page, CRC_AT, &sum.to_le_bytes());
        page
    }

    /// Reads a block of a recording, of version 1 too: there each has [`ROWS`] rows, of which the last
    /// ones may not count.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn parse(page: &[u8; PAGE_BYTES], session: Session, crc: Crc) -> Result<Self, BlockError> {
        let rows = get_u64(page, COUNT_AT);
        if rows > ROWS as u64 || page[..SESSION_AT] != head_of(rows)[..SESSION_AT] {
            return Err(BlockError::Head);
        }
        if page[SESSION_AT..NUMBER_AT] != session.short() {
            return Err(BlockError::Session);
        }
        let (says, has) = (get_u32(page, CRC_AT), crc_of(page, crc));
        if says != has {
            return Err(BlockError::Crc { says, has });
        }
        Ok(Self {
            number: get_u32(page, NUMBER_AT),
            rows: core::array::from_fn(|row| {
                if (row as u64) < rows {
                    Row::read(page, row)
                } else {
                    Row::default()
                }
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::superblock::VERSION;
    extern crate std;
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

    #[test]
    fn columns_fill_a_block() {
        assert_eq!(
            (SESSION_AT, NUMBER_AT, CRC_AT, COLUMNS_AT),
            (624, 632, 636, 640)
        );
        assert!(COLUMNS.iter().all(|column| column.at.is_multiple_of(64)));
        assert_eq!((OBJECT.at, FLAGS.at), (640, PAGE_BYTES - 2 * ROWS));
    }

    fn rows() -> impl Strategy<Value = Row> {
        let longs = any::<(u64, u64, u64, u64)>();
        (
            longs,
            any::<(u32, u32, u32)>(),
            -1e30f32..1e30,
            any::<(u16, u16, u16)>(),
        )
            .prop_map(
                |((object, offset, address, time), (length, crc32c, missing), score, small)| Row {
                    object,
                    offset,
                    address,
                    time,
                    length,
                    crc32c,
                    score,
                    missing,
                    stream: small.0,
                    class: small.1,
                    flags: small.2,
                },
            )
    }

    #[test]
    fn blocks_of_version_1_have_rows_that_do_not_count() {
        let (number, session) = (7, Session([3; 16]));
        let mut rows = [Row::default(); ROWS];
        rows[0].flags = COUNTS;
        let block = Block { number, rows };
        let bytes = block.to_bytes(session, 1, crc);
        assert_eq!(bytes[..SESSION_AT], HEAD[..SESSION_AT]);
        assert_eq!(Block::parse(&bytes, session, crc), Ok(block));
    }

    #[test]
    fn no_other_number_of_rows_is_taken() {
        let (session, rows) = (Session([3; 16]), [Row::default(); ROWS]);
        let bytes = Block { number: 0, rows }.to_bytes(session, VERSION, crc);
        for at in COUNTS_AT {
            for count in [1, ROWS as u64 + 1, u64::MAX] {
                let mut wrong = bytes;
                put(&mut wrong, at, &count.to_le_bytes());
                let found = Block::parse(&wrong, session, crc);
                assert_eq!(found, Err(BlockError::Head));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_written_reads_the_same(
            row in rows(), other in rows(), at in 0..ROWS, number: u32, session: [u8; 16],
            count in 0..=ROWS, bit in 0..PAGE_BYTES * 8,
        ) {
            let session = Session(session);
            let mut rows = [other; ROWS];
            rows[at] = row;
            // The last row counts, those behind it are not there.
            rows[count..].fill(Row::default());
            if let Some(last) = count.checked_sub(1) {
                rows[last].flags |= COUNTS;
            }
            let block = Block { number, rows };
            let mut bytes = block.to_bytes(session, VERSION, crc);
            prop_assert_eq!(Block::parse(&bytes, session, crc), Ok(block));
            prop_assert!(COUNTS_AT.iter().all(|at| get_u64(&bytes, *at) == count as u64));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Block::parse(&bytes, session, crc).is_err(), "bit {} is wrong", bit);
        }
    }
}
