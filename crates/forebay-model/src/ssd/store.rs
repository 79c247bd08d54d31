// SPDX-License-Identifier: Apache-2.0
//! What a drive has acknowledged and not yet stored: its buffer, and the SLC cache behind it.
//!
//! Both are levels of a fluid. The buffer drains into the SLC cache at one rate, past the full
//! cache at a lower one; the cache drains once the drive is idle. Bytes leave the buffer in the
//! order in which they came, so that a count tells whether a given byte is on the medium.

use crate::profile::MediumTiming;
use crate::{SECOND, Time};

/// Levels, and how far they are computed.
#[derive(Clone, Debug)]
pub(super) struct Store {
    timing: MediumTiming,
    /// Bytes the SLC cache holds; 0: there is none, and the buffer drains at its rate for ever.
    cache_bytes: u64,
    /// Rate past a full cache.
    full_rate: u64,
    now: Time,
    /// The last sign of life of the host.
    active: Time,
    /// Bytes taken, and stored of them, since power-on.
    taken: u64,
    stored: u64,
    /// Bytes in the SLC cache, which are part of the stored ones.
    cached: u64,
    /// Moved part of the next byte, in byte-picoseconds per second.
    part: u128,
}

impl Store {
    pub(super) fn new(timing: MediumTiming, cache_bytes: u64, full_rate: u64) -> Self {
        Self {
            timing,
            cache_bytes,
            full_rate,
            now: 0,
            active: 0,
            taken: 0,
            stored: 0,
            cached: 0,
            part: 0,
        }
    }

    /// Bytes that wait in the buffer.
    fn buffered(&self) -> u64 {
        self.taken - self.stored
    }

    /// The buffer's rate now, and how many bytes it holds for.
    fn rate(&self) -> (u64, u64) {
        let room = self.cache_bytes.saturating_sub(self.cached);
        match (self.cache_bytes, room) {
            (0, _) => (self.timing.program_rate, u64::MAX),
            (_, 0) => (self.full_rate, u64::MAX),
            (_, room) => (self.timing.program_rate, room),
        }
    }

    /// The host does something.
    pub(super) fn touch(&mut self, now: Time) {
        self.advance(now);
        self.active = self.active.max(now);
    }

    /// Lets the levels follow time, which never goes back here.
    fn advance(&mut self, to: Time) {
        while self.now < to && self.buffered() > 0 {
            let (rate, most) = self.rate();
            let most = most.min(self.buffered());
            let until = self.now.saturating_add(self.time_of(most, rate)).min(to);
            let moved = self.flow(until, rate).min(most);
            self.stored += moved;
            if self.cache_bytes != 0 && rate == self.timing.program_rate {
                self.cached = (self.cached + moved).min(self.cache_bytes);
            }
            self.active = self.active.max(self.now);
        }
        let idle = self.active.saturating_add(self.timing.idle);
        if to > idle && self.cached > 0 && self.buffered() == 0 {
            self.now = self.now.max(idle);
            let moved = self.flow(to, self.timing.drain_rate);
            self.cached = self.cached.saturating_sub(moved);
        }
        self.now = self.now.max(to);
    }

    /// Time of `bytes`, less what of the first has moved already.
    fn time_of(&self, bytes: u64, rate: u64) -> Time {
        let left = (bytes as u128 * SECOND as u128).saturating_sub(self.part);
        u64::try_from(left.div_ceil(rate.max(1) as u128)).unwrap_or(u64::MAX)
    }

    /// Lets time pass; returns the whole bytes that have moved in it.
    fn flow(&mut self, to: Time, rate: u64) -> u64 {
        let sum = (to - self.now) as u128 * rate as u128 + self.part;
        self.now = to;
        self.part = sum % SECOND as u128;
        u64::try_from(sum / SECOND as u128).unwrap_or(u64::MAX)
    }

    /// Takes bytes; returns when the buffer has room for them.
    pub(super) fn take(&mut self, now: Time, bytes: u64) -> Time {
        self.touch(now);
        let room = self.timing.buffer_bytes.max(bytes) - bytes;
        let excess = self.buffered().saturating_sub(room);
        let at = self.stored_at(self.stored + excess);
        self.touch(at);
        self.taken += bytes;
        at
    }

