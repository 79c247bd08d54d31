// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay ssd`: drives of this machine.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use forebay_lab::qualify::QualifySpec;

use super::{ConsentArgs, values};

/// What to do with a drive.
#[derive(Debug, Subcommand)]
pub enum SsdCommand {
    /// Measure a drive with fio and write a profile that behaves like it
    ///
    /// Reads only, unless told to --write. Refuses what is mounted, partitioned or otherwise in
    /// use unless told so twice.
    Qualify(Box<QualifyArgs>),
}

#[derive(Args, Debug)]
pub struct QualifyArgs {
    /// The drive, such as /dev/nvme0n1, or a file on it
    #[arg(value_name = "DEVICE|FILE", required_unless_present = "from")]
    pub target: Option<PathBuf>,
    /// Measure writes as well: OVERWRITES what is on DEVICE or in FILE
    #[arg(long, conflicts_with = "from")]
    pub write: bool,
    /// Go on where the device is mounted, partitioned or in use; takes --i-mean-it as well
    #[arg(long)]
    pub even_in_use: bool,
    /// Confirms --even-in-use
    #[arg(long)]
    pub i_mean_it: bool,
    /// Time that each job may take
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::duration)]
    pub job_time: Duration,
    /// Bytes that each job may move; writes of the cache's size together move eight times as many
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = values::length)]
    pub bytes: u64,
    /// Touch only this number of bytes, from the first on [default: all]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub area: Option<u64>,
    /// Through the page cache of the system, where the file system has no direct I/O
    #[arg(long)]
    pub buffered: bool,
    /// Use a stored report of fio instead of running it
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    pub from: Option<PathBuf>,
    /// Store fio's report, for --from
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub keep: Option<PathBuf>,
    /// Size of the drive in the profile [default: the device's or file's; with --from 1TB]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub capacity: Option<u64>,
    /// Name of the profile
    #[arg(long, value_name = "NAME", default_value = "qualified", value_parser = values::name)]
    pub name: String,
    /// Where to write the profile; nothing is overwritten [default: NAME.toml]
    #[arg(long, value_name = "FILE.toml")]
    pub save: Option<PathBuf>,
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// Decides everything random in the model's runs
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

impl QualifyArgs {
    /// How the drive is measured.
    pub fn spec(&self) -> QualifySpec {
        QualifySpec {
            write: self.write,
            even_in_use: self.even_in_use,
            i_mean_it: self.i_mean_it,
            job_time: self.job_time,
            bytes: self.bytes,
            area: self.area,
            buffered: self.buffered,
        }
    }
}
