// SPDX-License-Identifier: Apache-2.0
//! `forebay demo`: a real file, through the RTL, to the drive and back.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use forebay_app::home;
use forebay_lab::demo;

use crate::args::DemoArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report;

/// Runs it.
pub fn run(args: &DemoArgs) -> Result<Exit> {
    let (path, data) = load(args)?;
    let (report, ended) = demo::run(&args.machine, home::short(&path), &data)?;
    report::show(&report, || report.page())?;
    ended.exit(report.is_good())
}

/// Reads the file, or as much as is wanted of it.
fn load(args: &DemoArgs) -> Result<(PathBuf, Arc<[u8]>)> {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .map_err(|error| Failure::file("finding", "this program".as_ref(), error))?,
    };
    let file = File::open(&path).map_err(|error| Failure::file("opening", &path, error))?;
    let mut data = Vec::new();
    file.take(args.limit)
        .read_to_end(&mut data)
        .map_err(|error| Failure::file("reading", &path, error))?;
    if data.is_empty() {
        return Err(Failure::input(
            "--file",
            path.display(),
            "it is empty",
            "name a file with something in it",
        ));
    }
    Ok((path, data.into()))
}
