// SPDX-License-Identifier: Apache-2.0
//! `forebay swarm`: shows what a swarm has found, and the shapes that it runs on.

use forebay_lab::swarm::shapes::{self, Shape};
use forebay_lab::swarm::{self, Failed, Found, OfShape, Swarm};
use forebay_pipeline::Memory;
use serde::Serialize;

use crate::args::{SwarmArgs, command_of};
use crate::failure::{Exit, Result};
use crate::render::{self, Grid, Page};
use crate::report;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    simulated: bool,
    #[serde(flatten)]
    found: &'a Found,
    /// The command of the case, where there is one only.
    command: Option<String>,
    failures: Vec<Told<'a>>,
}

/// A failure, with the commands that repeat it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    failed: &'a Failed,
    command: String,
    shrunk: Option<String>,
}

/// Runs it.
pub fn run(args: &SwarmArgs) -> Result<Exit> {
    let all: Vec<_> = shapes::ALL.iter().collect();
    let shapes = match args.shapes.is_empty() {
        true => &all,
        false => &args.shapes,
    };
    if args.list {
        return list(shapes);
    }
    let found = swarm::run(&Swarm {
        shapes,
        seeds: args.seeds(),
        jobs: args.jobs(),
        keep_going: args.keep_going,
        limit_shrink: args.limit_shrink,
    })?;
    let told = |failed| Told {
        failed,
        command: command_of(&failed.case),
        shrunk: failed.shrunk.as_ref().map(command_of),
    };
    let report = Report {
        schema: "forebay.swarm/1",
        version: env!("CARGO_PKG_VERSION"),
        command_line: report::command_line(),
        simulated: true,
        found: &found,
        command: found.only.as_ref().map(command_of),
        failures: found.failures.iter().map(told).collect(),
    };
    if !report::emit(&report)? {
        show(&found, report.command.as_deref(), &report.failures);
    }
    Ok(found.exit())
}

fn show(found: &Found, command: Option<&str>, failures: &[Told<'_>]) {
    let mut page = Page::new("Forebay swarm");
    let mut grid = Grid::new(&[
        "shape",
        ">seeds",
        ">transactions",
        ">refused",
        ">failed",
        ">aborted",
        ">resets",
        ">cycles",
        ">failures",
    ]);
    for OfShape {
        name,
        seeds,
        failures,
        total,
    } in &found.shapes
    {
        let counts = [
            *seeds,
            total.transactions,
            total.refused,
            total.failed,
            total.aborted,
            total.resets + total.recoveries,
            total.cycles,
            *failures,
        ];
        let name = std::iter::once((*name).to_owned());
        grid.row(name.chain(counts.map(render::count)));
    }
    page.grid(grid);
    if let (Some(command), true) = (command, failures.is_empty()) {
        page.line(format_args!("\n  {command}"));
    }
    for Told {
        failed,
        command,
        shrunk,
    } in failures
    {
        page.heading(&format!(
            "Seed {} on {}: {:?}",
            failed.seed, failed.shape, failed.kind
        ));
        for line in &failed.seen {
            page.line(format_args!("  {} {line}", render::mark(false)));
        }
        let command = shrunk.as_ref().unwrap_or(command);
        page.line(format_args!("  {command}"));
    }
    let good = failures.is_empty() && !found.interrupted;
    let sentence = format!(
        "{} of {} seeds in {} ({:.1} a second): {} failures{}",
        render::count(found.ran),
        render::count(found.seeds[1] - found.seeds[0]),
        render::seconds(found.seconds),
        found.seeds_per_second,
        failures.len(),
        if found.interrupted {
            ", interrupted"
        } else {
            ""
        }
    );
    page.verdict(good, sentence);
    page.print();
}

/// Shows the shapes.
pub fn list(shapes: &[&Shape]) -> Result<Exit> {
    #[derive(Serialize)]
    struct Listed<'a> {
        schema: &'static str,
        shapes: &'a [&'a Shape],
    }
    let schema = "forebay.swarm-shapes/1";
    if report::emit(&Listed { schema, shapes })? {
        return Ok(Exit::Good);
    }
    let mut page = Page::new("Forebay swarm: shapes of the RTL");
    let mut grid = Grid::new(&[
        "shape",
        "memory",
        ">drives",
        "parity",
        ">queue depth",
        ">window",
        ">buffer",
        ">channels",
    ]);
    for shape in shapes {
        let onchip = shape.buffer_bytes();
        let only = |shown: bool, text: String| if shown { text } else { "–".to_owned() };
        grid.row([
            shape.name.to_owned(),
            shape.memory.name().to_owned(),
            shape.drives.to_string(),
            if shape.parity { "yes" } else { "no" }.to_owned(),
            shape.depth.to_string(),
            only(onchip.is_some(), shape.window.to_string()),
            onchip.map_or("–".to_owned(), render::bytes),
            only(shape.memory == Memory::Dram, shape.channels.to_string()),
        ]);
    }
    page.grid(grid);
    page.print();
    Ok(Exit::Good)
}
