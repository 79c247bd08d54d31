// SPDX-License-Identifier: Apache-2.0
//! `forebay store undo`: puts back what a repair wrote over.

use std::fs;

use forebay_draw::text::Page;
use forebay_pipeline::units::{bytes, count};
use forebay_store::FileDisk;

use crate::args::StoreUndoArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

/// Runs it.
pub fn run(args: &StoreUndoArgs) -> Result<Exit> {
    let file = fs::read(&args.file).map_err(|error| Failure::file("reading", &args.file, error))?;
    let disk = FileDisk::open_to_write(&args.disk)?;
    let undone = forebay_store::undo(&disk, &file)?;
    let report = Report::new("forebay.store-undo/1", undone);
    report::show(&report, || {
        let mut page = Page::of_hardware("Forebay store: undone");
        page.field("put back", bytes(report.found.bytes));
        if report.found.unknown > 0 {
            let text = format!(
                "{} sectors: they could not be read before they were written",
                count(report.found.unknown)
            );
            page.field("left", text);
        }
        page.verdict(true, "the image is as it was before the repair");
        page
    })?;
    Ok(Exit::Good)
}
