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

impl Flight {
    /// A frame whose first bit is there at `begin`.
    pub fn new(begin: Time, frame: Frame) -> Self {
        let end = begin + frame.until_checked();
        Self { begin, end, frame }
    }
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
        self.flights.push_back(Flight::new(at + self.delay, frame));
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
