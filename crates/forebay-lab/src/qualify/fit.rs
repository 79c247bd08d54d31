// SPDX-License-Identifier: Apache-2.0
//! From what fio measured to the parameters of a profile.
//!
//! Rates and latencies give most parameters directly, less what the model itself adds, which is
//! found by running it. How many planes work beside one another, and how much of each command is
//! the controller's, follows from the curve of random reads over the depth: the best of a grid,
//! each point run on the model.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::{Design, ReferenceRun, measure};
use forebay_model::profile::{LoadAccess, LoadDirection, Measurement, TimingProfile};
use forebay_model::{NANOSECOND, Profile};

use super::fio::{Observation, Report};
use super::jobs::PARTS;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;

/// Nanoseconds in a second.
const SECOND_NS: f64 = 1e9;
/// The longest step that a profile may have, in nanoseconds.
const LONGEST_NS: f64 = 1e9;
/// Rate, as a share of the first part's, below which the cache is taken as full.
const FULL: f64 = 0.7;
/// A percentile this much above the median is a tail of its own.
const TAIL: f64 = 1.3;

/// Parameters, in the units of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fit {
    /// The controller's time for a command.
    pub command_ns: u64,
    /// Planes.
    pub planes: u64,
    /// A sense.
    pub sense_ns: u64,
    /// Senses in a million that take longer.
    pub retry_ppm: u64,
    /// How much longer.
    pub retry_ns: u64,
    /// Rate of sequential reads.
    pub read_rate: u64,
    /// Writes, where they were measured.
    pub write: Option<WriteFit>,
    /// The curve's mean error, in percent.
    pub curve_percent: f64,
}

/// Parameters of writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteFit {
    /// Time of 4 KiB.
    pub page_ns: u64,
    /// Added to each command.
    pub command_ns: u64,
    /// From the last data to the completion.
    pub after_ns: u64,
    /// Rate of sequential writes before the cache is full.
    pub rate: u64,
    /// Bytes after which the rate fell, and to what; none where it did not.
    pub cache: Option<(u64, u64)>,
    /// Bytes that were written to find that out.
    pub written: u64,
}

/// Computes them.
///
/// # Errors
/// Where fio did not measure what is needed, the model fails, or the user stops.
pub fn fit(report: &Report, base: &Profile, seed: u64) -> Result<Fit> {
    let find = |direction, access| {
        let mut found: Vec<_> = report
            .observations
            .iter()
            .filter(|seen| seen.job.direction == direction && seen.job.access == access)
            .collect();
        found.sort_by_key(|seen| (seen.job.depth, seen.job.part));
        found
    };
    let sequential = find(LoadDirection::Read, LoadAccess::Sequential);
    let curve = find(LoadDirection::Read, LoadAccess::Random);
    let (Some(sequential), Some(alone)) = (sequential.first(), curve.first()) else {
        return Err(missing("sequential and random reads"));
    };
    if alone.job.depth != 1 || curve.iter().any(|seen| seen.job.bytes != 4096) {
        return Err(missing(
            "random reads of 4096 bytes, beginning with a depth of 1",
        ));
    }
    let progress = Progress::stage("fitting the model");
    let model = Model { base, seed };
    let fit = model.reads(sequential, alone, &curve)?;
    let parts = find(LoadDirection::Write, LoadAccess::Sequential);
    let writes = find(LoadDirection::Write, LoadAccess::Random);
    let fit = match (parts.first(), writes.first()) {
        (Some(_), Some(alone)) if alone.job.depth == 1 => {
            let write = model.writes(&fit, &parts, alone, writes.last())?;
            Fit {
                write: Some(write),
                ..fit
            }
        }
        (None, None) => fit,
        _ => return Err(missing("both sequential and random writes, or neither")),
    };
    drop(progress);
    Ok(fit)
}

fn missing(what: &str) -> Failure {
    Failure::new(
        Exit::BadInput,
        format!("fio's report lacks {what}"),
        "make it with `forebay ssd qualify --keep`",
    )
}

struct Model<'a> {
    base: &'a Profile,
    seed: u64,
}

