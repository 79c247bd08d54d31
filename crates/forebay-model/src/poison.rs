// SPDX-License-Identifier: Apache-2.0
//! Bytes that were never written: a pattern in the place of zeros, so that data which come from the wrong
//! place, or too late, differ.

use std::ops::Range;

/// Bytes of a word of the pattern.
const WORD: u64 = 8;
/// The high bytes of each word where a page of payload was freed.
const FREED: u64 = 0xdead << 48;

/// What reads where nothing was written, or what was there is no longer valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Poison {
    /// Zeros: there is none.
    #[default]
    Zeros,
    /// A page of payload that was freed: 0xdead, then the address of the word in 48 bits.
    Freed,
    /// A medium: words that follow from drive and address. Those of several drives are added bit by
    /// bit, for a drive with the parity of others.
    Medium(Range<u8>),
}

impl Poison {
    /// Writes the pattern from this address on.
    pub fn fill(&self, address: u64, into: &mut [u8]) {
        if *self == Self::Zeros {
            return into.fill(0);
        }
        let skip = (address % WORD) as usize;
        let (head, words) = into.split_at_mut(into.len().min((8 - skip) % 8));
        let first = self.word(address - skip as u64).to_le_bytes();
        head.copy_from_slice(&first[skip..][..head.len()]);
        let places = (address + head.len() as u64..).step_by(WORD as usize);
        for (word, at) in words.chunks_mut(WORD as usize).zip(places) {
            word.copy_from_slice(&self.word(at).to_le_bytes()[..word.len()]);
        }
    }

    fn word(&self, address: u64) -> u64 {
        match self {
            Self::Zeros => 0,
            Self::Freed => FREED | address & ((1 << 48) - 1),
            Self::Medium(drives) => drives
                .clone()
                .fold(0, |sum, drive| sum ^ mix(u64::from(drive) << 56 ^ address)),
        }
    }
}

/// SplitMix64.
const fn mix(address: u64) -> u64 {
    let mut z = address.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(poison: &Poison, address: u64, len: usize) -> Vec<u8> {
        let mut into = vec![1; len];
        poison.fill(address, &mut into);
        into
    }

    #[test]
    fn each_byte_follows_from_its_address() {
        for poison in [Poison::Zeros, Poison::Freed, Poison::Medium(3..4)] {
            let all = bytes(&poison, 0x1000, 64);
            for (from, to) in [(0, 64), (1, 2), (3, 21), (7, 8), (8, 16), (9, 9)] {
                assert_eq!(
                    bytes(&poison, 0x1000 + from as u64, to - from),
                    all[from..to]
                );
            }
        }
        let word = bytes(&Poison::Freed, 0x12_3456_7000, 8);
        assert_eq!(word, 0xdead_0012_3456_7000u64.to_le_bytes());
    }

    #[test]
    fn drives_differ_and_their_parity_is_their_sum() {
        let drives: Vec<_> = (0..3)
            .map(|drive| bytes(&Poison::Medium(drive..drive + 1), 8192, 4096))
            .collect();
        assert_ne!(drives[0], drives[1]);
        let parity = bytes(&Poison::Medium(0..3), 8192, 4096);
        let sum = |at: usize| drives.iter().fold(0, |sum, drive| sum ^ drive[at]);
        assert!((0..4096).all(|at| parity[at] == sum(at)));
        assert!(drives[0].iter().filter(|byte| **byte == 0).count() < 64);
    }
}
