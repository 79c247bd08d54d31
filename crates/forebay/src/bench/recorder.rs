// SPDX-License-Identifier: Apache-2.0
//! `forebay bench recorder`: a recorder without a CPU, in simulation.

use forebay_app::recorder::{BringUp, Gapless, Moved, RecorderReport, SCHEMA, Session};
use forebay_draw::text::{Grid, Page, or_dash};
use forebay_pipeline::units::bytes;

use crate::args::RecorderArgs;
use crate::boot::drive_table;
use crate::failure::{Exit, Result};
use crate::report::{self, Report};

/// Records and tells what came of it.
pub fn run(args: &RecorderArgs) -> Result<Exit> {
    let found = args.spec().run()?;
    let report = Report::new(SCHEMA, found);
    report::show(&report, || page(&report.found))?;
    let found = &report.found;
    if found.interrupted {
        return Ok(Exit::Interrupted);
    }
    Ok(match found.bring_up.code == 0 && found.is_good() {
        true => Exit::Good,
        false => Exit::BadResult,
    })
}

fn page(found: &RecorderReport) -> Page {
    let mut page = Page::simulated("Forebay bench recorder");
    let clock = found.clock_hz / 1e6;
    page.field(
        "recorder",
        format_args!("{}, {clock:.0} MHz, RTL", found.top),
    );
    let models = &found.models;
    page.field(
        "drives",
        format_args!("{}, models", models.drives.join(", ")),
    );
    if let Some(memory) = &models.fifo_memory {
        page.field("memory of the FIFO", format_args!("{memory}, model"));
    }
    bring_up(&mut page, &found.bring_up);
    if !found.sessions.is_empty() {
        sessions(&mut page, &found.sessions);
    }
    if let Some(of) = &found.gapless {
        gapless(&mut page, of);
    }
    for (name, count) in [
        ("stray accesses", found.stray),
        ("doorbells to none", found.unrung),
    ] {
        if count > 0 {
            page.field(name, count);
        }
    }
    page.field("cycles", found.cycles);
    let (good, sentence) = verdict(found);
    page.verdict(good, sentence);
    page
}

fn bring_up(page: &mut Page, of: &BringUp) {
    page.heading("Console");
    page.line(of.console.trim_end());
    drive_table(page, &of.drives);
    page.heading("From the last drive's CSTS.RDY");
    for (name, time) in [
        ("recorder ready", of.ready_after_us),
        ("first byte accepted", of.first_byte_after_us),
    ] {
        if let Some(time) = time {
            page.field(name, format_args!("{time:.1} us"));
        }
    }
    for (code, count) in &of.counts {
        page.field(
            &format!("code {code}"),
            format_args!("counted {count} times"),
        );
    }
}

fn sessions(page: &mut Page, all: &[Session]) {
    page.heading("Sessions");
    let mut grid = Grid::new(
        "chunks | write MiB/s | write us | read MiB/s | read us | longest wait us | wrong",
    );
    for session in all {
        let rate = |of: &Moved| format!("{:.0}", of.mebibytes_per_second);
        let time = |of: &Moved| format!("{:.1}", of.seconds * 1e6);
        let again = if session.again { ", again" } else { "" };
        let failure = |of: &Moved| (of.code != 0).then(|| format!("code {}", of.code));
        let failures = [Some(&session.write), session.read.as_ref()];
        let failures = failures.into_iter().flatten().filter_map(failure);
        let wrong: Vec<_> = failures.chain(session.wrong.iter().cloned()).collect();
        grid.row([
            format!("{}{again}", session.chunks),
            rate(&session.write),
            time(&session.write),
            or_dash(session.read.as_ref().map(rate)),
            or_dash(session.read.as_ref().map(time)),
            format!("{:.1}", session.longest_wait_us),
            or_dash((!wrong.is_empty()).then(|| wrong.join("; "))),
        ]);
    }
    page.grid(grid);
}

fn gapless(page: &mut Page, of: &Gapless) {
    page.heading("From a source that cannot wait");
    let rate = of.bytes_per_second as f64 / 1e9;
    page.field(
        "source",
        format_args!("{rate} GB/s for {} ms", of.seconds * 1e3),
    );
    let fifo = match of.fifo_bytes {
        0 => "on chip".into(),
        size => bytes(size),
    };
    page.field("stream FIFO", fifo);
    for (name, count) in [
        ("offered", of.offered),
        ("stored", of.stored),
        ("lost", of.lost),
    ] {
        page.field(name, format_args!("{count} bytes"));
    }
    page.field("gaps", of.gaps);
    if of.fifo_bytes > 0 {
        page.field("most in the FIFO", bytes(of.fifo_high_water));
    }
    page.field("longest wait", format_args!("{:.1} us", of.longest_wait_us));
    for gap in of.records.iter().take(8) {
        page.line(format_args!(
            "  {} bytes lost behind {}, at {:.1} us",
            gap.bytes, gap.after, gap.at_us
        ));
    }
    for wrong in &of.wrong {
        page.line(format_args!("  {wrong}"));
    }
}

fn verdict(found: &RecorderReport) -> (bool, String) {
    let code = found.bring_up.code;
    if found.interrupted {
        return (false, "interrupted: numbers are of what was reached".into());
    }
    if code != 0 {
        return (false, format!("the bring-up failed with code {code}"));
    }
    if !found.is_good() {
        return (false, "not all is as it should be".into());
    }
    match &found.gapless {
        Some(of) if of.lost > 0 => (
            true,
            format!(
                "{} bytes lost in {} gaps, all accounted for",
                of.lost, of.gaps
            ),
        ),
        Some(_) => (true, "no byte lost, and no byte differs".into()),
        None => (
            true,
            "all was stored and read back, and no byte differs".into(),
        ),
    }
}
