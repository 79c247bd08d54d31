// SPDX-License-Identifier: Apache-2.0
//! `forebay bench`: measurements, each beside an ideal polling host on the same drive and fabric.

mod recorder;

use std::fs;

use forebay_lab::bench::{self, Found, Ran, StoreSpec};
use forebay_lab::soak::{self, Case};

use crate::args::{BenchCommand, CaseArgs, ScaleArgs, command_of};
use crate::failure::{Exit, Failure, Result};
use crate::report;

/// Runs one.
pub fn run(command: &BenchCommand) -> Result<Exit> {
    match command {
        BenchCommand::Core(args) => show(bench::core(&args.machine, args.bytes)?),
        BenchCommand::Random(args) => show(bench::random(&args.machine, args.bytes)?),
        BenchCommand::Latency(args) => show(bench::latency(&args.machine)?),
        BenchCommand::Drives(args) => show(bench::drives(&args.machine, args.bytes)?),
        BenchCommand::Speed(args) => show(bench::speed(&args.machine, args.bytes)?),
        BenchCommand::Scale(args) => scale(args),
        BenchCommand::Recorder(args) => recorder::run(args),
        BenchCommand::Net(args) => show(bench::net(args.bytes, args.seed)?),
        BenchCommand::Store(args) => show(bench::store(&StoreSpec {
            bytes: args.bytes,
            cuts: args.cuts,
            drives: args.drives,
            keep: args.keep.clone(),
            seed: args.seed,
        })?),
        BenchCommand::Classify(args) => show(bench::classify(&args.only)?),
        BenchCommand::Soak(args) => soak(args),
    }
}

fn scale(args: &ScaleArgs) -> Result<Exit> {
    report::check(args.svg.as_deref())?;
    let ran = bench::scale(&args.machine, args.commands)?;
    if let Some(path) = &args.svg {
        let drawn = ran.report.found.svg()?;
        fs::write(path, drawn).map_err(|error| Failure::file("writing", path, error))?;
    }
    show(ran)
}

fn soak(args: &CaseArgs) -> Result<Exit> {
    let case = Case::from(args.clone());
    let ran = soak::run(&case)?;
    report::show(&ran.report, || {
        let mut page = ran.page();
        if !ran.good {
            page.line(format_args!("  repeat with {}", command_of(&case)));
        }
        page
    })?;
    ran.ended.exit(ran.good)
}

fn show<F: Found>(ran: Ran<F>) -> Result<Exit> {
    report::show(&ran.report, || ran.page())?;
    ran.ended.exit(ran.good)
}
