// SPDX-License-Identifier: Apache-2.0
//! NVM Express: the parts of *Base Specification 2.0c* and *NVM Command Set 1.0c* that we speak.
//!
//! Section numbers without another name are of the Base Specification.

pub mod entry;
pub mod feature;
pub mod identify;
pub mod log;
pub mod opcode;
pub mod prp;
pub mod record;
pub mod regs;
pub mod status;

pub use entry::{Cqe, Sqe};
pub use opcode::{AdminOpcode, IoOpcode};
pub use status::Status;

/// Namespace identifier that addresses all namespaces (3.2.1.1).
pub const NSID_ALL: u32 = u32::MAX;
/// The admin queue's identifier.
pub const ADMIN_QUEUE: u16 = 0;
