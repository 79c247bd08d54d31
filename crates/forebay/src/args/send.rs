// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay send`.

use std::path::PathBuf;

use clap::Args;

use super::values;

/// Options of `forebay send`.
///
/// UDP has no brakes: name a `--rate` that the receiver keeps up with. A simulated one is some
/// thousand times slower than a real one.
#[derive(Args, Debug)]
pub struct SendArgs {
    /// What to send: each file is an object; of a folder all files in it, in the order of their
    /// names
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    /// Where to: a name (its IPv4 address, if it has one), an IPv4 address, or an IPv6 address in
    /// brackets; and a UDP port [default: 64257]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub to: String,
    /// Bytes of the files a second: 1GB/s, or bits: 10Gb/s [default: as fast as Linux takes them]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub rate: Option<u64>,
    /// Bytes of a frame behind its Ethernet header [default: what the way there takes, at most 9000]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(61..=16_368))]
    pub mtu: Option<u16>,
    /// The stream
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub stream: u16,
    /// The epoch: another one than the last time [default: by the clock, another one each microsecond]
    #[arg(long, value_name = "N")]
    pub epoch: Option<u32>,
    /// Number of the first object
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub object: u64,
    /// Send all of it N times, as further objects
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub repeat: u64,
}
