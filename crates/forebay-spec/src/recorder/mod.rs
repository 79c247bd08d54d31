// SPDX-License-Identifier: Apache-2.0
//! The recorder: its registers, and the journal that tells what lies where on the SSD.

pub mod journal;
pub mod regs;

pub use journal::{Block, BlockError, Row};
