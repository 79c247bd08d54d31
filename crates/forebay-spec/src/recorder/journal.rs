// SPDX-License-Identifier: Apache-2.0
//! The journal: blocks of 4 KiB, in each a head of 64 bytes and up to 63 rows of 64, little-endian.
//!
//! | byte of the head | what |
//! |---|---|
//! | 0–3 | magic `FBJ1` |
//! | 4–5 | rows that follow; what is behind them is 0 |
//! | 8–15 | recording, as the register said |
//! | 16–23 | number of the block in its recording, from 0 |
//!
//! A row is an extent: bytes of one object without a gap.
//!
//! | byte of a row | what |
//! |---|---|
//! | 0–31 | [header](crate::net::header) of its first frame |
//! | 32–39 | frames that are missing before it |
//! | 40–47 | address on the SSD |
//! | 48–55 | length in bytes |
//! | 56–61 | when it began, in cycles of the core's clock since reset |
//! | 62 | what the streamer answered: 0 is stored |
//! | 63 | bit 0: a whole object; bit 1: cut, it goes on in the next row; bit 2: skipped, not stored |

use crate::bytes::{get_u16, get_u64, put};
use crate::net::{Header, header};
use core::fmt;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 4096;
/// Bytes of a row, and of the head of a block.
pub const ROW_BYTES: usize = 64;
/// Most rows in a block.
pub const ROWS: usize = BLOCK_BYTES / ROW_BYTES - 1;

/// The first four bytes of a block.
pub const MAGIC: [u8; 4] = *b"FBJ1";
/// Offset of the number of rows.
pub const ROWS_AT: usize = 4;
/// Offset of the recording.
pub const RECORDING_AT: usize = 8;
/// Offset of the block's number.
pub const NUMBER_AT: usize = 16;

/// Offset of the number of missing frames.
pub const MISSING_AT: usize = 32;
/// Offset of the address.
pub const ADDRESS_AT: usize = 40;
/// Offset of the length.
pub const LENGTH_AT: usize = 48;
/// Offset of the time.
pub const TIME_AT: usize = 56;
/// Offset of the answer.
pub const CODE_AT: usize = 62;
/// Offset of the flags.
pub const FLAGS_AT: usize = 63;

/// Flag: the extent is a whole object of the length that its header states.
pub const WHOLE: u8 = 1 << 0;
/// Flag: the region's end cut the extent; the next row goes on with it.
pub const CUT: u8 = 1 << 1;
/// Flag: there was no room, nothing was stored.
pub const SKIPPED: u8 = 1 << 2;

/// An extent, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Header of its first frame.
    pub header: Header,
    /// Frames that are missing before it.
    pub missing: u64,
    /// First byte on the SSD.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// When it began, in cycles of the core's clock.
    pub time: u64,
    /// What the streamer answered: 0 is stored.
    pub code: u8,
    /// A whole object.
    pub whole: bool,
    /// It goes on in the next row.
    pub cut: bool,
    /// There was no room, nothing was stored.
    pub skipped: bool,
}

impl Row {
    /// Its bytes are on the SSD.
    #[must_use]
    pub const fn stored(&self) -> bool {
        self.code == 0 && !self.skipped
    }

    /// Offset of its first byte in its object.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        match self.header.position {
            header::Position::First { .. } => 0,
            header::Position::At { offset } => offset,
        }
    }

    /// Writes the row.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        put(&mut bytes, 0, &self.header.to_bytes());
        put(&mut bytes, MISSING_AT, &self.missing.to_le_bytes());
        put(&mut bytes, ADDRESS_AT, &self.address.to_le_bytes());
        put(&mut bytes, LENGTH_AT, &self.length.to_le_bytes());
        put(&mut bytes, TIME_AT, &self.time.to_le_bytes());
        bytes[CODE_AT] = self.code;
        let flags = [
            (self.whole, WHOLE),
            (self.cut, CUT),
            (self.skipped, SKIPPED),
        ];
        bytes[FLAGS_AT] = flags
            .iter()
            .fold(0, |all, (set, flag)| all | if *set { *flag } else { 0 });
        bytes
    }

    /// Reads a row.
    ///
    /// # Errors
    ///
    /// [`BlockError::Row`] where it has no header of a frame, or flags that are not known.
    pub fn from_bytes(bytes: &[u8; ROW_BYTES]) -> Result<Self, BlockError> {
        // A header is followed by payload, and here by the rest of the row.
        let Ok((header, _)) = Header::split(bytes) else {
            return Err(BlockError::Row);
        };
        let flags = bytes[FLAGS_AT];
        if flags & !(WHOLE | CUT | SKIPPED) != 0 {
            return Err(BlockError::Row);
        }
        Ok(Self {
            header,
            missing: get_u64(bytes, MISSING_AT),
            address: get_u64(bytes, ADDRESS_AT),
            length: get_u64(bytes, LENGTH_AT),
            time: get_u64(bytes, TIME_AT) & ((1 << 48) - 1),
            code: bytes[CODE_AT],
            whole: flags & WHOLE != 0,
            cut: flags & CUT != 0,
            skipped: flags & SKIPPED != 0,
        })
    }
}

