// SPDX-License-Identifier: Apache-2.0
//! `forebay store repair` and `undo`: ends a recording that lost power, mends what can be mended, and puts
//! back what a repair wrote over.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use forebay_app::interrupt;
use forebay_app::progress::Progress;
use forebay_draw::text::Page;
use forebay_pipeline::units::{bytes, count};
use forebay_store::{Array, Disk, FileDisk, Keep, Options, Recording, Repair};
use serde::Serialize;

use super::disks;
use crate::args::{StoreRepairArgs, StoreUndoArgs};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

#[derive(Serialize)]
struct Found {
    session: String,
    dry_run: bool,
    /// Superblocks of members of an array that were damaged.
    member_superblocks_mended: u64,
    #[serde(flatten)]
    repair: Repair,
    complaints: Vec<String>,
}

/// Runs it.
pub fn run(args: &StoreRepairArgs) -> Result<Exit> {
    let mut paths = disks::named(&args.on.disks);
    let new = args.replace.as_slice();
    match new.is_empty() && !args.consent.is_given() {
        true => {}
        false => disks::consent(new, &args.consent)?,
    }
    if let Some(new) = &args.replace {
        paths = replace(&paths, new)?;
    }
    let disk = match args.dry_run {
        true => disks::read(&paths)?,
        false => disks::write(&paths, args.force)?,
    };
    let recording = Recording::open(&*disk)?;
    let (session, complaints) = (
        recording.superblock().session.to_string(),
        recording.complaints().to_vec(),
    );
    drop(recording);
    let found = Found {
        session,
        dry_run: args.dry_run,
        member_superblocks_mended: disk.array().map_or(0, Array::damaged),
        repair: mend(args, &*disk)?,
        complaints,
    };
    if let (Some(array), false) = (disk.array(), args.dry_run) {
        array.mend()?;
    }
    let report = Report::new("forebay.store-repair/1", found);
    report::show(&report, || page(&report.found))?;
    Ok(match report.found.repair.is_done() {
        true => Exit::Good,
        false => Exit::Damaged,
    })
}

/// Puts a drive in the place of the missing member; returns the members.
fn replace(paths: &[PathBuf], new: &Path) -> Result<Vec<PathBuf>> {
    let all: Vec<_> = paths.iter().cloned().chain([new.to_owned()]).collect();
    disks::distinct(&all)?;
    let parts = disks::to_write(paths)?;
    let new = disks::part(new, FileDisk::open_to_write)?;
    let progress = Progress::bytes("replacing the missing member", new.disk.len());
    let array = forebay_store::replace(parts, new, &mut |at| {
        progress.at(at);
        !interrupt::wanted()
    })?;
    Ok(array
        .members
        .into_iter()
        .flatten()
        .map(PathBuf::from)
        .collect())
}

fn mend(args: &StoreRepairArgs, disk: &dyn Disk) -> Result<Repair> {
    let progress = Progress::bytes("looking for extents", disk.len());
    let mut see = |at| {
        progress.at(at);
        !interrupt::wanted()
    };
    if let Some(path) = args.undo.as_ref().filter(|path| path.exists()) {
        return Err(Failure::input(
            "--undo",
            path.display().to_string().as_str(),
            "it names a new file",
            "choose another name: what an older repair wrote over may be in this one",
        ));
    }
    let mut keep = |bytes: &[u8]| {
        let path = args.undo.as_deref().unwrap_or(Path::new(""));
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    let options = Options {
        dry_run: args.dry_run,
        force: args.force,
        look: args.look,
        skip_headers: false,
        at_rest: false,
        undo: args.undo.as_ref().map(|_| &mut keep as Keep<'_>),
    };
    Ok(forebay_store::repair(disk, options, &mut see)?)
}

fn page(found: &Found) -> Page {
    let repair = &found.repair;
    let title = match found.dry_run {
        true => "Forebay store: what a repair would do",
        false => "Forebay store: repaired",
    };
    let mut page = Page::of_hardware(title);
    page.field("session", &found.session);
    for complaint in &found.complaints {
        page.field("before", complaint);
    }
    let there = format!("{} index records", count(repair.rows));
    page.field("there", there);
    let lines = [
        (
            repair.recovered,
            format!("extents recovered, {}", bytes(repair.recovered_bytes)),
        ),
        (
            repair.blocks_mended,
            format!(
                "damaged blocks of the index written anew, with {} records",
                repair.rows_mended
            ),
        ),
        (
            repair.headers_mended,
            "damaged object header blocks written anew from their index records".into(),
        ),
        (
            repair.rows_voided,
            "index records dropped: newer objects lie on theirs".into(),
        ),
        (
            repair.wrong_rows,
            "index records that cannot be, left as they are: `forebay store ls --rows` names them"
                .into(),
        ),
        (
            repair.blocks_left,
            "damaged blocks of the index left as they are: their records stand nowhere else; \
             --force gives them up"
                .into(),
        ),
        (
            repair.unreadable,
            "places that cannot be read left as they are: try again later, or --force".into(),
        ),
        (
            repair.partial,
            "extents without an index record whose payload cannot be read now, left as they are"
                .into(),
        ),
        (
            repair.no_room,
            "extents in the tar file only: the index is full".into(),
        ),
        (
            repair.lost,
            format!(
                "places without an extent, {}: files lost/*.bin of the tar file",
                bytes(repair.lost_bytes)
            ),
        ),
    ];
    for (number, what) in lines.iter().filter(|(number, _)| *number > 0) {
        page.field("", format!("{} {what}", count(*number)));
    }
    if found.member_superblocks_mended > 0 {
        let superblocks = count(found.member_superblocks_mended);
        page.field(
            "",
            format!("{superblocks} damaged superblocks of members written anew"),
        );
    }
    let changed = repair.changed || found.member_superblocks_mended > 0;
    let sentence = match (changed, found.dry_run) {
        _ if repair.open => "the recording stays open: where it ends is not known",
        (false, _) if !repair.is_done() => "nothing else is to be done: it is closed",
        (false, _) => "nothing is to be done: it is closed and whole",
        (true, true) => "without --dry-run this is written, and the recording closed",
        (true, false) => "the recording is closed, and opens with all tools",
    };
    let good = repair.is_done() && (!found.dry_run || !changed);
    page.verdict(good, sentence);
    page
}

/// Runs `undo`.
pub fn undo(args: &StoreUndoArgs) -> Result<Exit> {
    let file = fs::read(&args.file).map_err(|error| Failure::file("reading", &args.file, error))?;
    let disk = disks::write(&args.on.disks, false)?;
    let undone = forebay_store::undo(&*disk, &file)?;
    let report = Report::new("forebay.store-undo/1", undone);
    report::show(&report, || {
        let mut page = Page::of_hardware("Forebay store: undone");
        page.field("put back", bytes(report.found.bytes));
        if report.found.unknown > 0 {
            let unknown = count(report.found.unknown);
            let text =
                format!("{unknown} sectors: they could not be read before they were written");
            page.field("left", text);
        }
        page.verdict(true, "the image is as it was before the repair");
        page
    })?;
    Ok(Exit::Good)
}
