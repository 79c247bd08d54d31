// SPDX-License-Identifier: Apache-2.0
//! Both ends of a plain stream: a source whose bytes say where in the stream they stand, and a sink.

use forebay_model::{SECOND, Time};
use forebay_rtl::Model;

use crate::error::{Error, Result};
use crate::held::Held;
use crate::payload::{fill_pattern, pattern_word_of};
use crate::pins::{StreamIn, StreamOut};
use crate::stall::Pauser;

/// Bytes of a beat.
pub const BEAT: u64 = 64;
const IN: &str = "stream in";
const OUT: &str = "stream out";

/// How the source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Bytes a second; none: as fast as they are taken.
    pub bytes_per_second: Option<u64>,
    /// It cannot wait: TREADY must be 1 whenever a beat comes.
    pub lossy: bool,
}

/// Bytes in a row: of the stream, or others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where in the stream the first of them stands; none: they are not of the stream.
    pub from: Option<u64>,
    /// How many.
    pub bytes: u64,
}

/// What was found somewhere, as places in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    seed: u64,
    runs: Vec<Run>,
}

impl Runs {
    /// Of a stream whose bytes follow from this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let runs = Vec::new();
        Self { seed, runs }
    }

    /// What was found.
    #[must_use]
    pub fn all(&self) -> &[Run] {
        &self.runs
    }

    /// Bytes in all.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes).sum()
    }

    /// Finds the places of more bytes, whole beats.
    pub fn push(&mut self, data: &[u8]) {
        data.chunks(BEAT as usize)
            .for_each(|beat| self.push_beat(beat));
    }

    fn push_beat(&mut self, beat: &[u8]) {
        let bytes = beat.len() as u64;
        let is_at = |place: u64| {
            let mut wanted = [0; BEAT as usize];
            fill_pattern(self.seed, place, &mut wanted);
            wanted.get(..beat.len()) == Some(beat)
        };
        let next = |run: &Run| run.from.map(|from| from + run.bytes);
        let expected = self.runs.last().and_then(next);
        let place = expected.filter(|place| is_at(*place)).or_else(|| {
            let first = u64::from_le_bytes(*beat.first_chunk()?);
            let place = pattern_word_of(self.seed, first).checked_mul(8)?;
            (place.is_multiple_of(BEAT) && is_at(place)).then_some(place)
        });
        match self.runs.last_mut() {
            Some(run) if place == expected && (place.is_some() || run.from.is_none()) => {
                run.bytes += bytes;
            }
            _ => self.runs.push(Run { from: place, bytes }),
        }
    }
}

/// Sends a stream without end.
pub(super) struct Source {
    pins: StreamIn,
    pause: Pauser,
    seed: u64,
    period: Time,
    feed: Option<Feed>,
    /// Bytes that have come and were not sent yet, and parts of one, of which a second has one.
    due: u64,
    part: u64,
    loaded: bool,
    /// Bytes that were taken.
    pub sent: u64,
    /// When the first of them was.
    pub first: Option<Time>,
}

impl Source {
    pub const fn new(pins: StreamIn, pause: Pauser, (period, seed): (Time, u64)) -> Self {
        Self {
            pins,
            pause,
            seed,
            period,
            feed: None,
            due: 0,
            part: 0,
            loaded: false,
            sent: 0,
            first: None,
        }
    }

    /// Sends the stream on; none: sends nothing more, once a beat that stands at the port was taken.
    pub const fn begin(&mut self, feed: Option<Feed>) {
        (self.feed, self.due, self.part) = (feed, 0, 0);
    }

    /// It sends nothing. A beat may stand at the port for ever.
    pub const fn is_idle(&self) -> bool {
        self.feed.is_none()
    }

    #[inline]
    pub fn drive(&mut self, model: &mut Model) {
        let Some(feed) = self.feed else {
            if !self.loaded {
                model.set(self.pins.valid, 0);
            }
            return;
        };
        if let Some(rate) = feed.bytes_per_second {
            let parts = u128::from(rate) * u128::from(self.period) + u128::from(self.part);
            self.part = (parts % u128::from(SECOND)) as u64;
            self.due += (parts / u128::from(SECOND)) as u64;
            if !feed.lossy {
                // It waits: nothing comes behind a beat that was not taken.
                self.due = self.due.min(2 * BEAT);
            }
        }
        if !self.loaded {
            let comes = feed.bytes_per_second.is_none() || self.due >= BEAT;
            self.loaded = comes && !self.pause.pauses();
            if self.loaded {
                fill_pattern(self.seed, self.sent, model.wide_mut(self.pins.data));
            }
            model.set(self.pins.valid, u64::from(self.loaded));
        }
    }

    #[inline]
    pub fn sample(&mut self, model: &Model, (cycle, now): (u64, Time)) -> Result<()> {
        if !self.loaded {
            return Ok(());
        }
        if !model.is_set(self.pins.ready) {
            let lossy = self.feed.is_some_and(|feed| feed.lossy);
            let what = "TREADY is 0, and the source cannot wait";
            return match lossy {
                true => Err(Error::protocol(cycle, IN, what)),
                false => Ok(()),
            };
        }
        self.loaded = false;
        self.sent += BEAT;
        self.due = self.due.saturating_sub(BEAT);
        self.first.get_or_insert(now);
        Ok(())
    }

