// SPDX-License-Identifier: Apache-2.0
//! `forebay store report`: a recording over time, drawn.

use std::fs;

use forebay_app::store::{self, ClassNames};
use forebay_store::{Key, Recording};

use super::disks;
use crate::args::StoreReportArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

/// Runs it.
pub fn run(args: &StoreReportArgs) -> Result<Exit> {
    let disk = disks::read(&args.on.disks)?;
    let mut recording = Recording::open(&*disk)?;
    if let Some(path) = &args.key_file {
        recording = recording.with_key(&Key::read(path)?)?;
    }
    let names = match &args.classes {
        Some(path) => ClassNames::read(path)?,
        None => ClassNames::default(),
    };
    let found = store::Report::of(&recording);
    if let Some(path) = &args.html {
        let first = &args.on.disks[0];
        let name = first.file_name().unwrap_or(first.as_os_str());
        let page = found.html(&name.to_string_lossy(), &recording, &names)?;
        fs::write(path, page).map_err(|error| Failure::file("writing", path, error))?;
    }
    let report = Report::new("forebay.store-report/1", found);
    report::show(&report, || report.found.page(args.html.as_deref()))?;
    Ok(match report.found.is_whole() {
        true => Exit::Good,
        false => Exit::Damaged,
    })
}
