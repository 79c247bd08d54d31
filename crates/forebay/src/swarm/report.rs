// SPDX-License-Identifier: Apache-2.0
//! What a swarm has found, and the shapes that it runs on.

use std::ops::Range;

use forebay_pipeline::Memory;
use serde::Serialize;

use super::shapes::Shape;
use super::{Failed, Kind, SCHEMA, Tried};
use crate::args::ReportArgs;
use crate::failure::{Exit, Result};
use crate::interrupt;
use crate::render::{self, Grid, Page};
use crate::report;
use crate::soak::Soak;

/// What a swarm reports.
#[derive(Serialize)]
pub struct Report {
    schema: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    simulated: bool,
    interrupted: bool,
    /// The first seed, and that behind the last.
    seeds: [u64; 2],
    /// Seeds that ran, less than there are where one failed or the user stopped it.
    ran: u64,
    seconds: f64,
    seeds_per_second: f64,
    #[serde(flatten)]
    total: Total,
    shapes: Vec<OfShape>,
    /// The command of the case, where there is one only.
    command: Option<String>,
    pub(super) failures: Vec<Failed>,
}

/// Sums over cases.
#[derive(Default, Serialize)]
struct Total {
    transactions: u64,
    refused: u64,
    /// Failed for a cause.
    failed: u64,
    aborted: u64,
    /// Faults that drives committed.
    faults: u64,
    resets: u64,
    recoveries: u64,
    bytes: u64,
    cycles: u64,
}

/// The cases on one shape.
#[derive(Serialize)]
struct OfShape {
    name: &'static str,
    seeds: u64,
    failures: u64,
    #[serde(flatten)]
    total: Total,
}

impl Total {
    fn add(&mut self, soak: &Soak) {
        self.transactions += soak.transactions;
        self.refused += soak.refused;
        self.failed += soak.failed;
        self.aborted += soak.aborted;
        self.faults += soak.faults;
        self.resets += soak.resets;
        self.recoveries += soak.recoveries;
        self.bytes += soak.bytes_written + soak.bytes_read;
        self.cycles += soak.cycles;
    }
}

impl Report {
    /// Of seeds that were tried; failures are still to be added.
    pub(super) fn new(
        seeds: Range<u64>,
        seconds: f64,
        shapes: &[&'static Shape],
        tried: &[Tried],
    ) -> Self {
        let mut total = Total::default();
        let mut of_shapes: Vec<_> = shapes
            .iter()
            .map(|shape| OfShape {
                name: shape.name,
                seeds: 0,
                failures: 0,
                total: Total::default(),
            })
            .collect();
        let whole = tried.iter().filter(|tried| !tried.attempt.interrupted);
        let mut ran = 0;
        for tried in whole {
            ran += 1;
            total.add(&tried.attempt.found);
            let shape = &mut of_shapes[tried.shape];
            shape.seeds += 1;
            shape.failures += u64::from(tried.attempt.failure.is_some());
            shape.total.add(&tried.attempt.found);
        }
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            command_line: report::command_line(),
            simulated: true,
            interrupted: interrupt::wanted(),
            seeds: [seeds.start, seeds.end],
            ran,
            seconds,
            seeds_per_second: ran as f64 / seconds.max(1e-9),
            total,
            shapes: of_shapes,
            command: match tried {
                [only] => Some(only.case.command()),
                _ => None,
            },
            failures: Vec::new(),
        }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        let stuck = |failed: &Failed| failed.kind == Kind::Stuck;
        match self.failures.is_empty() {
            false if self.failures.iter().all(stuck) => Exit::Stuck,
            false => Exit::BadResult,
            true if self.interrupted => Exit::Interrupted,
            true => Exit::Good,
        }
    }

    /// For people.
    pub fn show(&self) {
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
        } in &self.shapes
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
        if let (Some(command), true) = (&self.command, self.failures.is_empty()) {
            page.line(format_args!("\n  {command}"));
        }
        for failed in &self.failures {
            page.heading(&format!(
                "Seed {} on {}: {:?}",
                failed.seed, failed.shape, failed.kind
            ));
            for line in &failed.seen {
                page.line(format_args!("  {} {line}", render::mark(false)));
            }
            let command = failed.shrunk.as_ref().unwrap_or(&failed.command);
            page.line(format_args!("  {command}"));
        }
        let good = self.failures.is_empty() && !self.interrupted;
        let sentence = format!(
            "{} of {} seeds in {} ({:.1} a second): {} failures{}",
            render::count(self.ran),
            render::count(self.seeds[1] - self.seeds[0]),
            render::seconds(self.seconds),
            self.seeds_per_second,
            self.failures.len(),
            if self.interrupted {
                ", interrupted"
            } else {
                ""
            }
        );
        page.verdict(good, sentence);
        page.print();
    }
}

/// Shows the shapes.
///
/// # Errors
/// Where the report cannot be written.
pub fn list(shapes: &[&Shape], args: &ReportArgs) -> Result<Exit> {
    #[derive(Serialize)]
    struct Listed<'a> {
        schema: &'static str,
        shapes: &'a [&'a Shape],
    }
    let schema = "forebay.swarm-shapes/1";
    if report::emit(&Listed { schema, shapes }, args.json.as_deref())? {
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
