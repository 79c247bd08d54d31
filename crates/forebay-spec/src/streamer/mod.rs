// SPDX-License-Identifier: Apache-2.0
//! The NVMe streamer: what its users, the SSD and the driver see of it.

pub mod bar0;
pub mod error;
pub mod regs;
pub mod trace;
pub mod user;
pub mod window;

pub use error::UserError;
pub use trace::{TraceEvent, TraceKind};
pub use user::{ReadCommand, WriteCommand};

/// Value of the `identity` register of the on-chip-buffer variant, the same as SNAcc's.
pub const IDENTITY_ONCHIP: u64 = 0xa4d2_10bb;
/// Value of the `identity` register of the on-board-DRAM variant.
pub const IDENTITY_ONBOARD: u64 = 0x72be_db1a;
/// Value of the `identity` register of the host-DRAM variant.
pub const IDENTITY_HOST: u64 = 0xfb23_5ea7;
/// Upper half of the `version` register: "FBY1" in memory order.
pub const VERSION_MAGIC: u32 = 0x3159_4246;

/// PCI vendor of the simulated FPGA card (the one Xilinx cards carry).
pub const PCI_VENDOR: u16 = 0x10ee;
/// PCI device of the simulated FPGA card.
pub const PCI_DEVICE: u16 = 0xfb01;
