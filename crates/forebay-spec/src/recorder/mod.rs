// SPDX-License-Identifier: Apache-2.0
//! The recorder: its registers, and what goes through it.

pub mod elements;
pub mod packet;
pub mod regs;
