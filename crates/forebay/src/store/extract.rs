// SPDX-License-Identifier: Apache-2.0
//! `forebay store cat`, `extract`, `tar`: payloads as files.

use std::fs::File;
use std::io;
use std::path::Path;

use forebay_app::interrupt;
use forebay_app::progress::Progress;
use forebay_draw::text::Page;
use forebay_pipeline::units::{bytes, count};
use forebay_store::{Error, Extracted, Recording};
use serde::Serialize;

use super::{disks, note, open, warn};
use crate::args::{StoreCatArgs, StoreExtractArgs, StoreTarArgs};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

/// Complaints that are shown one by one.
const SHOWN: usize = 16;

/// Runs `cat`.
pub fn cat(args: &StoreCatArgs) -> Result<Exit> {
    let disk = disks::read(std::slice::from_ref(&args.disk))?;
    let recording = open(&*disk, &args.key)?;
    let mut out = io::stdout().lock();
    let Some(object) = args.object else {
        return match recording.write_capture(&mut out) {
            // The reader has enough, as `head` has.
            Err(Error::Sink(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Good),
            written => Ok(left_out(written?.left_out, "chunks or blocks of the index")),
        };
    };
    let rows = recording.object(object, args.stream)?;
    match recording.write_object(&rows, &mut out) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Good),
        Err(error) => Err(Failure::file("writing from", &args.disk, error)),
        Ok(complaints) if complaints.is_empty() => Ok(Exit::Good),
        Ok(complaints) => {
            for complaint in complaints.iter().take(SHOWN) {
                eprintln!("warning: {complaint}");
            }
            Ok(Exit::Damaged)
        }
    }
}

/// Warns of what is damaged and was left out.
fn left_out(count: u64, what: &str) -> Exit {
    if count == 0 {
        return Exit::Good;
    }
    eprintln!("warning: {count} {what} are damaged, and left out");
    Exit::Damaged
}

#[derive(Serialize)]
struct Found {
    session: String,
    #[serde(flatten)]
    extracted: Extracted,
}

/// Runs `extract`.
pub fn run(args: &StoreExtractArgs) -> Result<Exit> {
    let disk = disks::read(&args.on.disks)?;
    let recording = open(&*disk, &args.key)?;
    let progress = Progress::count("extracting blocks", recording.blocks());
    let extracted = recording.extract(&args.folder, args.stream, &mut |block| {
        progress.at(block);
        !interrupt::wanted()
    })?;
    drop(progress);
    let bad = extracted.damaged + extracted.damaged_blocks;
    let found = Found {
        session: recording.superblock().session.to_string(),
        extracted,
    };
    let report = Report::new("forebay.store-extract/1", found);
    report::show(&report, || page(&report.found, &args.folder))?;
    Ok(match (interrupt::wanted(), bad) {
        (true, _) => Exit::Interrupted,
        (_, 0) => Exit::Good,
        _ => Exit::Damaged,
    })
}

fn page(found: &Found, folder: &Path) -> Page {
    let mut page = Page::of_hardware("Forebay store: extracted");
    page.field("session", &found.session);
    let extracted = &found.extracted;
    let text = format!(
        "{} payloads, {}, in {}",
        count(extracted.files),
        bytes(extracted.bytes),
        folder.display()
    );
    page.field("files", text);
    match extracted.damaged + extracted.damaged_blocks {
        0 => page.verdict(true, "each checksum is right"),
        bad => page.verdict(
            false,
            format!("{bad} are damaged; of these are left out those whose bytes are wrong:"),
        ),
    };
    for problem in &extracted.problems {
        page.line(format!("  {problem}"));
    }
    page
}

/// Runs `tar`.
pub fn tar(args: &StoreTarArgs) -> Result<Exit> {
    let disk = disks::read(std::slice::from_ref(&args.disk))?;
    let recording = Recording::open(&*disk)?;
    warn(&recording);
    note(recording.superblock().schema.cipher);
    let written = if args.to.as_os_str() == "-" {
        match recording.write_tar(&mut io::stdout().lock()) {
            // The reader has enough, as `head` has.
            Err(Error::Sink(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(Exit::Good);
            }
            written => written?,
        }
    } else {
        let file = File::create_new(&args.to);
        let failed = |error| Failure::file("writing", &args.to, error);
        recording.write_tar(&mut file.map_err(failed)?)?
    };
    Ok(left_out(written, "extents or blocks of the index"))
}
