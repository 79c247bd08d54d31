// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay swarm`.

use std::ops::Range;
use std::thread;

use clap::{ArgGroup, Args, value_parser};

use forebay_lab::swarm::shapes::{self, Shape};

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").args(["seeds", "seed", "list"]).required(true))]
pub struct SwarmArgs {
    /// Run these seeds, the last one not included: 0..200
    #[arg(long, value_name = "A..B", value_parser = range)]
    seeds: Option<Range<u64>>,
    /// Run this seed
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..u64::MAX))]
    seed: Option<u64>,
    /// Show the shapes of the RTL
    #[arg(long)]
    pub list: bool,
    /// Run on these shapes only; seeds then draw other cases
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = shapes::named)]
    pub shapes: Vec<&'static Shape>,
    /// Simulations at once [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Go on after a seed that fails
    #[arg(long)]
    pub keep_going: bool,
    /// Try up to N simpler cases for a failure; 0: none
    #[arg(long, value_name = "N", default_value_t = 150)]
    pub limit_shrink: usize,
}

impl SwarmArgs {
    /// The seeds to run.
    pub fn seeds(&self) -> Range<u64> {
        let one = self.seed.map(|seed| seed..seed + 1);
        self.seeds.clone().or(one).unwrap_or(0..0)
    }

    /// Simulations at once.
    pub fn jobs(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(cores, usize::from)
    }
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let bad = || format!("`{text}` is no range of seeds; write A..B, such as 0..200");
    let (first, end) = text.split_once("..").ok_or_else(bad)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| bad());
    let (first, end) = (number(first)?, number(end)?);
    match first < end {
        true => Ok(first..end),
        false => Err(format!("`{text}` holds no seed; the last is not included")),
    }
}
