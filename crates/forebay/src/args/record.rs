// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay record` and `forebay replay`: from the network onto drives, and back.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, value_parser};
use forebay_app::machine::{MachineSpec, WavesSpec};
use forebay_app::record::FlapsSpec;
use forebay_model::Time;
use forebay_pipeline::units;

use super::pipeline::PePathArgs;
use super::{BusKind, ConsentArgs, FaultArgs, HardwareBusArgs, machine, values};

#[derive(Args, Debug)]
#[command(next_help_heading = "Source")]
pub struct RecordArgs {
    /// The pipeline's file [default: pipelines/record.toml]
    #[arg(value_name = "PIPELINE")]
    pub pipeline: Option<PathBuf>,
    /// Send the frames of this capture (pcap or pcapng), at its times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tap", "generate"])]
    pub pcap: Option<PathBuf>,
    /// Send them as fast as the wire takes them
    #[arg(long, requires = "pcap")]
    pub flat_out: bool,
    /// Make the simulated port a network interface of this machine with this name, until Ctrl-C
    #[arg(long, value_name = "NAME", conflicts_with = "generate")]
    pub tap: Option<String>,
    /// This machine's own address on that interface, of IPv4 or IPv6; give it once for each
    #[arg(long, value_name = "IP/BITS", value_parser = network, requires = "tap",
          default_value = "10.77.0.1/24", hide_short_help = true)]
    pub tap_address: Vec<(IpAddr, u8)>,
    /// With --tap or --bus vfio: end the recording after this time [default: with Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub lasts: Option<Duration>,
    /// Send this file, or the files of this folder and of those in it, as objects, numbered from 0 in
    /// the order of their names; give it once for each sender, whose streams follow each other
    #[arg(long, value_name = "PATH",
          conflicts_with_all = ["pcap", "tap", "generate", "object", "streams"])]
    pub files: Vec<PathBuf>,
    /// Send objects of a pattern, this number of bytes in all, at line rate [default without
    /// another source: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub generate: Option<u64>,
    /// Bytes of each of these objects
    #[arg(long, value_name = "SIZE", value_parser = values::length, default_value = "1MiB",
          conflicts_with_all = ["pcap", "tap"])]
    pub object: u64,
    /// Number of senders of these objects, each with a share of the bytes in a stream of its own:
    /// that of the pipeline and those behind it; objects of the others are smaller [default: as many
    /// as the pipeline takes]
    #[arg(long, value_name = "N", conflicts_with_all = ["pcap", "tap"], hide_short_help = true,
          value_parser = value_parser!(u16).range(1..=64))]
    pub streams: Option<u16>,
    /// Offer frames at this rate on the wire [default: as fast as it takes them]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub offered: Option<u64>,
    #[command(flatten)]
    pub wire: WireArgs,
    /// Send what was recorded back to the link partner afterwards, at this rate on the wire
    #[arg(long, value_name = "RATE", value_parser = values::rate, conflicts_with = "tap",
          help_heading = "Results")]
    pub back: Option<u64>,
    /// Store every frame that passes the port in this capture (pcapng)
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub pcap_out: Option<PathBuf>,
    /// Store each object that was recorded whole as a file of this folder, object-N.bin, or
    /// stream-S-object-N.bin where the pipeline takes several streams; all of a capture as packets.pcapng
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub extract: Option<PathBuf>,
    /// Destroy what is on the drives' images
    #[arg(long, help_heading = "Results")]
    pub overwrite: bool,
    /// Where drive and card are
    #[arg(long, value_enum, default_value = "sim", help_heading = "Hardware")]
    pub bus: BusKind,
    #[command(flatten, next_help_heading = "Hardware")]
    pub hardware: HardwareBusArgs,
    #[command(flatten, next_help_heading = "Hardware")]
    pub consent: ConsentArgs,
    #[command(flatten, next_help_heading = "Machine")]
    pub path: PePathArgs,
    #[command(flatten)]
    pub faults: FaultArgs,
    #[command(flatten)]
    pub machine: NetMachineArgs,
}

/// What happens on the wire between the sender and the port.
#[derive(Args, Debug)]
#[command(next_help_heading = "Wire")]
pub struct WireArgs {
    /// Lose, repeat, delay, swap and damage frames of the network: how many per 1,000,000
    #[arg(long, value_name = "PER_MILLION", default_value_t = 0,
          value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub impairments: u32,
    /// Send malformed frames between them, per 1,000: noise, runts, giants, inverted bits, pause frames
    #[arg(long, value_name = "PER_THOUSAND", default_value_t = 0, hide_short_help = true,
          value_parser = value_parser!(u32).range(0..=1000))]
    pub malformed: u32,
    /// Take the link down in the middle of frames, on average once in this time
    #[arg(long, value_name = "TIME", value_parser = values::time, hide_short_help = true)]
    pub flaps: Option<Time>,
    /// How long it is down each time, 100 ns to a quarter of --flaps
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "1us",
          requires = "flaps", hide_short_help = true)]
    pub down: Time,
    /// Put a switch on the way, which pauses its sender itself while we pause it
    #[arg(long)]
    pub switch: bool,
    /// Quanta from a pause frame until the link partner is silent; 802.3 allows 394
    #[arg(long, value_name = "QUANTA", default_value_t = 394, hide_short_help = true,
          value_parser = value_parser!(u32).range(0..=65_535))]
    pub partner_response: u32,
    /// The link partner ignores pause
    #[arg(long, conflicts_with = "partner_response")]
    pub partner_ignores_pause: bool,
}

