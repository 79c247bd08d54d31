// SPDX-License-Identifier: Apache-2.0
//! Recordings on an SSD: formats, writes, reads, checks, repairs them
//! (docs/reference/store-format.md).
//!
//! Everything works on a [`Disk`]: an image file, a block device, memory, an [`Array`] of several drives. Bytes
//! read from it are never trusted: each number is checked before it is used. What takes a disk, a file or a sink also fails
//! where that does; an `# Errors` section lists what else can fail.
//!
//! [`format`] and [`Writer`] make a recording, [`Files`] packs a folder into one. A [`Recording`] is
//! read as index records ([`Record`]), objects ([`Objects`]), files ([`Recording::extract`], [`Tree`]),
//! [`Totals`] and [`Statistics`]; [`verify`], [`repair`] and [`undo`] look after it. What they return
//! are plain structs that serde writes as they are.
#![forbid(unsafe_code)]

mod array;
mod block;
mod capture;
mod disk;
mod draft;
mod error;
mod extent;
mod facts;
mod files;
mod form;
mod format;
mod index;
mod key;
mod listing;
mod mend;
mod pack;
mod reader;
mod repair;
mod results;
mod ring;
mod scan;
pub mod statistics;
mod table;
mod text;
mod timeline;
mod tree;
mod undo;
mod verify;
mod voids;
mod writer;

pub use array::{Array, ArrayFacts, Part, assemble, member_of, replace};
pub use capture::{CaptureFile, Captured};
pub use disk::{Disk, FileDisk, Memory, block_bytes, is_block_device};
pub use error::{Error, Result};
pub use extent::{Damage, Payload};
pub use facts::{Facts, Place, Totals};
pub use files::{CAPTURE_NAME, Extracted};
pub use form::Form;
pub use format::{Format, IndexSize, fits, format, is_blank};
pub use index::{Bounds, Entry, Rows};
pub use key::{Key, RecordingKey};
pub use listing::{Object, Objects, Record};
pub use pack::{Files, Packed, Packing};
pub use reader::{Copy, Recording};
pub use repair::{Keep, Options, Repair, repair};
pub use results::{Cell, Results};
pub use scan::{Found, Scan, See};
pub use statistics::Statistics;
pub use tree::{Node, Tree};
pub use undo::{Undone, undo};
pub use verify::{Problem, Verify, read_only, verify};
pub use writer::{Extent, Placed, Summary, Writer};

use crc_fast::{CrcAlgorithm, Digest};

/// Bytes of a page.
pub const PAGE: u64 = forebay_spec::store::PAGE_BYTES as u64;

/// Goes on with a CRC32C (0 begins one).
#[must_use]
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, (!before).into());
    digest.update(bytes);
    digest.finalize() as u32
}

/// `bytes` in whole pages; `u64::MAX` where that is more than there can be.
#[must_use]
pub const fn pages(bytes: u64) -> u64 {
    grains(bytes, PAGE)
}

/// The same in units of `grain` bytes.
#[must_use]
pub(crate) const fn grains(bytes: u64, grain: u64) -> u64 {
    match bytes.checked_next_multiple_of(grain) {
        Some(grains) => grains,
        None => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn the_check_sum_is_that_of_rfc_3720() {
        assert_eq!(crc32c(0, b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(0, &[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(0, &[0xff; 32]), 0x62a8_ab43);
        let bytes: Vec<u8> = (0..5000u32).map(|n| (n * 7) as u8).collect();
        let whole = crc32c(0, &bytes);
        for at in [0, 1, 7, 64, 255, 4096, 5000] {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(crc32c(crc32c(0, head), tail), whole);
        }
    }
}
