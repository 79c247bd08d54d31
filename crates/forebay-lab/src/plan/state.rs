// SPDX-License-Identifier: Apache-2.0
//! The worst state that a drive gets into while it takes a recording.

use forebay_model::profile::{PauseTiming, TimingProfile};
use forebay_model::{Profile, SECOND, Time};

/// A drive in one of its states, and its pauses.
#[derive(Clone, Debug)]
pub struct State {
    /// The drive, as if it had always been so, without pauses.
    pub profile: Profile,
    /// The state in words.
    pub says: String,
    /// Its pauses.
    pub pauses: Option<Pauses>,
}

/// When a drive takes nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// From one to the next.
    pub every: Time,
    /// How long each is.
    pub length: Time,
}

impl Pauses {
    /// Share of the time that is left.
    pub fn leave(&self) -> f64 {
        1.0 - self.length as f64 / self.every.max(1) as f64
    }
}

impl State {
    /// The drive in this state with its pauses, which are those of `profile`.
    pub fn with_pauses_of(&self, profile: &Profile) -> Profile {
        let mut paused = self.profile.clone();
        if let (Some(timing), Some(own)) = (&mut paused.ssd.timing, &profile.ssd.timing) {
            timing.pauses = own.pauses;
            timing.write.pause_every_bytes = own.write.pause_every_bytes;
        }
        paused
    }
}

/// The state after `total` bytes (none: after more than any cache holds), of which one drive gets
/// `mean` a second on average.
pub fn worst(profile: &Profile, total: Option<u64>, mean: f64) -> State {
    let mut profile = profile.clone();
    let mut says = "as fast as it ever is".to_owned();
    let mut pauses = None;
    if let Some(timing) = &mut profile.ssd.timing {
        let total = total.unwrap_or(u64::MAX);
        if let Some((rate, state)) = slower(timing, total, mean) {
            timing.write.cache_bytes = 4096;
            timing.write.full_bytes_per_second = rate;
            says = state;
        }
        timing.write.medium = None;
        timing.thermal = None;
        pauses = timing
            .pauses
            .take()
            .map(|PauseTiming { every, length, .. }| Pauses { every, length });
        let write = &mut timing.write;
        if write.pause_every_bytes > 0 && mean > 0.0 {
            let every = (write.pause_every_bytes as f64 / mean * SECOND as f64) as Time;
            let by_bytes = Pauses {
                every,
                length: write.pause,
            };
            pauses = pauses.or(Some(by_bytes));
            write.pause_every_bytes = 0;
        }
    }
    State {
        profile,
        says,
        pauses,
    }
}

/// The rate of the slowest state that it gets into, and which; none where it stays as it is.
fn slower(timing: &TimingProfile, total: u64, mean: f64) -> Option<(u64, String)> {
    let write = &timing.write;
    let mut states = Vec::new();
    if write.cache_bytes > 0 && total > write.cache_bytes && write.full_bytes_per_second > 0 {
        let full = write.full_bytes_per_second;
        states.push((full, "with its cache full".to_owned()));
    }
    if let Some(medium) = &write.medium
        && total > medium.buffer_bytes
        && medium.program_rate > 0
    {
        states.push((medium.program_rate, "with its buffer full".to_owned()));
    }
    if let Some(thermal) = &timing.thermal {
        // Towards the rise at which warming and cooling are equal, for as long as it takes.
        let constant = thermal.time_constant as f64 / SECOND as f64;
        let equal = thermal.microkelvin_per_gigabyte as f64 * 1e-6 * mean / 1e9 * constant;
        let seconds = total as f64 / mean.max(1.0);
        let rise = equal * (1.0 - (-seconds / constant.max(1e-9)).exp());
        if f64::from(thermal.rest_celsius) + rise >= f64::from(thermal.throttle_celsius) {
            states.push((
                thermal.throttled_rate,
                "throttled, being too warm".to_owned(),
            ));
        }
    }
    states.into_iter().min_by_key(|(rate, _)| *rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, total: Option<u64>, mean: f64) -> State {
        worst(&Profile::builtin(name).expect("there"), total, mean)
    }

    fn full(state: &State) -> u64 {
        let timing = state.profile.ssd.timing.expect("timed");
        assert!(timing.write.medium.is_none() && timing.thermal.is_none());
        timing.write.full_bytes_per_second
    }

    #[test]
    fn long_recordings_fill_the_cache() {
        assert_eq!(
            state("990pro-2tb", Some(1 << 30), 1e9).says,
            "as fast as it ever is"
        );
        let long = state("990pro-2tb", None, 1e9);
        assert_eq!(full(&long), 1_400_000_000);
        assert_eq!(full(&state("960evo-250", Some(1 << 30), 1e9)), 356_515_840);
        assert_eq!(full(&state("960evo-250", None, 1e9)), 211_812_352);
        assert!(state("ideal", None, 1e9).profile.ssd.timing.is_none());
    }

    #[test]
    fn warm_drives_throttle() {
        let mut profile = Profile::builtin("gen5-2tb").expect("there");
        assert!(
            profile
                .ssd
                .timing
                .and_then(|timing| timing.thermal)
                .is_some()
        );
        let write = &mut profile.ssd.timing.as_mut().expect("timed").write;
        write.cache_bytes = 0;
        write.medium = None;
        assert_eq!(worst(&profile, None, 1e6).says, "as fast as it ever is");
        assert!(worst(&profile, None, 12e9).says.contains("warm"));
        assert_eq!(
            worst(&profile, Some(12_000_000_000), 12e9).says,
            "as fast as it ever is"
        );
    }

    #[test]
    fn pauses_are_set_apart() {
        let mut profile = Profile::builtin("990pro-2tb").expect("there");
        let write = &mut profile.ssd.timing.as_mut().expect("timed").write;
        write.pause_every_bytes = 1_000_000_000;
        write.pause = SECOND / 100;
        let state = worst(&profile, Some(1 << 30), 2e9);
        let pauses = state.pauses.expect("there are");
        assert_eq!((pauses.every, pauses.length), (SECOND / 2, SECOND / 100));
        assert!((pauses.leave() - 0.98).abs() < 1e-9);
        let write = state.profile.ssd.timing.expect("timed").write;
        assert_eq!(write.pause_every_bytes, 0);
    }
}
