// SPDX-License-Identifier: Apache-2.0
//! The journal of a recording, read from the drives.

use forebay_driver::recorder_port::Recording;
use forebay_spec::recorder::journal::BLOCK_BYTES;
use forebay_spec::recorder::{Block, Row};
use serde::Serialize;

use crate::failure::Result;
use crate::session::Session;

/// A place at which something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The object that goes on behind it.
    pub object: u64,
    /// Where in that object data go on.
    pub offset: u64,
    /// Number of the frame with which they do.
    pub sequence: u64,
    /// Frames that are missing.
    pub frames: u64,
    /// When data went on, in cycles of the core's clock since reset.
    pub cycle: u64,
}

/// The gaps of a recording, in order.
pub fn gaps(rows: &[Row]) -> impl Iterator<Item = Gap> {
    rows.iter().filter(|row| row.missing > 0).map(|row| Gap {
        object: row.header.object,
        offset: row.offset(),
        sequence: row.header.sequence,
        frames: row.missing,
        cycle: row.time,
    })
}

/// The rows of a recording, and how many blocks and rows are none. In a ring, the blocks of this
/// recording are those that bear its number, in the order of theirs.
pub fn read(session: &Session, recording: &Recording) -> Result<(Vec<Row>, u64)> {
    let (mut blocks, mut unreadable) = (Vec::new(), 0);
    for number in 0..recording.journal.bytes / BLOCK_BYTES as u64 {
        let at = recording.journal.address + number * BLOCK_BYTES as u64;
        let bytes = session.stored(at, BLOCK_BYTES)?;
        match Block::parse(&bytes) {
            Ok(block) if block.recording == recording.number => {
                let mut rows = Vec::new();
                for row in block.rows() {
                    match row {
                        Ok(row) => rows.push(row),
                        Err(_) => unreadable += 1,
                    }
                }
                blocks.push((block.number, rows));
            }
            // Behind the last block there is what was there before: zeros, or an older recording.
            _ => break,
        }
    }
    blocks.sort_by_key(|(number, _)| *number);
    let rows = blocks.into_iter().flat_map(|(_, rows)| rows).collect();
    Ok((rows, unreadable))
}
