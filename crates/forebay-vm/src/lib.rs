// SPDX-License-Identifier: Apache-2.0
//! Real Linux around the RTL: a guest in QEMU, made from packages.
//!
//! * [`guest`]: its image, its machine, and running commands in it.

pub mod guest;
