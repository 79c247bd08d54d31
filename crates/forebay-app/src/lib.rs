// SPDX-License-Identifier: Apache-2.0
//! What every program of Forebay does: describes a machine, brings it up, moves data through it and
//! reports what happened.
//!
//! A [`MachineSpec`] is a machine as plain data. [`Session`] brings it up and runs it; [`record`] records
//! what comes from the network. What takes long
//! tells [`progress`], and ends early where [`interrupt`] says so. What goes wrong is a [`Failure`]:
//! what, what to do, and the exit code of a program that it ends.

pub mod boot;
pub mod compare;
pub mod failure;
pub mod flight;
pub mod home;
pub mod inject;
pub mod inspection;
pub mod interrupt;
pub mod io;
pub mod machine;
pub mod new;
pub mod progress;
pub mod python;
pub mod record;
pub mod recorded;
pub mod recorder;
pub mod reference;
pub mod report;
pub mod session;
pub mod store;
mod third_party;
pub mod traffic;
pub mod workload;

pub use failure::{Exit, Failure, Result};
pub use machine::{ArraySpec, MachineSpec, Memory};
pub use session::{Ended, Session, on_drive};
