// SPDX-License-Identifier: Apache-2.0
//! Which addresses devices use for what.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Addresses below are left alone: firmware keeps windows there, and so does the kernel for
/// interrupts (0xfee00000), whatever it reports.
const LEAST: u64 = 1 << 32;

/// The address space that devices see, and what is taken of it.
#[derive(Debug)]
pub struct Space {
    usable: Vec<RangeInclusive<u64>>,
    /// Length by first address.
    taken: BTreeMap<u64, u64>,
}

impl Space {
    /// Of these ranges; where all are low, low ones are used after all.
    pub fn new(ranges: &[RangeInclusive<u64>]) -> Self {
        let high = ranges
            .iter()
            .filter(|range| *range.end() > LEAST)
            .map(|range| LEAST.max(*range.start())..=*range.end());
        let mut usable: Vec<_> = high.collect();
        if usable.is_empty() {
            usable = ranges.to_vec();
        }
        Self {
            usable,
            taken: BTreeMap::new(),
        }
    }

    /// Takes the first free range of `bytes`; `align` is a power of two.
    pub fn take(&mut self, bytes: u64, align: u64) -> Option<u64> {
        let fits = |from: u64, last: u64| {
            let at = from.checked_next_multiple_of(align)?;
            (at.checked_add(bytes.checked_sub(1)?)? <= last).then_some(at)
        };
        let at = self.usable.iter().find_map(|range| {
            let mut from = *range.start();
            for (start, length) in self.taken.range(range.clone()) {
                if let Some(at) = start.checked_sub(1).and_then(|last| fits(from, last)) {
                    return Some(at);
                }
                // Behind the last address of all there is nothing.
                from = start.checked_add(*length)?;
            }
            fits(from, *range.end())
        })?;
        self.taken.insert(at, bytes);
        Some(at)
    }

    /// Gives a place back; returns its length.
    pub fn free(&mut self, at: u64) -> Option<u64> {
        self.taken.remove(&at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_aligned_apart_and_used_again() {
        let mut space = Space::new(&[0..=0xfedf_ffff, 0xfef0_0000..=(1 << 39) - 1]);
        let first = space.take(4096, 4096).expect("room");
        assert_eq!(first, LEAST);
        let big = space.take(2 << 20, 2 << 20).expect("room");
        assert_eq!(big, LEAST + (2 << 20));
        assert_eq!(space.take(8192, 4096), Some(LEAST + 4096));
        assert_eq!(space.free(first), Some(4096));
        assert_eq!(space.take(4096, 4096), Some(first));
        assert_eq!(space.take(1 << 40, 4096), None);
        assert_eq!(space.take(0, 4096), None);
        assert_eq!(space.free(7), None);
    }

    #[test]
    fn low_ranges_serve_where_there_are_no_others() {
        let mut space = Space::new(&[0x1000..=0x2fff]);
        assert_eq!(space.take(0x1000, 0x1000), Some(0x1000));
        assert_eq!(space.take(0x2000, 0x1000), None);
        assert_eq!(space.take(0x1000, 0x1000), Some(0x2000));
        assert_eq!(Space::new(&[]).take(1, 1), None);
    }

    #[test]
    fn the_last_byte_of_all_is_no_trouble() {
        let mut space = Space::new(&[u64::MAX - 0xfff..=u64::MAX]);
        assert_eq!(space.take(0x1000, 0x1000), Some(u64::MAX - 0xfff));
        assert_eq!(space.take(1, 1), None);
    }
}
