// SPDX-License-Identifier: Apache-2.0
//! A recording from the network, as a command and as text.

mod command;
mod replay;
mod show;

pub use command::{GENERATED, check_given, run};
pub use replay::run as replay;
