// SPDX-License-Identifier: Apache-2.0
//! Sending files as objects over UDP, in the framing that the port receives.

mod files;
mod line;
mod pace;
mod sender;

pub use files::Files;
pub use line::{Line, Sent};
pub use sender::{Count, Left, Sender, Settings, Stop, epoch_of_clock};
