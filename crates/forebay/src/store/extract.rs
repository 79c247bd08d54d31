// SPDX-License-Identifier: Apache-2.0
//! `forebay store cat`, `extract`, `tar`: payloads as files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use forebay_spec::store::index::Row;
use forebay_spec::store::superblock::{Mode, Superblock};
use forebay_store::{Damage, Entry, FileDisk, Recording};
use serde::Serialize;

use super::objects::{Extent, name_of};
use super::open;
use crate::args::{StoreCatArgs, StoreExtractArgs, StoreTarArgs};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::render::{self, Page};
use crate::report;

/// Name of the file that has all of a capture.
pub const CAPTURE: &str = "packets.pcapng";
/// Complaints that are shown one by one.
const SHOWN: usize = 16;

/// Name of an extent's file in its stream's folder, without the extension.
pub fn stem(row: &Row) -> String {
    match row.whole() {
        true => format!("{:020}", row.object),
        false => format!("{:020}@{:020}", row.object, row.offset),
    }
}

/// Name of a stream's folder.
pub fn folder(stream: u16) -> String {
    format!("{stream:05}")
}

/// What stands beside the payload.
pub fn beside(row: &Row, superblock: &Superblock, name: Option<String>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Beside {
        session: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(flatten)]
        extent: Extent,
    }
    let beside = Beside {
        session: superblock.session.to_string(),
        name,
        extent: Extent::of(row, None),
    };
    let mut text = serde_json::to_vec_pretty(&beside).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Runs `cat`.
///
/// # Errors
/// Where there is no such object.
pub fn cat(args: &StoreCatArgs) -> Result<Exit> {
    let disk = open::read(&args.disk)?;
    let recording = Recording::open(&disk)?;
    open::warn(&recording);
    let Some(object) = args.object else {
        return capture(&recording, &mut io::stdout().lock());
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut damaged = 0;
    for entry in recording.rows() {
        match entry {
            Entry::Row { row, .. } => {
                let wanted = args.stream.is_none_or(|stream| stream == row.stream);
                if wanted && row.object == object {
                    rows.push(row);
                }
            }
            Entry::Damaged { .. } => damaged += 1,
        }
    }
    let Some(first) = rows.first().copied() else {
        let hint = match damaged {
            0 => "`forebay store ls` lists those that are there",
            _ => "the index is damaged: `forebay store repair` may bring it back",
        };
        return Err(Failure::input(
            "OBJECT",
            object,
            "there is no such object",
            hint,
        ));
    };
    if rows.iter().any(|row| row.stream != first.stream) {
        return Err(Failure::input(
            "OBJECT",
            object,
            "several streams have such an object",
            "name the stream with --stream",
        ));
    }
    rows.sort_by_key(|row| row.offset);
    let written = write_rows(&recording, &rows);
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Good),
        Err(error) => Err(Failure::file("writing from", &args.disk, error)),
        Ok(complaints) if complaints.is_empty() => Ok(Exit::Good),
        Ok(complaints) => {
            for complaint in complaints.iter().take(SHOWN) {
                eprintln!("warning: {complaint}");
            }
            Ok(Exit::BadResult)
        }
    }
}

/// Writes the whole capture.
fn capture(recording: &Recording<'_, FileDisk>, to: &mut dyn Write) -> Result<Exit> {
    match recording.write_capture(to) {
        // Whoever reads has enough, as `head` has.
        Err(forebay_store::Error::Sink(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Good)
        }
        Err(error) => Err(error.into()),
        Ok(written) if written.left_out == 0 => Ok(Exit::Good),
        Ok(written) => {
            eprintln!(
                "warning: {} chunks or blocks of the index are damaged, and left out",
                written.left_out
            );
            Ok(Exit::BadResult)
        }
    }
}

fn write_rows(recording: &Recording<'_, FileDisk>, rows: &[Row]) -> io::Result<Vec<String>> {
    let mut out = io::stdout().lock();
    let (mut complaints, mut at) = (Vec::new(), 0);
    if let Ok(head) = recording.capture_head() {
        // With it a chunk alone is a capture.
        out.write_all(&head)?;
    }
    for row in rows {
        if row.offset != at {
            complaints.push(format!(
                "bytes {at} to {} of the object are not there; the next follow at once",
                row.offset
            ));
        }
        at = row.offset.saturating_add(row.length.into());
        if !row.stored() {
            complaints.push(format!("the bytes from {} on were not stored", row.offset));
            continue;
        }
        let damage = recording.payload(row, &mut |bytes| out.write_all(bytes))?;
        if let Some(damage) = damage {
            complaints.push(format!("the bytes from {} on: {damage}", row.offset));
        }
    }
    out.flush()?;
    Ok(complaints)
}

#[derive(Debug, Default, Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    session: String,
    files: u64,
    bytes: u64,
    damaged: u64,
    damaged_blocks: u64,
    problems: Vec<String>,
}

impl Report {
    fn complain(&mut self, what: String) {
        if self.problems.len() < SHOWN {
            self.problems.push(what);
        }
    }
}

