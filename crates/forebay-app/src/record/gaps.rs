// SPDX-License-Identifier: Apache-2.0
//! Where something is missing in a recording.

use forebay_spec::store::index::Row;
use serde::Serialize;

/// A place at which something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The stream in which.
    pub stream: u16,
    /// The object that goes on behind it.
    pub object: u64,
    /// Where in that object data go on.
    pub offset: u64,
    /// Frames that are missing.
    pub frames: u64,
    /// When data went on, in nanoseconds since the recording began.
    pub nanoseconds: u64,
}

/// The gaps of a recording that began at this time, in order.
pub fn gaps(rows: &[Row], began: u64) -> impl Iterator<Item = Gap> {
    rows.iter()
        .filter(|row| row.missing > 0)
        .map(move |row| Gap {
            stream: row.stream,
            object: row.object,
            offset: row.offset,
            frames: row.missing.into(),
            nanoseconds: row.time.saturating_sub(began),
        })
}
