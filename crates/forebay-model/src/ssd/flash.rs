// SPDX-License-Identifier: Apache-2.0
//! Time in flash: planes, channels, the way out; and the pace of writes.

use super::heat::Heat;
use super::pauses::Pauses;
use super::store::Store;
use crate::profile::{ReadTiming, TimingProfile, WriteTiming};
use crate::{SECOND, Time};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Bytes that a plane senses at once: the mapping unit.
const UNIT: u64 = 4096;

/// What is busy until when.
#[derive(Debug)]
pub(super) struct Flash {
    pub(super) timing: TimingProfile,
    rng: Pcg64Mcg,
    controller: Time,
    planes: Vec<Time>,
    channels: Vec<Time>,
    way_out: Time,
    way_in: Time,
    written: u64,
    since_pause: u64,
    store: Option<Store>,
    heat: Option<Heat>,
    pauses: Option<Pauses>,
}

impl Flash {
    pub(super) fn new(timing: TimingProfile, seed: u64) -> Self {
        Self {
            timing,
            rng: Pcg64Mcg::seed_from_u64(seed),
            controller: 0,
            planes: vec![0; timing.read.planes as usize],
            channels: vec![0; timing.read.channels as usize],
            way_out: 0,
            way_in: 0,
            written: 0,
            since_pause: 0,
            store: timing.write.medium.map(|medium| {
                let WriteTiming {
                    cache_bytes,
                    full_bytes_per_second,
                    ..
                } = timing.write;
                Store::new(medium, cache_bytes, full_bytes_per_second)
            }),
            heat: timing.thermal.map(Heat::new),
            pauses: timing.pauses.map(|pauses| Pauses::new(pauses, seed)),
        }
    }

    /// The controller works on a command; returns when it has understood it.
    pub(super) fn command(&mut self, now: Time) -> Time {
        if let Some(store) = &mut self.store {
            store.touch(now);
        }
        self.controller = self.unpaused(self.controller.max(now)) + self.timing.command;
        self.controller
    }

    /// The earliest time, from one on, at which the drive does not pause.
    fn unpaused(&self, time: Time) -> Time {
        self.pauses.map_or(time, |pauses| pauses.after(time))
    }

    /// The least time of bytes on their way in or out: some where the drive throttles.
    fn warm(&mut self, now: Time, len: u64) -> Time {
        self.heat.as_mut().map_or(0, |heat| heat.carry(now, len))
    }

    /// The composite temperature in kelvin, where the profile has one.
    pub(super) fn kelvin(&self, now: Time) -> Option<u16> {
        self.heat.as_ref().map(|heat| heat.kelvin(now))
    }

    /// All bytes written so far, in the order of their requests: a mark for [`Self::stored`].
    pub(super) fn mark(&self) -> u64 {
        self.store.as_ref().map_or(0, Store::mark)
    }

    /// How long it takes until what was written up to a mark is on the medium.
    pub(super) fn stored(&self, now: Time, mark: u64) -> Time {
        self.store
            .as_ref()
            .map_or(0, |store| store.stored_at(mark).saturating_sub(now))
    }

    /// How long a Flush takes that begins now.
    pub(super) fn flush(&self, now: Time) -> Time {
        match &self.store {
            Some(store) => self.stored(now, store.mark()) + store.flush(),
            None => 0,
        }
    }

    /// Senses every unit of a byte range; returns when the last is done.
    pub(super) fn sense(&mut self, now: Time, start: u64, len: u64) -> Time {
        let ReadTiming {
            sense,
            retry,
            retry_ppm,
            ..
        } = self.timing.read;
        let mut done = now;
        for unit in start / UNIT..(start + len).div_ceil(UNIT) {
            let retries = self.rng.next_u32() % 1_000_000 < retry_ppm;
            let time = sense + if retries { retry } else { 0 };
            let plane = self.plane(unit);
            let free_at = &mut self.planes[plane];
            *free_at = now.max(*free_at) + time;
            done = done.max(*free_at);
        }
        done
    }

    /// Carries bytes of a sensed unit on their channel; returns when they are in the controller.
    pub(super) fn carry(&mut self, now: Time, start: u64, len: u64) -> Time {
        let channel = self.plane(start / UNIT) % self.channels.len();
        let time = self.timing.read.channel * len / UNIT;
        let free_at = &mut self.channels[channel];
        *free_at = now.max(*free_at) + time;
        *free_at
    }

    /// Sends bytes out of the drive; returns when they have left.
    pub(super) fn leave(&mut self, now: Time, len: u64) -> Time {
        let time = match self.timing.read.bytes_per_second {
            0 => 0,
            rate => len * SECOND / rate,
        };
        let start = self.way_out.max(now);
        self.way_out = start + time.max(self.warm(start, len));
        self.way_out
    }

