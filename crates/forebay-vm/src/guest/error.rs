// SPDX-License-Identifier: Apache-2.0
//! What can go wrong around a guest.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Result of what the guest is asked for.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, with what was seen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The image could not be made.
    #[error("the guest image could not be made: {said}")]
    Image {
        /// What the recipe said last.
        said: String,
        /// What to do.
        remedy: String,
    },
    /// A file, a folder or a program fails.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// What the caller asks for cannot be.
    #[error("{field} is {value}, but {limit}")]
    Setting {
        /// Which setting.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        limit: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {limit:?}; {} ends:\n{tail}", log.display())]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// For how long.
        limit: Duration,
        /// The serial log.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },
    /// QEMU ended before the guest had done its work.
    #[error("QEMU ended ({status}) before {what}\n{said}")]
    Ended {
        /// How.
        status: String,
        /// What was waited for.
        what: &'static str,
        /// What QEMU said, and the last lines of the serial log.
        said: String,
    },
    /// An archive from the guest is none.
    #[error("the guest's files cannot be unpacked: {field} is {value}, but {limit}")]
    Archive {
        /// Field of the archive.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        limit: &'static str,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// For `map_err`: what was tried, with which path.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// What to do about it, in plain words.
    pub fn remedy(&self) -> &str {
        match self {
            Self::Image { remedy, .. } => remedy,
            Self::Io { .. } => "check that the path exists, is readable and the disk has room",
            Self::Setting { remedy, .. } => remedy,
            Self::Timeout { .. } => {
                "look at the serial log; on a busy machine give it more time with --timeout"
            }
            Self::Ended { .. } => {
                "a device that ended or misbehaved takes QEMU with it: look at its own messages"
            }
            Self::Archive { .. } => "leave only plain files in the shared folder",
            Self::Interrupted => "start again",
        }
    }
}
