// SPDX-License-Identifier: Apache-2.0
//! A profile against what was measured of its drive: each load again, on the model, by the ideal
//! polling host of [`crate::reference`].

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_model::profile::{Kind, Limit, LoadDirection, Measurement, Quantity};
use forebay_model::{NANOSECOND, Profile};

use crate::error::Result;
use crate::reference::{Design, Reference, ReferenceRun};
use crate::stats::Direction;
use crate::workload::Workload;

/// Bytes within which writes stay, so that the model need not hold a whole drive.
const WRITE_SPAN: u64 = 256 << 20;

/// A measured number and what the model makes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The load.
    pub title: String,
    /// What the numbers are of.
    pub quantity: Quantity,
    /// What was measured: bytes per second, or nanoseconds.
    pub measured: f64,
    /// What the model gives.
    pub model: f64,
    /// Whether the model was tuned to it.
    pub kind: Kind,
    /// What limited the measurement.
    pub limit: Limit,
    /// Where the measurement is from.
    pub source: String,
}

impl Measured {
    /// How far the model is off, in percent of the measurement.
    #[must_use]
    pub fn percent(&self) -> f64 {
        (self.model / self.measured - 1.0) * 100.0
    }
}

/// Runs a load of a profile; gives its numbers in the order of the profile.
///
/// # Errors
/// When the profile is not usable, the drive fails, or the user stops.
pub fn measure(
    profile: &Profile,
    load: &Measurement,
    seed: u64,
    stop: Arc<AtomicBool>,
) -> Result<Vec<Measured>> {
    let run = run(profile, load, Design::HOST, seed, stop)?;
    let rows = load.gave.iter().map(|number| Measured {
        title: load.title.clone(),
        quantity: number.quantity,
        measured: number.value as f64,
        model: value(&run, load, number.quantity),
        kind: number.kind,
        limit: load.limit,
        source: number.source.clone(),
    });
    Ok(rows.collect())
}

/// Runs a load once on a drive that has just got power.
///
/// # Errors
/// As [`measure`].
pub fn run(
    profile: &Profile,
    load: &Measurement,
    design: Design,
    seed: u64,
    stop: Arc<AtomicBool>,
) -> Result<ReferenceRun> {
    let (profile, fill) = prepared(profile, load);
    let mut host = Reference::new(&profile, None, seed, load.depth, load.bytes)?;
    host.set_stop_flag(stop);
    host.set_design(design);
    host.bring_up(&mut |_| {})?;
    let (direction, span) = match load.direction {
        LoadDirection::Read => (Direction::Read, profile.ssd.bytes()),
        LoadDirection::Write => (Direction::Write, profile.ssd.bytes().min(WRITE_SPAN)),
    };
    let first = profile.ssd.namespaces.first();
    let workload = |count| Workload {
        direction,
        access: load.access,
        size: load.bytes,
        count,
        // Of the first namespace, which is the one in use.
        span: first.map_or(span, |first| span.min(first.bytes)),
        seed,
    };
    if fill > 0 {
        host.run(&workload(fill))?;
    }
    host.run(&workload(load.count))
}

/// The drive as a load finds it, and the transfers with which to fill it first.
#[must_use]
pub fn prepared(profile: &Profile, load: &Measurement) -> (Profile, u64) {
    let mut profile = profile.clone();
    let mut fill = 0;
    if let (true, Some(timing)) = (load.full_cache, &mut profile.ssd.timing) {
        // A cache of one page is full at once; the buffer before it is filled by writing.
        timing.write.cache_bytes = 4096;
        let buffer = timing.write.medium.map_or(0, |medium| medium.buffer_bytes);
        fill = (2 * buffer).div_ceil(load.bytes) + 1;
    }
    (profile, fill)
}

/// What a run gave: bytes per second, or nanoseconds.
#[must_use]
pub fn value(run: &ReferenceRun, load: &Measurement, quantity: Quantity) -> f64 {
    let nanoseconds = |time: f64| time / NANOSECOND as f64;
    match quantity {
        Quantity::Rate => match run.duration + load.setup {
            0 => f64::INFINITY,
            time => run.bytes as f64 * 1e12 / time as f64,
        },
        Quantity::Mean => nanoseconds(run.mean_latency()),
        Quantity::Percentile(share) => {
            nanoseconds(run.latency_at(f64::from(share) / 1000.0) as f64)
        }
    }
}
