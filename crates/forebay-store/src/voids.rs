// SPDX-License-Identifier: Apache-2.0
//! Which bytes are taken: in a ring, which index records are void.

use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes that are covered; ranges that touch are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cover(BTreeMap<u64, u64>);

impl Cover {
    /// Whether any byte of a range is covered.
    pub fn touches(&self, range: &Range<u64>) -> bool {
        let before = self.0.range(..range.end).next_back();
        before.is_some_and(|(_, end)| *end > range.start) && !range.is_empty()
    }

    /// Covers a range.
    pub fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut from, mut to) = (range.start, range.end);
        while let Some((start, end)) = self.0.range(..=to).next_back().map(|(s, e)| (*s, *e)) {
            if end < from {
                break;
            }
            self.0.remove(&start);
            from = from.min(start);
            to = to.max(end);
        }
        self.0.insert(from, to);
    }

    /// What is not covered between two places.
    pub fn gaps(&self, within: Range<u64>) -> Vec<Range<u64>> {
        let (mut gaps, mut at) = (Vec::new(), within.start);
        for (start, end) in self.0.range(..within.end) {
            if *start > at {
                gaps.push(at..*start);
            }
            at = at.max(*end);
        }
        if at < within.end {
            gaps.push(at..within.end);
        }
        gaps
    }

    /// How many ranges it has.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The first byte behind all that is covered.
    pub fn end(&self) -> Option<u64> {
        self.0.last_key_value().map(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_as_if_each_byte_had_a_mark(ranges: Vec<(u8, u8)>, probe: (u8, u8)) {
            let (mut cover, mut marks) = (Cover::default(), [false; 512]);
            for (from, length) in ranges {
                let (from, to) = (usize::from(from), usize::from(from) + usize::from(length));
                cover.add(from as u64..to as u64);
                marks[from..to].fill(true);
            }
            let (from, to) = (usize::from(probe.0), usize::from(probe.0) + usize::from(probe.1));
            let range = from as u64..to as u64;
            prop_assert_eq!(cover.touches(&range), marks[from..to].contains(&true));
            let end = marks.iter().rposition(|mark| *mark).map(|at| at as u64 + 1);
            prop_assert_eq!(cover.end(), end);
            let mut open = [false; 512];
            for gap in cover.gaps(range) {
                prop_assert!(!gap.is_empty());
                open[gap.start as usize..gap.end as usize].fill(true);
            }
            for at in from..to {
                prop_assert_eq!(open[at], !marks[at]);
            }
        }
    }
}
