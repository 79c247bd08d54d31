// SPDX-License-Identifier: Apache-2.0
//! The drive's side of a queue pair.

use forebay_spec::nvme::log::ErrorEntry;
use forebay_spec::nvme::regs::{self, Cc, Csts, ShutdownStatus};
use serde::{Deserialize, Serialize};

use super::Ask;
use crate::bus::Bus;
use crate::session::Session;

/// Entries of the error log to ask for.
const LOGGED: usize = 16;

/// What the drive says, and what a simulated one has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriveSide {
    /// Its registers; none where they were not read.
    pub registers: Option<DriveRegisters>,
    /// The newest entries of its error log, newest first; none where it was not asked or did not
    /// answer.
    pub error_log: Option<Vec<LoggedError>>,
    /// What happened inside: of a simulated drive only.
    pub record: Option<DriveRecord>,
}

/// The registers that say how a controller is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriveRegisters {
    /// Controller configuration (CC).
    pub cc: u32,
    /// Controller status (CSTS).
    pub csts: u32,
    /// It is no longer there: every bit reads as one.
    pub gone: bool,
    /// CC.EN.
    pub enabled: bool,
    /// CSTS.RDY.
    pub ready: bool,
    /// CSTS.CFS.
    pub fatal: bool,
    /// It shuts down or has shut down (CSTS.SHST).
    pub shut_down: bool,
}

/// An entry of the error log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoggedError {
    /// Running number of the error.
    pub count: u64,
    /// Submission queue; none where no command is to blame.
    pub queue: Option<u16>,
    /// Command identifier.
    pub cid: Option<u16>,
    /// Status field, 15 bits.
    pub status: u16,
    /// The status in words.
    pub text: String,
    /// First logical block with the error.
    pub lba: u64,
}

/// What a drive has recorded of its queues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriveRecord {
    /// The drive's time when this was taken.
    pub now_ns: u64,
    /// Events since power-on, those no longer kept included.
    pub total: u64,
    /// How its queues stand.
    pub queues: Vec<DriveQueue>,
    /// The last events, oldest first.
    pub events: Vec<DriveEvent>,
}

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
    /// Next entry to arrive.
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
    /// Identifiers of commands fetched and not completed.
    pub under_way: Vec<u16>,
}

/// An event inside the drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveEvent {
    /// The drive's time.
    pub time_ns: u64,
    /// What.
    #[serde(flatten)]
    pub what: DriveHappening,
    /// The same in words.
    #[serde(default)]
    pub text: String,
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
        /// It counts.
        accepted: bool,
    },
    /// A write of a completion doorbell arrived.
    CqDoorbell {
        /// Queue.
        queue: u16,
        /// Head.
        value: u32,
        /// It counts.
        accepted: bool,
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

impl DriveSide {
    /// Reads the registers, and asks for the error log where the drive looks as if it answered.
    pub(super) fn take(
        session: &mut Session,
        bus: &mut dyn Bus,
        ask: &Ask,
        notes: &mut Vec<String>,
    ) -> Self {
        let device = session.facts().nvme.address;
        let mut read = |offset| bus.bar_read32(device, 0, offset);
        let registers = match (read(regs::CC), read(regs::CSTS)) {
            (Ok(cc), Ok(csts)) => DriveRegisters::new(cc, csts),
            (Err(error), _) | (_, Err(error)) => {
                notes.push(format!("the drive's registers cannot be read: {error}"));
                return Self::default();
            }
        };
        let mut side = Self {
            registers: Some(registers),
            ..Self::default()
        };
        let Some(limit) = ask.error_log else {
            return side;
        };
        if !registers.answers() {
            notes.push("the drive was not asked for its error log: it cannot answer".into());
            return side;
        }
        match session.admin().error_log(bus, LOGGED, limit) {
            Ok(entries) => side.error_log = Some(entries.iter().map(LoggedError::new).collect()),
            Err(error) => notes.push(format!("the drive's error log is missing: {error}")),
        }
        side
    }
}

impl DriveRegisters {
    /// Takes the values apart.
    pub fn new(cc: u32, csts: u32) -> Self {
        let status = Csts::from_bits(csts);
        let gone = csts == u32::MAX;
        Self {
            cc,
            csts,
            gone,
            enabled: !gone && Cc::from_bits(cc).enable,
            ready: !gone && status.ready,
            fatal: !gone && status.fatal,
            shut_down: !gone && status.shutdown != ShutdownStatus::Normal,
        }
    }

    /// An admin command has a chance.
    pub const fn answers(&self) -> bool {
        self.enabled && self.ready && !self.fatal && !self.shut_down && !self.gone
    }
}

impl LoggedError {
    fn new(entry: &ErrorEntry) -> Self {
        // FFFFh: no command is to blame (5.16.1.2).
        let known = |id: u16| (id != u16::MAX).then_some(id);
        Self {
            count: entry.count,
            queue: known(entry.sq_id),
            cid: known(entry.cid),
            status: entry.status.bits(),
            text: entry.status.to_string(),
            lba: entry.lba,
        }
    }
}

impl DriveRecord {
    /// How this queue stands; none where the drive has no such queue.
    pub fn queue(&self, queue: u16) -> Option<&DriveQueue> {
        self.queues.iter().find(|it| it.queue == queue)
    }
}
