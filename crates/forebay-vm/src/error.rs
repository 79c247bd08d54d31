// SPDX-License-Identifier: Apache-2.0
//! Why a device can no longer be served.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::protocol::Malformed;

/// A failure of the server. Requests that cannot be carried out are answered with an error and do
/// not end it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket cannot be made.
    #[error(
        "cannot listen at {}: {source}; give a path of at most 107 bytes, in a folder that you \
         may write to",
        path.display()
    )]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another server listens there.
    #[error("another server listens at {}; end it, or give another path", path.display())]
    InUse {
        /// Where.
        path: PathBuf,
    },
    /// The connection failed.
    #[error("the connection to the virtual machine failed: {0}")]
    Socket(#[from] io::Error),
    /// QEMU cannot be started, or does not answer.
    #[error(transparent)]
    Qemu(#[from] forebay_qtest::Error),
    /// What came cannot be understood, and so nothing that follows can.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Something did not come in time.
    #[error(
        "{what} did not come within {} ms; is the virtual machine stopped, or stuck?",
        limit.as_millis()
    )]
    TimedOut {
        /// What was waited for.
        what: String,
        /// For how long.
        limit: Duration,
    },
    /// The device itself failed.
    #[error("the device failed: {0}")]
    Device(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
