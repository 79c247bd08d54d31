// SPDX-License-Identifier: Apache-2.0
//! The network side: what precedes payload in a frame, pause frames, what becomes of a frame.

pub mod ethernet;
pub mod header;
pub mod outcome;
pub mod pause;
pub mod regs;

pub use header::{Header, HeaderError};
pub use outcome::{Arrival, Place};
pub use pause::Pause;
