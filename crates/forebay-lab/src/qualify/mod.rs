// SPDX-License-Identifier: Apache-2.0
//! From a drive of this machine to a profile that behaves like it: fio measures, the model is fitted.

pub mod fio;
mod fit;
mod jobs;
mod target;
mod write;

use std::time::Duration;

use forebay_model::Profile;

use crate::failure::{Exit, Failure, Result};
use crate::measure::{self, Row};

pub use target::Target;

/// What fio does not tell is as in this profile; above its link's rate, as in the second.
const BASES: [&str; 2] = ["990pro-2tb", "gen5-2tb"];
/// Rate in bytes per second that the first can carry.
const GEN4: f64 = 6.9e9;
/// Capacity in bytes where neither device nor user states one.
const CAPACITY: u64 = 1_000_000_000_000;

/// How a drive is measured.
#[derive(Clone, Debug)]
pub struct QualifySpec {
    /// Measure writes as well: overwrites what is there.
    pub write: bool,
    /// Go on where the device is mounted, partitioned or in use: both of these.
    pub even_in_use: bool,
    /// Confirms it.
    pub i_mean_it: bool,
    /// Time that each job may take.
    pub job_time: Duration,
    /// Bytes that each job may move.
    pub bytes: u64,
    /// Bytes that are touched, from the first on; none: all.
    pub area: Option<u64>,
    /// Through the page cache of the system.
    pub buffered: bool,
}

/// A profile that behaves like a drive.
#[derive(Debug)]
pub struct Qualified {
    /// Text of its file.
    pub toml: String,
    /// Version of fio.
    pub fio: String,
    /// Whether writes were measured.
    pub wrote: bool,
    /// How far the fitted curve of reads is off, in percent.
    pub curve_percent: f64,
    /// The model beside each measurement.
    pub rows: Vec<Row>,
}

/// Measures a drive with fio; returns its report.
///
/// # Errors
/// Where fio is missing or fails, or the user stops.
pub fn run_fio(spec: &QualifySpec, target: &Target) -> Result<String> {
    jobs::run(spec, target)
}

/// Fits a profile of this name to a report of fio; `capacity` is the drive's size in bytes, where it
/// is not the target's.
///
/// # Errors
/// Where the report is none, no profile fits it, or the user stops.
pub fn fit_profile(
    name: &str,
    text: &str,
    target: Option<&Target>,
    capacity: Option<u64>,
    seed: u64,
) -> Result<Qualified> {
    let seen = fio::read(text).map_err(|error| {
        let remedy = "run fio by `forebay ssd qualify`, and give --from what --keep stored";
        Failure::new(Exit::BadInput, error.to_string(), remedy)
    })?;
    let fastest = seen
        .observations
        .iter()
        .fold(0.0, |most: f64, seen| most.max(seen.rate));
    let base = Profile::builtin(BASES[usize::from(fastest > GEN4)])?;
    let fitted = fit::fit(&seen, &base, seed)?;
    let drive = write::Drive {
        name,
        model: target.map_or("a drive", |target| &target.model),
        bytes: capacity
            .or(target.map(|target| target.bytes))
            .unwrap_or(CAPACITY),
        block_shift: target.map_or(9, |target| target.block_shift),
    };
    let toml = write::toml(&drive, &seen, &fitted, &base);
    // As it will be read: what cannot be is refused before it is written.
    let profile = Profile::from_toml(name, &toml)?;
    Ok(Qualified {
        rows: measure::rows(&profile, seed)?,
        toml,
        fio: seen.version,
        wrote: fitted.write.is_some(),
        curve_percent: fitted.curve_percent,
    })
}
