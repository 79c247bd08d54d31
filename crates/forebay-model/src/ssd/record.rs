// SPDX-License-Identifier: Apache-2.0
//! The flight recorder: the last events at the drive's queues, and how its queues stand.
//!
//! What a host believes to have sent and what a drive has seen differ when a queue hangs; this is
//! the drive's side. It is kept through resets, so that it tells of what led to one.

use super::Ssd;
use crate::Time;
use forebay_spec::nvme::{AdminOpcode, Cqe, IoOpcode, Sqe};
use std::collections::VecDeque;
use std::fmt;

/// Events that are kept.
pub const RECORD_EVENTS: usize = 256;

/// What became of a doorbell write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It counts.
    Accepted,
    /// The value is none that the queue can have now.
    BadValue,
    /// There is no such queue.
    NoQueue,
    /// The controller does not run: disabled, not ready, shut down or in a fatal state.
    NotRunning,
}

/// Something that happened at the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordEvent {
    /// A doorbell write arrived.
    Doorbell {
        /// Queue identifier.
        queue: u16,
        /// Head of the completion queue; otherwise tail of the submission queue.
        completion: bool,
        /// The value written.
        value: u32,
        /// What became of it.
        verdict: Verdict,
    },
    /// The drive asked for submission entries.
    Asked {
        /// Queue identifier.
        queue: u16,
        /// The first entry.
        slot: u32,
        /// How many.
        count: u32,
    },
    /// Submission entries asked for were refused by who was asked.
    FetchFailed {
        /// Queue identifier.
        queue: u16,
        /// The first entry.
        slot: u32,
        /// How many.
        count: u32,
    },
    /// A submission entry arrived.
    Fetched {
        /// Queue identifier.
        queue: u16,
        /// Its place.
        slot: u32,
        /// The entry.
        sqe: Sqe,
    },
    /// A completion entry was written.
    Posted {
        /// Identifier of the completion queue.
        queue: u16,
        /// Its place.
        slot: u32,
        /// The entry.
        cqe: Cqe,
    },
    /// A completion has to wait, since its queue is full.
    Delayed {
        /// Identifier of the completion queue.
        queue: u16,
        /// Whose completion.
        cid: u16,
    },
    /// CC.EN was set.
    Enabled,
    /// The controller is ready.
    Ready,
    /// CC.EN was cleared: a controller reset.
    Disabled,
    /// CC.SHN asked for a shutdown.
    Shutdown,
    /// The PCI function was reset.
    FunctionReset,
    /// The controller stopped with a fatal status.
    Fatal,
    /// The controller ceased to be ready by itself.
    NotReady,
}

/// An event and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordEntry {
    /// Simulated time.
    pub time: Time,
    /// What.
    pub event: RecordEvent,
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
    pub(super) fn push(&mut self, time: Time, event: RecordEvent) {
        // Never more than was allocated at first.
        if self.ring.len() == RECORD_EVENTS {
            self.ring.pop_front();
        }
        self.ring.push_back(RecordEntry { time, event });
        self.total += 1;
    }

    /// For an event whose moment its caller does not know: that of the last one.
    pub(super) fn push_now(&mut self, event: RecordEvent) {
        let time = self.ring.back().map_or(0, |entry| entry.time);
        self.push(time, event);
    }
}

/// How a submission queue and the completion queue behind it stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Identifier of the submission queue.
    pub queue: u16,
    /// Entries of the submission queue.
    pub entries: u32,
    /// Last tail that its doorbell announced.
    pub sq_tail: u32,
    /// Next entry to ask for.
    pub sq_asked: u32,
    /// Next entry to arrive: what completions report.
    pub sq_head: u32,
    /// Identifier of the completion queue.
    pub completion_queue: u16,
    /// Next completion entry to write.
    pub cq_tail: u32,
    /// Last head that its doorbell announced.
    pub cq_head: u32,
    /// Phase tag of the next completion entry.
    pub cq_phase: bool,
    /// Completions that wait for room.
    pub waiting: u32,
    /// Identifiers of commands fetched and not completed, in ascending order.
    pub under_way: Vec<u16>,
}

impl Ssd {
    /// The last events at its queues.
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// How its queues stand. None exist after a reset or a fatal error.
    pub fn queues(&self) -> Vec<QueueState> {
        (0..)
            .zip(&self.submission)
            .filter_map(|(queue, it)| {
                let submission = it.as_ref()?;
                let target = submission.completion_queue;
                let completion = self.completion.get(usize::from(target))?.as_ref()?;
                let waits = completion.waiting.iter();
                Some(QueueState {
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

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::BadValue => "refused: no value that the queue can have",
            Self::NoQueue => "refused: no such queue",
            Self::NotRunning => "ignored: the controller does not run",
        })
    }
}

impl fmt::Display for RecordEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Doorbell {
                queue,
                completion,
                value,
                verdict,
            } => {
                let what = match completion {
                    true => "completion doorbell, head",
                    false => "submission doorbell, tail",
                };
                write!(f, "queue {queue}: {what} {value}")?;
                match verdict {
                    Verdict::Accepted => Ok(()),
                    _ => write!(f, ", {verdict}"),
                }
            }
            Self::Asked { queue, slot, count } => {
                write!(f, "queue {queue}: asks for {count} from slot {slot} on")
            }
            Self::FetchFailed { queue, slot, count } => {
                write!(f, "queue {queue}: refused were {count} from slot {slot} on")
            }
            Self::Fetched { queue, slot, sqe } => {
                write!(
                    f,
                    "queue {queue}: slot {slot} fetched: command {}, ",
                    sqe.cid
                )?;
                command(f, *queue, sqe)
            }
            Self::Posted { queue, slot, cqe } => {
                let (cid, head, phase) = (cqe.cid, cqe.sq_head, u8::from(cqe.phase));
                write!(
                    f,
                    "queue {queue}: slot {slot} completes command {cid}, head {head}, phase \
                     {phase}"
                )?;
                match cqe.status.is_success() {
                    true => Ok(()),
                    false => write!(f, ": {}", cqe.status),
                }
            }
            Self::Delayed { queue, cid } => write!(
                f,
                "queue {queue}: the completion of command {cid} waits for room"
            ),
            Self::Enabled => f.write_str("enabled"),
            Self::Ready => f.write_str("ready"),
            Self::Disabled => f.write_str("disabled: a controller reset"),
            Self::Shutdown => f.write_str("told to shut down"),
            Self::FunctionReset => f.write_str("reset of the PCI function"),
            Self::Fatal => f.write_str("stopped with a fatal status"),
            Self::NotReady => f.write_str("ceased to be ready"),
        }
    }
}

/// A command in words: what of it means something depends on its opcode.
fn command(f: &mut fmt::Formatter<'_>, queue: u16, sqe: &Sqe) -> fmt::Result {
    use IoOpcode::{Read, Write, WriteZeroes};
    if queue == 0 {
        return match AdminOpcode::from_number(sqe.opcode) {
            Some(opcode) => write!(f, "{opcode:?}"),
            None => write!(f, "opcode {:#04x}", sqe.opcode),
        };
    }
    match IoOpcode::from_number(sqe.opcode) {
        Some(opcode @ (Read | Write | WriteZeroes)) => {
            let (blocks, slba) = (sqe.blocks(), sqe.slba());
            write!(f, "{opcode:?} {blocks} blocks at {slba}")
        }
        Some(opcode) => write!(f, "{opcode:?}"),
        None => write!(f, "opcode {:#04x}", sqe.opcode),
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
