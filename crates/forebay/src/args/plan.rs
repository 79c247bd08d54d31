// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay plan`.

use clap::Args;
use forebay_lab::plan::PlanSpec;
use forebay_model::Time;
use forebay_pipeline::Memory;

use super::values;

#[derive(Args, Debug)]
pub struct PlanArgs {
    /// What the source gives while it gives anything: 12.2GB/s, 100Gb/s
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub rate: u64,
    /// It comes in bursts of this size [default: without end]
    #[arg(long, value_name = "SIZE", value_parser = values::length, requires = "every")]
    pub burst: Option<u64>,
    /// From the beginning of a burst to that of the next: 10ms
    #[arg(long, value_name = "TIME", value_parser = values::time, requires = "burst")]
    pub every: Option<Time>,
    /// The recorder without a CPU, fb_top_recorder: one drive, and a stream FIFO whose depth is
    /// found on the drive's model
    #[arg(long, conflicts_with_all = ["burst", "drives", "parity", "memory", "wire", "mtu"])]
    pub recorder: bool,
    /// Bytes of the recorder's chunks, 16 KiB to 1 MiB [default: 128KiB]
    #[arg(long, value_name = "SIZE", value_parser = values::length, requires = "recorder")]
    pub chunk: Option<u64>,
    /// The drive takes nothing for this time, again and again, in place of its profile's pauses: 5ms
    #[arg(long, value_name = "TIME", value_parser = values::time, requires = "pause_every")]
    pub pause: Option<Time>,
    /// Bytes that are written from one such pause to the next: 200MB
    #[arg(long, value_name = "SIZE", value_parser = values::length, requires = "pause")]
    pub pause_every: Option<u64>,
    /// Bytes recorded in all: decides whether the drive's cache gets full [default: more than that]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub total: Option<u64>,
    /// Drives [default: as few as suffice, up to 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=8))]
    pub drives: Option<u64>,
    /// One drive holds the parity of the others, so that one may fail
    #[arg(long)]
    pub parity: bool,
    /// Drives to buy beside those that are written
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub spares: u64,
    /// Bytes recorded a day: decides how soon the drives are worn [default: the source never stops]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub per_day: Option<u64>,
    /// Where the streamer keeps its payload [default: the smallest that suffices]
    #[arg(long, value_name = "WHERE", value_parser = super::machine::memory())]
    pub memory: Option<Memory>,
    /// FIFO between source and streamer, or recorder [default: what is needed]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub fifo: Option<u64>,
    /// The network in front: 100Gb/s; none: a source on the board
    #[arg(long, value_name = "RATE", default_value = "100Gb/s", value_parser = wire)]
    pub wire: u64,
    /// Bytes of its frames behind the Ethernet header
    #[arg(long, value_name = "BYTES", default_value_t = 9000,
          value_parser = clap::value_parser!(u64).range(61..=65_535))]
    pub mtu: u64,
    /// Drive and fabric: a built-in profile, or a TOML file; several are compared
    #[arg(long, value_name = "NAME", default_value = "990pro-2tb")]
    pub profile: Vec<String>,
    /// Calculate only
    #[arg(long)]
    pub no_verify: bool,
    /// Most bytes to simulate [default: 256MiB, with --recorder 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = values::length)]
    pub verify_bytes: Option<u64>,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// The rate of a wire; 0: there is none.
fn wire(text: &str) -> Result<u64, String> {
    match text {
        "none" => Ok(0),
        _ => values::rate(text),
    }
}

impl PlanArgs {
    /// What is to be planned, for each profile.
    pub fn specs(&self) -> impl Iterator<Item = PlanSpec> {
        self.profile.iter().map(|profile| PlanSpec {
            rate: self.rate,
            burst: self.burst,
            every: self.every,
            total: self.total,
            pause: self.pause.zip(self.pause_every),
            recorder: self.recorder,
            chunk: self.chunk,
            drives: self.drives,
            parity: self.parity,
            spares: self.spares,
            per_day: self.per_day,
            memory: self.memory,
            fifo: self.fifo,
            wire: if self.recorder { 0 } else { self.wire },
            mtu: self.mtu,
            profile: profile.clone(),
            no_verify: self.no_verify,
            verify_bytes: self.verify_bytes,
            seed: self.seed,
        })
    }
}
