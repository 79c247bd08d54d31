// SPDX-License-Identifier: Apache-2.0
//! `forebay store pack`: files of a folder as objects, written by software.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use forebay_spec::store::superblock::Mode;
use forebay_spec::store::tar::Name;
use forebay_store::{Disk, Extent, Format, IndexSize, PAGE, Summary, Writer, pages};
use serde::Serialize;

use super::open;
use crate::args::StorePackArgs;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::render::{self, Page};
use crate::report;

/// Bytes of tables and superblocks, and some for bounds.
const FRAME: u64 = 4 << 20;

struct Source {
    path: PathBuf,
    bytes: u64,
    time: u64,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    session: String,
    objects: u64,
    rows: u64,
    bytes: u64,
    skipped_bytes: u64,
    /// Files whose names are not kept: there is no header for them, or they are too long.
    unnamed: u64,
    closed: bool,
}

impl Source {
    /// Its name in the folder; none where a recording has no room for it.
    fn name(&self) -> Option<Name> {
        Name::new(self.path.file_name()?.as_encoded_bytes())
    }
}

fn sources(folder: &Path) -> Result<Vec<Source>> {
    let failed = |error| Failure::file("reading the folder", folder, error);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let found = fs::metadata(&path).map_err(|error| Failure::file("reading", &path, error))?;
        if !found.is_file() {
            continue;
        }
        let changed = found.modified().ok();
        let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        all.push(Source {
            path,
            bytes: found.len(),
            time: changed.map_or(0, |since| since.as_nanos() as u64),
        });
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    if all.is_empty() {
        return Err(Failure::input(
            "the folder",
            folder.display(),
            "no files are in it",
            "name a folder with files; folders within it are left out",
        ));
    }
    Ok(all)
}

/// A new image that these files fit in.
fn image(args: &StorePackArgs, files: &[Source]) -> Result<impl Disk + use<>> {
    let each = |file: &Source| {
        let extents = file.bytes.div_ceil(args.extent.max(1)).max(1);
        (extents, pages(file.bytes) + extents * 2 * PAGE)
    };
    let all = files.iter().map(each);
    let (rows, data) = all.fold((0, 0u64), |all, next| {
        (all.0 + next.0, all.1.saturating_add(next.1))
    });
    let settings = Format {
        small: args.small,
        index: IndexSize::Rows(rows),
        ..Format::default()
    };
    let index = (rows / 64 + 3) * PAGE;
    let size = FRAME + data + index.next_multiple_of(1 << 20);
    let disk = open::create(&args.disk, pages(size))?;
    forebay_store::format(&disk, &settings)?;
    Ok(disk)
}

/// Runs it.
///
/// # Errors
/// Where a file cannot be read, or the recording takes no more.
pub fn run(args: &StorePackArgs) -> Result<Exit> {
    let files = sources(&args.folder)?;
    if args.disk.exists() {
        return fill(args, &files, &open::write(&args.disk)?);
    }
    fill(args, &files, &image(args, &files)?)
}

fn fill(args: &StorePackArgs, files: &[Source], disk: &impl Disk) -> Result<Exit> {
    let mut writer = Writer::new(disk)?.with_extents_of(args.extent);
    if writer.superblock().mode == Mode::Packets {
        return Err(Failure::input(
            "the recording's mode",
            Mode::Packets.name(),
            "files of a folder are objects, or samples",
            "name another recording; `forebay run` writes packets",
        ));
    }
    let session = writer.superblock().session.to_string();
    let unnamed = match writer.superblock().mode {
        Mode::Objects => files.iter().filter(|file| file.name().is_none()).count(),
        _ => files.len(),
    } as u64;
    let progress = Progress::bytes("packing", files.iter().map(|file| file.bytes).sum());
    let mut objects = 0;
    for file in files {
        if interrupt::wanted() {
            break;
        }
        let failed = |error| Failure::file("reading", &file.path, error);
        let mut payload = File::open(&file.path).map_err(failed)?;
        let about = Extent {
            stream: args.stream,
            object: objects,
            time: file.time,
            name: file.name().unwrap_or_default(),
            ..Extent::default()
        };
        writer.put(&about, &mut payload, file.bytes)?;
        objects += 1;
        progress.at(writer.summary().bytes);
    }
    let summary: Summary = if args.leave_open {
        writer.sync()?;
        writer.summary()
    } else {
        writer.close()?
    };
    drop(progress);
    let report = Report {
        schema: "forebay.store-pack/1",
        version: env!("CARGO_PKG_VERSION"),
        session,
        objects,
        rows: summary.rows,
        bytes: summary.bytes,
        skipped_bytes: summary.skipped,
        unnamed,
        closed: !args.leave_open,
    };
    let good = summary.skipped == 0;
    if !report::emit(&report, args.output.json())? {
        show(&report);
    }
    Ok(match (interrupt::wanted(), good) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Good,
        (false, false) => Exit::BadResult,
    })
}

fn show(report: &Report) {
    let mut page = Page::of_hardware("Forebay store: packed");
    page.field("session", &report.session);
    let text = format!(
        "{} objects in {} extents, {}",
        render::count(report.objects),
        render::count(report.rows),
        render::bytes(report.bytes)
    );
    page.field("stored", text);
    if report.unnamed > 0 {
        let count = render::count(report.unnamed);
        page.field("names", format_args!("of {count} files are not kept"));
    }
    match report.skipped_bytes {
        0 => page.verdict(true, "all of them are there"),
        bytes => page.verdict(
            false,
            format!("there was no room for {}", render::bytes(bytes)),
        ),
    };
    page.print();
}
