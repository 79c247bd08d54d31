// SPDX-License-Identifier: Apache-2.0
//! Times in which a drive takes up nothing new, as drives do to tidy up.

use crate::Time;
use crate::profile::PauseTiming;

/// When the pauses are. Each follows from seed and number alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    timing: PauseTiming,
    seed: u64,
}

impl Pauses {
    pub(super) const fn new(timing: PauseTiming, seed: u64) -> Self {
        Self { timing, seed }
    }

    /// The earliest time, from one on, that lies in no pause.
    pub(super) fn after(&self, time: Time) -> Time {
        let PauseTiming {
            every,
            length,
            spread,
        } = self.timing;
        if every == 0 || length == 0 {
            return time;
        }
        // The first pause is the one that begins a spacing after power-on.
        match time / every {
            0 => time,
            number => {
                let begin = number * every + self.random(number) % (spread + 1);
                // A pause lies within its spacing, so that no other can be meant.
                if (begin..begin + length).contains(&time) {
                    begin + length
                } else {
                    time
                }
            }
        }
    }

    /// SplitMix64.
    fn random(&self, number: u64) -> u64 {
        let mut z = self
            .seed
            .wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pauses_have_their_length_and_spacing() {
        let timing = PauseTiming {
            every: 1000,
            length: 100,
            spread: 500,
        };
        let pauses = Pauses::new(timing, 7);
        let paused: Vec<_> = (0..100_000).filter(|t| pauses.after(*t) != *t).collect();
        assert_eq!(paused.len(), 99 * 100);
        let begins = paused.chunks(100).map(|pause| pause[0] % 1000);
        assert!(begins.clone().all(|begin| begin <= 500));
        assert!(begins.clone().max() > begins.min(), "they vary");
        assert_ne!(
            Pauses::new(timing, 8).random(1) % 501,
            pauses.random(1) % 501
        );
    }

    proptest! {
        #[test]
        fn time_is_monotonic(times in (0u64..1 << 40, 0u64..1 << 20), seed: u64) {
            let timing = PauseTiming { every: 1 << 20, length: 1 << 15, spread: 1 << 19 };
            let pauses = Pauses::new(timing, seed);
            let (first, second) = (times.0, times.0 + times.1);
            prop_assert!(pauses.after(first) >= first);
            prop_assert!(pauses.after(first) <= pauses.after(second));
            prop_assert_eq!(pauses.after(pauses.after(first)), pauses.after(first));
        }
    }
}
