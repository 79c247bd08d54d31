// SPDX-License-Identifier: Apache-2.0
//! The receiving half of our MAC: frames become beats, in time or never.

use super::beat::{BEAT_BYTES, Beat};
use super::cable::Flight;
use super::frame::{Frame, LEAST_HANDED_BYTES};
use super::{BYTE, CHECK_BYTES, PREAMBLE_BYTES};
use crate::Time;
use std::collections::VecDeque;

/// Whole frames that wait to be handed over; in each cycle a beat is, so there is one at most.
const MOST_WAITING: usize = 16;

/// The receiving half, with the cable before it.
#[derive(Debug)]
pub(super) struct MacIn {
    delay: Time,
    frames: VecDeque<Flight>,
    /// Bytes of the first one that have been handed over.
    handed: usize,
    /// How many of them have come to their end.
    whole: usize,
    /// Frames that begin before this are lost: the link was down.
    up: Time,
}

/// What becomes of a frame that has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is handed over.
    Handed,
    /// It is too short for that.
    Fragment,
    /// Those before it were not taken in time.
    Overrun,
    /// The link was down when it began.
    Down,
}

impl MacIn {
    pub const fn new(delay: Time) -> Self {
        Self {
            delay,
            frames: VecDeque::new(),
            handed: 0,
            whole: 0,
            up: 0,
        }
    }

    /// A frame whose first bit goes into the cable at `at`.
    pub fn put(&mut self, at: Time, frame: Frame) {
        self.frames.push_back(Flight::new(at + self.delay, frame));
    }

    /// When the next frame comes to its end.
    pub fn ends(&self) -> Option<Time> {
        self.frames.get(self.whole).map(|flight| flight.end)
    }

    /// It does: `look` sees it, with what becomes of it.
    pub fn end(&mut self, look: impl FnOnce(Time, &Frame, Ending)) {
        let Some(flight) = self.frames.get(self.whole) else {
            return;
        };
        let ending = if flight.begin < self.up {
            Ending::Down
        } else if flight.frame.len() < LEAST_HANDED_BYTES as u64 {
            Ending::Fragment
        } else if self.whole >= MOST_WAITING {
            Ending::Overrun
        } else {
            Ending::Handed
        };
        look(flight.end, &flight.frame, ending);
        if ending == Ending::Handed {
            self.whole += 1;
        } else {
            self.frames.remove(self.whole);
        }
    }

    /// When the next beat is there.
    pub fn beat_at(&self) -> Option<Time> {
        let flight = self.frames.front()?;
        let bytes = flight.frame.bytes().len();
        if bytes < LEAST_HANDED_BYTES || flight.begin < self.up {
            return None;
        }
        let end = self.handed + BEAT_BYTES;
        if end >= bytes {
            return Some(flight.end);
        }
        Some(flight.begin + (PREAMBLE_BYTES + end as u64) * BYTE)
    }

    /// The next beat, if it is there.
    pub fn beat(&mut self, now: Time) -> Option<Beat> {
        if self.beat_at()? > now {
            return None;
        }
        let frame = &self.frames.front()?.frame;
        let rest = frame.bytes().get(self.handed..)?;
        let bytes = rest.len().min(BEAT_BYTES);
        let last = rest.len() == bytes;
        let mut data = [0; BEAT_BYTES];
        data[..bytes].copy_from_slice(&rest[..bytes]);
        let beat = Beat {
            data,
            bytes: bytes as u8,
            last,
            damaged: last && frame.is_damaged(),
        };
        self.handed += bytes;
        if last {
            self.handed = 0;
            self.whole -= 1;
            self.frames.pop_front();
        }
        Some(beat)
    }

    /// Whether frames that have come to their end wait to be handed over.
    pub const fn hands_over(&self) -> bool {
        self.whole > 0
    }

    /// The link goes down until `up`. The frame that is being handed over ends there: how many bytes of
    /// it were.
    pub fn go_down(&mut self, up: Time) -> Option<u64> {
        self.up = up;
        let handed = std::mem::take(&mut self.handed);
        if handed > 0 {
            self.frames.pop_front();
        }
        (handed > 0).then_some(handed as u64)
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

const _: () = {
    // A frame that is handed over in one beat leaves time for a cycle of the MAC's clock, so that the
    // beats of any frames in a row keep up with the wire.
    let shortest =
        (PREAMBLE_BYTES + LEAST_HANDED_BYTES as u64 + CHECK_BYTES + super::GAP_BYTES) * BYTE;
    assert!(shortest > super::mac_edge(1));
};
