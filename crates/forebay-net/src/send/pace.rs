// SPDX-License-Identifier: Apache-2.0
//! When the next frame may go: a token bucket.

use std::thread;
use std::time::{Duration, Instant};

use forebay_model::{MILLISECOND, NANOSECOND, SECOND, Time};

use super::sender::Stop;

/// What is made up for where we are late: a sleep that took too long, not a network that stood.
const DEPTH: Time = MILLISECOND;
/// A sleep takes longer than it should by about as much: the rest is waited for awake.
const AWAKE: Duration = Duration::from_micros(150);
/// The longest sleep before asking whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// The bucket: time of the next frame, in picoseconds since the beginning.
#[derive(Debug)]
pub struct Pace {
    rate: Option<u64>,
    due: Time,
}

impl Pace {
    /// At `rate` bytes per second; without a rate, always at once.
    pub fn new(rate: Option<u64>) -> Self {
        Self { rate, due: 0 }
    }

    /// When these bytes may go, if it is `now`: the frames after them, that much later.
    pub fn next(&mut self, now: Time, bytes: u64) -> Time {
        let Some(rate) = self.rate else {
            return now;
        };
        let at = self.due.max(now.saturating_sub(DEPTH));
        let takes = u128::from(bytes) * u128::from(SECOND) / u128::from(rate.max(1));
        self.due = at.saturating_add(Time::try_from(takes).unwrap_or(Time::MAX));
        at
    }
}

/// Waits until a moment; false: it should stop.
pub fn wait(beginning: Instant, until: Time, stop: Stop) -> bool {
    let until = Duration::from_nanos(until.div_ceil(NANOSECOND));
    loop {
        if stop() {
            return false;
        }
        let left = until.saturating_sub(beginning.elapsed());
        if left.is_zero() {
            return true;
        }
        match left.checked_sub(AWAKE) {
            Some(sleep) => thread::sleep(sleep.min(LOOK)),
            None => std::hint::spin_loop(),
        }
    }
}

/// Picoseconds since the beginning.
pub fn since(beginning: Instant) -> Time {
    let nanos = Time::try_from(beginning.elapsed().as_nanos()).unwrap_or(Time::MAX);
    nanos.saturating_mul(NANOSECOND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_are_as_far_apart_as_their_bytes_take() {
        let mut pace = Pace::new(Some(1_000_000_000));
        let times: Vec<Time> = (0..3).map(|_| pace.next(0, 9000)).collect();
        assert_eq!(times, [0, 9_000 * NANOSECOND, 18_000 * NANOSECOND]);
        // A short delay is made up for, a long one is not.
        assert_eq!(pace.next(100_000 * NANOSECOND, 9000), 27_000 * NANOSECOND);
        assert_eq!(pace.next(SECOND, 9000), SECOND - DEPTH);
        assert_eq!(Pace::new(None).next(5, 9000), 5);
        assert_eq!(Pace::new(Some(1)).next(0, u64::MAX), 0);
    }

    proptest! {
        /// Over any time, no more goes than the rate and a bucket full.
        #[test]
        fn the_rate_is_never_exceeded(
            rate in 1_000_u64..100_000_000_000,
            steps in proptest::collection::vec((0_u64..10_000_000_000, 1_u64..9000), 1..100),
        ) {
            let mut pace = Pace::new(Some(rate));
            let mut now = 0;
            let mut sent = Vec::new();
            for (later, bytes) in steps {
                now += later;
                now = now.max(pace.next(now, bytes));
                sent.push((now, bytes));
            }
            for (first, (begin, _)) in sent.iter().enumerate() {
                let mut all = 0.0;
                for (end, bytes) in &sent[first..] {
                    let most = (end - begin + DEPTH) as f64 * rate as f64 / SECOND as f64;
                    prop_assert!(all <= most * 1.000_001 + 1.0, "{} {}", all, most);
                    all += *bytes as f64;
                }
            }
        }
    }
}
