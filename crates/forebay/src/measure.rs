// SPDX-License-Identifier: Apache-2.0
//! `forebay profiles NAME --measure`: the model beside what was measured of the drive.

use forebay_draw::text::Page;
use forebay_lab::measure::{Row, grid, rows, worst};
use forebay_model::Profile;
use serde::Serialize;

use crate::args::ProfilesArgs;
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

#[derive(Serialize)]
struct Measured {
    simulated: bool,
    profile: String,
    seed: u64,
    /// Greatest difference where the drive is the limit, without its sign.
    worst_percent: f64,
    rows: Vec<Row>,
}

/// Runs it for a profile with measurements.
pub fn run(args: &ProfilesArgs, name: &str) -> Result<Exit> {
    let profile = Profile::load(name)?;
    if profile.measurements.is_empty() {
        return Err(Failure::new(
            Exit::BadInput,
            format!("profile {name} has no [[measurements]] to compare with"),
            "add some to its file; `forebay profiles 990pro-2tb` has examples",
        ));
    }
    let rows = rows(&profile, args.seed)?;
    let worst = worst(&rows);
    let good = args.within.is_none_or(|within| worst <= within);
    let found = Measured {
        simulated: true,
        profile: profile.name.clone(),
        seed: args.seed,
        worst_percent: worst,
        rows,
    };
    let report = Report::new("forebay.measure/1", found);
    report::show(&report, || {
        let mut page = Page::simulated(&format!("Profile {}, measured", profile.name));
        page.line(format!("  {}\n", profile.description));
        page.grid(grid(&report.found.rows));
        if let Some(within) = args.within {
            let verdict = match good {
                true => format!("within {within} % where the drive is the limit"),
                false => format!("off by {worst:.1} %, more than {within} % allowed"),
            };
            page.verdict(good, verdict);
        }
        page
    })?;
    Ok(if good { Exit::Good } else { Exit::OffTolerance })
}
