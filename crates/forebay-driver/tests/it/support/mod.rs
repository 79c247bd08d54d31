// SPDX-License-Identifier: Apache-2.0
//! Shared by the integration tests; each uses a part of it.

pub mod bent;
pub mod chaos;
pub mod fake;
pub mod qtest;
pub mod registers;

/// SplitMix64: small, good enough for test data, the same everywhere.
pub struct Random(u64);

impl Random {
    /// A generator; tests print their seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8))
            .flat_map(|_| self.next().to_le_bytes())
            .take(count)
            .collect()
    }
}
