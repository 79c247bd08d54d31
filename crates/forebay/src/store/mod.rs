// SPDX-License-Identifier: Apache-2.0
//! `forebay store`: recordings on images and drives.

mod extract;
mod format;
mod info;
mod ls;
mod mount;
mod objects;
mod open;
mod pack;
mod python;
mod repair;
mod report;
mod report_chart;
mod report_html;
mod statistics;
mod tree;
mod undo;
mod verify;

pub use extract::CAPTURE;
pub use open::consent;

use crate::args::StoreCommand;
use crate::failure::{Exit, Result};

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
