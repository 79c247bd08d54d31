// SPDX-License-Identifier: Apache-2.0
//! The sending half of our MAC: beats become a frame while it is on the wire already.

use super::beat::{BEAT_BYTES, Beat};
use super::error::BeatError;
use super::frame::{Frame, Kind, MOST_BYTES};
use super::sender::Sender;
use super::settings::Flow;
use super::{BYTE, CHECK_BYTES, GAP_BYTES, PREAMBLE_BYTES};
use crate::Time;
use forebay_spec::net::Pause;
use forebay_spec::net::ethernet::LEAST_BYTES;
use std::collections::VecDeque;

/// Beats that it holds which are not on the wire yet. What it holds delays our pause frames, so it
/// holds as little as keeps the wire busy.
const FIFO_BEATS: usize = 4;

#[derive(Debug)]
enum State {
    /// Between frames.
    Between,
    /// In a frame that began then.
    Open { begin: Time, bytes: Vec<u8> },
    /// In a frame that broke off: what still comes of it is thrown away.
    Broken,
}

/// A frame on the wire that is whole.
#[derive(Debug)]
pub(super) struct Leaving {
    pub begin: Time,
    /// When its check sequence is over.
    pub end: Time,
    pub frame: Frame,
    pub underrun: bool,
}

/// The sending half.
#[derive(Debug)]
pub(super) struct MacOut {
    flow: Flow,
    /// Its end of the wire. Pause frames count there at once, and nothing obeys them.
    pub sender: Sender,
    state: State,
    /// When the wire takes each of the beats held.
    held: VecDeque<Time>,
    leaving: VecDeque<Leaving>,
}

impl MacOut {
    pub const fn new(flow: Flow) -> Self {
        Self {
            flow,
            sender: Sender::new(flow, Some(0)),
            state: State::Between,
            held: VecDeque::new(),
            leaving: VecDeque::new(),
        }
    }

    pub fn ready(&mut self, now: Time) -> bool {
        while self.held.front().is_some_and(|at| *at <= now) {
            self.held.pop_front();
        }
        self.held.len() < FIFO_BEATS
    }

    pub fn take(&mut self, now: Time, beat: &Beat) -> Result<(), BeatError> {
        let more = beat.checked()?;
        if !self.ready(now) {
            return Err(BeatError::NotReady);
        }
        match std::mem::replace(&mut self.state, State::Between) {
            State::Broken if beat.last => Ok(()),
            State::Broken => {
                self.state = State::Broken;
                Ok(())
            }
            State::Between => {
                let begin = self.sender.open(now);
                self.go_on(begin, Vec::with_capacity(more.len()), more, beat)
            }
            State::Open { begin, bytes } => self.go_on(begin, bytes, more, beat),
        }
    }

    fn go_on(
        &mut self,
        begin: Time,
        mut bytes: Vec<u8>,
        more: &[u8],
        beat: &Beat,
    ) -> Result<(), BeatError> {
        let together = bytes.len() + more.len();
        if together > MOST_BYTES {
            self.state = State::Open { begin, bytes };
            return Err(BeatError::Long { bytes: together });
        }
        self.held.push_back(needed(begin, bytes.len()));
        bytes.extend_from_slice(more);
        if beat.last {
            self.finish(begin, bytes, beat.damaged, false);
        } else {
            self.state = State::Open { begin, bytes };
        }
        Ok(())
    }

    fn finish(&mut self, begin: Time, mut bytes: Vec<u8>, damaged: bool, underrun: bool) {
        if !underrun && bytes.len() < LEAST_BYTES {
            bytes.resize(LEAST_BYTES, 0);
        }
        // Its length was checked beat by beat: 1 to the most.
        let Ok(frame) = Frame::bare(bytes) else {
            return;
        };
        let kind = if damaged || underrun {
            Kind::Damaged
        } else if self.is_pause(&frame) {
            Kind::Pause
        } else {
            Kind::Good
        };
        let frame = frame.of_kind(kind);
        let frame = if kind == Kind::Damaged {
            frame.damage()
        } else {
            frame
        };
        self.sender.close(begin + frame.wire_time());
        self.leaving.push_back(Leaving {
            begin,
            end: begin + frame.until_checked(),
            frame,
            underrun,
        });
    }

    fn is_pause(&self, frame: &Frame) -> bool {
        Pause::from_frame(frame.bytes()).is_some_and(|pause| self.flow.quanta(&pause).is_some())
    }

    /// When the frame on the wire breaks off if no beat comes before.
    pub fn starves(&self) -> Option<Time> {
        match &self.state {
            State::Open { begin, bytes } => Some(needed(*begin, bytes.len()) + 1),
            _ => None,
        }
    }

    /// It does.
    pub fn starve(&mut self) {
        if let State::Open { begin, bytes } = std::mem::replace(&mut self.state, State::Broken) {
            self.finish(begin, bytes, true, true);
        }
    }

    /// The MAC is reset: an open frame breaks off, and the next beat begins another.
    pub fn reset(&mut self) {
        self.starve();
        self.state = State::Between;
    }

    /// The link goes down: of an open frame nothing that could be read arrives.
    pub fn go_down(&mut self) {
        if let State::Open { begin, bytes } = std::mem::replace(&mut self.state, State::Between) {
            self.finish(begin, bytes, true, false);
        }
        self.held.clear();
    }

    /// When the next whole frame has left.
    pub fn leaves(&self) -> Option<Time> {
        self.leaving.front().map(|leaving| leaving.end)
    }

    pub fn leave(&mut self) -> Option<Leaving> {
        self.leaving.pop_front()
    }

    /// Nothing is on the wire or on its way to it.
    pub fn is_empty(&self) -> bool {
        self.leaving.is_empty() && !matches!(self.state, State::Open { .. })
    }
}

/// When the wire needs the byte `at` of a frame that began at `begin`.
fn needed(begin: Time, at: usize) -> Time {
    begin + (PREAMBLE_BYTES + at as u64) * BYTE
}

const _: () = assert!(PREAMBLE_BYTES + CHECK_BYTES + GAP_BYTES < BEAT_BYTES as u64);
