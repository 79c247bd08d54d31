// SPDX-License-Identifier: Apache-2.0
//! Bytes to drives and from drives: on a simulated machine and on devices of this one.

mod hardware;
mod report;
mod simulated;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_cosim::Direction;
use forebay_driver::Flight;
use forebay_driver::inspect::Inspection;
use forebay_spec::streamer::UserError;

use crate::failure::{Failure, Result};
use crate::inspection;
use crate::report::{Header, Rate};
use crate::session::Ended;

pub use hardware::{DevicesSpec, header, on_devices};
pub use report::Report;
pub use simulated::simulated;

/// Kind and version of the report.
const SCHEMA: &str = "forebay.io/1";

/// What is moved.
#[derive(Clone, Debug, Default)]
pub struct IoSpec {
    /// First byte on the drives.
    pub at: u64,
    /// What is written, if anything is.
    pub data: Option<Arc<[u8]>>,
    /// Bytes that are read, after the write; none: nothing is.
    pub read: Option<u64>,
    /// Most bytes of a transaction; none: all is one.
    pub transaction: Option<u64>,
    /// A write is complete only when it is on the medium.
    pub fua: bool,
    /// The drive is flushed after the write.
    pub flush: bool,
    /// Each transaction waits until all earlier ones are complete.
    pub fence: bool,
    /// Where what was read is stored.
    pub save: Option<PathBuf>,
    /// Where registers, events and counters are stored.
    pub inspect: Option<PathBuf>,
}

/// What the transactions go through: RTL and models, or devices of this machine.
trait Target {
    /// What a report begins with; `ended` is how the last run ended.
    fn header(&self, ended: &Ended) -> Header;
    /// Bytes of the drive's logical block.
    fn block_bytes(&self) -> Result<u64>;
    /// Writes the data, transaction by transaction.
    fn write(&mut self, spec: &IoSpec, data: &Arc<[u8]>) -> Leg;
    /// Reads `bytes` bytes, transaction by transaction.
    fn read(&mut self, spec: &IoSpec, bytes: u64) -> Leg;
    /// What the streamer's registers say.
    fn inspection(&mut self) -> Result<Inspection>;
    /// Both sides of the queues.
    fn flight(&mut self) -> Flight;
    /// Shuts drive and streamer down; `good` where all went as it should.
    fn shut_down(&mut self, good: bool) -> Result<()>;
}

/// What came of one direction.
struct Leg {
    ended: Ended,
    moved: Vec<Moved>,
    /// In cycles of the simulation.
    rate: Option<Rate>,
    /// Seconds of this machine, where nothing is simulated.
    seconds: Option<f64>,
}

/// A transaction that has ended.
struct Moved {
    direction: Direction,
    address: u64,
    length: u64,
    transferred: u64,
    latency_cycles: Option<u64>,
    error: Option<UserError>,
    /// Of reads.
    data: Vec<u8>,
}

/// Moves what the spec says; `start` brings the machine up, once it is known that the file for what
/// is read can be written.
fn carry_out<T: Target>(
    spec: &IoSpec,
    start: impl FnOnce() -> Result<T>,
) -> Result<(Report, Ended)> {
    let save = spec.save.as_deref().map(create).transpose()?;
    let mut target = start()?;
    let mut report = Report {
        block_bytes: target.block_bytes()?,
        ..Report::default()
    };
    let mut ended = Ended::Done;
    if let Some(data) = &spec.data {
        let leg = target.write(spec, data);
        report.add(Direction::Write, &leg);
        ended = leg.ended;
    }
    if let (Some(bytes), true) = (spec.read, ended.is_done()) {
        let leg = target.read(spec, bytes);
        report.add(Direction::Read, &leg);
        if let Some(file) = &save {
            store(spec.at, file, &leg.moved)?;
        }
        if let (Some(data), true) = (&spec.data, leg.ended.is_done()) {
            let end = data.len().min(bytes as usize);
            report.differ_bytes = Some(differ(spec.at, &data[..end], &leg.moved));
        }
        ended = leg.ended;
    }
    conclude(spec, &mut target, &mut report, &ended)?;
    if ended.is_done() {
        let good = report.is_good();
        if let (Err(failure), true) = (target.shut_down(good), good) {
            ended = Ended::Failed(failure);
        }
    }
    Ok((report, ended))
}

