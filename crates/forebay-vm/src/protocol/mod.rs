// SPDX-License-Identifier: Apache-2.0
//! vfio-user messages: what a virtual machine (the client) and a device (the server) say to each
//! other over a UNIX socket.
//!
//! The structures are those of Linux's `vfio.h`, little-endian, behind a header of 16 bytes. The
//! reference is libvfio-user's *vfio-user Protocol Specification*; section names below are its.
//! Where QEMU's client differs from it, we follow QEMU and say so.
//!
//! Nothing here does I/O. [`Request`] and [`Reply`] are parsed from bytes that may be anything:
//! each field is checked, and what cannot be is a [`Malformed`] with field, value and limit.

mod error;
mod fields;
mod header;
mod reply;
mod request;
mod version;

pub use error::{Errno, Malformed};
pub use header::{Command, Header, Kind};
pub use reply::{Area, DeviceInfo, IrqInfo, RegionInfo, Reply};
pub use request::{Action, DmaMap, DmaUnmap, IrqData, Request, SetIrqs};
pub use version::{Capabilities, Version};

/// Greatest number of bytes that one access to a region or to memory moves, either way.
pub const DATA_MOST: u32 = 1 << 20;
/// Greatest message: header, the fields of an access, and its data.
pub const MESSAGE_MOST: u32 = Header::BYTES as u32 + 16 + DATA_MOST;
/// Descriptors that may come with one message.
pub const DESCRIPTORS_MOST: usize = 16;

/// Numbers of a PCI device's regions (`VFIO_PCI_*_REGION_INDEX`).
pub mod region {
    /// Regions: six BARs, expansion ROM, configuration space, VGA.
    pub const COUNT: u32 = 9;
    /// BARs are regions 0 to 5.
    pub const BARS: u32 = 6;
    /// Configuration space.
    pub const CONFIG: u32 = 7;
}

/// Numbers of a PCI device's interrupt types (`VFIO_PCI_*_IRQ_INDEX`).
pub mod irq {
    /// Types: INTx, MSI, MSI-X, error, request.
    pub const COUNT: u32 = 5;
    /// MSI-X.
    pub const MSIX: u32 = 2;
    /// Uncorrectable errors of the function.
    pub const ERROR: u32 = 3;
}
