// SPDX-License-Identifier: Apache-2.0
//! `forebay repro`: published figures again, on the models, beside what was published and beside our
//! streamer.

use std::fs;

use forebay_draw::text::Page;
use forebay_lab::repro::{self, Figure, What};
use serde::Serialize;

use crate::args::ReproArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

#[derive(Serialize)]
struct Figures {
    command_line: Vec<String>,
    simulated: bool,
    seed: u64,
    quick: bool,
    figures: Vec<Figure>,
}

/// Runs it.
pub fn run(args: &ReproArgs) -> Result<Exit> {
    check(args)?;
    let found = Figures {
        figures: repro::run(&args.spec())?,
        command_line: report::command_line(),
        simulated: true,
        seed: args.seed,
        quick: args.quick,
    };
    if let Some(path) = &args.html {
        let (version, line) = (env!("CARGO_PKG_VERSION"), found.command_line.join(" "));
        let page = repro::page(&found.figures, version, &line)?;
        fs::write(path, page).map_err(|error| Failure::file("writing", path, error))?;
    }
    let report = Report::new("forebay.repro/1", found);
    let figures = &report.found.figures;
    report::show(&report, || {
        let mut page = Page::simulated("Forebay repro");
        for figure in figures {
            figure.draw(&mut page);
        }
        if let Some(path) = &args.html {
            page.line(format_args!("\n  drawn in {}", path.display()));
        }
        page
    })?;
    Ok(match figures.iter().all(Figure::is_good) {
        true => Exit::Good,
        false => Exit::OffTolerance,
    })
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
    if args.full && !matches!(args.what, What::MleTable | What::All) {
        return Err(Failure::input(
            "--full",
            "given",
            "only mle-table has a whole drive",
            "leave it out, or name mle-table",
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
