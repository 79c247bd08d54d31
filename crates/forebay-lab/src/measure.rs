// SPDX-License-Identifier: Apache-2.0
//! A profile's model beside what was measured of the drive.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::measure::{self, Measured};
use forebay_draw::text::Grid;
use forebay_model::Profile;
use forebay_model::profile::{Limit, Quantity};
use serde::Serialize;

use crate::failure::Result;
use crate::interrupt;
use crate::progress::Progress;

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
}

fn number(row: &Row, value: f64) -> String {
    match row.quantity.as_str() {
        "bytes_per_second" => format!("{:.1} MB/s", value / 1e6),
        _ => format!("{:.1} us", value / 1e3),
    }
}

/// The rows as a table.
pub fn grid(rows: &[Row]) -> Grid {
    let mut grid = Grid::new("load | of | >measured | >model | >off, % | is | limit");
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
    grid
}
