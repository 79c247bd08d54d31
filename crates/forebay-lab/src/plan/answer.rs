// SPDX-License-Identifier: Apache-2.0
//! What is needed, by arithmetic: rates in a row, and a tank that fills while more comes than goes.

use forebay_model::{SECOND, Time};
use serde::Serialize;

use super::stages::Stage;
use super::state::Pauses;

/// Least FIFO: what waits while the streamer begins a command.
const LEAST_FIFO: u64 = 16 << 10;

/// What the source gives.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Source {
    /// Bytes a second in a burst.
    pub bytes_per_second: f64,
    /// Bytes of a burst; none: without end.
    pub burst_bytes: Option<u64>,
    /// From burst to burst, seconds.
    pub every_seconds: Option<f64>,
    /// Bytes a second on average.
    pub mean_bytes_per_second: f64,
}

impl Source {
    /// A rate, in bursts or without end.
    pub fn new(rate: u64, burst: Option<(u64, Time)>) -> Self {
        let rate = rate as f64;
        let seconds = burst.map(|(_, every)| every as f64 / SECOND as f64);
        let mean = burst.zip(seconds).map_or(rate, |((bytes, _), seconds)| {
            // Bursts that touch are one without end.
            (bytes as f64 / seconds).min(rate)
        });
        Self {
            bytes_per_second: rate,
            burst_bytes: burst.map(|(bytes, _)| bytes),
            every_seconds: seconds,
            mean_bytes_per_second: mean,
        }
    }

    /// Bytes of a burst that has an end. One longer than its spacing has none: the mean decides
    /// whether that works at all.
    pub fn ending(&self) -> Option<u64> {
        self.burst_bytes
            .filter(|_| self.mean_bytes_per_second < self.bytes_per_second)
    }
}

/// The streamer's memory for payload.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// Bytes that writes may hold.
    pub bytes: u64,
    /// Bytes a second that it takes in.
    pub takes: f64,
    /// What it gives out takes as much away from that.
    pub twice: bool,
}

/// What waits where, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waiting {
    /// In all.
    pub bytes: u64,
    /// Of these, what the streamer's memory cannot hold, or not take in as fast.
    pub before_streamer_bytes: u64,
}

/// What the slowest part lets through, and its name.
pub fn slowest(stages: &[Stage]) -> (f64, &str) {
    let least = stages
        .iter()
        .min_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second));
    least.map_or((0.0, "nothing"), |stage| {
        (stage.bytes_per_second, stage.name.as_str())
    })
}

/// What is served in the long run: pauses taken off.
pub fn sustained(serves: f64, pauses: Option<Pauses>) -> f64 {
    serves * pauses.map_or(1.0, |pauses| pauses.leave())
}

/// What waits at most of a source, where `serves` bytes a second are served.
pub fn waiting(source: &Source, serves: f64, pauses: Option<Pauses>, buffer: &Buffer) -> Waiting {
    let rate = source.bytes_per_second;
    let ending = source.ending();
    let burst = |share: f64| ending.map_or(0.0, |bytes| bytes as f64 * share.max(0.0));
    let pausing = pauses.map_or(0.0, |pauses| {
        let seconds = pauses.length as f64 / SECOND as f64;
        // In a pause a burst may come whole, and no more than that.
        let all = ending.map_or(f64::INFINITY, |bytes| bytes as f64);
        (rate.min(f64::MAX) * seconds).min(all)
    });
    let all = burst(1.0 - serves / rate) + pausing;
    let all = ending.map_or(all, |bytes| all.min(bytes as f64));
    let takes = buffer.takes - if buffer.twice { serves } else { 0.0 };
    let taken_late = burst(1.0 - takes / rate);
    let too_much = all - buffer.bytes as f64;
    Waiting {
        bytes: all.ceil() as u64,
        before_streamer_bytes: taken_late.max(too_much).max(0.0).ceil() as u64,
    }
}

/// The FIFO for what waits before the streamer: a power of two.
pub fn fifo(before_streamer: u64) -> u64 {
    (before_streamer + LEAST_FIFO)
        .next_power_of_two()
        .max(LEAST_FIFO)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Buffer = Buffer {
        bytes: 4 << 20,
        takes: 19.2e9,
        twice: false,
    };

    #[test]
    fn without_bursts_only_pauses_need_a_buffer() {
        let source = Source::new(5_000_000_000, None);
        assert_eq!(waiting(&source, 5.6e9, None, &MEMORY), Waiting::default());
        let pauses = Pauses {
            every: SECOND,
            length: SECOND / 100,
        };
        let found = waiting(&source, 5.6e9, Some(pauses), &MEMORY);
        assert_eq!(found.bytes, 50_000_000);
        assert_eq!(found.before_streamer_bytes, 50_000_000 - (4 << 20));
        assert!((sustained(5.6e9, Some(pauses)) - 5.544e9).abs() < 1.0);
    }

    #[test]
    fn a_burst_fills_what_is_not_served() {
        let source = Source::new(10_000_000_000, Some((10_000_000, SECOND / 100)));
        assert!((source.mean_bytes_per_second - 1e9).abs() < 1.0);
        let found = waiting(&source, 5e9, None, &MEMORY);
        assert_eq!(found.bytes, 5_000_000);
        assert_eq!(found.before_streamer_bytes, 5_000_000 - (4 << 20));
        // No pause makes more wait than has come.
        let pauses = Pauses {
            every: SECOND,
            length: SECOND,
        };
        assert_eq!(
            waiting(&source, 5e9, Some(pauses), &MEMORY).bytes,
            10_000_000
        );
    }

    #[test]
    fn what_comes_faster_than_the_memory_takes_waits_before_it() {
        let source = Source::new(38_400_000_000, Some((1 << 20, SECOND / 100)));
        let found = waiting(&source, 19.2e9, None, &MEMORY);
        assert_eq!(found.before_streamer_bytes, 1 << 19);
        assert_eq!(fifo(0), 16 << 10);
        assert_eq!(fifo(1 << 19), 1 << 20);
    }
}
