// SPDX-License-Identifier: Apache-2.0
//! Random transactions, ports that pause, drives that fail, and a shadow that knows each byte.

use super::{Report, SCHEMA, page};
use forebay_lab::soak::{self, Case, Soak};

use crate::args::{SoakArgs, command_of};
use crate::failure::{Exit, Result};
use crate::progress::Progress;
use crate::render;
use crate::report;
use crate::session::Session;
use crate::traffic;

pub fn run(args: &SoakArgs) -> Result<Exit> {
    let case = Case::from(args.case.clone());
    let config = soak::config(&case)?;
    let session = Session::of(config, SCHEMA)?;
    let progress = Progress::count("soaking", case.work.transactions);
    let (found, session, ended) = soak::play(&case, session, &progress)?;
    drop(progress);
    let good = found.is_good();
    let report = Report {
        header: session.header(&ended),
        bench: "soak",
        found,
    };
    if !report::emit(&report)? {
        show(&report, good, &command_of(&case));
    }
    Ok(ended.exit(good))
}

fn show(report: &Report<Soak>, good: bool, command: &str) {
    let soak = &report.found;
    let mut page = page("soak", &report.header);
    for (name, count, always) in [
        ("writes", soak.writes, true),
        ("reads", soak.reads, true),
        ("unordered", soak.unordered_reads, true),
        ("refused", soak.refused, true),
        ("failed", soak.failed, false),
        ("aborted", soak.aborted, false),
        ("faults", soak.faults, false),
        ("resets", soak.resets, false),
        ("recoveries", soak.recoveries, false),
        ("units held", soak.held_units, false),
        ("written B", soak.bytes_written, true),
        ("read B", soak.bytes_read, true),
        ("cycles", soak.cycles, true),
    ] {
        if always || count > 0 {
            page.field(name, format_args!("{:>14}", render::count(count)));
        }
    }
    page.heading("What crossed PCIe");
    page.grid(traffic::grid([("all", &soak.traffic)]));
    for line in &soak.first_wrong {
        page.line(format_args!("  {} {line}", render::mark(false)));
    }
    let sentence = format!(
        "{} transactions: {} bytes differ, {} on the drives, {} wrong answers",
        render::count(soak.transactions),
        render::count(soak.differ_bytes),
        render::count(soak.differ_medium_bytes),
        render::count(soak.wrong_answers)
    );
    page.verdict(good && !report.header.interrupted, sentence);
    if !good {
        page.line(format_args!("  repeat with {command}"));
    }
    page.print();
}
