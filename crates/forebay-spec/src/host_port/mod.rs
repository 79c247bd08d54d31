// SPDX-License-Identifier: Apache-2.0
//! The host port: software feeds the streamer's streams through BAR 0.
//!
//! Its window begins with the pages for writing; those for reading follow. What is written there is
//! what goes into the write stream, the command's beat first.

pub mod regs;

/// Upper half of the `version` register: "FBH1" in memory order.
pub const VERSION_MAGIC: u64 = regs::version::MAGIC.get(regs::version::RESET);
/// Major version of the register map that this crate describes.
pub const VERSION_MAJOR: u64 = regs::version::MAJOR.get(regs::version::RESET);
