// SPDX-License-Identifier: Apache-2.0
//! `forebay bench`: measurements, each beside an ideal polling host on the same drive and fabric.

mod cuts;
mod net;
mod soak;
mod store;
mod tables;

use std::fs;

use forebay_lab::bench::scale::Over;
use forebay_lab::bench::{self, Ran, Report, Rows, SCHEMA};
use serde::Serialize;

use crate::args::{BenchCommand, ScaleArgs};
use crate::demo;
use crate::failure::{Exit, Failure, Result};
use crate::render::{Grid, Page};
use crate::report::{self, Header};
use crate::traffic;

/// Runs one.
pub fn run(command: &BenchCommand) -> Result<Exit> {
    match command {
        BenchCommand::Core(args) => {
            let ran = bench::core(&args.machine, args.bytes)?;
            show_rates(ran, tables::rates)
        }
        BenchCommand::Random(args) => {
            let ran = bench::random(&args.machine, args.bytes)?;
            show_rates(ran, tables::rates)
        }
        BenchCommand::Latency(args) => {
            let ran = bench::latency(&args.machine)?;
            show_rates(ran, tables::latencies)
        }
        BenchCommand::Drives(args) => {
            let ran = bench::drives(&args.machine, args.bytes)?;
            show(ran, |found, page| {
                page.grid(tables::drives(found));
            })
        }
        BenchCommand::Speed(args) => {
            let ran = bench::speed(&args.machine, args.bytes)?;
            show(ran, |found, page| {
                page.grid(tables::speed(found));
            })
        }
        BenchCommand::Scale(args) => scale(args),
        BenchCommand::Net(args) => net::run(args),
        BenchCommand::Store(args) => store::run(args),
        BenchCommand::Soak(args) => soak::run(args),
    }
}

fn scale(args: &ScaleArgs) -> Result<Exit> {
    report::check(args.svg.as_deref())?;
    let ran = bench::scale(&args.machine, args.commands)?;
    if let Some(path) = &args.svg {
        let drawn = ran.report.found.svg()?;
        fs::write(path, drawn).map_err(|error| Failure::file("writing", path, error))?;
    }
    show(ran, |found, page| {
        page.grid(tables::scale(found, Over::Outstanding));
        page.grid(tables::scale(found, Over::Drives));
        page.heading("Where commands enough are outstanding");
        page.grid(tables::flatness(found));
    })
}

fn show_rates(ran: Ran<Rows>, table: fn(&Rows) -> Grid) -> Result<Exit> {
    show(ran, |found, page| {
        page.grid(table(found));
        page.heading("What crossed PCIe");
        let rows = found.rows.iter();
        page.grid(traffic::grid(
            rows.map(|row| (row.title.as_str(), &row.streamer.traffic)),
        ));
    })
}

/// Reports as JSON, as text that `draw` fills, or both.
fn show<F: Serialize>(ran: Ran<F>, draw: impl FnOnce(&F, &mut Page)) -> Result<Exit> {
    let Ran {
        report,
        ended,
        good,
    } = ran;
    if !report::emit(&report)? {
        let mut page = page(report.bench, &report.header);
        draw(&report.found, &mut page);
        verdict(&mut page, &report.header, good);
        page.print();
    }
    Ok(ended.exit(good))
}

/// The head of every bench's page.
fn page(name: &str, header: &Header) -> Page {
    let mut page = Page::new(&format!("Forebay bench {name}"));
    page.field("drive", &header.profile.description);
    page.field("streamer", demo::streamer(header));
    page.line("");
    page
}

fn verdict(page: &mut Page, header: &Header, good: bool) {
    if header.interrupted {
        page.verdict(false, "interrupted: the last row is of what was reached");
    } else if good {
        page.verdict(true, "every transaction went through, no byte differs");
    } else {
        page.verdict(
            false,
            "transactions failed or data differ: the numbers mean nothing",
        );
    }
}
