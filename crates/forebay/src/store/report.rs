// SPDX-License-Identifier: Apache-2.0
//! `forebay store report`: a recording over time, drawn.

use std::fs;

use forebay_store::{FileDisk, Recording, Statistics, Totals};
use serde::Serialize;

use super::report_html;
use crate::args::StoreReportArgs;
use crate::failure::{Exit, Failure, Result};
use crate::render::{self, Page};
use crate::report;

/// What is reported.
#[derive(Serialize)]
pub struct Report<'r> {
    schema: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Which recording.
    pub session: String,
    /// What it is, in words.
    pub about: String,
    /// What the index says in all.
    pub totals: Totals,
    /// The same over time, by stream and class.
    pub statistics: Statistics,
    /// What is not as it should be.
    pub complaints: &'r [String],
}

/// Runs it.
pub fn run(args: &StoreReportArgs) -> Result<Exit> {
    let disk = FileDisk::open(&args.disk)?;
    let recording = Recording::open(&disk)?;
    let superblock = recording.superblock();
    let drive = String::from_utf8_lossy(&superblock.drive.model);
    let parts = [
        superblock.mode.name(),
        if superblock.ring { "a ring" } else { "" },
        if superblock.closed.is_some() {
            "closed"
        } else {
            "open"
        },
        drive.trim(),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let totals = Totals::of(&recording);
    let report = Report {
        schema: "forebay.store-report/1",
        version: env!("CARGO_PKG_VERSION"),
        session: superblock.session.to_string(),
        about: parts.join(", "),
        statistics: Statistics::of(&recording, &totals),
        totals,
        complaints: recording.complaints(),
    };
    if let Some(path) = &args.html {
        let name = args.disk.file_name().unwrap_or(args.disk.as_os_str());
        let page = report_html::page(&report, &name.to_string_lossy())?;
        fs::write(path, page).map_err(|error| Failure::file("writing", path, error))?;
    }
    let whole = report.totals.damaged_blocks + report.totals.wrong_rows == 0;
    if !report::emit(&report)? {
        show(&report, args);
    }
    Ok(if whole { Exit::Good } else { Exit::Damaged })
}

fn show(report: &Report<'_>, args: &StoreReportArgs) {
    let (totals, all) = (&report.totals, &report.statistics);
    let mut page = Page::of_hardware("Forebay store: report");
    page.field("session", &report.session);
    page.field("extents", render::count(totals.rows));
    page.field("stored", render::bytes(totals.bytes));
    if let (Some(first), Some(last)) = (totals.first_ns, totals.last_ns) {
        let span = render::seconds(last.saturating_sub(first) as f64 * 1e-9);
        page.field("spans", span);
    }
    page.field("streams", all.streams.len());
    page.field("classes", all.classes.len());
    page.field("gaps", render::count(all.gap_count));
    if let Some(path) = &args.html {
        page.field("page", path.display());
    }
    let damaged = totals.damaged_blocks + totals.wrong_rows;
    match damaged {
        0 => page.verdict(true, "the index is whole"),
        _ => page.verdict(
            false,
            "the index is damaged: `forebay store repair` mends what can be",
        ),
    };
    page.print();
}