    /// The RTL is being reset.
    pub fn reset(&mut self, model: &mut Model) {
        model.set(self.pins.valid, 0);
        self.loaded = false;
    }
}

/// What came out of the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The bytes, by their places in the stream.
    pub runs: Runs,
    /// Chunks that came whole.
    pub chunks: u64,
    /// TLAST was not at the end of a chunk, or missing there.
    pub misplaced: u64,
    /// Codes of reads that failed.
    pub codes: Vec<u8>,
}

/// Takes what is read back.
pub(super) struct Sink {
    pins: StreamOut,
    pause: Pauser,
    period: Time,
    bytes_per_second: Option<u64>,
    /// Bytes that may be taken, and parts of one.
    due: u64,
    part: u64,
    ready: bool,
    held: Held,
    chunk_bytes: u64,
    /// Bytes of the chunk that is under way.
    of_chunk: u64,
    pub received: Received,
}

impl Sink {
    pub fn new(pins: StreamOut, pause: Pauser, (period, seed): (Time, u64)) -> Self {
        let payload = [Some(pins.data), pins.last, pins.user];
        Self {
            pins,
            pause,
            period,
            bytes_per_second: None,
            due: 0,
            part: 0,
            ready: false,
            held: Held::new(OUT, payload.into_iter().flatten()),
            chunk_bytes: 0,
            of_chunk: 0,
            received: Self::nothing(seed),
        }
    }

    const fn nothing(seed: u64) -> Received {
        Received {
            runs: Runs::new(seed),
            chunks: 0,
            misplaced: 0,
            codes: Vec::new(),
        }
    }

    /// Takes chunks of this size from now on, at this rate at most.
    pub const fn begin(&mut self, chunk_bytes: u64, bytes_per_second: Option<u64>) {
        (self.chunk_bytes, self.of_chunk) = (chunk_bytes, 0);
        (self.bytes_per_second, self.due, self.part) = (bytes_per_second, 0, 0);
    }

    /// What has come since the last call.
    pub fn take(&mut self) -> Received {
        let seed = self.received.runs.seed;
        std::mem::replace(&mut self.received, Self::nothing(seed))
    }

    #[inline]
    pub fn drive(&mut self, model: &mut Model) {
        let mut ready = !self.pause.pauses();
        if let Some(rate) = self.bytes_per_second {
            let parts = u128::from(rate) * u128::from(self.period) + u128::from(self.part);
            self.part = (parts % u128::from(SECOND)) as u64;
            self.due = (self.due + (parts / u128::from(SECOND)) as u64).min(2 * BEAT);
            ready &= self.due >= BEAT;
        }
        if ready != self.ready {
            self.ready = ready;
            model.set(self.pins.ready, u64::from(ready));
        }
    }

    #[inline]
    pub fn sample(&mut self, model: &Model, cycle: u64) -> Result<()> {
        let valid = model.is_set(self.pins.valid);
        self.held.watch(model, valid, self.ready, cycle)?;
        if !valid || !self.ready {
            return Ok(());
        }
        self.due = self.due.saturating_sub(BEAT);
        let is_set = |pin: Option<_>| pin.is_some_and(|pin| model.is_set(pin));
        let (last, failed) = (is_set(self.pins.last), is_set(self.pins.user));
        let beat = model.wide(self.pins.data);
        if failed {
            if !last {
                let what = "a beat with TUSER and without TLAST";
                return Err(Error::protocol(cycle, OUT, what));
            }
            self.received.codes.push(beat[0]);
            self.of_chunk = 0;
            return Ok(());
        }
        self.received.runs.push(beat);
        self.of_chunk += BEAT;
        let ends = self.of_chunk == self.chunk_bytes;
        self.received.misplaced += u64::from(last != ends);
        self.received.chunks += u64::from(last && ends);
        if last {
            self.of_chunk = 0;
        }
        Ok(())
    }

    /// The RTL is being reset.
    pub fn reset(&mut self, model: &mut Model) {
        model.set(self.pins.ready, 0);
        self.ready = false;
        self.held.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(seed: u64, places: &[u64]) -> Vec<u8> {
        let mut data = vec![0; places.len() * BEAT as usize];
        for (beat, place) in data.chunks_mut(BEAT as usize).zip(places) {
            fill_pattern(seed, *place, beat);
        }
        data
    }

    #[test]
    fn bytes_say_where_they_stand() {
        for seed in [0, 1, u64::MAX] {
            let mut runs = Runs::new(seed);
            runs.push(&beats(seed, &[0, 64, 1 << 20, (1 << 20) + 64, 1 << 40]));
            runs.push(&[0; 192]);
            runs.push(&beats(seed, &[128]));
            let run = |from, bytes| Run { from, bytes };
            let wanted = [
                run(Some(0), 128),
                run(Some(1 << 20), 128),
                run(Some(1 << 40), 64),
                run(None, 192),
                run(Some(128), 64),
            ];
            assert_eq!(runs.all(), wanted);
            assert_eq!(runs.bytes(), 576);
        }
    }

    #[test]
    fn a_byte_that_differs_is_not_of_the_stream() {
        let mut data = beats(7, &[0, 64, 128]);
        data[100] ^= 1;
        let mut runs = Runs::new(7);
        runs.push(&data);
        let found: Vec<_> = runs.all().iter().map(|run| run.from).collect();
        assert_eq!(found, [Some(0), None, Some(128)]);
    }
}
