// SPDX-License-Identifier: Apache-2.0
//! Brings an NVMe drive and the streamer that feeds it up, controls them, and shuts them down.
//!
//! Everything goes through [`Bus`]: configuration space, BARs, memory, time. The same code runs
//! against the co-simulation, QEMU's devices and real ones, and cannot tell which.
//!
//! * [`bring_up()`]: from a cold bus to a running queue in named, timed, explained steps.
//! * [`Session`]: what runs then; ends with [`Session::shutdown`] or [`Session::recover`].
//! * [`Streamer`]: registers, counters, histogram and trace of the RTL.
//! * [`HostPort`]: writes and reads through the streamer by its BAR alone.
//! * [`NetPort`] and [`RecorderPort`]: the network side, and what it records on the SSD.
//! * [`record`]: a recording by both, from its start to its end.
//! * [`QueuePair`]: an I/O queue in host memory, the reference beside the streamer.
//! * [`Flight`]: both sides of a queue pair after a hang, and where it hangs.
//! * [`peer`]: whether a drive reaches another device's memory, by comparing bytes.
//!
//! No device is trusted: what it says is checked before use and waiting for it is bounded. It can
//! cause an [`Error`], never a panic, a hang or a stray access. What takes a [`Bus`] also fails where
//! the bus does; an `# Errors` section lists what else can fail.
//!
//! Section numbers in comments are of *NVM Express Base 2.0c* unless another name is given.
#![forbid(unsafe_code)]

pub mod admin;
pub mod array;
pub mod bring_up;
pub mod bus;
mod choose;
pub mod controller;
pub mod discover;
pub mod elements;
pub mod error;
pub mod facts;
pub mod flight;
mod fpga;
pub mod host_port;
pub mod inspect;
pub mod net_port;
pub mod options;
pub mod peer;
mod poll;
pub mod queue_pair;
pub mod record;
pub mod recorder_port;
mod registers;
pub mod replay;
pub mod session;
pub mod steps;
pub mod streamer;
pub mod trace;

pub use array::{ArrayFacts, Layout};
pub use bring_up::{bring_up, bring_up_observed};
pub use bus::{Bus, BusError, BusResult, DmaBuffer, PciAddress};
pub use error::Error;
pub use facts::{ControllerFacts, Namespace};
pub use flight::Flight;
pub use host_port::HostPort;
pub use net_port::NetPort;
pub use options::{
    ArrayOptions, FpgaPlace, Limits, Options, Outbound, QueuePlacement, STRIPE_UNIT_BYTES,
    TIMEOUT_CYCLES,
};
pub use queue_pair::{Done, QueuePair, Span};
pub use recorder_port::RecorderPort;
pub use replay::{Fetch, Replay, Replayed};
pub use session::{Facts, Session};
pub use steps::{Failure, Step, StepName};
pub use streamer::Streamer;
