// SPDX-License-Identifier: Apache-2.0
//! The driver's [`Bus`](forebay_driver::Bus) on hardware, through Linux VFIO.
//!
//! * [`Sysfs`]: the PCI functions that the kernel knows, and what it says of them.
//! * [`usage`]: whether a drive is in use, by mounts, swap, other layers.
//! * [`Topology`]: whether drive and card can talk to each other on this machine.
//! * [`Bound`]: a function given to vfio-pci, and given back when dropped.
//! * [`VfioBus`]: drive and card in one IOMMU address space, memory and BARs of both mapped, so
//!   that they reach each other as they reach the host.
//!
//! Nothing here changes a device before it is certain that it is not in use.

mod bind;
mod bus;
pub mod capability;
mod container;
mod error;
mod iova;
mod kernel;
mod sysfs;
pub mod topology;
mod unguarded;
pub mod usage;

pub use bind::Bound;
pub use bus::{Interrupt, Settings, VfioBus};
pub use error::{Error, Result};
pub use sysfs::{Bar, Link, Pci, Sysfs};
pub use topology::{Measured, Topology};
