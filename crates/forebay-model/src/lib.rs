// SPDX-License-Identifier: Apache-2.0
//! Models of what surrounds the streamer: an NVMe SSD, the PCIe fabric, host memory, DRAM, Ethernet.
//!
//! A model says what a thing does and how long it takes. Time is a number of picoseconds that the
//! caller hands in ([`Time`]); nothing here reads a clock, and with the same seed the same calls
//! give the same answers.
//!
//! ```
//! use forebay_model::{Fabric, HostMemory, Medium, Node, Profile, Ssd};
//!
//! let profile = Profile::builtin("ideal")?;
//! let mut fabric = Fabric::new(&profile.fabric, 1);
//! let mut host = HostMemory::new(0x1_0000_0000, 64 << 20);
//! let medium = Medium::in_memory(profile.ssd.bytes());
//! let mut ssd = Ssd::new(&profile.ssd, medium, 1)?;
//! fabric.map(Node::Host, host.range());
//! for now in (0..10).map(|cycle| cycle * 3333) {
//!     host.step(now, &mut fabric);
//!     ssd.step(now, &mut fabric);
//! }
//! # Ok::<(), forebay_model::ModelError>(())
//! ```
#![forbid(unsafe_code)]

pub mod dram;
mod error;
pub mod fabric;
mod host;
mod medium;
pub mod net;
pub mod pci;
mod poison;
pub mod profile;
pub mod ssd;

pub use dram::{Dram, DramCounters, DramProfile, Refresh};
pub use error::ModelError;
pub use fabric::{
    Arrival, Completion, Direction, Fabric, FabricError, HopCount, Node, Request, Ticket,
};
pub use host::HostMemory;
pub use medium::Medium;
pub use poison::Poison;
pub use profile::{FabricProfile, Profile, SsdProfile};
pub use ssd::{Fault, FaultAction, FaultPlan, History, PageEvent, Pages, Ssd, Trigger};

/// A point in simulated time, or a span of it: picoseconds.
pub type Time = u64;

/// Picoseconds in a nanosecond.
pub const NANOSECOND: Time = 1_000;
/// Picoseconds in a microsecond.
pub const MICROSECOND: Time = 1_000_000;
/// Picoseconds in a millisecond.
pub const MILLISECOND: Time = 1_000_000_000;
/// Picoseconds in a second.
pub const SECOND: Time = 1_000_000_000_000;
