// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay repro`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser;
use forebay_lab::repro::{ReproSpec, What};

use super::values;

/// Reads what to reproduce.
fn what() -> impl TypedValueParser<Value = What> {
    values::named([
        (
            What::SnaccFig4,
            "snacc-fig4",
            "SNAcc, figure 4: sequential and random bandwidth, latency",
        ),
        (
            What::SnaccFig6,
            "snacc-fig6",
            "SNAcc, figure 6: images recorded and classified",
        ),
        (
            What::SnaccFig7,
            "snacc-fig7",
            "SNAcc, figure 7: PCIe transfers of its case study",
        ),
        (
            What::SnaccTable1,
            "snacc-table1",
            "SNAcc, table 1: FPGA resources",
        ),
        (
            What::Intelliprop,
            "intelliprop",
            "IntelliProp's sweep of command sizes on a 950 PRO",
        ),
        (
            What::MleTable,
            "mle-table",
            "MLE's table of sessions on a 960 EVO",
        ),
        (What::All, "all", "All of these"),
    ])
}

#[derive(Args, Debug)]
pub struct ReproArgs {
    /// What to reproduce
    #[arg(value_parser = what())]
    pub what: What,
    /// The short form: fewer commands, no sensitivities, no synthesis, no network
    #[arg(long)]
    pub quick: bool,
    /// The whole drive of mle-table, too, on the drive's model: some 12 minutes of a processor
    #[arg(long, conflicts_with = "quick")]
    pub full: bool,
    /// End with exit code 7 where a number that must agree is off by more than this percentage
    /// [default: 5 for SNAcc, 10 for the others]
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub within: Option<f64>,
    /// Another drive in place of the paper's own: a built-in profile, or a TOML file
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Run SNAcc's published RTL, too: filelist, folder, Verilog files (figures 4 and 7)
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub rtl: Vec<PathBuf>,
    /// Draw everything into this HTML file, which needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl ReproArgs {
    /// What to reproduce, and how.
    pub fn spec(&self) -> ReproSpec {
        ReproSpec {
            what: self.what,
            quick: self.quick,
            full: self.full,
            within: self.within,
            profile: self.profile.clone(),
            rtl: self.rtl.clone(),
            seed: self.seed,
        }
    }
}
