// SPDX-License-Identifier: Apache-2.0
//! Captures: files of frames with times, read in every common form, written as pcapng.
//!
//! Sources: draft-ietf-opsawg-pcap-05 (pcap), draft-ietf-opsawg-pcapng-03 (pcapng).

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Capture, Packet, Seen};
pub use write::{Recorder, Way};

/// Link type of Ethernet, in both formats.
const ETHERNET: u16 = 1;
