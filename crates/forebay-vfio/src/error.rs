// SPDX-License-Identifier: Apache-2.0
//! What can go wrong between a program and a device.

use std::io;
use std::path::{Path, PathBuf};

use forebay_driver::{BusError, PciAddress};

/// Result of dealing with devices.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, with what was seen and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such function.
    #[error("no PCI function is at {device}: {} is missing", path.display())]
    NoDevice {
        /// Where it was looked for.
        device: PciAddress,
        /// In which file.
        path: PathBuf,
    },
    /// The drive is in use.
    #[error("{device} is in use: {}", uses.join("; "))]
    InUse {
        /// The drive.
        device: PciAddress,
        /// By whom.
        uses: Vec<String>,
    },
    /// The kernel or the device states something with which we cannot go on.
    #[error("{field} is {value}, but {limit}")]
    Refused {
        /// Which field.
        field: String,
        /// Its value.
        value: String,
        /// What it has to be.
        limit: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A file of the kernel fails.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// VFIO refuses.
    #[error("VFIO refuses {what}: {source}")]
    Vfio {
        /// What was asked for.
        what: String,
        /// Why it failed.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
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

    /// For `map_err`: what VFIO was asked for, and what helps where it refuses.
    pub(crate) fn vfio(
        what: impl Into<String>,
        remedy: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Vfio {
            what,
            source,
            remedy,
        }
    }

    /// What to do about it, in plain words.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NoDevice { .. } => {
                "`forebay devices` lists what is there; after plugging in: \
                 echo 1 > /sys/bus/pci/rescan"
            }
            Self::InUse { .. } => {
                "unmount it, or swap off, or stop what is on top of it; everything on it can be \
                 lost when it is given to another driver"
            }
            Self::Refused { remedy, .. } | Self::Vfio { remedy, .. } => remedy,
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run it as root, or let root give you the device"
            }
            Self::Io { .. } => "check that the kernel has VFIO (modprobe vfio-pci)",
        }
    }
}

impl From<Error> for BusError {
    fn from(error: Error) -> Self {
        Self::Carrier {
            what: "VFIO".into(),
            source: error.into(),
        }
    }
}
