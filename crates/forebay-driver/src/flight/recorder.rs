// SPDX-License-Identifier: Apache-2.0
//! What a queue pair in host memory remembers: a ring of its last events.

use std::collections::VecDeque;
use std::time::Duration;

use forebay_spec::nvme::{Cqe, Sqe};
use serde::{Deserialize, Serialize};

use super::host::Cause;

/// Events that a queue pair keeps.
pub const HOST_EVENTS: usize = 256;

/// Something that the driver did or saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HostHappening {
    /// A command was written into the submission queue.
    Submitted {
        /// Its place.
        slot: u32,
        /// Command identifier.
        cid: u16,
        /// Opcode.
        opcode: u8,
        /// First logical block.
        slba: u64,
        /// Logical blocks.
        blocks: u32,
        /// First PRP entry.
        prp1: u64,
        /// Second PRP entry.
        prp2: u64,
    },
    /// The submission doorbell was rung.
    SqDoorbell {
        /// Tail.
        value: u32,
    },
    /// A completion was taken.
    Completed {
        /// Its place.
        slot: u32,
        /// Command identifier.
        cid: u16,
        /// Status field, 15 bits.
        status: u16,
        /// Submission queue head.
        sq_head: u16,
    },
    /// A completion was ignored.
    Ignored {
        /// Its place.
        slot: u32,
        /// Command identifier.
        cid: u16,
        /// Status field, 15 bits.
        status: u16,
        /// Submission queue head.
        sq_head: u16,
        /// Why.
        cause: Cause,
    },
    /// The completion doorbell was rung.
    CqDoorbell {
        /// Head.
        value: u32,
    },
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// An event, and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEvent {
    /// Time of the bus; for a submission that of the poll before it.
    pub time_ns: u64,
    /// What.
    #[serde(flatten)]
    pub what: HostHappening,
}

/// The ring.
#[derive(Debug)]
pub(crate) struct Recorder {
    ring: VecDeque<HostEvent>,
    now: u64,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            ring: VecDeque::with_capacity(HOST_EVENTS),
            now: 0,
        }
    }

    /// What follows happens at this time.
    pub(crate) fn at(&mut self, now: Duration) {
        self.now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    }

    pub(crate) fn push(&mut self, what: HostHappening) {
        if self.ring.len() == HOST_EVENTS {
            self.ring.pop_front();
        }
        let time_ns = self.now;
        self.ring.push_back(HostEvent { time_ns, what });
    }

    pub(crate) fn submitted(&mut self, slot: u16, sqe: &Sqe) {
        self.push(HostHappening::Submitted {
            slot: slot.into(),
            cid: sqe.cid,
            opcode: sqe.opcode,
            slba: sqe.slba(),
            blocks: sqe.blocks(),
            prp1: sqe.prp1,
            prp2: sqe.prp2,
        });
    }

    pub(crate) fn taken(&mut self, slot: u16, cqe: &Cqe, ignored: Option<Cause>) {
        let (slot, cid, sq_head) = (slot.into(), cqe.cid, cqe.sq_head);
        let status = cqe.status.bits();
        self.push(match ignored {
            None => HostHappening::Completed {
                slot,
                cid,
                status,
                sq_head,
            },
            Some(cause) => HostHappening::Ignored {
                slot,
                cid,
                status,
                sq_head,
                cause,
            },
        });
    }

    pub(crate) fn events(&self) -> Vec<HostEvent> {
        self.ring.iter().copied().collect()
    }
}
