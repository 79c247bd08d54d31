// SPDX-License-Identifier: Apache-2.0
//! How long drives take a recording: until they are full, and until they are worn.

use forebay_model::Profile;
use serde::Serialize;

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Days of a year, as makers count drive writes per day.
const YEAR: f64 = 365.0;

/// What recording does to the drives of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct Life {
    /// Bytes of payload that the drives hold, parity taken off.
    pub capacity_bytes: u64,
    /// Seconds of recording until they are full.
    pub seconds_until_full: f64,
    /// Bytes that are recorded a day.
    pub bytes_per_day: f64,
    /// How often a day each drive is written whole.
    pub drive_writes_per_day: f64,
    /// The same, as its maker warrants; none: nothing is known.
    pub rated_drive_writes_per_day: Option<f64>,
    /// Years until as much has been written as the maker warrants; none: nothing is known.
    pub years: Option<f64>,
    /// Years of the warranty.
    pub warranty_years: Option<u32>,
    /// What was acknowledged and not flushed is lost with the power.
    pub volatile_cache: bool,
}

impl Life {
    /// Of `drives` that hold payload, parity not counted, with `rate` bytes a second while it
    /// records and `per_day` bytes a day; none: all day.
    pub fn new(profile: &Profile, drives: u64, rate: f64, per_day: Option<u64>) -> Self {
        let each = profile.ssd.bytes();
        let capacity = each.saturating_mul(drives);
        let day = per_day.map_or(rate * DAY, |bytes| bytes as f64);
        let writes = day / capacity as f64;
        let rated = profile.ssd.endurance;
        Self {
            capacity_bytes: capacity,
            seconds_until_full: capacity as f64 / rate,
            bytes_per_day: day,
            drive_writes_per_day: writes,
            rated_drive_writes_per_day: rated.map(|rated| {
                let days = f64::from(rated.years) * YEAR;
                rated.written_bytes as f64 / each as f64 / days
            }),
            years: rated.map(|rated| rated.recorded_bytes() as f64 / each as f64 / writes / YEAR),
            warranty_years: rated.map(|rated| rated.years),
            volatile_cache: profile.ssd.controller.write_cache,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value / expected - 1.0).abs() < 0.005)
    }

    #[test]
    fn a_day_of_recording_is_counted() {
        let profile = Profile::builtin("9550max-6400").expect("there");
        // 6.4 TB at 6.4 GB/s: 1000 s, and 86.4 times a day.
        let life = Life::new(&profile, 1, 6.401_252_745_216e9, None);
        assert!(near(Some(life.seconds_until_full), 1000.0));
        assert!(near(Some(life.drive_writes_per_day), 86.4));
        assert!(near(life.rated_drive_writes_per_day, 3.0));
        // 74,200 TB of sequential writes are 11,591 drives full.
        assert!(near(life.years, 11_591.0 / 86.4 / 365.0));
        // Two drives, half of the time: a quarter of that.
        let half = Life::new(&profile, 2, 6.4e9, Some((6.4e9 * DAY / 2.0) as u64));
        assert!(near(half.years, 4.0 * life.years.expect("known")));
        assert!(!life.volatile_cache);
    }

    #[test]
    fn of_a_drive_without_a_rating_no_years_are_made_up() {
        let profile = Profile::builtin("pm953-480").expect("there");
        let life = Life::new(&profile, 1, 1e9, None);
        assert_eq!((life.years, life.rated_drive_writes_per_day), (None, None));
        assert!(life.drive_writes_per_day > 100.0);
    }
}
