// SPDX-License-Identifier: Apache-2.0
//! Submission and completion queues (3.3).

use forebay_spec::nvme::Cqe;
use std::collections::VecDeque;

/// A submission queue as the controller sees it. Indices are entries, less than `entries`.
#[derive(Debug)]
pub(super) struct SubmissionQueue {
    pub(super) completion_queue: u16,
    pub(super) base: u64,
    pub(super) entries: u32,
    /// Last value of the tail doorbell.
    pub(super) tail: u32,
    /// Next entry to fetch.
    pub(super) fetch: u32,
    /// Next entry to consume: what completions report.
    pub(super) head: u32,
    /// Distinguishes it from earlier queues with the same identifier.
    pub(super) epoch: u32,
    /// One bit for each command identifier under way.
    identifiers: Box<[u64]>,
}

impl SubmissionQueue {
    pub(super) fn new(base: u64, entries: u32, completion_queue: u16, epoch: u32) -> Self {
        Self {
            completion_queue,
            base,
            entries,
            tail: 0,
            fetch: 0,
            head: 0,
            epoch,
            identifiers: vec![0; 65536 / 64].into(),
        }
    }

    /// Takes a write of the tail doorbell; false where the value cannot be.
    pub(super) fn ring(&mut self, value: u32) -> bool {
        if value >= self.entries || value == self.tail {
            return false;
        }
        let added = (value + self.entries - self.tail) % self.entries;
        let held = (self.tail + self.entries - self.head) % self.entries;
        if held + added >= self.entries {
            return false;
        }
        self.tail = value;
        true
    }

    /// Entries that can be fetched by one read: announced, before the wrap, in one page.
    pub(super) fn announced(&self) -> u32 {
        if self.fetch == self.tail {
            return 0;
        }
        let end = if self.tail > self.fetch {
            self.tail
        } else {
            self.entries
        };
        let addr = self.base + self.fetch as u64 * 64;
        let in_page = (4096 - addr % 4096) / 64;
        (end - self.fetch).min(in_page as u32)
    }

    /// Notes a command identifier; false where it is in use.
    pub(super) fn claim(&mut self, cid: u16) -> bool {
        let word = &mut self.identifiers[cid as usize / 64];
        let bit = 1 << (cid % 64);
        let free = *word & bit == 0;
        *word |= bit;
        free
    }

    /// Frees a command identifier.
    pub(super) fn release(&mut self, cid: u16) {
        self.identifiers[cid as usize / 64] &= !(1 << (cid % 64));
    }
}

/// A completion queue as the controller sees it.
#[derive(Debug)]
pub(super) struct CompletionQueue {
    pub(super) base: u64,
    pub(super) entries: u32,
    /// Next entry to write.
    pub(super) tail: u32,
    /// Last value of the head doorbell.
    pub(super) head: u32,
    /// Phase tag of the entries being written.
    pub(super) phase: bool,
    /// Interrupt vector, where interrupts are enabled.
    pub(super) vector: Option<u16>,
    /// Submission queues that complete here.
    pub(super) users: u32,
    /// Entries that wait for room.
    pub(super) waiting: VecDeque<Cqe>,
}

impl CompletionQueue {
    pub(super) fn new(base: u64, entries: u32, vector: Option<u16>) -> Self {
        Self {
            base,
            entries,
            tail: 0,
            head: 0,
            phase: true,
            vector,
            users: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Takes a write of the head doorbell; false where the value cannot be.
    pub(super) fn ring(&mut self, value: u32) -> bool {
        if value >= self.entries || value == self.head {
            return false;
        }
        let freed = (value + self.entries - self.head) % self.entries;
        let held = (self.tail + self.entries - self.head) % self.entries;
        if freed > held {
            return false;
        }
        self.head = value;
        true
    }

    pub(super) fn is_full(&self) -> bool {
        (self.tail + 1) % self.entries == self.head
    }

    /// Address of the next entry.
    pub(super) fn slot(&self) -> u64 {
        self.base + self.tail as u64 * Cqe::BYTES as u64
    }

    /// The next entry was written.
    pub(super) fn advance(&mut self) {
        self.tail += 1;
        if self.tail == self.entries {
            self.tail = 0;
            self.phase = !self.phase;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doorbells_are_checked() {
        let mut queue = SubmissionQueue::new(0, 4, 1, 0);
        assert!(!queue.ring(4) && !queue.ring(0));
        assert!(queue.ring(3));
        // Full: one more would make it look empty.
        assert!(!queue.ring(0));
        queue.head = 1;
        assert!(queue.ring(0));
        let mut queue = CompletionQueue::new(0, 4, None);
        assert!(!queue.ring(1));
        queue.advance();
        assert!(queue.ring(1) && !queue.ring(1) && !queue.ring(2));
    }

    #[test]
    fn fetches_stop_at_wrap_and_page() {
        let mut queue = SubmissionQueue::new(0x1000, 100, 1, 0);
        assert!(queue.ring(99));
        assert_eq!(queue.announced(), 64);
        queue.fetch = 64;
        assert_eq!(queue.announced(), 35);
        (queue.fetch, queue.head) = (98, 98);
        assert!(queue.ring(5));
        assert_eq!(queue.announced(), 2);
    }
}
