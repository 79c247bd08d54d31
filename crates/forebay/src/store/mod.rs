// SPDX-License-Identifier: Apache-2.0
//! `forebay store`: recordings on images and drives.

mod extract;
mod format;
mod info;
mod ls;
mod mount;
mod pack;
mod python;
mod repair;
mod report;
mod report_chart;
mod report_html;
mod undo;
mod verify;

use forebay_store::{Disk, Recording};
use serde::Serialize;

use crate::args::StoreCommand;
use crate::failure::{Exit, Result};

/// A report on a recording: kind and version, and what was found.
#[derive(Serialize)]
struct Report<T> {
    schema: &'static str,
    version: &'static str,
    #[serde(flatten)]
    found: T,
}

impl<T> Report<T> {
    const fn new(schema: &'static str, found: T) -> Self {
        Self {
            schema,
            version: env!("CARGO_PKG_VERSION"),
            found,
        }
    }
}

/// Tells on standard error what is not as it should be.
fn warn<D: Disk + ?Sized>(recording: &Recording<'_, D>) {
    for complaint in recording.complaints() {
        eprintln!("warning: {complaint}");
    }
}

/// Runs it.
pub fn run(store: &StoreCommand) -> Result<Exit> {
    match store {
        StoreCommand::Format(args) => format::run(args),
        StoreCommand::Pack(args) => pack::run(args),
        StoreCommand::Info(args) => info::run(args),
        StoreCommand::Ls(args) => ls::run(args),
        StoreCommand::Cat(args) => extract::cat(args),
        StoreCommand::Extract(args) => extract::run(args),
        StoreCommand::Tar(args) => extract::tar(args),
        StoreCommand::Verify(args) => verify::run(args),
        StoreCommand::Repair(args) => repair::run(args),
        StoreCommand::Undo(args) => undo::run(args),
        StoreCommand::Mount(args) => mount::run(args),
        StoreCommand::Sql(args) => python::sql(args),
        StoreCommand::Export(args) => python::export(args),
        StoreCommand::Report(args) => report::run(args),
    }
}
