// SPDX-License-Identifier: Apache-2.0
//! `forebay store repair`: ends a recording that lost power, and mends what can be mended.

use forebay_store::{Disk, FileDisk, Recording, Repair};
use serde::Serialize;

use super::open;
use crate::args::StoreRepairArgs;
use crate::failure::{Exit, Result};
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
///
/// # Errors
/// Where there is too little left of a recording, or it takes no bytes.
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
        rows_voided: found.rows_voided,
        rows_wrong: found.wrong_rows,
        without_room_in_index: found.no_room,
        lost: found.lost,
        lost_bytes: found.lost_bytes,
        index_blocks: found.blocks,
        data_end: found.end,
        complaints,
    };
    if !report::emit(&report, args.output.json())? {
        show(&report);
    }
    Ok(Exit::Good)
}

fn mend(args: &StoreRepairArgs, disk: &FileDisk) -> Result<Repair> {
    let progress = Progress::bytes("looking for extents", disk.len());
    let mut see = |at| {
        progress.at(at);
        !interrupt::wanted()
    };
    Ok(forebay_store::repair(
        disk,
        args.dry_run,
        args.look,
        &mut see,
    )?)
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
    page.field("there", format!("{} rows", render::count(report.rows)));
    let lines = [
        (
            report.recovered,
            format!(
                "extents brought back, {}",
                render::bytes(report.recovered_bytes)
            ),
        ),
        (
            report.blocks_mended,
            format!(
                "damaged blocks of the index written anew, with {} rows",
                report.rows_mended
            ),
        ),
        (
            report.rows_voided,
            "rows dropped: newer bytes lie on theirs".into(),
        ),
        (
            report.rows_wrong,
            "rows that cannot be, left as they are: `forebay store ls --rows` names them".into(),
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
        (false, _) => "nothing is to be done: it is closed and whole",
        (true, true) => "without --dry-run this is written, and the recording closed",
        (true, false) => "the recording is closed, and opens with all tools",
    };
    page.verdict(!report.dry_run || !report.changed, sentence);
    page.print();
}
