// SPDX-License-Identifier: Apache-2.0
//! What is due when.

use super::commands::CommandRef;
use crate::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Something a drive does by itself at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// CSTS follows CC, unless the controller was enabled or disabled since.
    Settle { epoch: u32 },
    /// The fault plan's fatal error.
    Fatal,
    /// The fault plan's loss of readiness.
    NotReady,
    /// The controller has understood a command.
    Start(CommandRef),
    /// A read reaches the flash.
    Sense(CommandRef),
    /// A plane has sensed the buffer segment with this number; the channel is next.
    Sensed(CommandRef, u32),
    /// The channel has carried a segment; the way out of the drive is next.
    Carried(CommandRef, u32),
    /// A segment leaves the drive.
    Out(CommandRef, u32),
    /// A segment of a write is requested.
    In(CommandRef, u32),
    /// A command completes.
    Complete(CommandRef),
}

#[derive(Debug)]
struct Entry {
    time: Time,
    order: u64,
    event: Event,
}

impl Ord for Entry {
    // Reversed, since the heap gives its greatest element first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.order).cmp(&(self.time, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl Event {
    /// The drive brings something to its end by this, and does not break down.
    const fn is_work(self) -> bool {
        !matches!(self, Self::Fatal | Self::NotReady)
    }
}

/// Events by time; those of the same time in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Entry>,
    made: u64,
    /// Those that are work.
    work: usize,
}

impl EventQueue {
    pub(super) fn push(&mut self, time: Time, event: Event) {
        self.made += 1;
        self.work += usize::from(event.is_work());
        self.heap.push(Entry {
            time,
            order: self.made,
            event,
        });
    }

    /// The next event that is due by now.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Event)> {
        if self.heap.peek()?.time > now {
            return None;
        }
        let Entry { time, event, .. } = self.heap.pop()?;
        self.work -= usize::from(event.is_work());
        Some((time, event))
    }

    /// Whether there is any that is work.
    pub(super) const fn has_work(&self) -> bool {
        self.work != 0
    }

    pub(super) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.time)
    }
}
