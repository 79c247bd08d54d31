// SPDX-License-Identifier: Apache-2.0
//! The raw recorder: one plain stream between two addresses of a drive.

pub mod regs;
