// SPDX-License-Identifier: Apache-2.0
//! Published figures again, on the models, beside what was published and beside our streamer.

mod case_study;
mod figure;
mod mle;
mod page;
mod published;
mod runs;
mod snacc;
mod sweeps;
mod table1;

use std::path::PathBuf;

use crate::failure::Result;
use case_study::Classified;
use published::{Intelliprop, Mle, Snacc};
use runs::Runs;

pub use figure::{Figure, Parameter, Published, Row, Sensitivity};
pub use page::page;
pub use published::Bound;

/// How far numbers may be off, in percent, unless the user says.
const WITHIN_SNACC: f64 = 5.0;
const WITHIN_DRIVES: f64 = 10.0;

/// What is reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// SNAcc, figure 4: sequential and random bandwidth, latency.
    SnaccFig4,
    /// SNAcc, figure 6: images recorded and classified.
    SnaccFig6,
    /// SNAcc, figure 7: PCIe transfers of its case study.
    SnaccFig7,
    /// SNAcc, table 1: FPGA resources.
    SnaccTable1,
    /// IntelliProp's sweep of command sizes on a 950 PRO.
    Intelliprop,
    /// MLE's table of sessions on a 960 EVO.
    MleTable,
    /// All of these.
    All,
}

/// What to reproduce, and how.
#[derive(Clone, Debug)]
pub struct ReproSpec {
    /// Which figures.
    pub what: What,
    /// The short form: fewer commands, no sensitivities, no synthesis.
    pub quick: bool,
    /// The whole drive of MLE's table, too.
    pub full: bool,
    /// How far a number that must agree may be off, in percent; none: 5 for SNAcc, 10 for the others.
    pub within: Option<f64>,
    /// Another drive in place of the paper's own, by its profile.
    pub profile: Option<String>,
    /// SNAcc's published RTL, to run as well.
    pub rtl: Vec<PathBuf>,
    /// Decides everything that is random.
    pub seed: u64,
}

/// Reproduces figures.
///
/// # Errors
/// Where a profile or RTL cannot be used, or a run fails.
pub fn run(spec: &ReproSpec) -> Result<Vec<Figure>> {
    let wanted = |what: What| spec.what == what || spec.what == What::All;
    let runs = |profile: &str| Runs {
        profile: spec.profile.clone().unwrap_or_else(|| profile.to_owned()),
        quick: spec.quick,
        seed: spec.seed,
        rtl: spec.rtl.clone(),
    };
    let snacc = Snacc::load()?;
    let of_snacc = runs(&snacc.profile);
    let within = spec.within.unwrap_or(WITHIN_SNACC);
    let mut figures = Vec::new();
    if wanted(What::SnaccFig4) {
        figures.extend(snacc::figure4(&of_snacc, &snacc, within)?);
    }
    if wanted(What::SnaccFig6) || wanted(What::SnaccFig7) {
        let classified = Classified::run(&of_snacc)?;
        if wanted(What::SnaccFig6) {
            figures.push(case_study::figure6(&of_snacc, &snacc, &classified, within)?);
        }
        if wanted(What::SnaccFig7) {
            figures.push(snacc::figure7(&of_snacc, &snacc, &classified, within)?);
        }
    }
    if wanted(What::SnaccTable1) {
        figures.push(table1::table1(&of_snacc, &snacc, within)?);
    }
    let within = spec.within.unwrap_or(WITHIN_DRIVES);
    if wanted(What::Intelliprop) {
        let data = Intelliprop::load()?;
        figures.push(sweeps::intelliprop(&runs(&data.profile), &data, within)?);
    }
    if wanted(What::MleTable) {
        let data = Mle::load()?;
        figures.push(mle::mle(&runs(&data.profile), &data, within, spec.full)?);
    }
    Ok(figures)
}
