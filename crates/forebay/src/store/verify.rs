// SPDX-License-Identifier: Apache-2.0
//! `forebay store verify`: each checksum again, on all cores.

use std::time::Instant;

use forebay_app::interrupt;
use forebay_app::progress::Progress;
use forebay_draw::text::{Page, seconds};
use forebay_pipeline::units::{bytes, count};
use forebay_store::{Problem, Recording, Totals, Verify, read_only};
use serde::Serialize;

use super::disks;
use crate::args::StoreVerifyArgs;
use crate::failure::{Exit, Result};
use crate::report::{self, Report};

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
struct Found {
    session: String,
    threads: usize,
    seconds: f64,
    bytes_per_second: f64,
    compare: Option<Compare>,
    #[serde(flatten)]
    verify: Verify,
    problems: Vec<String>,
    complaints: Vec<String>,
}

/// Runs it.
pub fn run(args: &StoreVerifyArgs) -> Result<Exit> {
    let disk = disks::read(&args.on.disks)?;
    let recording = Recording::open(&*disk)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(cores, usize::from);
    let total = Totals::of(&recording).bytes;
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
    let found = Found {
        session: recording.superblock().session.to_string(),
        threads,
        seconds,
        bytes_per_second: found.bytes as f64 / seconds.max(1e-9),
        compare,
        problems: found.problems.iter().map(words).collect(),
        verify: found,
        complaints: recording.complaints().to_vec(),
    };
    let report = Report::new("forebay.store-verify/1", found);
    report::show(&report, || page(&report.found, exit == Exit::Good))?;
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
            seconds(*back as f64 * 1e-9)
        ),
    }
}

fn page(found: &Found, good: bool) -> Page {
    let verify = &found.verify;
    let mut page = Page::of_hardware("Forebay store: verified");
    page.field("session", &found.session);
    let text = format!(
        "{} extents, {}, in {} on {} threads: {:.2} GB/s",
        count(verify.extents),
        bytes(verify.bytes),
        seconds(found.seconds),
        found.threads,
        found.bytes_per_second * 1e-9
    );
    page.field("read", text);
    if let Some(compare) = &found.compare {
        let text = format!(
            "{:.2} GB/s only to read and to compute CRC32C; verifying has {:.3} of it",
            compare.bytes_per_second * 1e-9,
            compare.ratio
        );
        page.field("at best", text);
    }
    for complaint in &found.complaints {
        page.field("note", complaint);
    }
    if verify.backwards > 0 {
        let text = format!("{} times run backwards", count(verify.backwards));
        page.field("note", text);
    }
    let bad = verify.damaged + verify.damaged_blocks;
    match (good, verify.interrupted) {
        (_, true) => page.verdict(false, "interrupted"),
        (true, _) => page.verdict(true, "each checksum is right"),
        (false, _) if bad > 0 => page.verdict(
            false,
            format!(
                "{} extents and {} blocks of the index are damaged",
                verify.damaged, verify.damaged_blocks
            ),
        ),
        (false, _) => page.verdict(false, "each checksum is right, but see the notes"),
    };
    for problem in found.problems.iter().take(SHOWN) {
        page.line(format!("  {problem}"));
    }
    page
}