impl WireArgs {
    /// When the link goes down.
    pub fn flaps(&self) -> Option<FlapsSpec> {
        self.flaps.map(|every_ps| FlapsSpec {
            every_ps,
            down_ps: self.down,
        })
    }

    /// Quanta until the link partner obeys a pause frame; none: it ignores pause.
    pub fn response(&self) -> Option<u32> {
        (!self.partner_ignores_pause).then_some(self.partner_response)
    }
}

#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// The pipeline's file, whose drives have images with a recording
    #[arg(value_name = "PIPELINE")]
    pub pipeline: PathBuf,
    /// Whole objects to send, by number: 7, 5..9 with both ends, or 5.. for all from 5 on
    #[arg(long, value_name = "OBJECTS", value_parser = values::objects, default_value = "0..")]
    pub objects: (u64, u64),
    /// Rate on the wire [default: line rate]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub rate: Option<u64>,
    /// Store every frame that passes the port in this capture (pcapng)
    #[arg(long, value_name = "FILE")]
    pub pcap_out: Option<PathBuf>,
    #[command(flatten)]
    pub path: PePathArgs,
    #[command(flatten)]
    pub machine: NetMachineArgs,
}

/// What a pipeline's file does not say of the machine.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Machine")]
pub struct NetMachineArgs {
    /// Entries of the queues, 2 to 1024 [default: 64]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(machine::DEPTHS))]
    queue_depth: Option<u32>,
    /// Link of the FPGA card in place of the profile's, such as gen4x16
    #[arg(long, value_name = "LINK", value_parser = units::link, hide_short_help = true)]
    fpga_link: Option<u64>,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Set a parameter of the top module
    #[arg(long, value_name = "NAME=VALUE", value_parser = machine::parameter,
          hide_short_help = true)]
    param: Vec<(String, String)>,
    /// Record waves in this FST file
    #[arg(long, value_name = "FILE")]
    wave: Option<PathBuf>,
    /// Record from this cycle on
    #[arg(
        long,
        value_name = "CYCLE",
        requires = "wave",
        default_value_t = 0,
        hide_short_help = true
    )]
    wave_from: u64,
    /// Record up to this cycle
    #[arg(long, value_name = "CYCLE", requires = "wave", hide_short_help = true)]
    wave_until: Option<u64>,
}

impl RecordArgs {
    /// The options given that only a simulated machine, and its network, has.
    pub fn simulated(&self) -> Vec<String> {
        let mut given = self.faults.simulated();
        let options = [
            (self.pcap.is_some(), "--pcap"),
            (self.tap.is_some(), "--tap"),
            (!self.files.is_empty(), "--files"),
            (self.generate.is_some(), "--generate"),
            (self.streams.is_some(), "--streams"),
            (self.offered.is_some(), "--offered"),
            (self.wire.impairments > 0, "--impairments"),
            (self.wire.malformed > 0, "--malformed"),
            (self.wire.flaps.is_some(), "--flaps"),
            (self.wire.switch, "--switch"),
            (self.wire.partner_ignores_pause, "--partner-ignores-pause"),
            (self.back.is_some(), "--back"),
            (self.pcap_out.is_some(), "--pcap-out"),
            (self.overwrite, "--overwrite"),
            (self.machine.fpga_link.is_some(), "--fpga-link"),
            (!self.machine.param.is_empty(), "--param"),
            (self.machine.wave.is_some(), "--wave"),
        ];
        let options = options.into_iter().filter(|(given, _)| *given);
        given.extend(options.map(|(_, name)| name.to_owned()));
        given
    }
}

impl NetMachineArgs {
    /// The machine, whose drives and memory are still those of the default.
    pub fn spec(&self) -> MachineSpec {
        let mut spec = MachineSpec {
            queue_depth: self.queue_depth,
            seed: self.seed,
            parameters: self.param.clone(),
            waves: self.wave.as_ref().map(|path| WavesSpec {
                path: path.clone(),
                from: self.wave_from,
                until: self.wave_until,
            }),
            ..MachineSpec::default()
        };
        spec.array.fpga_link = self.fpga_link;
        spec
    }
}

fn network(text: &str) -> std::result::Result<(IpAddr, u8), String> {
    let wrong = || format!("`{text}` is no address; write one such as 10.77.0.1/24 or fd77::1/64");
    let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let bits = bits.parse().map_err(|_| wrong())?;
    if bits > if address.is_ipv6() { 128 } else { 32 } {
        return Err(wrong());
    }
    Ok((address, bits))
}