    /// All bytes taken so far, as a mark for [`Self::stored_at`].
    pub(super) const fn mark(&self) -> u64 {
        self.taken
    }

    /// When the bytes up to `mark` are on the medium, if nothing but time passes.
    pub(super) fn stored_at(&self, mark: u64) -> Time {
        let mut copy = self.clone();
        while copy.stored < mark.min(copy.taken) {
            let (rate, most) = copy.rate();
            let most = most.min(mark - copy.stored);
            copy.advance(copy.now.saturating_add(copy.time_of(most, rate)));
        }
        copy.now
    }

    /// What a Flush takes besides.
    pub(super) const fn flush(&self) -> Time {
        self.timing.flush
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MICROSECOND, MILLISECOND};
    use proptest::prelude::*;

    const MB: u64 = 1_000_000;

    fn store() -> Store {
        let timing = MediumTiming {
            buffer_bytes: 4 * MB,
            program_rate: 1000 * MB,
            drain_rate: 500 * MB,
            idle: MILLISECOND,
            flush: 0,
        };
        Store::new(timing, 10 * MB, 100 * MB)
    }

    #[test]
    fn the_buffer_fills_drains_and_is_waited_for() {
        let mut store = store();
        assert_eq!(store.take(0, 4 * MB), 0, "room for all");
        assert_eq!(store.take(0, MB), MILLISECOND, "1 MB has to leave first");
        assert_eq!(store.stored_at(store.mark()), 5 * MILLISECOND);
        assert_eq!(store.take(7 * MILLISECOND, MB), 7 * MILLISECOND);
        // Empty at 5 ms, idle from 6 ms on: half of the 5 MB stored has left the cache again.
        assert_eq!(store.cached, 4_500_000);
    }

    #[test]
    fn past_the_cache_it_is_slow_until_idle_time_has_emptied_it() {
        let mut store = store();
        let mut at = 0;
        for _ in 0..14 {
            at = store.take(at, MB);
        }
        assert_eq!(at, 10 * MILLISECOND, "10 MB through the cache");
        // 4 MB are left, for which there is no room in the cache.
        assert_eq!(store.stored_at(store.mark()), 50 * MILLISECOND);
        store.touch(50 * MILLISECOND);
        assert_eq!((store.cached, store.buffered()), (10 * MB, 0));
        // 1 ms until it counts as idle, then 0.5 MB in each.
        store.touch(61 * MILLISECOND);
        assert_eq!(store.cached, 5 * MB);
        store.touch(62 * MILLISECOND - 1);
        assert_eq!(store.cached, 5 * MB, "it was touched a moment ago");
    }

    #[test]
    fn small_steps_and_large_ones_agree() {
        let (mut fine, mut coarse) = (store(), store());
        fine.take(0, 3 * MB);
        coarse.take(0, 3 * MB);
        (0..100_000).for_each(|n| fine.advance(n * 7_919));
        coarse.advance(99_999 * 7_919);
        assert_eq!(fine.stored, coarse.stored);
        assert_eq!(fine.part, coarse.part);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_order_and_time_hold(
            steps in prop::collection::vec((0u64..3_000, 1u64..6_000_000), 1..60),
        ) {
            let mut store = store();
            let (mut now, mut taken, mut last) = (0, 0, 0);
            for (wait, bytes) in steps {
                now += wait * MICROSECOND;
                let at = store.take(now, bytes);
                prop_assert!(at >= now);
                taken += bytes;
                prop_assert_eq!(store.taken, taken);
                prop_assert!(store.stored <= taken && store.cached <= store.cache_bytes);
                prop_assert!(store.buffered() <= store.timing.buffer_bytes.max(bytes));
                // What came later is not stored sooner.
                let stored = store.stored_at(store.mark());
                prop_assert!(stored >= last && stored >= at);
                last = stored;
                now = at;
            }
            store.advance(last);
            prop_assert_eq!(store.stored, taken);
            store.advance(last + 60 * SECOND);
            prop_assert_eq!(store.cached, 0);
        }
    }
}
