// SPDX-License-Identifier: Apache-2.0
//! Options of a recording from the network.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::pipeline::PePathArgs;
use super::values;

/// What the network sends, and what becomes of it beside being stored.
#[derive(Args, Debug)]
#[command(next_help_heading = "From the network")]
pub struct RecordArgs {
    /// Record what comes from the network, as this pipeline's file says [default of the options
    /// below: pipelines/record.toml]
    #[arg(conflicts_with_all = ["write", "read"])]
    pub pipeline: Option<PathBuf>,
    /// The network sends the frames of this capture (pcap or pcapng), at its times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["write", "read", "tap", "generate"])]
    pub pcap: Option<PathBuf>,
    /// Send them as fast as the wire takes them
    #[arg(long, requires = "pcap")]
    pub flat_out: bool,
    /// The simulated port is a network interface of this machine with this name, made if need be;
    /// until Ctrl-C
    #[arg(long, value_name = "NAME", conflicts_with_all = ["write", "read", "generate"])]
    pub tap: Option<String>,
    /// This machine's own address on that interface
    #[arg(long, value_name = "IP/BITS", value_parser = network, requires = "tap",
          default_value = "10.77.0.1/24")]
    pub tap_address: (Ipv4Addr, u8),
    /// End the recording after this time
    #[arg(long = "for", value_name = "TIME", requires = "tap", value_parser = values::duration)]
    pub lasts: Option<Duration>,
    /// A peer sends objects of a pattern, so many bytes in all, at line rate [default without
    /// another source: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::length,
          conflicts_with_all = ["write", "read"])]
    pub generate: Option<u64>,
    /// Bytes of each of these objects
    #[arg(long, value_name = "SIZE", value_parser = values::length, default_value = "1MiB")]
    pub object: u64,
    /// So many peers at once, each with a share of the bytes in a stream of its own: that of the
    /// pipeline and those behind it; objects of the others are smaller [default: as many as the
    /// pipeline takes]
    #[arg(long, value_name = "N", requires = "generate",
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub streams: Option<u16>,
    /// Offer them at this rate on the wire, in place of as fast as it takes them
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub offered: Option<u64>,
    /// Lose, repeat, delay, swap and damage so many of a million of the network's frames
    #[arg(long, value_name = "PER_MILLION", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub mishaps: u32,
    /// Garbage behind so many of a thousand of them: noise, runts, giants, turned bits, pause frames
    #[arg(long, value_name = "PER_THOUSAND", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub garbage: u32,
    /// There is a switch on the way, which pauses its sender itself while we pause it
    #[arg(long)]
    pub switch: bool,
    /// Quanta from a pause frame until the peer is silent; 394 is the most that 802.3 allows
    #[arg(long, value_name = "QUANTA", default_value_t = 394,
          value_parser = clap::value_parser!(u32).range(0..=65_535))]
    pub peer_response: u32,
    /// The peer ignores pause
    #[arg(long, conflicts_with = "peer_response")]
    pub peer_ignores: bool,
    /// Send what was recorded back to the peer afterwards, at this rate on the wire
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub back: Option<u64>,
    /// Record nothing: send whole objects that the drives' images have, by number, such as 7, 5..9 or
    /// 5.. for all from 5 on; at the rate of `--back`, else at line rate
    #[arg(long, value_name = "OBJECTS", value_parser = values::objects,
          conflicts_with_all = ["write", "read", "pcap", "tap", "generate", "extract", "overwrite",
                                "offered", "mishaps", "garbage"])]
    pub replay: Option<(u64, u64)>,
    /// Store every frame that passes the port in this capture (pcapng)
    #[arg(long, value_name = "FILE")]
    pub pcap_out: Option<PathBuf>,
    /// Store each object that was recorded whole as a file of this folder, object-N.bin, or
    /// stream-S-object-N.bin where the pipeline takes several streams; all of a capture as packets.pcapng
    #[arg(long, value_name = "DIR")]
    pub extract: Option<PathBuf>,
    /// Destroy what is on the drives' images
    #[arg(long)]
    pub overwrite: bool,
    /// Where processing elements are.
    #[command(flatten)]
    pub path: PePathArgs,
}

impl RecordArgs {
    /// Whether it is a recording at all.
    pub const fn is_wanted(&self) -> bool {
        self.pipeline.is_some()
            || self.pcap.is_some()
            || self.tap.is_some()
            || self.generate.is_some()
            || self.replay.is_some()
    }
}

fn network(text: &str) -> std::result::Result<(Ipv4Addr, u8), String> {
    let wrong = || format!("`{text}` is no address; write one such as 10.77.0.1/24");
    let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
    let address = address.parse().map_err(|_| wrong())?;
    let bits = bits.parse().map_err(|_| wrong())?;
    if bits > 32 {
        return Err(wrong());
    }
    Ok((address, bits))
}