impl Model<'_> {
    /// Runs a load on the model with changed times.
    fn run(
        &self,
        load: &Observation,
        count: u64,
        change: impl FnOnce(&mut TimingProfile),
    ) -> Result<ReferenceRun> {
        let mut profile = self.base.clone();
        if let Some(timing) = &mut profile.ssd.timing {
            change(timing);
        }
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        let load = Measurement {
            count,
            ..load.job.measurement()
        };
        Ok(measure::run(
            &profile,
            &load,
            Design::HOST,
            self.seed,
            stop,
        )?)
    }

    fn reads(
        &self,
        sequential: &Observation,
        alone: &Observation,
        curve: &[&Observation],
    ) -> Result<Fit> {
        let most = curve
            .iter()
            .fold(0.0, |most: f64, seen| most.max(seen.iops));
        let (retry_ppm, retry_ns) = tail(alone);
        // What is not sensing of the median: fabric and the model's own steps.
        let own = self.run(alone, 200, |timing| {
            timing.command = 0;
            timing.read.sense = 0;
            timing.read.retry_ppm = 0;
            timing.read.before = 0;
        })?;
        let own_ns = own.mean_latency() / NANOSECOND as f64;
        let typical = match retry_ppm {
            0 => alone.mean_ns,
            _ => alone.p50_ns,
        };
        let mut best: Option<(f64, Fit)> = None;
        // The controller alone may be the limit of commands per second, or the planes, or both.
        for share in [1.0, 0.5, 0.2] {
            let command_ns = (SECOND_NS / most * share).min(typical * 0.9);
            let sense_ns = (typical - own_ns - command_ns).clamp(0.0, LONGEST_NS);
            let mut error_before = f64::INFINITY;
            for step in 0..=20 {
                let planes = 2f64.powf(f64::from(step) / 2.0).round() as u64;
                let fit = Fit {
                    command_ns: command_ns as u64,
                    planes,
                    sense_ns: sense_ns as u64,
                    retry_ppm,
                    retry_ns,
                    read_rate: sequential.rate as u64,
                    ..Fit::default()
                };
                let error = self.error(&fit, sequential, curve)?;
                if best.as_ref().is_none_or(|(least, _)| error < *least) {
                    let curve_percent = (error.sqrt().exp() - 1.0) * 100.0;
                    let fit = Fit {
                        curve_percent,
                        ..fit
                    };
                    best = Some((error, fit));
                }
                // More planes make the curve steeper: past the best it gets worse.
                if error > error_before * 1.05 && error_before.is_finite() {
                    break;
                }
                error_before = error;
            }
        }
        best.map(|(_, fit)| fit)
            .ok_or_else(|| missing("random reads"))
    }

    /// Mean square of the logarithms of model over measurement. Planes that make the curve must
    /// not hold sequential reads up, so these count as well.
    fn error(&self, fit: &Fit, sequential: &Observation, curve: &[&Observation]) -> Result<f64> {
        let mut sum = 0.0;
        for seen in curve.iter().chain([&sequential]) {
            let count = match seen.job.access {
                LoadAccess::Sequential => 120,
                LoadAccess::Random => 400 + 16 * u64::from(seen.job.depth),
            };
            let run = self.run(seen, count, |timing| fit.apply(timing))?;
            sum += (run.bytes_per_second() / seen.rate).ln().powi(2);
        }
        Ok(sum / (curve.len() + 1) as f64)
    }

    fn writes(
        &self,
        fit: &Fit,
        parts: &[&Observation],
        alone: &Observation,
        deep: Option<&&Observation>,
    ) -> Result<WriteFit> {
        let (rate, cache) = cache(parts);
        // A command of n pages takes n times a page's time and once a command's: two equations.
        let pages = parts
            .first()
            .map_or(1.0, |part| part.job.bytes as f64 / 4096.0);
        let long_ns = SECOND_NS * 4096.0 * pages / rate;
        let page_ns = (long_ns / pages).min(LONGEST_NS);
        let short_ns = deep
            .filter(|deep| deep.job.depth > 1)
            .map_or(page_ns, |deep| SECOND_NS / deep.iops)
            .max(page_ns);
        let page_ns = match pages > 1.0 {
            true => ((long_ns - short_ns) / (pages - 1.0)).clamp(0.0, page_ns),
            false => page_ns,
        };
        let command_ns = (short_ns - page_ns).clamp(0.0, LONGEST_NS.min(long_ns));
        let own = self.run(alone, 200, |timing| {
            fit.apply(timing);
            timing.write.after = 0;
        })?;
        let after_ns = alone.mean_ns - own.mean_latency() / NANOSECOND as f64;
        Ok(WriteFit {
            page_ns: page_ns as u64,
            command_ns: command_ns as u64,
            after_ns: after_ns.clamp(0.0, LONGEST_NS) as u64,
            rate: rate as u64,
            cache,
            written: parts.iter().map(|part| part.moved).sum(),
        })
    }
}

impl Fit {
    /// Sets what concerns reads.
    fn apply(&self, timing: &mut TimingProfile) {
        timing.command = self.command_ns * NANOSECOND;
        timing.read.planes = self.planes as u32;
        timing.read.sense = self.sense_ns * NANOSECOND;
        timing.read.retry_ppm = self.retry_ppm as u32;
        timing.read.retry = self.retry_ns * NANOSECOND;
        timing.read.bytes_per_second = self.read_rate;
        timing.read.before = 0;
    }
}

