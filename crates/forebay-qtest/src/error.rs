// SPDX-License-Identifier: Apache-2.0
//! Why there is no answer of QEMU.

use std::io;
use std::path::{Path, PathBuf};

use crate::PROGRAM;

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of QEMU, or on the way to it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be started.
    #[error("{PROGRAM} cannot be started: {source}")]
    Missing {
        /// Why.
        source: io::Error,
    },
    /// A file of the machine fails.
    #[error("{doing} {}: {source}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Guest memory cannot be accessed.
    #[error("accessing guest memory at {address:#x}: {source}")]
    Memory {
        /// Where.
        address: u64,
        /// Why it failed.
        source: io::Error,
    },
    /// QEMU has ended, or does not answer.
    #[error("QEMU does not answer `{line}`: {source}; it said: {said}")]
    Silent {
        /// What it was asked.
        line: String,
        /// What was seen.
        source: io::Error,
        /// The end of what it wrote to its log.
        said: String,
    },
    /// An answer that is none.
    #[error("QEMU answered `{line}` with `{answer}`, but OK and a number were expected")]
    Answer {
        /// What it was asked.
        line: String,
        /// What it said.
        answer: String,
    },
}

impl Error {
    /// For `map_err`: what was tried, with which path.
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// What to do about it.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Missing { .. } => {
                "install QEMU (Debian: qemu-system-x86), and see that it is in PATH"
            }
            Self::File { .. } | Self::Memory { .. } => {
                "check that the folder for temporary files has room"
            }
            Self::Silent { .. } => "see what QEMU says; 7.2 and later are known to work",
            Self::Answer { .. } => "use QEMU 7.2 or later",
        }
    }
}
