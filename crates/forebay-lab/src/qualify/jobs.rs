// SPDX-License-Identifier: Apache-2.0
//! The jobs that fio runs on a drive, and running it: bounded in time and bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use forebay_model::profile::{LoadAccess, LoadDirection};

use super::QualifySpec;
use super::fio::Job;
use super::target::Target;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt;
use crate::progress::Progress;

/// Bytes of a sequential command, and how many are outstanding.
const SEQUENTIAL: (u64, u16) = (128 << 10, 16);
/// Depths of random reads.
const DEPTHS: [u16; 7] = [1, 4, 8, 16, 32, 64, 128];
/// Equal parts in which the size of the write cache is looked for.
pub const PARTS: u16 = 8;
/// What fio may need beside its jobs' time, in all and for each.
const GRACE: (u64, u64) = (30, 10);
/// The most that is read of its report.
const LONGEST_REPORT: u64 = 64 << 20;

/// The jobs for these options.
pub fn jobs(write: bool) -> Vec<Job> {
    let job = |direction, access, (bytes, depth)| Job {
        direction,
        access,
        bytes,
        depth,
        part: 0,
    };
    let read = LoadDirection::Read;
    let mut jobs = vec![job(read, LoadAccess::Sequential, SEQUENTIAL)];
    let random = |direction| move |depth| job(direction, LoadAccess::Random, (4096, depth));
    jobs.extend(DEPTHS.map(random(read)));
    if write {
        let write = LoadDirection::Write;
        // The latency first, with the cache empty; then all parts at once, as fast as may be.
        jobs.extend([1].map(random(write)));
        jobs.extend((0..PARTS).map(|part| Job {
            part,
            ..job(write, LoadAccess::Sequential, SEQUENTIAL)
        }));
        jobs.extend([64].map(random(write)));
    }
    jobs
}

/// Runs fio; returns its report.
///
/// # Errors
/// Where there is no fio, it fails or takes too long, or the user stops.
pub fn run(spec: &QualifySpec, target: &Target) -> Result<String> {
    let jobs = jobs(spec.write);
    let area = spec.area.unwrap_or(target.bytes).min(target.bytes) >> 20 << 20;
    if area < 16 << 20 {
        let remedy = "give at least 16MiB, or leave it out";
        return Err(Failure::input("area", area, "it must hold 16 MiB", remedy));
    }
    let output = tempfile::tempfile().map_err(|error| unable("a temporary file", &error))?;
    let errors = tempfile::tempfile().map_err(|error| unable("a temporary file", &error))?;
    let mut command = Command::new("fio");
    command
        .args(lines(spec, &target.path, area, &jobs))
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(|error| unable("fio", &error))?)
        .stderr(errors.try_clone().map_err(|error| unable("fio", &error))?);
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::new(
            Exit::Impossible,
            "fio is not installed",
            "install it: sudo apt-get install fio, or dnf install fio; or give a report with --from",
        ),
        _ => unable("fio", &error),
    })?;
    let seconds = GRACE.0 + jobs.len() as u64 * (spec.job_time.as_secs() + 1 + GRACE.1);
    let progress = Progress::stage("measuring with fio");
    let good = wait(child, Duration::from_secs(seconds))?;
    drop(progress);
    if !good {
        let said = text(errors, 4096)? + &text(output, 4096)?;
        let line = |line: &&str| line.starts_with("fio:") || line.contains("error");
        let line = said.lines().find(line).unwrap_or("fio did not say why");
        return Err(Failure::new(
            Exit::Impossible,
            format!("fio failed: {}", line.chars().take(200).collect::<String>()),
            "be root for a device; use --buffered where the file system has no direct I/O",
        ));
    }
    text(output, LONGEST_REPORT)
}

/// fio's arguments.
fn lines(spec: &QualifySpec, path: &Path, area: u64, jobs: &[Job]) -> Vec<String> {
    // A colon would begin the next file name (fio(1), filename).
    let path = path.display().to_string().replace('\\', "\\\\");
    let path = path.replace(':', "\\:");
    let mut lines = vec![
        "--output-format=json".into(),
        "--ioengine=libaio".into(),
        format!("--direct={}", u8::from(!spec.buffered)),
        format!("--filename={path}"),
        format!("--runtime={}ms", spec.job_time.as_millis()),
        "--lat_percentiles=1".into(),
        "--clat_percentiles=0".into(),
        "--percentile_list=50:99:99.9".into(),
        "--randrepeat=1".into(),
        "--norandommap=1".into(),
        "--allow_file_create=0".into(),
    ];
    if !spec.write {
        lines.push("--readonly".into());
    }
    let part = (area / u64::from(PARTS)) >> 20 << 20;
    for job in jobs {
        let direction = match (job.direction, job.access) {
            (LoadDirection::Read, LoadAccess::Sequential) => "read",
            (LoadDirection::Read, LoadAccess::Random) => "randread",
            (LoadDirection::Write, LoadAccess::Sequential) => "write",
            (LoadDirection::Write, LoadAccess::Random) => "randwrite",
        };
        let in_parts = direction == "write";
        let (offset, size) = match in_parts {
            true => (u64::from(job.part) * part, part),
            false => (0, area),
        };
        let most = match in_parts {
            true => spec.bytes.min(part),
            false => spec.bytes,
        };
        lines.extend([
            format!("--name={}", job.name()),
            format!("--rw={direction}"),
            format!("--bs={}", job.bytes),
            format!("--iodepth={}", job.depth),
            format!("--offset={offset}"),
            format!("--size={size}"),
            format!("--io_size={}", most.max(job.bytes) / job.bytes * job.bytes),
            "--stonewall".into(),
        ]);
    }
    lines
}

/// Waits; true where it ended well.
fn wait(mut child: Child, limit: Duration) -> Result<bool> {
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|error| unable("fio", &error))? {
            Some(_) if interrupt::wanted() => return Err(Failure::interrupted()),
            Some(status) => return Ok(status.success()),
            None => std::thread::sleep(Duration::from_millis(50)),
        }
        let late = began.elapsed() > limit;
        if late || interrupt::wanted() {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            if !late {
                return Err(Failure::interrupted());
            }
            return Err(Failure::new(
                Exit::Impossible,
                format!("fio was stopped after {} s", limit.as_secs()),
                "the drive may hang: look at the kernel's log; or give each job more time",
            ));
        }
    }
}

fn text(mut file: File, most: u64) -> Result<String> {
    use std::io::Seek;
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.take(most).read_to_end(&mut bytes))
        .map_err(|error| unable("fio's report", &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unable(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Impossible,
        format!("{what}: {error}"),
        "check that fio can be run, and that the temporary folder has room",
    )
}