/// Runs `extract`.
///
/// # Errors
/// Where a file cannot be made.
pub fn run(args: &StoreExtractArgs) -> Result<Exit> {
    let disk = open::read(&args.disk)?;
    let recording = Recording::open(&disk)?;
    open::warn(&recording);
    let mut report = Report {
        schema: "forebay.store-extract/1",
        version: env!("CARGO_PKG_VERSION"),
        session: recording.superblock().session.to_string(),
        ..Report::default()
    };
    if recording.superblock().mode == Mode::Packets {
        return one_capture(&recording, args, report);
    }
    let progress = Progress::count("extracting blocks", recording.blocks());
    for entry in recording.rows() {
        if interrupt::wanted() {
            break;
        }
        match entry {
            Entry::Row { row, block, .. } if row.stored() => {
                progress.at(block);
                if args.stream.is_none_or(|stream| stream == row.stream) {
                    one(&recording, &row, &args.folder, &mut report)?;
                }
            }
            Entry::Row { .. } => {}
            Entry::Damaged { block, why, .. } => {
                report.damaged_blocks += 1;
                report.complain(format!("block {block} of the index is damaged: {why}"));
            }
        }
    }
    drop(progress);
    let good = report.damaged + report.damaged_blocks == 0;
    if !report::emit(&report, args.output.json())? {
        show(&report, &args.folder);
    }
    Ok(match (interrupt::wanted(), good) {
        (true, _) => Exit::Interrupted,
        (_, true) => Exit::Good,
        _ => Exit::BadResult,
    })
}

/// Writes a capture as a file.
fn one_capture(
    recording: &Recording<'_, FileDisk>,
    args: &StoreExtractArgs,
    mut report: Report,
) -> Result<Exit> {
    let to = &args.folder;
    fs::create_dir_all(to).map_err(|error| Failure::file("making the folder", to, error))?;
    let path = to.join(CAPTURE);
    let file = make(&path).map_err(|error| Failure::file("writing", &path, error))?;
    let written = recording.write_capture(&mut BufWriter::with_capacity(1 << 20, file))?;
    (report.files, report.bytes) = (1, written.bytes);
    report.damaged = written.left_out;
    if !report::emit(&report, args.output.json())? {
        show(&report, to);
    }
    Ok(match report.damaged {
        0 => Exit::Good,
        _ => Exit::BadResult,
    })
}

/// Writes an extent's two files; one whose bytes are damaged leaves none.
fn one(
    recording: &Recording<'_, FileDisk>,
    row: &Row,
    to: &Path,
    report: &mut Report,
) -> Result<()> {
    let to = to.join(folder(row.stream));
    fs::create_dir_all(&to).map_err(|error| Failure::file("making the folder", &to, error))?;
    let stem = stem(row);
    let path = to.join(format!(
        "{stem}.{}",
        recording.superblock().extension_text()
    ));
    let failed = |error| Failure::file("writing", &path, error);
    let file = make(&path).map_err(failed)?;
    let mut file = BufWriter::with_capacity(1 << 20, file);
    let damage = recording
        .payload(row, &mut |bytes| file.write_all(bytes))
        .and_then(|damage| file.flush().map(|()| damage))
        .map_err(failed)?;
    if let Some(damage) = damage {
        report.damaged += 1;
        report.complain(object_damage(row, &damage));
        // Bytes with the row's check sum are right, whatever the page in front of them says.
        if !matches!(damage, Damage::Page(_)) {
            return fs::remove_file(&path).map_err(failed);
        }
    }
    let json = to.join(format!("{stem}.json"));
    make(&json)
        .and_then(|mut file| {
            file.write_all(&beside(
                row,
                recording.superblock(),
                name_of(recording, row),
            ))
        })
        .map_err(|error| Failure::file("writing", &json, error))?;
    report.files += 1;
    report.bytes += u64::from(row.length);
    Ok(())
}

fn object_damage(row: &Row, damage: &Damage) -> String {
    format!("object {} of stream {}: {damage}", row.object, row.stream)
}

fn make(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn show(report: &Report, folder: &Path) {
    let mut page = Page::of_hardware("Forebay store: extracted");
    page.field("session", &report.session);
    let text = format!(
        "{} payloads, {}, in {}",
        render::count(report.files),
        render::bytes(report.bytes),
        folder.display()
    );
    page.field("files", text);
    let bad = report.damaged + report.damaged_blocks;
    match bad {
        0 => page.verdict(true, "each check sum is right"),
        _ => page.verdict(
            false,
            format!("{bad} are damaged; of these are left out those whose bytes are wrong:"),
        ),
    };
    for problem in &report.problems {
        page.line(format!("  {problem}"));
    }
    page.print();
}

/// Runs `tar`.
///
/// # Errors
/// Where the recording has no tar file, or the file cannot be written.
pub fn tar(args: &StoreTarArgs) -> Result<Exit> {
    let disk = open::read(&args.disk)?;
    let recording = Recording::open(&disk)?;
    open::warn(&recording);
    let failed = |error| Failure::file("writing", &args.to, error);
    let written = if args.to.as_os_str() == "-" {
        recording.write_tar(&mut io::stdout().lock())
    } else {
        recording.write_tar(&mut make(&args.to).map_err(failed)?)
    };
    match written? {
        0 => Ok(Exit::Good),
        left_out => {
            eprintln!(
                "warning: {left_out} extents or blocks of the index are damaged, and left out"
            );
            Ok(Exit::BadResult)
        }
    }
}
