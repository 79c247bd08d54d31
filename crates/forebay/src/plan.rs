// SPDX-License-Identifier: Apache-2.0
//! `forebay plan`: which buffer and how many drives a recording needs, how long they take it, and on
//! which numbers that rests.

use forebay_lab::plan::{self, Found};
use serde::Serialize;

use crate::args::PlanArgs;
use crate::failure::{Exit, Result};
use crate::report::{self, Report};

#[derive(Serialize)]
struct Plans {
    command_line: Vec<String>,
    simulated: bool,
    seed: u64,
    /// One for each profile.
    plans: Vec<Found>,
}

/// Runs it.
pub fn run(args: &PlanArgs) -> Result<Exit> {
    let plans = args.specs().map(|spec| plan::run(&spec));
    let found = Plans {
        plans: plans.collect::<Result<_>>()?,
        command_line: report::command_line(),
        simulated: true,
        seed: args.seed,
    };
    let report = Report::new("forebay.plan/2", found);
    let plans = &report.found.plans;
    report::show(&report, || plan::page(plans))?;
    Ok(match plans.iter().any(Found::holds) {
        true => Exit::Good,
        false => Exit::Infeasible,
    })
}
