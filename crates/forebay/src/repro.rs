// SPDX-License-Identifier: Apache-2.0
//! `forebay repro`: published figures again, on the models, beside what was published and beside our
//! streamer.

use std::fs;
use std::path::Path;

use forebay_lab::repro::{self, Figure, What};
use serde::Serialize;

use crate::args::ReproArgs;
use crate::failure::{Exit, Failure, Result};
use crate::render::{self, Grid, Page};
use crate::report;

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
pub fn run(args: &ReproArgs) -> Result<Exit> {
    check(args)?;
    let figures = repro::run(&args.spec())?;
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
        let (version, line) = (report.version, report.command_line.join(" "));
        write(path, &repro::page(&report.figures, version, &line)?)?;
    }
    if !report::emit(&report)? {
        let mut page = Page::new("Forebay repro");
        for figure in &report.figures {
            show(figure, &mut page);
        }
        if let Some(path) = &args.html {
            page.line(format_args!("\n  drawn in {}", path.display()));
        }
        page.print();
    }
    Ok(if good { Exit::Good } else { Exit::OffTolerance })
}

/// Refuses what does not go together, before anything runs.
fn check(args: &ReproArgs) -> Result<()> {
    if let (What::All, Some(profile)) = (args.what(), &args.profile) {
        return Err(Failure::input(
            "--profile",
            profile,
            "`all` has a drive for each paper",
            "name one figure, such as snacc-fig4",
        ));
    }
    let with_rtl = matches!(args.what(), What::SnaccFig4 | What::All);
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

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Failure::file("writing", path, error))
}

/// Shows it on a terminal.
fn show(figure: &Figure, page: &mut Page) {
    let unit = match figure.unit.as_str() {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    page.heading(&format!("{}{unit}", figure.title));
    page.field(
        "published",
        format_args!("{}, {}", figure.paper, figure.place),
    );
    page.field("model", &figure.model_is);
    let (headers, rows) = figure.cells();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let mut grid = Grid::new(&headers);
    for row in rows {
        grid.row(row);
    }
    page.grid(grid);
    for sensitivity in &figure.sensitivities {
        page.line(format_args!(
            "  {} ± 10 %: {} {:+.1} / {:+.1} %",
            sensitivity.field,
            sensitivity.row,
            sensitivity.smaller_percent,
            sensitivity.greater_percent
        ));
    }
    for note in figure
        .notes
        .iter()
        .chain(figure.rows.iter().filter_map(|row| row.note.as_ref()))
    {
        page.line(format_args!("  · {note}"));
    }
    let good = figure.is_good();
    let checked = figure
        .rows
        .iter()
        .filter(|row| row.agrees.is_some())
        .count();
    let (worst, within) = (figure.worst_percent, figure.within_percent);
    let sentence = match (checked, good) {
        (0, _) => "nothing here is checked".to_owned(),
        (_, true) if worst == 0.0 => format!("{checked} numbers are as they must be"),
        (_, false) if worst == 0.0 => "not all numbers are as they must be".to_owned(),
        (_, true) => format!(
            "{} numbers agree, the worst is off by {worst:.1} %, {within} % are allowed",
            render::count(checked as u64)
        ),
        (_, false) => format!("off by {worst:.1} %, {within} % are allowed, or ours is slower"),
    };
    page.verdict(good, sentence);
}
