// SPDX-License-Identifier: Apache-2.0
//! A superblock, and where things stand in the blocks of its index.

use std::ops::{Deref, Range};

use forebay_spec::store::layout::Layout;
use forebay_spec::store::superblock::Superblock;

/// A superblock, and the layout that follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    superblock: Superblock,
    layout: Layout,
}

impl Form {
    /// That of a superblock.
    #[must_use]
    pub fn of(superblock: Superblock) -> Self {
        Self {
            layout: Layout::new(superblock.version, superblock.schema)
                .in_blocks_of(superblock.alignment as usize),
            superblock,
        }
    }

    /// Where things stand in a block.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The place in a ring's data that is `bytes` behind `at`.
    pub(crate) fn behind(&self, at: u64, bytes: u64) -> u64 {
        let ring = self.ring_region();
        let end = at.clamp(ring.at, ring.end()).saturating_add(bytes);
        match end.checked_sub(ring.end()) {
            Some(over) => ring.at.saturating_add(over),
            None => end,
        }
    }

    /// The bytes from `from` to `to` of a ring's data: two ranges where it wraps.
    pub(crate) fn between(&self, from: u64, to: u64) -> [Range<u64>; 2] {
        let ring = self.ring_region();
        let (from, to) = (
            from.clamp(ring.at, ring.end()),
            to.clamp(ring.at, ring.end()),
        );
        match from <= to {
            true => [from..to, to..to],
            false => [from..ring.end(), ring.at..to],
        }
    }
}

impl Deref for Form {
    type Target = Superblock;

    fn deref(&self) -> &Superblock {
        &self.superblock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Memory, format};

    #[test]
    fn places_of_a_ring_wrap() {
        let settings = Format {
            ring: true,
            ..Format::default()
        };
        let disk = Memory::new(vec![0; 8 << 20]);
        let form = Form::of(format(&disk, &settings).expect("there is room"));
        let (first, last) = (form.ring_region().at, form.ring_region().end());
        let between = |from, to| form.between(from, to).map(|part| (part.start, part.end));
        assert_eq!(form.behind(first, 4096), first + 4096);
        assert_eq!(form.behind(last - 4096, 4096), first);
        assert_eq!(form.behind(last, 4096), first + 4096);
        assert_eq!(form.behind(u64::MAX, 8192), first + 8192);
        assert_eq!(form.behind(0, 0), first);
        assert_eq!(between(first, last), [(first, last), (last, last)]);
        assert_eq!(between(last, first), [(last, last), (first, first)]);
        let wrapped = [(last - 4096, last), (first, first + 8192)];
        assert_eq!(between(last - 4096, first + 8192), wrapped);
        assert_eq!(between(first + 5, first + 5)[0], (first + 5, first + 5));
        assert_eq!(between(0, u64::MAX)[0], (first, last));
    }
}
