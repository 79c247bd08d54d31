// SPDX-License-Identifier: Apache-2.0
//! Real Linux around models and RTL: they are PCIe devices of a guest in QEMU.
//!
//! [`guest`] is the virtual machine: its image, made from packages, and running commands in it.
//! [`root`] is a machine without a guest, for the program that brings drives up without a CPU.
//!
//! A [`Device`] is served over a UNIX socket by the vfio-user protocol. QEMU's `vfio-user-pci` is
//! the client; the guest's kernel sees a PCI function like any other:
//!
//! ```text
//! guest driver ── BAR, configuration space ──▶ QEMU ── messages ──▶ server ──▶ Device
//! guest memory ◀── mapped from QEMU's descriptors ─────────────────────────── Device
//! other devices' BARs ◀── QEMU ◀── DMA messages ────────────────── server ◀── Device
//! interrupts ◀── QEMU ◀── eventfd ──────────────────────────────── server ◀── Device
//! ```
//!
//! One thread does everything: it takes messages, lets the device work a little, sends what came of
//! it, and waits only when there is nothing to do.

mod device;
mod dma;
mod error;
pub mod guest;
mod interrupts;
mod link;
mod memory;
pub mod protocol;
pub mod root;
mod server;
mod socket;
mod ssd;
mod streamer;

pub use device::{Answer, Bar, Device, Guest, Pace, Ticket};
pub use error::{Error, Result};
pub use link::Refused;
pub use server::{End, Event, Options, serve, serve_client};
pub use ssd::SsdDevice;
pub use streamer::{StreamerDevice, Transaction};
