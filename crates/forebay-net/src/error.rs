// SPDX-License-Identifier: Apache-2.0
//! What goes wrong with captures, interfaces and sending: field, value, limit, remedy.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong; [`miette::Diagnostic::help`] says what to do.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Error {
    /// A file cannot be opened, read or written.
    #[error("{doing} {path}: {source}")]
    #[diagnostic(help("check that the path exists, is readable and the disk has room"))]
    File {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A setting is outside its limit.
    #[error("{field} is {value}, but {limit}")]
    #[diagnostic(help("{remedy}"))]
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
    /// A file is no capture.
    #[error("{path} is no capture: {what}")]
    #[diagnostic(help("{remedy}"))]
    NoCapture {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A capture is damaged, or cannot be read further.
    #[error("the capture {path} is damaged at byte {at}, behind {frames} frames: {what}")]
    #[diagnostic(help("write what can be read of it anew: tshark -r FILE -F pcapng -w NEW"))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Bytes before the damage.
        at: usize,
        /// Frames before the damage.
        frames: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Linux refuses to open an interface or to set it up.
    #[error("the interface {name} cannot be used, {doing}: {source}")]
    #[diagnostic(help("{remedy}"))]
    Refused {
        /// The interface.
        name: String,
        /// What was to be done.
        doing: &'static str,
        /// Why not.
        source: io::Error,
        /// What to do.
        remedy: String,
    },
    /// An interface that is in use no longer takes or gives frames.
    #[error("{doing} the interface {name}: {source}")]
    #[diagnostic(help("leave it up while it is in use: ip link show"))]
    Gone {
        /// The interface.
        name: String,
        /// What was to be done.
        doing: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// There is no way to a receiver.
    #[error("nothing can be sent to {to}: {source}")]
    #[diagnostic(help(
        "look whether there is a way: ip route get ADDRESS; and whether addresses of this machine are \
         still tentative: ip -6 address"
    ))]
    NoWay {
        /// The receiver.
        to: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// Linux refuses a frame.
    #[error("sending {mtu} bytes to {to}: {source}")]
    #[diagnostic(help("{remedy}"))]
    Unsent {
        /// Bytes of a full frame behind its Ethernet header.
        mtu: u16,
        /// The receiver.
        to: SocketAddr,
        /// Why not.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// Linux' statistics no longer list an interface that is in use.
    #[error("{table} says nothing of the interface {name}")]
    #[diagnostic(help("it was renamed or taken away: leave it alone while it is in use"))]
    Unlisted {
        /// The interface.
        name: String,
        /// The file that should list it.
        table: &'static str,
    },
}

impl Error {
    /// A file that fails.
    pub(crate) fn file(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::File {
            doing,
            path,
            source,
        }
    }

    /// A setting outside its limit.
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
}