/// How many senses in a million take longer than usual, and by how much: so that mean and the
/// percentile which first shows a tail are met.
fn tail(alone: &Observation) -> (u64, u64) {
    let Observation {
        mean_ns,
        p50_ns,
        p99_ns,
        p999_ns,
        ..
    } = *alone;
    let above = (mean_ns - p50_ns).max(0.0);
    let of = |percentile: f64, least: f64, most: f64| {
        let longer = (percentile - p50_ns).min(LONGEST_NS);
        let share = (above / longer * 1e6).clamp(least, most);
        (share as u64, longer as u64)
    };
    if p99_ns > TAIL * p50_ns {
        of(p99_ns, 11_000.0, 300_000.0)
    } else if p999_ns > TAIL * p50_ns {
        of(p999_ns, 1_100.0, 9_000.0)
    } else {
        (0, 0)
    }
}

/// The rate of writes while the cache takes them; and where it was full and what came after.
fn cache(parts: &[&Observation]) -> (f64, Option<(u64, u64)>) {
    let rate = |parts: &[&Observation]| {
        let bytes: f64 = parts.iter().map(|part| part.moved as f64).sum();
        let seconds: f64 = parts.iter().map(|part| part.moved as f64 / part.rate).sum();
        bytes / seconds.max(1e-9)
    };
    let first = parts.first().map_or(0.0, |part| part.rate);
    let full = parts.iter().position(|part| part.rate < FULL * first);
    match full {
        // A single slow part at the end may be a pause as well as a full cache.
        Some(full) if full + 1 < parts.len() && parts.len() <= usize::from(PARTS) => {
            let (before, after) = parts.split_at(full);
            let bytes = before.iter().map(|part| part.moved).sum();
            (rate(before), Some((bytes, rate(after) as u64)))
        }
        _ => (rate(parts), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qualify::fio::Job;

    /// What fio would report of a drive that is the model of a profile.
    fn measured(profile: &Profile, write: bool) -> Report {
        let observations = crate::qualify::jobs::jobs(write).into_iter().map(|job| {
            let load = job.measurement();
            let run = measure::run(profile, &load, Design::HOST, 5, Arc::default()).expect("runs");
            let at = |share| run.latency_at(share) as f64 / NANOSECOND as f64;
            Observation {
                job,
                moved: 1 << 30,
                rate: run.bytes_per_second(),
                iops: run.bytes_per_second() / job.bytes as f64,
                mean_ns: run.mean_latency() / NANOSECOND as f64,
                p50_ns: at(0.5),
                p99_ns: at(0.99),
                p999_ns: at(0.999),
            }
        });
        Report {
            version: "fio-0".into(),
            observations: observations.collect(),
        }
    }

    #[test]
    fn a_drive_that_is_a_model_is_found_again() {
        let drive = Profile::builtin("990pro-2tb").expect("built in");
        let report = measured(&drive, true);
        let fit = fit(&report, &drive, 1).expect("fits");
        assert!(fit.curve_percent < 6.0, "{fit:?}");
        let about = crate::qualify::write::Drive {
            name: "again",
            model: "a model",
            bytes: 1 << 40,
            block_shift: 9,
        };
        let text = crate::qualify::write::toml(&about, &report, &fit, &drive);
        let again = Profile::from_toml("again", &text).expect("a profile");
        let rows = crate::measure::rows(&again, 1).expect("runs");
        let worst = crate::measure::worst(&rows);
        assert!(worst < 15.0, "{worst:.1} %, {fit:?}\n{rows:#?}");
    }

    fn part(number: u16, rate: f64) -> Observation {
        let name = format!("write-sequential-131072-16-{number}");
        Observation {
            job: Job::parse(&name).expect("a job"),
            moved: 1 << 30,
            rate,
            iops: rate / 131_072.0,
            mean_ns: 1e6,
            p50_ns: 1e6,
            p99_ns: 2e6,
            p999_ns: 3e6,
        }
    }

    #[test]
    fn a_full_cache_is_found_where_the_rate_stays_low() {
        let rates = |rates: &[f64]| {
            let parts: Vec<_> = (0..).zip(rates).map(|(n, rate)| part(n, *rate)).collect();
            cache(&parts.iter().collect::<Vec<_>>()).1
        };
        assert_eq!(rates(&[2e9, 2.1e9, 1.9e9]), None);
        assert_eq!(rates(&[2e9, 2e9, 0.5e9]), None, "one may be a pause");
        let (bytes, rate) = rates(&[2e9, 2e9, 0.5e9, 0.5e9]).expect("found");
        assert_eq!((bytes, rate.div_ceil(1000)), (2 << 30, 500_000));
    }

    #[test]
    fn a_tail_meets_mean_and_percentile() {
        let with = |mean_ns, p99_ns, p999_ns| {
            tail(&Observation {
                mean_ns,
                p50_ns: 50e3,
                p99_ns,
                p999_ns,
                ..part(0, 1e9)
            })
        };
        assert_eq!(with(50.5e3, 52e3, 53e3), (0, 0));
        assert_eq!(with(54e3, 250e3, 300e3), (20_000, 200_000));
        assert_eq!(with(50.5e3, 55e3, 250e3), (2_500, 200_000));
        assert_eq!(with(40e3, 250e3, 300e3).0, 11_000, "the 99th is within");
    }
}