/// Looks at registers and queues, and stores what they say.
fn conclude(
    spec: &IoSpec,
    target: &mut impl Target,
    report: &mut Report,
    ended: &Ended,
) -> Result<()> {
    // What has broken down may no longer answer: then there is nothing to show.
    let inspection = match (target.inspection(), ended) {
        (Err(_), Ended::Failed(_)) => Inspection::default(),
        (taken, _) => taken?,
    };
    report.header = target.header(ended);
    report.look_at(&inspection);
    report.broken = matches!(ended, Ended::Failed(_));
    // What was under way at Ctrl-C does not hang.
    let odd = match ended {
        Ended::Done => !report.is_good() || !report.incidents.is_empty(),
        Ended::Interrupted => false,
        Ended::Failed(_) => true,
    };
    let flight = (odd || spec.inspect.is_some()).then(|| target.flight());
    report.diagnosis = flight
        .as_ref()
        .map(|flight| flight.diagnosis.clone())
        .filter(|diagnosis| odd && !diagnosis.is_healthy());
    let Some(path) = &spec.inspect else {
        return Ok(());
    };
    let stored = inspection::Report {
        header: Header {
            schema: inspection::SCHEMA.to_owned(),
            ..report.header.clone()
        },
        inspection,
        flight,
    };
    let text = serde_json::to_string_pretty(&stored)?;
    fs::write(path, text).map_err(|error| Failure::file("writing", path, error))
}

fn create(path: &Path) -> Result<(PathBuf, File)> {
    let file = File::create(path).map_err(|error| Failure::file("creating", path, error))?;
    Ok((path.to_owned(), file))
}

/// Offset and length of each transaction over `bytes` bytes; at least one, though it be empty.
fn transactions(bytes: u64, transaction: Option<u64>) -> impl Iterator<Item = (u64, u64)> {
    let step = transaction.unwrap_or(bytes).max(1);
    (0..bytes.div_ceil(step).max(1)).map(move |n| (n * step, step.min(bytes - n * step)))
}

/// Writes what came to its place in the file; what a failed transaction lacks stays a hole.
fn store(at: u64, (path, file): &(PathBuf, File), moved: &[Moved]) -> Result<()> {
    for moved in moved {
        file.write_all_at(&moved.data, moved.address.saturating_sub(at))
            .map_err(|error| Failure::file("writing", path, error))?;
    }
    Ok(())
}

/// Bytes that came back otherwise than they were written, or not at all.
fn differ(at: u64, expected: &[u8], moved: &[Moved]) -> u64 {
    let mut same = 0;
    for moved in moved {
        let start = (moved.address.saturating_sub(at) as usize).min(expected.len());
        let expected = &expected[start..];
        same += expected
            .iter()
            .zip(&moved.data)
            .filter(|(a, b)| a == b)
            .count();
    }
    (expected.len() - same.min(expected.len())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_cover_all() {
        let cut = |bytes, step| transactions(bytes, step).collect::<Vec<_>>();
        assert_eq!(cut(0, None), [(0, 0)]);
        assert_eq!(cut(0, Some(512)), [(0, 0)]);
        assert_eq!(cut(1000, None), [(0, 1000)]);
        assert_eq!(cut(1000, Some(512)), [(0, 512), (512, 488)]);
        assert_eq!(cut(1024, Some(512)), [(0, 512), (512, 512)]);
    }

    #[test]
    fn what_differs_is_counted() {
        let moved = |address, data: &[u8]| Moved {
            direction: Direction::Read,
            address,
            length: data.len() as u64,
            transferred: data.len() as u64,
            latency_cycles: None,
            error: None,
            data: data.to_vec(),
        };
        let expected = [1, 2, 3, 4, 5];
        let whole = [moved(100, &[1, 2, 3]), moved(103, &[4, 5])];
        assert_eq!(differ(100, &expected, &whole), 0);
        assert_eq!(differ(100, &expected, &whole[..1]), 2);
        assert_eq!(differ(100, &expected, &[moved(100, &[1, 9, 3, 4, 5])]), 1);
        assert_eq!(differ(100, &expected, &[moved(u64::MAX, &[1])]), 5);
    }
}
