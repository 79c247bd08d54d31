// SPDX-License-Identifier: Apache-2.0
//! How warm a drive gets, and what it does about it.
//!
//! One body, of one heat capacity, cooled towards its temperature at rest:
//! *d rise / dt = heat × bytes per second − rise / time constant*. Moved bytes, read or written,
//! are the only source of heat. From a threshold on the drive throttles to a rate, until it has
//! cooled to a second, lower one.

use crate::profile::ThermalProfile;
use crate::{SECOND, Time};

/// Steps in which the body cools by 1/e: powers of two keep it exact everywhere.
const STEPS: u32 = 10;
/// Time constants after which nothing is left of any rise.
const COLD: u64 = 40;
/// Nanokelvin in a kelvin.
const KELVIN: u64 = 1_000_000_000;
/// 0 °C in whole kelvin, as NVMe counts (Base 2.0c, figure 208).
const CELSIUS: u64 = 273;

/// How warm it is.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    profile: ThermalProfile,
    /// Above the temperature at rest, in nanokelvin.
    rise: u64,
    now: Time,
    throttled: bool,
}

impl Heat {
    pub(super) const fn new(profile: ThermalProfile) -> Self {
        Self {
            profile,
            rise: 0,
            now: 0,
            throttled: false,
        }
    }

    /// Cools until a time, which never goes back here.
    fn cool(&mut self, to: Time) {
        let step = (self.profile.time_constant >> STEPS).max(1);
        let steps = to.saturating_sub(self.now) / step;
        if steps > COLD << STEPS {
            (self.rise, self.now) = (0, to);
        } else {
            for _ in 0..steps {
                // Rounded up, so that it ends.
                self.rise -= self.rise.div_ceil(1 << STEPS);
            }
            self.now += steps * step;
        }
        if self.celsius() >= self.profile.throttle_celsius as u64 {
            self.throttled = true;
        } else if self.celsius() <= self.profile.recover_celsius as u64 {
            self.throttled = false;
        }
    }

    /// Bytes move; returns the least time they take.
    pub(super) fn carry(&mut self, now: Time, bytes: u64) -> Time {
        self.cool(now);
        let heat = self.profile.microkelvin_per_gigabyte;
        // Microkelvin per 10^9 bytes are nanokelvin per 10^6.
        let rise = u64::try_from(bytes as u128 * heat as u128 / 1_000_000).unwrap_or(u64::MAX);
        // Ten thousand kelvin: no drive is that warm, but sums stay in range.
        self.rise = self.rise.saturating_add(rise).min(10_000 * KELVIN);
        match self.throttled {
            true => bytes * SECOND / self.profile.throttled_rate.max(1),
            false => 0,
        }
    }

    fn celsius(&self) -> u64 {
        self.profile.rest_celsius as u64 + self.rise / KELVIN
    }

    /// The composite temperature in kelvin.
    pub(super) fn kelvin(&self, now: Time) -> u16 {
        let mut copy = self.clone();
        copy.cool(now);
        (copy.celsius() + CELSIUS).min(u16::MAX as u64) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MILLISECOND;
    use proptest::prelude::*;

    /// 1 GB/s settles 50 K above rest, after tens of seconds.
    fn heat() -> Heat {
        Heat::new(ThermalProfile {
            rest_celsius: 40,
            microkelvin_per_gigabyte: 5_000_000,
            time_constant: 10 * SECOND,
            throttle_celsius: 80,
            recover_celsius: 70,
            throttled_rate: 200_000_000,
        })
    }

    #[test]
    fn it_warms_throttles_cools_and_recovers() {
        let mut heat = heat();
        let (mut now, mut throttled_at) = (0, 0);
        while now < 60 * SECOND {
            now += MILLISECOND.max(heat.carry(now, 1_000_000));
            if heat.throttled && throttled_at == 0 {
                throttled_at = now;
            }
        }
        // 50 K × (1 − e^(−t/10 s)) = 40 K at t = 16.1 s.
        let seconds = throttled_at as f64 / SECOND as f64;
        assert!((15.9..16.3).contains(&seconds), "{seconds}");
        assert!(
            (340..=354).contains(&heat.kelvin(now)),
            "{}",
            heat.kelvin(now)
        );
        let rest = now + 30 * SECOND;
        assert!((313..=316).contains(&heat.kelvin(rest)));
        assert_eq!(heat.carry(rest, 1_000_000), 0, "recovered");
        assert_eq!(heat.kelvin(rest + 10_000 * SECOND), 313);
    }

    proptest! {
        #[test]
        fn temperature_stays_between_rest_and_what_the_bytes_can_do(
            steps in prop::collection::vec((0u64..100_000, 0u64..1 << 30), 1..100),
        ) {
            let mut heat = heat();
            let (mut now, mut bytes) = (0, 0u64);
            for (wait, len) in steps {
                now += wait * MILLISECOND;
                heat.carry(now, len);
                bytes += len;
                prop_assert!(heat.now <= now);
                let most = 313 + bytes * 5 / 1_000_000_000 + 1;
                prop_assert!((313..=most).contains(&(heat.kelvin(now) as u64)));
                let later = heat.kelvin(now + SECOND);
                prop_assert!(later <= heat.kelvin(now), "it does not warm by itself");
            }
        }
    }
}
