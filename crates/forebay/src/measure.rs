// SPDX-License-Identifier: Apache-2.0
//! `forebay profiles NAME --measure`: the model beside what was measured of the drive.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::measure::{self, Measured};
use forebay_model::Profile;
use forebay_model::profile::{Limit, Quantity};
use serde::Serialize;

use crate::args::ProfilesArgs;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::render::{Grid, Page};
use crate::report;

/// A number that was measured, and the model's.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The load.
    pub load: String,
    /// `bytes_per_second`, `mean_ns`, `p99_ns` and so on.
    pub quantity: String,
    /// Measured on hardware, by others or by fio.
    pub measured: f64,
    /// On the model.
    pub model: f64,
    /// How far the model is off.
    pub difference_percent: f64,
    /// `fitted`, `predicted`.
    pub kind: String,
    /// `drive`, `host`, `incident`: what limited the measurement.
    pub limit: String,
    /// Where the measurement is from.
    pub source: String,
}

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
///
/// # Errors
/// Where the profile has none, the drive fails, the user stops, or the report cannot be written.
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
    if !report::emit(&report, args.report.json.as_deref())? {
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
    Ok(if good { Exit::Good } else { Exit::BadResult })
}

/// Every measurement of a profile again, on the model.
///
/// # Errors
/// Where the drive fails, or the user stops.
pub fn rows(profile: &Profile, seed: u64) -> Result<Vec<Row>> {
    let total = profile.measurements.len() as u64;
    let progress = Progress::count("measuring the model", total);
    let mut rows = Vec::new();
    for (index, load) in (0..).zip(&profile.measurements) {
        progress.at(index);
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        let measured = measure::measure(profile, load, seed, stop)?;
        rows.extend(measured.iter().map(Row::of));
    }
    Ok(rows)
}

/// The greatest difference where the drive is the limit.
pub fn worst(rows: &[Row]) -> f64 {
    rows.iter()
        .filter(|row| row.limit == "drive")
        .fold(0.0, |worst, row| worst.max(row.difference_percent.abs()))
}

impl Row {
    fn of(measured: &Measured) -> Self {
        Self {
            load: measured.title.clone(),
            quantity: match measured.quantity {
                Quantity::Rate => "bytes_per_second".into(),
                Quantity::Mean => "mean_ns".into(),
                Quantity::Percentile(500) => "p50_ns".into(),
                Quantity::Percentile(990) => "p99_ns".into(),
                Quantity::Percentile(share) => format!("p{share}_ns"),
            },
            measured: measured.measured,
            model: measured.model,
            difference_percent: (measured.percent() * 100.0).round() / 100.0,
            kind: format!("{:?}", measured.kind).to_lowercase(),
            limit: match measured.limit {
                Limit::Drive => "drive",
                Limit::Host => "host",
                Limit::Incident => "incident",
            }
            .into(),
            source: measured.source.clone(),
        }
    }

    fn number(&self, value: f64) -> String {
        match self.quantity.as_str() {
            "bytes_per_second" => format!("{:.1} MB/s", value / 1e6),
            _ => format!("{:.1} us", value / 1e3),
        }
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
            row.number(row.measured),
            row.number(row.model),
            format!("{:+.1}", row.difference_percent),
            row.kind.clone(),
            row.limit.clone(),
        ]);
    }
    page.grid(grid);
}
