// SPDX-License-Identifier: Apache-2.0
//! Which addresses a measurement touches: the same for the streamer and for the reference.

pub use forebay_model::profile::LoadAccess as Access;

use crate::stats::Direction;

/// A number of transfers of one size in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workload {
    /// Which way.
    pub direction: Direction,
    /// In which order of addresses.
    pub access: Access,
    /// Bytes of each transfer, a multiple of the logical block.
    pub size: u64,
    /// Transfers.
    pub count: u64,
    /// Bytes of the drive that are used, from 0.
    pub span: u64,
    /// Decides the addresses.
    pub seed: u64,
}

impl Workload {
    /// Bytes of all transfers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.size * self.count
    }

    /// The address of each transfer, a multiple of its size.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + use<> {
        let Self {
            access,
            size,
            count,
            span,
            seed,
            ..
        } = *self;
        let places = (span / size.max(1)).max(1);
        (0..count).map(move |number| match access {
            Access::Sequential => number % places * size,
            Access::Random => {
                // SplitMix64; the high half of the product scales it to the number of places.
                let mut z = seed.wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^= z >> 31;
                ((u128::from(z) * u128::from(places)) >> 64) as u64 * size
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(access: Access) -> Workload {
        let (size, count, span) = (4096, 1000, 100 * 4096);
        Workload {
            direction: Direction::Read,
            access,
            size,
            count,
            span,
            seed: 1,
        }
    }

    #[test]
    fn sequential_addresses_wrap_in_the_span() {
        let all: Vec<u64> = workload(Access::Sequential).addresses().collect();
        assert_eq!(all[..2], [0, 4096]);
        assert_eq!(all[100], 0);
    }

    #[test]
    fn random_addresses_reach_every_place_and_repeat_with_the_seed() {
        let all: Vec<u64> = workload(Access::Random).addresses().collect();
        assert!(workload(Access::Random).addresses().eq(all.iter().copied()));
        assert!(all.iter().all(|a| a % 4096 == 0 && *a < 100 * 4096));
        let places: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert!(places.len() >= 99, "{}", places.len());
    }
}
