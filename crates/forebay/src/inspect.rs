// SPDX-License-Identifier: Apache-2.0
//! `forebay inspect`: what the streamer's registers and both sides of its queues say, after a small
//! workload or from what a run has stored.

use forebay_cosim::Direction;
use forebay_driver::Flight;
use serde::{Deserialize, Serialize};

use crate::args::InspectArgs;
use crate::failure::{Exit, Result};
use crate::flight::{self, RECORD_SCHEMA, RecordReport};
use crate::inspection::{self, Inspection};
use crate::render::Page;
use crate::report::{self, Header};
use crate::session::{Ended, Session};
use crate::workload::{ops, scattered, sequential};

/// Kind and version of what is stored.
pub const SCHEMA: &str = "forebay.inspect/1";

/// What is stored by `forebay io --inspect` and by `--output json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// How it came about.
    #[serde(flatten)]
    pub header: Header,
    /// What the registers said.
    #[serde(flatten)]
    pub inspection: Inspection,
    /// Both sides of the queues; none in files of before there was this.
    #[serde(default)]
    pub flight: Option<Flight>,
}

/// Runs it.
pub fn run(args: &InspectArgs) -> Result<Exit> {
    let (mut report, ended) = match &args.from {
        Some(path) => (report::load::<Report>(path, SCHEMA)?, Ended::Done),
        None => workload(args)?,
    };
    if let Some(path) = &args.drive {
        let RecordReport { record, .. } = report::load(path, RECORD_SCHEMA)?;
        let flight = report.flight.take().unwrap_or_default();
        report.flight = Some(flight.with_record(record));
    }
    if !report::emit(&report)? {
        let mut page = Page::new("Forebay inspect");
        page.line(format_args!(
            "  after: {}",
            report.header.command_line.join(" ")
        ));
        inspection::show(&report.inspection, &mut page, args.events);
        if let Some(flight) = &report.flight {
            flight::show(flight, &mut page, args.events);
        }
        page.print();
    }
    Ok(ended.exit(true))
}

/// Some of everything: a sequential write, scattered writes and reads.
fn workload(args: &InspectArgs) -> Result<(Report, Ended)> {
    let mut session = Session::start(&args.machine, SCHEMA, |_| Ok(()))?;
    let area = session.namespace()?.bytes().min(1 << 30);
    let large = (256 << 10).min(area);
    let mut all = ops(&sequential(Direction::Write, (1 << 20).min(area), large));
    all.extend(ops(&scattered(
        Direction::Write,
        256 << 10,
        4096,
        area,
        args.machine.seed,
    )));
    let mut ended = session.measure("writing", &all).ended;
    if ended.is_done() {
        for op in &mut all {
            op.direction = Direction::Read;
        }
        ended = session.measure("reading", &all).ended;
    }
    let inspection = inspection::take(&mut session.system)?;
    let flight = Some(flight::take(&mut session.system));
    Ok((
        Report {
            header: session.header(&ended),
            inspection,
            flight,
        },
        ended,
    ))
}
