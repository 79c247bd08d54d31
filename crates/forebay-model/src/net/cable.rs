// SPDX-License-Identifier: Apache-2.0
//! One direction of a cable: what goes in comes out later.

use super::frame::Frame;
use crate::Time;
use std::collections::VecDeque;

/// A frame under way.
#[derive(Debug)]
pub(super) struct Flight {
    /// When its first bit is there.
    pub begin: Time,
    /// When its last one is.
    pub end: Time,
    pub frame: Frame,
}

/// Frames under way, in order. They are as many as the cable is long.
#[derive(Debug)]
pub(super) struct Cable {
    delay: Time,
    flights: VecDeque<Flight>,
}

impl Cable {
    pub const fn new(delay: Time) -> Self {
        Self {
            delay,
            flights: VecDeque::new(),
        }
    }

    /// A frame whose first bit goes in at `at`.
    pub fn put(&mut self, at: Time, frame: Frame) {
        let begin = at + self.delay;
        let end = begin + frame.until_checked();
        self.flights.push_back(Flight { begin, end, frame });
    }

    /// When the next frame begins to come out.
    pub fn begins(&self) -> Option<Time> {
        self.flights.front().map(|flight| flight.begin)
    }

    /// When the next frame is out.
    pub fn ends(&self) -> Option<Time> {
        self.flights.front().map(|flight| flight.end)
    }

    pub fn take(&mut self) -> Option<Flight> {
        self.flights.pop_front()
    }

    pub fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }
}
