// SPDX-License-Identifier: Apache-2.0
//! The recorder's registers.

pub mod regs;
