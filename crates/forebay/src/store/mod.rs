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

use std::path::Path;

use forebay_store::{Recording, is_block_device};
use serde::Serialize;

use crate::args::{ConsentArgs, StoreCommand};
use crate::failure::{Exit, Failure, Result};

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
fn warn(recording: &Recording<'_>) {
    for complaint in recording.complaints() {
        eprintln!("warning: {complaint}");
    }
}

/// Allows a block device to be overwritten, or a file, which needs no consent.
pub fn consent(path: &Path, allowed: &ConsentArgs) -> Result<()> {
    if is_block_device(path) {
        let serial = attribute(path, "serial");
        return allowed.check(&path.display().to_string(), serial.as_deref());
    }
    match allowed.is_given() {
        false => Ok(()),
        true => Err(Failure::input(
            "--yes or --serial",
            "given",
            &format!("{} is no drive", path.display()),
            "leave it out",
        )),
    }
}

/// What Linux tells of a block device, such as its serial number.
fn attribute(path: &Path, name: &str) -> Option<String> {
    let device = path
        .canonicalize()
        .ok()
        .filter(|path| is_block_device(path))?;
    let folder = Path::new("/sys/class/block")
        .join(device.file_name()?)
        .canonicalize()
        .ok()?;
    // Of a namespace, of a virtual disk, and of a partition of either.
    let places = ["device", ".", "../device", ".."].map(|place| folder.join(place).join(name));
    let texts = places
        .iter()
        .filter_map(|place| std::fs::read_to_string(place).ok());
    let mut texts = texts.map(|text| text.trim().to_owned());
    texts.find(|text| !text.is_empty())
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
