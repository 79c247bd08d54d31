// SPDX-License-Identifier: Apache-2.0
//! `forebay io`: a file or a pattern to drives, bytes from drives. The same options on a simulated
//! machine and on devices of this one.

mod hardware;
mod report;
mod simulated;

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use forebay_cosim::Direction;
use forebay_driver::{Flight, Options};
use forebay_spec::streamer::UserError;
use rand_core::{RngCore as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::args::{BusKind, IoArgs};
use crate::failure::{Exit, Failure, Result};
use crate::inspect;
use crate::inspection::Inspection;
use crate::report::{self as json, Header, Rate};
use crate::session::Ended;
use report::Report;

pub use hardware::{check_devices, header, require_consent};

/// What the transactions go through: RTL and models, or devices of this machine.
trait Target {
    /// What a report begins with; `ended` is how the last run ended.
    fn header(&self, ended: &Ended) -> Header;
    /// Bytes of the drive's logical block.
    fn block_bytes(&self) -> Result<u64>;
    /// Writes all pieces of the data.
    fn write(&mut self, args: &IoArgs, data: &Arc<[u8]>) -> Leg;
    /// Reads all pieces of so many bytes.
    fn read(&mut self, args: &IoArgs, bytes: u64) -> Leg;
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

/// Runs it.
pub fn run(args: &IoArgs) -> Result<Exit> {
    hardware::check_options(args)?;
    let data = data(args)?;
    let length = args
        .length
        .or_else(|| data.as_ref().map(|data| data.len() as u64));
    if args.read && length.is_none() {
        return Err(Failure::new(
            Exit::BadInput,
            "--read without --write or --generate needs --length",
            "say how much to read, such as --length 1MiB",
        ));
    }
    // Before anything runs: minutes later would be too late to learn that it cannot be written.
    let save = args.save.as_deref().map(create).transpose()?;
    match args.bus {
        BusKind::Sim => carry_out(args, simulated::start(args)?, data, length, save),
        BusKind::Vfio => carry_out(args, hardware::start(args)?, data, length, save),
    }
}

fn carry_out(
    args: &IoArgs,
    mut target: impl Target,
    data: Option<Arc<[u8]>>,
    length: Option<u64>,
    save: Option<File>,
) -> Result<Exit> {
    let mut report = Report::new(target.header(&Ended::Done), target.block_bytes()?);
    let mut ended = Ended::Done;
    if let Some(data) = &data {
        let leg = target.write(args, data);
        report.add(Direction::Write, &leg);
        ended = leg.ended;
    }
    if args.read && ended.is_done() {
        let leg = target.read(args, length.unwrap_or(0));
        report.add(Direction::Read, &leg);
        if let Some(file) = save {
            store(args, &file, &leg.moved)?;
        }
        if let (Some(data), true) = (&data, leg.ended.is_done()) {
            let end = data.len().min(length.unwrap_or(0) as usize);
            report.differ_bytes = Some(differ(args.at, &data[..end], &leg.moved));
        }
        ended = leg.ended;
    }
    // What has broken down may no longer answer: then there is nothing to show.
    let inspection = match (target.inspection(), &ended) {
        (Err(_), Ended::Failed(_)) => Inspection::default(),
        (taken, _) => taken?,
    };
    report.header = target.header(&ended);
    report.look_at(&inspection);
    report.broken = matches!(ended, Ended::Failed(_));
    // What was under way at Ctrl-C does not hang.
    let odd = match ended {
        Ended::Done => !report.is_good() || !report.incidents.is_empty(),
        Ended::Interrupted => false,
        Ended::Failed(_) => true,
    };
    let flight = (odd || args.inspect.is_some()).then(|| target.flight());
    report.diagnosis = flight
        .as_ref()
        .map(|flight| flight.diagnosis.clone())
        .filter(|diagnosis| odd && !diagnosis.is_healthy());
    if let Some(path) = &args.inspect {
        let stored = inspect::Report {
            header: Header {
                schema: inspect::SCHEMA.to_owned(),
                ..report.header.clone()
            },
            inspection,
            flight,
        };
        let text = serde_json::to_string_pretty(&stored)?;
        fs::write(path, text).map_err(|error| Failure::file("writing", path, error))?;
    }
    if ended.is_done() {
        let good = report.is_good();
        if let (Err(failure), true) = (target.shut_down(good), good) {
            ended = Ended::Failed(failure);
        }
    }
    // Devices go back to their drivers before anything is said: a reader who has gone ends this.
    drop(target);
    if !json::emit(&report)? {
        report.show(args);
    }
    Ok(ended.exit(report.is_good()))
}

/// What the options change about the driver, on any bus.
fn adjust_driver(args: &IoArgs, options: &mut Options) {
    options.nsid = args.namespace;
    options.max_transfer = args.max_transfer;
    args.faults.adjust(options);
}

/// What is to be written, if anything is.
fn data(args: &IoArgs) -> Result<Option<Arc<[u8]>>> {
    let mut data = Vec::new();
    match (&args.write, args.generate) {
        (Some(path), _) if path.as_os_str() == "-" => {
            let read = std::io::stdin().lock().read_to_end(&mut data);
            read.map_err(|error| Failure::file("reading", path, error))?;
        }
        (Some(path), _) => {
            data = fs::read(path).map_err(|error| Failure::file("reading", path, error))?;
        }
        (None, Some(bytes)) => {
            let room = usize::try_from(bytes).ok();
            let room = room.filter(|room| data.try_reserve_exact(*room).is_ok());
            data.resize(room.ok_or_else(|| too_much(bytes))?, 0);
            Pcg64Mcg::seed_from_u64(args.machine.seed).fill_bytes(&mut data);
        }
        (None, None) => return Ok(None),
    }
    Ok(Some(data.into()))
}

fn too_much(bytes: u64) -> Failure {
    Failure::input(
        "--generate",
        bytes,
        "this machine's memory does not hold it",
        "generate less",
    )
}

fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|error| Failure::file("creating", path, error))
}

