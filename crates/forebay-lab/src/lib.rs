// SPDX-License-Identifier: Apache-2.0
//! Experiments on simulated machines. Each is a function from a plain description to a plain result;
//! a program shows it.

pub mod bench;
pub mod classify;
pub mod demo;
pub mod measure;
pub mod plan;
pub mod qualify;
pub mod repro;
pub mod soak;
pub mod swarm;

use forebay_app::{failure, inject, interrupt, progress, report, session, traffic, workload};
