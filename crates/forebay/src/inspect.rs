// SPDX-License-Identifier: Apache-2.0
//! `forebay inspect`: what the streamer's registers and both sides of its queues say, after a small
//! workload or from what a run has stored.

use forebay_app::Ended;
use forebay_app::flight::{RECORD_SCHEMA, RecordReport};
use forebay_app::inspection::{Report, SCHEMA};

use crate::args::InspectArgs;
use crate::failure::{Exit, Result};
use crate::report;

/// Runs it.
pub fn run(args: &InspectArgs) -> Result<Exit> {
    let (mut report, ended) = match &args.from {
        Some(path) => (report::load::<Report>(path, SCHEMA)?, Ended::Done),
        None => Report::after_workload(&args.machine)?,
    };
    if let Some(path) = &args.drive {
        let RecordReport { record, .. } = report::load(path, RECORD_SCHEMA)?;
        let flight = report.flight.take().unwrap_or_default();
        report.flight = Some(flight.with_record(record));
    }
    report::show(&report, || report.page(args.events))?;
    ended.exit(true)
}
