// SPDX-License-Identifier: Apache-2.0
//! What the drives must hold: each byte, and where a write may or may not have come through.

use std::collections::BTreeMap;
use std::ops::Range;

/// The unit in which a write comes through or does not: the least logical block.
const SECTOR: usize = 512;

/// What else a sector may hold.
#[derive(Clone, Debug)]
enum Doubt {
    /// One of these, or what the shadow has.
    Either(Vec<[u8; SECTOR]>),
    /// Anything.
    Any,
}

/// A copy of a stretch of the drives.
#[derive(Clone, Debug)]
pub struct Shadow {
    base: u64,
    data: Vec<u8>,
    doubts: BTreeMap<usize, Doubt>,
}

impl Shadow {
    /// A stretch that holds these bytes.
    pub fn new(base: u64, data: Vec<u8>) -> Self {
        Self {
            base,
            data,
            doubts: BTreeMap::new(),
        }
    }

    /// The addresses it is of.
    pub fn range(&self) -> Range<u64> {
        self.base..self.base + self.data.len() as u64
    }

    /// These bytes are stored, and nothing else is there.
    pub fn stored(&mut self, address: u64, data: &[u8]) {
        let start = self.place(address);
        self.data[start..start + data.len()].copy_from_slice(data);
        for sector in start / SECTOR..(start + data.len()).div_ceil(SECTOR) {
            self.doubts.remove(&sector);
        }
    }

    /// Of these bytes each sector is stored or is what it was.
    pub fn perhaps_stored(&mut self, address: u64, data: &[u8]) {
        let first = self.place(address) / SECTOR;
        for (sector, new) in (first..).zip(data.chunks_exact(SECTOR)) {
            let either = Doubt::Either(Vec::new());
            if let Doubt::Either(all) = self.doubts.entry(sector).or_insert(either)
                && let Ok(new) = new.try_into()
            {
                all.push(new);
            }
        }
    }

    /// What is there may be anything.
    pub fn lost(&mut self, range: Range<u64>) {
        let (start, end) = (self.place(range.start), self.place(range.end));
        for sector in start / SECTOR..end.div_ceil(SECTOR) {
            self.doubts.insert(sector, Doubt::Any);
        }
    }

    /// Bytes that cannot be there.
    pub fn differ(&self, address: u64, found: &[u8]) -> u64 {
        let mut at = self.place(address);
        let mut rest = found;
        let mut wrong = 0;
        while !rest.is_empty() {
            let inside = at % SECTOR;
            let (part, after) = rest.split_at(rest.len().min(SECTOR - inside));
            let shadow = &self.data[at..at + part.len()];
            wrong += match self.doubts.get(&(at / SECTOR)) {
                _ if shadow == part => 0,
                None => differ(shadow, part),
                Some(Doubt::Any) => 0,
                Some(Doubt::Either(all)) => {
                    let others = all.iter().map(|new| &new[inside..inside + part.len()]);
                    let each = others.map(|other| differ(other, part));
                    each.fold(differ(shadow, part), u64::min)
                }
            };
            at += part.len();
            rest = after;
        }
        wrong
    }

    fn place(&self, address: u64) -> usize {
        (address - self.base) as usize
    }
}

fn differ(expected: &[u8], found: &[u8]) -> u64 {
    expected.iter().zip(found).filter(|(a, b)| a != b).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 1 << 20;

    #[test]
    fn what_is_stored_is_all_there_is() {
        let mut shadow = Shadow::new(BASE, vec![0; 4096]);
        assert_eq!(shadow.differ(BASE, &[0; 4096]), 0);
        shadow.stored(BASE + 512, &[7; 512]);
        assert_eq!(shadow.differ(BASE + 512, &[7; 512]), 0);
        assert_eq!(shadow.differ(BASE + 510, &[0, 0, 7, 0]), 1);
    }

    #[test]
    fn a_failed_write_leaves_each_sector_old_or_new() {
        let mut shadow = Shadow::new(BASE, vec![0; 4096]);
        shadow.stored(BASE, &[1; 2048]);
        shadow.perhaps_stored(BASE, &[2; 1024]);
        shadow.perhaps_stored(BASE, &[3; 512]);
        for (first, second, wrong) in [(1, 1, 0), (2, 1, 0), (3, 2, 0), (1, 3, 512), (4, 2, 512)] {
            let mut found = [first; 1024];
            found[512..].fill(second);
            assert_eq!(shadow.differ(BASE, &found), wrong, "{first} {second}");
        }
        // A sector is one of them as a whole.
        let mut torn = [1; 512];
        torn[100..].fill(2);
        assert_eq!(shadow.differ(BASE, &torn), 100);
        assert_eq!(shadow.differ(BASE + 1024, &[2; 512]), 512, "not written to");
        shadow.stored(BASE, &[5; 512]);
        assert_eq!(shadow.differ(BASE, &[1; 512]), 512);
        assert_eq!(shadow.differ(BASE + 512, &[2; 512]), 0, "still in doubt");
    }

    #[test]
    fn what_is_lost_may_be_anything_until_it_is_written() {
        let mut shadow = Shadow::new(BASE, vec![0; 4096]);
        shadow.lost(BASE..BASE + 1024);
        shadow.perhaps_stored(BASE, &[2; 512]);
        assert_eq!(shadow.differ(BASE, &[9; 1024]), 0);
        assert_eq!(shadow.differ(BASE + 1024, &[9; 1]), 1);
        shadow.stored(BASE, &[3; 1024]);
        assert_eq!(shadow.differ(BASE, &[9; 1024]), 1024);
    }
}
