// SPDX-License-Identifier: Apache-2.0
//! The flight recorder: what both sides of a queue pair say, put side by side after a hang.
//!
//! The *host* of the queues is the streamer, or a [`QueuePair`](crate::QueuePair) in host memory.
//! The *drive* tells by its registers and, if it still answers, its error log; a simulated one by a
//! [`DriveRecord`], too. [`Flight::take`] reads all this over any [`Bus`] and never fails: what
//! cannot be had is left out, with a note. [`diagnose`] says in one line where it hangs.
//!
//! Everything here is kept as JSON and read back, perhaps from a file that was changed by hand:
//! any values can stand in any field.

mod diagnose;
mod drive;
mod host;
pub(crate) mod recorder;
mod window;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bus::Bus;
use crate::session::Session;

pub use diagnose::{Diagnosis, Verdict, diagnose};
pub use drive::{DriveEvent, DriveRecord, DriveRegisters, DriveSide, LoggedError};
pub use host::{Cause, Holder, HostSide, Ignored};
pub use recorder::{HOST_EVENTS, HostEvent, HostHappening};
pub use window::SlotEntry;

/// What to ask beyond registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Entries of the streamer's submission queue to read, counted back from its tail, while
    /// commands are outstanding. Each leaves five events of fetching in the streamer's own trace.
    pub slots: u32,
    /// How long to wait for the drive's error log; `None` does not ask for it.
    pub error_log: Option<Duration>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            slots: 16,
            error_log: Some(Duration::from_secs(1)),
        }
    }
}

/// Both sides of a queue pair, and what follows from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flight {
    /// The side that submits; none where it cannot be asked.
    pub host: Option<HostSide>,
    /// The streamer's submission queue before its tail, oldest first.
    pub submission_queue: Vec<SlotEntry>,
    /// The drive's side.
    pub drive: DriveSide,
    /// What could not be had, and why.
    pub notes: Vec<String>,
    /// Where it hangs.
    pub diagnosis: Diagnosis,
}

impl Flight {
    /// Reads what both sides say of the queue pair in use.
    ///
    /// The streamer's queue window is read last, since that shows in its trace.
    pub fn take(session: &mut Session, bus: &mut dyn Bus, ask: &Ask) -> Self {
        let mut notes = Vec::new();
        let host = HostSide::take(session, bus, &mut notes);
        let drive = DriveSide::take(session, bus, ask, &mut notes);
        let submission_queue = match &host {
            Some(host) if host.holder == Holder::Streamer => {
                window::read(session, bus, host, ask.slots, &mut notes)
            }
            _ => Vec::new(),
        };
        let diagnosis = diagnose(host.as_ref(), &drive);
        Self {
            host,
            submission_queue,
            drive,
            notes,
            diagnosis,
        }
    }

    /// Adds what a simulated drive has recorded, and draws the conclusions anew.
    pub fn with_record(mut self, record: DriveRecord) -> Self {
        self.drive.record = Some(record);
        self.diagnosis = diagnose(self.host.as_ref(), &self.drive);
        self
    }
}
