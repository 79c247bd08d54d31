// SPDX-License-Identifier: Apache-2.0
//! The drive's side of a queue pair.

use forebay_spec::nvme::log::ErrorEntry;
use forebay_spec::nvme::record::{DriveHappening, DriveQueue};
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
    /// Decodes the values.
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
