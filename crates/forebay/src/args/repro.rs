// SPDX-License-Identifier: Apache-2.0
//! Options of `forebay repro`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use forebay_lab::repro::{ReproSpec, What};

use super::values;

/// What is reproduced.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum WhatArg {
    /// SNAcc, figure 4: sequential and random bandwidth, latency
    SnaccFig4,
    /// SNAcc, figure 7: PCIe transfers of its case study
    SnaccFig7,
    /// SNAcc, table 1: FPGA resources
    SnaccTable1,
    /// IntelliProp's sweep of command sizes on a 950 PRO
    Intelliprop,
    /// MLE's table of sessions on a 960 EVO
    MleTable,
    /// All of these
    All,
}

/// Options of `forebay repro`.
#[derive(Args, Debug)]
pub struct ReproArgs {
    /// What to reproduce
    #[arg(value_enum)]
    what: WhatArg,
    /// The short form: fewer commands, no sensitivities, no synthesis
    #[arg(long)]
    pub quick: bool,
    /// End with exit code 7 where a number that must agree is off by more than so many percent
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
    /// Which figures.
    pub const fn what(&self) -> What {
        match self.what {
            WhatArg::SnaccFig4 => What::SnaccFig4,
            WhatArg::SnaccFig7 => What::SnaccFig7,
            WhatArg::SnaccTable1 => What::SnaccTable1,
            WhatArg::Intelliprop => What::Intelliprop,
            WhatArg::MleTable => What::MleTable,
            WhatArg::All => What::All,
        }
    }

    /// What to reproduce, and how.
    pub fn spec(&self) -> ReproSpec {
        ReproSpec {
            what: self.what(),
            quick: self.quick,
            within: self.within,
            profile: self.profile.clone(),
            rtl: self.rtl.clone(),
            seed: self.seed,
        }
    }
}
