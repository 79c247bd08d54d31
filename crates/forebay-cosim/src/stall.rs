// SPDX-License-Identifier: Apache-2.0
//! Random pauses and identifiers of a port, from a seed.

use crate::config::Stall;

/// Numbers from a seed.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// `port` identifies what takes them within its system.
    pub fn new(seed: u64, port: u64) -> Self {
        Self {
            state: seed ^ port.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }

    /// SplitMix64.
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Decides cycle by cycle whether a port pauses.
#[derive(Debug, Clone)]
pub(crate) struct Pauser {
    /// Of 2^32.
    threshold: u64,
    longest: u64,
    left: u64,
    random: Random,
}

impl Pauser {
    /// `port` identifies the port within its system.
    pub fn new(stall: Stall, seed: u64, port: u64) -> Self {
        let chance = if stall.longest == 0 {
            0.0
        } else {
            stall.chance.clamp(0.0, 1.0)
        };
        Self {
            threshold: (chance * f64::from(u32::MAX)) as u64,
            longest: u64::from(stall.longest),
            left: 0,
            random: Random::new(seed, port),
        }
    }

    /// Whether the port pauses in this cycle; to be asked once a cycle.
    #[inline]
    pub fn pauses(&mut self) -> bool {
        self.threshold != 0 && self.roll()
    }

    /// How long the port pauses now, in cycles; to be asked once for each thing that may be late.
    pub fn delay(&mut self) -> u64 {
        if self.pauses() {
            1 + std::mem::take(&mut self.left)
        } else {
            0
        }
    }

    fn roll(&mut self) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return true;
        }
        let number = self.random.next();
        if number & 0xffff_ffff >= self.threshold {
            return false;
        }
        self.left = (number >> 32) % self.longest;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_follow_from_the_seed_and_have_the_chance_asked_for() {
        let run = |seed| {
            let mut pauser = Pauser::new(Stall::new(0.1, 1), seed, 3);
            (0..20_000).map(|_| pauser.pauses()).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let paused = run(1).iter().filter(|p| **p).count();
        assert!((1_800..2_200).contains(&paused), "{paused}");
    }

    #[test]
    fn no_chance_or_no_length_means_no_pause() {
        for stall in [Stall::NONE, Stall::new(1.0, 0), Stall::new(0.0, 9)] {
            let mut pauser = Pauser::new(stall, 1, 1);
            assert!((0..1000).all(|_| !pauser.pauses()));
        }
        let mut always = Pauser::new(Stall::new(1.0, 4), 1, 1);
        assert!((0..100).all(|_| always.pauses()));
    }
}
