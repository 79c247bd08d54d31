// SPDX-License-Identifier: Apache-2.0
//! A source held to a rate.

use super::BYTE;
use super::counters::FrameCounts;
use super::error::NetError;
use super::frame::Frame;
use super::source::{Next, Source};
use crate::{SECOND, Time};
use forebay_spec::net::ethernet::WIRE_BYTES;

/// A source held to a rate on the wire, from when it is asked first: each frame has its turn once all
/// before it would be over. What pause or a busy wire held up is made up for as fast as the wire
/// allows: an instrument does not wait.
#[derive(Debug)]
pub struct Paced<S> {
    source: S,
    bytes_per_second: u64,
    begun: Option<Time>,
    /// Bytes on the wire so far.
    bytes: u128,
    held: Option<Frame>,
}

impl<S: Source> Paced<S> {
    /// Holds a source to a rate in bytes per second; preambles, check sequences and gaps count.
    ///
    /// # Errors
    ///
    /// No rate, or more than the wire has.
    pub fn new(source: S, bytes_per_second: u64) -> Result<Self, NetError> {
        let most = SECOND / BYTE;
        if !(1..=most).contains(&bytes_per_second) {
            return Err(NetError::Setting {
                field: "bytes_per_second",
                value: bytes_per_second.to_string(),
                limit: format!("1 to {most}"),
                remedy: "100 Gb/s are 12.5 GB/s; leave the limit out for full speed",
            });
        }
        Ok(Self {
            source,
            bytes_per_second,
            begun: None,
            bytes: 0,
            held: None,
        })
    }

    fn due(&self, begun: Time) -> Time {
        let after = self.bytes * u128::from(SECOND);
        let after = after.div_ceil(u128::from(self.bytes_per_second));
        begun.saturating_add(Time::try_from(after).unwrap_or(Time::MAX))
    }
}

impl<S: Source> Source for Paced<S> {
    fn next(&mut self, now: Time) -> Next {
        let begun = *self.begun.get_or_insert(now);
        let frame = match self.held.take() {
            Some(frame) => frame,
            None => match self.source.next(now) {
                Next::Frame(frame) => frame,
                other => return other,
            },
        };
        let due = self.due(begun);
        if due > now {
            self.held = Some(frame);
            return Next::NotBefore(due);
        }
        self.bytes += u128::from(frame.len()) + WIRE_BYTES as u128;
        Next::Frame(frame)
    }

    fn failure(&self) -> Option<&NetError> {
        self.source.failure()
    }

    fn left_out(&self) -> FrameCounts {
        self.source.left_out()
    }
}
