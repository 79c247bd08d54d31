// SPDX-License-Identifier: Apache-2.0
//! `forebay repro`: published figures again, on the models, beside what was published and beside our
//! streamer.

mod chart;
mod figure;
mod html;
mod published;
mod runs;
mod snacc;
mod sweeps;
mod table1;

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::args::{ReproArgs, What};
use crate::failure::{Exit, Failure, Result};
use crate::render::Page;
use crate::report;
use figure::Figure;
use published::{Intelliprop, Mle, Snacc};
use runs::Runs;

/// How far numbers may be off, in percent, unless the user says.
const WITHIN_SNACC: f64 = 5.0;
const WITHIN_DRIVES: f64 = 10.0;

/// What comes of it.
#[derive(Serialize)]
pub struct Report {
    schema: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    simulated: bool,
    seed: u64,
    quick: bool,
    figures: Vec<Figure>,
}

/// Runs it.
///
/// # Errors
/// Where a profile or RTL cannot be used, a run fails, or a report cannot be written.
pub fn run(args: &ReproArgs) -> Result<Exit> {
    check(args)?;
    let figures = figures(args)?;
    let good = figures.iter().all(Figure::is_good);
    let report = Report {
        schema: "forebay.repro/1",
        version: env!("CARGO_PKG_VERSION"),
        command_line: report::command_line(),
        simulated: true,
        seed: args.seed,
        quick: args.quick,
        figures,
    };
    if let Some(path) = &args.html {
        write(path, &html::page(&report)?)?;
    }
    if !report::emit(&report, args.report.json.as_deref())? {
        let mut page = Page::new("Forebay repro");
        for figure in &report.figures {
            figure.show(&mut page);
        }
        if let Some(path) = &args.html {
            page.line(format_args!("\n  drawn in {}", path.display()));
        }
        page.print();
    }
    Ok(if good { Exit::Good } else { Exit::BadResult })
}

/// Refuses what does not go together, before anything runs.
fn check(args: &ReproArgs) -> Result<()> {
    if let (What::All, Some(profile)) = (args.what, &args.profile) {
        return Err(Failure::input(
            "--profile",
            profile,
            "`all` has a drive for each paper",
            "name one figure, such as snacc-fig4",
        ));
    }
    let with_rtl = matches!(args.what, What::SnaccFig4 | What::All);
    if let (Some(path), false) = (args.rtl.first(), with_rtl) {
        return Err(Failure::input(
            "--rtl",
            path.display(),
            "only SNAcc's figure 4 runs other RTL",
            "leave it out, or name snacc-fig4",
        ));
    }
    report::check(args.html.as_deref())
}

fn figures(args: &ReproArgs) -> Result<Vec<Figure>> {
    let wanted = |what: What| args.what == what || args.what == What::All;
    let runs = |profile: &str| Runs {
        profile: args.profile.clone().unwrap_or_else(|| profile.to_owned()),
        quick: args.quick,
        seed: args.seed,
        rtl: args.rtl.clone(),
    };
    let snacc = Snacc::load()?;
    let of_snacc = runs(&snacc.profile);
    let within = args.within.unwrap_or(WITHIN_SNACC);
    let mut figures = Vec::new();
    if wanted(What::SnaccFig4) {
        figures.extend(snacc::figure4(&of_snacc, &snacc, within)?);
    }
    if wanted(What::SnaccFig7) {
        figures.push(snacc::figure7(&of_snacc, &snacc, within)?);
    }
    if wanted(What::SnaccTable1) {
        figures.push(table1::table1(&of_snacc, &snacc, within)?);
    }
    let within = args.within.unwrap_or(WITHIN_DRIVES);
    if wanted(What::Intelliprop) {
        let data = Intelliprop::load()?;
        figures.push(sweeps::intelliprop(&runs(&data.profile), &data, within)?);
    }
    if wanted(What::MleTable) {
        let data = Mle::load()?;
        figures.push(sweeps::mle(&runs(&data.profile), &data, within)?);
    }
    Ok(figures)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Failure::file("writing", path, error))
}
