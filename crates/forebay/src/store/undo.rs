// SPDX-License-Identifier: Apache-2.0
//! `forebay store undo`: puts back what a repair wrote over.

use std::fs;

use serde::Serialize;

use super::open;
use crate::args::StoreUndoArgs;
use crate::failure::{Exit, Failure, Result};
use crate::render::{self, Page};
use crate::report;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    places: u64,
    bytes: u64,
    same: u64,
    unknown: u64,
}

/// Runs it.
pub fn run(args: &StoreUndoArgs) -> Result<Exit> {
    let file = fs::read(&args.file).map_err(|error| Failure::file("reading", &args.file, error))?;
    let disk = open::write(&args.disk)?;
    let undone = forebay_store::undo(&disk, &file)?;
    let report = Report {
        schema: "forebay.store-undo/1",
        version: env!("CARGO_PKG_VERSION"),
        places: undone.places,
        bytes: undone.bytes,
        same: undone.same,
        unknown: undone.unknown,
    };
    if !report::emit(&report)? {
        let mut page = Page::of_hardware("Forebay store: undone");
        page.field("put back", render::bytes(report.bytes));
        if report.unknown > 0 {
            let text = format!(
                "{} sectors: they could not be read before they were written",
                render::count(report.unknown)
            );
            page.field("left", text);
        }
        page.verdict(true, "the image is as it was before the repair");
        page.print();
    }
    Ok(Exit::Good)
}
