// SPDX-License-Identifier: Apache-2.0
//! `forebay profiles NAME --measure`: the model beside what was measured of the drive.

use forebay_lab::measure::{Row, rows, worst};
use forebay_model::Profile;
use serde::Serialize;

use crate::args::ProfilesArgs;
use crate::failure::{Exit, Failure, Result};
use crate::render::{Grid, Page};
use crate::report;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
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
    let report = Report {
        schema: "forebay.measure/1",
        version: env!("CARGO_PKG_VERSION"),
        simulated: true,
        profile: profile.name.clone(),
        seed: args.seed,
        worst_percent: worst,
        rows,
    };
    if !report::emit(&report)? {
        let mut page = Page::new(&format!("Profile {}, measured", profile.name));
        page.line(format!("  {}\n", profile.description));
        table(&mut page, &report.rows);
        if let Some(within) = args.within {
            let verdict = match good {
                true => format!("within {within} % where the drive is the limit"),
                false => format!("off by {worst:.1} %, more than {within} % allowed"),
            };
            page.verdict(good, verdict);
        }
        page.print();
    }
    Ok(if good { Exit::Good } else { Exit::OffTolerance })
}

fn number(row: &Row, value: f64) -> String {
    match row.quantity.as_str() {
        "bytes_per_second" => format!("{:.1} MB/s", value / 1e6),
        _ => format!("{:.1} us", value / 1e3),
    }
}

/// The rows as a table.
pub fn table(page: &mut Page, rows: &[Row]) {
    let headers = [
        "load",
        "of",
        ">measured",
        ">model",
        ">off, %",
        "is",
        "limit",
    ];
    let mut grid = Grid::new(&headers);
    for row in rows {
        let of = match row.quantity.as_str() {
            "bytes_per_second" => "rate",
            latency => latency.trim_end_matches("_ns"),
        };
        grid.row([
            row.load.clone(),
            of.into(),
            number(row, row.measured),
            number(row, row.model),
            format!("{:+.1}", row.difference_percent),
            row.kind.clone(),
            row.limit.clone(),
        ]);
    }
    page.grid(grid);
}
