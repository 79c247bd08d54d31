// SPDX-License-Identifier: Apache-2.0
//! What can go wrong, always with the value seen, the limit it broke and what to do about it.

use std::ops::Not;
use std::time::Duration;

use forebay_spec::nvme::Status;

use crate::bus::{BusError, PciAddress};

/// A failure of the driver.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bus itself failed.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// Something that must be there is not.
    #[error("{what} was not found: {seen}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// What is there instead.
        seen: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A device states something with which the driver cannot, or must not, go on.
    #[error("{field} is {value}, but {limit}")]
    Refused {
        /// Field, in the specification's words.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it has to be, and why.
        limit: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The caller asks for what cannot be.
    #[error("{parameter} is {value}, but {limit}")]
    Parameter {
        /// Parameter.
        parameter: &'static str,
        /// Its value.
        value: u64,
        /// What it may be.
        limit: String,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {limit:?}: {seen}")]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// For how long.
        limit: Duration,
        /// What was seen last.
        seen: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A command completed with an error status.
    #[error("{command} failed: {status}")]
    Command {
        /// The command, in the specification's words.
        command: &'static str,
        /// Its status.
        status: Status,
    },
    /// The controller reports a fatal status.
    #[error("the controller reports a fatal status (CSTS.CFS) {during}")]
    Fatal {
        /// When that was seen.
        during: &'static str,
    },
    /// A device no longer answers: every bit reads as one.
    #[error("{device} no longer answers, all its bits read as one, {during}")]
    Gone {
        /// The device.
        device: PciAddress,
        /// When that was seen.
        during: &'static str,
    },
    /// Data for a write could not be read, or read data not be stored.
    #[error("{what}: {source}")]
    Data {
        /// What was being done.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// No room in a queue.
    #[error("queue {queue} is full: {outstanding} commands are outstanding")]
    QueueFull {
        /// Queue identifier.
        queue: u16,
        /// Commands outstanding, all it can hold.
        outstanding: usize,
    },
}

impl Error {
    /// An invalid parameter.
    pub(crate) fn parameter(
        parameter: &'static str,
        value: impl Into<u64>,
        limit: impl Into<String>,
    ) -> Self {
        Self::Parameter {
            parameter,
            value: value.into(),
            limit: limit.into(),
        }
    }

    /// What to do about it, in plain words.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Bus(error) => bus_remedy(error),
            Self::NotFound { remedy, .. }
            | Self::Refused { remedy, .. }
            | Self::Timeout { remedy, .. } => remedy,
            Self::Parameter { .. } => "choose another value",
            Self::Command { status, .. } => status_remedy(*status),
            Self::Fatal { .. } => {
                "reset the controller by a new bring-up; if it comes again, switch the drive's \
                 power off and on, and read its error log"
            }
            Self::Gone { .. } => {
                "the card was removed, lost its link or its power: look at the slot and the link, \
                 then scan the bus again"
            }
            Self::Data { .. } => {
                "check the file and the space on its disk, then clear the host port"
            }
            Self::QueueFull { .. } => "poll for completions before submitting more",
        }
    }
}

/// What a device answers, unless every bit is one: then it has gone.
pub(crate) fn answered<T: Copy + Default + PartialEq + Not<Output = T>>(
    device: PciAddress,
    value: T,
    during: &'static str,
) -> Result<T, Error> {
    match value == !T::default() {
        true => Err(Error::Gone { device, during }),
        false => Ok(value),
    }
}

fn bus_remedy(error: &BusError) -> &'static str {
    match error {
        BusError::NoDevice { .. } => "check the address, and that the card is seen on the bus",
        BusError::OutsideBar { .. } => {
            "the BAR is smaller than the device needs: check that the right bitstream is loaded"
        }
        BusError::OutOfMemory { .. } => "give the bus more memory for devices, or use less",
        BusError::OutsideBuffer { .. } => "allocate a larger buffer",
        BusError::TimeStandsStill { .. } => {
            "this is a defect of the bus: its relax must let time pass"
        }
        BusError::Interrupted => "start again",
        BusError::Carrier { .. } => "see the cause",
    }
}

/// What a status of a command means for the one who sent it (3.3.3.2.1, figures 94–97).
fn status_remedy(status: Status) -> &'static str {
    match (status.sct(), status.sc()) {
        (0, 0x01) => "the controller lacks this command: use one of NVMe 1.0 or later",
        (0, 0x02) => "a field of the command is refused: report this with the drive's model",
        (0, 0x04) => {
            "the controller could not reach the memory: check that bus mastering is on and that \
             the IOMMU maps the address, and for queues in the FPGA that peer-to-peer is allowed"
        }
        (0, 0x06) => "an error inside the drive: try again, then read its error log",
        (0, 0x0b) => "the namespace does not exist or is not attached: choose an active one",
        (0, 0x13) => "a PRP entry has an offset the controller refuses: align the buffer",
        (0, 0x80) => "the range ends past the namespace: check address and length",
        (0, 0x82) => "the namespace is not ready yet: wait and try again",
        (1, 0x00) => "the completion queue does not exist: create it first",
        (1, 0x01) => "the queue identifier is refused: choose one up to the granted number",
        (1, 0x02) => "the queue size is refused: choose one of 2 to CAP.MQES + 1 entries",
        (2, 0x85) => "data and medium differ: see where the data come from",
        (2, 0x81) => "the medium cannot be read there: the data at this address are lost",
        (2, _) => "the medium failed: read the drive's error log and its health",
        _ if status.do_not_retry() => "the same command would fail again: read the error log",
        _ => "try again; if it comes again, read the drive's error log",
    }
}
