// SPDX-License-Identifier: Apache-2.0
//! Experiments on simulated machines. Each is a function from a plain description to a plain result;
//! a program shows it.

pub mod measure;
pub mod plan;
pub mod qualify;
pub mod soak;
pub mod swarm;

use forebay_app::{failure, inject, interrupt, progress, session, traffic, workload};
