// SPDX-License-Identifier: Apache-2.0
//! `forebay swarm`: what a swarm has found, and the shapes that it runs on.

use forebay_draw::text::{Page, mark, seconds};
use forebay_lab::swarm::shapes::{self, Shape};
use forebay_lab::swarm::{self, Failed, Found, Swarm};
use forebay_pipeline::units::count;
use serde::Serialize;

use crate::args::{SwarmArgs, command_of};
use crate::failure::{Exit, Result};
use crate::report::{self, Report};

#[derive(Serialize)]
struct Swarmed<'a> {
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
    let swarmed = Swarmed {
        command_line: report::command_line(),
        simulated: true,
        found: &found,
        command: found.only.as_ref().map(command_of),
        failures: found.failures.iter().map(told).collect(),
    };
    let report = Report::new("forebay.swarm/1", swarmed);
    report::show(&report, || page(&report.found))?;
    Ok(found.exit())
}

fn page(swarmed: &Swarmed<'_>) -> Page {
    let Swarmed {
        found,
        command,
        failures,
        ..
    } = swarmed;
    let mut page = Page::simulated("Forebay swarm");
    page.grid(found.grid());
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
            page.line(format_args!("  {} {line}", mark(false)));
        }
        page.line(format_args!("  {}", shrunk.as_ref().unwrap_or(command)));
    }
    let sentence = format!(
        "{} of {} seeds in {} ({:.1} a second): {} failures{}",
        count(found.ran),
        count(found.seeds[1] - found.seeds[0]),
        seconds(found.seconds),
        found.seeds_per_second,
        failures.len(),
        if found.interrupted {
            ", interrupted"
        } else {
            ""
        }
    );
    page.verdict(failures.is_empty() && !found.interrupted, sentence);
    page
}

/// Lists the shapes.
fn list(shapes: &[&Shape]) -> Result<Exit> {
    #[derive(Serialize)]
    struct Listed<'a> {
        schema: &'static str,
        shapes: &'a [&'a Shape],
    }
    let schema = "forebay.swarm-shapes/1";
    report::show(&Listed { schema, shapes }, || {
        let mut page = Page::simulated("Forebay swarm: shapes of the RTL");
        page.grid(shapes::grid(shapes));
        page
    })?;
    Ok(Exit::Good)
}
