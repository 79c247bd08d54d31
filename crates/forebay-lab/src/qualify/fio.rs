// SPDX-License-Identifier: Apache-2.0
//! What fio reports, as JSON. Nothing of it is trusted: a field that is missing, or holds what
//! cannot be, is an error with its name, value and limit.

use std::fmt;

use forebay_model::profile::{LoadAccess, LoadDirection};
use serde_json::Value;

/// The most jobs that a report may have.
const MOST_JOBS: usize = 256;
/// The longest latency that is believed: one minute.
const LONGEST_NS: f64 = 60e9;
/// The highest rate that is believed, in bytes per second.
const FASTEST: f64 = 1e12;

/// What a job does. Its name says so, which is how a report distinguishes its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which way.
    pub direction: LoadDirection,
    /// In which order.
    pub access: LoadAccess,
    /// Bytes of a command.
    pub bytes: u64,
    /// Commands outstanding.
    pub depth: u16,
    /// Place in a row of equal jobs.
    pub part: u16,
}

/// What a job gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The job.
    pub job: Job,
    /// Bytes moved.
    pub moved: u64,
    /// Bytes per second.
    pub rate: f64,
    /// Commands per second.
    pub iops: f64,
    /// Mean latency from submission to completion, in nanoseconds.
    pub mean_ns: f64,
    /// Latencies that 50, 99 and 99.9 percent do not exceed.
    pub p50_ns: f64,
    /// See above.
    pub p99_ns: f64,
    /// See above.
    pub p999_ns: f64,
}

/// A report of fio.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its version, in plain letters.
    pub version: String,
    /// Its jobs.
    pub observations: Vec<Observation>,
}

/// A report that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fio's report: {field} is {value}, but must be {limit}")]
pub struct Unusable {
    /// The field.
    pub field: String,
    /// What it holds.
    pub value: String,
    /// What it must be.
    pub limit: String,
}

type Read<T> = Result<T, Unusable>;

fn unusable<T>(field: impl Into<String>, value: impl fmt::Display, limit: &str) -> Read<T> {
    let value = value.to_string();
    Err(Unusable {
        field: field.into(),
        value: match value.char_indices().nth(60) {
            Some((end, _)) => format!("{} …", &value[..end]),
            None => value,
        },
        limit: limit.into(),
    })
}

impl Job {
    /// The job's name, such as `read-random-4096-32-0`.
    pub fn name(&self) -> String {
        let Self {
            bytes, depth, part, ..
        } = self;
        let direction = match self.direction {
            LoadDirection::Read => "read",
            LoadDirection::Write => "write",
        };
        let access = match self.access {
            LoadAccess::Sequential => "sequential",
            LoadAccess::Random => "random",
        };
        format!("{direction}-{access}-{bytes}-{depth}-{part}")
    }

    /// The job with a name.
    pub fn parse(name: &str) -> Option<Self> {
        let mut words = name.split('-');
        let direction = match words.next()? {
            "read" => LoadDirection::Read,
            "write" => LoadDirection::Write,
            _ => return None,
        };
        let access = match words.next()? {
            "sequential" => LoadAccess::Sequential,
            "random" => LoadAccess::Random,
            _ => return None,
        };
        let job = Self {
            direction,
            access,
            bytes: words.next()?.parse().ok()?,
            depth: words.next()?.parse().ok()?,
            part: words.next()?.parse().ok()?,
        };
        let sane = (512..=64 << 20).contains(&job.bytes)
            && job.bytes.is_multiple_of(512)
            && (1..=1024).contains(&job.depth);
        (sane && words.next().is_none()).then_some(job)
    }
}

/// Reads a report. Lines before the JSON, which fio writes as notes, are skipped.
///
/// # Errors
/// Where it is no report of these jobs.
pub fn read(text: &str) -> Read<Report> {
    let begin = match text.starts_with('{') {
        true => Some(0),
        false => text.find("\n{").map(|at| at + 1),
    };
    let json = begin.and_then(|at| text.get(at..)).unwrap_or_default();
    let report: Value = match serde_json::from_str(json) {
        Ok(report) => report,
        Err(error) => return unusable("the text", error, "one JSON object"),
    };
    let version = report.get("fio version").and_then(Value::as_str);
    let Some(version) = version else {
        return unusable("\"fio version\"", "missing", "a string");
    };
    let plain = |c: &char| c.is_ascii_alphanumeric() || ".-".contains(*c);
    let version = version.chars().filter(plain).take(24).collect();
    let Some(jobs) = report.get("jobs").and_then(Value::as_array) else {
        return unusable("jobs", "missing", "a list");
    };
    if jobs.is_empty() || jobs.len() > MOST_JOBS {
        let count = format!("a list of {}", jobs.len());
        return unusable("jobs", count, &format!("1 to {MOST_JOBS} jobs"));
    }
    Ok(Report {
        version,
        observations: jobs.iter().map(observation).collect::<Read<_>>()?,
    })
}