/// Offset and length of each transaction over so many bytes; at least one, though it be empty.
fn pieces(bytes: u64, transaction: Option<u64>) -> impl Iterator<Item = (u64, u64)> {
    let step = transaction.unwrap_or(bytes).max(1);
    (0..bytes.div_ceil(step).max(1)).map(move |n| (n * step, step.min(bytes - n * step)))
}

/// Writes what came to its place in the file; what a failed transaction lacks stays a hole.
fn store(args: &IoArgs, file: &File, moved: &[Moved]) -> Result<()> {
    let path = args.save.as_deref().unwrap_or(Path::new(""));
    for moved in moved {
        file.write_all_at(&moved.data, moved.address.saturating_sub(args.at))
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
    fn pieces_cover_all() {
        let pieces = |bytes, step| pieces(bytes, step).collect::<Vec<_>>();
        assert_eq!(pieces(0, None), [(0, 0)]);
        assert_eq!(pieces(0, Some(512)), [(0, 0)]);
        assert_eq!(pieces(1000, None), [(0, 1000)]);
        assert_eq!(pieces(1000, Some(512)), [(0, 512), (512, 488)]);
        assert_eq!(pieces(1024, Some(512)), [(0, 512), (512, 512)]);
    }

    #[test]
    fn what_differs_is_counted() {
        let piece = |address, data: &[u8]| Moved {
            direction: Direction::Read,
            address,
            length: data.len() as u64,
            transferred: data.len() as u64,
            latency_cycles: None,
            error: None,
            data: data.to_vec(),
        };
        let expected = [1, 2, 3, 4, 5];
        let whole = [piece(100, &[1, 2, 3]), piece(103, &[4, 5])];
        assert_eq!(differ(100, &expected, &whole), 0);
        assert_eq!(differ(100, &expected, &whole[..1]), 2);
        assert_eq!(differ(100, &expected, &[piece(100, &[1, 9, 3, 4, 5])]), 1);
        assert_eq!(differ(100, &expected, &[piece(u64::MAX, &[1])]), 5);
    }
}
