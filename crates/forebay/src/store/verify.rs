// SPDX-License-Identifier: Apache-2.0
//! `forebay store verify`: each check sum again, on all cores.

use std::time::Instant;

use forebay_store::{Problem, Recording, Verify, read_only};
use serde::Serialize;

use super::open;
use crate::args::StoreVerifyArgs;
use crate::failure::{Exit, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::render::{self, Page};
use crate::report;

/// Runs of each side of a comparison, one after the other in turn; the fastest counts.
const TURNS: usize = 3;

/// Problems that are shown; JSON has more.
const SHOWN: usize = 16;

/// Time of doing no more than what cannot be left out.
#[derive(Debug, Serialize)]
struct Compare {
    bytes: u64,
    seconds: f64,
    bytes_per_second: f64,
    /// Speed of the verification over this.
    ratio: f64,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    session: String,
    threads: usize,
    extents: u64,
    bytes: u64,
    seconds: f64,
    bytes_per_second: f64,
    not_stored: u64,
    damaged: u64,
    damaged_blocks: u64,
    times_backwards: u64,
    interrupted: bool,
    compare: Option<Compare>,
    problems: Vec<String>,
    complaints: Vec<String>,
}

/// Runs it.
pub fn run(args: &StoreVerifyArgs) -> Result<Exit> {
    let disk = open::read(&args.disk)?;
    let recording = Recording::open(&disk)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(cores, usize::from);
    let total = super::info::Totals::of(&recording).bytes;
    let progress = Progress::bytes("verifying", total);
    let see = |bytes: u64| {
        progress.at(bytes.min(total));
        !interrupt::wanted()
    };
    let timed = || {
        let began = Instant::now();
        let found = forebay_store::verify(&recording, threads, &see);
        (began.elapsed().as_secs_f64(), found)
    };
    let (mut seconds, found) = timed();
    let mut compare = None;
    if args.compare && !found.interrupted {
        let mut least = f64::INFINITY;
        let mut bytes = 0;
        for turn in 0..TURNS {
            let began = Instant::now();
            bytes = read_only(&recording, threads);
            least = least.min(began.elapsed().as_secs_f64());
            if turn + 1 < TURNS {
                seconds = seconds.min(timed().0);
            }
        }
        let rate = bytes as f64 / least.max(1e-9);
        compare = Some(Compare {
            bytes,
            seconds: least,
            bytes_per_second: rate,
            ratio: found.bytes as f64 / seconds.max(1e-9) / rate.max(1e-9),
        });
    }
    drop(progress);
    let exit = exit(&found, recording.complaints());
    let report = Report {
        schema: "forebay.store-verify/1",
        version: env!("CARGO_PKG_VERSION"),
        session: recording.superblock().session.to_string(),
        threads,
        extents: found.extents,
        bytes: found.bytes,
        seconds,
        bytes_per_second: found.bytes as f64 / seconds.max(1e-9),
        not_stored: found.not_stored,
        damaged: found.damaged,
        damaged_blocks: found.damaged_blocks,
        times_backwards: found.backwards,
        interrupted: found.interrupted,
        compare,
        problems: found.problems.iter().map(words).collect(),
        complaints: recording.complaints().to_vec(),
    };
    if !report::emit(&report)? {
        show(&report, exit == Exit::Good);
    }
    Ok(exit)
}

fn exit(found: &Verify, complaints: &[String]) -> Exit {
    match (found.interrupted, found.is_good() && complaints.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Good,
        (false, false) => Exit::Damaged,
    }
}

fn words(problem: &Problem) -> String {
    match problem {
        Problem::Extent {
            stream,
            object,
            offset,
            damage,
        } => match damage {
            forebay_store::Damage::Row(why) => why.clone(),
            _ => format!("object {object} of stream {stream}, from byte {offset} on: {damage}"),
        },
        Problem::Block { number, why } => format!("block {number} of the index: {why}"),
        Problem::Time {
            stream,
            object,
            back,
        } => format!(
            "object {object} of stream {stream} began {} before the one in front of it",
            render::seconds(*back as f64 * 1e-9)
        ),
    }
}

fn show(report: &Report, good: bool) {
    let mut page = Page::of_hardware("Forebay store: verified");
    page.field("session", &report.session);
    let text = format!(
        "{} extents, {}, in {} on {} threads: {:.2} GB/s",
        render::count(report.extents),
        render::bytes(report.bytes),
        render::seconds(report.seconds),
        report.threads,
        report.bytes_per_second * 1e-9
    );
    page.field("read", text);
    if let Some(compare) = &report.compare {
        let text = format!(
            "{:.2} GB/s only to read and to compute CRC32C; verifying has {:.3} of it",
            compare.bytes_per_second * 1e-9,
            compare.ratio
        );
        page.field("at best", text);
    }
    for complaint in &report.complaints {
        page.field("note", complaint);
    }
    if report.times_backwards > 0 {
        let text = format!(
            "{} times run backwards",
            render::count(report.times_backwards)
        );
        page.field("note", text);
    }
    let bad = report.damaged + report.damaged_blocks;
    match (good, report.interrupted) {
        (_, true) => page.verdict(false, "interrupted"),
        (true, _) => page.verdict(true, "each check sum is right"),
        (false, _) if bad > 0 => page.verdict(
            false,
            format!(
                "{} extents and {} blocks of the index are damaged",
                report.damaged, report.damaged_blocks
            ),
        ),
        (false, _) => page.verdict(false, "each check sum is right, but see the notes"),
    };
    for problem in report.problems.iter().take(SHOWN) {
        page.line(format!("  {problem}"));
    }
    page.print();
}