fn observation(value: &Value) -> Read<Observation> {
    let name = value.get("jobname").and_then(Value::as_str).unwrap_or("");
    let Some(job) = Job::parse(name) else {
        let limit = "a job of `forebay ssd qualify`, such as read-random-4096-32-0";
        return unusable("jobname", format!("{name:?}"), limit);
    };
    let field = |path: &str| format!("{path} of {name}");
    let error = value.get("error").and_then(Value::as_i64);
    if error != Some(0) {
        let error = error.map_or("missing".into(), |error| error.to_string());
        return unusable(field("error"), error, "0: the job failed");
    }
    let side = match job.direction {
        LoadDirection::Read => "read",
        LoadDirection::Write => "write",
    };
    let number = |path: &[&str], least: f64, most: f64| -> Read<f64> {
        let mut place = value.get(side);
        for part in path {
            place = place.and_then(|place| place.get(part));
        }
        let name = field(&format!("{side}.{}", path.join(".")));
        let limit = format!("a number from {least} to {most}");
        match place.map(|place| (place, place.as_f64())) {
            Some((_, Some(number))) if (least..=most).contains(&number) => Ok(number),
            Some((place, _)) => unusable(name, place, &limit),
            None => unusable(name, "missing", &limit),
        }
    };
    let percentile = |share| number(&["lat_ns", "percentile", share], 1.0, LONGEST_NS);
    let observation = Observation {
        job,
        moved: number(&["io_bytes"], 1.0, 1e15)? as u64,
        rate: number(&["bw_bytes"], 1.0, FASTEST)?,
        iops: number(&["iops"], 0.001, FASTEST / 512.0)?,
        mean_ns: number(&["lat_ns", "mean"], 1.0, LONGEST_NS)?,
        p50_ns: percentile("50.000000")?,
        p99_ns: percentile("99.000000")?,
        p999_ns: percentile("99.900000")?,
    };
    let Observation {
        p50_ns,
        p99_ns,
        p999_ns,
        ..
    } = observation;
    if p50_ns > p99_ns || p99_ns > p999_ns {
        let value = format!("{p50_ns}, {p99_ns}, {p999_ns}");
        return unusable(field("lat_ns.percentile"), value, "in ascending order");
    }
    Ok(observation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        let percentile = json!({
            "50.000000": 80_000, "99.000000": 120_000, "99.900000": 400_000,
        });
        let side = json!({
            "io_bytes": 1 << 20, "bw_bytes": 50_000_000, "iops": 12_207.0,
            "lat_ns": { "mean": 81_000.5, "percentile": percentile },
        });
        let job = json!({ "jobname": "read-random-4096-1-0", "error": 0, "read": side });
        json!({ "fio version": "fio-3.33 \"odd\"", "jobs": [job] })
    }

    #[test]
    fn a_report_is_read_behind_notes() {
        let text = format!("note: something\n{}", report());
        let read = read(&text).expect("read");
        assert_eq!(read.version, "fio-3.33odd");
        let [observation] = read.observations[..] else {
            panic!("one job");
        };
        assert_eq!(observation.job.name(), "read-random-4096-1-0");
        assert_eq!(observation.p99_ns, 120_000.0);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let refused = |change: fn(&mut Value)| {
            let mut value = report();
            change(&mut value);
            read(&value.to_string()).expect_err("refused").to_string()
        };
        for (error, word) in [
            (read("").unwrap_err().to_string(), "one JSON object"),
            (read("{").unwrap_err().to_string(), "one JSON object"),
            (refused(|v| v["jobs"] = json!([])), "a list of 0"),
            (refused(|v| v["fio version"] = json!(3)), "fio version"),
            (refused(|v| v["jobs"][0]["jobname"] = json!("x")), "\"x\""),
            (refused(|v| v["jobs"][0]["error"] = json!(5)), "error of"),
            (
                refused(|v| v["jobs"][0]["read"]["bw_bytes"] = json!(-1)),
                "read.bw_bytes of read-random-4096-1-0 is -1",
            ),
            (
                refused(|v| v["jobs"][0]["read"]["bw_bytes"] = json!(1e300)),
                "1000000000000",
            ),
            (
                refused(|v| v["jobs"][0]["read"] = json!({})),
                "read.io_bytes of read-random-4096-1-0 is missing",
            ),
            (
                refused(|v| v["jobs"][0]["read"]["lat_ns"]["mean"] = json!("fast")),
                "\"fast\"",
            ),
            (
                refused(|v| {
                    v["jobs"][0]["read"]["lat_ns"]["percentile"]["50.000000"] = json!(500_000);
                }),
                "ascending",
            ),
        ] {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn names_of_jobs_go_there_and_back() {
        for name in ["write-sequential-131072-16-7", "read-random-512-1024-0"] {
            assert_eq!(Job::parse(name).expect(name).name(), name);
        }
        for name in [
            "",
            "read",
            "read-random-4096-0-0",
            "read-random-4097-1-0",
            "read-random-4096-1-0-0",
            "trim-random-4096-1-0",
        ] {
            assert_eq!(Job::parse(name), None, "{name}");
        }
    }
}
