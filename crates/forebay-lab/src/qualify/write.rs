// SPDX-License-Identifier: Apache-2.0
//! The profile as TOML, each number with how it came about.

use std::fmt::Write;

use forebay_model::Profile;
use forebay_model::profile::{LoadAccess, LoadDirection, Measurement};

use super::fio::{Job, Observation, Report};
use super::fit::Fit;

/// The drive, besides what was fitted.
pub struct Drive<'a> {
    /// Name of the profile.
    pub name: &'a str,
    /// What it is, in plain letters.
    pub model: &'a str,
    /// Bytes.
    pub bytes: u64,
    /// log2 of its block.
    pub block_shift: u8,
}

impl Job {
    /// In words.
    pub fn title(&self) -> String {
        let access = match self.access {
            LoadAccess::Sequential => "sequential",
            LoadAccess::Random => "random",
        };
        let direction = match self.direction {
            LoadDirection::Read => "read",
            LoadDirection::Write => "write",
        };
        let (kib, depth) = (self.bytes >> 10, self.depth);
        format!("{access} {kib} KiB {direction}, depth {depth}")
    }

    /// As a load of the model.
    pub fn measurement(&self) -> Measurement {
        Measurement {
            title: self.title(),
            direction: self.direction,
            access: self.access,
            bytes: self.bytes,
            depth: self.depth,
            count: match self.access {
                LoadAccess::Sequential => 2_000,
                LoadAccess::Random => 3_000 + 100 * u64::from(self.depth),
            },
            full_cache: false,
            setup: 0,
            limit: Default::default(),
            gave: Vec::new(),
        }
    }
}

/// Writes the profile. What fio does not tell is as in `base`.
pub fn toml(drive: &Drive<'_>, report: &Report, fit: &Fit, base: &Profile) -> String {
    let mut text = String::new();
    let fio = &report.version;
    let Drive { name, model, .. } = drive;
    // REUSE-IgnoreStart
    let _ = write!(
        text,
        "# SPDX-License-Identifier: Apache-2.0\n\
         # {model}, as {fio} measured it through the kernel of a machine: what kernel and processor\n\
         # add is in these numbers, too. Written by `forebay ssd qualify`. Over\n\
         # reads the model is off by {:.1} % in the mean. Numbers of kind \"chosen\" were not measured.\n\
         name = \"{name}\"\n\
         description = \"{model}, as {fio} measured it through the kernel\"\n",
        fit.curve_percent
    );
    // REUSE-IgnoreEnd
    let mut table = "";
    for (field, from_fio, value, source) in numbers(drive, report, fit, base) {
        let (place, name) = field.rsplit_once('.').unwrap_or(("", field.as_str()));
        if place != table {
            let _ = match place {
                "ssd.namespaces.0" => writeln!(text, "\n[[ssd.namespaces]]"),
                _ => writeln!(text, "\n[{place}]"),
            };
            if place == "ssd" {
                let _ = writeln!(text, "model = \"{model}\"");
            }
            table = match place {
                "ssd.namespaces.0" => "ssd.namespaces.0",
                _ => TABLES.iter().find(|known| **known == place).unwrap_or(&""),
            };
        }
        if name == "model" {
            continue;
        }
        let kind = match (from_fio, place) {
            (true, "ssd.namespaces.0") => "published",
            (true, _) => "fitted",
            (false, _) => "chosen",
        };
        let _ = writeln!(
            text,
            "{name} = {{ value = {value}, kind = \"{kind}\", source = \"{source}\" }}"
        );
    }
    measurements(&mut text, report, fit);
    text
}

/// The tables of a profile, in the order in which they are written.
const TABLES: [&str; 10] = [
    "fabric",
    "fabric.host",
    "fabric.fpga",
    "fabric.ssd",
    "ssd",
    "ssd.controller",
    "ssd.namespaces.0",
    "ssd.timing",
    "ssd.timing.read",
    "ssd.timing.write",
];

/// Every number: field, whether it is from fio, value, source.
fn numbers(
    drive: &Drive<'_>,
    report: &Report,
    fit: &Fit,
    base: &Profile,
) -> Vec<(String, bool, u64, String)> {
    let mut numbers = vec![("ssd.model".to_owned(), false, 0, String::new())];
    for row in &base.sources {
        let ours = fitted(drive, report, fit, &row.field);
        let known = |table: &&str| row.field.rsplit_once('.').is_some_and(|(t, _)| t == *table);
        if !TABLES.iter().any(known) {
            continue;
        }
        let (from_fio, value, source) = match ours {
            Some((value, source)) => (true, value, source),
            None => {
                let source = format!("not measured: as in the profile {}", base.name);
                (false, row.value, source)
            }
        };
        numbers.push((row.field.clone(), from_fio, value, source));
    }
    let place = |field: &str| {
        let table = field.rsplit_once('.').map_or("", |(table, _)| table);
        TABLES.iter().position(|known| *known == table)
    };
    numbers.sort_by_key(|(field, ..)| place(field));
    numbers
}

