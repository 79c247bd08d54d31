// SPDX-License-Identifier: Apache-2.0
//! What happens at a drive's queues: the words in which a drive records it and a host reads it.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{ADMIN_QUEUE, AdminOpcode, Cqe, IoOpcode, Sqe, Status};

/// How a queue pair stands inside the drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriveQueue {
    /// Identifier of the submission queue.
    pub queue: u16,
    /// Its entries.
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

/// What became of a doorbell write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum DoorbellVerdict {
    /// It counts.
    Accepted,
    /// The value is none that the queue can have now.
    BadValue,
    /// There is no such queue.
    NoQueue,
    /// The controller does not run: disabled, not ready, shut down or in a fatal state.
    NotRunning,
}

/// What happens inside a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DriveHappening {
    /// A write of a submission doorbell arrived.
    SqDoorbell {
        /// Queue.
        queue: u16,
        /// Tail.
        value: u32,
        /// What became of it; files keep only whether it was accepted.
        #[serde(rename = "accepted")]
        verdict: DoorbellVerdict,
    },
    /// A write of a completion doorbell arrived.
    CqDoorbell {
        /// Queue.
        queue: u16,
        /// Head.
        value: u32,
        /// What became of it; files keep only whether it was accepted.
        #[serde(rename = "accepted")]
        verdict: DoorbellVerdict,
    },
    /// It asked for submission entries.
    Asked {
        /// Queue.
        queue: u16,
        /// First place.
        slot: u32,
        /// How many.
        count: u32,
    },
    /// These were refused.
    FetchFailed {
        /// Queue.
        queue: u16,
        /// First place.
        slot: u32,
        /// How many.
        count: u32,
    },
    /// An entry arrived.
    Fetched {
        /// Queue.
        queue: u16,
        /// Its place.
        slot: u32,
        /// Command identifier.
        cid: u16,
        /// Opcode.
        opcode: u8,
        /// Namespace.
        nsid: u32,
        /// First logical block, of commands that have one.
        slba: u64,
        /// Logical blocks, of commands that have some.
        blocks: u32,
        /// First PRP entry.
        prp1: u64,
        /// Second PRP entry.
        prp2: u64,
    },
    /// A completion was written.
    Posted {
        /// Completion queue.
        queue: u16,
        /// Its place.
        slot: u32,
        /// Submission queue of the command.
        sq_id: u16,
        /// Command identifier.
        cid: u16,
        /// Status field, 15 bits.
        status: u16,
        /// Phase tag.
        phase: bool,
        /// Submission queue head.
        sq_head: u16,
    },
    /// A completion has to wait for room.
    Delayed {
        /// Completion queue.
        queue: u16,
        /// Command identifier.
        cid: u16,
    },
    /// CC.EN was set.
    Enabled,
    /// It is ready.
    Ready,
    /// CC.EN was cleared.
    Disabled,
    /// It was told to shut down.
    Shutdown,
    /// The PCI function was reset.
    FunctionReset,
    /// It stopped with a fatal status.
    Fatal,
    /// It ceased to be ready by itself.
    NotReady,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

impl DriveHappening {
    /// The arrival of a submission entry.
    #[must_use]
    pub const fn fetched(queue: u16, slot: u32, sqe: &Sqe) -> Self {
        Self::Fetched {
            queue,
            slot,
            cid: sqe.cid,
            opcode: sqe.opcode,
            nsid: sqe.nsid,
            slba: sqe.slba(),
            blocks: sqe.blocks(),
            prp1: sqe.prp1,
            prp2: sqe.prp2,
        }
    }

    /// The writing of a completion entry.
    #[must_use]
    pub const fn posted(queue: u16, slot: u32, cqe: &Cqe) -> Self {
        Self::Posted {
            queue,
            slot,
            sq_id: cqe.sq_id,
            cid: cqe.cid,
            status: cqe.status.bits(),
            phase: cqe.phase,
            sq_head: cqe.sq_head,
        }
    }
}

impl From<bool> for DoorbellVerdict {
    fn from(accepted: bool) -> Self {
        match accepted {
            true => Self::Accepted,
            false => Self::BadValue,
        }
    }
}

impl From<DoorbellVerdict> for bool {
    fn from(verdict: DoorbellVerdict) -> Self {
        verdict == DoorbellVerdict::Accepted
    }
}

impl fmt::Display for DoorbellVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::BadValue => "refused: no value that the queue can have",
            Self::NoQueue => "refused: no such queue",
            Self::NotRunning => "ignored: the controller does not run",
        })
    }
}

impl fmt::Display for DriveHappening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SqDoorbell {
                queue,
                value,
                verdict,
            } => doorbell(f, *queue, "submission doorbell, tail", *value, *verdict),
            Self::CqDoorbell {
                queue,
                value,
                verdict,
            } => doorbell(f, *queue, "completion doorbell, head", *value, *verdict),
            Self::Asked { queue, slot, count } => {
                write!(f, "queue {queue}: asks for {count} from slot {slot} on")
            }
            Self::FetchFailed { queue, slot, count } => {
                write!(f, "queue {queue}: refused were {count} from slot {slot} on")
            }
            Self::Fetched {
                queue,
                slot,
                cid,
                opcode,
                slba,
                blocks,
                ..
            } => {
                write!(f, "queue {queue}: slot {slot} fetched: command {cid}, ")?;
                command(f, *queue, *opcode, *slba, *blocks)
            }
            Self::Posted {
                queue,
                slot,
                cid,
                status,
                phase,
                sq_head,
                ..
            } => {
                let phase = u8::from(*phase);
                write!(
                    f,
                    "queue {queue}: slot {slot} completes command {cid}, head {sq_head}, phase \
                     {phase}"
                )?;
                match Status::from_bits(*status) {
                    status if status.is_success() => Ok(()),
                    status => write!(f, ": {status}"),
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
            Self::Other => f.write_str("unknown"),
        }
    }
}

fn doorbell(
    f: &mut fmt::Formatter<'_>,
    queue: u16,
    what: &str,
    value: u32,
    verdict: DoorbellVerdict,
) -> fmt::Result {
    write!(f, "queue {queue}: {what} {value}")?;
    match verdict {
        DoorbellVerdict::Accepted => Ok(()),
        _ => write!(f, ", {verdict}"),
    }
}

/// A command in words: which fields have a meaning depends on its opcode.
fn command(
    f: &mut fmt::Formatter<'_>,
    queue: u16,
    opcode: u8,
    slba: u64,
    blocks: u32,
) -> fmt::Result {
    use IoOpcode::{Read, Write, WriteZeroes};
    let admin = (queue == ADMIN_QUEUE).then(|| AdminOpcode::from_number(opcode));
    match (admin, IoOpcode::from_number(opcode)) {
        (Some(Some(known)), _) => write!(f, "{known:?}"),
        (None, Some(known @ (Read | Write | WriteZeroes))) => {
            write!(f, "{known:?} {blocks} blocks at {slba}")
        }
        (None, Some(known)) => write!(f, "{known:?}"),
        _ => write!(f, "opcode {opcode:#04x}"),
    }
}
