// SPDX-License-Identifier: Apache-2.0
//! Wire formats that hardware, models, driver and user programs share.
//!
//! Everything here is a number or a layout: no I/O, no `unsafe`; only [`nvme::record`] has lists. What RTL needs too
//! is rendered from the same constants by [`codegen`], so that no constant is written twice.
//!
//! * [`boot`]: bring-up of drives without a CPU.
//! * [`host_port`]: registers of the host port, by which software feeds the streamer.
//! * [`net`]: frames with payload, pause frames, what becomes of a frame.
//! * [`nvme`]: the parts of *NVM Express Base 2.0c* and *NVM Command Set 1.0c* that we speak.
//! * [`pci`]: configuration space as both a model and a driver see it.
//! * [`raw`]: registers of the raw recorder.
//! * [`recorder`]: registers of the recorder.
//! * [`store`]: tar files and their index on the SSD.
//! * [`stripes`]: several drives as one address space.
//! * [`streamer`]: our own streamer: command beats, error codes, windows, registers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod boot;
mod bytes;
pub mod codegen;
mod field;
pub mod host_port;
pub mod net;
mod numbered;
pub mod nvme;
pub mod pci;
pub mod raw;
pub mod recorder;
pub mod store;
pub mod streamer;
pub mod stripes;
