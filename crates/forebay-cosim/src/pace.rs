// SPDX-License-Identifier: Apache-2.0
//! A source that cannot wait: a camera, a detector, a network without pause frames. Its bytes come
//! when they come, and stand in a FIFO until the streamer takes them.

use forebay_model::{SECOND, Time};

/// When bytes to write come, and how many may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Rate in a burst.
    pub bytes_per_second: u64,
    /// Bytes of a burst; 0: one burst without end.
    pub burst_bytes: u64,
    /// From the beginning of a burst to that of the next.
    pub every: Time,
    /// Bytes that the FIFO holds.
    pub fifo_bytes: u64,
}

/// What became of the bytes of a source that cannot wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Paced {
    /// Most bytes that waited at once.
    pub most_bytes: u64,
    /// Bytes that found the FIFO full. The source sends others in their place, later, so that a
    /// transaction still gets to its end.
    pub lost_bytes: u64,
}

/// The FIFO, from one cycle to the next.
#[derive(Debug)]
pub(crate) struct Fifo {
    pace: Pace,
    period: Time,
    /// Time since the first cycle.
    now: Time,
    /// Bytes of the burst under way that have come.
    of_burst: u64,
    burst: u64,
    /// Parts of a byte, of which a second's worth is one.
    part: u64,
    level: u64,
    pub found: Paced,
}

impl Fifo {
    pub fn new(pace: Pace, period: Time) -> Self {
        Self {
            pace,
            period,
            now: 0,
            of_burst: 0,
            burst: 0,
            part: 0,
            level: 0,
            found: Paced::default(),
        }
    }

    /// A cycle passes; `left` bytes are still to be sent, those that wait included.
    pub fn cycle(&mut self, left: u64) {
        let Pace {
            bytes_per_second,
            burst_bytes,
            every,
            fifo_bytes,
        } = self.pace;
        let burst = self.now.checked_div(every).unwrap_or(0);
        if burst != self.burst {
            (self.burst, self.of_burst, self.part) = (burst, 0, 0);
        }
        self.now += self.period;
        let room = match burst_bytes {
            0 => u64::MAX,
            bytes => bytes - self.of_burst.min(bytes),
        };
        if room == 0 {
            return;
        }
        let parts = u128::from(bytes_per_second) * u128::from(self.period) + u128::from(self.part);
        self.part = (parts % u128::from(SECOND)) as u64;
        let come = ((parts / u128::from(SECOND)) as u64).min(room);
        self.of_burst += come;
        let wait = (self.level + come).min(left);
        self.found.most_bytes = self.found.most_bytes.max(wait);
        self.found.lost_bytes += wait.saturating_sub(fifo_bytes);
        self.level = wait.min(fifo_bytes);
    }

    /// Whether this many bytes wait.
    pub const fn has(&self, bytes: u64) -> bool {
        self.level >= bytes
    }

    /// The streamer takes bytes.
    pub fn take(&mut self, bytes: u64) {
        self.level = self.level.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Time = 1_000;

    fn fifo(burst_bytes: u64, every: Time, fifo_bytes: u64) -> Fifo {
        let pace = Pace {
            // 64 bytes a cycle.
            bytes_per_second: 64_000_000_000,
            burst_bytes,
            every,
            fifo_bytes,
        };
        Fifo::new(pace, PERIOD)
    }

    #[test]
    fn bytes_come_in_bursts() {
        let mut fifo = fifo(128, 10 * PERIOD, 1 << 20);
        for _ in 0..10 {
            fifo.cycle(u64::MAX);
        }
        assert!(fifo.has(128) && !fifo.has(129));
        fifo.cycle(u64::MAX);
        assert!(fifo.has(192));
        assert_eq!(
            fifo.found,
            Paced {
                most_bytes: 192,
                lost_bytes: 0
            }
        );
    }

    #[test]
    fn what_finds_it_full_is_lost_and_counted() {
        let mut fifo = fifo(0, 0, 100);
        fifo.cycle(u64::MAX);
        fifo.cycle(u64::MAX);
        assert_eq!(
            fifo.found,
            Paced {
                most_bytes: 128,
                lost_bytes: 28
            }
        );
        fifo.take(64);
        assert!(fifo.has(36) && !fifo.has(37));
    }

    #[test]
    fn no_more_comes_than_is_to_be_sent() {
        let mut fifo = fifo(0, 0, 1 << 20);
        (0..5).for_each(|_| fifo.cycle(100));
        assert!(fifo.has(100) && !fifo.has(101));
    }

    #[test]
    fn slow_bytes_add_up() {
        let mut slow = fifo(0, 0, 1 << 20);
        slow.pace.bytes_per_second = 300_000_000;
        (0..10).for_each(|_| slow.cycle(u64::MAX));
        assert!(slow.has(3) && !slow.has(4));
    }
}
