// SPDX-License-Identifier: Apache-2.0
//! `forebay store repair`: ends a recording that lost power, and mends what can be mended.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use forebay_store::{Disk, FileDisk, Keep, Options, Recording, Repair};
use serde::Serialize;

use super::open;
use crate::args::StoreRepairArgs;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::render::{self, Page};
use crate::report;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    session: String,
    dry_run: bool,
    changed: bool,
    rows: u64,
    recovered: u64,
    recovered_bytes: u64,
    blocks_mended: u64,
    rows_mended: u64,
    blocks_left: u64,
    headers_mended: u64,
    partial: u64,
    unreadable: u64,
    open: bool,
    rows_voided: u64,
    rows_wrong: u64,
    without_room_in_index: u64,
    lost: u64,
    lost_bytes: u64,
    index_blocks: u64,
    data_end: u64,
    complaints: Vec<String>,
}

/// Runs it.
pub fn run(args: &StoreRepairArgs) -> Result<Exit> {
    let disk = match args.dry_run {
        true => open::read(&args.disk)?,
        false => open::write(&args.disk)?,
    };
    let recording = Recording::open(&disk)?;
    let (session, complaints) = (
        recording.superblock().session.to_string(),
        recording.complaints().to_vec(),
    );
    drop(recording);
    let found = mend(args, &disk)?;
    let report = Report {
        schema: "forebay.store-repair/1",
        version: env!("CARGO_PKG_VERSION"),
        session,
        dry_run: args.dry_run,
        changed: found.changed,
        rows: found.rows,
        recovered: found.recovered,
        recovered_bytes: found.recovered_bytes,
        blocks_mended: found.blocks_mended,
        rows_mended: found.rows_mended,
        blocks_left: found.blocks_left,
        headers_mended: found.headers_mended,
        partial: found.partial,
        unreadable: found.unreadable,
        open: found.open,
        rows_voided: found.rows_voided,
        rows_wrong: found.wrong_rows,
        without_room_in_index: found.no_room,
        lost: found.lost,
        lost_bytes: found.lost_bytes,
        index_blocks: found.blocks,
        data_end: found.end,
        complaints,
    };
    if !report::emit(&report)? {
        show(&report);
    }
    Ok(match report.is_done() {
        true => Exit::Good,
        false => Exit::Damaged,
    })
}

impl Report {
    /// Nothing had to be left as it is.
    const fn is_done(&self) -> bool {
        !self.open && self.unreadable + self.blocks_left + self.partial == 0
    }
}

fn mend(args: &StoreRepairArgs, disk: &FileDisk) -> Result<Repair> {
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
        undo: args.undo.as_ref().map(|_| &mut keep as Keep<'_>),
    };
    Ok(forebay_store::repair(disk, options, &mut see)?)
}

fn show(report: &Report) {
    let title = match report.dry_run {
        true => "Forebay store: what a repair would do",
        false => "Forebay store: repaired",
    };
    let mut page = Page::of_hardware(title);
    page.field("session", &report.session);
    for complaint in &report.complaints {
        page.field("before", complaint);
    }
    let there = format!("{} index records", render::count(report.rows));
    page.field("there", there);
    let lines = [
        (
            report.recovered,
            format!(
                "extents recovered, {}",
                render::bytes(report.recovered_bytes)
            ),
        ),
        (
            report.blocks_mended,
            format!(
                "damaged blocks of the index written anew, with {} records",
                report.rows_mended
            ),
        ),
        (
            report.headers_mended,
            "damaged object header blocks written anew from their index records".into(),
        ),
        (
            report.rows_voided,
            "index records dropped: newer objects lie on theirs".into(),
        ),
        (
            report.rows_wrong,
            "index records that cannot be, left as they are: `forebay store ls --rows` names them"
                .into(),
        ),
        (
            report.blocks_left,
            "damaged blocks of the index left as they are: their records stand nowhere else; \
             --force gives them up"
                .into(),
        ),
        (
            report.unreadable,
            "places that cannot be read left as they are: try again later, or --force".into(),
        ),
        (
            report.partial,
            "extents without an index record whose payload cannot be read now, left as they are"
                .into(),
        ),
        (
            report.without_room_in_index,
            "extents in the tar file only: the index is full".into(),
        ),
        (
            report.lost,
            format!(
                "places without an extent, {}: files lost/*.bin of the tar file",
                render::bytes(report.lost_bytes)
            ),
        ),
    ];
    for (count, what) in lines.iter().filter(|(count, _)| *count > 0) {
        page.field("", format!("{} {what}", render::count(*count)));
    }
    let sentence = match (report.changed, report.dry_run) {
        _ if report.open => "the recording stays open: where it ends is not known",
        (false, _) if !report.is_done() => "nothing else is to be done: it is closed",
        (false, _) => "nothing is to be done: it is closed and whole",
        (true, true) => "without --dry-run this is written, and the recording closed",
        (true, false) => "the recording is closed, and opens with all tools",
    };
    let good = report.is_done() && (!report.dry_run || !report.changed);
    page.verdict(good, sentence);
    page.print();
}
