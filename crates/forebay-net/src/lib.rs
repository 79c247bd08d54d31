// SPDX-License-Identifier: Apache-2.0
//! Real input and output of the network side: captures, interfaces of this machine, sending
//! files.
#![forbid(unsafe_code)]

mod error;
pub mod pcap;
pub mod send;
pub mod tap;

pub use error::{Error, Result};

use forebay_spec::net::ethernet;

/// Bytes of the longest frame that is handled: what a MAC with jumbo frames may be set to.
pub const MOST_BYTES: usize = 16 << 10;

/// Fills a frame up to the shortest that goes on a wire, as a network card does on its way out:
/// what Linux hands to one, and what is captured there, is not filled yet. Says whether it was.
pub fn fill(frame: &mut Vec<u8>) -> bool {
    let short = frame.len() < ethernet::LEAST_BYTES;
    if short {
        frame.resize(ethernet::LEAST_BYTES, 0);
    }
    short
}
