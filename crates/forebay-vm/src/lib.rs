// SPDX-License-Identifier: Apache-2.0
//! Real Linux around models and RTL: they are PCIe devices of a guest in QEMU.

pub mod guest;
pub mod protocol;
