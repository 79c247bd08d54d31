// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with settings, frames and beats.

use super::frame::MOST_BYTES;
use thiserror::Error;

/// A network cannot be made, or a frame cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetError {
    /// A setting that cannot be.
    #[error("{field} = {value}, but must be {limit}")]
    Setting {
        /// The field, with what it belongs to.
        field: &'static str,
        /// The value.
        value: String,
        /// What it must be.
        limit: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A frame without bytes, or with more than any wire carries.
    #[error("a frame of {bytes} bytes, but it must have 1 to {MOST_BYTES}")]
    Frame {
        /// Its bytes.
        bytes: usize,
    },
    /// What frames are read from fails: a file, an interface.
    #[error("{what}: {reason}")]
    Input {
        /// Its name.
        what: String,
        /// What it says.
        reason: String,
    },
    /// What an object is read from fails.
    #[error("object {object}, byte {offset} of {bytes}: {reason}")]
    Content {
        /// Number of the object.
        object: u64,
        /// Where in it.
        offset: u64,
        /// How long it was to be.
        bytes: u64,
        /// What the reader says.
        reason: String,
    },
}

/// A beat that no MAC can take. It is not taken, and the frame stays as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BeatError {
    /// The MAC was not ready.
    #[error("a beat is handed in while TREADY is low. Wait for it")]
    NotReady,
    /// Not from the lowest bit on without holes, or without bytes.
    #[error("TKEEP = {keep:#018x}, but must be ones from bit 0 on, at least one, without holes")]
    Keep {
        /// The value.
        keep: u64,
    },
    /// Not 1 to 64 bytes.
    #[error("a beat of {bytes} bytes, but it must have 1 to 64")]
    Bytes {
        /// The value.
        bytes: u8,
    },
    /// Not full, and not the last one.
    #[error("a beat of {bytes} bytes without TLAST, but only the last one may have fewer than 64")]
    Partial {
        /// Its bytes.
        bytes: u8,
    },
    /// The frame is too long.
    #[error("a frame of {bytes} bytes and more, but it must have at most {MOST_BYTES}")]
    Long {
        /// Its bytes with this beat.
        bytes: usize,
    },
}

impl NetError {
    /// What to do.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Setting { remedy, .. } => remedy,
            Self::Frame { .. } => "leave it out, or cut it",
            Self::Input { .. } => "check it, and begin again: what came before it has been sent",
            Self::Content { .. } => {
                "state as many bytes as there are, and check that the input can be read"
            }
        }
    }
}
