// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay vm serve`: a device for a virtual machine.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::pipeline::PePathArgs;
use super::{DriveIdeal, MachineArgs, values};

/// Which device to serve.
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// The SSD model: an NVMe controller that the guest's own driver binds
    Ssd(ServeSsdArgs),
    /// The streamer's RTL as an FPGA card: registers, queues and data window in BAR 0
    Streamer(Box<ServeStreamerArgs>),
}

/// How a virtual machine reaches a device.
#[derive(Args, Debug)]
pub struct SocketArgs {
    /// Listen here until one virtual machine has come and gone: the SOCKET of `vm run --device`
    #[arg(long = "socket", value_name = "PATH")]
    pub path: PathBuf,
    /// Reach the guest's memory by messages alone, never directly: slow, but QEMU sees all of it
    #[arg(long)]
    pub by_messages: bool,
}

#[derive(Args, Debug)]
pub struct ServeSsdArgs {
    #[command(flatten)]
    pub socket: SocketArgs,
    /// Keep what the drive stores in this sparse file [default: memory, gone at the end]
    #[arg(long, value_name = "FILE")]
    pub backing: Option<PathBuf>,
    /// The drive: a built-in profile, or a TOML file. Simulated time goes as fast as it can
    #[arg(long, value_name = "NAME", default_value = "ideal")]
    pub profile: String,
    /// Keep the last events at its queues in this file, as JSON: for `forebay inspect --drive`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Size of its first namespace [default: the profile's]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub size: Option<u64>,
    /// Logical block in bytes, until the guest formats it otherwise [default: the profile's]
    #[arg(long, value_name = "BYTES", value_parser = ["512", "4096"])]
    pub block: Option<String>,
    /// Decides everything that is random, and the serial number: two drives of one guest need two
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

#[derive(Args, Debug)]
pub struct ServeStreamerArgs {
    #[command(flatten)]
    pub socket: SocketArgs,
    /// Once the guest has enabled the streamer, write this file to the drive, read it back, compare
    /// [default: the guest feeds the card through its host port, by `forebay io --bus vfio`]
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// A card with the network side of this pipeline, which records onto the guest's drive by
    /// `forebay record PIPELINE --bus vfio` there. The link partner begins with the recording
    #[arg(long, value_name = "PIPELINE", conflicts_with = "write")]
    pub net: Option<PathBuf>,
    #[command(flatten)]
    pub sender: SenderArgs,
    /// Byte address on the drive
    #[arg(long, value_name = "ADDR", default_value = "0", value_parser = values::size,
          requires = "write")]
    pub at: u64,
    /// Let payload, too, go through the RTL's AXI port, 8 bytes a message: slow, but nothing passes
    /// the RTL by [default: its buffer is mapped into the guest]
    #[arg(long)]
    pub trap_payload: bool,
    #[command(flatten)]
    pub machine: MachineArgs<DriveIdeal>,
}

/// What the link partner of a served card sends.
#[derive(Args, Debug)]
#[command(next_help_heading = "From the network")]
pub struct SenderArgs {
    /// The frames of this capture (pcap or pcapng), at its times
    #[arg(
        long,
        value_name = "FILE",
        requires = "net",
        conflicts_with = "generate"
    )]
    pub pcap: Option<PathBuf>,
    /// Send them as fast as the wire takes them
    #[arg(long, requires = "pcap")]
    pub flat_out: bool,
    /// Objects of a pattern, with this number of bytes in all [default without --pcap: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::length, requires = "net")]
    pub generate: Option<u64>,
    /// Bytes of each of these objects
    #[arg(long, value_name = "SIZE", value_parser = values::length, default_value = "1MiB",
          requires = "net")]
    pub object: u64,
    /// Offer the frames at this rate on the wire, in place of as fast as it takes them
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "net")]
    pub offered: Option<u64>,
    /// Store every frame that passes the port in this capture (pcapng)
    #[arg(long, value_name = "FILE", requires = "net")]
    pub pcap_out: Option<PathBuf>,
    #[command(flatten)]
    pub path: PePathArgs,
}