/// A block whose head is sound.
#[derive(Clone, Copy, Debug)]
pub struct Block<'b> {
    /// Which recording.
    pub recording: u64,
    /// Number of the block in it.
    pub number: u64,
    rows: &'b [u8],
}

/// Why bytes are no block, or no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockError {
    /// Not [`BLOCK_BYTES`] bytes.
    Size,
    /// No [`MAGIC`].
    Magic,
    /// More rows than fit.
    Rows,
    /// A row that is none.
    Row,
}

impl<'b> Block<'b> {
    /// Reads a block's head.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, BlockError> {
        let Some((head, rows)) = bytes.split_first_chunk::<ROW_BYTES>() else {
            return Err(BlockError::Size);
        };
        if bytes.len() != BLOCK_BYTES {
            return Err(BlockError::Size);
        }
        if head[..MAGIC.len()] != MAGIC {
            return Err(BlockError::Magic);
        }
        let count = usize::from(get_u16(head, ROWS_AT));
        let rows = rows.get(..count * ROW_BYTES).ok_or(BlockError::Rows)?;
        Ok(Self {
            recording: get_u64(head, RECORDING_AT),
            number: get_u64(head, NUMBER_AT),
            rows,
        })
    }

    /// Its rows, each of which may be none.
    pub fn rows(&self) -> impl Iterator<Item = Result<Row, BlockError>> + use<'b> {
        let (rows, _) = self.rows.as_chunks::<ROW_BYTES>();
        rows.iter().map(Row::from_bytes)
    }
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size => write!(f, "not {BLOCK_BYTES} bytes"),
            Self::Magic => f.write_str("the first four bytes are not FBJ1"),
            Self::Rows => write!(f, "more than {ROWS} rows"),
            Self::Row => f.write_str("a row without the header of a frame, or with unknown flags"),
        }
    }
}

impl core::error::Error for BlockError {}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use crate::net::header::Position;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn rows() -> impl Strategy<Value = Row> {
        let numbers = any::<(u64, u64, u64, u64, u8)>();
        let flags = any::<(bool, bool, bool)>();
        (numbers, flags, any::<(u8, u16, u64, u64, bool)>()).prop_map(
            |((missing, address, length, time, code), (whole, cut, skipped), header)| Row {
                header: Header {
                    session: header.0,
                    stream: header.1,
                    sequence: header.2,
                    object: header.3,
                    position: Position::At { offset: missing },
                    last: header.4,
                },
                missing,
                address,
                length,
                time: time >> 16,
                code,
                whole,
                cut,
                skipped,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            written in prop::collection::vec(rows(), 0..=ROWS), recording: u64, number: u64,
        ) {
            let mut bytes = Vec::from([0; BLOCK_BYTES]);
            put(&mut bytes, 0, &MAGIC);
            put(&mut bytes, ROWS_AT, &(written.len() as u16).to_le_bytes());
            put(&mut bytes, RECORDING_AT, &recording.to_le_bytes());
            put(&mut bytes, NUMBER_AT, &number.to_le_bytes());
            for (at, row) in written.iter().enumerate() {
                put(&mut bytes, (at + 1) * ROW_BYTES, &row.to_bytes());
            }
            let block = Block::parse(&bytes).expect("sound");
            prop_assert_eq!((block.recording, block.number), (recording, number));
            let read: Result<Vec<Row>, _> = block.rows().collect();
            prop_assert_eq!(read, Ok(written));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            mut bytes in prop::collection::vec(any::<u8>(), 0..=BLOCK_BYTES + 1), rows: u16,
        ) {
            if bytes.len() > ROW_BYTES {
                put(&mut bytes, 0, &MAGIC);
                put(&mut bytes, ROWS_AT, &(rows % 80).to_le_bytes());
            }
            if let Ok(block) = Block::parse(&bytes) {
                prop_assert!(block.rows().count() <= ROWS);
            }
        }
    }
}