/// What fio says of a field, and how.
fn fitted(drive: &Drive<'_>, report: &Report, fit: &Fit, field: &str) -> Option<(u64, String)> {
    let fio = &report.version;
    let source = |how: &str| format!("{fio}: {how}");
    let (table, name) = field.rsplit_once('.')?;
    let (value, how) = match (table, name) {
        ("ssd.namespaces.0", "bytes") => {
            let shift = drive.block_shift;
            return Some((drive.bytes >> shift << shift, "size of the target".into()));
        }
        ("ssd.namespaces.0", "block_shift") => {
            return Some((drive.block_shift.into(), "block of the target".into()));
        }
        ("ssd.timing", "command_ns") => (
            fit.command_ns,
            "most random 4 KiB reads a second, as a share found with the curve",
        ),
        ("ssd.timing.read", "planes") => (fit.planes, "curve of random 4 KiB reads over the depth"),
        ("ssd.timing.read", "sense_ns") => (
            fit.sense_ns,
            "random 4 KiB reads at depth 1, less what the model adds",
        ),
        ("ssd.timing.read", "retry_ppm") => (
            fit.retry_ppm,
            "random 4 KiB reads at depth 1: mean above the median",
        ),
        ("ssd.timing.read", "retry_ns") => (
            fit.retry_ns,
            "random 4 KiB reads at depth 1: 99th percentile, or 99.9th, above the median",
        ),
        ("ssd.timing.read", "bytes_per_second") => (fit.read_rate, "sequential reads"),
        ("ssd.timing.read", "before_ns") => (0, "in sense_ns: a depth of 1 cannot tell"),
        ("ssd.timing.write", name) => return write_number(fit, name, &source),
        _ => return None,
    };
    Some((value, source(how)))
}

fn write_number(fit: &Fit, name: &str, source: &dyn Fn(&str) -> String) -> Option<(u64, String)> {
    let Some(write) = &fit.write else {
        // Nothing of writes is known, least of all that they are as fast as those of the base.
        let page = (4096e9 / fit.read_rate.max(1) as f64) as u64;
        return match name {
            "page_ns" => Some((
                page,
                source("writes were not measured: taken as fast as reads"),
            )),
            "cache_bytes" | "full_bytes_per_second" => {
                Some((0, source("writes were not measured: no cache")))
            }
            _ => None,
        };
    };
    let found = format!(
        "{} MB written one after the other",
        write.written / 1_000_000
    );
    let (value, how) = match name {
        "page_ns" => (
            write.page_ns,
            "sequential writes before the cache is full, less command_ns".into(),
        ),
        "command_ns" => (
            write.command_ns,
            "random 4 KiB writes at depth 64, beyond the time of their page".into(),
        ),
        "after_ns" => (
            write.after_ns,
            "random 4 KiB writes at depth 1, less what the model adds".into(),
        ),
        "cache_bytes" => match write.cache {
            Some((bytes, _)) => (bytes, format!("{found}: where the rate fell")),
            None => (0, format!("{found}: the rate did not fall")),
        },
        "full_bytes_per_second" => match write.cache {
            Some((_, rate)) => (rate, format!("{found}: the rate after it fell")),
            None => (0, format!("{found}: the rate did not fall")),
        },
        _ => return None,
    };
    Some((value, source(&how)))
}

/// What fio measured, to be compared with.
fn measurements(text: &mut String, report: &Report, fit: &Fit) {
    let fio = &report.version;
    let number = |text: &mut String, name: &str, value: f64| {
        let value = value.max(1.0) as u64;
        let _ = writeln!(
            text,
            "{name} = {{ value = {value}, kind = \"fitted\", source = \"{fio}\" }}"
        );
    };
    let head = |text: &mut String, job: &Job, title: &str| {
        let Measurement { count, .. } = job.measurement();
        let (direction, access) = match (job.direction, job.access) {
            (LoadDirection::Read, LoadAccess::Sequential) => ("read", "sequential"),
            (LoadDirection::Read, LoadAccess::Random) => ("read", "random"),
            (LoadDirection::Write, LoadAccess::Sequential) => ("write", "sequential"),
            (LoadDirection::Write, LoadAccess::Random) => ("write", "random"),
        };
        let _ = write!(
            text,
            "\n[[measurements]]\ntitle = \"{title}\"\ndirection = \"{direction}\"\n\
             access = \"{access}\"\nbytes = {}\ndepth = {}\ncount = {count}\n",
            job.bytes, job.depth
        );
    };
    for seen in &report.observations {
        let Observation { job, .. } = seen;
        let in_parts =
            (job.direction, job.access) == (LoadDirection::Write, LoadAccess::Sequential);
        if in_parts && job.part > 0 {
            continue;
        }
        head(text, job, &job.title());
        match (&fit.write, in_parts) {
            (Some(write), true) => number(text, "bytes_per_second", write.rate as f64),
            _ => number(text, "bytes_per_second", seen.rate),
        }
        if job.depth == 1 {
            number(text, "mean_ns", seen.mean_ns);
        }
        if job.depth == 1 && job.direction == LoadDirection::Read {
            number(text, "p50_ns", seen.p50_ns);
            number(text, "p99_ns", seen.p99_ns);
        }
        if let (Some((_, rate)), true) = (fit.write.as_ref().and_then(|w| w.cache), in_parts) {
            head(text, job, &format!("{}, cache full", job.title()));
            let _ = writeln!(text, "full_cache = true");
            number(text, "bytes_per_second", rate as f64);
        }
    }
}