    /// Schedules the request of a buffer segment of a write; returns when to send it.
    ///
    /// A drive that always has `window_bytes` requested moves that much each round trip. The time of
    /// a request grows with the measured round trip, rather than being left to the fabric's limit of
    /// outstanding reads alone, since a command's own cost was measured to add to it.
    pub(super) fn take_in(&mut self, now: Time, request: WriteRequest) -> Time {
        let WriteTiming {
            page,
            slow,
            reference_round_trip,
            window_bytes,
            ..
        } = self.timing.write;
        let longer = request
            .round_trip
            .map_or(0, |time| time.saturating_sub(reference_round_trip));
        let mut time = (page + slow + longer * UNIT / window_bytes as u64) * request.len / UNIT;
        if request.first {
            time += self.timing.write.command;
            if request.peer_queue {
                time += self.timing.write.peer_queue;
            }
        }
        let mut start = self.unpaused(self.way_in.max(now));
        match &mut self.store {
            Some(store) => start = store.take(start, request.len),
            None => time = time.max(self.drain(request.len)),
        }
        time = time.max(self.warm(start, request.len)) + self.pause(request.len);
        self.way_in = start + time;
        start
    }

    /// Time the flash takes for bytes where the cache has no more room.
    fn drain(&mut self, len: u64) -> Time {
        let WriteTiming {
            cache_bytes,
            full_bytes_per_second,
            ..
        } = self.timing.write;
        self.written = self.written.saturating_add(len);
        if cache_bytes == 0 || self.written <= cache_bytes || full_bytes_per_second == 0 {
            return 0;
        }
        len * SECOND / full_bytes_per_second
    }

    fn pause(&mut self, len: u64) -> Time {
        let WriteTiming {
            pause_every_bytes,
            pause,
            ..
        } = self.timing.write;
        self.since_pause += len;
        if pause_every_bytes == 0 || self.since_pause < pause_every_bytes {
            return 0;
        }
        self.since_pause = 0;
        pause
    }

    /// The plane of a unit. Units in a row are on different planes; otherwise planes are as good
    /// as random.
    fn plane(&self, unit: u64) -> usize {
        let planes = self.planes.len() as u64;
        let stripe = (unit / planes).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((unit + stripe) % planes) as usize
    }
}

/// A buffer segment of a write that is to be requested.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteRequest {
    /// Bytes.
    pub(super) len: u64,
    /// The first of its command.
    pub(super) first: bool,
    /// The command's queue is not in host memory.
    pub(super) peer_queue: bool,
    /// Least round trip seen to where the data are.
    pub(super) round_trip: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NANOSECOND, Profile};

    fn flash() -> Flash {
        let profile = Profile::builtin("990pro-2tb").unwrap();
        Flash::new(profile.ssd.timing.unwrap(), 1)
    }

    #[test]
    fn the_pace_of_writes_follows_path_and_queue() {
        // Page, command and queue in the card: the published equivalents add up.
        for (peer_queue, round_trip, expected) in [
            (false, None, 780),
            (true, None, 853),
            (false, Some(1460), 855),
            (true, Some(1460), 928),
        ] {
            let mut flash = flash();
            let round_trip = round_trip.map(|time| time * NANOSECOND);
            let request = WriteRequest {
                len: 4096,
                first: true,
                peer_queue,
                round_trip,
            };
            assert_eq!(flash.take_in(0, request), 0);
            assert_eq!(flash.take_in(0, request), expected * NANOSECOND);
        }
    }

    #[test]
    fn units_in_a_row_are_on_different_planes_and_planes_are_used_alike() {
        let flash = flash();
        let mut counts = vec![0; flash.planes.len()];
        for stripe in (0..1000).map(|n| n * 64 * 977) {
            let mut seen = vec![false; flash.planes.len()];
            (stripe..stripe + 64).for_each(|unit| seen[flash.plane(unit)] = true);
            assert!(seen.iter().all(|seen| *seen));
            counts[flash.plane(stripe)] += 1;
        }
        assert!(
            counts.iter().all(|count| (4..30).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn a_plane_senses_one_unit_at_a_time() {
        let mut flash = flash();
        flash.timing.read.retry_ppm = 0;
        assert_eq!(flash.sense(0, 0, 4096), 20_000 * NANOSECOND);
        assert_eq!(flash.sense(0, 512, 512), 40_000 * NANOSECOND);
        // Two units on two planes, one of which is busy.
        assert_eq!(flash.sense(0, 2048, 4096), 60_000 * NANOSECOND);
        assert_eq!(flash.sense(0, 8192, 4096), 20_000 * NANOSECOND);
        flash.timing.read.retry_ppm = 1_000_000;
        assert_eq!(flash.sense(0, 12_288, 4096), 210_000 * NANOSECOND);
    }
}
