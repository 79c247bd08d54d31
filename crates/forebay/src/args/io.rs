// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay io`: files and patterns to drives and back.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::{ConsentArgs, Drive990Pro, FaultArgs, HardwareBusArgs, MachineArgs, values};

#[derive(Args, Debug)]
#[command(next_help_heading = "Data")]
#[command(group = ArgGroup::new("what").args(["write", "generate", "read"]).required(true).multiple(true))]
#[command(group = ArgGroup::new("written").args(["write", "generate"]))]
pub struct IoArgs {
    /// Write this file to the drives; -: standard input
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Write this number of pseudo-random bytes, which follow from --seed
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub generate: Option<u64>,
    /// Read from the drives; with --write or --generate: read back and compare
    #[arg(long)]
    pub read: bool,
    /// Byte address on the drives
    #[arg(long, value_name = "ADDR", default_value = "0", value_parser = values::size)]
    pub at: u64,
    /// Bytes to read [default: as many as are written]
    #[arg(long, value_name = "SIZE", value_parser = values::size, requires = "read")]
    pub length: Option<u64>,
    /// Store what was read in this file
    #[arg(long, value_name = "FILE", requires = "read")]
    pub save: Option<PathBuf>,
    /// Cut writes and reads into transactions of this size [default: one transaction]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub transaction: Option<u64>,
    /// Force unit access: complete a write only when it is on the medium
    #[arg(long, requires = "written", hide_short_help = true)]
    pub fua: bool,
    /// Flush the drive after the write
    #[arg(long, requires = "written", hide_short_help = true)]
    pub flush: bool,
    /// Fence: submit each write once all earlier ones are complete
    #[arg(long, requires = "written", hide_short_help = true)]
    pub fence: bool,
    /// The drive's namespace [default: its first]
    #[arg(long, value_name = "NSID", hide_short_help = true)]
    pub namespace: Option<u32>,
    /// Most bytes of one command, a multiple of 4 KiB [default: what drive and streamer allow]
    #[arg(long, value_name = "SIZE", value_parser = values::pages, hide_short_help = true)]
    pub max_transfer: Option<u64>,
    /// Store registers, events and counters, of streamer and drive, for `forebay inspect --from`
    #[arg(long, value_name = "FILE")]
    pub inspect: Option<PathBuf>,
    /// Keep what a simulated drive stores in this sparse file, for later runs; again for each
    /// further drive
    #[arg(long, value_name = "FILE", help_heading = "Simulated drives")]
    pub backing: Vec<PathBuf>,
    /// Logical block of the simulated drives in bytes
    #[arg(long, value_name = "BYTES", value_parser = ["512", "4096"], hide_short_help = true,
          help_heading = "Simulated drives")]
    pub block: Option<String>,
    /// Where drive and card are
    #[arg(long, value_enum, default_value = "sim", help_heading = "Hardware")]
    pub bus: BusKind,
    #[command(flatten, next_help_heading = "Hardware")]
    pub hardware: HardwareBusArgs,
    #[command(flatten, next_help_heading = "Hardware")]
    pub consent: ConsentArgs,
    #[command(flatten)]
    pub faults: FaultArgs,
    #[command(flatten)]
    pub machine: MachineArgs<Drive990Pro>,
}

impl IoArgs {
    /// Something is written to the drives.
    pub const fn writes(&self) -> bool {
        self.write.is_some() || self.generate.is_some()
    }
}

/// Where drive and card are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BusKind {
    /// Simulated: the RTL in Verilator, drive and fabric are models
    Sim,
    /// Devices of this machine, through Linux VFIO: --ssd and --fpga name them. With --yes or
    /// --serial what is written OVERWRITES the drive
    Vfio,
}
