// SPDX-License-Identifier: Apache-2.0
//! The flight recorder: the last events at the drive's queues, and how its queues stand.
//!
//! What a host believes to have sent and what a drive has seen differ when a queue hangs; this is
//! the drive's side. It is kept through resets, so that it tells of what led to one.

use super::Ssd;
use crate::Time;
use forebay_spec::nvme::record::{DriveHappening, DriveQueue};
use std::collections::VecDeque;
use std::fmt;

/// Events that are kept.
pub const RECORD_EVENTS: usize = 256;

/// An event and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordEntry {
    /// Simulated time.
    pub time: Time,
    /// What.
    pub event: DriveHappening,
}

/// The last events, oldest first.
#[derive(Debug)]
pub struct Record {
    ring: VecDeque<RecordEntry>,
    total: u64,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            ring: VecDeque::with_capacity(RECORD_EVENTS),
            total: 0,
        }
    }
}

impl Record {
    /// The events, oldest first; at most [`RECORD_EVENTS`].
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &RecordEntry> + ExactSizeIterator {
        self.ring.iter()
    }

    /// Events since power-on, those no longer kept included.
    pub const fn total(&self) -> u64 {
        self.total
    }

    #[inline]
    pub(super) fn push(&mut self, time: Time, event: DriveHappening) {
        // Never more than was allocated at first.
        if self.ring.len() == RECORD_EVENTS {
            self.ring.pop_front();
        }
        self.ring.push_back(RecordEntry { time, event });
        self.total += 1;
    }

    /// For an event whose moment its caller does not know: that of the last one.
    pub(super) fn push_now(&mut self, event: DriveHappening) {
        let time = self.ring.back().map_or(0, |entry| entry.time);
        self.push(time, event);
    }
}

impl Ssd {
    /// The last events at its queues.
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// How its queues stand. None exist after a reset or a fatal error.
    pub fn queues(&self) -> Vec<DriveQueue> {
        (0..)
            .zip(&self.submission)
            .filter_map(|(queue, it)| {
                let submission = it.as_ref()?;
                let target = submission.completion_queue;
                let completion = self.completion.get(usize::from(target))?.as_ref()?;
                let waits = completion.waiting.iter();
                Some(DriveQueue {
                    queue,
                    entries: submission.entries,
                    sq_tail: submission.tail,
                    sq_asked: submission.fetch,
                    sq_head: submission.head,
                    completion_queue: target,
                    cq_tail: completion.tail,
                    cq_head: completion.head,
                    cq_phase: completion.phase,
                    waiting: waits.filter(|cqe| cqe.sq_id == queue).count() as u32,
                    under_way: self.commands.under_way(queue),
                })
            })
            .collect()
    }
}

impl fmt::Display for RecordEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>14} ns  {}", self.time / 1000, self.event)
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ring
            .iter()
            .try_for_each(|entry| writeln!(f, "{entry}"))
    }
}
