// SPDX-License-Identifier: Apache-2.0
//! What goes wrong: field, value, limit, remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk did not take or give bytes.
    #[error("{doing} at byte {at} of the disk: {source}")]
    Disk {
        /// What was to be done.
        doing: &'static str,
        /// Where.
        at: u64,
        /// Why not.
        source: io::Error,
    },
    /// A file or folder cannot be used.
    #[error("{doing} {}: {source}", path.display())]
    File {
        /// What was to be done.
        doing: &'static str,
        /// To which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A setting that cannot be.
    #[error("{field} is {value}, but {limit}")]
    Setting {
        /// Which.
        field: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        limit: String,
        /// What to do.
        remedy: &'static str,
    },
    /// What lies on the disk cannot be used.
    #[error("{what}")]
    Recording {
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
    /// What was to be stored could not be read.
    #[error("reading what is to be stored: {0}")]
    Source(io::Error),
    /// What was to be written elsewhere could not be.
    #[error("writing what was read: {0}")]
    Sink(io::Error),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// A file or folder that cannot be used.
    pub(crate) fn file(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// A setting that cannot be.
    pub(crate) fn setting(
        field: &'static str,
        value: impl fmt::Display,
        limit: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self::Setting {
            field,
            value: value.to_string(),
            limit: limit.into(),
            remedy,
        }
    }

    /// Something on the disk that cannot be used.
    pub(crate) fn recording(what: impl Into<String>, remedy: &'static str) -> Self {
        Self::Recording {
            what: what.into(),
            remedy,
        }
    }

    /// What to do.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Disk { .. } => "check the file or the drive, and the rights to it",
            Self::File { .. } => "check that the path exists, is readable and the disk has room",
            Self::Setting { remedy, .. } | Self::Recording { remedy, .. } => remedy,
            Self::Source(_) => "check that the file can be read and stays as it is meanwhile",
            Self::Sink(_) => "check that there is room, and the rights to it",
            Self::Interrupted => "start again",
        }
    }
}
