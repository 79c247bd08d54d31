// SPDX-License-Identifier: Apache-2.0
//! Waiting that always ends.

use std::time::Duration;

use crate::bus::{Bus, BusError, BusResult};
use crate::error::Error;

/// Calls of [`Bus::relax`] in a row without progress of [`Bus::now`], after which the bus is taken
/// for broken. A simulation moves on by a clock at least; hardware by some microseconds.
const STILL_LIMIT: u32 = 1 << 20;

/// Asks `probe` until it has an answer, and at least once more after `limit` has passed.
///
/// `None` where there was no answer in time.
pub(crate) fn wait<T>(
    bus: &mut dyn Bus,
    limit: Duration,
    mut probe: impl FnMut(&mut dyn Bus) -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    let start = bus.now();
    let mut patience = Patience::new(start);
    loop {
        // Taken before the probe: an answer that came late, while we slept, still counts.
        let now = bus.now();
        if let Some(answer) = probe(bus)? {
            return Ok(Some(answer));
        }
        if now.saturating_sub(start) >= limit {
            return Ok(None);
        }
        patience.check(now)?;
        bus.relax(now.saturating_sub(start))?;
    }
}

/// Notices a bus whose clock has stopped.
pub(crate) struct Patience {
    last: Duration,
    still: u32,
}

impl Patience {
    pub(crate) const fn new(now: Duration) -> Self {
        Self {
            last: now,
            still: 0,
        }
    }

    /// To be called each time that one waits.
    pub(crate) fn check(&mut self, now: Duration) -> BusResult<()> {
        if now > self.last {
            *self = Self::new(now);
            return Ok(());
        }
        self.still += 1;
        match self.still > STILL_LIMIT {
            true => Err(BusError::TimeStandsStill {
                now,
                calls: self.still,
            }),
            false => Ok(()),
        }
    }
}

/// Says yes rarely: after 1 ms, then each time twice as long. For checks that cost a round trip.
pub(crate) struct Seldom {
    next: Duration,
}

impl Seldom {
    pub(crate) const fn new() -> Self {
        Self {
            next: Duration::from_millis(1),
        }
    }

    pub(crate) fn due(&mut self, elapsed: Duration) -> bool {
        let due = elapsed >= self.next;
        if due {
            self.next = elapsed.saturating_mul(2);
        }
        due
    }
}
